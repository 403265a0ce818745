/* test_sreport_ask.c - usage from the store, and which TRES of it are wanted */
#include "sreport_util.h"

static void test_wanted(void **state)
{
    (void)state;
    assert_true(sreport_wants(&sreport, "cpu"));
    assert_false(sreport_wants(&sreport, "mem"));
    sreport.tres = "mem,GRES/gpu";
    assert_false(sreport_wants(&sreport, "cpu"));
    assert_true(sreport_wants(&sreport, "gres/gpu"));
    assert_false(sreport_wants(&sreport, "gres/gpu:a100"));
    assert_false(sreport_wants(&sreport, "me"));
    sreport.tres = "ALL";
    assert_true(sreport_wants(&sreport, "license/matlab"));
}

static void check_tres(void *ctx)
{
    sreport.tres = ctx;
    sreport_check_tres(&sreport);
}

/* As recorded: nothing of the list is a TRES. */
static void test_no_tres(void **state)
{
    static const char *const bad[] = { "nosuch", "cp", "gres/", "nosuch,foo" };
    static const char *const good[] = { "cpu", "foo,MEM", "gres/x", "License/matlab", "all", "" };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        output_of(&said, NULL, check_tres, (void *)bad[i]);
        expect_said(&said, "", "sreport: fatal: No valid TRES given\n");
        assert_int_equal(said.status, 1);
    }
    for (size_t i = 0; i < 6; i++) {
        output_of(&said, NULL, check_tres, (void *)good[i]);
        expect_said(&said, "", "");
        assert_int_equal(said.status, 0);
    }
}

static void test_request(void **state)
{
    struct cond c;
    Pst__UsageReply *reply;
    Pst__UsageRequest *req;

    (void)state;
    assert_true(parse_conditions(&c, COND_WHO, HOURS "accounts=chem"));
    USAGE("{'who':[{'cluster':'demo','account':'a\\u001bb'}]}");
    reply = sreport_ask(&sreport, &c, PST__USAGE_KIND__USAGE_WHO);
    assert_int_equal(reply->n_who, 1);
    assert_null(strchr(reply->who[0]->account, 27)); /* no sequences for a terminal */
    pst__usage_reply__free_unpacked(reply, NULL);
    req = PEER_TAKE(&store, OP_USAGE, usage_request);
    assert_int_equal(req->kind, PST__USAGE_KIND__USAGE_WHO);
    assert_string_equal(req->accounts[0], "chem");
    assert_true(req->end_s - req->start_s == 10800);
    pst__usage_request__free_unpacked(req, NULL);
    cond_done(&c);
}

/* A slurmdbd that leaves out texts: rows are compared by them. */
static void test_missing_texts(void **state)
{
    Pst__UsageReply *r;
    struct cond c;

    (void)state;
    assert_true(parse_conditions(&c, COND_WHO, HOURS));
    USAGE("{'clusters':[{}],'who':[{'tres':[{}]}],'sizes':[{}],'parents':[{}]}");
    r = sreport_ask(&sreport, &c, PST__USAGE_KIND__USAGE_WHO);
    assert_string_equal(r->clusters[0]->cluster, "");
    assert_string_equal(r->clusters[0]->tres, "");
    assert_string_equal(r->who[0]->cluster, "");
    assert_string_equal(r->who[0]->account, "");
    assert_string_equal(r->who[0]->user, "");
    assert_string_equal(r->who[0]->wckey, "");
    assert_string_equal(r->who[0]->qos, "");
    assert_string_equal(r->who[0]->tres[0]->name, "");
    assert_string_equal(r->sizes[0]->cluster, "");
    assert_string_equal(r->sizes[0]->account, "");
    assert_string_equal(r->sizes[0]->wckey, "");
    assert_string_equal(r->parents[0]->cluster, "");
    assert_string_equal(r->parents[0]->account, "");
    assert_string_equal(r->parents[0]->parent, "");
    assert_false(sreport_wants(&sreport, NULL));
    pst__usage_reply__free_unpacked(r, NULL);
    cond_done(&c);
}

static void ask_refused(void *ctx)
{
    struct cond c = { .request = PST__USAGE_REQUEST__INIT };

    (void)ctx;
    (void)sreport_ask(&sreport, &c, PST__USAGE_KIND__USAGE_WHO);
}

static void test_refused(void **state)
{
    (void)state;
    peer_refuse(&store, OP_USAGE, 2002, NULL);
    output_of(&said, NULL, ask_refused, NULL);
    expect_said(&said, "", "sreport: error: Problem with get: Access/permission denied\n");
    assert_int_equal(said.status, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SREPORT_TEST(test_wanted),        SREPORT_TEST(test_no_tres), SREPORT_TEST(test_request),
        SREPORT_TEST(test_missing_texts), SREPORT_TEST(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
