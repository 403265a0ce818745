/* test_scontrol_reboot.c - scontrol reboot and cancel_reboot */
#include "cli/scontrol/scontrol_reboot.h"

#include "scontrol_util.h"
#include "wire/errors.h"

#define REBOOTED(has) EXPECT_REQUEST(OP_NODE_REBOOT, node_reboot_request, (has))

static void test_words(void **state)
{
    (void)state;
    peer_answer(&ctld, OP_NODE_REBOOT, NULL);
    expect_run(scontrol_reboot, "ASAP nextstate=resume reason=kernel action=kexec n[1-2]", "", "",
               0);
    REBOOTED("'asap':true,'next_state':'RESUME','reason':'kernel'");
    peer_answer(&ctld, OP_NODE_REBOOT, NULL);
    expect_run(scontrol_reboot, "force ALL nextstate=Down", "", "", 0);
    REBOOTED("'nodes':'ALL'");
    peer_answer(&ctld, OP_NODE_REBOOT, NULL);
    expect_run(scontrol_reboot, "n1 action=a", "", "", 0);
    REBOOTED("!'asap'");
    expect_run(scontrol_reboot, "", "", "Missing node list. Specify ALL|<NodeList>\n", 1);
    expect_run(scontrol_reboot, "asap", "", "Missing node list. Specify ALL|<NodeList>\n", 1);
    expect_run(scontrol_reboot, "n1 n2", "", "Multiple node lists specified\n", 1);
    expect_run(scontrol_reboot, "n1 nextstate=idle", "",
               "Invalid state: idle\n Valid states: DOWN, RESUME\n", 1);
    expect_run(scontrol_reboot, "n1 reason=", "", "missing reason\n", 1);
    expect_run(scontrol_reboot, "n1 action=", "", "missing action\n", 1);
    assert_true(peer_is_quiet(&ctld));
}

static void test_refusals(void **state)
{
    (void)state;
    peer_refuse(&ctld, OP_NODE_REBOOT, ESLURM_USER_ID_MISSING, NULL);
    expect_run(scontrol_reboot, "node1", "", "scontrol_reboot_nodes error:Permission denied\n", 1);
    peer_refuse(&ctld, OP_NODE_REBOOT, ESLURM_DISABLED, "RebootProgram is not set");
    expect_run(scontrol_reboot, "node1", "",
               "scontrol_reboot_nodes error:RebootProgram is not set\n", 1);
    /* the others are rebooted: that is no failure */
    peer_refuse(&ctld, OP_NODE_REBOOT, ESLURM_REBOOT_IN_PROGRESS, "n2 reboots already");
    expect_run(scontrol_reboot, "n[1-2]", "", "scontrol: error: n2 reboots already\n", 0);
}

static void test_cancel(void **state)
{
    (void)state;
    peer_answer(&ctld, OP_NODE_REBOOT, NULL);
    expect_run(scontrol_cancel_reboot, "n1", "", "", 0);
    REBOOTED("'cancel':true");
    peer_refuse(&ctld, OP_NODE_REBOOT, ESLURM_INVALID_NODE_NAME, NULL);
    expect_run(scontrol_cancel_reboot, "node9", "",
               "slurm_update error: Invalid node name specified\n", 1);
    REBOOTED("'nodes':'node9'");
    expect_run(scontrol_cancel_reboot, "", "", "missing argument for keyword:cancel_reboot\n", 1);
    expect_run(scontrol_cancel_reboot, "n1 n2", "",
               "too many arguments for keyword:cancel_reboot\n", 1);
    assert_true(peer_is_quiet(&ctld));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_words),
        SCONTROL_TEST(test_refusals),
        SCONTROL_TEST(test_cancel),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
