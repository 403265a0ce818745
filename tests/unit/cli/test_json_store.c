/* test_json_store.c - records of the accounting store as JSON: what hangs on a record is shown only
 * when it is asked for; ids have their names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/format/json_store.h"

static void begin(struct json *js, struct strbuf *sb)
{
    json_begin(js, sb, JSON_DENSE);
    json_list(js, "l");
}

static const char *finish(struct json *js, struct strbuf *sb)
{
    json_list_end(js);
    json_end(js);
    return strbuf_str(sb);
}

static void test_user(void **state)
{
    static Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;
    static Pst__AssocRecord *assocs[] = { &a };
    Pst__UserRecord u = PST__USER_RECORD__INIT;
    struct store_people people = { .assocs = assocs, .n_assocs = 1 };
    struct strbuf sb = STRBUF_INIT;
    const char *text;
    struct json js;

    (void)state;
    u.name = a.user = (char *)"alice";
    u.admin_level = PST__ADMIN_LEVEL__ADMIN_OPERATOR;
    a.account = (char *)"physics";
    a.is_default = 1;
    begin(&js, &sb);
    json_store_user(&js, &u, &people);
    text = finish(&js, &sb);
    assert_non_null(strstr(text, "\"administrator_level\":[\"Operator\"],\"associations\":[]"));
    assert_non_null(strstr(text, "\"default\":{\"qos\":0,\"account\":\"\",\"wckey\":\"\"}"));
    strbuf_reset(&sb);
    people.with_assoc = people.with_default = true;
    begin(&js, &sb);
    json_store_user(&js, &u, &people);
    text = finish(&js, &sb);
    assert_non_null(strstr(text, "\"associations\":[{\"account\":\"physics\""));
    assert_non_null(strstr(text, "\"default\":{\"qos\":0,\"account\":\"physics\""));
    strbuf_done(&sb);
}

static void test_cluster(void **state)
{
    static Pst__TresRecord cpu = PST__TRES_RECORD__INIT, disk = PST__TRES_RECORD__INIT;
    static Pst__TresRecord *tres[] = { &cpu, &disk };
    const struct store_names names = { tres, 2, NULL, 0 };
    const struct store_people nobody = { 0 };
    Pst__AcctClusterRecord c = PST__ACCT_CLUSTER_RECORD__INIT;
    struct strbuf sb = STRBUF_INIT;
    const char *text;
    struct json js;

    (void)state;
    cpu.tres_id = 1;
    cpu.type = (char *)"cpu";
    disk.tres_id = 6;
    disk.type = (char *)"fs";
    disk.name = (char *)"disk";
    c.name = (char *)"demo";
    c.tres = (char *)"1=64,77=5,6=0"; /* 77 means nothing */
    begin(&js, &sb);
    json_store_cluster(&js, &c, &nobody, &names);
    text = finish(&js, &sb);
    assert_non_null(strstr(text, "\"tres\":[{\"type\":\"cpu\",\"name\":\"\",\"id\":1,\"count\":64},"
                                 "{\"type\":\"fs\",\"name\":\"disk\",\"id\":6,\"count\":0}]"));
    strbuf_done(&sb);
}

static void test_words(void **state)
{
    const struct store_names none = { 0 };

    (void)state;
    assert_string_equal(store_qos_flag(PST__QOS_FLAG__QOS_DENY_ON_LIMIT), "DENY_LIMIT");
    assert_null(store_qos_flag(32));
    assert_string_equal(store_preempt_word(PST__QOS_PREEMPT_MODE__QOS_PREEMPT_CANCEL), "CANCEL");
    assert_string_equal(store_admin_word(PST__ADMIN_LEVEL__ADMIN_NOT_SET), "Not Set");
    assert_null(store_tres(&none, 1));
    assert_null(store_qos_name(&none, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
