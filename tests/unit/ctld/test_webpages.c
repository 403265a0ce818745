/* test_webpages.c - pages of metrics from a view and from figures; the table of paths; questions to
 * the core */
#include "model_util.h"

#include <pthread.h>

#include "base/histogram.h"
#include "ctld/core/corequeue.h"
#include "ctld/front/view.h"
#include "ctld/web/jobmetrics.h"
#include "ctld/web/metrictally.h"
#include "ctld/web/nodemetrics.h"
#include "ctld/web/ownmetrics.h"
#include "ctld/web/schedmetrics.h"
#include "ctld/web/startwaits.h"
#include "ctld/web/web.h"
#include "ctld/web/webaccess.h"
#include "ctld/web/webask.h"

/* ---- a view made by hand --------------------------------------------------------------------- */

static struct view_chunk chunks[VIEW_KINDS];
static struct view_chunk *chunk_of[VIEW_KINDS];
static struct view view;

static void put_record(enum view_kind kind, const ProtobufCMessage *msg)
{
    size_t len = protobuf_c_message_get_packed_size(msg);
    struct vrec *r = calloc(1, sizeof(*r) + len);

    assert_non_null(r);
    r->len = (uint32_t)protobuf_c_message_pack(msg, r->data);
    chunks[kind].slots[chunks[kind].used++] = r;
    chunk_of[kind] = &chunks[kind];
    view.tables[kind] = (struct view_table){ 1, &chunk_of[kind] };
}

static void put_view_job(const char *user, const char *account, const char *partition,
                         Pst__JobState job_state)
{
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    job.user_name = (char *)user;
    job.account = (char *)account;
    job.partition = (char *)partition;
    SET(&job, state, job_state);
    SET(&job, priority, 1);
    if (job_state == PST__JOB_STATE__JOB_RUNNING) {
        job.alloc = &alloc;
        job.alloc_tres = (char *)"cpu=3,node=1";
        SET(&job, start_us, 1);
    }
    put_record(VIEW_JOBS, &job.base);
}

static int make_view(void **state)
{
    Pst__NodeRecord node = PST__NODE_RECORD__INIT;
    Pst__PartitionRecord part = PST__PARTITION_RECORD__INIT;
    char name[8];

    put_view_job("alice", "physics", "main,gpu", PST__JOB_STATE__JOB_PENDING);
    put_view_job("alice", "physics", "main", PST__JOB_STATE__JOB_RUNNING);
    put_view_job("bob", "", "gpu", PST__JOB_STATE__JOB_COMPLETED);
    SET(&node, state, PST__NODE_STATE__NODE_IDLE);
    SET(&node, cpus, 4);
    node.name = name;
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        put_record(VIEW_NODES, &node.base);
    }
    part.name = (char *)"main";
    part.nodes = (char *)"n[0-2]";
    put_record(VIEW_PARTS, &part.base);
    part.name = (char *)"gpu";
    part.nodes = (char *)"n2";
    put_record(VIEW_PARTS, &part.base);
    return 0;
}

static int free_view(void **state)
{
    for (unsigned k = 0; k < VIEW_KINDS; k++)
        for (unsigned i = 0; i < chunks[k].used; i++)
            free(chunks[k].slots[i]);
    return 0;
}

static void expect_line(const struct strbuf *sb, const char *line)
{
    const char *at = strstr(strbuf_str(sb), line);

    if (!at || (at != strbuf_str(sb) && at[-1] != '\n') || at[strlen(line)] != '\n')
        fail_msg("no line %s in\n%s", line, strbuf_str(sb));
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void test_jobs(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    jobmetrics_cluster(&view, &sb);
    expect_line(&sb, "slurm_jobs 3");
    expect_line(&sb, "slurm_jobs_pending 1");
    expect_line(&sb, "slurm_jobs_cpus_alloc 3");
    strbuf_done(&sb);
    jobmetrics_who(&view, &sb);
    expect_line(&sb, "slurm_user_jobs{username=\"alice\"} 2");
    expect_line(&sb, "slurm_user_jobs_completed{username=\"bob\"} 1");
    expect_line(&sb, "slurm_account_jobs_running{account=\"physics\"} 1");
    assert_null(strstr(strbuf_str(&sb), "account=\"\""));
    strbuf_done(&sb);
}

/* Without a job every count is there, and 0. */
static void test_no_jobs(void **state)
{
    const struct view none = { 0 };
    struct strbuf sb = STRBUF_INIT;

    jobmetrics_cluster(&none, &sb);
    expect_line(&sb, "slurm_jobs 0");
    strbuf_done(&sb);
}

static void test_nodes_and_partitions(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    nodemetrics_nodes(&view, &sb);
    expect_line(&sb, "slurm_nodes 3");
    expect_line(&sb, "slurm_nodes_idle 3");
    expect_line(&sb, "slurm_node_cpus{node=\"n1\"} 4");
    strbuf_done(&sb);
    nodemetrics_parts(&view, &sb);
    expect_line(&sb, "slurm_partitions 2");
    expect_line(&sb, "slurm_partition_nodes{partition=\"main\"} 3");
    expect_line(&sb, "slurm_partition_cpus{partition=\"gpu\"} 4");
    /* a job that waits counts in each partition that it may run in */
    expect_line(&sb, "slurm_partition_jobs_pending{partition=\"main\"} 1");
    expect_line(&sb, "slurm_partition_jobs_pending{partition=\"gpu\"} 1");
    expect_line(&sb, "slurm_partition_jobs{partition=\"gpu\"} 1");
    expect_line(&sb, "slurm_partition_jobs_finished{partition=\"gpu\"} 1");
    strbuf_done(&sb);
}

static void test_figures(void **state)
{
    Pst__DiagReply r = PST__DIAG_REPLY__INIT;
    struct strbuf sb = STRBUF_INIT;

    r.cycles = 4;
    r.cycle_total_us = 40;
    r.now_us = 5000000;
    schedmetrics_write(&r, &sb);
    expect_line(&sb, "slurm_sched_mean_cycle 10");
    expect_line(&sb, "slurm_bf_mean_cycle 0"); /* of none */
    expect_line(&sb, "slurm_sched_stats_timestamp 5");
    strbuf_done(&sb);
}

static void test_own(void **state)
{
    Pst__DiagReply r = PST__DIAG_REPLY__INIT;
    struct histogram h = { 0 };
    struct own_figures f = {
        &r, &h, &h, &h, &h, NULL, 2500, 3, 77, 12, false, 5, { true, true, 2, 1, 300, 4000 }
    };
    struct strbuf sb = STRBUF_INIT;

    assert_int_equal(startwaits_new(&f.waits), 0);
    histogram_add(&h, 100);
    startwaits_note(f.waits, "main", 70);
    ownmetrics_write(&f, &sb);
    expect_line(&sb, "penstock_journal_sync_seconds_count 1");
    expect_line(&sb, "penstock_job_wait_seconds_sum{partition=\"main\"} 0.000070");
    expect_line(&sb, "penstock_stream_in_sync 1");
    expect_line(&sb, "penstock_stream_lag_bytes 300");
    expect_line(&sb, "penstock_view_age_milliseconds 2");
    assert_null(strstr(strbuf_str(&sb), "penstock_topology"));
    expect_line(&sb, "penstock_journal_records 12");
    assert_null(strstr(strbuf_str(&sb), "penstock_jobcomp"));
    f.has_jobcomp = true;
    expect_line(&sb, "penstock_watchers 3");
    expect_line(&sb, "penstock_watch_lag_records 77");
    r.has_block_score = true;
    r.block_score = 31;
    r.blocks = 4;
    r.blocks_whole = 3;
    strbuf_reset(&sb);
    ownmetrics_write(&f, &sb);
    expect_line(&sb, "penstock_jobcomp_lag_records 5");
    expect_line(&sb, "penstock_topology_fragmentation 31");
    expect_line(&sb, "penstock_topology_blocks_whole 3");
    strbuf_done(&sb);
    assert_null(startwaits_free(f.waits));
}

/* Every row answers or lists, and what lists a row is a row. */
static void test_paths(void **state)
{
    for (const struct http_path *p = web_paths; p->path; p++) {
        bool listed = !p->listed;

        assert_true(!p->answer == !!p->title);
        for (const struct http_path *q = web_paths; q->path; q++)
            listed = listed || (q->title && strcmp(q->path, p->listed) == 0);
        assert_true(listed);
        /* an answer that is shared is never one that anybody may have unasked */
        assert_true(!p->keep_ms || p->allow);
    }
}

/* ---- who may read ---------------------------------------------------------------------------- */

static void test_switched_on(void **state)
{
    static const struct {
        const char *text;
        bool on;
    } cases[] = { { "", false },
                  { "MetricsType=metrics/none\n", false },
                  { "MetricsType=metrics/openmetrics\n", true } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct webaccess *w = NULL;
        struct conf *conf = NULL;
        char text[256];
        struct conf_text file = { "slurm.conf", text, 0 };

        file.len = (size_t)snprintf(
            text, sizeof(text), "ClusterName=c\nSlurmctldHost=h\nNodeName=n0\n%s", cases[i].text);
        assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
        assert_int_equal(webaccess_new(&w), 0);
        webaccess_configure(w, conf, NULL);
        assert_int_equal(webaccess_metrics_on(w), cases[i].on);
        assert_int_equal(webaccess_metrics(w, NULL, NULL), 0); /* nothing is private */
        assert_null(webaccess_free(w));
        conf_free(conf);
    }
}

/* ---- questions to the core ------------------------------------------------------------------- */

static void answer_42(struct ctld *ctld, void *answer)
{
    *(int *)answer = 42;
}

/* The core: takes one command, and runs or drops it. */
static void *play_core(void *arg)
{
    struct ctld *ctld = arg;
    bool run = ctld->ticks == 0;
    struct cmd *cmd = NULL;

    while (!cmd) {
        (void)core_queue_take(ctld->queue, INT64_MAX); /* lane 0 is empty */
        cmd = core_queue_next(ctld->queue);
    }
    if (run) {
        cmd->drop = NULL;
        cmd->fn(cmd->arg);
    }
    cmd_free(cmd);
    return NULL;
}

static void test_questions(void **state)
{
    for (unsigned stops = 0; stops < 2; stops++) {
        struct ctld ctld = { .ticks = stops };
        pthread_t core;
        int *answer;

        assert_int_equal(core_queue_new(&ctld.queue), 0);
        assert_int_equal(pthread_create(&core, NULL, play_core, &ctld), 0);
        answer = webask(&ctld, sizeof(*answer), answer_42);
        assert_int_equal(pthread_join(core, NULL), 0);
        assert_true(stops ? !answer : answer && *answer == 42);
        free(answer);
        atomic_store(&ctld.stopping, true);
        assert_null(webask(&ctld, sizeof(*answer), answer_42));
        core_queue_free(ctld.queue);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_no_jobs),
        cmocka_unit_test(test_nodes_and_partitions),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_switched_on),
        cmocka_unit_test(test_questions),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_view, free_view);
}
