/* test_scontrol_hosts.c - show hostnames, hostlist and hostlistsorted, as recorded */
#include <errno.h>

#include "scontrol_util.h"

static void show(void (*fn)(struct scontrol *s, const char *name), const char *name,
                 const char *input)
{
    scontrol.status = 0;
    output_begin(&said, input);
    fn(&scontrol, name);
    output_end(&said);
}

#define expect_show(fn, name, out, err, exit_status)                                               \
    do {                                                                                           \
        show((fn), (name), NULL);                                                                  \
        expect_said(&said, (out), (err));                                                          \
        assert_int_equal(scontrol.status, (exit_status));                                          \
    } while (0)

static void test_names(void **state)
{
    (void)state;
    expect_show(scontrol_show_hostnames, "r[1-2]n[1-3]", "r1n1\nr1n2\nr1n3\nr2n1\nr2n2\nr2n3\n", "",
                0);
    expect_show(scontrol_show_hostnames, "n[1-3],m[5-6]", "n1\nn2\nn3\nm5\nm6\n", "", 0);
    expect_show(scontrol_show_hostnames, "a,,b", "a\nb\n", "", 0);
    expect_show(scontrol_show_hostnames, "n[0009-0011]", "n0009\nn0010\nn0011\n", "", 0);
    assert_true(peer_is_quiet(&ctld));
}

static void test_folded(void **state)
{
    (void)state;
    expect_show(scontrol_show_hostlist, "r1n1,r1n2,r2n1", "r1n[1-2],r2n1\n", "", 0);
    expect_show(scontrol_show_hostlist, "n10,n9,n1", "n[10,9,1]\n", "", 0);
    expect_show(scontrol_show_hostlist, "n[1-3],n[5-6],n4", "n[1-3,5-6,4]\n", "", 0);
    expect_show(scontrol_show_hostlistsorted, "n10,n9,n1", "n[1,9-10]\n", "", 0);
    expect_show(scontrol_show_hostlistsorted, "b2,a1,b1,a2", "a[1-2],b[1-2]\n", "", 0);
}

/* A mistake is told, and the exit code stays. */
static void test_mistakes(void **state)
{
    (void)state;
    expect_show(scontrol_show_hostnames, "r[1-2]x[a]", "",
                "scontrol: error: _parse_single_range: Invalid range: `a'\n"
                "Invalid hostlist: r[1-2]x[a]\n",
                0);
    expect_show(scontrol_show_hostnames, "n[1-3", "", "Invalid hostlist: n[1-3\n", 0);
    expect_show(scontrol_show_hostnames, "n[1,]", "",
                "scontrol: error: _parse_single_range: Invalid range: `'\n"
                "Invalid hostlist: n[1,]\n",
                0);
    expect_show(scontrol_show_hostlist, NULL, "(the help text)\n", "invalid encode argument\n", 1);
    expect_show(scontrol_show_hostlist, "/nosuch/file", "", "Can not open /nosuch/file\n", 1);
}

/* Lines of a file or of standard input; names are parted by blanks and lines too. */
static void test_files(void **state)
{
    char path[] = "/tmp/test_hosts.XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "n1\nn2\nn7\n", 9), 9);
    (void)close(fd);
    expect_show(scontrol_show_hostlist, path, "n[1-2,7]\n", "", 0);
    (void)unlink(path);
    show(scontrol_show_hostlist, "-", "n1,n2\nn3 n4\n#c\n");
    expect_said(&said, "n[1-4],#c\n", "");
    show(scontrol_show_hostlistsorted, "-", "n2 n1");
    expect_said(&said, "n[1-2]\n", "");
    expect_show(scontrol_show_hostlist, "./hl.txt", "./hl.txt\n", "", 0);
}

static void test_environment(void **state)
{
    (void)state;
    (void)unsetenv("SLURM_NODELIST");
    (void)unsetenv("SLURM_JOB_NODELIST");
    expect_show(scontrol_show_hostnames, NULL, "", "scontrol: error: host list is empty\n", 0);
    (void)setenv("SLURM_JOB_NODELIST", "q[1-2]", 1);
    expect_show(scontrol_show_hostnames, NULL, "q1\nq2\n", "", 0);
    (void)setenv("SLURM_NODELIST", "z1", 1);
    expect_show(scontrol_show_hostnames, NULL, "z1\n", "", 0);
    (void)unsetenv("SLURM_NODELIST");
    (void)unsetenv("SLURM_JOB_NODELIST");
}

/* feature{NAME}: the nodes that have it now.  A function that nobody knows stays, and is told. */
static void test_functions(void **state)
{
    (void)state;
    PEER_LIST(&ctld, OP_QUERY_PARTITIONS, partition_record, NULL);
    PEER_LIST(&ctld, OP_QUERY_NODES, node_record,
              "{'node_id':0,'name':'node1','features':'intel,ib'}",
              "{'node_id':1,'name':'node2','features':'intel,ib','active_features':'intel'}",
              "{'node_id':2,'name':'node3','features':'amd','active_features':'ib,amd'}");
    expect_show(scontrol_show_hostnames, "feature{ib}", "node1\nnode3\n", "", 0);
    PEER_LIST(&ctld, OP_QUERY_PARTITIONS, partition_record, NULL);
    PEER_LIST(&ctld, OP_QUERY_NODES, node_record, "{'node_id':0,'name':'node1','features':'ib'}");
    expect_show(scontrol_show_hostlist, "n1,feature{ib},n2", "n1,node1,n2\n", "", 0);
    PEER_ANSWER(&ctld, OP_QUERY_TOPOLOGY, topology_reply, "{}");
    expect_show(scontrol_show_hostnames, "partition{gpu}", "partition{gpu}\n",
                "scontrol: error: hostlist_create_client: controller failed to expand hostlist "
                "function\n",
                0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_names), SCONTROL_TEST(test_folded),      SCONTROL_TEST(test_mistakes),
        SCONTROL_TEST(test_files), SCONTROL_TEST(test_environment), SCONTROL_TEST(test_functions),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
