/* bench_watch.c - many watchers on a cluster at work: is every change told once, and what does the
 * core pay?
 *
 * Against the slurmctld of $SLURM_CONF (process -p PID): jobs are submitted at a steady rate for a
 * while without a watcher, then as long with -w of them, each a connection of its own.  The core
 * thread's CPU time comes from the kernel (schedstat).  Every watcher hashes the cursors it gets;
 * all must agree with each other and with one that reads the same stretch from the log afterwards.
 * Prints one JSON object.  Without $SLURM_CONF there is no controller to measure. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "watch.pb-c.h"

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "wire/client.h"
#include "fields.h"

#define SETTLE_US 60000000 /* for the last changes to arrive */

struct watcher {
    struct client *client;
    uint64_t lsn, hash, n, cursor;
    uint32_t index;
    bool ready, bad;
};

struct bench {
    struct client_target target;
    uid_t slurm_uid;
    unsigned nwatchers, rate, seconds, pid;
    struct watcher *w;
    struct client *submit;
    int epoll;
    uint64_t submitted, answered;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_watch: %s: %s\n", what, why);
    exit(1);
}

static struct client *dial(const struct bench *b)
{
    struct err err = { .text = "" };
    struct client *c;

    if (client_connect(&b->target, b->slurm_uid, &c, &err) < 0)
        die("connect", err.text);
    return c;
}

/* Run time of the core thread, the first of the process. */
static double core_ms(const struct bench *b)
{
    char path[64];
    unsigned long long ns = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", b->pid, b->pid);
    f = fopen(path, "r");
    if (!f || fscanf(f, "%llu", &ns) != 1)
        die(path, "cannot be read");
    (void)fclose(f); /* was only read */
    return (double)ns / 1e6;
}

/* ---- watchers -------------------------------------------------------------------------------- */

static uint64_t varint(const uint8_t **p, const uint8_t *end)
{
    uint64_t v = 0;

    for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
        v |= (uint64_t)(**p & 0x7f) << shift;
        if (!(*(*p)++ & 0x80))
            break;
    }
    return v;
}

/* A WatchChange begins with lsn and index. */
static void take_change(struct watcher *w, const uint8_t *p, const uint8_t *end)
{
    uint64_t lsn, index;

    p++;
    lsn = varint(&p, end);
    p++;
    index = varint(&p, end);
    if (lsn < w->lsn || (lsn == w->lsn && index <= w->index && w->n))
        w->bad = true; /* told twice, or out of order */
    w->lsn = lsn;
    w->index = (uint32_t)index;
    w->hash = (w->hash ^ (lsn * 64 + index)) * UINT64_C(0x100000001b3);
    w->n++;
}

static void take_frame(struct watcher *w, const struct frame *f)
{
    const uint8_t *p = f->body, *end = p + f->len;

    while (p < end) {
        uint64_t tag = varint(&p, end);
        uint64_t v = varint(&p, end);

        if (tag == (WATCH_BATCH_F_CHANGES << 3 | 2)) {
            if (v > (uint64_t)(end - p))
                die("frame", "cut short");
            take_change(w, p, p + v);
            p += v;
        } else if (tag == WATCH_BATCH_F_CURSOR_LSN << 3) {
            w->cursor = v;
        } else if (tag == WATCH_BATCH_F_READY << 3) {
            w->ready = true;
        } else if (tag == WATCH_BATCH_F_RESET << 3) {
            die("watcher", "the log does not reach back");
        }
    }
}

static void read_watcher(struct watcher *w)
{
    struct frame f;
    int r;

    while ((r = client_recv(w->client, 0, &f)) > 0)
        if (f.op == OP_WATCH)
            take_frame(w, &f);
    if (r < 0)
        die("watcher", client_strerror(w->client, r));
}

static void start_watcher(struct bench *b, struct watcher *w, bool since, uint64_t lsn)
{
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;
    uint32_t entities[] = { PST__WATCH_ENTITY__WATCH_JOB, PST__WATCH_ENTITY__WATCH_NODE,
                            PST__WATCH_ENTITY__WATCH_PARTITION };
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = w };

    *w = (struct watcher){ .client = dial(b) };
    req.entities = entities;
    req.n_entities = ARRAY_SIZE(entities);
    req.has_since_lsn = since;
    req.since_lsn = lsn;
    if (client_send(w->client, OP_WATCH, 0, client_next_id(w->client), &req.base) < 0 ||
        epoll_ctl(b->epoll, EPOLL_CTL_ADD, client_fd(w->client), &ev) < 0)
        die("watch", strerror(errno));
}

static void pump(struct bench *b, int timeout_ms)
{
    struct epoll_event ev[256];
    int n = epoll_wait(b->epoll, ev, (int)ARRAY_SIZE(ev), timeout_ms);

    for (int i = 0; i < n; i++)
        read_watcher(ev[i].data.ptr);
}

/* ---- load ------------------------------------------------------------------------------------ */

static void submit_one(struct bench *b)
{
    static uint8_t script[] = "#!/bin/sh\ntrue\n", env[] = "PATH=/usr/bin:/bin";
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    job.name = "bench";
    job.work_dir = "/tmp";
    job.std_out = "/dev/null";
    job.has_num_tasks = job.has_time_limit_min = job.has_mem_per_node_mib = true;
    job.num_tasks = 1;
    job.time_limit_min = 10;
    job.mem_per_node_mib = 1;
    job.has_batch = job.batch = true;
    req.job = &job;
    req.has_script = req.has_environment = true;
    req.script = (ProtobufCBinaryData){ sizeof(script) - 1, script };
    req.environment = (ProtobufCBinaryData){ sizeof(env), env };
    if (client_send(b->submit, OP_JOB_SUBMIT, 0, client_next_id(b->submit), &req.base) < 0)
        die("submit", "the connection is lost");
    b->submitted++;
}

static void take_answers(struct bench *b)
{
    struct frame f;

    while (client_recv(b->submit, 0, &f) > 0) {
        if (f.flags & FRAME_ERROR)
            die("submit", "refused");
        b->answered++;
    }
}

/* Jobs at the rate for the time; gives CPU of the core for each, in ms. */
static double run_load(struct bench *b, double *ret_rate)
{
    int64_t t0 = now_mono_us(), until = t0 + (int64_t)b->seconds * USEC_PER_SEC, now;
    uint64_t first = b->submitted;
    double before = core_ms(b), used;

    while ((now = now_mono_us()) < until || b->answered < b->submitted) {
        while (now < until && b->submitted - first < (uint64_t)(now - t0) * b->rate / USEC_PER_SEC)
            submit_one(b);
        take_answers(b);
        pump(b, 2);
        if (now > until + SETTLE_US)
            die("submit", "no answers");
    }
    for (now = now_mono_us(); now_mono_us() < now + 2 * USEC_PER_SEC;) /* what was begun ends */
        pump(b, 10);
    used = core_ms(b) - before;
    *ret_rate = (double)(b->submitted - first) / ((double)(now - t0) / 1e6);
    return used / (double)(b->submitted - first);
}

/* All watchers have what the one that reads the log has. */
static void check(struct bench *b, uint64_t since, uint64_t *ret_n, bool *ret_same)
{
    int64_t give_up = now_mono_us() + SETTLE_US;
    struct watcher *again = &b->w[b->nwatchers];
    bool done = false;

    start_watcher(b, again, true, since);
    while (!done && now_mono_us() < give_up) {
        pump(b, 50);
        done = again->n > 0;
        for (unsigned i = 0; done && i < b->nwatchers; i++)
            done = b->w[i].n == again->n && b->w[i].lsn == again->lsn;
    }
    *ret_same = true;
    for (unsigned i = 0; i < b->nwatchers; i++)
        *ret_same &= !b->w[i].bad && b->w[i].n == again->n && b->w[i].hash == again->hash;
    *ret_n = again->n;
}

int main(int argc, char **argv)
{
    struct bench b = { .nwatchers = 2000, .rate = 200, .seconds = 10 };
    const char *conf_path = getenv("SLURM_CONF");
    struct err err = { .text = "" };
    struct rlimit rl;
    struct conf *conf;
    double alone, watched, rate_alone, rate_watched;
    uint64_t since, changes;
    bool same;

    for (int o; (o = getopt(argc, argv, "w:r:s:p:")) != -1;) {
        unsigned v = (unsigned)strtoul(optarg, NULL, 10);

        *(o == 'w' ? &b.nwatchers : o == 'r' ? &b.rate : o == 's' ? &b.seconds : &b.pid) = v;
    }
    if (!conf_path || !b.pid) {
        printf("{\"bench\":\"watch\",\"skipped\":\"SLURM_CONF and -p PID name a controller to "
               "measure\"}\n");
        return 0;
    }
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
        rl.rlim_cur = rl.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &rl); /* too few: connecting fails and says so */
    }
    if (conf_load(conf_path, CONF_CLIENT, &conf, NULL, &err) < 0)
        die(conf_path, err.text);
    b.target = (struct client_target){ .try_local = true,
                                       .timeout_ms = 30000,
                                       .port = conf_ctld_port(conf),
                                       .cluster = conf_str(conf, CONF_CLUSTER_NAME),
                                       .program = "bench_watch" };
    b.slurm_uid = conf_slurm_uid(conf);
    b.epoll = epoll_create1(EPOLL_CLOEXEC);
    b.w = calloc(b.nwatchers + 1, sizeof(*b.w));
    if (!b.w || b.epoll < 0)
        die("start", strerror(errno));
    b.submit = dial(&b);
    alone = run_load(&b, &rate_alone);
    for (unsigned i = 0; i < b.nwatchers; i++)
        start_watcher(&b, &b.w[i], i > 0, b.w[0].cursor), pump(&b, i ? 0 : 1000);
    for (int64_t t0 = now_mono_us(); now_mono_us() < t0 + 5 * USEC_PER_SEC;)
        pump(&b, 50);
    for (unsigned i = 0; i < b.nwatchers; i++)
        if (!b.w[i].ready)
            die("watch", "a watcher did not begin");
    since = b.w[0].cursor;
    for (unsigned i = 0; i < b.nwatchers; i++)
        b.w[i].n = b.w[i].hash = 0;
    watched = run_load(&b, &rate_watched);
    check(&b, since, &changes, &same);
    printf("{\"bench\":\"watch\",\"watchers\":%u,\"jobs_per_s\":%.0f,\"changes\":%llu,\"each_"
           "once\":%s,"
           "\"core_ms_per_job_alone\":%.4f,\"core_ms_per_job_watched\":%.4f,\"ratio\":%.3f}\n",
           b.nwatchers, rate_watched, (unsigned long long)changes, same ? "true" : "false", alone,
           watched, watched / alone);
    conf_free(conf);
    return same ? 0 : 1;
}
