/* test_sacctmgr_parse.c - the words of a command into conditions and settings */
#include <errno.h>

#include "smgr_util.h"

static struct smgr_line line;
static struct output said;

/* As parse_line(); what is printed is in said. */
static bool parse_words(enum smgr_entity entity, enum smgr_mode mode, const char *words)
{
    bool good;

    output_begin(&said, NULL);
    good = parse_line(&line, entity, mode, words);
    output_end(&said);
    return good;
}

static int clear_line(void **state)
{
    smgr_line_done(&line);
    return smgr_end(state);
}

static void test_names_and_conditions(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_USER, SMGR_LIST, "Alice,bob where acc=Physics,CHEM clus=demo"));
    assert_true(line.has_where);
    assert_false(line.has_set);
    assert_int_equal(line.where->n_names, 2);
    assert_string_equal(line.where->names[0], "alice");
    assert_string_equal(line.where->names[1], "bob");
    assert_int_equal(line.where->n_accounts, 2);
    assert_string_equal(line.where->accounts[0], "physics");
    assert_string_equal(line.where->accounts[1], "chem");
    assert_string_equal(line.where->clusters[0], "demo");
}

/* "set" parts what is chosen from what is set; the same key can stand on both sides. */
static void test_where_and_set(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_USER, SMGR_MODIFY,
                            "where name=dave account=temp set maxjobs=2 fairshare=parent"));
    assert_true(line.has_where && line.has_set);
    assert_string_equal(line.where->names[0], "dave");
    assert_string_equal(line.where->accounts[0], "temp");
    assert_int_equal(line.set->assoc->limits->max_jobs, 2);
    assert_true(line.set->assoc->shares_parent);
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_USER, SMGR_MODIFY, "set defaultaccount=B where defaultaccount=a"));
    assert_string_equal(line.set->default_account, "b");
    assert_string_equal(line.where->default_accounts[0], "a");
}

/* An account's name cannot be set; a word alone is one, too. */
static void test_no_new_name(void **state)
{
    static const char *const words[] = { "x set name=y", "x set acct=y", "x set maxjobs" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_false(parse_words(SMGR_ACCOUNT, SMGR_MODIFY, words[i]));
        expect_said(&said, "", " Can't modify the name of an account\n");
        smgr_line_done(&line);
    }
    assert_false(parse_words(SMGR_RESOURCE, SMGR_MODIFY, "r set cluster=demo"));
    expect_said(&said, "", " Can't modify the cluster of an resource\n");
    smgr_line_done(&line);
    assert_false(parse_words(SMGR_COORD, SMGR_ADD, "account=x nosuch=1"));
    expect_said(&said, "", " Unknown condition: nosuch=1\n Use keyword 'set' to modify value\n");
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_RESOURCE, SMGR_MODIFY, "percentallowed=50,20 set count=2"));
    assert_false(line.set->has_allowed); /* it chooses */
    assert_int_equal(line.where->percents[1], 20);
    smgr_line_done(&line);
    assert_false(parse_words(SMGR_ACCOUNT, SMGR_MODIFY, "x set nosuch=1"));
    smgr_line_done(&line);
    assert_false(parse_words(SMGR_QOS, SMGR_ADD, "q cluster=demo"));
    smgr_line_done(&line);
    assert_false(parse_words(SMGR_CLUSTER, SMGR_ADD, "c2 federation="));
    expect_said(&said, "", " The federation  doesn't exist.\n");
}

/* A word alone is a type of TRES, as recorded of 22.05. */
static void test_words_of_lists(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_TRES, SMGR_LIST, "license"));
    assert_string_equal(line.where->descriptions[0], "license");
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_TXN, SMGR_LIST, "withassocinfo"));
    assert_true(line.with_assoc);
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_ASSOC, SMGR_LIST, "wolimits"));
    assert_true(line.no_limits && line.where->no_inherited_limits && line.where->raw_qos);
}

static void test_limits(void **state)
{
    const Pst__Limits *l;

    (void)state;
    assert_true(parse_words(SMGR_ACCOUNT, SMGR_MODIFY,
                            "x set grpjobs=3 maxwall=1:00:00 GrpTRES=cpu=3,gres/gpu=2 "
                            "maxjobs=-1 grpwall=-1 maxsubmit=0 GrpTRESMins=cpu=9 grpcpus=5"));
    l = line.set->assoc->limits;
    assert_int_equal(l->grp_jobs, 3);
    assert_int_equal(l->max_wall_min, 60);
    assert_int_equal(l->max_jobs, -1); /* it is taken away */
    assert_int_equal(l->grp_wall_min, -1);
    assert_true(l->has_max_submit_jobs);
    assert_int_equal(l->max_submit_jobs, 0);
    assert_false(l->has_grp_submit_jobs);
    assert_int_equal(l->n_grp_tres, 3); /* a name from before TRES adds to the list */
    assert_int_equal(l->grp_tres[1]->tres_id, 1001);
    assert_int_equal(l->grp_tres[2]->count, 5);
    assert_int_equal(l->n_grp_tres_mins, 1);
    assert_int_equal(l->n_grp_tres_run_mins, 0);
}

/* The longer key is not taken for the shorter, nor the other way round. */
static void test_keys_of_one_beginning(void **state)
{
    const Pst__Limits *l;

    (void)state;
    assert_true(parse_words(SMGR_QOS, SMGR_MODIFY,
                            "q set MaxJobsPU=1 MaxJobsPA=2 MaxSubmitJobsPU=3 MaxTRESPU=cpu=4 "
                            "MaxTRESRunMinsPA=cpu=5 MaxTRESMins=cpu=6 MaxTRES=cpu=7"));
    l = line.set->qos->limits;
    assert_int_equal(l->max_jobs_per_user, 1);
    assert_int_equal(l->max_jobs_per_account, 2);
    assert_int_equal(l->max_submit_jobs_per_user, 3);
    assert_int_equal(l->max_tres_per_user[0]->count, 4);
    assert_int_equal(l->max_tres_run_mins_per_account[0]->count, 5);
    assert_int_equal(l->max_tres_mins_per_job[0]->count, 6);
    assert_int_equal(l->max_tres_per_job[0]->count, 7);
    assert_int_equal(l->n_max_tres_per_node, 0);
}

static void expect_refusal(enum smgr_entity entity, enum smgr_mode mode, const char *words,
                           const char *out, const char *err)
{
    assert_false(parse_words(entity, mode, words));
    expect_said(&said, out, err);
    assert_int_equal(smgr.status, 1);
    assert_true(line.failed);
    smgr_line_done(&line);
}

#define HINT " Use keyword 'where' to modify condition\n"

/* As recorded, one sentence each (and the hint that belongs to it). */
static void test_refusals(void **state)
{
    (void)state;
    expect_refusal(SMGR_ACCOUNT, SMGR_ADD, "x8 grpjobs=abc", "",
                   "sacctmgr: error: Invalid value for GrpJobs (abc)\n"
                   " Unknown option: grpjobs=abc\n" HINT);
    expect_refusal(SMGR_ACCOUNT, SMGR_ADD, "x8 maxwall=abc", "",
                   " Bad MaxWall time format: maxwall=abc\n Unknown option: maxwall=abc\n" HINT);
    expect_refusal(SMGR_ACCOUNT, SMGR_ADD, "x8 bogus=1", "", " Unknown option: bogus=1\n" HINT);
    expect_refusal(SMGR_ACCOUNT, SMGR_ADD, "x8 grptres=foo=3", "",
                   "sacctmgr: error: slurmdb_format_tres_str: no TRES known by type foo\n"
                   " Unknown option: grptres=foo=3\n" HINT);
    expect_refusal(SMGR_ACCOUNT, SMGR_MODIFY, "x8 set grptres=", "",
                   " Unknown option: grptres=\n" HINT);
    expect_refusal(SMGR_USER, SMGR_MODIFY, "name=dave set fairshare=10 cluster=demo", "",
                   " Unknown option: cluster=demo\n" HINT);
    expect_refusal(SMGR_USER, SMGR_MODIFY, "dave set maxjobs+=2", "",
                   " Invalid operator '+=' in maxjobs+=2\n");
    expect_refusal(SMGR_USER, SMGR_MODIFY, "dave set maxjobs", "",
                   " Unknown option: maxjobs\n" HINT);
    expect_refusal(SMGR_QOS, SMGR_MODIFY, "q set bogus=1", " Unknown option: bogus=1\n" HINT, "");
    /* every bad condition is told */
    expect_refusal(SMGR_USER, SMGR_LIST, "where foo=1 bar=2", "",
                   " Unknown condition: foo=1\n Use keyword 'set' to modify value\n"
                   " Unknown condition: bar=2\n Use keyword 'set' to modify value\n");
    expect_refusal(SMGR_ASSOC, SMGR_LIST, "where foo=1", "", " Unknown condition: foo=1\n");
    expect_refusal(SMGR_QOS, SMGR_LIST, "where foo=1", "",
                   " Unknown condition: foo=1\n Use keyword 'set' to modify SLURM_PRINT_VALUE\n");
}

/* Of a modification the wrong unit is told, and that nothing changed comes later. */
static void test_unit_of_a_count(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_USER, SMGR_MODIFY, "dave set grptres=mem=4q"));
    assert_true(line.bad_unit);
    expect_said(&said, "",
                "sacctmgr: error: Invalid unit type 'q'. Possible options are 'KMGTP'\n");
    smgr_line_done(&line);
    assert_false(parse_words(SMGR_USER, SMGR_ADD, "dave grptres=mem=4q"));
    assert_false(line.bad_unit);
}

/* A QOS is made without a value that cannot be read. */
static void test_values_left_out(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_QOS, SMGR_ADD, "q maxjobsperuser=abc priority=5"));
    expect_said(&said, "", "sacctmgr: error: Invalid value for MaxJobsPerUser (abc)\n");
    assert_int_equal(line.set->qos->priority, 5);
    assert_null(line.set->qos->limits);
    assert_true(line.has_set);
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_QOS, SMGR_MODIFY, "q set maxjobsperuser=abc"));
    assert_false(line.has_set); /* nothing is set, which modify tells */
}

/* A script's variable may be empty: what chooses by it chooses nothing, not all. */
static void test_empty_conditions(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_USER, SMGR_DELETE, "where name="));
    assert_true(line.has_where);
    assert_int_equal(line.where->n_names, 1);
    assert_string_equal(line.where->names[0], "");
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_USER, SMGR_DELETE, "where account=, name=x"));
    assert_int_equal(line.where->n_accounts, 1);
    assert_string_equal(line.where->accounts[0], "");
    smgr_line_done(&line);
    /* of associations an empty user is one of an account */
    assert_true(parse_words(SMGR_ASSOC, SMGR_LIST, "where user= account=a"));
    assert_true(line.where->no_users);
    assert_int_equal(line.where->n_users, 0);
}

static void test_words_alone(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_ASSOC, SMGR_LIST, "tree 5,7 withdeleted onlydef"));
    assert_true(line.tree && line.where->with_deleted && line.where->only_defaults);
    assert_int_equal(line.where->n_ids, 2);
    assert_int_equal(line.where->ids[1], 7);
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_EVENT, SMGR_LIST, "node all_time"));
    assert_int_equal(line.where->event_type, 2);
    assert_true(line.all_time);
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_COORD, SMGR_ADD, "Carol account=science"));
    assert_string_equal(line.where->users[0], "carol");
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_WCKEY, SMGR_LIST, "Wa")); /* letter case counts there */
    assert_string_equal(line.where->names[0], "Wa");
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_USER, SMGR_LIST, "format=user,acc%20 withassoc"));
    assert_int_equal(line.n_formats, 2);
    assert_string_equal(line.formats[1], "acc%20");
    assert_true(line.with_assoc);
    assert_false(line.has_where);
}

/* In a list there is nothing to set; in add "where" and "set" change nothing. */
static void test_places(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_USER, SMGR_LIST, "set account=a"));
    assert_string_equal(line.where->accounts[0], "a");
    smgr_line_done(&line);
    assert_true(parse_words(SMGR_USER, SMGR_ADD, "where bob set account=chem fairshare=3"));
    assert_string_equal(line.where->names[0], "bob");
    assert_string_equal(line.where->accounts[0], "chem");
    assert_int_equal(line.set->assoc->shares, 3);
}

/* Quotes that the shell left alone go, one pair. */
static void test_quotes(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_ACCOUNT, SMGR_MODIFY, "x set description=\"New\" org='o\""));
    assert_string_equal(line.set->account->description, "new");
    assert_string_equal(line.set->account->organization, "'o\"");
}

static void test_servers(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_RESOURCE, SMGR_DELETE, "fluent@lic1 where cluster=demo"));
    assert_string_equal(line.where->names[0], "fluent");
    assert_string_equal(line.where->servers[0], "lic1");
    assert_string_equal(line.where->clusters[0], "demo");
}

/* The options of a flat file. */
static void test_options(void **state)
{
    (void)state;
    assert_true(parse_words(SMGR_ACCOUNT, SMGR_ADD, "cs"));
    assert_true(smgr_set_option(&line, "MaxJobs", "4"));
    assert_true(smgr_set_option(&line, "FairShare", "399"));
    assert_true(smgr_set_option(&line, "MaxTRESMinsPerJob", "cpu=20"));
    assert_false(smgr_set_option(&line, "Bogus", "1"));
    assert_int_equal(line.set->assoc->limits->max_jobs, 4);
    assert_int_equal(line.set->assoc->shares, 399);
    assert_int_equal(line.set->assoc->limits->max_tres_mins_per_job[0]->count, 20);
    output_begin(&said, NULL);
    line.from_file = true;
    assert_true(smgr_set_option(&line, "MaxJobs", "x"));
    output_end(&said);
    assert_true(line.failed);
    expect_said(&said, "",
                "sacctmgr: error: Invalid value for MaxJobs (x)\n Unknown option: MaxJobs=x\n");
}

/* What completion and the manual page list: each key once, the name as people know it. */
static void test_key_list(void **state)
{
    static const char *const some[] = { "key\tFormat\tshown\n", "key\tMaxJobs\tshown\n",
                                        "key\tGrpTRES\tshown\n", "key\tAccounts\tshown\n" };

    (void)state;
    output_begin(&said, NULL);
    smgr_print_keys(stdout);
    output_end(&said);
    for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
        const char *at = strstr(said.out, some[i]);

        assert_non_null(at);
        assert_null(strstr(at + 1, some[i]));
    }
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, smgr_begin, clear_line)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_names_and_conditions),
        ONE(test_where_and_set),
        ONE(test_no_new_name),
        ONE(test_words_of_lists),
        ONE(test_limits),
        ONE(test_keys_of_one_beginning),
        ONE(test_refusals),
        ONE(test_unit_of_a_count),
        ONE(test_values_left_out),
        ONE(test_empty_conditions),
        ONE(test_words_alone),
        ONE(test_places),
        ONE(test_quotes),
        ONE(test_servers),
        ONE(test_options),
        ONE(test_key_list),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
