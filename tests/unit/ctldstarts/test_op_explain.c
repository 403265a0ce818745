/* test_op_explain.c - the question why a job waits: who may ask, what the scheduler is asked, and
 * who is told what */
#include "coreask_util.h"

#include "ctld/core/asking.h"
#include "ctld/policy/policy.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/starts/explain_text.h"
#include "ctld/starts/wait.h"
#include "sched/explain/sched_explain.h"

extern const struct ctld_service completewait_service, explain_service, feedlimits_service,
    licenses_service, passnotes_service;

static const struct ctld_service *const services[] = { &topology_service,
                                                       &asking_service,
                                                       &feedlimits_service,
                                                       &completewait_service,
                                                       &schedfeed_service,
                                                       &licenses_service,
                                                       &feasible_service,
                                                       &passnotes_service,
                                                       &views_service,
                                                       &hooks_service,
                                                       &prologs_service,
                                                       &owners_service,
                                                       &cleaning_service,
                                                       &imex_service,
                                                       &wait_service,
                                                       &explain_service,
                                                       NULL };

static struct core core;
static struct conn *ann, *bob;

static void begin(const char *lines)
{
    coreask_begin(&core, lines, services);
    core_nodes(&core, 2, 4);
    ann = coreask_connect(1000);
    bob = coreask_connect(1001);
}

static void end(void)
{
    ann = coreask_part(&core, ann);
    bob = coreask_part(&core, bob);
    coreask_end(&core);
}

static int ask_why(struct conn *c, const char *json, ProtobufCMessage **ret)
{
    return coreask(&core, c, "user", OP_QUERY_EXPLAIN, json, ret);
}

static void scheduler_says(uint64_t ticket)
{
    struct explain_part *part = calloc(1, sizeof(*part));
    struct decisions_msg *m = calloc(1, sizeof(*m));

    assert_true(part && m);
    *part = (struct explain_part){ .name = "p",
                                   .why = SCHED_WHY_RESOURCES,
                                   .place = 1,
                                   .queued = 1,
                                   .total = 2,
                                   .suitable = 2,
                                   .wanted = 1,
                                   .causes = { [EXPLAIN_HELD] = 2 } };
    m->ctld = &core.ctld;
    m->explain = true;
    m->ticket = ticket;
    m->explained = (struct sched_explanation){ .parts = part, .nparts = 1, .settled = true };
    explain_answer(&core.ctld, m);
    decisions_msg_free(m);
    coreask_settle(&core);
}

/* Of a job that runs or is over, the record says all; there is none that is not there. */
static void test_at_once(void **state)
{
    ProtobufCMessage *reply = NULL;
    Pst__Transaction *tx;

    (void)state;
    begin("");
    (void)core_job(&core, 7, NULL);
    (void)core_start(7, 1, &tx);
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(ask_why(ann, "{'job_id':7}", &reply), 0);
    assert_non_null(((Pst__ExplainReply *)reply)->summary);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(ask_why(bob, "{'job_id':7}", NULL), 0); /* no secret */
    assert_int_equal(ask_why(ann, "{'job_id':8}", NULL), ESLURM_INVALID_JOB_ID);
    assert_int_equal(ask_why(ann, "{}", NULL), ESLURM_INVALID_JOB_ID);
    end();
}

static void test_private(void **state)
{
    Pst__Transaction *tx;

    (void)state;
    begin("PrivateData=jobs\n");
    (void)core_job(&core, 7, NULL);
    (void)core_start(7, 1, &tx);
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(ask_why(ann, "{'job_id':7}", NULL), 0);
    /* as if there were none */
    assert_int_equal(ask_why(bob, "{'job_id':7}", NULL), ESLURM_INVALID_JOB_ID);
    end();
}

/* Of a job that waits, the scheduler is asked; its answer goes to whoever asked. */
static void test_waits(void **state)
{
    ProtobufCMessage *reply = NULL;
    const Pst__ExplainReply *r;
    uint64_t ticket;

    (void)state;
    begin("");
    (void)core_job(&core, 7, NULL);
    assert_int_equal(ask_why(ann, "{'job_id':7}", NULL), -1);
    ticket = core.ctld.next_ticket;
    assert_non_null(wait_find(&core.ctld, ticket));
    scheduler_says(ticket);
    assert_int_equal(coreask_answer(ann, OP_QUERY_EXPLAIN, &reply), 0);
    r = (const Pst__ExplainReply *)reply;
    assert_true(r->n_sentences > 0);
    assert_string_equal(r->summary, r->sentences[0]);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_null(wait_find(&core.ctld, ticket));
    scheduler_says(ticket); /* nobody waits any more */
    end();
}

/* Meanwhile the job may start, or be gone. */
static void test_meanwhile(void **state)
{
    ProtobufCMessage *reply = NULL;
    Pst__Transaction *tx;

    (void)state;
    begin("");
    (void)core_job(&core, 7, NULL);
    (void)core_job(&core, 8, NULL);
    assert_int_equal(ask_why(ann, "{'job_id':7}", NULL), -1);
    (void)core_start(7, 1, &tx);
    apply_ok(core.ctld.cluster, tx);
    scheduler_says(core.ctld.next_ticket);
    assert_int_equal(coreask_answer(ann, OP_QUERY_EXPLAIN, &reply), 0);
    assert_non_null(strstr(((Pst__ExplainReply *)reply)->summary, "RUNNING"));
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(ask_why(ann, "{'job_id':8}", NULL), -1);
    purge_job(core.ctld.cluster, 8);
    scheduler_says(core.ctld.next_ticket);
    assert_int_equal(coreask_answer(ann, OP_QUERY_EXPLAIN, NULL), ESLURM_INVALID_JOB_ID);
    end();
}

static void post_question(uint32_t id)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    assert_non_null(cmd);
    *cmd = (struct cmd){ .kind = CMD_REQUEST,
                         .conn = conn_ref(ann),
                         .op = OP_QUERY_EXPLAIN,
                         .id = id,
                         .uid = 1000,
                         .lane = 1000,
                         .msg = from_json(&pst__explain_request__descriptor, "{'job_id':7}") };
    assert_true(core_post(&core.ctld, cmd));
}

/* One user's questions do not keep the scheduler from its work. */
static void test_many(void **state)
{
    (void)state;
    begin("");
    (void)core_job(&core, 7, NULL);
    for (unsigned i = 0; i < ASKING_MAX; i++)
        post_question(i + 1);
    coreask_turn(&core);
    assert_int_equal(coreask_count(ann, OP_QUERY_EXPLAIN), 0); /* all are asked */
    post_question(99);
    coreask_turn(&core);
    assert_int_equal(coreask_answer(ann, OP_QUERY_EXPLAIN, NULL), SLURMCTLD_COMMUNICATIONS_BACKOFF);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once), cmocka_unit_test(test_private),
        cmocka_unit_test(test_waits),   cmocka_unit_test(test_meanwhile),
        cmocka_unit_test(test_many),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
