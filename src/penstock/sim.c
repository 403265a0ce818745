/* sim.c - penstock sim: workloads through the controller's scheduler, on a clock of their own
 *
 * The work is in src/sim; here are the command line, the files and the host's clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/timefmt.h"
#include "conf/conf.h"
#include "feed/params.h"
#include "feed/preemptfeed.h"
#include "model/cluster.h"
#include "penstock/simbar.h"
#include "penstock/simlive.h"
#include "penstock/simtopo.h"
#include "sim/books.h"

#define BF_INTERVAL_S 30u /* as users know it */

DEFINE_CLEANUP(struct cluster *, cluster_free)

struct sim_policy { /* one of --compare, run */
    char name[64];  /* "easy", "easy+bf_window=60" */
    struct conf *conf;
    struct sim_machine *machine;
    struct sim_result result;
    struct stats stats;
};

/* ---- running --------------------------------------------------------------------------------- */

static int64_t host_clock(void *ctx)
{
    (void)ctx;
    return now_mono_us();
}

/* Limits asked for are put on records made up for the workload; without any there are none. */
static int make_books(const struct sim_args *a, struct workload *w, struct cluster **ret_books)
{
    _cleanup_(cluster_free) struct cluster *c = NULL;
    struct simchange changes = { 0 };
    struct err err = { .text = "" };
    int r = STATUS_OK, e;

    if (!a->nasks)
        return STATUS_OK;
    e = books_make(w, &c, &err);
    if (e == 0)
        r = simchange_make(a, c, 0, &changes);
    for (size_t i = 0; e == 0 && r == STATUS_OK && i < changes.n; i++) {
        changes.list[i]->has_time_us = false; /* it is so from the beginning */
        e = cluster_apply(c, changes.list[i], &err);
    }
    simchange_done(&changes);
    if (e < 0)
        return say_error("%s", err.text[0] ? err.text : strerror(-e));
    if (r == STATUS_OK)
        *ret_books = TAKE_PTR(c);
    return r;
}

/* --blocks and --block-sizes. */
static int set_blocks(const struct sim_args *a, struct sim_machine *m, struct err *err)
{
    uint32_t sizes[TOPO_BLOCK_POWERS];
    size_t n = 0;

    for (const char *at = a->block_sizes; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char number[16];
        uint64_t size;

        (void)snprintf(number, sizeof(number), "%.*s", (int)MIN(strcspn(at, ","), (size_t)15), at);
        if (n == TOPO_BLOCK_POWERS || parse_u64(number, 1, MACHINE_MAX_NODES, &size) < 0)
            return err_set(err, -EINVAL, "--block-sizes: %.64s is no list of up to %u sizes",
                           a->block_sizes, TOPO_BLOCK_POWERS);
        sizes[n++] = (uint32_t)size;
    }
    return machine_set_blocks(m, (uint32_t)a->block_nodes, sizes, n, err);
}

static int run_policy(const struct sim_args *a, const struct workload *w, struct cluster *books,
                      struct sim_policy *p)
{
    struct simbar bar = simbar_begin(p->name, "jobs", a->quiet);
    struct sim_config config = { .progress = simbar_progress,
                                 .ctx = &bar,
                                 .bf_interval_s = BF_INTERVAL_S };
    struct err err = { .text = "" };
    uint64_t interval;
    int r = simload_conf(a, w, p->name, &p->conf);

    if (r != STATUS_OK)
        return r;
    feed_fill_params(p->conf, &config.sched);
    config.slice_us = preempt_slice_us(p->conf);
    if (!simload_is(p->name, "conf"))
        config.sched.conservative = simload_is(p->name, "conservative");
    if (conf_option_u64(p->conf, CONF_SCHEDULER_PARAMETERS, "bf_interval", &interval) &&
        interval <= 86400)
        config.bf_interval_s = (uint32_t)interval;
    if (books) {
        config.prime = books_prime;
        config.prime_ctx = books;
    }
    if (a->timing)
        config.clock_us = host_clock;
    r = machine_from_conf(p->conf, &p->machine, &err);
    if (r == 0 && a->block_nodes)
        r = set_blocks(a, p->machine, &err);
    else if (r == 0 && a->conf)
        r = simtopo_conf(p->conf, a->conf, p->machine, &err);
    if (r == 0)
        r = sim_run(p->machine, w, &config, &p->result, &err);
    simbar_end(&bar);
    if (r == 0)
        r = stats_make(p->machine, w, &p->result, &p->stats);
    return r < 0 ? say_error("%s: %s", p->name, err.text[0] ? err.text : strerror(-r)) : STATUS_OK;
}

static void policies_done(struct sim_policy *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        stats_done(&p[i].stats);
        sim_result_done(&p[i].result);
        machine_free(p[i].machine);
        conf_free(p[i].conf);
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static int write_text(const char *path, const struct strbuf *sb)
{
    FILE *f;
    bool ok;

    if (sb->failed)
        return say_nomem();
    f = fopen(path, "we");
    if (!f)
        return say_error("cannot write %s: %s", path, strerror(errno));
    ok = fwrite(strbuf_str(sb), 1, sb->len, f) == sb->len;
    ok = fclose(f) == 0 && ok;
    return ok ? STATUS_OK : say_error("cannot write %s: %s", path, strerror(errno));
}

static int write_chart(const char *dir, const char *name, const char *policy,
                       const struct strbuf *sb)
{
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/%s%s%s.svg", dir, name, policy ? "-" : "",
                   policy ? policy : "");
    return write_text(path, sb);
}

static int write_charts(const struct report *rp, const char *dir)
{
    static const struct {
        const char *name;
        void (*draw)(const struct report *rp, struct strbuf *out);
    } charts[] = { { "utilisation", chart_utilisation },
                   { "queue", chart_queue },
                   { "waits", chart_waits },
                   { "slowdown", chart_slowdown },
                   { "fragmentation", chart_fragmentation } };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    int r = STATUS_OK;

    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return say_error("cannot make the folder %s: %s", dir, strerror(errno));
    for (size_t i = 0; r == STATUS_OK && i < ARRAY_SIZE(charts); i++) {
        if (charts[i].draw == chart_fragmentation && !rp->runs[0].result->nblocks)
            continue;
        strbuf_reset(&sb);
        charts[i].draw(rp, &sb);
        r = write_chart(dir, charts[i].name, NULL, &sb);
    }
    for (size_t i = 0; r == STATUS_OK && i < rp->nruns; i++) {
        strbuf_reset(&sb);
        chart_allocation(rp, i, &sb);
        r = write_chart(dir, "nodes", rp->runs[i].name, &sb);
    }
    return r;
}

static int write_report(const struct sim_args *a, const struct report *rp)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    int r = STATUS_OK;

    if (a->json)
        report_json(rp, &sb);
    else
        report_text(rp, &sb);
    if (sb.failed)
        return say_nomem();
    (void)fputs(strbuf_str(&sb), stdout); /* stdout errors show at exit */
    if (a->html) {
        strbuf_reset(&sb);
        report_html(rp, &sb);
        r = write_text(a->html, &sb);
    }
    return r == STATUS_OK && a->svg ? write_charts(rp, a->svg) : r;
}

static void make_title(const struct sim_args *a, char *buf, size_t size)
{
    if (a->title)
        (void)snprintf(buf, size, "%s", a->title);
    else if (a->journal)
        (void)snprintf(buf, size, "Journal of %s", a->journal);
    else if (a->trace)
        (void)snprintf(buf, size, "Trace %s",
                       strcmp(a->trace, "-") == 0 ? "from standard input" : a->trace);
    else
        (void)snprintf(buf, size, "Generated workload %s, load %g, seed %llu", a->generate, a->load,
                       (unsigned long long)a->seed);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* "easy,easy+OPTION" -> policies; the rest of struct sim_policy stays empty. */
static int split_policies(const char *list, struct sim_policy *p, size_t *ret_n)
{
    size_t n = 0;

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t len = strcspn(at, ",");

        if (n == REPORT_MAX_RUNS)
            return usage_error("sim: --compare: more than %u policies", REPORT_MAX_RUNS);
        if (!len || len >= sizeof(p->name))
            return usage_error("sim: --compare: %s is no list of policies", list);
        memcpy(p[n].name, at, len);
        n++;
    }
    *ret_n = n;
    return STATUS_OK;
}

int cmd_sim(int argc, char **argv)
{
    _cleanup_(workload_free) struct workload *w = NULL;
    _cleanup_(cluster_free) struct cluster *books = NULL;
    struct sim_policy policies[REPORT_MAX_RUNS] = { 0 };
    struct report_run runs[REPORT_MAX_RUNS];
    char title[512];
    struct sim_args a;
    size_t n = 0;
    int r = simopts_parse(argc, argv, &a);

    if (r != STATUS_OK)
        return r < 0 ? STATUS_OK : r;
    if (a.from_live)
        return simlive_run(&a);
    if (a.verify)
        return simverify_run(&a);
    r = split_policies(a.compare, policies, &n);
    if (r == STATUS_OK)
        r = simload_workload(&a, &w);
    if (r == STATUS_OK)
        r = make_books(&a, w, &books);
    for (size_t i = 0; r == STATUS_OK && i < n; i++) {
        r = run_policy(&a, w, books, &policies[i]);
        runs[i] = (struct report_run){ policies[i].name, &policies[i].result, &policies[i].stats };
    }
    if (r == STATUS_OK) {
        struct report rp = { .title = title,
                             .machine = policies[0].machine,
                             .workload = w,
                             .runs = runs,
                             .nruns = n,
                             .costs = a.timing };

        make_title(&a, title, sizeof(title));
        r = write_report(&a, &rp);
    }
    policies_done(policies, n);
    return r;
}
