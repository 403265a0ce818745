/* test_cronjobs.c - crontabs: taken whole, entries that keep their jobs, cancelled jobs */
#include "base/strbuf.h"
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n0 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static struct daemon shared;

static int start_with(const char *extra)
{
    (void)daemon_new(&shared);
    write_conf(&shared, extra, cluster);
    daemon_start(&shared, NULL, NULL);
    return 0;
}

static int setup_cron(void **state)
{
    (void)state;
    return start_with("ScronParameters=enable,explicit_scancel");
}

static int setup_disabled(void **state)
{
    (void)state;
    return start_with("");
}

static int teardown_cron(void **state)
{
    int status = daemon_stop(&shared, SIGTERM);

    (void)state;
    daemon_free(&shared);
    return status;
}

#define JOB "'job':{'batch':true,'work_dir':'/tmp'},'script':'IyEvYmluL3NoCg=='"
#define NOWHERE                                                                                    \
    "'job':{'batch':true,'work_dir':'/tmp','partition':'nosuch'},'script':'IyEvYmluL3NoCg=='"
#define ENTRY(spec, line)                                                                          \
    "{'spec':'" spec "','first_line':" #line ",'last_line':" #line ",'submit':{" JOB "}}"
#define YEARLY "0 0 1 1 *"
#define LINES(first, last)                                                                         \
    "{'spec':'" YEARLY "','first_line':" #first ",'last_line':" #last ",'submit':{" JOB "}}"

/* jobs: a JSON list. */
static int set_tab(const char *text, const char *jobs)
{
    char json[2048];

    (void)snprintf(json, sizeof(json), "{'text':'%s','jobs':[%s]}", text, jobs);
    return ask(&shared, shared.client, OP_CRONTAB_SET, json, NULL);
}

/* Text and job ids of our crontab; gives how many entries it has. */
static size_t get_tab(char text[static 256], uint32_t ids[static 4])
{
    ProtobufCMessage *reply = NULL;
    const Pst__CrontabRecord *tab;
    size_t n;

    assert_int_equal(ask(&shared, shared.client, OP_CRONTAB_GET, "{}", &reply), 0);
    tab = (const Pst__CrontabRecord *)reply;
    (void)snprintf(text, 256, "%s", tab->text ? tab->text : "");
    n = tab->n_entries;
    for (size_t i = 0; i < n && i < 4; i++)
        ids[i] = tab->entries[i]->job_id;
    protobuf_c_message_free_unpacked(reply, NULL);
    return n;
}

static void test_disabled(void **state)
{
    (void)state;
    assert_int_equal(set_tab("x\\n", ENTRY(YEARLY, 1)), ESLURM_DISABLED);
    assert_int_equal(ask(&shared, shared.client, OP_CRONTAB_GET, "{}", NULL), ESLURM_DISABLED);
}

/* An entry that did not change keeps its job, wherever it stands now; others get new ones. */
static void test_replaced(void **state)
{
    char text[256];
    uint32_t first[4] = { 0 }, second[4] = { 0 };

    (void)state;
    assert_int_equal(get_tab(text, first), 0);
    assert_int_equal(set_tab("a\\nb\\n", ENTRY(YEARLY, 1) "," ENTRY("0 0 1 2 *", 2)), 0);
    assert_int_equal(get_tab(text, first), 2);
    assert_string_equal(text, "a\nb\n");
    assert_int_not_equal(first[0], first[1]);
    assert_job(&shared, first[0], "'state':'JOB_PENDING'");
    assert_job(&shared, first[0], "'cron_spec':'" YEARLY "'");
    assert_int_equal(set_tab("c\\nb\\n", ENTRY("0 0 1 3 *", 1) "," ENTRY("0 0 1 2 *", 2)), 0);
    assert_int_equal(get_tab(text, second), 2);
    assert_int_equal(second[1], first[1]);
    assert_int_not_equal(second[0], first[0]);
    wait_job(&shared, first[0], "'state':'JOB_CANCELLED'");
    /* None: all its jobs go. */
    assert_int_equal(ask(&shared, shared.client, OP_CRONTAB_SET, "{}", NULL), 0);
    wait_job(&shared, second[1], "'state':'JOB_CANCELLED'");
    assert_int_equal(get_tab(text, second), 0);
    assert_int_equal(ask(&shared, shared.client, OP_CRONTAB_SET, "{}", NULL), 0); /* none left */
}

/* One bad entry: the crontab of before stays, with its jobs. */
static void test_refused(void **state)
{
    static const struct {
        const char *jobs;
        int code;
        const char *text;
    } rows[] = {
        { ENTRY(YEARLY, 1) "," ENTRY("0 0 32 1 *", 2), EPST_BAD_REQUEST, "line 2: " },
        { "{'first_line':1,'last_line':3,'submit':{" JOB "}}", EPST_BAD_REQUEST,
          "line 3: no times" },
        { "{'spec':'" YEARLY "','last_line':4}", EPST_BAD_REQUEST,
          "line 4: a crontab entry is one" },
        { "{'spec':'" YEARLY "','last_line':4,'submit':{'array':'0-1'," JOB "}}", EPST_BAD_REQUEST,
          "line 4: a crontab entry is one" },
        { "{'spec':'" YEARLY "','last_line':5,'submit':{" NOWHERE "}}",
          ESLURM_INVALID_PARTITION_NAME, "line 5: " },
        { LINES(1, 2), EPST_BAD_REQUEST, "line 2: the entry has no lines of its own" },
        { LINES(0, 1), EPST_BAD_REQUEST, "line 1: the entry has no lines of its own" },
        { LINES(1, 4294967295), EPST_BAD_REQUEST, "line 4294967295: the entry has no lines" },
        { "{'spec':'" YEARLY "','last_line':1,'submit':{" JOB "}}", EPST_BAD_REQUEST,
          "line 1: the entry has no lines of its own" },
        { LINES(1, 1) "," LINES(1, 1), EPST_BAD_REQUEST,
          "line 1: the entry has no lines of its own" },
    };
    char text[256];
    uint32_t before[4] = { 0 }, after[4] = { 0 };

    (void)state;
    assert_int_equal(set_tab("a\\n", ENTRY(YEARLY, 1)), 0);
    assert_int_equal(get_tab(text, before), 1);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(set_tab("b\\n", rows[i].jobs), rows[i].code);
        assert_int_equal(strncmp(shared.text, rows[i].text, strlen(rows[i].text)), 0);
        assert_int_equal(get_tab(text, after), 1);
        assert_string_equal(text, "a\n");
        assert_int_equal(after[0], before[0]);
    }
    assert_int_equal(set_tab("", ENTRY(YEARLY, 1)), EPST_BAD_REQUEST); /* jobs without a text */
    assert_job(&shared, before[0], "'state':'JOB_PENDING'");
}

/* A cancelled job's entry is commented out; with explicit_scancel only who says so cancels it. */
static void test_cancelled(void **state)
{
    char text[256], id[16];
    uint32_t ids[4] = { 0 };

    (void)state;
    assert_int_equal(set_tab("one\\ntwo\\nthree\\n",
                             ENTRY(YEARLY, 1) ","
                                              "{'spec':'0 0 1 2 *','first_line':2,'last_line':3,"
                                              "'submit':{" JOB "}}"),
                     0);
    assert_int_equal(get_tab(text, ids), 2);
    (void)snprintf(id, sizeof(id), "%u", ids[1]);
    assert_int_not_equal(act(&shared, ids[1], "CANCEL"), 0);
    assert_job(&shared, ids[1], "'state':'JOB_PENDING'");
    assert_int_equal(
        on_job_as(&shared, shared.client, OP_JOB_ACTION, id, "'verb':'VERB_CANCEL','cron':true"),
        0);
    assert_job(&shared, ids[1], "'state':'JOB_CANCELLED'");
    assert_int_equal(get_tab(text, ids), 1);
    assert_string_equal(text, "one\n#DISABLED: two\n#DISABLED: three\n");
}

/* Every line may be commented out by the ends of jobs.  A text that would be too long then is
 * refused before, for nobody could read the crontab any more. */
static void test_long(void **state)
{
    struct strbuf json = STRBUF_INIT;
    char text[256];
    uint32_t ids[4];

    (void)state;
    strbuf_add(&json, "{'text':'");
    for (unsigned i = 0; i < 100000; i++)
        strbuf_add(&json, "\\n");
    strbuf_add(&json, "'}");
    assert_int_equal(ask(&shared, shared.client, OP_CRONTAB_SET, strbuf_str(&json), NULL),
                     EPST_BAD_REQUEST);
    assert_string_equal(shared.text, "the crontab is too long: 100000 bytes in 100000 lines");
    assert_int_equal(get_tab(text, ids), 0);
    strbuf_done(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_disabled, setup_disabled, teardown_cron),
        cmocka_unit_test_setup_teardown(test_replaced, setup_cron, teardown_cron),
        cmocka_unit_test_setup_teardown(test_refused, setup_cron, teardown_cron),
        cmocka_unit_test_setup_teardown(test_cancelled, setup_cron, teardown_cron),
        cmocka_unit_test_setup_teardown(test_long, setup_cron, teardown_cron),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
