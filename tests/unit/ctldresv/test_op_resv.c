/* test_op_resv.c - reservations: what a request makes of them, and what is refused */
#include "resv_util.h"

static void test_made_and_removed(void **state)
{
    (void)state;
    assert_int_equal(create("'name':'two'", later,
                            "'users':'root,daemon','want_node_cnts':'2','partition':'main',"
                            "'comment':'c'"),
                     0);
    assert_true(resv_has_text("two", "'node_cnt':2"));
    assert_true(resv_has_text("two", "'core_cnt':16"));
    assert_true(resv_has_text("two", "'users':'root,daemon'"));
    assert_true(resv_has_text("two", "'comment':'c'"));
    assert_int_equal(create("'name':'two'", later, "'users':'root','want_node_cnts':'1'"),
                     ESLURM_RESERVATION_NAME_DUP);
    /* Of four nodes two are left then, and all again an hour later. */
    assert_int_equal(create("'name':'four'", later, "'users':'root','want_node_cnts':'3'"),
                     ESLURM_NODES_BUSY);
    assert_int_equal(create("'name':'four'", (struct hours){ 102, 103 },
                            "'users':'root','want_node_cnts':'1,3'"),
                     0);
    assert_true(resv_has_text("four", "'node_cnt':4"));
    assert_int_equal(drop(shared.client, "two"), 0);
    assert_int_equal(drop(shared.client, "four"), 0);
    assert_null(find("two"));
    assert_int_equal(drop(shared.client, "two"), ESLURM_RESERVATION_INVALID);
}

/* A name is made of the first account, user or group, and of the number. */
static void test_names(void **state)
{
    ProtobufCMessage *reply = NULL;
    char json[256];
    const char *name;

    (void)state;
    (void)snprintf(json, sizeof(json),
                   "{'create':true,'duration_min':5,'set':{'users':'daemon,root','nodes':'n0',"
                   "'start_us':%lld}}",
                   (long long)(now_us() + HOUR_US));
    assert_int_equal(ask(&shared, shared.client, OP_RESV_UPDATE, json, &reply), 0);
    name = ((Pst__ResvReply *)reply)->name;
    assert_int_equal(strncmp(name, "daemon_", 7), 0);
    assert_int_equal(drop(shared.client, name), 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(create("'name':'a b'", later, "'users':'root','nodes':'n0'"),
                     ESLURM_RESERVATION_INVALID);
    assert_int_equal(create("'name':'a,b'", later, "'users':'root','nodes':'n0'"),
                     ESLURM_RESERVATION_INVALID);
    assert_int_equal(create("'name':''", later, "'users':'root','nodes':'n0'"),
                     ESLURM_RESERVATION_INVALID);
}

#define NODES "'users':'root','nodes':'n0'"

static void test_refused(void **state)
{
    static const struct {
        struct hours h;
        const char *set;
        int code;
    } rows[] = {
        { { 0, 101 }, NODES, ESLURM_INVALID_TIME_VALUE },
        { { 100, 0 }, NODES, ESLURM_INVALID_TIME_VALUE },
        { { 100, 99 }, NODES, ESLURM_INVALID_TIME_VALUE },
        { { -1, 10 }, NODES, ESLURM_INVALID_TIME_VALUE },
        { { 100, 101 }, "'nodes':'n0'", ESLURM_RESERVATION_EMPTY },
        { { 100, 101 }, "'users':'','nodes':'n0'", ESLURM_RESERVATION_EMPTY },
        { { 100, 101 },
          "'users':'root','groups':'root','nodes':'n0'",
          ESLURM_RESERVATION_USER_GROUP },
        { { 100, 101 }, "'users':'root'", ESLURM_NODES_BUSY },
        { { 100, 101 }, "'users':'root','nodes':'nosuch'", ESLURM_INVALID_NODE_NAME },
        { { 100, 101 }, "'users':'root','nodes':'n[0'", ESLURM_INVALID_NODE_NAME },
        { { 100, 101 }, "'users':'root','want_node_cnts':'6'", ESLURM_NODES_BUSY },
        { { 100, 101 }, "'users':'root','want_node_cnts':'1,,1'", ESLURM_INVALID_NODE_COUNT },
        { { 100, 101 }, "'users':'root','want_node_cnts':'x'", ESLURM_INVALID_NODE_COUNT },
        { { 100, 101 }, "'users':'root','want_node_cnts':'4294967295'", ESLURM_INVALID_NODE_COUNT },
        { { 100, 101 }, NODES ",'partition':'nosuch'", ESLURM_INVALID_PARTITION_NAME },
        { { 100, 101 }, NODES ",'allowed_partitions':'nosuch'", ESLURM_INVALID_PARTITION_NAME },
        { { 100, 101 }, NODES ",'features':'[a'", ESLURM_INVALID_FEATURE },
        { { 100, 101 }, "'users':'root','want_tres':'cpu'", ESLURM_INVALID_TRES },
        { { 100, 101 }, "'users':'root','want_tres':'cpu=x'", ESLURM_INVALID_TRES },
        { { 100, 101 }, "'users':'root','want_tres':'mem=5'", ESLURM_INVALID_TRES },
    };
    uint64_t before = state_hash(&shared);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int code = create("'name':'bad'", rows[i].h, rows[i].set);

        if (code != rows[i].code)
            print_error("# row %zu: %s: %d '%s'\n", i, rows[i].set, code, shared.text);
        assert_int_equal(code, rows[i].code);
    }
    if (stranger) {
        assert_int_equal(request(stranger, "'create':true,'name':'bad'", later, NODES),
                         ESLURM_USER_ID_MISSING);
        assert_int_equal(request(stranger, "'name':'nosuch'", later, NODES),
                         ESLURM_USER_ID_MISSING);
    }
    assert_int_equal(state_hash(&shared), before);
}

static int create_at(const char *rest, int64_t start_us, int64_t end_us)
{
    char json[512];

    (void)snprintf(json, sizeof(json),
                   "{'create':true,'name':'far',%s,'set':{'start_us':%lld,'end_us':%lld,%s}}", rest,
                   (long long)start_us, (long long)end_us, NODES);
    return ask(&shared, shared.client, OP_RESV_UPDATE, json, NULL);
}

/* Times from which no sum may be made, or from which it is a long way to today. */
static void test_far_times(void **state)
{
    char recurs[64], floats[64];
    const int64_t now = now_us();

    (void)state;
    (void)snprintf(recurs, sizeof(recurs), "'flags_set':%llu",
                   (unsigned long long)(RESV_FLAG(DAILY) | RESV_FLAG(FORCE_START)));
    (void)snprintf(floats, sizeof(floats), "'flags_set':%llu",
                   (unsigned long long)RESV_FLAG(TIME_FLOAT));
    assert_int_equal(create_at(recurs, INT64_MIN, now + HOUR_US), ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(create_at(recurs, -HOUR_US, now + HOUR_US), ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(create_at(recurs, INT64_MAX - 1, INT64_MAX), ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(create_at(floats, INT64_MAX - 1, INT64_MAX), ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(create_at(floats, now + (INT64_C(1) << 33) * SEC, INT64_C(1) << 55),
                     ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(create_at("'duration_min':4294967294", INT64_MAX - 1, 0),
                     ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(create_at("'duration_min':4294967294", now + HOUR_US, 0),
                     ESLURM_INVALID_TIME_VALUE);
    assert_null(find("far"));
    assert_int_equal(create_at("'duration_min':4294967295", now + HOUR_US, 0), 0); /* a year */
    assert_int_equal(drop(shared.client, "far"), 0);
}

static void test_flags(void **state)
{
    static const struct {
        uint64_t flags;
        int code;
    } rows[] = {
        { RESV_FLAG(DAILY) | RESV_FLAG(WEEKLY), ESLURM_NOT_SUPPORTED },
        { RESV_FLAG(DAILY) | RESV_FLAG(TIME_FLOAT), ESLURM_NOT_SUPPORTED },
        { RESV_FLAG(FORCE_START), ESLURM_NOT_SUPPORTED },
        { RESV_FLAG(REPLACE), ESLURM_INVALID_NODE_NAME }, /* nodes are named */
        { RESV_FLAG(PART_NODES), ESLURM_NOT_SUPPORTED },
    };
    char json[96];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        (void)snprintf(json, sizeof(json), "'name':'bad','flags_set':%llu",
                       (unsigned long long)rows[i].flags);
        assert_int_equal(create(json, later, NODES), rows[i].code);
    }
    /* Bits that no flag has are nothing, and SPEC_NODES is for the controller to say. */
    assert_int_equal(create("'name':'f','flags_set':9223372036854775808", later, NODES), 0);
    assert_true(resv_has_text("f", "'flags':512"));
    (void)snprintf(json, sizeof(json), "'name':'f','flags_set':%llu",
                   (unsigned long long)RESV_FLAG(TIME_FLOAT));
    assert_int_equal(update_resv(json, NO_TIMES, ""), ESLURM_NOT_SUPPORTED);
    (void)snprintf(json, sizeof(json), "'name':'f','flags_set':%llu",
                   (unsigned long long)RESV_FLAG(DAILY));
    assert_int_equal(update_resv(json, NO_TIMES, ""), 0);
    (void)snprintf(json, sizeof(json), "'name':'f','flags_set':%llu",
                   (unsigned long long)RESV_FLAG(WEEKLY)); /* in place of DAILY */
    assert_int_equal(update_resv(json, NO_TIMES, ""), 0);
    (void)snprintf(json, sizeof(json), "'flags':%llu",
                   (unsigned long long)(RESV_FLAG(WEEKLY) | RESV_FLAG(SPEC_NODES)));
    assert_true(resv_has_text("f", json));
    assert_int_equal(drop(shared.client, "f"), 0);
}

static void test_updated(void **state)
{
    (void)state;
    assert_int_equal(create("'name':'u'", later, NODES), 0);
    assert_int_equal(
        update_resv("'name':'u','users_edit':'LIST_ADD'", NO_TIMES, "'users':'daemon'"), 0);
    assert_true(resv_has_text("u", "'users':'root,daemon'"));
    assert_int_equal(
        update_resv("'name':'u','users_edit':'LIST_REMOVE'", NO_TIMES, "'users':'bin'"),
        ESLURM_USER_ID_MISSING);
    assert_int_equal(
        update_resv("'name':'u','users_edit':'LIST_REMOVE'", NO_TIMES, "'users':'root'"), 0);
    assert_true(resv_has_text("u", "'users':'daemon'"));
    assert_int_equal(
        update_resv("'name':'u','users_edit':'LIST_REMOVE'", NO_TIMES, "'users':'daemon'"),
        ESLURM_RESERVATION_EMPTY);
    assert_int_equal(
        update_resv("'name':'u','nodes_edit':'LIST_ADD'", NO_TIMES, "'nodes':'n[2-3]'"), 0);
    assert_true(resv_has_text("u", "'nodes':'n[0,2-3]'"));
    assert_int_equal(
        update_resv("'name':'u','nodes_edit':'LIST_REMOVE'", NO_TIMES, "'nodes':'n[0,3]'"), 0);
    assert_true(resv_has_text("u", "'nodes':'n2'"));
    assert_int_equal(update_resv("'name':'u','nodes_edit':'LIST_REMOVE'", NO_TIMES, "'nodes':'n2'"),
                     ESLURM_INVALID_NODE_NAME);
    assert_int_equal(update_resv("'name':'u','duration_change_min':-60", NO_TIMES, ""),
                     ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(update_resv("'name':'u','duration_change_min':-30", NO_TIMES, ""), 0);
    assert_int_equal(update_resv("'name':'u','skip':true", NO_TIMES, ""),
                     ESLURM_RESERVATION_NO_SKIP);
    assert_int_equal(drop(shared.client, "u"), 0);
}

/* One that has begun keeps its start; one that recurs can be skipped. */
static void test_begun(void **state)
{
    char json[96];
    Pst__ReservationRecord *first, *second;

    (void)state;
    (void)snprintf(json, sizeof(json), "'name':'b','duration_min':60,'flags_set':%llu",
                   (unsigned long long)RESV_FLAG(HOURLY));
    assert_int_equal(create_at("'duration_min':60", now_us() - 60 * SEC, 0), 0);
    assert_int_equal(update_resv("'name':'far'", later, ""), ESLURM_RSV_ALREADY_STARTED);
    assert_int_equal(drop(shared.client, "far"), 0);
    assert_int_equal(create(json, (struct hours){ 100, 0 }, NODES), 0);
    first = find("b");
    assert_int_equal(update_resv("'name':'b','skip':true", NO_TIMES, ""), 0);
    second = find("b");
    assert_int_equal(second->start_us, first->start_us + HOUR_US);
    assert_int_equal(second->end_us, first->end_us + HOUR_US);
    pst__reservation_record__free_unpacked(first, NULL);
    pst__reservation_record__free_unpacked(second, NULL);
    assert_int_equal(drop(shared.client, "b"), 0);
}

static void test_jobs_of_others(void **state)
{
    static const char json[] = "{'job':{'reservation':'mine'}}";
    uint32_t id;

    (void)state;
    assert_int_equal(submit_as(&shared, shared.client, json, NULL), ESLURM_RESERVATION_INVALID);
    assert_int_equal(create("'name':'mine'", later, NODES), 0);
    if (stranger) {
        assert_int_equal(submit_as(&shared, stranger, json, NULL), ESLURM_RESERVATION_ACCESS);
        assert_int_equal(drop(stranger, "mine"), ESLURM_USER_ID_MISSING);
    }
    id = submit(&shared, json);
    assert_job(&shared, id, "'reservation':'mine'");
    assert_int_equal(drop(shared.client, "mine"), 0);
    assert_job(&shared, id, "'reason':'REASON_RESERVATION_DELETED'");
    assert_job(&shared, id, "'priority':0");
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
}

/* A job that waits for it would not be let in any more. */
static void test_users_with_jobs(void **state)
{
    static const char job[] = "{'job':{'reservation':'theirs'}}";
    uint32_t id;

    (void)state;
    if (!stranger)
        skip();
    assert_int_equal(create("'name':'theirs'", later, "'users':'root,12345','nodes':'n0'"), 0);
    assert_int_equal(submit_as(&shared, stranger, job, &id), 0);
    assert_int_equal(update_resv("'name':'theirs'", NO_TIMES, "'users':'root'"),
                     ESLURM_RESERVATION_BUSY);
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
    assert_int_equal(update_resv("'name':'theirs'", NO_TIMES, "'users':'root'"), 0);
    assert_int_equal(drop(shared.client, "theirs"), 0);
}

static void test_kept(void **state)
{
    (void)state;
    assert_int_equal(create("'name':'kept'", later, NODES), 0);
    stranger = client_free(stranger);
    (void)daemon_stop(&shared, SIGKILL); /* the log is replayed */
    daemon_start(&shared, NULL, NULL);
    assert_true(resv_has_text("kept", "'nodes':'n0'"));
    assert_true(resv_has_text("kept", "'users':'root'"));
    assert_int_equal(drop(shared.client, "kept"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_and_removed),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_far_times),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_updated),
        cmocka_unit_test(test_begun),
        cmocka_unit_test(test_jobs_of_others),
        cmocka_unit_test(test_users_with_jobs),
        cmocka_unit_test(test_kept), /* the controller is another one then */
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup_nodes, teardown_nodes);
}
