/* test_loop.c - the core's loop: which requests it carries out, in which order, and how it ends;
 * commands of other threads, and answers */
#include "coreask_util.h"

#include "ctld/core/reply.h"
#include "ctld/core/service.h"

static unsigned runs; /* of the operation below */

static void count_run(struct ctld *ctld, struct cmd *cmd)
{
    runs++;
    core_ok(ctld, cmd, 0);
}

static unsigned ticks, batches;

static void count_tick(struct ctld *ctld, int64_t now_us)
{
    (void)ctld, (void)now_us;
    ticks++;
}

static void count_batch(struct ctld *ctld)
{
    (void)ctld;
    batches++;
}

static const struct ctld_op ops[] = {
    { OP_PING, .fn = count_run, .flags = OPF_SHOWS },
    { OP_NODE_UPDATE, .fn = count_run, .flags = OPF_WRITES },
    { OP_JOB_WAIT, .fn = count_run },
    { 0 },
};

static const struct ctld_service counter = {
    .name = "counter", .ops = ops, .tick = count_tick, .batch_end = count_batch
};
static const struct ctld_service *const services[] = { &counter, NULL };

static struct core core;
static struct conn *root, *ann;

static void begin(void)
{
    coreask_begin(&core, "", services);
    root = coreask_connect(0);
    ann = coreask_connect(1000);
    runs = ticks = batches = 0;
}

static void end(void)
{
    root = conn_unref(root);
    ann = conn_unref(ann);
    coreask_end(&core);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void test_requests(void **state)
{
    (void)state;
    begin();
    assert_int_equal(coreask(&core, ann, "ann", OP_PING, "{}", NULL), 0);
    assert_int_equal(runs, 1);
    /* not the controller's */
    assert_int_equal(coreask(&core, root, NULL, OP_DBD_FEED, "{}", NULL), EPST_BAD_REQUEST);
    /* an administrator's */
    assert_int_equal(coreask(&core, ann, "ann", OP_NODE_UPDATE, "{}", NULL),
                     ESLURM_USER_ID_MISSING);
    assert_int_equal(coreask(&core, root, NULL, OP_NODE_UPDATE, "{}", NULL), 0);
    assert_int_equal(runs, 2);
    end();
}

/* A full disk refuses what writes, and nothing else; a standby what does not show alone. */
static void test_states(void **state)
{
    (void)state;
    begin();
    atomic_store(&core.ctld.disk_full, true);
    assert_int_equal(coreask(&core, root, NULL, OP_NODE_UPDATE, "{}", NULL), EPST_DISK_FULL);
    assert_non_null(strstr(coreask_text, "disk is full"));
    assert_int_equal(coreask(&core, ann, "ann", OP_JOB_WAIT, "{}", NULL), 0);
    atomic_store(&core.ctld.disk_full, false);
    atomic_store(&core.ctld.standby, true);
    assert_int_equal(coreask(&core, ann, "ann", OP_JOB_WAIT, "{}", NULL), ESLURM_IN_STANDBY_MODE);
    assert_int_equal(coreask(&core, ann, "ann", OP_PING, "{}", NULL), 0);
    end();
}

static struct cmd *make_cmd(struct conn *from, unsigned op, const char *json)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    assert_non_null(cmd);
    *cmd = (struct cmd){ .kind = CMD_REQUEST,
                         .conn = conn_ref(from),
                         .op = (uint16_t)op,
                         .id = ++from->last_id,
                         .uid = from->peer.uid,
                         .msg = from_json(wire_op_info(op)->request, json) };
    return cmd;
}

/* A client that has given up is not served. */
static void test_deadline(void **state)
{
    struct cmd *cmd;

    (void)state;
    begin();
    cmd = make_cmd(ann, OP_PING, "{}");
    cmd->deadline_mono_us = now_mono_us() - 1;
    assert_true(core_post(&core.ctld, cmd));
    coreask_turn(&core);
    assert_int_equal(runs, 0);
    assert_int_equal(coreask_answer(ann, OP_PING, NULL), EPST_DEADLINE);
    end();
}

/* One-way messages get no answer. */
static void test_oneway(void **state)
{
    struct cmd *cmd;

    (void)state;
    begin();
    cmd = make_cmd(ann, OP_PING, "{}");
    cmd->oneway = true;
    assert_true(core_post(&core.ctld, cmd));
    coreask_turn(&core);
    assert_int_equal(runs, 1);
    assert_int_equal(coreask_answer(ann, OP_PING, NULL), -1);
    end();
}

/* ---- calls ----------------------------------------------------------------------------------- */

static char order[16];

static void note_a(void *arg)
{
    (void)arg;
    (void)strncat(order, "a", 2);
}

static void note_b(void *arg)
{
    (void)arg;
    (void)strncat(order, "b", 2);
}

static void note_drop(void *arg)
{
    (void)arg;
    (void)strncat(order, "D", 2);
}

static void post_call(void (*fn)(void *arg), uid_t lane)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    assert_non_null(cmd);
    *cmd = (struct cmd){ .kind = CMD_CALL, .fn = fn, .drop = note_drop, .lane = lane };
    assert_true(core_post(&core.ctld, cmd));
}

/* The controller's own come first; each is called or dropped, once. */
static void test_calls(void **state)
{
    (void)state;
    begin();
    order[0] = '\0';
    post_call(note_b, 1000);
    post_call(note_a, 0);
    coreask_turn(&core);
    assert_string_equal(order, "ab");
    assert_true(ticks >= 1);
    assert_true(batches >= 1);
    post_call(note_a, 0);
    coreask_end(&core); /* it did not come to that */
    assert_string_equal(order, "abD");
    root = conn_unref(root);
    ann = conn_unref(ann);
}

static void go_on(void *arg)
{
    unsigned *left = arg;
    const struct cmd of = { .conn = ann, .op = OP_PING, .lane = 1000 };

    if (--*left)
        assert_true(core_again(&core.ctld, &of, go_on, NULL, left));
}

/* The rest of a long request comes at later turns, and holds its connection meanwhile. */
static void test_again(void **state)
{
    const struct cmd of = { .op = OP_PING, .lane = 1000 };
    struct cmd mine = of;
    unsigned left = 3;

    (void)state;
    begin();
    mine.conn = ann;
    assert_true(core_again(&core.ctld, &mine, go_on, NULL, &left));
    assert_int_equal(ann->refs, 2);
    for (unsigned i = 0; i < 10 && left; i++)
        coreask_turn(&core);
    assert_int_equal(left, 0);
    assert_int_equal(ann->refs, 1);
    end();
}

/* What is left when the controller ends is told so. */
static void test_stop(void **state)
{
    struct cmd *own;

    (void)state;
    begin();
    core_post_kind(&core.ctld, CMD_STOP);
    own = make_cmd(root, OP_PING, "{}"); /* behind the end */
    assert_true(core_post(&core.ctld, own));
    core_run(&core.ctld);
    coreask_settle(&core);
    assert_int_equal(runs, 0);
    assert_int_equal(coreask_answer(root, OP_PING, NULL), EPST_SHUTTING_DOWN);
    assert_false(atomic_load(&core.ctld.stopping));
    ctld_stop(&core.ctld);
    ctld_stop(&core.ctld); /* once is enough */
    core_run(&core.ctld);
    assert_true(atomic_load(&core.ctld.stopping));
    end();
}

/* ---- answers --------------------------------------------------------------------------------- */

/* An answer leaves when what it tells of is on the disk; without text the code speaks. */
static void test_answers(void **state)
{
    const struct cmd of = { .op = OP_PING, .id = 9 };
    struct cmd cmd = of;
    struct told t;

    (void)state;
    begin();
    cmd.conn = ann;
    core_ok(&core.ctld, &cmd, 50);
    effects_release(core.ctld.effects, 49);
    assert_int_equal(coreask_count(ann, OP_PING), 0);
    effects_release(core.ctld.effects, 50);
    assert_int_equal(coreask_answer(ann, OP_PING, NULL), 0);
    core_error_job(&core.ctld, &cmd, ESLURM_INVALID_PARTITION_NAME, "no such thing", 4711);
    coreask_settle(&core);
    t = coreask_take(ann, OP_PING);
    assert_int_equal(((Pst__Error *)t.msg)->code, ESLURM_INVALID_PARTITION_NAME);
    assert_string_equal(((Pst__Error *)t.msg)->text, "no such thing");
    assert_int_equal(((Pst__Error *)t.msg)->job_id, 4711);
    drop_told(&t);
    core_error(&core.ctld, &cmd, ESLURM_INVALID_PARTITION_NAME, NULL);
    coreask_settle(&core);
    t = coreask_take(ann, OP_PING);
    assert_null(((Pst__Error *)t.msg)->text);
    assert_false(((Pst__Error *)t.msg)->has_job_id);
    drop_told(&t);
    cmd.conn = NULL; /* our own */
    core_ok(&core.ctld, &cmd, 0);
    core_disk_full(&core.ctld, &cmd);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests), cmocka_unit_test(test_states),
        cmocka_unit_test(test_deadline), cmocka_unit_test(test_oneway),
        cmocka_unit_test(test_calls),    cmocka_unit_test(test_again),
        cmocka_unit_test(test_stop),     cmocka_unit_test(test_answers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
