/* test_conf_helpers.c - helpers.conf: its rows, its numbers, and what is wrong with it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/conf.h"

static const char on[] = "NodeFeaturesPlugins=node_features/helpers\n";

static int load(const char *more, const char *helpers, struct conf **ret, struct err *err)
{
    struct conf_text files[2] = { { .name = "slurm.conf" }, { .name = "helpers.conf" } };
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n CPUs=2\n"
                   "PartitionName=p Nodes=ALL\n%s",
                   more);
    files[0].text = text;
    files[0].len = strlen(text);
    files[1].text = helpers;
    files[1].len = strlen(helpers);
    return conf_load_text(files, 2, CONF_FULL, ret, NULL, err);
}

static void test_rows(void **state)
{
    _cleanup_(conf_free) struct conf *c = NULL;
    struct err err = { .text = "" };
    struct conf_helper h;

    (void)state;
    assert_int_equal(load(on,
                          "Feature=a,b Helper=/bin/one\nBootTime=7\nMutuallyExclusive=a,b\n"
                          "NodeName=n[1-2] Feature=c-1.x Helper=/bin/two\nAllowUserBoot=u,v\n",
                          &c, &err),
                     0);
    assert_true(conf_helpers_on(c));
    assert_true(conf_helper(c, 0, &h));
    assert_null(h.nodes);
    assert_string_equal(h.features, "a,b");
    assert_string_equal(h.path, "/bin/one");
    assert_true(conf_helper(c, 1, &h));
    assert_string_equal(h.nodes, "n[1-2]");
    assert_string_equal(h.features, "c-1.x");
    assert_false(conf_helper(c, 2, &h));
    assert_int_equal(conf_helpers_boot_s(c), 7);
    assert_int_equal(conf_helpers_exec_s(c), 10);
    assert_string_equal(conf_helpers_users(c), "u,v");
    assert_true(conf_features_exclude(c, "a", 1, "b", 1));
    assert_true(conf_features_exclude(c, "b", 1, "a", 1));
    assert_false(conf_features_exclude(c, "a", 1, "a", 1));
    assert_false(conf_features_exclude(c, "a", 1, "c-1.x", 5));
}

/* Without the plugin the file is not read, whatever it says. */
static void test_off(void **state)
{
    _cleanup_(conf_free) struct conf *c = NULL;
    struct err err = { .text = "" };
    struct conf_helper h;

    (void)state;
    assert_int_equal(load("", "wombat\n", &c, &err), 0);
    assert_false(conf_helpers_on(c));
    assert_false(conf_helper(c, 0, &h));
    assert_null(conf_helpers_users(c));
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *conf, *helpers, *want;
    } rows[] = {
        { on, "Feature=a\n", "Feature and Helper need each other" },
        { on, "Helper=/bin/true\n", "Feature and Helper need each other" },
        { on, "NodeName=n MutuallyExclusive=a,b\n", "NodeName needs Feature and Helper" },
        { on, "NodeName=n[ Feature=a Helper=/bin/true\n", "NodeName=n[" },
        { on, "Feature=a,,b Helper=/bin/true\n", "is no name of a feature" },
        { on, "Feature=a|b Helper=/bin/true\n", "is no name of a feature" },
        { on, "Feature=-a Helper=/bin/true\n", "is no name of a feature" },
        { on, "Feature=a Helper=true\n", "Helper" },
        { on, "BootTime=0\n", "BootTime" },
        { on, "Wombat=1\n", "Wombat" },
        { "NodeFeaturesPlugins=node_features/knl_generic\n", "", "is not available" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct err err = { .text = "" };
        struct conf *c = NULL;

        assert_int_not_equal(load(rows[i].conf, rows[i].helpers, &c, &err), 0);
        assert_non_null(strstr(err.text, rows[i].want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_off),
                                        cmocka_unit_test(test_mistakes) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
