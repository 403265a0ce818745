/* test_restdb.c - records of bodies as settings: what differs is set, what is the same is not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/format/json_dbdconf.h"
#include "cli/format/json_store.h"
#include "rest/db/restdb.h"
#include "rest/db/restdbdelete.h"
#include "rest/db/restdbget.h"
#include "rest/db/restdbinfo.h"
#include "rest/db/restdbjobs.h"
#include "rest/db/restdbpost.h"
#include "rest/db/restdbread.h"
#include "rest/db/restdbset.h"

/* ---- a store --------------------------------------------------------------------------------- */

static Pst__TresRecord cpu = PST__TRES_RECORD__INIT, gpu = PST__TRES_RECORD__INIT;
static Pst__QosRecord normal = PST__QOS_RECORD__INIT, high = PST__QOS_RECORD__INIT;
static Pst__TresRecord *all_tres[] = { &cpu, &gpu };
static Pst__QosRecord *all_qos[] = { &normal, &high };
static const struct store_names names = { all_tres, 2, all_qos, 2 };

static int make_store(void **state)
{
    (void)state;
    cpu.tres_id = 1;
    cpu.type = (char *)"cpu";
    gpu.tres_id = 1001;
    gpu.type = (char *)"gres";
    gpu.name = (char *)"gpu";
    normal.qos_id = 1;
    normal.name = (char *)"normal";
    high.qos_id = 2;
    high.name = (char *)"high";
    return 0;
}

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    return value;
}

static int read_assoc(const char *text, const Pst__AssocRecord *have, Pst__AcctSet *set,
                      struct err *err)
{
    json_t *body = parse(text);
    int r;

    pst__acct_set__init(set);
    r = restdbread_assoc(body, have, &names, set, err);
    json_decref(body);
    return r;
}

static int read_qos(const char *text, const Pst__QosRecord *have, Pst__AcctSet *set,
                    struct err *err)
{
    json_t *body = parse(text);
    int r;

    pst__acct_set__init(set);
    r = restdbread_qos(body, have, &names, set, err);
    json_decref(body);
    return r;
}

/* A record as GET writes it. */
static char *written(void (*put)(struct json *js, const void *record), const void *record)
{
    struct strbuf sb = STRBUF_INIT;
    struct json js;
    char *text = NULL;

    json_begin(&js, &sb, JSON_DENSE);
    json_list(&js, "list");
    put(&js, record);
    json_list_end(&js);
    json_end(&js);
    assert_int_equal(strbuf_detach(&sb, &text), 0);
    return text;
}

static void put_assoc(struct json *js, const void *record)
{
    json_store_assoc(js, record, &names);
}

static void put_qos(struct json *js, const void *record)
{
    json_store_qos(js, record, &names);
}

/* ---- associations ---------------------------------------------------------------------------- */

static void test_assoc_unchanged(void **state)
{
    Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;
    Pst__Limits l = PST__LIMITS__INIT;
    Pst__TresCount count = PST__TRES_COUNT__INIT, *counts[] = { &count };
    uint32_t qos[] = { 1, 2 };
    Pst__AcctSet set;
    struct err err = { .text = "" };
    _cleanup_free_ char *text = NULL;
    json_t *document, *body;

    (void)state;
    count.tres_id = 1001;
    count.count = 4;
    l.grp_tres = counts;
    l.n_grp_tres = 1;
    l.has_max_jobs = l.has_max_wall_min = 1;
    l.max_jobs = 7;
    l.max_wall_min = -1; /* lifted here */
    a.account = (char *)"physics";
    a.cluster = (char *)"demo";
    a.user = (char *)"alice";
    a.comment = (char *)"c";
    a.limits = &l;
    a.has_shares_parent = a.shares_parent = a.has_is_default = a.is_default = 1;
    a.has_default_qos_id = a.has_priority = 1;
    a.default_qos_id = 2;
    a.priority = 9;
    a.qos_ids = qos;
    a.n_qos_ids = 2;
    text = written(put_assoc, &a);
    document = parse(text);
    body = json_array_get(json_object_get(document, "list"), 0);
    pst__acct_set__init(&set);
    assert_int_equal(restdbread_assoc(body, &a, &names, &set, &err), 0);
    assert_null(set.assoc);
    pb_done(&set.base);
    json_decref(document);
}

static void test_assoc_limits(void **state)
{
    Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;
    Pst__Limits l = PST__LIMITS__INIT;
    Pst__TresCount count = PST__TRES_COUNT__INIT, *counts[] = { &count };
    Pst__AcctSet set;
    struct err err = { .text = "" };

    (void)state;
    count.tres_id = 1;
    count.count = 4;
    l.grp_tres = counts;
    l.n_grp_tres = 1;
    l.has_max_jobs = 1;
    l.max_jobs = 7;
    a.limits = &l;
    /* another TRES in place of the one there is; a limit away, one set, one unset */
    assert_int_equal(
        read_assoc(
            "{\"max\":{\"tres\":{\"total\":[{\"type\":\"gres\",\"name\":\"gpu\",\"count\":2}]},"
            "\"jobs\":{\"active\":{\"set\":false,\"infinite\":true,\"number\":0},\"total\":5,"
            "\"accruing\":{\"set\":false,\"infinite\":false,\"number\":3}}}}",
            &a, &set, &err),
        1);
    assert_int_equal(set.assoc->limits->n_grp_tres, 2);
    assert_int_equal(set.assoc->limits->grp_tres[0]->tres_id, 1001);
    assert_int_equal(set.assoc->limits->grp_tres[0]->count, 2);
    assert_int_equal(set.assoc->limits->grp_tres[1]->tres_id, 1);
    assert_int_equal(set.assoc->limits->grp_tres[1]->count, -1);
    assert_int_equal(set.assoc->limits->max_jobs, -1);
    assert_int_equal(set.assoc->limits->max_submit_jobs, 5);
    assert_false(set.assoc->limits->has_max_jobs_accrue);
    pb_done(&set.base);
    /* absent members and null stay */
    assert_int_equal(read_assoc("{\"max\":null,\"qos\":null,\"shares_raw\":null}", &a, &set, &err),
                     0);
    pb_done(&set.base);
}

static void test_assoc_choices(void **state)
{
    Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;
    uint32_t qos[] = { 1 };
    Pst__AcctSet set;
    struct err err = { .text = "" };

    (void)state;
    a.qos_ids = qos;
    a.n_qos_ids = 1;
    a.has_default_qos_id = 1;
    a.default_qos_id = 1;
    assert_int_equal(read_assoc("{\"qos\":[\"+high\",\"-normal\"],\"default\":{\"qos\":\"HIGH\"},"
                                "\"shares_raw\":2147483647,\"user\":\"u\",\"account\":\"b\","
                                "\"is_default\":true,\"parent_account\":\"x\"}",
                                &a, &set, &err),
                     1);
    assert_int_equal(set.assoc->n_qos_ids, 0);
    assert_int_equal(set.assoc->qos_added[0], 2);
    assert_int_equal(set.assoc->qos_removed[0], 1);
    assert_int_equal(set.assoc->default_qos_id, 2);
    assert_true(set.assoc->shares_parent);
    assert_string_equal(set.default_account, "b");
    assert_null(set.parent); /* a user has none */
    pb_done(&set.base);
    assert_int_equal(read_assoc("{\"qos\":[],\"default\":{\"qos\":\"\"},\"account\":\"a\","
                                "\"parent_account\":\"x\",\"priority\":\"INFINITE\"}",
                                &a, &set, &err),
                     1);
    assert_true(set.clear_qos);
    assert_true(set.clear_default_qos);
    assert_string_equal(set.parent, "x");
    assert_null(set.assoc);
    pb_done(&set.base);
}

static void test_assoc_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } bad[] = {
        { "{\"qos\":[\"nosuch\"]}", "there is no QOS nosuch" },
        { "{\"default\":{\"qos\":\"nosuch\"}}", "there is no QOS nosuch" },
        { "{\"max\":{\"tres\":{\"total\":[{\"type\":\"a\",\"name\":\"b\",\"count\":1}]}}}",
          "there is no TRES a/b" },
        { "{\"max\":{\"jobs\":{\"active\":2147483648}}}", "max_jobs: 2147483648 is too much" },
        { "{\"shares_raw\":2147483648}", "shares: 2147483648 is too much" },
        { "{\"priority\":4294967295}", "priority: 4294967295 is too much" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };
        Pst__AcctSet set;

        assert_int_equal(read_assoc(bad[i].text, NULL, &set, &err), -EINVAL);
        assert_string_equal(err.text, bad[i].said);
        pb_done(&set.base);
    }
}

static void test_too_many_tres(void **state)
{
    json_t *body = parse("{\"max\":{\"tres\":{}}}"), *list = json_array();
    Pst__AcctSet set;
    struct err err = { .text = "" };

    (void)state;
    for (int i = 0; i <= RESTDB_TRES_MAX; i++)
        json_array_append_new(list, parse("{\"type\":\"cpu\",\"count\":1}"));
    json_object_set_new(json_object_get(json_object_get(body, "max"), "tres"), "total", list);
    pst__acct_set__init(&set);
    assert_int_equal(restdbread_assoc(body, NULL, &names, &set, &err), -EINVAL);
    assert_string_equal(err.text, "more than 1000 TRES");
    pb_done(&set.base);
    json_decref(body);
}

static void test_assoc_set(void **state)
{
    json_t *body = parse("{\"grpjobs\":4,\"maxwalldurationperjob\":{\"set\":true,\"number\":60},"
                         "\"grptres\":[{\"type\":\"cpu\",\"count\":8}],\"parent\":\"science\","
                         "\"fairshare\":3,\"defaultqos\":\"high\",\"qoslevel\":[\"high\"]}");
    Pst__AcctSet set = PST__ACCT_SET__INIT;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(restdbread_assoc_set(body, &names, &set, &err), 1);
    assert_int_equal(set.assoc->limits->grp_jobs, 4);
    assert_int_equal(set.assoc->limits->max_wall_min, 60);
    assert_int_equal(set.assoc->limits->grp_tres[0]->count, 8);
    assert_int_equal(set.assoc->shares, 3);
    assert_int_equal(set.assoc->default_qos_id, 2);
    assert_int_equal(set.assoc->qos_ids[0], 2);
    assert_string_equal(set.parent, "science");
    pb_done(&set.base);
    json_decref(body);
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static void test_qos_unchanged(void **state)
{
    Pst__QosRecord q = PST__QOS_RECORD__INIT;
    Pst__Limits l = PST__LIMITS__INIT;
    uint32_t preempts[] = { 1 };
    Pst__AcctSet set;
    struct err err = { .text = "" };
    _cleanup_free_ char *text = NULL;
    json_t *document;

    (void)state;
    l.has_max_jobs_per_user = l.has_grp_wall_min = 1;
    l.max_jobs_per_user = 3;
    l.grp_wall_min = 100;
    q.qos_id = 2;
    q.name = (char *)"high";
    q.description = (char *)"d";
    q.has_priority = q.has_grace_s = q.has_flags = q.has_preempt_mode = 1;
    q.priority = 10;
    q.grace_s = 5;
    q.flags = 1u << PST__QOS_FLAG__QOS_NO_DECAY | 1u << PST__QOS_FLAG__QOS_DENY_ON_LIMIT;
    q.preempt_mode = 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_CANCEL |
                     1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_WITHIN;
    q.preempt_ids = preempts;
    q.n_preempt_ids = 1;
    q.has_usage_factor = q.has_limit_factor = q.has_preempt_exempt_s = 1;
    q.usage_factor = 1.0 / 3;
    q.limit_factor = 2.5;
    q.preempt_exempt_s = 60;
    q.limits = &l;
    text = written(put_qos, &q);
    document = parse(text);
    pst__acct_set__init(&set);
    assert_int_equal(restdbread_qos(json_array_get(json_object_get(document, "list"), 0), &q,
                                    &names, &set, &err),
                     0);
    pb_done(&set.base);
    json_decref(document);
    /* nor one with nothing set */
    free(text);
    text = written(put_qos, &normal);
    document = parse(text);
    pst__acct_set__init(&set);
    assert_int_equal(restdbread_qos(json_array_get(json_object_get(document, "list"), 0), &normal,
                                    &names, &set, &err),
                     0);
    pb_done(&set.base);
    json_decref(document);
}

static void test_qos_changes(void **state)
{
    Pst__QosRecord q = PST__QOS_RECORD__INIT;
    uint32_t preempts[] = { 1 };
    Pst__AcctSet set;
    struct err err = { .text = "" };

    (void)state;
    q.preempt_ids = preempts;
    q.n_preempt_ids = 1;
    q.has_flags = q.has_preempt_mode = q.has_usage_threshold = 1;
    q.flags = 1u << PST__QOS_FLAG__QOS_NO_DECAY;
    q.preempt_mode = 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_CANCEL;
    q.usage_threshold = 0.5;
    assert_int_equal(
        read_qos("{\"flags\":[\"ADD\",\"RELATIVE\"],\"priority\":7,\"usage_factor\":0.25,"
                 "\"preempt\":{\"list\":[],\"mode\":[\"DISABLED\"]},"
                 "\"usage_threshold\":{\"set\":false,\"infinite\":true},"
                 "\"limits\":{\"max\":{\"wall_clock\":{\"per\":{\"job\":30}}}}}",
                 &q, &set, &err),
        1);
    assert_int_equal(set.qos->flags,
                     1u << PST__QOS_FLAG__QOS_NO_DECAY | 1u << PST__QOS_FLAG__QOS_RELATIVE);
    assert_int_equal(set.qos->priority, 7);
    assert_true(set.qos->usage_factor > 0.24 && set.qos->usage_factor < 0.26);
    assert_true(set.qos->usage_threshold < 0);
    assert_true(set.clear_preempt);
    assert_int_equal(set.qos->preempt_mode, UINT32_MAX);
    assert_int_equal(set.qos->limits->max_wall_min, 30);
    pb_done(&set.base);
    assert_int_equal(read_qos("{\"flags\":[]}", &q, &set, &err), 1);
    assert_int_equal(set.qos->flags, UINT32_MAX);
    pb_done(&set.base);
    assert_int_equal(read_qos("{\"usage_factor\":-2}", &q, &set, &err), -EINVAL);
    pb_done(&set.base);
}

static void test_qos_waits(void **state)
{
    json_t *known = parse("{\"preempt\":{\"list\":[\"normal\"]}}");
    json_t *unknown = parse("{\"preempt\":{\"list\":[\"normal\",\"later\"]}}");

    (void)state;
    assert_false(restdbread_qos_waits(known, &names));
    assert_true(restdbread_qos_waits(unknown, &names));
    json_decref(known);
    json_decref(unknown);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void test_tres_text(void **state)
{
    static const char *const lists[] = { "[]",
                                         ("[{\"type\":\"cpu\",\"count\":4},"
                                          "{\"type\":\"gres\",\"name\":\"gpu\",\"count\":2}]"),
                                         "[{\"name\":\"gpu\"}]", "[{\"type\":\"cpu=1,mem\"}]" };
    static const char *const texts[] = { NULL, "cpu=4,gres/gpu=2", NULL, NULL };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        json_t *list = parse(lists[i]);
        struct err err = { .text = "" };
        char *text = NULL;

        assert_int_equal(restdbread_tres_text(list, &text, &err), i < 2 ? 0 : -EINVAL);
        if (texts[i])
            assert_string_equal(text, texts[i]);
        else
            assert_null(text);
        free(text);
        json_decref(list);
    }
}

static void test_purge(void **state)
{
    static const struct {
        const char *value, *text;
    } rows[] = {
        { "12months", "\"set\":true,\"hours\":0,\"days\":0,\"months\":12" },
        { "30days", "\"set\":true,\"hours\":0,\"days\":30,\"months\":0" },
        { "6hours", "\"set\":true,\"hours\":6,\"days\":0,\"months\":0" },
        { "3", "\"set\":true,\"hours\":0,\"days\":0,\"months\":3" },
        { NULL, "\"set\":false,\"hours\":0,\"days\":0,\"months\":0" },
        { "NONE", "\"set\":false,\"hours\":0,\"days\":0,\"months\":0" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct strbuf sb = STRBUF_INIT;
        struct json js;

        json_begin(&js, &sb, JSON_DENSE);
        json_dbdconf_purge(&js, "PurgeJobAfter", rows[i].value, true);
        json_end(&js);
        assert_non_null(strstr(strbuf_str(&sb), rows[i].text));
        strbuf_done(&sb);
    }
}

static void test_qos_id(void **state)
{
    (void)state;
    assert_int_equal(restdb_qos_id(&names, "HIGH"), 2);
    assert_int_equal(restdb_qos_id(&names, "nosuch"), UINT32_MAX);
}

/* An operation holds what is added to it, and is freed with the request. */
static void test_operations(void **state)
{
    struct restdb_changes ch;
    json_t *list = parse("[\"a\",\"\",\"b\"]"), *text = parse("[\"c,d\"]");
    Pst__AcctOp *op;

    (void)state;
    restdb_changes_init(&ch, NULL);
    op = restdb_op(&ch, PST__ACCT_VERB__ACCT_ADD, PST__ACCT_ENTITY__ACCT_USER, "what", "source");
    assert_non_null(op);
    restdb_names(&ch, &op->where->names, &op->where->n_names, list);
    restdb_names(&ch, &op->where->names, &op->where->n_names, json_array_get(text, 0));
    restdb_name_or_none(&ch, &op->where->partitions, &op->where->n_partitions, NULL);
    restdb_number(&ch, &op->where->ids, &op->where->n_ids, 7);
    assert_int_equal(op->where->n_names, 4);
    assert_string_equal(op->where->names[3], "d");
    assert_string_equal(op->where->partitions[0], "");
    assert_int_equal(op->where->ids[0], 7);
    assert_string_equal(ch.labels[0].what, "what");
    assert_non_null(restdb_op(&ch, PST__ACCT_VERB__ACCT_ADD, PST__ACCT_ENTITY__ACCT_QOS, "w", "s"));
    restdb_op_drop(&ch);
    assert_int_equal(ch.request.n_ops, 1);
    assert_false(ch.failed);
    restdb_changes_done(&ch);
    json_decref(list);
    json_decref(text);
}

static size_t count_rows(const struct rest_row *rows, const char *method)
{
    size_t n = 0;

    for (; rows->method; rows++) {
        assert_string_equal(rows->method, method);
        assert_int_equal(rows->plugin, REST_SLURMDB);
        n++;
    }
    return n;
}

static void test_rows(void **state)
{
    (void)state;
    assert_int_equal(count_rows(rest_dbdelete_rows, "DELETE"), 7);
    assert_int_equal(count_rows(rest_dbpost_rows, "POST"), 10);
    assert_int_equal(count_rows(rest_dbget_rows, "GET"), 16);
    assert_int_equal(count_rows(rest_dbinfo_rows, "GET"), 3);
    assert_string_equal(rest_dbjobs_rows[0].path, "jobs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assoc_unchanged), cmocka_unit_test(test_assoc_limits),
        cmocka_unit_test(test_assoc_choices),   cmocka_unit_test(test_assoc_refused),
        cmocka_unit_test(test_too_many_tres),   cmocka_unit_test(test_assoc_set),
        cmocka_unit_test(test_qos_unchanged),   cmocka_unit_test(test_qos_changes),
        cmocka_unit_test(test_qos_waits),       cmocka_unit_test(test_tres_text),
        cmocka_unit_test(test_purge),           cmocka_unit_test(test_qos_id),
        cmocka_unit_test(test_operations),      cmocka_unit_test(test_rows),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_store, NULL);
}
