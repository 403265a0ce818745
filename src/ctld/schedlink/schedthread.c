/* schedthread.c - the scheduler's thread
 *
 * Sleeps until something changes or a job becomes eligible, applies all changes that have
 * gathered, runs one quick pass at once, and backfill when jobs are left waiting.  Backfill is
 * held to a fraction of the thread's time, and changes that arrive meanwhile wait for its end
 * only. */
#include "ctld/schedlink/schedthread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "feed/licensefeed.h"
#include "ctld/schedlink/licenses.h"
#include "ctld/core/service.h"
#include "ctld/front/view.h"

#define BACKFILL_MIN_GAP_US 20000 /* between two backfill passes */
/* a plan that goes on where it stood is left for changes after so long */
#define BACKFILL_TURN_US 100000
/* a backfill of t is followed by at least t * this without one */
#define BACKFILL_SHARE 8

struct schedthread {
    struct ctld *ctld;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct feed *head, *tail;
    /* under lock: lists that were handed over, and those of them that are applied */
    uint64_t lists_given, lists_applied;
    bool stopped; /* under lock: nobody takes what is handed over */
    pthread_cond_t applied;
    struct sched *sched;
    struct sched_params params; /* as given last */
    bool backfill;              /* SchedulerType */
    uint64_t passes, seen_lsn;  /* what the feeds so far stand for */
    uint64_t seen_batch;        /* the last batch of feeds */
    uint64_t refused;
    struct pass_note *notes; /* of the passes since the last proposal */
    size_t nnotes, cap_notes;
    struct pass_told usage, shares; /* for the next note */
    int64_t wake_us;                /* when a job becomes eligible */
    bool backfill_due;              /* something changed since the last one */
    int64_t backfill_not_before_mono_us;
    int64_t pass_due_mono_us;        /* when the next quick pass is to run; INT64_MAX: none is */
    int64_t pass_not_before_mono_us; /* sched_min_interval after the last one */
    int64_t hold_mono_us;            /* no pass before; INT64_MAX at first; see nodesback.h */
    bool partial;                    /* jobs are still to come; see restfeed.c */
    int64_t held_mono_us;            /* hold_mono_us from when all have come */
    struct feed *asked, **asked_end; /* questions until then */
    int64_t renew_us;                /* when the plan is to be made anew though nothing changes */
    struct sched_stats stats;
    int64_t blocks_mono_us;                       /* the next sample of blocks is due */
    struct histogram pass_us[2]; /* main, plan */ /* under lock */
};

void decisions_msg_free(struct decisions_msg *m)
{
    if (!m)
        return;
    sched_decisions_done(&m->d);
    sched_explanation_done(&m->explained);
    free(m->notes);
    free(m);
}

/* Core thread. */
static void deliver_decisions(void *arg)
{
    struct decisions_msg *m = arg;

    services_on_decisions(m->ctld, m);
}

static void drop_decisions(void *arg)
{
    decisions_msg_free(arg);
}

static void post_decisions(struct schedthread *t, struct decisions_msg *m)
{
    struct cmd *cmd = must(calloc(1, sizeof(*cmd)));

    m->ctld = t->ctld;
    cmd->kind = CMD_CALL;
    cmd->fn = deliver_decisions;
    cmd->drop = drop_decisions;
    cmd->arg = m;
    (void)core_post(t->ctld, cmd); /* never refused: it is no request */
}

static struct decisions_msg *msg_new(void)
{
    return must(calloc(1, sizeof(struct decisions_msg)));
}

static void run_pass(struct schedthread *t, bool backfill, int64_t *ret_wake_us);

/* What is told of a job is so in a settled state: first start every job that can start. */
static void settle_queue(struct schedthread *t)
{
    if (now_mono_us() < t->hold_mono_us)
        return;
    run_pass(t, false, &t->wake_us);
    if (t->backfill)
        run_pass(t, true, NULL);
}

static void answer_when(struct schedthread *t, const struct feed *f)
{
    struct decisions_msg *m = msg_new();

    m->when = true;
    m->ticket = f->ticket;
    m->d.items = calloc(1, sizeof(*m->d.items));
    if (!m->d.items) {
        free(m);
        return;
    }
    m->d.n = m->d.cap = 1;
    if (f->plan)
        settle_queue(t);
    m->when_result = sched_when(t->sched, &f->job, now_us(), &m->d.items[0]);
    /* -ENOMEM: m->explained is empty, and no more than the start is told */
    if (f->plan && sched_explain(t->sched, &f->job, NULL, 0, now_us(), &m->explained) == 0)
        m->planned = true;
    post_decisions(t, m);
}

static void answer_explain(struct schedthread *t, const struct feed *f)
{
    struct decisions_msg *m = msg_new();

    settle_queue(t);
    m->explain = true;
    m->ticket = f->ticket;
    m->when_result =
        sched_explain(t->sched, &f->job, f->others, f->nothers, now_us(), &m->explained);
    post_decisions(t, m);
}

/* Gives false when the thread should end. */
static bool apply_feed(struct schedthread *t, struct feed *f)
{
    int r = 0;

    switch (f->kind) {
    case FEED_PARAMS:
        t->params = *f->params;
        t->backfill = f->params->backfill;
        r = feed_apply(t->sched, f);
        break;
    case FEED_ASK:
    case FEED_APPLIED:
        f->ask.run(TAKE_PTR(f->ask.arg), t->sched, &t->params);
        break;
    case FEED_EXPLAIN:
        answer_explain(t, f);
        break;
    case FEED_WHEN:
        answer_when(t, f);
        break;
    case FEED_STOP:
        return false;
    case FEED_OVERTAKEN:
        t->refused++;
        break;
    case FEED_REFUSED:
        t->refused++;
        r = feed_apply(t->sched, f);
        break;
    case FEED_HOLD:
        *(t->partial ? &t->held_mono_us : &t->hold_mono_us) =
            t->ctld->no_scheduling ? INT64_MAX : f->start_us;
        break;
    case FEED_PARTIAL:
        t->partial = true;
        t->held_mono_us = t->hold_mono_us;
        t->hold_mono_us = INT64_MAX;
        break;
    case FEED_WHOLE:
        if (t->partial)
            t->hold_mono_us = t->held_mono_us;
        t->partial = false;
        break;
    case FEED_NEXT_TASK:
        break;
    case FEED_TOLD:
        t->usage = (struct pass_told){ f->start_us, f->told_lsn };
        break;
    case FEED_SHARES:
        t->shares = (struct pass_told){ f->start_us, f->told_lsn };
        r = feed_apply(t->sched, f);
        break;
    default:
        r = feed_apply(t->sched, f);
        break;
    }
    if (r < 0)
        log_error("the scheduler refused a change (kind %d, job %u): %s", (int)f->kind, f->job_id,
                  strerror(-r));
    return true;
}

/* A question about a queue that is not whole yet waits until it is. */
static bool puts_off(struct schedthread *t, struct feed *f)
{
    if (!t->partial || (f->kind != FEED_ASK && f->kind != FEED_EXPLAIN && f->kind != FEED_WHEN))
        return false;
    f->next = NULL;
    *t->asked_end = f;
    t->asked_end = &f->next;
    return true;
}

void feed_free(struct feed *f)
{
    if (f && f->ask.arg)
        f->ask.drop(f->ask.arg);
    feed_release(f);
}

static void answer_put_off(struct schedthread *t)
{
    struct feed *list = TAKE_PTR(t->asked);

    t->asked_end = &t->asked;
    while (list) {
        struct feed *f = list;

        list = f->next;
        (void)apply_feed(t, f); /* a question ends no thread */
        feed_free(f);
    }
}

/* *ret_given: how many lists there were so far. */
static struct feed *take_feeds(struct schedthread *t, int64_t wake_us, int64_t wake_mono_us,
                               uint64_t *ret_given)
{
    int64_t mono = now_mono_us(), until = wake_mono_us;
    struct feed *list;

    if (wake_us != INT64_MAX)
        until = MIN(until, mono + MAX(wake_us - now_us(), 0));
    until = MIN(until, mono + 3600 * USEC_PER_SEC);
    pthread_mutex_lock(&t->lock);
    while (!t->head) {
        struct timespec ts = { .tv_sec = until / USEC_PER_SEC,
                               .tv_nsec = until % USEC_PER_SEC * 1000 };

        if (pthread_cond_timedwait(&t->wake, &t->lock, &ts) == ETIMEDOUT)
            break;
    }
    list = t->head;
    t->head = t->tail = NULL;
    *ret_given = t->lists_given;
    pthread_mutex_unlock(&t->lock);
    return list;
}

/* Blocks change with starts and ends: a pass is the moment to look. */
static void sample_blocks(struct schedthread *t)
{
    struct sched_stats *s = &t->stats;
    int64_t mono_us = now_mono_us();
    struct sched_blocks b;

    if (mono_us < t->blocks_mono_us || !sched_blocks(t->sched, &b))
        return;
    t->blocks_mono_us = mono_us + USEC_PER_SEC;
    pthread_mutex_lock(&t->lock);
    s->blocks = b;
    s->block_samples++;
    s->block_score_total += b.score;
    s->block_score_max = MAX(s->block_score_max, b.score);
    pthread_mutex_unlock(&t->lock);
}

static void note_planning(struct schedthread *t, bool active)
{
    pthread_mutex_lock(&t->lock);
    t->stats.bf_active = active;
    pthread_mutex_unlock(&t->lock);
}

static void count_pass(struct schedthread *t, const struct decisions_msg *m, bool backfill)
{
    struct sched_stats *s = &t->stats;

    histogram_add(&t->pass_us[backfill], m->elapsed_us);
    sample_blocks(t);
    pthread_mutex_lock(&t->lock);
    if (backfill) {
        s->bf_cycles++;
        s->bf_last_us = m->elapsed_us;
        s->bf_total_us += m->elapsed_us;
        s->bf_max_us = MAX(s->bf_max_us, m->elapsed_us);
        s->bf_depth = m->d.bf_depth;
        s->bf_depth_total += m->d.bf_depth;
        s->bf_started += m->d.bf_started;
        s->bf_started_ever += m->d.bf_started;
        s->bf_het_ever += m->d.bf_het_started;
        s->bf_queue_len = m->d.queue_len;
        s->bf_queue_total += m->d.queue_len;
        s->bf_exits[m->d.exit]++;
        s->bf_when_us = now_us();
        views_note_plan(t->ctld->views, s->bf_when_us);
    } else {
        s->cycles++;
        s->cycle_last_us = m->elapsed_us;
        s->cycle_total_us += m->elapsed_us;
        s->cycle_max_us = MAX(s->cycle_max_us, m->elapsed_us);
        s->depth_total += m->d.depth;
        s->queue_len = m->d.queue_len;
        s->spares = m->d.spares;
        s->exits[m->d.exit]++;
    }
    pthread_mutex_unlock(&t->lock);
}

const struct histogram *schedthread_histogram(const struct schedthread *t, bool plan)
{
    return &t->pass_us[plan];
}

void schedthread_stats(struct schedthread *t, struct sched_stats *ret, bool reset)
{
    pthread_mutex_lock(&t->lock);
    *ret = t->stats;
    if (reset)
        t->stats = (struct sched_stats){ .bf_started_ever = t->stats.bf_started_ever,
                                         .bf_het_ever = t->stats.bf_het_ever,
                                         .bf_active = t->stats.bf_active };
    pthread_mutex_unlock(&t->lock);
}

static bool feeds_wait(struct schedthread *t)
{
    bool wait;

    pthread_mutex_lock(&t->lock);
    wait = t->head != NULL;
    pthread_mutex_unlock(&t->lock);
    return wait;
}

/* Backfill to its end, or until a change has come: at once where the plan goes on with it where
 * it stood, else, as it is begun anew, after bf_yield_interval. */
static int backfill_pieces(struct schedthread *t, struct pass_note *note, struct sched_decisions *d,
                           bool *ret_more)
{
    int64_t began = now_mono_us(), turn_us;
    bool more = true;
    int r = 0;

    do {
        note->pieces++;
        r = sched_backfill_some(t->sched, note->now_us, PASS_PIECE, d, &more);
        turn_us = t->params.bf_yield_interval_us;
        if (sched_backfill_keeps(t->sched))
            turn_us = MIN(turn_us, BACKFILL_TURN_US);
    } while (r >= 0 && more && !(now_mono_us() >= began + turn_us && feeds_wait(t)));
    *ret_more = more;
    return r;
}

size_t pass_notes_forget(struct pass_note *notes, size_t n, size_t first)
{
    for (size_t i = first; i-- > 0 && first < n;) { /* what was told stays known */
        if (!notes[first].usage.us)
            notes[first].usage = notes[i].usage;
        if (!notes[first].shares.us)
            notes[first].shares = notes[i].shares;
    }
    memmove(notes, notes + first, (n - first) * sizeof(*notes));
    return n - first;
}

/* The note of a pass that begins now.  Too many between two proposals: the older half is
 * forgotten, which numbers show. */
static struct pass_note *note_pass(struct schedthread *t)
{
    if (t->nnotes == PASS_NOTES_MAX) {
        t->nnotes = pass_notes_forget(t->notes, t->nnotes, PASS_NOTES_MAX / 2);
    }
    if (t->nnotes == t->cap_notes) {
        size_t cap = t->cap_notes ? t->cap_notes * 2 : 16;
        struct pass_note *grown = must(realloc(t->notes, cap * sizeof(*grown)));

        t->notes = grown;
        t->cap_notes = cap;
    }
    t->notes[t->nnotes] = (struct pass_note){ .number = ++t->passes,
                                              .seen_lsn = t->seen_lsn,
                                              .now_us = now_us(),
                                              .usage = t->usage,
                                              .shares = t->shares,
                                              .refused = t->refused };
    t->usage = t->shares = (struct pass_told){ 0 };
    return &t->notes[t->nnotes++];
}

/* One pass; its outcome goes to the core when there is any. */
static void run_pass(struct schedthread *t, bool backfill, int64_t *ret_wake_us)
{
    struct decisions_msg *m = msg_new();
    int64_t t0 = now_mono_us();
    struct pass_note *note;
    bool more = false;
    int r;

    note = note_pass(t);
    m->seen_batch = t->seen_batch;
    if (backfill) {
        note_planning(t, true);
        r = backfill_pieces(t, note, &m->d, &more);
        note_planning(t, false);
    } else
        r = sched_pass(t->sched, note->now_us, &m->d, ret_wake_us);
    m->elapsed_us = (uint64_t)(now_mono_us() - t0);
    if (r < 0)
        log_error("the scheduling pass ended early: %s", strerror(-r));
    if (backfill) {
        int64_t gap_us =
            more && sched_backfill_keeps(t->sched) ? 0 : (int64_t)m->elapsed_us * BACKFILL_SHARE;

        t->backfill_not_before_mono_us = now_mono_us() + MAX(gap_us, BACKFILL_MIN_GAP_US);
        t->backfill_due = more;
        t->renew_us = m->d.backfilled ? m->d.renew_us : t->renew_us;
    }
    count_pass(t, m, backfill);
    if (backfill)
        log_flag(BACKFILL, "pass %llu planned %u of %u waiting jobs and started %u, in %llu us",
                 (unsigned long long)note->number, m->d.bf_depth, m->d.queue_len, m->d.bf_started,
                 (unsigned long long)m->elapsed_us);
    if (m->d.n) {
        m->notes = TAKE_PTR(t->notes);
        m->nnotes = t->nnotes;
        t->nnotes = t->cap_notes = 0;
        post_decisions(t, m);
    } else {
        decisions_msg_free(m);
    }
}

/* With SchedulerParameters=defer, defer_batch, batch_sched_delay: is this change a reason for a
 * pass at once?  A new job is not, nor is a question. */
static bool hurries_pass(const struct sched_params *params, const struct feed *f)
{
    if (f->kind == FEED_JOB)
        return !params->defer && !f->has_script;
    return f->kind != FEED_PRICE && f->kind != FEED_TOLD && f->kind != FEED_ASK;
}

/* Something changed: say when the quick pass for it runs.  A later change may bring the pass
 * forward, never put it off.  A pass sees one task of an array; where it goes on with the next one,
 * sched_min_interval does not stand between them. */
static void plan_pass(struct schedthread *t, bool hurry, bool goes_on)
{
    int64_t at = now_mono_us() + (hurry ? 0 : (int64_t)t->params.batch_delay_s * USEC_PER_SEC);

    if (!goes_on)
        at = MAX(at, t->pass_not_before_mono_us);
    t->pass_due_mono_us = MIN(t->pass_due_mono_us, at);
}

/* Run the quick pass when its time has come. */
static void run_due_pass(struct schedthread *t)
{
    if (now_mono_us() < MAX(t->pass_due_mono_us, t->hold_mono_us))
        return;
    t->pass_due_mono_us = INT64_MAX;
    run_pass(t, false, &t->wake_us);
    t->pass_not_before_mono_us = now_mono_us() + t->params.min_interval_us;
    t->backfill_due = t->backfill && sched_pending(t->sched) > 0;
}

static void note_applied(struct schedthread *t, uint64_t given)
{
    pthread_mutex_lock(&t->lock);
    t->lists_applied = given;
    pthread_cond_signal(&t->applied);
    pthread_mutex_unlock(&t->lock);
}

static void *run_scheduler(void *arg)
{
    struct schedthread *t = arg;
    uint64_t given;
    bool go = true;

    t->wake_us = t->renew_us = t->pass_due_mono_us = INT64_MAX;
    while (go) {
        int64_t bf_at = t->backfill_due ? t->backfill_not_before_mono_us : INT64_MAX;
        struct feed *list =
            take_feeds(t, MIN(t->wake_us, t->renew_us),
                       MAX(MIN(bf_at, t->pass_due_mono_us), t->hold_mono_us), &given);
        bool changed = list != NULL, hurry = false, goes_on = false;

        if (t->wake_us != INT64_MAX && now_us() >= t->wake_us) {
            t->wake_us = INT64_MAX; /* the pass tells the next time */
            changed = hurry = true;
        }

        while (list) {
            struct feed *f = list;

            list = f->next;
            hurry = hurry || hurries_pass(&t->params, f);
            goes_on = goes_on || f->kind == FEED_NEXT_TASK;
            if (f->lsn)
                t->seen_lsn = f->lsn;
            if (f->batch)
                t->seen_batch = f->batch;
            if (puts_off(t, f))
                continue;
            if (go)
                go = apply_feed(t, f);
            feed_free(f);
        }
        if (!t->partial)
            answer_put_off(t);
        note_applied(t, given);
        if (!go)
            break;
        if (changed)
            plan_pass(t, hurry, goes_on);
        run_due_pass(t);
        if (t->backfill && now_us() >= t->renew_us) {
            t->backfill_due = true;
            t->renew_us = INT64_MAX;
        }
        if (t->backfill_due &&
            now_mono_us() >= MAX(t->backfill_not_before_mono_us, t->hold_mono_us)) {
            t->backfill_due = false;
            run_pass(t, true, NULL);
        }
    }
    return NULL;
}

int schedthread_start(struct ctld *ctld, struct schedthread **ret)
{
    struct schedthread *t = calloc(1, sizeof(*t));
    struct sched_params params;
    pthread_condattr_t attr;
    int r;

    if (!t)
        return -ENOMEM;
    t->ctld = ctld;
    feed_fill_params(ctld->conf, &params);
    t->params = params;
    t->backfill = params.backfill;
    t->hold_mono_us = INT64_MAX; /* until everything is told: nodesback.c ends it */
    t->asked_end = &t->asked;
    r = sched_new(&params, &t->sched);
    if (r >= 0)
        r = licenses_configure(t->sched, licenses_all(ctld));
    if (r < 0) {
        sched_free(t->sched);
        free(t);
        return r;
    }
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->applied, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &attr);
    pthread_condattr_destroy(&attr);
    r = -pthread_create(&t->thread, NULL, run_scheduler, t);
    if (r < 0) {
        sched_free(t->sched);
        free(t);
        return r;
    }
    threadname_set(t->thread, "sched");
    *ret = t;
    return 0;
}

static void drop_list(struct feed *list)
{
    while (list) {
        struct feed *f = list;

        list = f->next;
        feed_free(f);
    }
}

void schedthread_feed(struct schedthread *t, struct feed *list, struct feed *last)
{
    bool stopped;

    pthread_mutex_lock(&t->lock);
    stopped = t->stopped;
    if (!stopped) {
        if (t->tail)
            t->tail->next = list;
        else
            t->head = list;
        t->tail = last;
        t->lists_given++;
        pthread_cond_signal(&t->wake); /* with the lock: behind it, t may be free already */
    }
    pthread_mutex_unlock(&t->lock);
    if (stopped)
        drop_list(list);
}

void schedthread_catch_up(struct schedthread *t, unsigned lists)
{
    pthread_mutex_lock(&t->lock);
    while (t->lists_given - t->lists_applied > lists)
        pthread_cond_wait(&t->applied, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void schedthread_stop(struct schedthread *t)
{
    struct feed *stop, *left;

    if (!t)
        return;
    stop = must(calloc(1, sizeof(*stop)));
    stop->kind = FEED_STOP;
    schedthread_feed(t, stop, stop);
    pthread_join(t->thread, NULL);
    pthread_mutex_lock(&t->lock);
    t->stopped = true;
    left = t->head;
    t->head = t->tail = NULL;
    t->lists_applied = t->lists_given; /* nobody waits for them */
    pthread_mutex_unlock(&t->lock);
    drop_list(left);
    drop_list(TAKE_PTR(t->asked));
    t->asked_end = &t->asked;
}

struct schedthread *schedthread_free(struct schedthread *t)
{
    if (!t)
        return NULL;
    sched_free(t->sched);
    free(t->notes);
    pthread_cond_destroy(&t->wake);
    pthread_cond_destroy(&t->applied);
    pthread_mutex_destroy(&t->lock);
    free(t);
    return NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_thread(struct ctld *ctld, struct err *err)
{
    (void)err;
    return schedthread_start(ctld, &ctld->sched);
}

static void stop_thread(struct ctld *ctld)
{
    schedthread_stop(ctld->sched);
}

static void free_thread(struct ctld *ctld)
{
    ctld->sched = schedthread_free(ctld->sched);
}

const struct ctld_service schedthread_service = {
    .name = "schedthread",
    .observe = start_thread,
    .quiesce = stop_thread,
    .free = free_thread,
};
