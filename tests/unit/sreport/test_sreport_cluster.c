/* test_sreport_cluster.c - cluster utilization, job sizes */
#include "sreport_util.h"

static void run_cluster(const char *line)
{
    struct cond c;

    output_begin(&said, NULL);
    assert_true(parse_conditions(&c, COND_CLUSTER, line));
    report_cluster(&sreport, &c);
    output_end(&said);
    cond_done(&c);
}

static void run_sizes(const char *line, enum size_report which)
{
    struct cond c;

    output_begin(&said, NULL);
    assert_true(parse_conditions(&c, COND_SIZES, line));
    report_sizes(&sreport, &c, which);
    output_end(&said);
    cond_done(&c);
}

#define CLUSTER                                                                                    \
    "{'clusters':[{'cluster':'demo','tres':'cpu','count':64,'total_s':7200,'alloc_s':3600,"        \
    "'down_s':600,'pdown_s':60,'idle_s':2700,'plan_s':240},"                                       \
    "{'cluster':'demo','tres':'mem','count':8,'total_s':60,'alloc_s':30},"                         \
    "{'cluster':'empty','tres':'cpu'}]}"

/* As recorded, with numbers; what had no time is left out. */
static void test_utilization(void **state)
{
    (void)state;
    USAGE(CLUSTER);
    run_cluster(HOURS);
    expect_said(&said,
                RULE_LINE "Cluster Utilization 2026-11-20T07:00:00 - 2026-11-20T09:59:59\n"
                          "Usage reported in CPU Minutes\n" RULE_LINE
                          "  Cluster Allocate     Down PLND Dow     Idle  Planned Reported \n"
                          "--------- -------- -------- -------- -------- -------- -------- \n"
                          "     demo       60       10        1       45        4      120 \n",
                "");
}

static void test_tres_and_percent(void **state)
{
    (void)state;
    sreport.noheader = true;
    sreport.parsable = 2;
    sreport.tres = "cpu,mem";
    sreport.form = FORM_PERCENT;
    USAGE(CLUSTER);
    run_cluster(HOURS);
    expect_said(&said,
                "demo|cpu|50.00%|8.33%|0.83%|37.50%|3.33%|100.00%\n"
                "demo|mem|50.00%|0.00%|0.00%|0.00%|0.00%|100.00%\n",
                "");
    sreport.form = FORM_MINS;
    USAGE(CLUSTER);
    run_cluster(HOURS "format=cluster,trescount,reserved,overcommited");
    expect_said(&said, "demo|64|4|0\ndemo|8|0|0\n", "");
}

#define SIZES                                                                                      \
    "{'sizes':[{'cluster':'demo','account':'chem','wckey':'w','sizes':["                           \
    "{'bound':0,'jobs':10,'cpu_s':600},{'bound':50,'jobs':2,'cpu_s':1800}]},"                      \
    "{'cluster':'demo','account':'bio','wckey':'','sizes':[{'bound':0,'jobs':4,'cpu_s':1200}]}],"  \
    "'parents':[{'cluster':'demo','account':'chem','parent':'science'},"                           \
    "{'cluster':'demo','account':'bio','parent':'science'},"                                       \
    "{'cluster':'demo','account':'science','parent':'root'}]}"

static void test_sizes(void **state)
{
    (void)state;
    USAGE(SIZES);
    run_sizes(HOURS, SIZES_ACCOUNT);
    expect_said(&said,
                RULE_LINE
                "Job Sizes 2026-11-20T07:00:00 - 2026-11-20T09:59:59 (10800 secs)\n"
                "Time reported in Minutes\n" RULE_LINE
                "  Cluster   Account     0-49 CPUs   50-249 CPUs  250-499 CPUs  500-999 CPUs  "
                ">= 1000 CPUs Total Count % of cluster \n"
                "--------- --------- ------------- ------------- ------------- ------------- "
                "------------- ----------- ------------ \n"
                "     demo      root            30            30             0             0       "
                "      0          60      100.00% \n",
                "");
}

/* Accounts that are named, each with what is below it; others are left out. */
static void test_accounts(void **state)
{
    (void)state;
    sreport.noheader = true;
    sreport.parsable = 2;
    USAGE(SIZES);
    run_sizes(HOURS "flatview grouping=50", SIZES_ACCOUNT);
    expect_said(&said, "demo|bio|20|0|20|33.33%\ndemo|chem|10|30|40|66.67%\n", "");
    USAGE(SIZES);
    run_sizes(HOURS "accounts=science grouping=50", SIZES_ACCOUNT);
    expect_said(&said, "demo|science|30|30|60|100.00%\n", "");
    USAGE(SIZES);
    run_sizes(HOURS "accounts=chem grouping=50", SIZES_ACCOUNT);
    expect_said(&said, "demo|chem|10|30|40|100.00%\n", "");
    USAGE(SIZES);
    run_sizes(HOURS "printjobcount grouping=50", SIZES_ACCOUNT);
    expect_said(&said, "demo|root|14|2|16|100.00%\n", "");
    USAGE(SIZES);
    run_sizes(HOURS "grouping=50", SIZES_WCKEY);
    expect_said(&said, "demo||20|0|20|33.33%\ndemo|w|10|30|40|66.67%\n", "");
}

/* Each number of CPUs has a column. */
static void test_individual(void **state)
{
    (void)state;
    sreport.parsable = 2;
    USAGE("{'sizes':[{'cluster':'demo','account':'a','sizes':[{'bound':8,'jobs':1,'cpu_s':60},"
          "{'bound':2,'jobs':3,'cpu_s':120}]}]}");
    run_sizes(HOURS "grouping=individual", SIZES_ACCOUNT);
    assert_non_null(strstr(said.out, "Cluster|Account|2 CPUs|8 CPUs|Total Count|% of cluster\n"
                                     "demo|root|2|1|3|100.00%\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SREPORT_TEST(test_utilization), SREPORT_TEST(test_tres_and_percent),
        SREPORT_TEST(test_sizes),       SREPORT_TEST(test_accounts),
        SREPORT_TEST(test_individual),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
