/* test_clusters.c - the clusters of -M that are found without slurmdbd, and the variable that
 * salloc leaves; the others are tested with real daemons */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/base/cli.h"
#include "cli/base/clusters.h"

static int make_conf(void **state)
{
    char path[] = "/tmp/test_clusters.XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    if (!f)
        return -1;
    (void)fprintf(f, "ClusterName=mine\nSlurmctldHost=localhost\n"
                     "AccountingStorageType=accounting_storage/none\n");
    if (fclose(f) != 0 || setenv("SLURM_CONF", path, 1) != 0)
        return -1;
    *state = strdup(path);
    return *state ? 0 : -1;
}

static int drop_conf(void **state)
{
    int r = unlink(*state);

    free(*state);
    return r;
}

static void test_own(void **state)
{
    static const struct {
        const char *list;
        bool found;
    } cases[] = {
        { "mine", true },        { "MINE", true }, { "all", true }, { "other", false },
        { "mine,other", false }, { "", false },    { ",", false },  { "mine,mine", true }
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cli c;
        struct clusters cl;

        cli_init(&c, "test");
        assert_int_equal(clusters_find(&c, cases[i].list, &cl), cases[i].found);
        assert_int_equal(cl.n, cases[i].found);
        if (cl.n) {
            clusters_use(&c, &cl, 0);
            assert_null(c.cluster); /* reached as slurm.conf says */
            assert_string_equal(cli_cluster_name(&c), "mine");
            assert_null(clusters_working_value(&c));
        }
        clusters_done(&c, &cl);
        cli_done(&c);
    }
}

static void test_working(void **state)
{
    static const struct {
        const char *value, *name, *addrs;
        unsigned port;
    } cases[] = { { "far:10.0.0.1:6817:11520", "far", "10.0.0.1", 6817 },
                  { "far:10.0.0.1,10.0.0.2:7:1", "far", "10.0.0.1,10.0.0.2", 7 },
                  { "mine:10.0.0.1:6817:11520", NULL, NULL, 0 },
                  { "far:10.0.0.1:0:11520", NULL, NULL, 0 },
                  { "far:10.0.0.1:65536:11520", NULL, NULL, 0 },
                  { "far:10.0.0.1", NULL, NULL, 0 },
                  { "far", NULL, NULL, 0 },
                  { ":::", NULL, NULL, 0 },
                  { "", NULL, NULL, 0 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cli c;

        cli_init(&c, "test");
        assert_int_equal(setenv("SLURM_WORKING_CLUSTER", cases[i].value, 1), 0);
        clusters_use_working(&c);
        assert_int_equal(c.cluster != NULL, cases[i].name != NULL);
        assert_string_equal(cli_cluster_name(&c), cases[i].name ? cases[i].name : "mine");
        if (c.cluster) {
            _cleanup_free_ char *value = clusters_working_value(&c);
            struct clusters cl = { (struct dial_cluster *)c.cluster, 1 }; /* freed here alone */

            assert_string_equal(c.cluster->addrs, cases[i].addrs);
            assert_int_equal(c.cluster->port, cases[i].port);
            assert_memory_equal(value, cases[i].value, strlen(cases[i].name));
            clusters_done(&c, &cl);
        }
        cli_done(&c);
    }
    assert_int_equal(unsetenv("SLURM_WORKING_CLUSTER"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_working),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_conf, drop_conf);
}
