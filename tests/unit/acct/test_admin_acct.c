/* test_admin_acct.c - accounts and their coordinators; the log of transactions; events of nodes */
#include "admin_util.h"

static const struct admin_who carol = { .user = "carol" }, alice = { .user = "alice" };

static void test_add(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "CLUSTER", "'where':{'names':['east']}");
    /* in one cluster, then in the other too */
    must(&o, "ADD", "ACCOUNT",
         "'where':{'names':['arts'],'clusters':['demo']},"
         "'set':{'account':{'description':'all arts','organization':'uni'},"
         "'assoc':{'shares':5,'limits':{'max_jobs':2}}}");
    assert_named(&o, "arts");
    assert_list(&o, "ASSOC", "{'accounts':['arts']}", "cluster", "demo");
    assert_told(&o, "ACCOUNT", "{'names':['arts']}",
                "'description':'all arts','organization':'uni'");
    assert_told(&o, "ASSOC", "{'accounts':['arts']}", "'shares':5");
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['arts']}");
    assert_list(&o, "ASSOC", "{'accounts':['arts']}", "cluster", "demo east");
    assert_int_equal(change(&o, "ADD", "ACCOUNT", "'where':{'names':['arts']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    assert_int_equal(change(&o, "ADD", "ACCOUNT", "'where':{'names':['x'],'clusters':['nowhere']}"),
                     ESLURM_INVALID_CLUSTER_NAME);
    assert_int_equal(change(&o, "ADD", "ACCOUNT", "'where':{'names':['x:y']}"), ESLURM_BAD_NAME);
    close_office(&o);
}

static void test_modify(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'names':['physics','science']},'set':{'account':{'organization':'uni'}}");
    assert_named(&o, "physics science");
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'organizations':['uni'],'accounts':['physics']},"
         "'set':{'account':{'description':'lab'}}");
    assert_named(&o, "physics");
    assert_told(&o, "ACCOUNT", "{'names':['physics']}", "'description':'lab','organization':'uni'");

    /* a coordinator changes limits below, not what the account is */
    assert_int_equal(
        change_as(&o, &carol, "MODIFY", "ACCOUNT",
                  "'where':{'names':['physics']},'set':{'account':{'description':'x'}}"),
        ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &carol, "MODIFY", "ACCOUNT",
                               "'where':{'names':['physics']},'set':{'assoc':{'shares':3}}"),
                     0);
    assert_int_equal(change_as(&o, &carol, "MODIFY", "ACCOUNT",
                               "'where':{'names':['root']},'set':{'assoc':{'shares':3}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "ACCOUNT",
                               "'where':{'names':['physics']},'set':{'assoc':{'shares':3}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change(&o, "MODIFY", "ACCOUNT",
                            "'where':{'names':['nowhere']},'set':{'account':{'description':'x'}}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

/* What a coordinator sets stays within what the account above has. */
static void test_within_parent(void **state)
{
    static const struct {
        const char *set;
        bool ok;
    } cases[] = {
        { "'limits':{'max_jobs':5}", true },
        { "'limits':{'max_jobs':6}", false },
        { "'limits':{'max_tres_per_job':[{'tres_id':1,'count':8}]}", true },
        { "'limits':{'max_tres_per_job':[{'tres_id':1,'count':9}]}", false },
        { "'limits':{'max_tres_per_job':[{'tres_id':1,'count':-1}]}", false },
        { "'limits':{'max_tres_per_job':[{'tres_id':1,'count':1,'op':1}]}", false },
        { "'limits':{'max_tres_per_job':[{'tres_id':4,'count':99}]}", true },
        { "'qos_added':[1]", true },
        { "'qos_added':[2]", false },
        { "'qos_ids':[1,2]", false },
    };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "QOS", "'where':{'names':['high']}");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'names':['science']},'set':{'assoc':{'limits':{'max_jobs':5,"
         "'max_tres_per_job':[{'tres_id':1,'count':8}]}}}");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char body[256];

        (void)snprintf(body, sizeof(body), "'where':{'names':['physics']},'set':{'assoc':{%s}}",
                       cases[i].set);
        assert_int_equal(change_as(&o, &carol, "MODIFY", "ACCOUNT", body) == 0, cases[i].ok);
    }
    close_office(&o);
}

/* What may not be changed afterwards may not be given at the start either. */
static void test_added_within_parent(void **state)
{
    static const struct {
        const char *set;
        bool ok;
    } cases[] = {
        { "'limits':{'max_jobs':5}", true },
        { "'limits':{'max_jobs':6}", false },
        { "'limits':{'max_tres_per_job':[{'tres_id':1,'count':-1}]}", false },
        { "'qos_ids':[1]", true },
        { "'qos_added':[2]", false },
        { "'qos_ids':[1,2],'default_qos_id':2", false },
    };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "QOS", "'where':{'names':['high']}");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'names':['science']},'set':{'assoc':{'limits':{'max_jobs':5,"
         "'max_tres_per_job':[{'tres_id':1,'count':8}]}}}");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char body[256];

        (void)snprintf(body, sizeof(body),
                       "'where':{'names':['u%zu'],'accounts':['science']},'set':{'assoc':{%s}}", i,
                       cases[i].set);
        assert_int_equal(change_as(&o, &carol, "ADD", "USER", body) == 0, cases[i].ok);
        (void)snprintf(body, sizeof(body),
                       "'where':{'names':['a%zu']},'set':{'parent':'science','assoc':{%s}}", i,
                       cases[i].set);
        assert_int_equal(change_as(&o, &carol, "ADD", "ACCOUNT", body) == 0, cases[i].ok);
    }
    close_office(&o);
}

/* An account of another cluster does not become a coordinator's by a place below his own. */
static void test_coordinator_takes_no_account(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "CLUSTER", "'where':{'names':['other']}");
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['secret'],'clusters':['other']}");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    assert_int_equal(change_as(&o, &carol, "ADD", "ACCOUNT",
                               "'where':{'names':['secret'],'clusters':['demo']},"
                               "'set':{'parent':'science'}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(
        change_as(&o, &carol, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['secret']}"),
        ESLURM_ACCESS_DENIED);
    /* a new one is his, and one that is has a second cluster */
    assert_int_equal(change_as(&o, &carol, "ADD", "ACCOUNT",
                               "'where':{'names':['mine'],'clusters':['demo']},"
                               "'set':{'parent':'science'}"),
                     0);
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['science'],'clusters':['other']}");
    assert_int_equal(change_as(&o, &carol, "ADD", "ACCOUNT",
                               "'where':{'names':['mine'],'clusters':['other']},"
                               "'set':{'parent':'science'}"),
                     0);
    close_office(&o);
}

static void test_parent(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    assert_int_equal(
        change(&o, "MODIFY", "ACCOUNT", "'where':{'names':['science']},'set':{'parent':'physics'}"),
        ESLURM_INVALID_PARENT_ACCOUNT); /* it is below */
    assert_int_equal(
        change(&o, "MODIFY", "ACCOUNT", "'where':{'names':['science']},'set':{'parent':'none'}"),
        ESLURM_INVALID_PARENT_ACCOUNT);
    assert_list(&o, "ASSOC", "{'no_users':true}", "parent_account", "- root science");
    must(&o, "MODIFY", "ACCOUNT", "'where':{'names':['physics']},'set':{'parent':'root'}");
    assert_list(&o, "ASSOC", "{'no_users':true}", "account", "root physics science");
    assert_list(&o, "ASSOC", "{'no_users':true}", "parent_account", "- root root");
    close_office(&o);
}

static void test_delete(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['physics']}");
    assert_int_equal(change(&o, "DELETE", "ACCOUNT", "'where':{'names':['root']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &carol, "DELETE", "ACCOUNT", "'where':{'names':['science']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "DELETE", "ACCOUNT", "'where':{'names':['physics']}"),
                     ESLURM_ACCESS_DENIED);
    o.now_us += INT64_C(2) * 86400 * SEC;
    must(&o, "DELETE", "ACCOUNT", "'where':{'names':['physics']}");
    assert_list(&o, "ACCOUNT", "", "name", "root science");
    assert_list(&o, "ACCOUNT", "{'with_deleted':true}", "name", "physics root science");
    assert_list(&o, "ASSOC", "{'users':['alice']}", "account", "");
    assert_int_equal(change(&o, "DELETE", "ACCOUNT", "'where':{'names':['physics']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    /* made again it is there */
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['physics']}");
    assert_list(&o, "ACCOUNT", "", "name", "physics root science");
    close_office(&o);
}

static void test_coordinators(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    assert_int_equal(change(&o, "ADD", "COORD", "'where':{'users':['eve'],'accounts':['physics']}"),
                     ESLURM_USER_ID_MISSING);
    assert_int_equal(change(&o, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['none']}"),
                     ESLURM_INVALID_ACCOUNT);
    assert_int_equal(
        change_as(&o, &alice, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['physics']}"),
        ESLURM_ACCESS_DENIED);
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    assert_named(&o, "science");
    /* a second time is no mistake */
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    /* a coordinator appoints others for what is below */
    assert_int_equal(
        change_as(&o, &carol, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['physics']}"),
        0);
    assert_told(&o, "ACCOUNT", "{'names':['physics']}", "'coordinators':['alice']");
    must(&o, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['science']}");
    assert_told(&o, "ACCOUNT", "{'names':['science']}", "'coordinators':['carol','alice']");

    must(&o, "DELETE", "COORD", "'where':{'users':['alice']}"); /* everywhere */
    assert_named(&o, "physics science");
    assert_told(&o, "ACCOUNT", "{'names':['science']}", "'coordinators':['carol']");
    assert_int_equal(
        change(&o, "DELETE", "COORD", "'where':{'users':['alice'],'accounts':['science']}"),
        SLURM_NO_CHANGE_IN_DATA);
    /* what is told of one who goes is no objection to the next */
    must(&o, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['physics']}");
    must(&o, "DELETE", "USER", "'where':{'names':['alice','carol']}");
    close_office(&o);
}

static void test_users_are_coords(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    assert_int_equal(change_as(&o, &alice, "ADD", "ACCOUNT",
                               "'where':{'names':['lab']},'set':{'parent':'physics'}"),
                     ESLURM_ACCESS_DENIED);
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'names':['physics']},'set':{'account':{'users_are_coords':true}}");
    assert_int_equal(change_as(&o, &alice, "ADD", "ACCOUNT",
                               "'where':{'names':['lab']},'set':{'parent':'physics'}"),
                     0);
    assert_int_equal(change_as(&o, &alice, "ADD", "ACCOUNT",
                               "'where':{'names':['lab2']},'set':{'parent':'science'}"),
                     ESLURM_ACCESS_DENIED);
    close_office(&o);
}

/* ---- the log of transactions ----------------------------------------------------------------- */

static void test_transactions(void **state)
{
    struct office o;
    char where[128];

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'priority':5,'usage_factor':2,'limits':{"
         "'max_tres_per_job':[{'tres_id':1,'count':8},{'tres_id':4,'count':2}],'grp_jobs':3},"
         "'preempt_ids':[1]}}");
    assert_list(&o, "TXN", "{'actions':['add users']}", "action", "Add Users Add Users");
    assert_list(&o, "TXN", "{'actions':['QOS']}", "where", "q");
    assert_told(&o, "TXN", "{'actions':['QOS']}", "priority=5");
    assert_told(&o, "TXN", "{'actions':['QOS']}", "usage_factor=2.000000");
    assert_told(&o, "TXN", "{'actions':['QOS']}", "grp_jobs=3");
    assert_told(&o, "TXN", "{'actions':['QOS']}", "1=8,4=2");
    assert_list(&o, "TXN", "{'actors':['alice']}", "action", "");
    assert_list(&o, "TXN", "{'users':['carol'],'actors':['root']}", "action",
                "Add Users Add Associations");
    assert_list(&o, "TXN", "{'accounts':['physics'],'actions':['Add Accounts']}", "actor", "root");
    assert_list(&o, "TXN", "{'clusters':['east']}", "action", "");
    assert_list(&o, "TXN", "{'clusters':['demo'],'users':['alice']}", "action", "Add Associations");
    (void)snprintf(where, sizeof(where), "{'start_us':%lld}", (long long)(o.now_us + 1));
    assert_list(&o, "TXN", where, "action", "");
    (void)snprintf(where, sizeof(where), "{'end_us':%lld}", (long long)(T0 - 1));
    assert_list(&o, "TXN", where, "action", "");
    close_office(&o);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_node(Pst__Transaction *tx, uint32_t id, const char *name)
{
    Pst__NodeRecord *n = tx_node_put(tx, EV(NODE_CONFIG));

    SET(n, node_id, id);
    SET(n, state, PST__NODE_STATE__NODE_IDLE);
    SET(n, cpus, 4);
    assert_int_equal(pb_set_str(&n->name, name), 0);
}

static void set_state(struct world *w, uint32_t id, int64_t at, Pst__NodeState state,
                      const char *reason)
{
    Pst__Transaction *tx = tx_new(T0 + at * SEC);
    Pst__NodeRecord *set = tx_node_patch(tx, EV(NODE_STATE), id);

    SET(set, state, state);
    if (reason)
        assert_int_equal(pb_set_str(&set->reason, reason), 0);
    feed(w, tx);
}

static void test_events(void **state)
{
    static const struct admin_who hidden = { .user = "alice", .rules = ADMIN_PRIVATE_EVENTS };
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(T0);
    struct err err = { .text = "" };
    struct office o;
    char where[160];

    open_office(&o, w);
    assert_int_equal(acct_open(w->db, "demo", &w->acct, &err), 0);
    put_node(tx, 0, "n0");
    put_node(tx, 1, "n1");
    feed(w, tx);
    set_state(w, 0, 100, PST__NODE_STATE__NODE_DOWN, "fan broken");
    set_state(w, 1, 200, PST__NODE_STATE__NODE_DOWN, "no power");
    set_state(w, 0, 300, PST__NODE_STATE__NODE_IDLE, NULL);

    assert_list(&o, "EVENT", "{'event_type':2}", "node", "n0 n1");
    assert_list(&o, "EVENT", "{'event_type':2,'only_open':true}", "node", "n1");
    assert_list(&o, "EVENT", "{'nodes':['n0']}", "reason", "fan broken");
    assert_list(&o, "EVENT", "{'reasons':['POWER']}", "node", "n1");
    assert_list(&o, "EVENT", "{'clusters':['east']}", "node", "");
    (void)snprintf(where, sizeof(where), "{'event_type':2,'states':[%d]}",
                   PST__NODE_STATE__NODE_DOWN);
    assert_list(&o, "EVENT", where, "node", "n0 n1");
    assert_list(&o, "EVENT", "{'states':[77]}", "node", "");
    (void)snprintf(where, sizeof(where), "{'event_type':2,'start_us':%lld}",
                   (long long)(T0 + 301 * SEC));
    assert_list(&o, "EVENT", where, "node", "n1"); /* n0 was up again */
    (void)snprintf(where, sizeof(where), "{'event_type':2,'end_us':%lld}",
                   (long long)(T0 + 150 * SEC));
    assert_list(&o, "EVENT", where, "node", "n0");
    assert_list_as(&o, &hidden, "EVENT", "", "node", "");
    assert_list_as(&o, &alice, "EVENT", "{'event_type':2}", "node", "n0 n1");
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_add, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_modify, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_within_parent, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_added_within_parent, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_coordinator_takes_no_account, world_setup,
                                        world_teardown),
        cmocka_unit_test_setup_teardown(test_parent, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_delete, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_coordinators, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_users_are_coords, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_transactions, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_events, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
