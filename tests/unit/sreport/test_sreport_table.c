/* test_sreport_table.c - columns, titles and times of reports */
#include "sreport_util.h"

static const struct column columns[] = { { "Cluster", "Cluster", 9, 0 },
                                         { "PlannedDown", "PLND Down", 8, 2 },
                                         { "Planned", "Planned", 8, 1 },
                                         { "Login", "Login", -9, 3 } };

static void put_id(void *ctx, int id, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s%d", (const char *)ctx, id);
}

struct ask {
    const char *format, *prefix;
};

static void print_table(void *ctx)
{
    const struct ask *a = ctx;
    struct table t;

    table_init(&t, &sreport, columns, 4, a->format);
    table_header(&t);
    table_row(&t, put_id, (void *)a->prefix);
}

static void expect_table(const char *format, const char *prefix, const char *out, const char *err,
                         int status)
{
    struct ask a = { format, prefix };

    output_of(&said, NULL, print_table, &a);
    expect_said(&said, out, err);
    assert_int_equal(said.status, status);
}

/* Headings are cut, values cut with a +. */
static void test_columns(void **state)
{
    (void)state;
    expect_table("Cluster,Login,PlannedDown", "v",
                 "  Cluster Login     PLND Dow \n"
                 "--------- --------- -------- \n"
                 "       v0 v3              v2 \n",
                 "", 0);
    expect_table("cluster%4,login%-3", "longer", "Clus Log \n---- --- \nlon+ lo+ \n", "", 0);
    expect_table("planned,planneddown,clus", "v",
                 " Planned PLND Dow   Cluster \n-------- -------- --------- \n"
                 "      v1       v2        v0 \n",
                 "", 0);
}

/* What stands before a field that is not there is shown, as recorded. */
static void test_unknown(void **state)
{
    (void)state;
    expect_table("cluster,nosuch,login", "v", "  Cluster \n--------- \n",
                 " Unknown field 'nosuch'\n", 1);
    expect_table("nosuch%3", "v", "", " Unknown field 'nosuch'\n", 1);
    expect_table("cluster%x", "v", "", " Unknown field 'cluster%x'\n", 1);
    expect_table("cluster,", "v", "  Cluster \n--------- \n       v0 \n", "", 0);
}

static void test_parsable(void **state)
{
    (void)state;
    sreport.parsable = 1;
    expect_table("Cluster%2,Login", "value", "Cluster|Login|\nvalue0|value3|\n", "", 0);
    sreport.parsable = 2;
    expect_table("Cluster,Login", "value", "Cluster|Login\nvalue0|value3\n", "", 0);
    sreport.noheader = true;
    expect_table("Cluster,Login", "value", "value0|value3\n", "", 0);
}

static void expect_time(enum time_form form, uint64_t secs, uint64_t whole, const char *want)
{
    char text[64];

    sreport.form = form;
    table_time(&sreport, secs, whole, text, sizeof(text));
    assert_string_equal(text, want);
}

static void test_times(void **state)
{
    (void)state;
    expect_time(FORM_SECS, 5400, 10800, "5400");
    expect_time(FORM_MINS, 5400, 10800, "90");
    expect_time(FORM_MINS, 5431, 10800, "91");
    expect_time(FORM_HOURS, 5500, 10800, "2");
    expect_time(FORM_PERCENT, 5400, 10800, "50.00%");
    expect_time(FORM_SECS_PER, 5400, 10800, "5400(50.00%)");
    expect_time(FORM_MINS_PER, 5400, 10800, "90(50.00%)");
    expect_time(FORM_HOURS_PER, 3600, 10800, "1(33.33%)");
    expect_time(FORM_PERCENT, 7, 0, "0.00%"); /* of nothing */
    sreport.form = FORM_MINS;
    assert_int_equal(table_time_width(&sreport), 8);
    sreport.form = FORM_PERCENT;
    assert_int_equal(table_time_width(&sreport), 8);
    sreport.form = FORM_HOURS_PER;
    assert_int_equal(table_time_width(&sreport), 17);
}

static void expect_title(const char *title, bool secs, const char *extra, const char *want)
{
    struct cond c = { 0 };

    c.request.start_s = 1795158000; /* 2026-11-20T07:00:00 */
    c.request.end_s = c.request.start_s + 10800;
    output_begin(&said, NULL);
    table_title(&sreport, &c, title, secs, extra);
    output_end(&said);
    expect_said(&said, want, "");
}

/* The end is the last second of the report, as recorded. */
static void test_titles(void **state)
{
    (void)state;
    expect_title("Cluster Utilization", false, NULL,
                 RULE_LINE "Cluster Utilization 2026-11-20T07:00:00 - 2026-11-20T09:59:59\n"
                           "Usage reported in CPU Minutes\n" RULE_LINE);
    expect_title("Job Sizes", true, "Time",
                 RULE_LINE "Job Sizes 2026-11-20T07:00:00 - 2026-11-20T09:59:59 (10800 secs)\n"
                           "Time reported in Minutes\n" RULE_LINE);
    sreport.form = FORM_PERCENT;
    expect_title("T", false, NULL,
                 RULE_LINE "T 2026-11-20T07:00:00 - 2026-11-20T09:59:59\n"
                           "Usage reported in Percentage of Total\n" RULE_LINE);
    sreport.form = FORM_HOURS_PER;
    sreport.tres = "cpu,mem";
    expect_title("T", false, NULL,
                 RULE_LINE "T 2026-11-20T07:00:00 - 2026-11-20T09:59:59\n"
                           "Usage reported in TRES Hours/Percentage of Total\n" RULE_LINE);
    sreport.form = FORM_MINS;
    expect_title("T", false, "TRES",
                 RULE_LINE "T 2026-11-20T07:00:00 - 2026-11-20T09:59:59\n"
                           "Usage reported in TRES Minutes\n" RULE_LINE);
    expect_title("T", false, "Units are in number of jobs ran",
                 RULE_LINE "T 2026-11-20T07:00:00 - 2026-11-20T09:59:59\n"
                           "Units are in number of jobs ran\n" RULE_LINE);
    sreport.noheader = true;
    expect_title("T", false, NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SREPORT_TEST(test_columns), SREPORT_TEST(test_unknown), SREPORT_TEST(test_parsable),
        SREPORT_TEST(test_times),   SREPORT_TEST(test_titles),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
