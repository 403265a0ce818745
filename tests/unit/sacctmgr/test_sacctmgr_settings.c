/* test_sacctmgr_settings.c - what a request sets, shown before it is done */
#include "smgr_util.h"

static void expect_settings(enum smgr_entity entity, const char *words, const char *want)
{
    struct smgr_line line;
    struct strbuf sb = STRBUF_INIT;

    assert_true(parse_line(&line, entity, SMGR_ADD, words));
    smgr_put_settings(&smgr, &sb, line.set, entity == SMGR_QOS);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
    smgr_line_done(&line);
}

/* The lines of the recordings, in their order. */
static void test_qos(void **state)
{
    (void)state;
    expect_settings(SMGR_QOS,
                    "q3 grptres=cpu=4 maxtrespu=cpu=2 maxtrespa=cpu=3 maxjobspu=2 maxjobspa=3 "
                    "maxsubmitjobspu=3 maxsubmitjobspa=4 grpjobs=5 grpsubmit=6 grpwall=60 "
                    "maxwall=120 maxtres=cpu=2,node=1 maxtrespernode=cpu=1 mintres=cpu=1 "
                    "usagefactor=0.5 usagethreshold=0.1 gracetime=60 preemptexempttime=30 "
                    "preemptmode=cancel limitfactor=2 priority=7",
                    "  GraceTime                = 60\n"
                    "  GrpJobs                  = 5\n"
                    "  GrpSubmitJobs            = 6\n"
                    "  GrpTRES                  = cpu=4\n"
                    "  GrpWall                  = 01:00:00\n"
                    "  MaxJobsPerAccount        = 3\n"
                    "  MaxJobsPerUser = 2\n"
                    "  MaxSubmitJobsPerAccount  = 4\n"
                    "  MaxSubmitJobsPerUser     = 3\n"
                    "  MaxTRESPerAccount        = cpu=3\n"
                    "  MaxTRESPerJob            = cpu=2,node=1\n"
                    "  MaxTRESPerNode           = cpu=1\n"
                    "  MaxTRESPerUser           = cpu=2\n"
                    "  MinTRESPerJob            = cpu=1\n"
                    "  MaxWall                  = 02:00:00\n"
                    "  PreemptMode              = CANCEL\n"
                    "  PreemptExemptTime        = 00:30:00\n"
                    "  Priority                 = 7\n"
                    "  UsageFactor              = 0.5000\n"
                    "  UsageThreshold           = 0.1000\n"
                    "  LimitFactor              = 2.0000\n");
    expect_settings(SMGR_QOS,
                    "high priority=1000 maxwall=30 flags=DenyOnLimit maxtresperuser=cpu=32",
                    "  Flags                    = DenyOnLimit\n"
                    "  MaxTRESPerUser           = cpu=32\n"
                    "  MaxWall                  = 00:30:00\n"
                    "  Priority                 = 1000\n");
    expect_settings(SMGR_QOS, "q preempt=low,high usagefactor=-1",
                    "  Preempt                  = high,low\n"
                    "  UsageFactor              = NONE\n");
    expect_settings(SMGR_QOS, "q", "");
}

static void test_associations(void **state)
{
    (void)state;
    expect_settings(SMGR_ACCOUNT, "x1 parent=ops fairshare=parent",
                    "  Fairshare     = parent\n  Parent        = ops\n");
    expect_settings(SMGR_ACCOUNT, "x8 fairshare=-5", "  Fairshare     = NONE\n");
    expect_settings(SMGR_USER, "u account=a maxjobs=500 priority=3 qos=low,high",
                    "  MaxJobs       = 500\n"
                    "  Priority      = 3\n"
                    "  QOS           = high,low\n");
    expect_settings(SMGR_USER, "u account=a qos+=low", "  QOS           = +low\n");
    expect_settings(SMGR_USER, "u account=a maxtresperjob=cpu=2,mem=4G maxwall=90 grpwall=-1",
                    "  GrpWall       = NONE\n"
                    "  MaxTRES       = cpu=2,mem=4G\n"
                    "  MaxWall       = 01:30:00\n");
    expect_settings(SMGR_USER, "u account=a", "");
}

/* The default comes last, as people have seen it. */
static void test_places(void **state)
{
    (void)state;
    expect_settings(SMGR_USER, "u account=a defaultqos=low maxjobs=1 fairshare=2 maxsubmit=3",
                    "  Fairshare     = 2\n"
                    "  MaxJobs       = 1\n"
                    "  MaxSubmitJobs = 3\n"
                    "  DefQOS        = low\n");
    expect_settings(SMGR_USER, "u account=a maxtresmins=cpu=1 maxtrespernode=cpu=2 maxtres=cpu=3",
                    "  MaxTRES       = cpu=3\n"
                    "  MaxTRESPerNode= cpu=2\n"
                    "  MaxTRESMins   = cpu=1\n");
}

static void test_clusters(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct smgr_line line;

    (void)state;
    assert_true(parse_line(&line, SMGR_CLUSTER, SMGR_MODIFY,
                           "c set classification=capacity fedstate=drain features+=a "
                           "features-=b"));
    smgr_put_cluster_settings(&sb, line.set);
    assert_string_equal(strbuf_str(&sb), "  Classification = Capacity\n"
                                         "  FedState       = DRAIN\n"
                                         "  Feature     += a\n"
                                         "  Feature     -= b\n");
    smgr_line_done(&line);
    strbuf_reset(&sb);
    assert_true(parse_line(&line, SMGR_CLUSTER, SMGR_MODIFY, "c set federation=f features=a,b"));
    smgr_put_cluster_settings(&sb, line.set);
    assert_string_equal(strbuf_str(&sb), "  Federation     = f\n"
                                         "  Feature       = a\n"
                                         "  Feature       = b\n");
    smgr_line_done(&line);
    strbuf_done(&sb);
}

static void test_states(void **state)
{
    static const char *const words[] = { "ACTIVE", "INACTIVE", "DRAIN", "DRAIN+REMOVE" };
    static const uint32_t numbers[] = { 1, 2, 17, 49 }; /* as FedStateRaw shows them */
    Pst__AcctClusterRecord c = PST__ACCT_CLUSTER_RECORD__INIT;

    (void)state;
    assert_string_equal(smgr_fed_state(&c), "NA"); /* in no federation */
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        uint32_t n = 0;

        assert_true(smgr_parse_fed_state(words[i], &n));
        assert_int_equal(n, numbers[i]);
        c.has_fed_state = 1;
        c.fed_state = n;
        assert_string_equal(smgr_fed_state(&c), words[i]);
    }
    assert_true(smgr_parse_fed_state("drain", &c.fed_state));
    assert_false(smgr_parse_fed_state("DRA", &c.fed_state));
    assert_string_equal(smgr_fed_state(&c), "DRAIN");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_qos, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_associations, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_places, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_clusters, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_states, smgr_begin, smgr_end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
