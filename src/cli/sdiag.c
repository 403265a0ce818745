/* sdiag.c - what the controller has been doing: counters since its start or the last reset */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/format/json_diag.h"
#include "cli/base/opts.h"
#include "cli/base/clusters.h"
#include "cli/query/out_query.h"
#include "cli/query/out_users.h"
#include "wire/msgname.h"
#include "wire/ops.h"

enum order { ORDER_COUNT, ORDER_ID, ORDER_TIME, ORDER_AVERAGE };

struct sdiag {
    struct cli cli;
    struct json_option json;
    const char *clusters;
    bool reset, verbose;
    enum order order;
};

#define OPT_INTO struct sdiag
static const struct opt rows[] = {
    OPT("all", 'a', OPT_NONE, OPT_UNFLAG(reset), NULL, NULL, NULL,
        "print the statistics (what it does unless --reset stands behind)"),
    OPT("cluster", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "name",
        "ask this cluster"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, json_take_json), NULL, NULL, "version", "print JSON"),
    OPT("no-trunc", 0, OPT_NONE, OPT_NOTHING, NULL, NULL, NULL,
        "taken for compatibility: nothing is cut"),
    OPT("reset", 'r', OPT_NONE, OPT_FLAG(reset), NULL, NULL, NULL, "set the counters to zero"),
    OPT("sort-by-id", 'i', OPT_NONE, OPT_CHOICE(order, ORDER_ID), NULL, NULL, NULL,
        "requests by number, users by uid"),
    OPT("sort-by-time", 't', OPT_NONE, OPT_CHOICE(order, ORDER_TIME), NULL, NULL, NULL,
        "requests by total time"),
    OPT("sort-by-time2", 'T', OPT_NONE, OPT_CHOICE(order, ORDER_AVERAGE), NULL, NULL, NULL,
        "requests by average time"),
    OPT("verbose", 'v', OPT_NONE, OPT_FLAG(verbose), NULL, NULL, NULL,
        "also of the journal, the core, control and blocks"),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, json_take_yaml), NULL, NULL, "version", "print YAML"),
};

static const struct opt_command command = {
    .name = "sdiag",
    .prefix = "SDIAG",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .help_with_h = true,
};

static void put_date(struct strbuf *sb, const char *label, int64_t us)
{
    char text[64] = "";
    time_t t = (time_t)(us / USEC_PER_SEC);
    struct tm tm;

    if (localtime_r(&t, &tm))
        (void)strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", &tm); /* fits */
    strbuf_addf(sb, "%s%s (%lld)\n", label, text, (long long)t);
}

struct counter {
    const char *label; /* NULL: of nothing yet, no line */
    uint64_t value;
};

static void put_counters(struct strbuf *sb, const struct counter *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].label)
            strbuf_addf(sb, "%s%llu\n", c[i].label, (unsigned long long)c[i].value);
}

static void put_head(struct strbuf *sb, const Pst__DiagReply *d)
{
    static const char line[] = "*******************************************************\n";
    const struct counter threads[] = {
        { "Server thread count:  ", d->server_threads },
        { "RPC queue enabled:    ", 0 },
        { "Agent queue size:     ", d->agent_queue },
        { "Agent count:          ", 0 },
        { "Agent thread count:   ", 0 },
        { "DBD Agent queue size: ", d->acct_lag },
    };
    const struct counter jobs[] = {
        { "Jobs submitted: ", d->jobs_submitted }, { "Jobs started:   ", d->jobs_started },
        { "Jobs completed: ", d->jobs_completed }, { "Jobs canceled:  ", d->jobs_cancelled },
        { "Jobs failed:    ", d->jobs_failed },
    };

    strbuf_add(sb, line);
    put_date(sb, "sdiag output at ", d->now_us);
    put_date(sb, "Data since      ", d->since_us);
    strbuf_add(sb, line);
    put_counters(sb, threads, ARRAY_SIZE(threads));
    strbuf_addc(sb, '\n');
    put_counters(sb, jobs, ARRAY_SIZE(jobs));
    strbuf_addc(sb, '\n');
    put_date(sb, "Job states ts:  ", d->now_us);
    strbuf_addf(sb, "Jobs pending:   %u\nJobs running:   %u\n", d->jobs_pending, d->jobs_running);
}

static void put_scheduler(struct strbuf *sb, const Pst__DiagReply *d)
{
    bool ran = d->cycles, minutes = d->now_us - d->since_us >= 60 * USEC_PER_SEC;
    const struct counter main_cycle[] = {
        { "\tLast cycle:   ", d->cycle_last_us },
        { "\tMax cycle:    ", d->cycle_max_us },
        { "\tTotal cycles: ", d->cycles },
        { ran ? "\tMean cycle:   " : NULL, diag_mean(d->cycle_total_us, d->cycles) },
        { ran ? "\tMean depth cycle:  " : NULL, diag_mean(d->cycle_depth_total, d->cycles) },
        { minutes ? "\tCycles per minute: " : NULL, diag_cycles_per_minute(d) },
        { "\tLast queue length: ", d->queue_len },
    };
    uint64_t ends = d->cycles - d->exits_depth - d->exits_starts;
    const struct counter main_exit[] = {
        { ends < 10 ? "\tEnd of job queue: " : "\tEnd of job queue:", ends }, /* two columns */
        { "\tHit default_queue_depth: ", d->exits_depth },
        { "\tHit sched_max_job_start: ", d->exits_starts },
        { "\tBlocked on licenses: ", 0 }, /* such a job stops nobody; there are no such limits: */
        { "\tHit max_rpc_cnt: ", 0 },
        { "\tTimeout (max_sched_time): ", 0 },
    };

    strbuf_add(sb, "\nMain schedule statistics (microseconds):\n");
    put_counters(sb, main_cycle, ARRAY_SIZE(main_cycle));
    if (d->has_spare_nodes)
        strbuf_addf(sb, "\tSpare nodes for expedited jobs: %u idle, %u wanted in each unit\n",
                    d->spares_idle, d->spare_nodes);
    strbuf_add(sb, "\nMain scheduler exit:\n");
    put_counters(sb, main_exit, ARRAY_SIZE(main_exit));
}

static void put_backfill(struct strbuf *sb, const Pst__DiagReply *d)
{
    const struct counter started[] = {
        { "\tTotal backfilled jobs (since last slurm start): ", d->bf_started },
        { "\tTotal backfilled jobs (since last stats cycle start): ", d->bf_started_cycle },
        { "\tTotal backfilled heterogeneous job components: ", d->bf_het_started },
        { "\tTotal cycles: ", d->bf_cycles },
    };
    uint64_t depth = diag_mean(d->bf_depth_total, d->bf_cycles);
    bool ran = d->bf_cycles;
    const struct counter cycle[] = {
        { "\tLast cycle: ", d->bf_last_us },
        { "\tMax cycle:  ", d->bf_max_us },
        { ran ? "\tMean cycle: " : NULL, diag_mean(d->bf_total_us, d->bf_cycles) },
        { "\tLast depth cycle: ", d->bf_depth },
        { "\tLast depth cycle (try sched): ", d->bf_depth },
        { ran ? "\tDepth Mean: " : NULL, depth },
        { ran ? "\tDepth Mean (try depth): " : NULL, depth },
        { "\tLast queue length: ", d->bf_queue_len },
        { ran ? "\tQueue length mean: " : NULL, diag_mean(d->bf_queue_total, d->bf_cycles) },
        { "\tLast table size: ", 0 },
        { ran ? "\tMean table size: " : NULL, 0 },
    };
    const struct counter exits[] = {
        { "\tEnd of job queue: ", d->bf_cycles - d->bf_exits_depth - d->bf_exits_starts },
        { "\tHit bf_max_job_start: ", d->bf_exits_starts },
        { "\tHit bf_max_job_test: ", d->bf_exits_depth },
        { "\tSystem state changed: ", 0 },
        { "\tHit table size limit (bf_node_space_size): ", 0 },
        { "\tTimeout (bf_max_time): ", 0 },
    };

    strbuf_add(sb, "\nBackfilling stats\n");
    put_counters(sb, started, ARRAY_SIZE(started));
    if (d->has_bf_when_us && d->bf_when_us > 0)
        put_date(sb, "\tLast cycle when: ", d->bf_when_us);
    else
        strbuf_add(sb, "\tLast cycle when: N/A\n");
    put_counters(sb, cycle, ARRAY_SIZE(cycle));
    strbuf_add(sb, "\nBackfill exit\n");
    put_counters(sb, exits, ARRAY_SIZE(exits));
}

/* What Slurm has no word for. */
static void put_own(struct strbuf *sb, const Pst__DiagReply *d)
{
    const struct counter own[] = {
        { "\tSyncs: ", d->journal_syncs },
        { "\tBytes: ", d->journal_bytes },
        { "\tLast sync (microseconds): ", d->journal_last_sync_us },
        { "\tWorst stall of the core (microseconds): ", d->core_worst_stall_us },
        { "\tViews published: ", d->views_published },
        { "\tConnections: ", d->connections },
    };

    strbuf_add(sb, "\nJournal and core\n");
    put_counters(sb, own, ARRAY_SIZE(own));
}

/* Logs that were put aside on a controller's disk. */
static void put_aside(struct strbuf *sb, uint32_t n, uint64_t bytes)
{
    if (n)
        strbuf_addf(sb, ", %u logs put aside (%llu bytes)", n, (unsigned long long)bytes);
}

/* Standbys that the log is sent to. */
static void put_stream(struct strbuf *sb, const Pst__DiagReply *d)
{
    strbuf_addf(sb, "\nLog sent to standbys\n\tWitness: %s\n\tFailed tries: %llu\n",
                d->witness_answers ? "answers" : "does not answer",
                (unsigned long long)d->remote_errors);
    for (size_t i = 0; i < d->n_stream_peers; i++) {
        const Pst__StreamPeer *p = d->stream_peers[i];

        strbuf_addf(sb, "\t%s: %s, lag %llu bytes, %llu ms", p->host ? p->host : "?",
                    p->in_sync   ? "in sync"
                    : p->follows ? "follows"
                                 : "does not follow",
                    (unsigned long long)p->lag_bytes, (unsigned long long)p->lag_us / 1000);
        put_aside(sb, p->aside, p->aside_bytes);
        strbuf_addf(sb, "%s%s\n", p->why ? ": " : "", p->why ? p->why : "");
    }
    strbuf_addf(sb, "\tLogs put aside here: %u (%llu bytes)\n", d->aside,
                (unsigned long long)d->aside_bytes);
}

/* Of several controllers. */
static void put_control(struct strbuf *sb, const Pst__DiagReply *d)
{
    const struct counter term[] = {
        { "\tTerm: ", d->term },
        { "\tLease left (milliseconds): ", d->lease_left_ms },
        { "\tTakeover took (microseconds): ", d->takeover_us },
    };
    const struct counter etcd[] = {
        { "\tFailed tries: ", d->remote_errors },
        { "\tSnapshot (bytes): ", d->remote_snapshot_bytes },
        { "\tLog since then (bytes): ", d->remote_log_bytes },
    };

    if (d->has_term) {
        strbuf_add(sb, "\nControl\n");
        put_counters(sb, term, ARRAY_SIZE(term));
    }
    if (d->journal_type && d->has_witness_answers) {
        put_stream(sb, d);
    } else if (d->journal_type) {
        strbuf_addf(sb, "\nLog in %s\n", d->journal_type);
        put_counters(sb, etcd, ARRAY_SIZE(etcd));
    }
}

static void put_blocks(struct strbuf *sb, const Pst__DiagReply *d)
{
    const struct counter blocks[] = {
        { "\tFragmentation: ", d->block_score },
        { "\tHighest fragmentation: ", d->block_score_max },
        { "\tMean fragmentation: ", diag_mean(d->block_score_total, d->block_samples) },
        { "\tBlocks: ", d->blocks },
        { "\tBlocks that a job could have whole: ", d->blocks_whole },
    };

    if (!d->has_block_score)
        return;
    strbuf_add(sb, "\nTopology (blocks)\n");
    put_counters(sb, blocks, ARRAY_SIZE(blocks));
}

struct cost {
    uint64_t count, total_us;
};

/* Of two costs: the greater one first. */
static int compare_costs(enum order order, struct cost a, struct cost b)
{
    uint64_t ka = a.count, kb = b.count;

    if (order == ORDER_TIME) {
        ka = a.total_us;
        kb = b.total_us;
    } else if (order == ORDER_AVERAGE) {
        ka = diag_mean(a.total_us, a.count);
        kb = diag_mean(b.total_us, b.count);
    }
    return ka > kb ? -1 : ka < kb;
}

static int compare_rpcs(const void *pa, const void *pb, void *arg)
{
    const Pst__RpcStat *a = *(Pst__RpcStat *const *)pa, *b = *(Pst__RpcStat *const *)pb;
    enum order order = *(const enum order *)arg;

    if (order == ORDER_ID) {
        unsigned na = msgname_of(a->name).number, nb = msgname_of(b->name).number;

        return (na > nb) - (na < nb);
    }
    return compare_costs(order, (struct cost){ a->count, a->total_us },
                         (struct cost){ b->count, b->total_us });
}

static int compare_users(const void *pa, const void *pb, void *arg)
{
    const Pst__UserStat *a = *(Pst__UserStat *const *)pa, *b = *(Pst__UserStat *const *)pb;
    enum order order = *(const enum order *)arg;
    int by_cost = order == ORDER_ID ? 0
                                    : compare_costs(order, (struct cost){ a->count, a->total_us },
                                                    (struct cost){ b->count, b->total_us });

    return by_cost ? by_cost : (a->uid > b->uid) - (a->uid < b->uid);
}

static void put_rpcs(struct strbuf *sb, const Pst__DiagReply *d)
{
    strbuf_addf(sb, "\nLatency for 1000 calls to gettimeofday(): %lld microseconds\n",
                (long long)diag_clock_latency_us());
    strbuf_add(sb, "\nRemote Procedure Call statistics by message type\n");
    for (size_t i = 0; i < d->n_rpcs; i++) {
        const Pst__RpcStat *r = d->rpcs[i];
        struct msgname name = msgname_of(r->name);

        strbuf_addf(sb, "\t%-40s(%5u) count:%-6llu ave_time:%-6llu total_time:%llu\n", name.name,
                    name.number, (unsigned long long)r->count,
                    (unsigned long long)diag_mean(r->total_us, r->count),
                    (unsigned long long)r->total_us);
    }
    strbuf_add(sb, "\nRemote Procedure Call statistics by user\n");
    for (size_t i = 0; i < d->n_users; i++) {
        const Pst__UserStat *u = d->users[i];

        strbuf_addf(sb, "\t%-16s(%8u) count:%-6llu ave_time:%-6llu total_time:%llu\n", diag_user(u),
                    u->uid, (unsigned long long)u->count,
                    (unsigned long long)diag_mean(u->total_us, u->count),
                    (unsigned long long)u->total_us);
    }
    strbuf_add(sb, "\nPending RPC statistics\n\tNo pending RPCs\n");
}

/* -------------------------------------------------------------------------------------------------
 */

static int reset_counters(struct sdiag *d)
{
    Pst__DiagRequest request = PST__DIAG_REQUEST__INIT;
    struct err err = { .text = "" };

    request.has_reset = request.reset = true;
    if (cli_call(&d->cli, OP_QUERY_DIAG, &request.base, NULL, NULL, &err) < 0) {
        (void)fprintf(stderr, "slurm_reset_statistics: %s\n", err.text);
        return CLI_EXIT_USAGE; /* as scripts know it */
    }
    (void)printf("Reset scheduling statistics\n");
    return 0;
}

static int print_statistics(struct sdiag *d, int argc, char **argv)
{
    Pst__DiagRequest request = PST__DIAG_REQUEST__INIT;
    Pst__DiagReply *reply = NULL;
    struct err err = { .text = "" };
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;

    if (cli_call(&d->cli, OP_QUERY_DIAG, &request.base, (ProtobufCMessage **)&reply, NULL, &err) <
        0) {
        (void)fprintf(stderr, "slurm_get_statistics: %s\n", err.text);
        return CLI_EXIT_FAILED;
    }
    if (reply->n_rpcs)
        qsort_r(reply->rpcs, reply->n_rpcs, sizeof(*reply->rpcs), compare_rpcs, &d->order);
    if (reply->n_users)
        qsort_r(reply->users, reply->n_users, sizeof(*reply->users), compare_users, &d->order);
    if (d->json.wanted) {
        const struct conf *conf = cli_conf(&d->cli);
        struct json js;

        json_begin_option(&js, &out, &d->json);
        json_diag(&js, reply);
        json_meta(&js, argc, argv, cli_cluster_name(&d->cli),
                  conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
        json_end(&js);
    } else {
        put_head(&out, reply);
        put_scheduler(&out, reply);
        put_backfill(&out, reply);
        put_rpcs(&out, reply);
        if (d->verbose) {
            put_own(&out, reply);
            put_control(&out, reply);
            put_blocks(&out, reply);
        }
    }
    (void)fputs(strbuf_str(&out), stdout);
    pst__diag_reply__free_unpacked(reply, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    struct sdiag d = { .order = ORDER_COUNT };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&d.cli, "sdiag");
    opts_env(&command, &d);
    (void)opts_parse(&command, argc, argv, &d); /* further words are no mistake, as recorded */
    if (d.clusters)
        clusters_use_one(&d.cli, d.clusters);
    d.cli.keeps_text = d.json.wanted;
    status = json_option_done(&d.json);
    if (status < 0)
        status = d.reset ? reset_counters(&d) : print_statistics(&d, argc, words);
    cli_done(&d.cli);
    return status;
}
