/* test_out_resv.c - reservations as text, JSON and a table, as recorded */
#include "cli/format/out_resv.h"

#include <time.h>

#include "base/timefmt.h"
#include "json_util.h"
#include "model/words/resvwords.h"
#include "peer_json.h"

#define NOON (INT64_C(1795176000) * USEC_PER_SEC) /* 2026-11-20T12:00:00 */
#define HOUR (3600 * USEC_PER_SEC)

static Pst__ReservationRecord resv;

static int make_record(void **state)
{
    (void)state;
    (void)setenv("TZ", "UTC", 1);
    tzset();
    pst__reservation_record__init(&resv);
    resv.name = (char *)"r1";
    resv.start_us = NOON + HOUR;
    resv.end_us = NOON + HOUR + HOUR / 2;
    resv.nodes = (char *)"node[1-2]";
    resv.node_cnt = 2;
    resv.core_cnt = 16;
    resv.partition = (char *)"debug";
    resv.tres = (char *)"cpu=32";
    resv.users = (char *)"bob";
    resv.accounts = (char *)"physics";
    return 0;
}

static void expect_text(int64_t now, bool oneliner, const char *want)
{
    struct strbuf sb = STRBUF_INIT;

    resv_text(&sb, &resv, now, oneliner);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
}

static void test_text(void **state)
{
    static const char want[] =
        "ReservationName=r1 StartTime=2026-11-20T13:00:00 EndTime=2026-11-20T13:30:00 "
        "Duration=00:30:00\n"
        "   Nodes=node[1-2] NodeCnt=2 CoreCnt=16 Features=(null) PartitionName=debug Flags=\n"
        "   TRES=cpu=32\n"
        "   AllowedPartitions=(null) QOS=(null)\n"
        "   Users=bob Groups=(null) Accounts=physics Licenses=(null) State=INACTIVE "
        "BurstBuffer=(null)\n"
        "   MaxStartDelay=(null)\n\n";

    (void)state;
    expect_text(NOON, false, want);
}

/* What is not always there: flags, cores, a delay, a comment. */
static void test_more(void **state)
{
    Pst__ResvCores one = PST__RESV_CORES__INIT, *cores[] = { &one };

    (void)state;
    one.node = (char *)"node1";
    one.cores = (char *)"0-3";
    resv.cores = cores;
    resv.n_cores = 1;
    resv.has_flags = 1;
    resv.flags = RESV_FLAG(MAINT) | RESV_FLAG(IGNORE_JOBS);
    resv.has_max_start_delay_s = 1;
    resv.max_start_delay_s = 90;
    resv.comment = (char *)"hi there";
    resv.licenses = (char *)"matlab:5";
    expect_text(
        NOON + HOUR, true,
        "ReservationName=r1 StartTime=2026-11-20T13:00:00 EndTime=2026-11-20T13:30:00 "
        "Duration=00:30:00 Nodes=node[1-2] NodeCnt=2 CoreCnt=16 Features=(null) "
        "PartitionName=debug Flags=MAINT,IGNORE_JOBS NodeName=node1 CoreIDs=0-3 TRES=cpu=32 "
        "AllowedPartitions=(null) QOS=(null) Users=bob Groups=(null) Accounts=physics "
        "Licenses=matlab:5 State=ACTIVE BurstBuffer=(null) MaxStartDelay=00:01:30 "
        "Comment=hi there\n");
}

/* One that floats moves along, and is never there. */
static void test_floating(void **state)
{
    int64_t start, end;

    (void)state;
    resv.has_flags = 1;
    resv.flags = RESV_FLAG(TIME_FLOAT);
    resv.float_s = 600;
    resv_span(&resv, NOON, &start, &end);
    assert_true(start == NOON + 600 * USEC_PER_SEC);
    assert_true(end == start + HOUR / 2);
    resv_span(&resv, NOON + 5 * HOUR, &start, &end);
    assert_true(start == NOON + 5 * HOUR + 600 * USEC_PER_SEC);
    resv.licenses = (char *)"matlab:5";
    assert_null(resv_keeps(&resv, NOON + HOUR));
}

static void test_licences_kept(void **state)
{
    (void)state;
    resv.licenses = (char *)"matlab:5";
    assert_null(resv_keeps(&resv, NOON + HOUR - 1));
    assert_string_equal(resv_keeps(&resv, NOON + HOUR), "matlab:5");
    assert_null(resv_keeps(&resv, NOON + 2 * HOUR));
}

static void test_table(void **state)
{
    Pst__ReservationRecord other = resv, *list[] = { &resv, &other };
    Pst__ResvSet set = PST__RESV_SET__INIT;
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    other.name = (char *)"maintenance1";
    other.nodes = NULL;
    other.start_us = NOON - HOUR;
    other.end_us = NOON + HOUR;
    set.items = list;
    set.n_items = 1;
    set.now_us = NOON;
    resv_table(&sb, &set, true);
    assert_string_equal(
        strbuf_str(&sb),
        "RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST\n"
        "r1         INACTIVE  2026-11-20T13:00:00  2026-11-20T13:30:00     00:30:00  node[1-2]\n");
    strbuf_reset(&sb);
    set.n_items = 2;
    resv_table(&sb, &set, false);
    assert_string_equal(
        strbuf_str(&sb),
        "r1            INACTIVE  2026-11-20T13:00:00  2026-11-20T13:30:00     00:30:00  node[1-2]\n"
        "maintenance1    ACTIVE  2026-11-20T11:00:00  2026-11-20T13:00:00     02:00:00  (null)\n");
    strbuf_done(&sb);
}

static void test_json(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct json js;

    (void)state;
    resv.has_flags = 1;
    resv.flags = RESV_FLAG(MAINT) | RESV_FLAG(PURGE_COMP);
    resv.purge_comp_s = 60;
    json_begin(&js, &sb, JSON_DENSE);
    json_list(&js, "l");
    resv_json(&js, &resv, NOON);
    json_list_end(&js);
    json_end(&js);
    assert_non_null(strstr(strbuf_str(&sb), "\"name\":\"r1\",\"node_count\":2,"
                                            "\"node_list\":\"node[1-2]\",\"partition\":\"debug\""));
    assert_non_null(strstr(strbuf_str(&sb), "\"flags\":[\"MAINT\",\"PURGE_COMP\"]"));
    assert_non_null(strstr(strbuf_str(&sb), "\"core_count\":16,\"core_specializations\":[],"));
    assert_non_null(strstr(strbuf_str(&sb), "\"purge_completed\":{\"time\":{\"set\":true,"
                                            "\"infinite\":false,\"number\":60}}"));
    assert_non_null(strstr(strbuf_str(&sb), "\"number\":1795179600"));
    strbuf_done(&sb);
}

/* No sequences for a terminal come from the controller's texts. */
static void test_load(void **state)
{
    Pst__ResvSet *set = NULL;
    struct peer ctld;

    (void)state;
    peer_begin(&ctld);
    PEER_ANSWER(&ctld, OP_QUERY_RESVS, resv_set, "{'items':[{'name':'a\\u001bb'}]}");
    assert_int_equal(resv_load(ctld.client, &set), 0);
    assert_int_equal(set->n_items, 1);
    assert_null(strchr(set->items[0]->name, 27));
    pst__resv_set__free_unpacked(set, NULL);
    peer_refuse(&ctld, OP_QUERY_RESVS, 2002, NULL);
    assert_int_equal(resv_load(ctld.client, &set), -EREMOTEIO);
    peer_end(&ctld);
}

#define ONE(fn) cmocka_unit_test_setup(fn, make_record)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_text),  ONE(test_more), ONE(test_floating), ONE(test_licences_kept),
        ONE(test_table), ONE(test_json), ONE(test_load),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
