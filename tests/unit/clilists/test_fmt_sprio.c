/* test_fmt_sprio.c - the columns of sprio, as recorded */
#include "cli/format/fmt_sprio.h"

#include "json_util.h"

static Pst__PriorityRecord *weights, *job;

static int make_records(void **state)
{
    (void)state;
    weights = (Pst__PriorityRecord *)from_json(
        &pst__priority_record__descriptor,
        "{'age':1000,'fairshare':10000,'job_size':500,'partition_factor':2000,'qos':3000,'site':1,"
        "'weights':true,'tres':[{'name':'cpu','value':100},{'name':'mem','value':50}]}");
    job = (Pst__PriorityRecord *)from_json(
        &pst__priority_record__descriptor,
        "{'job_id':26,'partition':'debug','priority':4999,'fairshare':0.1666667,"
        "'job_size':0.265625,'partition_factor':0.1,'qos':1,'nice':100,'site':0,"
        "'tres':[{'name':'cpu','value':0.25},{'name':'mem','value':0}]}");
    return 0;
}

static int drop_records(void **state)
{
    (void)state;
    protobuf_c_message_free_unpacked(&weights->base, NULL);
    protobuf_c_message_free_unpacked(&job->base, NULL);
    return 0;
}

static void expect_line(const char *format, const struct prio_row *row, const char *want)
{
    struct fmt f = FMT_INIT;
    struct strbuf sb = STRBUF_INIT;

    assert_int_equal(fmt_parse_short(&f, &sprio_fields, format, NULL, NULL), 0);
    if (row)
        fmt_row(&f, row, &sb);
    else
        fmt_header(&f, &sb);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
    fmt_done(&f);
}

static void test_columns(void **state)
{
    struct prio_row r = { .rec = job,
                          .weights = weights,
                          .user = "alice",
                          .account = "physics",
                          .sluid = "s123",
                          .cluster = "demo" };

    (void)state;
    expect_line("%i %Y %A %F %J %P %Q %N %u", NULL,
                "JOBID PRIORITY AGE FAIRSHARE JOBSIZE PARTITION QOS NICE USER\n");
    expect_line("%i %Y %A %F %J %P %Q %N %u", &r, "26 4999 0 1667 133 200 3000 100 alice\n");
    expect_line("%.15i %9r %.10y %a %f %j %p %q", &r,
                "             26 debug     0.00000116 0.0000000 0.1666667 0.2656250 0.1000000 "
                "1.0000000\n");
    expect_line("%o %n %s %c %S", &r, "physics normal s123 demo 0\n");
    r.qos = "high";
    expect_line("%n", &r, "high\n");
    expect_line("%T|%t", &r, "cpu=25|cpu=0.25\n");
    expect_line("%A %B", &(struct prio_row){ .rec = job, .weights = weights }, "0 0\n");
    expect_line("%u %o", &(struct prio_row){ .rec = job, .weights = weights }, "(null) (null)\n");
}

/* The row of weights has the weights in the columns of factors and nothing elsewhere. */
static void test_weights(void **state)
{
    struct prio_row r = { .rec = weights,
                          .weights = weights,
                          .user = "x",
                          .account = "y",
                          .tres_weights = "CPU=100,Mem=50" };

    (void)state;
    expect_line("%i|%Y|%S|%A|%F|%J|%P|%Q", &r, "Weights||1|1000|10000|500|2000|3000\n");
    expect_line("%a|%f|%p|%u|%o|%r|%n|%N|%y", &r, "1000|10000|2000||||||\n");
    expect_line("%T|%t", &r, "CPU=100,Mem=50|\n");
}

/* A priority that an operator has set has no factors. */
static void test_direct(void **state)
{
    struct prio_row r = { .rec = job, .weights = weights };

    (void)state;
    job->has_direct = job->direct = 1;
    expect_line("%Y %f %q", &r, "4999 0 0\n");
}

static void expect_factors(bool norm, const char *want)
{
    struct strbuf sb = STRBUF_INIT;

    sprio_add_factors(&sb, weights, norm);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
}

/* Factors that weigh nothing have no column. */
static void test_factors(void **state)
{
    (void)state;
    expect_factors(false, " %.10A %.10F %.10J %.10P %.10Q %.20T");
    expect_factors(true, " %10a %10f %10j %10p %10q %20t");
    weights->assoc = 100;
    weights->age = 0;
    expect_factors(false, " %.10B %.10F %.10J %.10P %.10Q %.20T");
}

static void test_sorting(void **state)
{
    struct prio_row a = { .rec = job, .weights = weights };
    const struct fmt_field *f = fmt_by_letter(&sprio_fields, 'F');

    (void)state;
    assert_non_null(f);
    assert_int_equal(f->num(&a), 166666700);
    assert_int_equal(fmt_by_letter(&sprio_fields, 'y')->num(&a), 4999);
    assert_int_equal(fmt_by_letter(&sprio_fields, 'N')->num(&a), 100);
    assert_null(fmt_by_letter(&sprio_fields, 'z'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_columns, make_records, drop_records),
        cmocka_unit_test_setup_teardown(test_weights, make_records, drop_records),
        cmocka_unit_test_setup_teardown(test_direct, make_records, drop_records),
        cmocka_unit_test_setup_teardown(test_factors, make_records, drop_records),
        cmocka_unit_test_setup_teardown(test_sorting, make_records, drop_records),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
