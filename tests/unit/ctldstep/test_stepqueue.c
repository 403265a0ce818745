/* test_stepqueue.c - requests for steps that wait for room: their order, and how waiting ends;
 * steps of srun --async, and swait */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n0 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

struct room {
    struct daemon d;
    struct fake_node *n;
    uint32_t job;
    uint64_t run;
};

/* A job of four CPUs that runs. */
static int setup_room(void **state)
{
    struct room *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    (void)daemon_new(&r->d);
    write_conf(&r->d, "", cluster);
    daemon_start(&r->d, NULL, NULL);
    r->n = node_up(&r->d, "n0", "boot", NULL);
    r->job = submit(&r->d, "{'job':{'num_tasks':4,'stepmgr':true}}");
    r->run = node_launched(r->n, r->job);
    *state = r;
    return 0;
}

static int teardown_room(void **state)
{
    struct room *r = *state;
    int status;

    node_free(r->n);
    status = daemon_stop(&r->d, SIGTERM);
    daemon_free(&r->d);
    free(r);
    return status; /* not 0 when it leaked */
}

static const char *request_of(const struct room *r, unsigned tasks, const char *rest)
{
    static char json[2][256];
    static unsigned turn;
    char *text = json[turn++ % 2];

    (void)snprintf(text, sizeof(json[0]), "{'job_id':%u,'spec':{'num_tasks':%u,'exact':true}%s}",
                   r->job, tasks, rest);
    return text;
}

#define WAITS ",'wait':true"

/* The step that was made, at once. */
static uint32_t make_step(struct room *r, unsigned tasks)
{
    ProtobufCMessage *reply = NULL;
    uint32_t id;

    assert_int_equal(ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, tasks, ""), &reply), 0);
    id = ((Pst__StepReply *)reply)->step->step_id;
    assert_false(((Pst__StepReply *)reply)->waited);
    protobuf_c_message_free_unpacked(reply, NULL);
    return id;
}

static void end_step(struct room *r, uint32_t step)
{
    assert_int_equal(node_ended(r->n, r->job, step, r->run, 0, false), 0);
}

/* Requests of one connection are taken in their order. */
static struct waiting ask_behind(const struct waiting *other, unsigned op, const char *json)
{
    struct waiting w = { .c = other->c, .id = client_next_id(other->c) };
    ProtobufCMessage *req = from_json(wire_op_info(op)->request, json);

    assert_int_equal(client_send(w.c, op, 0, w.id, req), 0);
    protobuf_c_message_free_unpacked(req, NULL);
    return w;
}

/* What was asked on this connection waits now. */
static void settle(struct room *r, const struct waiting *w)
{
    assert_int_equal(ask(&r->d, w->c, OP_PING, "{}", NULL), 0);
}

/* The answer to one that waited: the step's number. */
static uint32_t take_step(struct waiting *w)
{
    uint32_t flags, id;
    ProtobufCMessage *reply = next_answer(w, &flags);

    assert_false(flags & FRAME_ERROR);
    id = ((Pst__StepReply *)reply)->step->step_id;
    assert_true(((Pst__StepReply *)reply)->waited);
    protobuf_c_message_free_unpacked(reply, NULL);
    return id;
}

static int take_refusal(struct waiting *w)
{
    uint32_t flags;
    Pst__Error *e = (Pst__Error *)next_answer(w, &flags);
    int code = e->code;

    assert_true(flags & FRAME_ERROR);
    pst__error__free_unpacked(e, NULL);
    return code;
}

/* The first that waits is served first, though the second would fit; a third gets nothing. */
static void test_order(void **state)
{
    struct room *r = *state;
    uint32_t three = make_step(r, 3), first, second;
    struct waiting large = ask_async(&r->d, OP_STEP_CREATE, request_of(r, 4, WAITS));
    struct waiting small = ask_behind(&large, OP_STEP_CREATE, request_of(r, 1, WAITS));

    settle(r, &large);
    assert_int_equal(ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, 1, ""), NULL),
                     ESLURM_NODES_BUSY); /* it would overtake them */
    end_step(r, three);
    first = take_step(&large);
    end_step(r, first);
    second = take_step(&small);
    assert_true(second > first);
    client_free(large.c);
}

/* --immediate waits so long and no longer; what is behind it is not disturbed. */
static void test_immediate(void **state)
{
    struct room *r = *state;
    uint32_t all = make_step(r, 4);
    struct waiting late, other;
    char json[256];

    (void)snprintf(json, sizeof(json),
                   "{'job_id':%u,'wait':true,'spec':{'num_tasks':4,'immediate_s':1}}", r->job);
    late = ask_async(&r->d, OP_STEP_CREATE, json);
    other = ask_behind(&late, OP_STEP_CREATE, request_of(r, 2, WAITS));
    assert_int_equal(take_refusal(&late), ESLURM_NODES_BUSY);
    settle(r, &other);
    end_step(r, all);
    (void)take_step(&other);
    client_free(late.c);
}

/* A client that went away leaves its place: somebody else may have a step then. */
static void test_client_gone(void **state)
{
    struct room *r = *state;
    const int64_t until = now_mono_us() + DEADLINE_US;
    struct waiting gone;
    int code;

    (void)make_step(r, 3);
    gone = ask_async(&r->d, OP_STEP_CREATE, request_of(r, 4, WAITS));
    settle(r, &gone);
    assert_int_equal(ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, 1, ""), NULL),
                     ESLURM_NODES_BUSY);
    client_free(gone.c);
    while ((code = ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, 1, ""), NULL)) != 0) {
        assert_int_equal(code, ESLURM_NODES_BUSY);
        assert_true(now_mono_us() < until);
        (void)poll(NULL, 0, 5); /* between two questions */
    }
}

static void test_job_ends(void **state)
{
    struct room *r = *state;
    struct waiting w;

    (void)make_step(r, 4);
    w = ask_async(&r->d, OP_STEP_CREATE, request_of(r, 4, WAITS));
    settle(r, &w);
    assert_int_equal(act(&r->d, r->job, "CANCEL"), 0);
    assert_int_not_equal(take_refusal(&w), 0);
    assert_int_not_equal(ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, 1, ""), NULL), 0);
    client_free(w.c);
}

#define ASYNC ",'async':{'argv':['true']}"

/* The launch that the node is told of, or NULL when there is none among what it was told. */
static const Pst__LaunchStep *launch_at(const struct fake_node *n, size_t nth)
{
    for (size_t i = n->first; i < n->n; i++)
        if (n->pushes[i].op == OP_LAUNCH_ASYNC && nth-- == 0)
            return (const Pst__LaunchStep *)n->pushes[i].msg;
    return NULL;
}

static const Pst__LaunchStep *await_launch(struct fake_node *n, size_t nth)
{
    int64_t until = now_mono_us() + DEADLINE_US;
    int code;

    while (!launch_at(n, nth)) {
        assert_true(now_mono_us() < until);
        (void)node_pump(n, 100, 0, &code);
    }
    return launch_at(n, nth);
}

/* A queued step has its number at once, starts behind the one before it, and swait waits for both.
 */
static void test_async(void **state)
{
    struct room *r = *state;
    char json[64];
    ProtobufCMessage *reply = NULL;
    struct waiting w;
    uint32_t flags;

    assert_int_equal(ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, 4, ASYNC), &reply), 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(await_launch(r->n, 0)->n_task_ids, 4);
    assert_int_equal(ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, 2, ASYNC), &reply), 0);
    assert_int_equal(((Pst__StepReply *)reply)->step->step_id, 1);
    assert_int_equal(((Pst__StepReply *)reply)->step->state, PST__STEP_STATE__STEP_PENDING);
    protobuf_c_message_free_unpacked(reply, NULL);
    (void)snprintf(json, sizeof(json), "{'id':'%u'}", r->job);
    w = ask_async(&r->d, OP_STEPS_WAIT, json);
    settle(r, &w);
    assert_null(launch_at(r->n, 1));
    end_step(r, 0);
    assert_int_equal(await_launch(r->n, 1)->n_task_ids, 2);
    end_step(r, 1);
    reply = next_answer(&w, &flags);
    assert_false(flags & FRAME_ERROR);
    protobuf_c_message_free_unpacked(reply, NULL);
    client_free(w.c);
}

/* After a restart the launch is sent again until the node has confirmed it, and then no more. */
static void test_async_restart(void **state)
{
    struct room *r = *state;
    char running[160];

    assert_int_equal(ask(&r->d, r->d.client, OP_STEP_CREATE, request_of(r, 1, ASYNC), NULL), 0);
    (void)await_launch(r->n, 0);
    node_free(r->n);
    (void)daemon_stop(&r->d, SIGKILL);
    daemon_start(&r->d, NULL, NULL);
    (void)snprintf(running, sizeof(running), "[{'job_id':%u,'step_id':%u,'run_id':%llu}]", r->job,
                   STEP_BATCH, (unsigned long long)r->run);
    r->n = node_up(&r->d, "n0", "boot", running);
    assert_int_equal(await_launch(r->n, 0)->n_task_ids, 1);
    (void)snprintf(running, sizeof(running),
                   "{'launched':[{'job_id':%u,'step_id':0,'run_id':%llu}]}", r->job,
                   (unsigned long long)r->run);
    assert_int_equal(node_report(r->n, running), 0);
    node_free(r->n);
    (void)snprintf(running, sizeof(running),
                   "[{'job_id':%u,'step_id':%u,'run_id':%llu},"
                   "{'job_id':%u,'step_id':0,'run_id':%llu}]",
                   r->job, STEP_BATCH, (unsigned long long)r->run, r->job,
                   (unsigned long long)r->run);
    r->n = node_up(&r->d, "n0", "boot", running);
    assert_int_equal(node_report(r->n, "{}"), 0); /* what was sent before has come */
    assert_null(launch_at(r->n, 0));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup_room, teardown_room)
    const struct CMUnitTest tests[] = {
        T(test_order),    T(test_immediate), T(test_client_gone),
        T(test_job_ends), T(test_async),     T(test_async_restart)
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
