/* test_conf_shared.c - which files other hosts get, and which names may be written */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/conf_shared.h"

static char folder[] = "/tmp/confshared.XXXXXX";

static void put_file(const char *name, const char *text)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_gathers(void **state)
{
    struct conf_shared s;
    struct err err = { .text = "" };
    struct conf *conf;
    char path[256];

    (void)state;
    assert_non_null(mkdtemp(folder));
    put_file("slurm.conf", "ClusterName=c\nSlurmctldHost=h\nInclude n.conf\nProlog=p.sh\n"
                           "Epilog=/bin/true\nPartitionName=p Nodes=ALL\n");
    put_file("n.conf", "NodeName=a CPUs=1\n");
    put_file("p.sh", "#!/bin/sh\n");
    put_file("slurm.key", "secret");
    put_file("resources.yaml", "- secret");
    (void)snprintf(path, sizeof(path), "%s/slurm.conf", folder);
    assert_int_equal(conf_load(path, CONF_FULL, &conf, NULL, &err), 0);
    assert_int_equal(conf_shared_read(conf, &s, &err), 0);
    assert_int_equal(s.n, 3);
    assert_string_equal(s.files[0].name, "slurm.conf");
    assert_string_equal(s.files[1].name, "n.conf");
    assert_string_equal(s.files[2].name, "p.sh");
    assert_int_equal(s.files[2].share, CONF_SHARE_NODE_SCRIPT);
    conf_shared_done(&s);
    put_file("n.conf", "NodeName=b CPUs=1\n"); /* not what was loaded */
    assert_int_equal(conf_shared_read(conf, &s, &err), -ESTALE);
    conf_free(conf);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(conf_shared_name_ok("a/b.conf"));
    assert_false(conf_shared_name_ok("../a"));
    assert_false(conf_shared_name_ok("/a"));
    assert_false(conf_shared_name_ok("slurm.key"));
    assert_false(conf_shared_name_ok("ca_cert.pem"));
    assert_true(conf_shared_name_ok("a/ca_cert.pem")); /* nobody looks for one there */
}

static int remove_files(void **state)
{
    static const char *const names[] = { "slurm.conf", "n.conf", "p.sh", "slurm.key",
                                         "resources.yaml" };
    char path[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
