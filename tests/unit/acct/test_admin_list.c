/* test_admin_list.c - questions about the entities: conditions, order, what others may not see */
#include "admin_util.h"

#include "acct/admin/admin_sight.h"

static const struct admin_who alice = { .user = "alice" };

static void test_accounts(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(
        &o, "MODIFY", "ACCOUNT",
        "'where':{'names':['physics']},'set':{'account':{'description':'lab','organization':'uni'}}");
    assert_list(&o, "ACCOUNT", "", "name", "physics root science");
    assert_list(&o, "ACCOUNT", "{'names':['Physics','other']}", "name", "physics");
    assert_list(&o, "ACCOUNT", "{'accounts':['science']}", "name", "science");
    assert_list(&o, "ACCOUNT", "{'descriptions':['LAB']}", "name", "physics");
    assert_list(&o, "ACCOUNT", "{'organizations':['uni']}", "name", "physics");
    assert_list(&o, "ACCOUNT", "{'organizations':['uni'],'descriptions':['x']}", "name", "");
    close_office(&o);
}

static void test_private_accounts(void **state)
{
    static const struct admin_who hidden = { .user = "alice", .rules = ADMIN_PRIVATE_ACCOUNTS },
                                  coord = { .user = "carol", .rules = ADMIN_PRIVATE_ACCOUNTS },
                                  other = { .user = "eve", .rules = ADMIN_PRIVATE_ACCOUNTS },
                                  ruler = { .user = "root",
                                            .root = true,
                                            .rules = ADMIN_PRIVATE_ACCOUNTS };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['arts']}");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['arts']}");
    assert_list_as(&o, &alice, "ACCOUNT", "", "name", "arts physics root science");
    assert_list_as(&o, &hidden, "ACCOUNT", "", "name", "physics");
    assert_list_as(&o, &coord, "ACCOUNT", "", "name", "arts science");
    assert_list_as(&o, &other, "ACCOUNT", "", "name", "");
    assert_list_as(&o, &ruler, "ACCOUNT", "", "name", "arts physics root science");
    close_office(&o);
}

static void test_users(void **state)
{
    static const struct admin_who hidden = { .user = "alice", .rules = ADMIN_PRIVATE_USERS },
                                  coord = { .user = "carol", .rules = ADMIN_PRIVATE_USERS };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "USER", "'where':{'names':['alice'],'accounts':['science']}");
    must(&o, "ADD", "WCKEY", "'where':{'names':['blue'],'users':['carol']}");
    must(&o, "MODIFY", "USER",
         "'where':{'names':['carol']},'set':{'user':{'admin_level':'ADMIN_OPERATOR',"
         "'default_wckey':'blue'}}");
    assert_list(&o, "USER", "", "name", "alice carol root");
    assert_list(&o, "USER", "{'users':['carol','dave']}", "name", "carol");
    assert_list(&o, "USER", "{'admin_level':'ADMIN_OPERATOR'}", "name", "carol");
    assert_list(&o, "USER", "{'default_wckeys':['blue']}", "name", "carol");
    /* accounts and clusters choose what stands beside a user */
    assert_list(&o, "USER", "{'accounts':['science']}", "name", "alice carol root");
    assert_list(&o, "USER", "{'default_accounts':['science']}", "name", "carol");
    assert_list(&o, "USER", "{'clusters':['demo'],'default_accounts':['physics']}", "name",
                "alice");
    assert_list(&o, "USER", "{'clusters':['other'],'default_accounts':['physics']}", "name", "");
    assert_list(&o, "USER", "{'clusters':['other']}", "name", "alice carol root");

    must(&o, "MODIFY", "USER",
         "'where':{'names':['carol']},'set':{'user':{'admin_level':'ADMIN_NONE'}}");
    assert_list_as(&o, &hidden, "USER", "", "name", "alice");
    assert_list_as(&o, &coord, "USER", "", "name", "carol");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    assert_list_as(&o, &coord, "USER", "", "name", "carol"); /* the others are associations */
    close_office(&o);
}

static void test_deleted_users(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    o.now_us += INT64_C(2) * 86400 * SEC; /* older than a day: it leaves a trace */
    must(&o, "DELETE", "USER", "'where':{'names':['alice']}");
    assert_list(&o, "USER", "", "name", "carol root");
    assert_list(&o, "USER", "{'with_deleted':true}", "name", "alice carol root");
    assert_list(&o, "ASSOC", "{'users':['alice']}", "account", "");
    assert_list(&o, "ASSOC", "{'users':['alice'],'with_deleted':true}", "account", "physics");
    close_office(&o);
}

static void test_assocs(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "USER",
         "'where':{'names':['carol'],'accounts':['physics'],'partitions':['gpu']}");
    /* by lineage: an account, its users, what is below it */
    assert_list(&o, "ASSOC", "{'no_users':true}", "account", "root science physics");
    assert_list(&o, "ASSOC", "{'no_users':true}", "parent_account", "- root science");
    assert_list(&o, "ASSOC", "{'accounts':['science'],'no_users':true}", "account", "science");
    assert_list(&o, "ASSOC", "{'accounts':['science']}", "user", "- carol");
    assert_list(&o, "ASSOC", "{'accounts':['science'],'with_sub_accounts':true,'no_users':true}",
                "account", "science physics");
    assert_list(&o, "ASSOC", "{'parents':['science']}", "account", "physics");
    assert_list(&o, "ASSOC", "{'users':['carol']}", "partition", "- gpu");
    assert_list(&o, "ASSOC", "{'users':['carol'],'partitions':['gpu']}", "account", "physics");
    assert_list(&o, "ASSOC", "{'users':['carol'],'only_defaults':true}", "account", "science");
    assert_list(&o, "ASSOC", "{'accounts':['none'],'no_users':true}", "account", "");
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'lineage':'/science/physics/0-alice/'");
    close_office(&o);
}

static void test_inherited(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "QOS", "'where':{'names':['high']}");
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'names':['science']},'set':{'assoc':{'qos_ids':[1,2],'default_qos_id':2,"
         "'priority':5,'limits':{'max_jobs':3,'grp_jobs':9}}}");
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'max_jobs':3");
    assert_told(&o, "ASSOC", "{'users':['alice']}", "!'grp_jobs'"); /* of the subtree, not each */
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'qos_ids':[1,2]");
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'default_qos_id':2");
    assert_told(&o, "ASSOC", "{'users':['alice'],'no_inherited_limits':true,'raw_qos':true}",
                "!'max_jobs'");
    assert_told(&o, "ASSOC", "{'users':['alice'],'no_inherited_limits':true,'raw_qos':true}",
                "!'qos_ids'");
    assert_list(&o, "ASSOC", "{'qos_ids':[2]}", "user", "- carol - alice");
    assert_list(&o, "ASSOC", "{'default_qos_ids':[2],'no_users':true}", "account",
                "science physics");
    assert_list(&o, "ASSOC", "{'qos_ids':[9]}", "user", "");
    close_office(&o);
}

static void test_private_assocs(void **state)
{
    static const struct admin_who hidden = { .user = "alice", .rules = ADMIN_PRIVATE_USERS },
                                  coord = { .user = "carol", .rules = ADMIN_PRIVATE_USERS };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['arts']}");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    assert_list_as(&o, &hidden, "ASSOC", "", "account", "physics"); /* the own one */
    /* whoever coordinates an account does so below it, too */
    assert_list_as(&o, &coord, "ASSOC", "", "account", "science science physics physics");
    assert_list_as(&o, &alice, "ASSOC", "{'no_users':true}", "account",
                   "root arts science physics");
    close_office(&o);
}

/* The log and the keys name the users and accounts that are hidden. */
static void test_private_traces(void **state)
{
    static const struct admin_who plain = { .user = "alice" },
                                  users = { .user = "alice", .rules = ADMIN_PRIVATE_USERS },
                                  accounts = { .user = "alice", .rules = ADMIN_PRIVATE_ACCOUNTS };
    const char *all = "{'actions':['Add WCKeys']}";
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "WCKEY", "'where':{'names':['hers'],'users':['alice']}");
    must(&o, "ADD", "WCKEY", "'where':{'names':['his'],'users':['bob']}");
    assert_list_as(&o, &plain, "WCKEY", "", "name", "hers his");
    assert_list_as(&o, &users, "WCKEY", "", "name", "hers");
    assert_list_as(&o, &plain, "TXN", all, "actor", "root root");
    assert_list_as(&o, &users, "TXN", all, "actor", "");
    assert_list_as(&o, &accounts, "TXN", all, "actor", "");
    assert_list_as(&o, &root_user, "TXN", all, "actor", "root root");
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},"
                               "'set':{'user':{'default_wckey':'hers'}}"),
                     0);
    assert_list_as(&o, &users, "TXN", "", "actor", "alice");
    close_office(&o);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A set: it is in no order. */
static void assert_sight(struct office *o, const struct admin_who *who, bool all, const char *want)
{
    struct admin_sight sight;
    char told[200] = "";

    assert_int_equal(admin_sight(o->admin, who, &sight), 0);
    if (sight.n)
        qsort(sight.accounts, sight.n, sizeof(*sight.accounts), by_text);
    for (size_t i = 0; i < sight.n; i++)
        (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s ", sight.accounts[i]);
    assert_int_equal(sight.all, all);
    assert_string_equal(told, want);
    admin_sight_done(&sight);
}

/* Whose jobs and usage one sees. */
static void test_sight(void **state)
{
    static const struct admin_who carol = { .user = "carol" },
                                  barred = { .user = "carol", .rules = ADMIN_NO_COORDINATORS },
                                  ruler = { .user = "nobody", .root = true };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    assert_sight(&o, &carol, false, "");
    assert_sight(&o, &ruler, true, "");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    assert_sight(&o, &carol, false, "physics science ");
    assert_sight(&o, &barred, false, "");
    must(&o, "MODIFY", "USER",
         "'where':{'names':['carol']},'set':{'user':{'admin_level':'ADMIN_OPERATOR'}}");
    assert_sight(&o, &carol, true, "");
    close_office(&o);
}

static void test_others(void **state)
{
    static const struct admin_who closed = { .user = "alice", .rules = ADMIN_PRIVATE_EVENTS };
    struct looking l = { .stop = -ECANCELED };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "WCKEY", "'where':{'names':['red','blue'],'users':['alice']}");
    must(&o, "ADD", "RESOURCE",
         "'where':{'names':['matlab'],'clusters':['demo']},"
         "'set':{'resource':{'server':'flex','count':50},'allowed':40}");
    assert_list(&o, "WCKEY", "", "name", "red blue");
    assert_list(&o, "WCKEY", "{'only_defaults':true}", "name", "red");
    assert_list(&o, "WCKEY", "{'wckeys':['blue'],'users':['alice'],'clusters':['demo']}", "name",
                "blue");
    assert_list(&o, "WCKEY", "{'users':['carol']}", "name", "");
    assert_list(&o, "RESOURCE", "{'servers':['flex'],'clusters':['demo']}", "name", "matlab");
    assert_list(&o, "RESOURCE", "{'clusters':['other']}", "name", "");
    assert_list(&o, "RESOURCE", "{'names':['ansys']}", "name", "");
    assert_list(&o, "CLUSTER", "{'names':['demo'],'clusters':['demo']}", "name", "demo");
    assert_list(&o, "CLUSTER", "{'names':['other']}", "name", "");
    assert_list(&o, "TRES", "{'descriptions':['gres','license']}", "tres_id", "1001 1002");
    assert_list(&o, "TRES", "{'names':['gpu']}", "type", "gres");
    assert_list(&o, "TRES", "{'ids':[1,2,4]}", "type", "cpu mem node");
    assert_list(&o, "EVENT", "", "node", "");
    assert_list_as(&o, &closed, "EVENT", "", "node", "");
    assert_list(&o, "RESERVATION", "", "name", "");

    assert_int_equal(list_into(&o, &root_user, "TRES", "", &l), -ECANCELED); /* after the first */
    strbuf_done(&l.out);
    l = (struct looking){ 0 };
    assert_int_equal(list_into(&o, &root_user, "COORD", "", &l), -EINVAL);
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_accounts, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_private_accounts, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_users, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_deleted_users, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_assocs, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_inherited, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_private_assocs, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_private_traces, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_sight, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_others, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
