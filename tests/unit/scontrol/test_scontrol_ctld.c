/* test_scontrol_ctld.c - commands for daemons: words, refusals, what is asked */
#include <errno.h>
#include <sys/stat.h>

#include "scontrol_util.h"
#include "wire/errors.h"

#define DEBUGGED(has) EXPECT_REQUEST(OP_DEBUG, debug_request, (has))
#define POWERED(has) EXPECT_REQUEST(OP_NODE_UPDATE, node_update_request, (has))

static void well(unsigned op)
{
    peer_answer(&ctld, op, NULL);
}

static void test_simple_calls(void **state)
{
    (void)state;
    well(OP_RECONFIGURE);
    expect_run(scontrol_reconfigure, "foo", "", "", 0);
    peer_refuse(&ctld, OP_RECONFIGURE, ESLURM_USER_ID_MISSING, NULL);
    expect_run(scontrol_reconfigure, "", "", "slurm_reconfigure error:Invalid user id\n", 1);
    EXPECT_REQUEST(OP_RECONFIGURE, empty, "!'x'");
    EXPECT_REQUEST(OP_RECONFIGURE, empty, "!'x'");
}

static void test_shutdown(void **state)
{
    (void)state;
    PEER_ANSWER(&ctld, OP_SHUTDOWN, shutdown_reply, "{'untold':'n[7-9]'}");
    expect_run(scontrol_shutdown, "", "",
               "scontrol: warning: not connected, slurmd goes on there: n[7-9]\n", 0);
    EXPECT_REQUEST(OP_SHUTDOWN, shutdown_request, "!'controller_only'");
    PEER_ANSWER(&ctld, OP_SHUTDOWN, shutdown_reply, "{}");
    expect_run(scontrol_shutdown, "slurmctld", "", "", 0);
    EXPECT_REQUEST(OP_SHUTDOWN, shutdown_request, "'controller_only':true");
    peer_refuse(&ctld, OP_SHUTDOWN, ESLURM_USER_ID_MISSING, NULL);
    expect_run(scontrol_shutdown, "controller", "", "slurm_shutdown error:Invalid user id\n", 1);
    run_command(scontrol_shutdown, "slurmd");
    assert_non_null(strstr(said.err, "slurmd"));
    assert_int_equal(scontrol.status, 1);
}

static void test_token(void **state)
{
    (void)state;
    PEER_ANSWER(&ctld, OP_TOKEN, token_reply, "{'token':'a.b.c'}");
    expect_run(scontrol_token, "lifespan=60 username=bob", "SLURM_JWT=a.b.c\n", "", 0);
    EXPECT_REQUEST(OP_TOKEN, token_request, "'lifespan_s':60");
    PEER_ANSWER(&ctld, OP_TOKEN, token_reply, "{'token':'a.b.c'}");
    expect_run(scontrol_token, "lifespan=Infinite", "SLURM_JWT=a.b.c\n", "", 0);
    EXPECT_REQUEST(OP_TOKEN, token_request, "'infinite':true");
    /* as recorded */
    expect_run(scontrol_token, "nosuch=1", "", "Invalid option: `nosuch=1`\n", 1);
    expect_run(scontrol_token, "lifespan=abc", "",
               "scontrol: error: Invalid numeric value \"abc\" for lifespan.\n", 1);
    expect_run(scontrol_token, "lifespan=0", "",
               "scontrol: error: Invalid numeric value \"0\" for lifespan.\n", 1);
    assert_true(peer_is_quiet(&ctld));
}

static void test_errnumstr(void **state)
{
    (void)state;
    expect_run(scontrol_errnumstr, "", "", "one arguments required for keyword:errnumstr\n", 1);
    expect_run(scontrol_errnumstr, "2017 2018", "",
               "one arguments required for keyword:errnumstr\n", 1);
    expect_run(scontrol_errnumstr, "abc", "", "numeric arguments required for keyword:errnumstr\n",
               1);
    expect_run(scontrol_errnumstr, "0", "No error\n", "", 0);
    expect_run(scontrol_errnumstr, "2", "No such file or directory\n", "", 0);
    expect_run(scontrol_errnumstr, "2017", "Invalid job id specified\n", "", 0);
    expect_run(scontrol_errnumstr, "99999", "Unknown error 99999\n", "", 0);
}

static void test_getaddrs(void **state)
{
    (void)state;
    expect_run(scontrol_getaddrs, "", "", "one argument required for keyword:getaddrs\n", 1);
    expect_run(scontrol_getaddrs, "n[1-", "", "one argument required for keyword:getaddrs\n", 1);
    PEER_LIST(&ctld, OP_QUERY_PARTITIONS, partition_record, NULL);
    PEER_LIST(&ctld, OP_QUERY_NODES, node_record,
              "{'node_id':0,'name':'n1','addr':'10.0.0.1','port':6821}",
              "{'node_id':1,'name':'n2','port':6822}");
    run_command(scontrol_getaddrs, "n[2,1,9]");
    assert_string_equal(said.out, "n2: n2:6822\nn1: 10.0.0.1:6821\n");
    assert_int_equal(scontrol.status, 0);
}

static void test_setdebug(void **state)
{
    (void)state;
    expect_run(scontrol_setdebug, "", "", "too few arguments for keyword:setdebug\n", 1);
    expect_run(scontrol_setdebug, "nosuch", "", "invalid debug level: nosuch\n", 1);
    expect_run(scontrol_setdebug, "10", "", "invalid debug level: 10\n", 1);
    expect_run(scontrol_setdebug, "info foo=node9", "", "Invalid option: info\n", 1);
    assert_true(peer_is_quiet(&ctld));
    well(OP_DEBUG);
    expect_run(scontrol_setdebug, "debug5", "", "", 0);
    DEBUGGED("'level':'debug5'");
    well(OP_DEBUG);
    expect_run(scontrol_setdebug, "-1", "", "", 0);
    DEBUGGED("'level':'quiet'");
    well(OP_DEBUG);
    expect_run(scontrol_setdebug, "INFO nodes=node1", "", "", 0);
    DEBUGGED("'nodes':'node1'");
    peer_refuse(&ctld, OP_DEBUG, SLURM_NO_CHANGE_IN_DATA, NULL);
    expect_run(scontrol_setdebug, "info nodes=node9", "",
               "Failed to change debug level on one or more nodes.:Data has not changed since time "
               "specified\n",
               1);
    peer_refuse(&ctld, OP_DEBUG, ESLURM_USER_ID_MISSING, NULL);
    expect_run(scontrol_setdebug, "info", "", "slurm_set_debug_level error:Permission denied\n", 1);
}

static void test_setdebugflags(void **state)
{
    (void)state;
    expect_run(scontrol_setdebugflags, "", "", "too few arguments for keyword:setdebugflags\n", 1);
    expect_run(scontrol_setdebugflags, "gres", "",
               "invalid debug flag: gres\n"
               "Usage: setdebugflags {+|-}NAME [{+|-}NAME] [nodes=<NODES>]\n",
               1);
    expect_run(scontrol_setdebugflags, "+nosuch", "",
               "scontrol: error: Invalid DebugFlag: nosuch\ninvalid debug flag: +nosuch\n", 1);
    assert_true(peer_is_quiet(&ctld));
    well(OP_DEBUG);
    expect_run(scontrol_setdebugflags, "+Steps,backfill -gres nodes=n1", "", "", 0);
    DEBUGGED("'flags':['+Steps','+backfill','-gres']");
    peer_refuse(&ctld, OP_DEBUG, ESLURM_USER_ID_MISSING, NULL);
    expect_run(scontrol_setdebugflags, "+gres", "",
               "slurm_set_debug_flags error:Permission denied\n", 1);
}

static void test_numbers(void **state)
{
    static const char disabled[] =
        "slurm_set_schedlog_level error:Requested operation is presently disabled\n";

    (void)state;
    expect_run(scontrol_schedloglevel, "", "", "too few arguments for keyword:schedloglevel\n", 1);
    expect_run(scontrol_schedloglevel, "2", "", "invalid schedlog level: 2\n", 1);
    peer_refuse(&ctld, OP_DEBUG, ESLURM_DISABLED, NULL);
    expect_run(scontrol_schedloglevel, "enable", "", disabled, 1);
    DEBUGGED("'sched_log_level':1");
    well(OP_DEBUG);
    expect_run(scontrol_schedloglevel, "0", "", "", 0);
    DEBUGGED("'sched_log_level':0");
    expect_run(scontrol_fsdampeningfactor, "", "",
               "too few arguments for keyword:fsdampeningfactor\n", 1);
    expect_run(scontrol_fsdampeningfactor, "0", "", "invalid dampening factor: 0\n", 1);
    expect_run(scontrol_fsdampeningfactor, "abc", "", "invalid dampening factor: abc\n", 1);
    expect_run(scontrol_fsdampeningfactor, "65536", "", "invalid dampening factor: 65536\n", 1);
    well(OP_DEBUG);
    expect_run(scontrol_fsdampeningfactor, "5", "", "", 0);
    DEBUGGED("'fs_dampening':5");
}

static void test_power(void **state)
{
    (void)state;
    expect_run(scontrol_power, "", "", "too few arguments for keyword:power\n", 1);
    expect_run(scontrol_power, "up", "", "too few arguments for keyword:power\n", 1);
    expect_run(scontrol_power, "down force", "", "too few arguments for keyword:power\n", 1);
    expect_run(scontrol_power, "foo node1", "", "unexpected argument: 'foo'\n", 1);
    expect_run(scontrol_power, "up n1 n2", "", "unexpected argument: 'n2'\n", 1);
    expect_run(scontrol_power, "up n1 reason=x", "",
               "Reason only allowed for scontrol power down operation\n", 1);
    assert_true(peer_is_quiet(&ctld));
    well(OP_NODE_UPDATE);
    expect_run(scontrol_power, "down asap n[1-2] reason=heat action=ipmi", "", "", 0);
    POWERED("'action':'NODE_ACT_POWER_DOWN_ASAP'");
    well(OP_NODE_UPDATE);
    expect_run(scontrol_power, "down force n1", "", "", 0);
    POWERED("'action':'NODE_ACT_POWER_DOWN_FORCE'");
    well(OP_NODE_UPDATE);
    expect_run(scontrol_power, "down n1", "", "", 0);
    POWERED("'action':'NODE_ACT_POWER_DOWN'");
    peer_refuse(&ctld, OP_NODE_UPDATE, ESLURM_USER_ID_MISSING, NULL);
    expect_run(scontrol_power, "up n1", "", "scontrol_power_nodes error:Invalid user id\n", 1);
    POWERED("'nodes':'n1'");
}

static void test_takeover(void **state)
{
    (void)state;
    expect_run(scontrol_takeover, "1", "", "takeover: invalid backup controller index (1)\n", 1);
    expect_run(scontrol_takeover, "0", "", "takeover: invalid backup controller index (0)\n", 1);
    expect_run(scontrol_takeover, "x", "", "takeover: invalid backup controller index (x)\n", 1);
}

/* No controller is there: the line says so, and the exit code. */
static void test_ping(void **state)
{
    (void)state;
    expect_run(scontrol_ping, "", "Slurmctld(primary) at h is DOWN\n", "", 1);
}

static void expect_saved(const char *name, const char *line)
{
    char text[256], *path;
    FILE *f;

    scontrol.status = 0;
    output_begin(&said, NULL);
    scontrol_write_config(&scontrol, name);
    output_end(&said);
    assert_int_equal(strncmp(said.out, "Slurm config saved to ", 22), 0);
    path = said.out + 22;
    path[strcspn(path, "\n")] = '\0';
    assert_int_equal(strncmp(path, name, strlen(name)), 0);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    assert_string_equal(text, line);
    assert_null(fgets(text, sizeof(text), f));
    (void)fclose(f);
    (void)unlink(path);
}

/* Lines as they are, without comments; the name is followed by the moment. */
static void test_write_config(void **state)
{
    char dir[] = "/tmp/test_write.XXXXXX", name[64], path[64];
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/slurm.conf", dir);
    (void)snprintf(name, sizeof(name), "%s/copy", dir);
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs("# a comment\n\n   # another\nClusterName=c # kept\n", f);
    assert_int_equal(fclose(f), 0);
    scontrol.cli.conf = conf_free(scontrol.cli.conf);
    {
        static const char text[] = "ClusterName=c\nSlurmctldHost=h\nNodeName=n\n";
        struct conf_text file = { .name = path, .text = text, .len = sizeof(text) - 1 };

        assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &scontrol.cli.conf, NULL, NULL), 0);
    }
    expect_saved(name, "ClusterName=c # kept\n");
    output_begin(&said, NULL);
    scontrol_write_config(&scontrol, "/nonexistent/x");
    output_end(&said);
    assert_int_equal(strncmp(said.err, "Could not create file /nonexistent/x.", 37), 0);
    assert_int_equal(scontrol.status, 0); /* as recorded */
    (void)unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_simple_calls),  SCONTROL_TEST(test_shutdown),
        SCONTROL_TEST(test_token),         SCONTROL_TEST(test_errnumstr),
        SCONTROL_TEST(test_getaddrs),      SCONTROL_TEST(test_setdebug),
        SCONTROL_TEST(test_setdebugflags), SCONTROL_TEST(test_numbers),
        SCONTROL_TEST(test_power),         SCONTROL_TEST(test_takeover),
        SCONTROL_TEST(test_ping),          SCONTROL_TEST(test_write_config),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
