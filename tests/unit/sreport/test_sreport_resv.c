/* test_sreport_resv.c - reservations and what was used of them */
#include "acctop.pb-c.h"
#include "sreport_util.h"

static void run_report(const char *line)
{
    struct cond c;

    output_begin(&said, NULL);
    assert_true(parse_conditions(&c, COND_RESERVATIONS, line));
    report_reservations(&sreport, &c);
    output_end(&said);
    cond_done(&c);
}

#define RESV                                                                                       \
    "{'cluster':'demo','name':'r1','start_us':1795158000000000,'end_us':1795161600000000,"         \
    "'nodes':'n[1-2]','assoc_ids':[4,7],'use':[{'tres':'cpu','count':32,'alloc_s':2400,"           \
    "'idle_s':4800},{'tres':'mem','count':9,'alloc_s':60}]}"
#define RECORDS(...) PEER_LIST(&store, OP_ACCT_LIST, acct_resv_record, __VA_ARGS__)

static void test_report(void **state)
{
    Pst__AcctListRequest *req;

    (void)state;
    RECORDS(RESV);
    run_report(HOURS "r1 nodes=n1");
    expect_said(
        &said,
        RULE_LINE
        "Reservation Utilization 2026-11-20T07:00:00 - 2026-11-20T09:59:59\n"
        "Usage reported in TRES Minutes\n" RULE_LINE
        "  Cluster      Name               Start                 End      TRES Name        "
        "    Allocated                 Idle \n"
        "--------- --------- ------------------- ------------------- -------------- "
        "-------------------- -------------------- \n"
        "     demo        r1 2026-11-20T07:00:00 2026-11-20T08:00:00            cpu         "
        "          40                   80 \n"
        "     demo        r1 2026-11-20T07:00:00 2026-11-20T08:00:00            mem         "
        "           1                    0 \n",
        "");
    req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);
    assert_int_equal(req->entity, PST__ACCT_ENTITY__ACCT_RESERVATION);
    assert_string_equal(req->where->names[0], "r1");
    assert_string_equal(req->where->nodes[0], "n1");
    assert_string_equal(req->where->clusters[0], "demo");
    assert_true(req->where->used_within);
    assert_true(req->where->start_us == INT64_C(1795158000000000));
    pst__acct_list_request__free_unpacked(req, NULL);
}

static void test_columns(void **state)
{
    (void)state;
    sreport.noheader = true;
    sreport.parsable = 2;
    sreport.tres = "cpu";
    sreport.form = FORM_SECS_PER;
    RECORDS(RESV);
    run_report(HOURS "format=name,trescount,associations,nodes,totaltime,allocated,idle");
    expect_said(&said, "r1|32|4,7|n[1-2]|7200(100.00%)|2400(33.33%)|4800(66.67%)\n", "");
}

static void report_refused(void *ctx)
{
    struct cond c;

    (void)ctx;
    (void)parse_conditions(&c, COND_RESERVATIONS, HOURS);
    sreport.noheader = true;
    report_reservations(&sreport, &c);
}

static void test_refused(void **state)
{
    (void)state;
    peer_refuse(&store, OP_ACCT_LIST, 2002, NULL);
    output_of(&said, NULL, report_refused, NULL);
    expect_said(&said, "", "sreport: error: Problem with get: Access/permission denied\n");
    assert_int_equal(said.status, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SREPORT_TEST(test_report),
        SREPORT_TEST(test_columns),
        SREPORT_TEST(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
