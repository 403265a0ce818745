/* test_rights.c - whose rights count for a request: its sender's, those of the user whom it names,
 * and what an administrator of accounting may */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/pb/pbutil.h"
#include "conf/conf.h"
#include "ctld/core/rights.h"
#include "ctld/ctld.h"
#include "model/account/assoc.h"
#include "wire/server/server_impl.h"

#define SLURM_UID 60001u
#define ADMIN_UID 60002u
#define USER_UID 60003u

struct fixture {
    struct conf *conf;
    struct cluster cluster;
    struct ctld ctld;
    struct conn conn;
    struct cmd cmd;
};

static void put_admin(struct assoc_mgr *am, const char *name, Pst__AdminLevel level)
{
    Pst__UserRecord u = PST__USER_RECORD__INIT;
    Pst__AcctChange ch = PST__ACCT_CHANGE__INIT;

    u.name = (char *)name;
    SET(&u, admin_level, level);
    ch.body_case = PST__ACCT_CHANGE__BODY_USER;
    ch.user = &u;
    assert_int_equal(am_apply(am, &ch, NULL), 0);
}

static int set_up(void **state)
{
    static const char text[] = "ClusterName=t\nSlurmctldHost=h\nSlurmUser=60001\n"
                               "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n";
    struct conf_text file = { .name = "slurm.conf", .text = text, .len = sizeof(text) - 1 };
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &f->conf, NULL, NULL), 0);
    assert_int_equal(am_new(&f->cluster.am), 0);
    put_admin(f->cluster.am, "boss", PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR);
    put_admin(f->cluster.am, "helper", PST__ADMIN_LEVEL__ADMIN_OPERATOR);
    f->ctld.conf = f->conf;
    f->ctld.cluster = &f->cluster;
    atomic_store(&f->ctld.slurm_uid, SLURM_UID);
    f->cmd.conn = &f->conn;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    am_free(f->cluster.am);
    conf_free(f->conf);
    free(f->cmd.caller);
    free(f->cmd.user_name);
    free(f);
    return 0;
}

static void send_as(struct fixture *f, uid_t uid, const char *name)
{
    f->conn.peer.uid = uid;
    free(f->cmd.caller);
    f->cmd.caller = name ? strdup(name) : NULL;
    f->cmd.as_user = false;
    f->cmd.uid = uid;
}

static void test_admins(void **state)
{
    struct fixture *f = *state;

    assert_true(core_is_admin(&f->ctld, 0));
    assert_true(core_is_admin(&f->ctld, SLURM_UID));
    assert_false(core_is_admin(&f->ctld, ADMIN_UID)); /* of accounting: not the machine's */
    send_as(f, 0, NULL);
    assert_true(cmd_is_admin(&f->ctld, &f->cmd));
    send_as(f, SLURM_UID, NULL);
    assert_true(cmd_is_admin(&f->ctld, &f->cmd));
    send_as(f, ADMIN_UID, "boss");
    assert_true(cmd_is_admin(&f->ctld, &f->cmd));
    send_as(f, ADMIN_UID, "helper"); /* an operator is none */
    assert_false(cmd_is_admin(&f->ctld, &f->cmd));
    send_as(f, USER_UID, "ann");
    assert_false(cmd_is_admin(&f->ctld, &f->cmd));
    send_as(f, USER_UID, NULL); /* a user without a name */
    assert_false(cmd_is_admin(&f->ctld, &f->cmd));
    f->cmd.conn = NULL; /* our own */
    assert_true(cmd_is_admin(&f->ctld, &f->cmd));
    assert_true(cmd_may_act_as(&f->ctld, &f->cmd, USER_UID));
}

/* I/O threads ask while the core's frees the configuration that was. */
static void test_any_thread(void **state)
{
    struct fixture *f = *state;

    atomic_store(&f->ctld.slurm_uid, 0);
    core_learn_admin(&f->ctld);
    f->ctld.conf = NULL;
    assert_true(core_is_admin(&f->ctld, SLURM_UID));
    assert_false(core_is_admin(&f->ctld, ADMIN_UID));
    f->ctld.conf = f->conf;
}

static void test_act_as(void **state)
{
    struct fixture *f = *state;

    send_as(f, USER_UID, "ann");
    assert_true(cmd_may_act_as(&f->ctld, &f->cmd, USER_UID));
    assert_false(cmd_may_act_as(&f->ctld, &f->cmd, USER_UID + 1));
    assert_false(cmd_may_act_as(&f->ctld, &f->cmd, 0));
    send_as(f, ADMIN_UID, "boss"); /* would be root */
    assert_false(cmd_may_act_as(&f->ctld, &f->cmd, USER_UID));
    assert_false(cmd_may_act_as(&f->ctld, &f->cmd, 0));
    send_as(f, SLURM_UID, NULL);
    assert_true(cmd_may_act_as(&f->ctld, &f->cmd, USER_UID));
    send_as(f, 0, NULL);
    assert_true(cmd_may_act_as(&f->ctld, &f->cmd, USER_UID));
}

/* Root that sends in the name of a user has that user's rights from then on, not root's. */
static void test_rights_of_the_named(void **state)
{
    struct fixture *f = *state;

    send_as(f, 0, "root");
    f->cmd.user_name = strdup("ann");
    assert_int_equal(cmd_rights_uid(&f->cmd), 0);
    cmd_act_as(&f->cmd, USER_UID);
    assert_int_equal(cmd_rights_uid(&f->cmd), USER_UID);
    assert_string_equal(f->cmd.caller, "ann");
    assert_null(f->cmd.user_name);
    assert_false(cmd_is_admin(&f->ctld, &f->cmd));
    /* As an administrator of accounting it is one. */
    send_as(f, 0, NULL);
    f->cmd.user_name = strdup("boss");
    cmd_act_as(&f->cmd, ADMIN_UID);
    assert_true(cmd_is_admin(&f->ctld, &f->cmd));
    /* The connection is still root's: it may name yet another user. */
    assert_true(cmd_may_act_as(&f->ctld, &f->cmd, USER_UID));
}

static void test_lanes(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(core_lane(&f->ctld, 0), 0);
    assert_int_equal(core_lane(&f->ctld, SLURM_UID), 0);
    assert_int_equal(core_lane(&f->ctld, ADMIN_UID), ADMIN_UID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_admins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_act_as, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rights_of_the_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lanes, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
