/* test_fmt_use.c - what a step used, as columns of sacct and sstat */
#include "cli/format/fmt_use.h"

#include "json_util.h"

static Pst__StepRecord *step;
static struct sacct_row row;

/* Two tasks on two nodes, looked at by the gathering plugin. */
#define SAMPLED                                                                                    \
    "{'num_tasks':2,'usage':{'tasks':2,'energy_j':1500,'freq_khz':4800000,'uses':["                \
    "{'kind':'USE_CPU','total':130000000,'max':100000000,'max_task':0,'max_node':'n1',"            \
    "'min':30000000,'min_task':1,'min_node':'n2'},"                                                \
    "{'kind':'USE_MEM','total':3145728,'max':2097152,'max_task':1,'max_node':'n2',"                \
    "'min':1048576,'min_task':0,'min_node':'n1'},"                                                 \
    "{'kind':'USE_VMEM','total':8192,'max':6144,'max_task':1,'max_node':'n2'},"                    \
    "{'kind':'USE_PAGES','total':7,'max':5,'max_task':1,'max_node':'n2'},"                         \
    "{'kind':'USE_DISK_READ','total':3145728,'max':2097152,'max_task':0,'max_node':'n1'},"         \
    "{'kind':'USE_DISK_WRITE','total':1572864,'max':1048576,'max_task':1,'max_node':'n2'}]}}"
/* A site that does not look at tasks: what wait(2) told. */
#define WAITED                                                                                     \
    "{'num_tasks':1,'usage':{'user_us':61000000,'sys_us':4000000,'max_rss_kib':2048,"              \
    "'max_rss_node':'n7','energy_j':9}}"

static void use_step(const char *json)
{
    if (step)
        protobuf_c_message_free_unpacked(&step->base, NULL);
    step = (Pst__StepRecord *)from_json(&pst__step_record__descriptor, json);
    row = (struct sacct_row){ .step = step };
}

static int drop_step(void **state)
{
    (void)state;
    protobuf_c_message_free_unpacked(&step->base, NULL);
    step = NULL;
    return 0;
}

typedef void put_fn(struct strbuf *sb, const struct sacct_row *r);

static void expect(put_fn *put, const char *want)
{
    struct strbuf sb = STRBUF_INIT;

    put(&sb, &row);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
}

static void expect_bytes(uint64_t bytes, char unit, char usual, bool plain, const char *want)
{
    struct strbuf sb = STRBUF_INIT;
    struct sacct_row r = { .unit = unit, .noconvert = plain };

    use_put_bytes(&sb, &r, bytes, usual);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
}

static void expect_energy(uint64_t joule, const char *want)
{
    struct strbuf sb = STRBUF_INIT;

    use_put_energy(&sb, joule);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
}

static void test_sizes(void **state)
{
    (void)state;
    expect_bytes(2097152, 0, 'K', false, "2048K");
    expect_bytes(2097152, 'M', 'K', false, "2M");
    expect_bytes(1572864, 'M', 'K', false, "1.50M");
    expect_bytes(1572864, 'G', 'K', false, "0.00G");
    expect_bytes(1572864, 0, 0, false, "1572864");
    expect_bytes(1572864, 'M', 'K', true, "1572864");
    expect_bytes(0, 0, 'K', false, "0K");
    expect_energy(1500, "1.50K");
    expect_energy(999, "1.00K");
    expect_energy(2500000, "2.50M");
}

static void test_sampled(void **state)
{
    (void)state;
    use_step(SAMPLED);
    expect(use_max_rss, "2048K");
    expect(use_max_rss_node, "n2");
    expect(use_max_rss_task, "1");
    expect(use_ave_rss, "1536K");
    expect(use_max_vm, "6K");
    expect(use_ave_cpu, "00:01:05");
    expect(use_min_cpu, "00:00:30");
    expect(use_min_cpu_node, "n2");
    expect(use_min_cpu_task, "1");
    expect(use_max_pages, "5");
    expect(use_ave_pages, "3");
    expect(use_max_read, "2M"); /* of files in MiB; sstat as they are */
    expect(use_ave_written, "0.75M");
    expect(use_ave_freq, "2.40M");
    row.live = true;
    expect(use_max_read, "2097152");
    row.live = false;
    row.noconvert = true;
    expect(use_ave_freq, "2400000");
    expect(use_max_rss, "2097152");
}

static void test_all(void **state)
{
    (void)state;
    use_step(SAMPLED);
    expect(use_in_max, "cpu=00:01:40,energy=1500,fs/disk=2097152,mem=2048K,pages=5,vmem=6K");
    expect(use_in_max_node, "cpu=n1,energy=n1,fs/disk=n1,mem=n2,pages=n2,vmem=n2");
    expect(use_in_max_task, "cpu=0,fs/disk=0,mem=1,pages=1,vmem=1");
    expect(use_in_tot, "cpu=00:02:10,energy=1500,fs/disk=3145728,mem=3072K,pages=7,vmem=8K");
    expect(use_out_max, "energy=0,fs/disk=1048576");
    expect(use_out_ave, "energy=0,fs/disk=786432");
    expect(use_out_max_node, "energy=n2,fs/disk=n2");
    expect(use_out_max_task, "fs/disk=1");
    row.live = true;
    expect(use_in_min_task, "cpu=00:00:01,fs/disk=0,mem=0,pages=0,vmem=0");
}

static void test_waited(void **state)
{
    (void)state;
    use_step(WAITED);
    expect(use_max_rss, "2048K");
    expect(use_max_rss_node, "n7");
    expect(use_ave_rss, "2048K");
    expect(use_ave_cpu, "00:01:05");
    expect(use_max_vm, "");
    expect(use_in_max, "energy=9");
    expect(use_in_min, "");
    row.live = true; /* of a running step they are not known yet */
    expect(use_max_rss, "");
    expect(use_ave_cpu, "");
}

/* A job has no use of its own, and a step that was not measured none. */
static void test_empty(void **state)
{
    static put_fn *const all[] = {
#define X(name) name,
        USE_COLUMNS(X)
#undef X
    };

    (void)state;
    use_step("{'num_tasks':2}");
    row.step = NULL;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        expect(all[i], "");
    row.step = step;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] != use_ave_freq)
            expect(all[i], "");
    expect(use_ave_freq, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test_teardown(test_sampled, drop_step),
        cmocka_unit_test_teardown(test_all, drop_step),
        cmocka_unit_test_teardown(test_waited, drop_step),
        cmocka_unit_test_teardown(test_empty, drop_step),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
