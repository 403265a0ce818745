/* test_sacctmgr_fields.c - the columns of lists: names, widths, headings */
#include "smgr_util.h"

static struct output said;

static void expect_table(const char *names, bool tree, const struct smgr_row *row, const char *want)
{
    struct smgr_table *t = smgr_table_default(&smgr, names, tree);
    struct strbuf sb = STRBUF_INIT;

    assert_non_null(t);
    smgr_table_header(t, &sb);
    if (row)
        smgr_table_row(t, row, &sb);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
    (void)smgr_table_free(t);
}

static int begin_table(void **state)
{
    int r = smgr_begin(state);

    smgr.style = SMGR_FIXED;
    smgr.noheader = false;
    return r;
}

static Pst__AssocRecord assoc = PST__ASSOC_RECORD__INIT;
static const struct smgr_row row = { .assoc = &assoc };

static int fill_row(void **state)
{
    assoc.cluster = (char *)"demo";
    assoc.account = (char *)"physics";
    assoc.user = (char *)"nosuchperson";
    return begin_table(state);
}

/* As recorded: cut with a +, headings cut without. */
static void test_fixed(void **state)
{
    (void)state;
    expect_table("account,user,share", false, &row,
                 "   Account       User     Share \n"
                 "---------- ---------- --------- \n"
                 "   physics nosuchper+         1 \n");
    expect_table("acc%5,user%-14,grptresrunmins", false, &row,
                 "Accou User           GrpTRESRunMin \n"
                 "----- -------------- ------------- \n"
                 "phys+ nosuchperson                 \n");
    expect_table("user%0,user%x", false, NULL, "      User       User \n---------- ---------- \n");
    expect_table("user%1", false, &row, "U \n- \n+ \n");
}

/* Of a tree the account stands at the left in 20, unless a width was given. */
static void test_tree(void **state)
{
    struct smgr_row deep = row;

    (void)state;
    deep.depth = 3;
    expect_table("account,user", true, &deep,
                 "Account                    User \n"
                 "-------------------- ---------- \n"
                 "   physics           nosuchper+ \n");
    expect_table("account%10", true, &deep, "   Account \n---------- \n   physics \n");
}

static void test_parsable(void **state)
{
    (void)state;
    smgr.style = SMGR_PARSABLE;
    expect_table("account,user%3", false, &row, "Account|User|\nphysics|nosuchperson|\n");
    smgr.style = SMGR_PARSABLE2;
    expect_table("account,user", false, &row, "Account|User\nphysics|nosuchperson\n");
    smgr.noheader = true;
    expect_table("account,user", false, &row, "physics|nosuchperson\n");
    smgr.style = SMGR_FIXED;
    expect_table("account", false, &row, "   physics \n");
}

static void expect_heading(const char *name, const char *want)
{
    struct smgr_table *t;
    struct strbuf sb = STRBUF_INIT;

    smgr.style = SMGR_PARSABLE2;
    t = smgr_table_default(&smgr, name, false);
    assert_non_null(t);
    smgr_table_header(t, &sb);
    assert_true(sb.len > 0);
    sb.buf[sb.len - 1] = '\0';
    assert_string_equal(sb.buf, want);
    strbuf_done(&sb);
    (void)smgr_table_free(t);
}

/* Whole names, then headings, then the first letters. */
static void test_names(void **state)
{
    static const struct {
        const char *name, *heading;
    } rows[] = { { "QOS", "QOS" },
                 { "qosraw", "QOS_RAW" },
                 { "Def QOS", "Def QOS" },
                 { "DefaultQOS", "Def QOS" },
                 { "share", "Share" },
                 { "fairshare", "Share" },
                 { "maxj", "MaxJobs" },
                 { "maxjobspu", "MaxJobsPU" },
                 { "maxtresmins", "MaxTRESMins" },
                 { "MaxTRESPerJob", "MaxTRES" },
                 { "GrpSubmit", "GrpSubmit" },
                 { "event", "Event" },
                 { "eve", "Event" },
                 { "eventraw", "EventRaw" },
                 { "state", "State" },
                 { "time", "Time" },
                 { "timestart", "TimeStart" },
                 { "start", "TimeStart" },
                 { "preemptm", "PreemptMode" },
                 { "preempt", "Preempt" },
                 { "wckeys", "WCKeys" },
                 { "wckey", "WCKey" },
                 { "u", "User" },
                 { "servertype", "ServerType" },
                 { "server", "Server" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        expect_heading(rows[i].name, rows[i].heading);
}

static void test_unknown(void **state)
{
    (void)state;
    smgr.status = 0;
    output_begin(&said, NULL);
    assert_null(smgr_table_default(&smgr, "user,nosuch", false));
    output_end(&said);
    expect_said(&said, "", "Unknown field 'nosuch'\n"); /* as recorded */
    assert_int_equal(smgr.status, 1);
    output_begin(&said, NULL);
    assert_null(smgr_table_default(&smgr, "maxjobspux%20", false));
    assert_null(smgr_table_default(&smgr, "a", false)); /* too short for any */
    output_end(&said);
    expect_said(&said, "", "Unknown field 'maxjobspux'\nUnknown field 'a'\n");
}

static void test_field_list(void **state)
{
    (void)state;
    output_begin(&said, NULL);
    smgr_print_fields(stdout);
    output_end(&said);
    assert_non_null(strstr(said.out, "field\tAccount\t-\tAccount\tshown\n"));
    assert_non_null(strstr(said.out, "field\tMaxTRESPerUser\t-\tMaxTRESPU\tshown\n"));
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, fill_row, smgr_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_fixed), ONE(test_tree),    ONE(test_parsable),
        ONE(test_names), ONE(test_unknown), ONE(test_field_list),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
