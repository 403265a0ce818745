/* test_dmnoptions.c - --check of a configuration: missing, wrong, good, and with another file of
 * the daemon's */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "folder_util.h"

static char folder[64], conf[128], out[128];

static int begin_group(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "dmnoptions");
    (void)snprintf(conf, sizeof(conf), "%s/slurm.conf", folder);
    (void)snprintf(out, sizeof(out), "%s/out", folder);
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static void write_conf(const char *text)
{
    FILE *f = fopen(conf, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* What the check prints, with its exit status. */
static int check(daemon_more_fn *more, char *text, size_t size)
{
    int saved = dup(1), fd = open(out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r;
    ssize_t n;

    assert_true(saved >= 0 && fd >= 0);
    (void)fflush(stdout);
    assert_int_equal(dup2(fd, 1), 1);
    r = daemon_check_conf(conf, more);
    (void)fflush(stdout);
    assert_int_equal(dup2(saved, 1), 1);
    (void)close(saved);
    n = pread(fd, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    (void)close(fd);
    return r;
}

static const char good[] = "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-3] CPUs=2\n"
                           "PartitionName=p Nodes=n[1-3]\n";

static int find_nothing(const struct conf *c, struct conf_problems *problems, struct err *err)
{
    assert_non_null(c);
    assert_int_equal(problems->n, 0);
    (void)err;
    return 0;
}

static int find_fault(const struct conf *c, struct conf_problems *problems, struct err *err)
{
    (void)c;
    (void)problems;
    return err_set(err, -EINVAL, "the other file is wrong");
}

static void test_good(void **state)
{
    char text[4096], want[256];

    (void)state;
    write_conf(good);
    (void)snprintf(want, sizeof(want), "%s: the configuration is good: 3 nodes, 1 partitions\n",
                   conf);
    assert_int_equal(check(NULL, text, sizeof(text)), 0);
    assert_non_null(strstr(text, want));
    assert_int_equal(check(find_nothing, text, sizeof(text)), 0);
    assert_non_null(strstr(text, want));
}

/* One sentence for each thing that is wrong, and none that says it is good. */
static void test_wrong(void **state)
{
    char text[4096], want[256];

    (void)state;
    write_conf(good);
    assert_int_equal(check(find_fault, text, sizeof(text)), 1);
    (void)snprintf(want, sizeof(want), "%s: error: the other file is wrong\n", conf);
    assert_non_null(strstr(text, want));
    assert_null(strstr(text, "is good"));
    write_conf("ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=many\nMaxJobCount=-1\n");
    assert_int_equal(check(find_nothing, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "slurm.conf:3: "));
    assert_non_null(strstr(text, "slurm.conf:4: "));
    assert_null(strstr(text, "is good"));
}

static void test_missing(void **state)
{
    char text[4096];

    (void)state;
    (void)unlink(conf);
    assert_int_equal(check(find_nothing, text, sizeof(text)), 1);
    assert_non_null(strstr(text, conf));
    assert_non_null(strstr(text, "No such file or directory"));
}

static const struct daemon_head head = { .name = "d",
                                         .usage = "",
                                         .shorts = "f:n:v",
                                         .longs = (const struct option[]){ { 0 } },
                                         .unexpected = "" };

static int parse(const char *value, struct daemon_options *o)
{
    char *argv[] = { (char *)"d", (char *)"-n", (char *)value, NULL };

    *o = (struct daemon_options){ 0 };
    optind = 0;
    return daemon_parse_options(&head, 3, argv, o, NULL);
}

static void test_nice(void **state)
{
    static const char *const bad[] = {
        "",   " 3", "3 ", "-", "+", "0x1", "1e1", "99999999999999999999", "-99999999999999999999",
        "20", "-21"
    };
    struct daemon_options o;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(parse(bad[i], &o), 1);
        assert_int_equal(o.nice, 0);
    }
    assert_int_equal(parse("19", &o), -1);
    assert_int_equal(o.nice, 19);
    assert_int_equal(parse("-20", &o), -1);
    assert_int_equal(o.nice, -20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_nice),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin_group, end_group);
}
