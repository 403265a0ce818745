/* test_sacctmgr_list.c - list and show: what is asked, which rows, which columns */
#include <errno.h>

#include "base/timefmt.h"
#include "peer_json.h"
#include "smgr_util.h"

static struct output said;

#define RECORDS(name, ...) PEER_LIST(&store, OP_ACCT_LIST, name, __VA_ARGS__)

static void expect_asked(Pst__AcctEntity entity, const char *has)
{
    Pst__AcctListRequest *req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);

    assert_int_equal(req->entity, entity);
    if (has && !json_has(&req->base, has))
        fail_msg("%s is not what was asked", has);
    pst__acct_list_request__free_unpacked(req, NULL);
}

static void show(const char *words, const char *input)
{
    run_line(&said, smgr_show, words, input);
}

#define ALICE                                                                                      \
    "{'cluster':'demo','account':'physics','user':'alice','shares':10,"                            \
    "'lineage':'/science/physics/0-alice/','is_default':true}"
#define BOB "{'cluster':'demo','account':'chem','user':'bob','lineage':'/science/chem/0-bob/'}"
#define BOB2                                                                                       \
    "{'cluster':'demo','account':'physics','user':'bob','is_default':true,"                        \
    "'lineage':'/science/physics/0-bob/'}"

/* The account stands as deep as its lineage says, users below their account, as recorded. */
static void test_tree(void **state)
{
    (void)state;
    RECORDS(assoc_record, "{'cluster':'demo','account':'root','lineage':'/'}",
            "{'cluster':'demo','account':'science','shares':50,'lineage':'/science/'}",
            "{'cluster':'demo','account':'physics','shares':30,'lineage':'/science/physics/'}",
            ALICE,
            "{'cluster':'demo','account':'physics','user':'alice','partition':'debug',"
            "'lineage':'/science/physics/0-alice/debug/'}");
    show("assoc tree format=account,user,share", NULL);
    expect_said(&said,
                "Account                    User     Share \n"
                "-------------------- ---------- --------- \n"
                "root                                    1 \n"
                " science                               50 \n"
                "  physics                              30 \n"
                "   physics                alice        10 \n"
                "   physics                alice         1 \n",
                "");
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC, NULL);
    assert_true(peer_is_quiet(&store));
}

static void test_assoc_columns(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    RECORDS(assoc_record, ALICE);
    show("assoc user=alice", NULL);
    expect_said(&said,
                "Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|GrpSubmit|GrpWall|"
                "GrpTRESMins|MaxJobs|MaxTRES|MaxTRESPerNode|MaxSubmit|MaxWall|MaxTRESMins|QOS|"
                "Def QOS|GrpTRESRunMins\ndemo|physics|alice||10|||||||||||||||\n",
                "");
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC, "'users':['alice']");
    RECORDS(assoc_record, ALICE);
    show("assoc where account=physics wopl", NULL);
    expect_out(&said, "Cluster|Account|User|Partition\ndemo|physics|alice|\n");
}

/* A user's default account is that of the association that is the default, here. */
static void test_users(void **state)
{
    (void)state;
    RECORDS(assoc_record, BOB2, ALICE,
            "{'cluster':'far','account':'ops','user':'carol','is_default':true,'lineage':'/'}");
    RECORDS(user_record, "{'name':'alice','admin_level':'ADMIN_NONE'}",
            "{'name':'bob','admin_level':'ADMIN_OPERATOR'}",
            "{'name':'carol','admin_level':'ADMIN_ADMINISTRATOR'}");
    smgr.style = SMGR_PARSABLE2;
    show("user", NULL);
    expect_said(&said,
                "User|Def Acct|Admin\nalice|physics|None\nbob|physics|Operator\n"
                "carol||Administrator\n",
                "");
    expect_asked(PST__ACCT_ENTITY__ACCT_ASSOC, "'only_defaults':true");
    expect_asked(PST__ACCT_ENTITY__ACCT_USER, NULL);
}

static void test_users_with_associations(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    RECORDS(assoc_record, BOB2, BOB, ALICE);
    RECORDS(user_record, "{'name':'alice'}", "{'name':'bob'}", "{'name':'carol'}");
    show("user withassoc format=user,defaultaccount,account", NULL);
    expect_said(&said,
                "User|Def Acct|Account\nalice|physics|physics\nbob|physics|chem\n"
                "bob|physics|physics\ncarol||\n",
                "");
}

/* Coordinators are those named and, where its users are, all of the account; who coordinates an
 * account does so below it too. */
static void test_coordinators(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    RECORDS(assoc_record, BOB, ALICE);
    RECORDS(account_record, "{'name':'chem','users_are_coords':true}",
            "{'name':'physics','coordinators':['zoe','carol']}");
    show("account withcoord format=account,coord", NULL);
    expect_said(&said, "Account|Coord Accounts\nchem|bob\nphysics|carol,zoe\n", "");
    while (!peer_is_quiet(&store))
        expect_asked(store.asked ? PST__ACCT_ENTITY__ACCT_ACCOUNT : PST__ACCT_ENTITY__ACCT_ASSOC,
                     NULL);
    RECORDS(assoc_record, ALICE);
    RECORDS(assoc_record, "{'account':'science','lineage':'/science/'}",
            "{'account':'physics','lineage':'/science/physics/'}",
            "{'account':'ops','lineage':'/ops/'}", ALICE);
    RECORDS(account_record, "{'name':'science','coordinators':['alice']}", "{'name':'ops'}",
            "{'name':'physics'}");
    RECORDS(user_record, "{'name':'alice'}");
    show("user withcoord format=user,coord", NULL);
    expect_said(&said, "User|Coord Accounts\nalice|physics,science\n", "");
}

/* Accounts by the flag, on this side. */
static void test_account_flag(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    smgr.noheader = true;
    RECORDS(account_record, "{'name':'chem','users_are_coords':true}", "{'name':'ops'}");
    show("account flags=UsersAreCoords format=account", NULL);
    expect_said(&said, "chem\n", "");
    RECORDS(account_record, "{'name':'chem','users_are_coords':true}", "{'name':'ops'}");
    show("account flags=NoUsersAreCoords format=account", NULL);
    expect_said(&said, "ops\n", "");
}

static void test_qos(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    smgr.noheader = true;
    RECORDS(qos_record, "{'name':'q3','preempt_mode':8}", "{'name':'q1'}");
    show("qos format=name", NULL);
    expect_said(&said, "q3\nq1\n", ""); /* in the order of creation */
    RECORDS(qos_record, "{'name':'q3'}", "{'name':'q1'}");
    show("qos q1 q3 format=name", NULL);
    expect_said(&said, "q1\nq3\n", ""); /* those named, by name, as recorded */
    RECORDS(qos_record, "{'name':'q3','preempt_mode':8}", "{'name':'q1'}",
            "{'name':'q2','preempt_mode':4}");
    show("qos preemptmode=cancel format=name", NULL);
    expect_said(&said, "q3\n", "");
    RECORDS(qos_record, "{'name':'q3','preempt_mode':8}", "{'name':'q1'}",
            "{'name':'q2','preempt_mode':4294967295}");
    show("qos preemptmode=cluster format=name", NULL);
    expect_said(&said, "q1\nq2\n", "");
}

static void test_events(void **state)
{
    int64_t day_us = 86400 * USEC_PER_SEC, before = now_us();
    Pst__AcctListRequest *req;

    (void)state;
    smgr.style = SMGR_PARSABLE2;
    smgr.noheader = true;
    RECORDS(acct_event_record, "{'cluster':'c','node':'n1','tres':'1=4'}",
            "{'cluster':'c','node':'n2','tres':'1=16'}", "{'cluster':'c','node':'n3'}");
    show("events mincpus=2 maxcpus=8 format=nodename", NULL);
    expect_said(&said, "n1\n", "");
    req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);
    assert_true(req->where->start_us >= before - day_us); /* of a day */
    assert_true(req->where->start_us <= now_us() - day_us);
    assert_string_equal(req->where->clusters[0], "demo"); /* this one */
    pst__acct_list_request__free_unpacked(req, NULL);
    RECORDS(acct_event_record, "{'node':'n1','uid':0}", "{'node':'n2','uid':4000000}",
            "{'node':'n3'}");
    show("events all_time all_clusters user=root format=nodename,user", NULL);
    expect_said(&said, "n1|root(0)\n", "");
    req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);
    assert_false(req->where->has_start_us);
    assert_int_equal(req->where->n_clusters, 0);
    pst__acct_list_request__free_unpacked(req, NULL);
}

#define FLUENT                                                                                     \
    "{'name':'fluent','server':'lic1','count':50,'shares':[{'cluster':'demo',"                     \
    "'allowed':40},{'cluster':'two','allowed':20}]}"

static void test_resources(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    smgr.noheader = true;
    RECORDS(resource_record, FLUENT);
    show("resource withclusters where cluster=two format=name,cluster,allowed", NULL);
    expect_said(&said, "fluent|two|20\n", "");
    expect_asked(PST__ACCT_ENTITY__ACCT_RESOURCE, "'clusters':['two']");
    RECORDS(resource_record, FLUENT);
    show("resource where cluster=two format=name,count", NULL);
    expect_said(&said, "fluent|50\n", "");
    expect_asked(PST__ACCT_ENTITY__ACCT_RESOURCE, "!'clusters'");
}

static void test_clusters(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    smgr.noheader = true;
    RECORDS(assoc_record, "{'cluster':'a','account':'root','shares':7}");
    RECORDS(acct_cluster_record, "{'name':'a','classification':1}",
            "{'name':'b','classification':2}");
    show("cluster format=cluster,share", NULL);
    expect_said(&said, "a|7\nb|\n", "");
    RECORDS(assoc_record, "{'cluster':'a','account':'root'}");
    RECORDS(acct_cluster_record, "{'name':'a','classification':1}",
            "{'name':'b','classification':2}");
    show("cluster where classification=capacity format=cluster", NULL);
    expect_said(&said, "b\n", "");
}

static void test_federations(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    smgr.noheader = true;
    RECORDS(acct_cluster_record, "{'name':'a','federation':'f','fed_id':1}",
            "{'name':'b','federation':'F','fed_id':2}", "{'name':'x'}");
    RECORDS(federation_record, "{'name':'f'}", "{'name':'empty'}");
    show("federation format=federation,cluster,fedid", NULL);
    expect_said(&said, "f|a|1\nf|b|2\nempty||\n", "");
    RECORDS(acct_cluster_record, "{'name':'a','federation':'f'}");
    RECORDS(federation_record, "{'name':'f'}");
    show("federation tree format=federation,cluster", NULL);
    expect_said(&said, "f|\n|a\n", "");
}

static void test_problems(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    smgr.noheader = true;
    RECORDS(assoc_record, "{'cluster':'demo','account':'chem'}", BOB,
            "{'cluster':'demo','account':'ops'}");
    RECORDS(user_record, "{'name':'root'}", "{'name':'no-such-person-1'}");
    show("problem", NULL);
    expect_said(&said,
                "demo|ops||Account has no users\n"
                "||no-such-person-1|User does not have a uid\n",
                "");
}

/* Conditions on associations where none are shown are asked about, as recorded. */
static void test_partial(void **state)
{
    (void)state;
    smgr.immediate = false;
    show("account where parent=ops", "");
    expect_said(&said,
                "You requested options that are only valid when querying with the withassoc "
                "option.\nAre you sure you want to continue? (You have 30 seconds to decide)\n"
                "(N/y): \nerror: Inappropriate ioctl for device\nAborted\n",
                "");
    assert_int_equal(smgr.status, 0);
    show("user where wckeys=wa", NULL); /* no condition of users */
    expect_said(&said, "", "");
    assert_int_equal(smgr.status, 1);
    assert_true(peer_is_quiet(&store));
}

static void test_words(void **state)
{
    static const struct {
        const char *word;
        enum smgr_entity entity;
    } rows[] = { { "acc", SMGR_ACCOUNT },
                 { "acct", SMGR_ACCOUNT },
                 { "associations", SMGR_ASSOC },
                 { "as", SMGR_ASSOC },
                 { "cluster", SMGR_CLUSTER },
                 { "config", SMGR_CONFIG },
                 { "coord", SMGR_COORD },
                 { "e", SMGR_EVENT },
                 { "QOS", SMGR_QOS },
                 { "resource", SMGR_RESOURCE },
                 { "reservation", SMGR_RESERVATION },
                 { "runaway", SMGR_RUNAWAY },
                 { "orphan", SMGR_RUNAWAY },
                 { "lost", SMGR_RUNAWAY },
                 { "stats", SMGR_STATS },
                 { "t", SMGR_TXN },
                 { "tr", SMGR_TXN },
                 { "tre", SMGR_TRES },
                 { "txn", SMGR_TXN },
                 { "u", SMGR_USER },
                 { "wckey", SMGR_WCKEY } };
    enum smgr_entity entity;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (!smgr_entity_of(rows[i].word, &entity))
            fail_msg("%s", rows[i].word);
        assert_int_equal(entity, rows[i].entity);
    }
    assert_false(smgr_entity_of("a", &entity));
    assert_false(smgr_entity_of("nosuch", &entity));
    assert_false(smgr_entity_of("res", &entity)); /* a reservation or a resource? */
    show("nosuch", NULL);
    expect_said(&said, "",
                "No valid entity in list command\n"
                "Input line must include \"Account\", \"Association\", \"Cluster\", "
                "\"Configuration\",\n\"Event\", \"Federation\", \"Problem\", \"QOS\", "
                "\"Resource\", \"Reservation\",\n\"RunAwayJobs\", \"Stats\", \"Transaction\", "
                "\"TRES\", \"User\", or \"WCKey\"\n");
    assert_int_equal(smgr.status, 1);
}

/* Of users WCKey is the list of their keys, of keys their name. */
static void test_wckeys(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE2;
    RECORDS(wckey_record, "{'name':'wa','cluster':'demo','user':'bob'}");
    show("wckey", NULL);
    expect_said(&said, "WCKey|Cluster|User\nwa|demo|bob\n", "");
    RECORDS(assoc_record, BOB);
    RECORDS(user_record, "{'name':'bob'}");
    show("user format=user,wckey", NULL);
    assert_int_equal(strncmp(said.out, "User|WCKeys\n", 12), 0);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_tree),         ONE(test_assoc_columns),
        ONE(test_users),        ONE(test_users_with_associations),
        ONE(test_coordinators), ONE(test_account_flag),
        ONE(test_qos),          ONE(test_events),
        ONE(test_resources),    ONE(test_clusters),
        ONE(test_federations),  ONE(test_problems),
        ONE(test_partial),      ONE(test_words),
        ONE(test_wckeys),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
