/* test_conf_source.c - the files of a configuration: included ones, patterns, and what cannot
 * be read */
#include "conf_util.h"

#include <errno.h>

#include "conf/conf_priv.h"

#define NODES "NodeName=n\nPartitionName=p Nodes=n\n"

static void test_include(void **state)
{
    const struct conf_text files[] = {
        { .name = "/etc/slurm/slurm.conf",
          .text = CONF_HEAD "Include nodes.conf\nInclude parts.d/*.conf\n" },
        { .name = "/etc/slurm/nodes.conf", .text = "NodeName=n[1-3]\n" },
        { .name = "/etc/slurm/parts.d/10-p.conf", .text = "PartitionName=p Nodes=n1\n" },
        { .name = "/etc/slurm/parts.d/20-q.conf", .text = "PartitionName=q Nodes=n2\n" },
        { .name = "/etc/slurm/parts.d/30-r.off", .text = "PartitionName=r Nodes=n3\n" },
        { .name = "/etc/slurm/parts.d/deep/40-s.conf", .text = "PartitionName=s Nodes=n3\n" },
    };
    struct conf *c = conf_reports(files, 6, "");

    (void)state;
    assert_int_equal(conf_parts(c), 2); /* in order of name */
    assert_string_equal(conf_part(c, 0)->name, "p");
    assert_string_equal(conf_part(c, 1)->name, "q");
    conf_free(c);
}

static void test_missing(void **state)
{
    const struct conf_text none[] = {
        { .name = "/etc/slurm/slurm.conf", .text = CONF_HEAD "Include none.conf\n" NODES },
    };
    const struct conf_text pattern[] = {
        { .name = "/etc/slurm/slurm.conf", .text = CONF_HEAD "Include none.d/*.conf\n" NODES },
    };
    struct conf *c;

    (void)state;
    assert_null(conf_reports(none, 1,
                             "/etc/slurm/slurm.conf:4: error: cannot read none.conf: No such "
                             "file or directory\n"));
    c = conf_reports(pattern, 1, ""); /* a pattern may match nothing */
    assert_non_null(c);
    conf_free(c);
}

static void test_bad(void **state)
{
    const struct conf_text itself[] = {
        { .name = "/c/slurm.conf", .text = CONF_HEAD "Include slurm.conf\n" NODES },
    };
    const struct conf_text nul[] = { { .name = "/c/slurm.conf",
                                       .text = CONF_HEAD "Include a\n" NODES },
                                     { .name = "/c/a", .text = "x\0y", .len = 3 } };

    (void)state;
    assert_null(conf_reports(
        itself, 1, "/c/slurm.conf:4: error: cannot read slurm.conf: it includes itself\n"));
    assert_null(
        conf_reports(nul, 2, "/c/slurm.conf:4: error: cannot read a: it holds a NUL byte\n"));
    assert_string_equal(conf_source_error(-EFBIG), "it is too large");
    assert_string_equal(conf_source_error(-E2BIG), "the files are too many or too large together");
    assert_string_equal(conf_source_error(-EACCES), "Permission denied");
}

/* A file that need not be there and cannot be read is told. */
static void test_optional(void **state)
{
    const struct conf_text files[] = { { .name = "/c/slurm.conf", .text = CONF_HEAD NODES },
                                       { .name = "/c/cgroup.conf", .text = "a\0", .len = 2 } };

    (void)state;
    assert_null(
        conf_reports(files, 2, "/c/cgroup.conf: error: cannot be read: it holds a NUL byte\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_include),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_optional),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
