/* serve.c - answers to accounting requests; see serve.h.
 *
 * A request is in one place at a time: in a list (it waits for the cursor or a thread), with a
 * thread, or aside because FRAMES_AHEAD frames of it wait for the peer.  Each frame is handed over
 * as a stream of the connection, which asks for it when there is room; its end brings a query for
 * jobs back into the list.  The object lives until the last request is gone, since connections may
 * hold frames longer than its owner holds it. */
#include "acctd/serve.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "acct/admin/admin_sight.h"
#include "acct/archive.h"
#include "acct/sql/db.h"
#include "acct/usage/rollup.h"
#include "acctd/acctjobs.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "wire/errors.h"
#include "wire/server/rpcstat.h"
#include "wire/server/server.h"

#define READERS 3u
#define THREADS_MAX 32u
#define QUERIES_MAX 256u /* at a time; more are told to come again */
#define QUERIES_USER 64u /* of those one user may have, ... */
/* ... and of them with rows of the store open; the others wait for these */
#define ACTIVE_USER 8u
#define QUERIES_KEPT 32u /* for administrators */
/* a user's answer that is read for longer is given up: it holds the store */
#define SLOW_US (1800 * USEC_PER_SEC)
#define FRAMES_AHEAD 4u
#define FRAMES_TURN 16u                  /* then others that wait for a thread come first */
#define ROLL_US (20 * USEC_PER_SEC)      /* usage is looked after so often */
#define BEHIND_MAX_US (8 * USEC_PER_SEC) /* a request waits this long for the cursor */

/* What a thread keeps between requests. */
struct worker {
    struct serve *serve;
    pthread_t thread;
    bool writes;
    bool roll_failing;    /* and said so */
    int64_t roll_mono_us; /* when usage is looked after next */
    int64_t purged_hour;  /* old rows were looked for in this hour */
    struct archivescript script;
    struct sql *db;
};

/* A user who is no administrator and has requests here. */
struct asker {
    struct asker *next;
    uid_t uid;
    unsigned all, active, running; /* requests: anywhere; begun; with a thread */
};

struct serve {
    struct serve_config config;
    char *location, *cluster;
    struct worker workers[THREADS_MAX]; /* the last one writes */
    unsigned nthreads;
    struct serve_settings settings; /* under the lock, as is roll */
    struct {
        int64_t when_us;
        uint64_t last_us, max_us, total_us, cycles;
    } roll;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct query *head, **tail; /* waiting */
    unsigned nqueries;          /* anywhere; each keeps the object alive */
    struct asker *askers;
    bool released; /* by its owner */
    atomic_bool stopping;
    char trouble[ERR_TEXT_MAX];
};

struct query {
    struct query *next;
    struct serve *serve;
    struct conn *conn;
    struct asker *asker;        /* NULL: an administrator; its counts: under the lock */
    const struct serve_op *row; /* NULL: jobs */
    unsigned op;
    uint32_t id;
    uint64_t lsn;
    int64_t deadline_mono_us, slow_mono_us;
    bool begun, runs; /* under the lock */
    ProtobufCMessage *msg;
    struct jobs_stream *jobs;
    bool aside, over;
    bool gone;      /* the connection; under the lock */
    unsigned ahead; /* frames with the connection; likewise */
};

/* While a thread has it. */
struct serve_call {
    struct query *query;
    struct worker *worker;
};

/* A frame on its way into a connection. */
struct piece {
    struct query *query;
    uint8_t *buf;
    size_t len;
};

/* ---- life ------------------------------------------------------------------------------------ */

static void serve_destroy(struct serve *s)
{
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s->location);
    free(s->cluster);
    free(s);
}

/* The lock is held.  NULL: out of memory, or he has too many requests here. */
static struct asker *asker_enter(struct serve *s, uid_t uid)
{
    struct asker *a = s->askers;

    while (a && a->uid != uid)
        a = a->next;
    if (!a) {
        a = calloc(1, sizeof(*a));
        if (!a)
            return NULL;
        a->uid = uid;
        a->next = s->askers;
        s->askers = a;
    }
    if (a->all >= QUERIES_USER)
        return NULL;
    a->all++;
    return a;
}

/* The lock is held; a may be freed. */
static void asker_leave(struct serve *s, struct asker *a, bool begun)
{
    struct asker **at = &s->askers;

    a->active -= begun;
    if (begun && s->head)
        pthread_cond_broadcast(&s->changed); /* another of his may begin */
    if (--a->all)
        return;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    free(a);
}

/* May a thread take it?  One thread is left to others than this user.  The lock is held. */
static bool asker_may_run(const struct serve *s, const struct query *q)
{
    unsigned readers = s->nthreads > 1 ? s->nthreads - 1 : 1;

    if (!q->asker)
        return true;
    if (!(q->row->flags & SERVE_WRITES) && q->asker->running >= MAX(readers - 1, 1u))
        return false;
    return q->begun || q->asker->active < ACTIVE_USER;
}

/* A thread takes it, or is done with it.  The lock is held. */
static void asker_runs(struct query *q, bool runs)
{
    if (!q->asker || q->runs == runs)
        return;
    q->runs = runs;
    q->asker->running += runs ? 1u : -1u;
    if (!q->begun)
        q->asker->active++;
    q->begun = true;
    if (!runs && q->serve->head)
        pthread_cond_broadcast(&q->serve->changed); /* his next one may go on */
}

static void query_free(struct query *q)
{
    struct serve *s = q->serve;
    bool last;

    q->jobs = jobs_stream_free(q->jobs);
    if (q->msg)
        protobuf_c_message_free_unpacked(q->msg, NULL);
    conn_unref(q->conn);
    pthread_mutex_lock(&s->lock);
    if (q->asker)
        asker_leave(s, q->asker, q->begun);
    free(q);
    last = --s->nqueries == 0 && s->released;
    pthread_mutex_unlock(&s->lock);
    if (last)
        serve_destroy(s);
}

static void list_add(struct serve *s, struct query *q)
{
    q->next = NULL;
    *s->tail = q;
    s->tail = &q->next;
    pthread_cond_broadcast(&s->changed); /* not every thread takes every request */
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool piece_next(struct conn *c, void *arg)
{
    struct piece *piece = arg;

    conn_send_take(c, TAKE_PTR(piece->buf), piece->len);
    return false;
}

static void piece_done(void *arg)
{
    struct piece *piece = arg;
    struct query *q = piece->query;
    struct serve *s = q->serve;
    bool dead;

    pthread_mutex_lock(&s->lock);
    q->gone = q->gone || piece->buf; /* never asked for */
    q->ahead--;
    dead = q->over && !q->ahead;
    if (q->aside && q->ahead <= FRAMES_AHEAD / 2 && !atomic_load(&s->stopping)) {
        q->aside = false;
        list_add(s, q);
    } else if (q->aside && !q->ahead) {
        dead = true; /* no worker will take it up again */
    }
    pthread_mutex_unlock(&s->lock);
    free(piece->buf);
    free(piece);
    if (dead)
        query_free(q);
}

/* Hand a frame to the connection; buf is taken. */
static int send_frame(struct query *q, uint8_t *buf, size_t len)
{
    struct piece *piece = malloc(sizeof(*piece));

    if (!piece) {
        free(buf);
        return -ENOMEM;
    }
    *piece = (struct piece){ .query = q, .buf = buf, .len = len };
    pthread_mutex_lock(&q->serve->lock);
    q->ahead++;
    pthread_mutex_unlock(&q->serve->lock);
    conn_stream(q->conn, piece_next, piece_done, piece);
    return 0;
}

static void send_error(struct query *q, int code, const char *text)
{
    uint8_t *buf;
    size_t len;

    if (frame_pack_error((uint16_t)q->op, q->id, code, text, &buf, &len) < 0 ||
        send_frame(q, buf, len) < 0)
        conn_close(q->conn); /* an answer that never comes is worse */
}

/* ---- operations ------------------------------------------------------------------------------ */

const char *serve_location(const struct serve_call *call)
{
    return call->query->serve->location;
}

const char *serve_cluster(const struct serve_call *call)
{
    return call->query->serve->cluster;
}

/* Without the paths: they are for purging alone. */
static void get_settings(struct serve *s, struct serve_settings *ret, bool with_dir)
{
    pthread_mutex_lock(&s->lock);
    memcpy(ret, &s->settings, offsetof(struct serve_settings, dir));
    if (with_dir) {
        memcpy(ret->dir, s->settings.dir, sizeof(ret->dir));
        memcpy(ret->script, s->settings.script, sizeof(ret->script));
    }
    pthread_mutex_unlock(&s->lock);
}

static bool is_admin(const struct serve *s, const struct query *q)
{
    return s->config.is_admin && s->config.is_admin(s->config.admin_ctx, conn_peer(q->conn)->uid);
}

/* Whose private things the user sees who asks. */
static int ask_sight(const struct query *q, struct admin_sight *ret, struct err *err)
{
    const struct serve_config *config = &q->serve->config;

    *ret = (struct admin_sight){ .all = is_admin(q->serve, q) };
    return ret->all || !config->sight
               ? 0
               : config->sight(config->admin_ctx, conn_peer(q->conn)->uid, ret, err);
}

int serve_sees_usage(const struct serve_call *call, struct admin_sight *ret, struct err *err)
{
    struct serve_settings set;

    get_settings(call->query->serve, &set, false);
    if (set.private_usage)
        return ask_sight(call->query, ret, err);
    *ret = (struct admin_sight){ .all = true };
    return 0;
}

bool serve_may_archive(const struct serve_call *call)
{
    struct serve_settings set;

    get_settings(call->query->serve, &set, false);
    return !set.no_archive;
}

void serve_settings_of(const struct serve_call *call, struct serve_settings *ret)
{
    get_settings(call->query->serve, ret, true);
}

bool serve_tracks_down(const struct serve_call *call)
{
    struct serve_settings set;

    get_settings(call->query->serve, &set, false);
    return set.track_down;
}

uint32_t serve_commit_delay_s(const struct serve_call *call)
{
    struct serve_settings set;

    get_settings(call->query->serve, &set, false);
    return set.commit_delay_s;
}

struct feeds *serve_feeds(const struct serve_call *call)
{
    return call->query->serve->config.feeds;
}

uid_t serve_uid(const struct serve_call *call)
{
    return conn_peer(call->query->conn)->uid;
}

struct conn *serve_conn(const struct serve_call *call)
{
    return call->query->conn;
}

const atomic_bool *serve_stopping(const struct serve_call *call)
{
    return &call->query->serve->stopping;
}

int serve_db(struct serve_call *call, struct sql **ret_db, struct err *err)
{
    struct worker *w = call->worker;
    int r = 0;

    if (!w->db)
        r = w->writes ? acct_db_open(w->serve->location, &w->db, err)
                      : acct_db_open_reader(w->serve->location, &w->db, err);
    if (r == 0)
        *ret_db = w->db;
    return r;
}

static void forget_worker(struct worker *w)
{
    w->db = sql_close(w->db);
}

int serve_reply(struct serve_call *call, const ProtobufCMessage *msg, bool more)
{
    struct query *q = call->query;
    uint8_t *buf;
    size_t len;
    int r = frame_pack(q->op, FRAME_REPLY | (more ? FRAME_MORE : 0), q->id, 0, msg, &buf, &len);

    return r < 0 ? r : send_frame(q, buf, len);
}

/* ---- one request ----------------------------------------------------------------------------- */

static bool must_wait(struct query *q)
{
    struct serve *s = q->serve;
    bool wait;

    pthread_mutex_lock(&s->lock);
    wait = q->ahead >= FRAMES_AHEAD || q->gone;
    pthread_mutex_unlock(&s->lock);
    return wait;
}

/* Send frames of jobs until the peer is behind or it is another's turn (1), or all is said (0). */
static int stream_jobs(struct query *q, struct err *err)
{
    for (unsigned frames = 0; frames < FRAMES_TURN && !must_wait(q); frames++) {
        uint8_t *buf;
        size_t len;
        int more = jobs_stream_frame(q->jobs, q->id, &buf, &len, err);
        int r = more < 0 ? more : send_frame(q, buf, len);

        if (r < 0 || !more)
            return r;
    }
    return 1;
}

static int wait_for_feed(struct query *q, struct err *err)
{
    struct serve *s = q->serve;
    uint64_t cursor = s->config.cursor ? s->config.cursor(s->config.ctx) : UINT64_MAX;
    char trouble[ERR_TEXT_MAX];

    if (!q->lsn || cursor >= q->lsn)
        return 0;
    pthread_mutex_lock(&s->lock);
    memcpy(trouble, s->trouble, sizeof(trouble));
    pthread_mutex_unlock(&s->lock);
    return err_set(err, -EAGAIN, "The accounting database is %llu records behind%s%s, please retry",
                   (unsigned long long)(q->lsn - cursor), trouble[0] ? ": " : "", trouble);
}

static void report_failure(struct query *q, int r, const struct err *err)
{
    int code = SLURM_ERROR;

    if (r == -EAGAIN || r == -EBUSY)
        code = EPST_BUSY;
    else if (r == -ECANCELED)
        code = EPST_SHUTTING_DOWN;
    else if (!q->jobs && (r == -EINVAL || r == -E2BIG))
        code = EPST_BAD_REQUEST;
    else
        log_limited(LOG_ERROR, "an accounting request failed: %s",
                    err->text[0] ? err->text : strerrordesc_np(-r));
    send_error(q, code, r == -ECANCELED || !err->text[0] ? NULL : err->text);
}

/* Leave the request where it belongs now. */
static void settle_query(struct query *q, bool over)
{
    struct serve *s = q->serve;
    bool dead = false;

    pthread_mutex_lock(&s->lock);
    asker_runs(q, false);
    over = over || q->gone;
    if (over) {
        q->over = true;
        dead = !q->ahead;
    } else if (q->ahead > FRAMES_AHEAD / 2) {
        q->aside = true;
    } else {
        list_add(s, q); /* they were taken meanwhile */
    }
    pthread_mutex_unlock(&s->lock);
    if (dead)
        query_free(q);
}

/* Of private jobs: those of the one who asks and of the accounts that he coordinates. */
static int keep_seen(struct query *q, Pst__AcctFilter *f, struct err *err)
{
    struct admin_sight sight;
    int r = ask_sight(q, &sight, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < f->n_seen_accounts; i++)
        free(f->seen_accounts[i]);
    free(f->seen_accounts);
    f->has_seen_uid = !sight.all;
    f->seen_uid = conn_peer(q->conn)->uid;
    f->seen_accounts = sight.accounts; /* the request's from now on */
    f->n_seen_accounts = sight.n;
    return 0;
}

/* Jobs that are named are few, whenever they ran. */
static int check_range(const struct serve_settings *set, const Pst__AcctFilter *f, struct err *err)
{
    int64_t end = f->has_end_us ? f->end_us : now_us(), start = f->has_start_us ? f->start_us : 0;
    int64_t range;

    if (!set->max_range_us || f->n_job_ids)
        return 0;
    if (!__builtin_sub_overflow(end, start, &range) && range <= set->max_range_us)
        return 0;
    return err_set(err, -E2BIG, "Too wide of a date range in query (MaxQueryTimeRange)");
}

static int run_jobs(struct query *q, struct err *err)
{
    Pst__AcctFilter *f = (Pst__AcctFilter *)q->msg;
    struct serve_settings set;
    int r = 0;

    get_settings(q->serve, &set, false);
    if (!q->jobs && !is_admin(q->serve, q)) {
        r = check_range(&set, f, err);
        if (r == 0 && set.private_jobs)
            r = keep_seen(q, f, err);
    }
    if (r == 0 && !q->jobs)
        r = jobs_stream_open(q->serve->location, (Pst__AcctFilter *)q->msg, q->lsn,
                             &q->serve->stopping, &q->jobs, err);
    return r < 0 ? r : stream_jobs(q, err);
}

/* Rows that stay open for hours keep the store from being tidied up. */
static int check_pace(const struct query *q, struct err *err)
{
    if (!q->asker || now_mono_us() < q->slow_mono_us)
        return 0;
    return err_set(err, -EAGAIN, "The answer was read too slowly");
}

static void handle_query(struct worker *w, struct query *q)
{
    struct serve_call call = { .query = q, .worker = w };
    struct err err = { .text = "" };
    int64_t start = now_mono_us();
    bool first = !q->jobs;
    int r = q->jobs ? check_pace(q, &err) : wait_for_feed(q, &err);

    if (r == 0)
        r = q->row->fn ? q->row->fn(&call, q->msg, &err) : run_jobs(q, &err);
    if (r < 0) {
        report_failure(q, r, &err);
        forget_worker(w); /* a lost connection is opened again */
    }
    if (w->serve->config.rpcs && first)
        rpc_count(w->serve->config.rpcs, q->op, now_mono_us() - start);
    settle_query(q, r <= 0);
}

/* ---- the threads ----------------------------------------------------------------------------- */

/* The first request that this thread can serve; else *ret_until is when one gives up. */
static struct query *take_ready(struct serve *s, bool writes, int64_t *ret_until)
{
    uint64_t cursor = s->config.cursor ? s->config.cursor(s->config.ctx) : UINT64_MAX;
    int64_t now = now_mono_us();

    *ret_until = now + 3600 * USEC_PER_SEC;
    for (struct query **at = &s->head, *q; (q = *at); at = &q->next) {
        if (!!(q->row->flags & SERVE_WRITES) != writes || !asker_may_run(s, q))
            continue;
        if (!q->jobs && q->lsn > cursor && now < q->deadline_mono_us) {
            *ret_until = MIN(*ret_until, q->deadline_mono_us);
            continue;
        }
        *at = q->next;
        if (s->tail == &q->next)
            s->tail = at;
        asker_runs(q, true);
        return q;
    }
    return NULL;
}

/* ArchiveScript keeps what is old, in place of our files.  1: it runs; 0: what it was told of may
 * go, as of *now_us. */
static int run_script(struct worker *w, struct serve_settings *set, int64_t *now_us,
                      struct err *err)
{
    int r = 1;

    if (w->script.pid > 0)
        r = archivescript_look(&w->script, set->script, err);
    else if (archivescript_wanted(&set->purge))
        r = archivescript_start(&w->script, set->script, &set->purge, *now_us, err) < 0 ? -EIO : 1;
    else
        return 0;
    if (r < 0)
        w->purged_hour = *now_us / USEC_PER_SEC / 3600; /* the next hour brings the next try */
    if (r == 0)
        *now_us = w->script.told_us;
    archivescript_spare(&set->purge);
    return r;
}

/* Old rows go, once an hour.  1: ArchiveScript runs, look again soon. */
static int purge_old(struct worker *w, struct err *err)
{
    _cleanup_free_ struct serve_settings *set = malloc(sizeof(*set));
    int64_t now = now_us(), hour = now / USEC_PER_SEC / 3600;
    uint64_t rows = 0;
    int r;

    if (!set)
        return -ENOMEM;
    if (hour == w->purged_hour && w->script.pid <= 0)
        return 0;
    get_settings(w->serve, set, true);
    set->purge.dir = set->dir;
    r = set->script[0] || w->script.pid > 0 ? run_script(w, set, &now, err) : 0;
    if (r != 0)
        return r;
    r = acct_archive(w->db, &set->purge, now, NULL, &rows, err);
    if (r < 0)
        return r;
    w->purged_hour = hour;
    if (rows && !set->script[0])
        log_info("archived %llu rows in %s", (unsigned long long)rows, set->dir);
    return 0;
}

static void note_roll(struct serve *s, uint64_t took_us)
{
    pthread_mutex_lock(&s->lock);
    s->roll.when_us = now_us();
    s->roll.last_us = took_us;
    s->roll.max_us = MAX(s->roll.max_us, took_us);
    s->roll.total_us += took_us;
    s->roll.cycles++;
    pthread_mutex_unlock(&s->lock);
}

/* Sum usage up as far as it is due, one piece at a time, so that requests come between; then
 * purge. */
static void look_after(struct worker *w)
{
    const struct serve_config *config = &w->serve->config;
    struct err err = { .text = "" };
    struct serve_settings set;
    int r = w->db ? 0 : acct_db_open(w->serve->location, &w->db, &err);

    get_settings(w->serve, &set, false);
    if (r == 0 && set.track_down && config->feeds)
        r = config->note_gone(config->feeds, w->db, &err);
    if (r == 0 && !set.no_rollup) {
        int64_t start = now_mono_us();

        r = acct_roll_up(w->db, &err);
        if (r >= 0)
            note_roll(w->serve, (uint64_t)(now_mono_us() - start));
    }
    if (r == 0)
        r = purge_old(w, &err);
    if (r < 0 && !w->roll_failing)
        log_error("%s: trying again", err.text);
    if (r < 0)
        forget_worker(w);
    w->roll_failing = r < 0;
    w->roll_mono_us = now_mono_us() + (w->script.pid > 0 ? USEC_PER_SEC : r == 1 ? 0 : ROLL_US);
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    struct serve *s = w->serve;

    pthread_mutex_lock(&s->lock);
    while (!atomic_load(&s->stopping)) {
        int64_t until, roll = w->writes ? w->roll_mono_us : INT64_MAX;
        struct query *q = take_ready(s, w->writes, &until);
        struct timespec ts;

        if (!q && now_mono_us() < roll) {
            until = MIN(until, roll);
            ts = (struct timespec){ .tv_sec = until / USEC_PER_SEC,
                                    .tv_nsec = until % USEC_PER_SEC * 1000 };
            (void)pthread_cond_timedwait(&s->changed, &s->lock, &ts); /* looks again either way */
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        if (q)
            handle_query(w, q);
        else
            look_after(w);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    archivescript_end(&w->script);
    forget_worker(w);
    return NULL;
}

struct serve *serve_free(struct serve *s)
{
    struct query *q;
    bool last;

    if (!s)
        return NULL;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->stopping, true);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < s->nthreads; i++)
        pthread_join(s->workers[i].thread, NULL);
    while ((q = s->head)) {
        s->head = q->next;
        send_error(q, EPST_SHUTTING_DOWN, NULL);
        settle_query(q, true);
    }
    pthread_mutex_lock(&s->lock);
    s->released = true;
    last = !s->nqueries;
    pthread_mutex_unlock(&s->lock);
    if (last)
        serve_destroy(s);
    return NULL;
}

int serve_new(const struct serve_config *config, struct serve **ret)
{
    struct serve *s = calloc(1, sizeof(*s));
    unsigned readers = config->readers ? MIN(config->readers, THREADS_MAX - 1) : READERS;
    pthread_condattr_t attr;

    if (!s)
        return -ENOMEM;
    s->config = *config;
    if (config->settings)
        s->settings = *config->settings;
    s->tail = &s->head;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attr);
    pthread_condattr_destroy(&attr);
    s->location = strdup(config->location);
    s->cluster = config->cluster ? strdup(config->cluster) : NULL;
    if (!s->location || (config->cluster && !s->cluster)) {
        serve_free(s);
        return -ENOMEM;
    }
    for (; s->nthreads <= readers; s->nthreads++) {
        struct worker *w = &s->workers[s->nthreads];
        int r;

        *w = (struct worker){ .serve = s,
                              .writes = s->nthreads == readers,
                              .roll_mono_us = now_mono_us() + USEC_PER_SEC };
        r = pthread_create(&w->thread, NULL, run_worker, w);
        if (r) {
            serve_free(s);
            return -r;
        }
        threadname_set(w->thread, w->writes ? "acct-write" : "acct-query");
    }
    *ret = s;
    return 0;
}

void serve_set(struct serve *s, const struct serve_settings *settings)
{
    pthread_mutex_lock(&s->lock);
    s->settings = *settings;
    pthread_mutex_unlock(&s->lock);
}

void serve_stats(struct serve *s, Pst__DiagReply *reply, bool reset)
{
    pthread_mutex_lock(&s->lock);
    if (s->roll.cycles) {
        reply->has_rollup_when_us = reply->has_rollup_last_us = reply->has_rollup_max_us = true;
        reply->has_rollup_total_us = reply->has_rollup_cycles = true;
        reply->rollup_when_us = s->roll.when_us;
        reply->rollup_last_us = s->roll.last_us;
        reply->rollup_max_us = s->roll.max_us;
        reply->rollup_total_us = s->roll.total_us;
        reply->rollup_cycles = s->roll.cycles;
    }
    if (reset)
        memset(&s->roll, 0, sizeof(s->roll));
    pthread_mutex_unlock(&s->lock);
}

/* Who may ask for something is let in: with *ret_asker, which is NULL for administrators.  The
 * lock is held. */
static bool take_place(struct serve *s, uid_t uid, struct asker **ret_asker)
{
    bool admin = s->config.is_admin && s->config.is_admin(s->config.admin_ctx, uid);

    *ret_asker = NULL;
    if (s->nqueries >= QUERIES_MAX - (admin ? 0 : QUERIES_KEPT) || atomic_load(&s->stopping))
        return false;
    if (!admin)
        *ret_asker = asker_enter(s, uid);
    return admin || *ret_asker;
}

void serve_request(struct serve *s, struct conn *conn, const struct frame *frame, uint64_t lsn)
{
    const struct serve_op *row = s->config.find_op(frame->op);
    struct err err = { .text = "" };
    ProtobufCMessage *msg;
    struct asker *asker = NULL;
    struct query *q;
    bool full;

    if (frame_unpack_request(frame, &msg, &err) < 0) {
        (void)conn_error(conn, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        return;
    }
    q = calloc(1, sizeof(*q));
    pthread_mutex_lock(&s->lock);
    full = !q || !take_place(s, conn_peer(conn)->uid, &asker);
    if (!full) {
        *q = (struct query){ .serve = s,
                             .asker = asker,
                             .slow_mono_us = now_mono_us() + SLOW_US,
                             .conn = conn_ref(conn),
                             .row = row,
                             .op = frame->op,
                             .id = frame->id,
                             .lsn = lsn,
                             .deadline_mono_us = now_mono_us() + BEHIND_MAX_US,
                             .msg = msg };
        s->nqueries++;
        list_add(s, q); /* a thread may be done with it as soon as the lock is free */
    }
    pthread_mutex_unlock(&s->lock);
    if (full) {
        (void)conn_error(conn, frame->op, frame->id, EPST_BUSY, NULL); /* else it times out */
        protobuf_c_message_free_unpacked(msg, NULL);
        free(q);
    } else if (s->config.hurry) {
        s->config.hurry(s->config.ctx, lsn);
    }
}

void serve_advanced(struct serve *s, const char *trouble)
{
    pthread_mutex_lock(&s->lock);
    (void)snprintf(s->trouble, sizeof(s->trouble), "%s", trouble ? trouble : "");
    if (s->head)
        pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}
