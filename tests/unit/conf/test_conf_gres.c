/* test_conf_gres.c - gres.conf: which files a resource of a node has, and what is wrong with a
 * line */
#include "conf_util.h"

#include "conf/conf_priv.h"

static struct conf *gres_says(const char *gres, const char *report)
{
    return conf_of_two("GresTypes=gpu,nic,shard", "gres.conf", gres, report);
}

static void test_rows(void **state)
{
    struct conf *c = gres_says("NodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3] CPUs=0-7\n"
                               "Name=nic Count=2\n"
                               "Name=shard Count=64 File=/dev/nvidia[0-3]\n"
                               "Name=nic\n"
                               "AutoDetect=nvml\n"
                               "Name=gpu MultipleFiles=/dev/a,/dev/b\n",
                               "");
    const struct conf_gres *g;

    (void)state;
    assert_int_equal(conf_gres_rows(c), 6);
    g = conf_gres_row(c, 0);
    assert_string_equal(g->node_names, "n[1-2]");
    assert_string_equal(g->type, "a100");
    assert_string_equal(g->cores, "0-7"); /* CPUs= is an older name of Cores= */
    assert_int_equal(g->count, 4);        /* as many as files */
    assert_null(conf_gres_row(c, 1)->node_names);
    assert_int_equal(conf_gres_row(c, 1)->count, 2);
    assert_int_equal(conf_gres_row(c, 2)->count, 64); /* shares of four devices */
    assert_int_equal(conf_gres_row(c, 3)->count, 1);
    assert_null(conf_gres_row(c, 4)->name);
    assert_string_equal(conf_gres_row(c, 4)->autodetect, "nvml");
    assert_int_equal(conf_gres_row(c, 5)->count, 1); /* one device of several files */
    assert_string_equal(conf_gres_row(c, 5)->file, "/dev/a,/dev/b");
    assert_null(conf_gres_row(c, 6));
    conf_free(c);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_null(gres_says("Name=gpu File=/dev/nvidia[0-3] Count=3\n",
                          "gres.conf:1: error: Count=3 does not match the 4 files of File\n"));
    assert_null(
        gres_says("Type=a100\n", "gres.conf:1: error: a line without Name or AutoDetect\n"));
    assert_null(gres_says("Name=gpu File=/dev/a MultipleFiles=/dev/b\n",
                          "gres.conf:1: error: File and MultipleFiles exclude each other\n"));
    assert_null(gres_says("Name=gpu Colour=red\n",
                          "gres.conf:1: error: unknown key Colour in gres.conf\n"));
    conf_free(gres_says("Name=tape\n",
                        "gres.conf:1: warning: Name=tape is not in GresTypes of slurm.conf\n"));
}

static void test_declared(void **state)
{
    struct conf *c = gres_says("", "");

    (void)state;
    assert_true(conf_gres_declared(c, "gpu", 3));
    assert_true(conf_gres_declared(c, "GPU:a100", 3)); /* the case of letters does not matter */
    assert_false(conf_gres_declared(c, "gp", 2));
    assert_false(conf_gres_declared(c, "gpus", 4));
    assert_true(conf_gres_declared(c, "shard", 5));
    assert_int_equal(conf_gres_rows(c), 0);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_declared),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
