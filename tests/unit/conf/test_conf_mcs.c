/* test_conf_mcs.c - MCSPlugin and MCSParameters: each word, and the one that is told as bad */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/conf.h"
#include "conf/conf_mcs.h"

static const struct {
    const char *plugin, *parameters;
    struct conf_mcs want;
    const char *bad; /* NULL: both texts make sense */
} cases[] = {
    { NULL, NULL, { .kind = MCS_NONE, .select = MCS_ON_DEMAND }, NULL },
    { "mcs/none", "", { .kind = MCS_NONE }, NULL },
    { "mcs/user", NULL, { .kind = MCS_USER }, NULL },
    { "MCS/Account", NULL, { .kind = MCS_ACCOUNT }, NULL },
    { "label", "enforced", { .kind = MCS_LABEL, .enforced = true }, NULL },
    { "mcs/group",
      "enforced,select,privatedata:a|b",
      { .kind = MCS_GROUP,
        .select = MCS_SELECT,
        .enforced = true,
        .private = true,
        .groups = "a|b" },
      NULL },
    { "mcs/group",
      "noselect:a",
      { .kind = MCS_GROUP, .select = MCS_NO_SELECT, .groups = "a" },
      NULL },
    { "mcs/group", "ondemandselect", { .kind = MCS_GROUP, .select = MCS_ON_DEMAND }, NULL },
    { "mcs/group", "ondemand:", { .kind = MCS_GROUP }, NULL },
    { "mcs/group", "Select,,", { .kind = MCS_GROUP, .select = MCS_SELECT }, NULL },
    { "mcs/wombat", NULL, { 0 }, "wombat" },
    { "mcs/user", "enforced,wombat,select", { 0 }, "wombat" },
    { "mcs/user", "enforcedly", { 0 }, "enforcedly" },
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct conf_mcs got = { .kind = MCS_LABEL };
        const struct conf_mcs *want = &cases[i].want;
        const char *bad = NULL;
        size_t len = 0;
        bool ok = conf_mcs_parse(cases[i].plugin, cases[i].parameters, &got, &bad, &len);

        assert_int_equal(ok, !cases[i].bad);
        if (!ok) {
            /* the word alone, wherever it stands in the text */
            const char *word = len >= strlen(cases[i].bad) ? bad + len - strlen(cases[i].bad) : "";

            assert_memory_equal(word, cases[i].bad, strlen(cases[i].bad));
            assert_int_equal(got.kind, MCS_LABEL); /* untouched */
            continue;
        }
        assert_int_equal(got.kind, want->kind);
        assert_int_equal(got.select, want->select);
        assert_int_equal(got.enforced, want->enforced);
        assert_int_equal(got.private, want->private);
        if (want->groups)
            assert_string_equal(got.groups, want->groups);
        else
            assert_null(got.groups);
    }
}

static int load_text(const char *text, struct conf **ret, struct err *err)
{
    struct conf_text file = { "slurm.conf", text, strlen(text) };
    struct conf_problems problems;
    int r = conf_load_text(&file, 1, CONF_FULL, ret, &problems, err);

    conf_problems_done(&problems);
    return r;
}

static void test_configuration(void **state)
{
    struct err err = { .text = "" };
    struct conf *c = NULL;
    struct conf_mcs m;

    (void)state;
    assert_int_equal(load_text("ClusterName=c SlurmctldHost=h\nNodeName=n1\n"
                               "MCSPlugin=mcs/group\nMCSParameters=enforced,select:red|blue\n",
                               &c, &err),
                     0);
    m = conf_mcs(c);
    assert_int_equal(m.kind, MCS_GROUP);
    assert_int_equal(m.select, MCS_SELECT);
    assert_true(m.enforced && !m.private);
    assert_string_equal(m.groups, "red|blue");
    conf_free(c);
    assert_true(load_text("ClusterName=c SlurmctldHost=h\nNodeName=n1\nMCSPlugin=mcs/user\n"
                          "MCSParameters=enforce\n",
                          &c, &err) < 0);
    assert_non_null(strstr(err.text, "enforce"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_configuration),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
