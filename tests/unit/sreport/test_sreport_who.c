/* test_sreport_who.c - reports by account, user, QOS and wckey */
#include "sreport_util.h"

static void run_who(const char *line, enum who_report which)
{
    struct cond c;

    output_begin(&said, NULL);
    assert_true(parse_conditions(&c, which == TOP_USERS ? COND_TOP : COND_WHO, line));
    report_who(&sreport, &c, which);
    output_end(&said);
    cond_done(&c);
}

/* Users that no machine has, so that their names and numbers are those of the records. */
#define WHO(account, user, uid, more, cpu_s)                                                       \
    "{'cluster':'demo','account':'" account "','user':'" user "','uid':" uid more                  \
    ",'tres':[{'name':'cpu','alloc_s':" cpu_s "},{'name':'energy','alloc_s':7}]}"
#define PLAIN ",'qos':'','wckey':''"
#define PARENTS                                                                                    \
    "'parents':[{'cluster':'demo','account':'chem','parent':'science'},"                           \
    "{'cluster':'demo','account':'bio','parent':'science'},"                                       \
    "{'cluster':'demo','account':'science','parent':'root'}]"
#define REPLY                                                                                      \
    "{'who':[" WHO("chem", "zoe", "4000001", PLAIN, "600") "," WHO(                                \
        "bio", "ann", "4000002", PLAIN, "60") "," WHO("chem", "ann", "4000002", PLAIN,             \
                                                      "120") "]," PARENTS "}"

static int begin_bare(void **state)
{
    int r = sreport_begin(state);

    sreport.noheader = true;
    sreport.parsable = 2;
    return r;
}

/* An account contains what is below it; its users stand before the accounts below. */
static void test_accounts(void **state)
{
    (void)state;
    USAGE(REPLY);
    run_who(HOURS, BY_ACCOUNT_USER);
    expect_said(&said,
                "demo|root|||13|21\n"
                "demo|science|||13|21\n"
                "demo|bio|||1|7\n"
                "demo|bio|ann||1|7\n"
                "demo|chem|||12|14\n"
                "demo|chem|ann||2|7\n"
                "demo|chem|zoe||10|7\n",
                "");
    USAGE(REPLY);
    run_who(HOURS "tree format=account,login,used", BY_ACCOUNT_USER);
    expect_said(&said,
                "root||13\n science||13\n  bio||1\n  bio|ann|1\n  chem||12\n  chem|ann|2\n"
                "  chem|zoe|10\n",
                "");
}

static void test_fixed(void **state)
{
    (void)state;
    sreport.noheader = false;
    sreport.parsable = 0;
    USAGE("{'who':[" WHO("chem", "zoe", "4000001", PLAIN, "600") "]}");
    run_who(HOURS "tree", BY_ACCOUNT_USER);
    expect_said(&said,
                RULE_LINE
                "Cluster/Account/User Utilization 2026-11-20T07:00:00 - 2026-11-20T09:59:59 (10800 "
                "secs)\nUsage reported in CPU Minutes\n" RULE_LINE
                "  Cluster Account                  Login     Proper Name     Used   Energy \n"
                "--------- -------------------- --------- --------------- -------- -------- \n"
                "     demo root                                                 10        7 \n"
                "     demo  chem                                                10        7 \n"
                "     demo   chem                     zoe                       10        7 \n",
                "");
}

/* The heaviest first, so many of each cluster. */
static void test_top(void **state)
{
    (void)state;
    USAGE(REPLY);
    run_who(HOURS, TOP_USERS);
    expect_said(&said, "demo|zoe||chem|10|7\ndemo|ann||chem|2|7\ndemo|ann||bio|1|7\n", "");
    USAGE(REPLY);
    run_who(HOURS "topcount=1", TOP_USERS);
    expect_said(&said, "demo|zoe||chem|10|7\n", "");
    sreport.noheader = false;
    USAGE(REPLY);
    run_who(HOURS "topcount=2", TOP_USERS);
    assert_non_null(strstr(said.out, "Top 2 Users 2026-11-20T07:00:00 - "));
}

/* With group the accounts of a user share a row, and each account is named. */
static void test_group(void **state)
{
    (void)state;
    USAGE(REPLY);
    run_who(HOURS "group", TOP_USERS);
    expect_said(&said, "demo|zoe||chem|10|7\ndemo|ann||bio,chem|3|14\n", "");
    USAGE("{'who':[" WHO("biochem", "ann", "4000002", PLAIN, "60") "," WHO(
        "chem", "ann", "4000002", PLAIN, "60") "," WHO("chem", "ann", "4000002", PLAIN, "60") "]}");
    run_who(HOURS "group", TOP_USERS);
    expect_said(&said, "demo|ann||biochem,chem|3|21\n", "");
}

static void test_users_and_qos(void **state)
{
    (void)state;
    USAGE(REPLY);
    run_who(HOURS "format=login,account,used", BY_USER_ACCOUNT);
    expect_said(&said, "zoe|chem|10\nann|chem|2\nann|bio|1\n", "");
    USAGE("{'who':[" WHO("chem", "zoe", "4000001", ",'qos':'high','wckey':''", "600") "," WHO(
        "chem", "ann", "4000002", PLAIN, "60") "," WHO("chem", "ann", "4000002",
                                                       ",'qos':'high','wckey':''", "60") "]}");
    run_who(HOURS "format=account,qos,used", BY_ACCOUNT_QOS);
    expect_said(&said, "chem|high|11\nchem|normal|1\n", "");
}

#define KEYS                                                                                       \
    "{'who':[" WHO("chem", "zoe", "4000001", ",'wckey':'w','qos':''", "600") "," WHO(              \
        "chem", "ann", "4000002", PLAIN, "60") "," WHO("chem", "ann", "4000002",                   \
                                                       ",'wckey':'w','qos':''", "120") "]}"

static void test_wckeys(void **state)
{
    (void)state;
    USAGE(KEYS);
    run_who(HOURS "format=wckey,login,used", BY_WCKEY_USER);
    expect_said(&said, "*||1\n*|ann|1\nw||12\nw|ann|2\nw|zoe|10\n", "");
    USAGE(KEYS);
    run_who(HOURS "format=login,wckey,used", BY_USER_WCKEY);
    expect_said(&said, "zoe|w|10\nann|w|2\nann|*|1\n", "");
}

/* What a reservation of an account left unused is the account's, and no user's. */
static void test_unused(void **state)
{
    (void)state;
    USAGE("{'who':[{'cluster':'demo','account':'chem','user':'','qos':'','wckey':'',"
          "'uid':4294967295,"
          "'tres':[{'name':'cpu','alloc_s':300}]}]}");
    run_who(HOURS "format=account,login,used", BY_ACCOUNT_USER);
    expect_said(&said, "root||5\nchem||5\n", "");
    USAGE("{'who':[{'cluster':'demo','account':'chem','user':'','qos':'','wckey':'',"
          "'uid':4294967295,"
          "'tres':[{'name':'cpu','alloc_s':300}]}]}");
    run_who(HOURS, TOP_USERS);
    expect_said(&said, "", "");
}

/* Shares are of what the cluster had of that TRES. */
static void test_percent(void **state)
{
    (void)state;
    sreport.form = FORM_PERCENT;
    USAGE(REPLY);
    USAGE("{'clusters':[{'cluster':'other','tres':'cpu','total_s':1},"
          "{'cluster':'demo','tres':'mem','total_s':1},"
          "{'cluster':'demo','tres':'cpu','total_s':1200}]}");
    run_who(HOURS "format=login,used topcount=1", TOP_USERS);
    expect_said(&said, "zoe|50.00%\n", "");
}

#define NAMELESS "{'cluster':'demo','account':'a','user':''" PLAIN

/* Users without a name in the record are those of this machine, or numbers. */
static void test_names(void **state)
{
    (void)state;
    USAGE("{'who':[" NAMELESS ",'uid':4000009,'tres':[{'name':'cpu','alloc_s':60}]}," NAMELESS
          ",'uid':0,'tres':[{'name':'cpu','alloc_s':120}]}]}");
    run_who(HOURS "format=login,used", TOP_USERS);
    expect_said(&said, "root|2\n4000009|1\n", "");
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_bare, sreport_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_accounts), ONE(test_fixed),         ONE(test_top),
        ONE(test_group),    ONE(test_users_and_qos), ONE(test_wckeys),
        ONE(test_unused),   ONE(test_percent),       ONE(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
