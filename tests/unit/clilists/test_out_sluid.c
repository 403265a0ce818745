/* test_out_sluid.c - numbers of jobs that are named otherwise */
#include "cli/query/out_sluid.h"

#include "peer_json.h"

static struct peer ctld;

static int begin_peer(void **state)
{
    (void)state;
    peer_begin(&ctld);
    return 0;
}

static int end_peer(void **state)
{
    (void)state;
    peer_end(&ctld);
    return 0;
}

/* One question for all of them; ids that are numbers stay. */
static void test_sluids(void **state)
{
    struct ids list[3] = { { .job_id = 7 }, { .job_id = 0 }, { .job_id = 0 } };
    struct filter_ids ids = { list, 3 };
    Pst__QueryRequest *req;

    (void)state;
    (void)snprintf(list[1].sluid, sizeof(list[1].sluid), "s4FJPGD1TVBWTC");
    (void)snprintf(list[2].sluid, sizeof(list[2].sluid), "s4FJPGD1TVBWTD");
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, "{'job_id':12,'sluid':'s4FJPGD1TVBWTC'}",
              "{'job_id':13}");
    assert_int_equal(sluids_find(ctld.client, &ids), 0);
    assert_int_equal(list[0].job_id, 7);
    assert_int_equal(list[1].job_id, 12);
    assert_int_equal(list[2].job_id, UINT32_MAX); /* no job has this number */
    req = PEER_TAKE(&ctld, OP_QUERY_JOBS, query_request);
    assert_int_equal(req->jobs->n_sluids, 2);
    assert_string_equal(req->jobs->sluids[1], "s4FJPGD1TVBWTD");
    assert_int_equal(req->n_fields, 2);
    pst__query_request__free_unpacked(req, NULL);
}

static void test_nothing_to_ask(void **state)
{
    struct ids list[1] = { { .job_id = 7 } };
    struct filter_ids ids = { list, 1 }, none = { NULL, 0 };

    (void)state;
    assert_int_equal(sluids_find(ctld.client, &ids), 0);
    assert_int_equal(sluids_find(ctld.client, &none), 0);
    assert_true(peer_is_quiet(&ctld));
}

static void test_refused(void **state)
{
    struct ids list[1] = { { .sluid = "s4FJPGD1TVBWTC" } };
    struct filter_ids ids = { list, 1 };
    uint32_t job = 3;

    (void)state;
    peer_refuse(&ctld, OP_QUERY_JOBS, 2002, NULL);
    assert_int_equal(sluids_find(ctld.client, &ids), -EREMOTEIO);
    peer_refuse(&ctld, OP_QUERY_JOBS, 2002, NULL);
    assert_int_equal(sluids_task_job(ctld.client, 5, 2, &job), -EREMOTEIO);
    assert_int_equal(job, 3);
}

static void test_tasks(void **state)
{
    uint32_t job = 3;

    (void)state;
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, "{'job_id':5,'array_job_id':5}",
              "{'job_id':6,'array_job_id':5,'array_task_id':0}",
              "{'job_id':8,'array_job_id':5,'array_task_id':2}",
              "{'job_id':9,'array_job_id':4,'array_task_id':2}");
    assert_int_equal(sluids_task_job(ctld.client, 5, 2, &job), 0);
    assert_int_equal(job, 8);
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, "{'job_id':5,'array_job_id':5}");
    assert_int_equal(sluids_task_job(ctld.client, 5, 0, &job), 0);
    assert_int_equal(job, 0); /* it is no job of its own yet */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sluids, begin_peer, end_peer),
        cmocka_unit_test_setup_teardown(test_nothing_to_ask, begin_peer, end_peer),
        cmocka_unit_test_setup_teardown(test_refused, begin_peer, end_peer),
        cmocka_unit_test_setup_teardown(test_tasks, begin_peer, end_peer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
