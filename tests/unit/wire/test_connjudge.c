/* test_connjudge.c - who may ask a listener for what: docs/security.md, by examples */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "api.pb-c.h"
#include "wire/access.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "wire/server/connjudge.h"

#define SLURM_UID 64030u
#define SLURMD_UID 64031u
#define USER_UID 1000u
#define NOBODY UINT32_MAX /* nobody is known by name */

#define AT_CTLD ACCESS_AT(ACCESS_CTLD)
#define AT_DBD ACCESS_AT(ACCESS_DBD)
#define AT_SLURMD ACCESS_AT(ACCESS_SLURMD)
#define BY(way) PST__AUTH_METHOD__AUTH_##way

static int judge(unsigned serves, bool open, uid_t uid, unsigned method, unsigned op)
{
    struct peer peer = { .uid = uid, .method = method };

    return conn_judge(&(struct conn_judge){ .serves = serves,
                                            .slurm_uid = SLURM_UID,
                                            .slurmd_uid = SLURMD_UID,
                                            .open = open,
                                            .peer = &peer },
                      op);
}

static const struct {
    unsigned serves;
    bool open;
    uid_t uid;
    unsigned method, op;
    int code;
} rows[] = {
    /* before the peer has said who it is */
    { AT_CTLD, false, NOBODY, 0, OP_HELLO, 0 },
    { AT_CTLD, false, NOBODY, 0, OP_PING, EPST_AUTH },
    { AT_CTLD, false, NOBODY, 0, OP_MAX_ + 7, EPST_AUTH },
    { AT_CTLD, false, 0, BY(PEERCRED), OP_JOB_SUBMIT, EPST_AUTH },
    /* users */
    { AT_CTLD, true, USER_UID, BY(PEERCRED), OP_JOB_SUBMIT, 0 },
    { AT_CTLD, true, USER_UID, BY(JWT), OP_JOB_SUBMIT, 0 },
    { AT_CTLD, true, NOBODY, BY(NODE), OP_JOB_SUBMIT, ESLURM_ACCESS_DENIED },
    { AT_DBD, true, USER_UID, BY(PEERCRED), OP_JOB_SUBMIT, EPST_BAD_REQUEST },
    { AT_SLURMD, true, USER_UID, BY(PEERCRED), OP_JOB_SUBMIT, EPST_BAD_REQUEST },
    { 0, true, 0, BY(PEERCRED), OP_PING, EPST_BAD_REQUEST },
    { AT_CTLD, true, 0, BY(PEERCRED), OP_MAX_ + 7, EPST_BAD_REQUEST },
    /* administrators are known to slurmctld; slurmdbd lets root and SlurmUser alone */
    { AT_CTLD, true, USER_UID, BY(PEERCRED), OP_RECONFIGURE, 0 },
    { AT_DBD, true, USER_UID, BY(PEERCRED), OP_RECONFIGURE, ESLURM_ACCESS_DENIED },
    { AT_DBD, true, SLURMD_UID, BY(PEERCRED), OP_RECONFIGURE, ESLURM_ACCESS_DENIED },
    { AT_DBD, true, SLURM_UID, BY(PEERCRED), OP_RECONFIGURE, 0 },
    { AT_DBD, true, 0, BY(PEERCRED), OP_RECONFIGURE, 0 },
    /* nodes: root and SlurmdUser, or a node's own key, which stands for no user; never a token */
    { AT_CTLD, true, USER_UID, BY(PEERCRED), OP_NODE_REGISTER, ESLURM_ACCESS_DENIED },
    { AT_CTLD, true, SLURM_UID, BY(PEERCRED), OP_NODE_REGISTER, ESLURM_ACCESS_DENIED },
    { AT_CTLD, true, SLURMD_UID, BY(PEERCRED), OP_NODE_REGISTER, 0 },
    { AT_CTLD, true, 0, BY(KEY), OP_NODE_REGISTER, 0 },
    { AT_CTLD, true, 0, BY(JWT), OP_NODE_REGISTER, ESLURM_ACCESS_DENIED },
    { AT_CTLD, true, 0, BY(BEARER), OP_NODE_REGISTER, ESLURM_ACCESS_DENIED },
    { AT_CTLD, true, NOBODY, BY(NODE), OP_NODE_REGISTER, 0 },
    { AT_CTLD, true, NOBODY, BY(STEP), OP_NODE_REGISTER, ESLURM_ACCESS_DENIED },
    /* a step is launched by who has its credential's key; root has not */
    { AT_SLURMD, true, NOBODY, BY(STEP), OP_LAUNCH_STEP, 0 },
    { AT_SLURMD, true, 0, BY(PEERCRED), OP_LAUNCH_STEP, ESLURM_ACCESS_DENIED },
    { AT_CTLD, true, NOBODY, BY(STEP), OP_LAUNCH_STEP, EPST_BAD_REQUEST },
    /* a batch job comes on the connection that the node dialled, never to its listener */
    { AT_SLURMD, true, 0, BY(KEY), OP_LAUNCH_BATCH, EPST_BAD_REQUEST },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int code = judge(rows[i].serves, rows[i].open, rows[i].uid, rows[i].method, rows[i].op);

        if (code != rows[i].code)
            fail_msg("row %zu: %d instead of %d", i, code, rows[i].code);
    }
}

/* A token stands for a person, and whom a node vouched for is no better. */
static void test_vouched(void **state)
{
    struct peer peer = { .uid = 0, .method = PST__AUTH_METHOD__AUTH_VOUCH };
    struct conn_judge j = { .serves = AT_CTLD,
                            .slurm_uid = SLURM_UID,
                            .slurmd_uid = SLURMD_UID,
                            .open = true,
                            .peer = &peer };

    (void)state;
    assert_int_equal(conn_judge(&j, OP_NODE_REGISTER), 0);
    peer.node_vouched = true;
    assert_int_equal(conn_judge(&j, OP_NODE_REGISTER), ESLURM_ACCESS_DENIED);
    assert_int_equal(conn_judge(&j, OP_JOB_SUBMIT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_vouched),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
