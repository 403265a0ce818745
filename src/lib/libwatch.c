/* libwatch.c - changes as they happen; see libpenstock.h
 *
 * The descriptor is an epoll set over the connection of the day and a timer for the next try, so it
 * stays the same while connections come and go.  Changes of a frame live in an arena until all of
 * them have been given; only then is the next frame read. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/argwords.h"
#include "cli/query/watch_line.h"
#include "lib/libhandle.h"
#include "lib/libfilter.h"
#include "lib/librow.h"
#include "model/words/names.h"
#include "session/dial.h"
#include "session/watchflow.h"
#include "wire/ops.h"

#define RETRY_NS 200000000

struct told {
    const Pst__WatchChange *change; /* NULL: a reset */
    const ProtobufCMessage *before, *after;
};

struct penstock_change {
    struct told told;
    struct penstock_row before, after;
    struct strbuf json;
};

struct penstock_watch {
    struct penstock *p;
    struct watchflow flow;
    struct libfilter filter;
    char **partitions;
    size_t n_partitions;
    struct client *client;
    int epoll_fd, timer_fd;
    struct pb_arena *arena;
    struct told *queue; /* of the frame in the arena */
    size_t n_queue, next;
    struct watchflow_place given; /* behind the change handed out last */
    bool begun, reset;            /* reset: to be told */
    struct penstock_change change;
    char cursor[48];
};

static const char *const entity_words[] = { "", "job", "node", "partition" };

static int add_told(penstock_watch *w, const struct told *t)
{
    struct told *queue = reallocarray(w->queue, w->n_queue + 1, sizeof(*queue));

    if (!queue)
        return -ENOMEM;
    w->queue = queue;
    w->queue[w->n_queue++] = *t;
    return 0;
}

static int on_change(void *ctx, const Pst__WatchChange *c, const ProtobufCMessage *before,
                     const ProtobufCMessage *after)
{
    penstock_watch *w = ctx;

    if (c->entity == PST__WATCH_ENTITY__WATCH_JOB &&
        !libfilter_match_task(&w->filter, c->id, c->array_job_id, c->has_array_task_id,
                              c->array_task_id))
        return 0;
    return add_told(w, &(struct told){ c, before, after });
}

/* Nothing waits to be told: everything up to here has been. */
static void catch_up(penstock_watch *w)
{
    if (w->next < w->n_queue)
        return;
    w->n_queue = w->next = 0;
    w->given = w->flow.at;
    w->begun = w->flow.have_at;
}

static void set_timer(penstock_watch *w, long ns)
{
    struct itimerspec at = { .it_value.tv_nsec = ns };

    (void)timerfd_settime(w->timer_fd, 0, &at, NULL); /* cannot fail: the time is ours */
}

int penstock_watch_new(penstock *p, penstock_watch **ret)
{
    penstock_watch *w = calloc(1, sizeof(*w));
    struct epoll_event ev = { .events = EPOLLIN };
    int r;

    if (!w)
        return lib_nomem(p);
    w->p = p;
    libfilter_init(&w->filter);
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    r = w->epoll_fd < 0 || w->timer_fd < 0 ||
                epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->timer_fd, &ev) < 0
            ? -errno
            : pb_arena_new(&w->arena);
    if (r < 0) {
        penstock_watch_free(w);
        return lib_fail(p, r, 0, "%s", strerror(-r));
    }
    w->flow.keep_text = true;
    w->flow.on_change = on_change;
    w->flow.ctx = w;
    set_timer(w, 1); /* who polls shall call */
    *ret = w;
    return 0;
}

void penstock_watch_free(penstock_watch *w)
{
    if (!w)
        return;
    w->client = client_free(w->client);
    if (w->epoll_fd >= 0)
        (void)close(w->epoll_fd);
    if (w->timer_fd >= 0)
        (void)close(w->timer_fd);
    (void)pb_arena_free(w->arena); /* always NULL */
    libfilter_done(&w->filter);
    argwords_free(w->partitions, w->n_partitions);
    strbuf_done(&w->change.before.texts);
    strbuf_done(&w->change.after.texts);
    strbuf_done(&w->change.json);
    free(w->queue);
    free(w);
}

/* ---- what is watched ------------------------------------------------------------------------- */

static int set_types(penstock_watch *w, const char *value)
{
    char **words = NULL;
    size_t n = 0;
    int r = 0;

    argwords_add(&words, &n, value);
    w->flow.entities = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        unsigned e = 1;

        while (e < ARRAY_SIZE(entity_words) && strcmp(entity_words[e], words[i]) != 0)
            e++;
        if (e < ARRAY_SIZE(entity_words))
            w->flow.entities |= 1u << e;
        else
            r = lib_fail(w->p, -EINVAL, 0, "type: job, node or partition is wanted: %.100s",
                         words[i]);
    }
    argwords_free(words, n);
    return r;
}

int penstock_watch_set(penstock_watch *w, const char *name, const char *value)
{
    if (w->begun || w->client)
        return lib_fail(w->p, -EINVAL, 0, "the stream has begun");
    if (strcmp(name, "type") == 0)
        return set_types(w, value);
    if (strcmp(name, "cursor") == 0) {
        if (watchflow_place_parse(value, &w->flow.at) < 0)
            return lib_fail(w->p, -EINVAL, 0, "cursor: %.100s is none", value);
        w->flow.have_at = true;
        catch_up(w);
        w->begun = false; /* it can be set anew */
        return 0;
    }
    if (strcmp(name, "partition") == 0)
        argwords_add(&w->partitions, &w->n_partitions, value);
    return libfilter_set(&w->filter, w->p, name, value);
}

/* ---- the connection -------------------------------------------------------------------------- */

static void lose_connection(penstock_watch *w)
{
    w->client = client_free(w->client); /* it leaves the set with its descriptor */
    set_timer(w, RETRY_NS);
}

/* A connection that asks for changes.  0 also while the controller is away. */
static int begin_asking(penstock_watch *w)
{
    struct epoll_event ev = { .events = EPOLLIN };
    int r = lib_conf(w->p, NULL);

    if (r < 0)
        return r;
    r = lib_take_client(w->p, true, &w->client);
    if (r == 0 && epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, client_fd(w->client), &ev) < 0)
        return lib_fail(w->p, -errno, 0, "%s", strerror(errno));
    if (!w->flow.entities)
        w->flow.entities = 1u << PST__WATCH_ENTITY__WATCH_JOB;
    w->flow.jobs = &w->filter.jobs;
    w->flow.nodes = w->filter.jobs.nodes;
    w->flow.partitions = w->partitions;
    w->flow.n_partitions = w->n_partitions;
    if (r == 0)
        r = watchflow_ask(&w->flow, w->client, w->flow.have_at);
    if (r == 0)
        set_timer(w, 0); /* no next try */
    if (r < 0 && !dial_may_come_back(r) && r != -EBUSY && r != -EHOSTUNREACH)
        return r;
    if (r < 0)
        lose_connection(w);
    return 0;
}

static int take_frame(penstock_watch *w, const struct frame *frame)
{
    int r;

    if (frame->op != OP_WATCH)
        return 0;
    if (frame->flags & FRAME_ERROR) {
        r = lib_fail_frame(w->p, frame);
        if (!lib_code_is_passing(w->p->code))
            return r;
        lose_connection(w);
        return 0;
    }
    r = watchflow_take(&w->flow, w->arena, frame);
    if (r == 1) {
        w->reset = true;
        w->flow.have_at = false;
        lose_connection(w);
        return 0;
    }
    if (r < 0)
        return lib_fail(w->p, r == -ENOMEM ? r : -EPROTO, 0,
                        "The controller's answer cannot be read");
    catch_up(w);
    return 0;
}

/* Read one frame, if it is there.  1 something was read, 0 nothing, negative: it is over. */
static int read_frame(penstock_watch *w)
{
    struct frame frame;
    int r = w->client ? client_recv(w->client, 0, &frame) : 0;

    if (r > 0)
        return take_frame(w, &frame) < 0 ? w->p->code ? -EREMOTEIO : -EPROTO : 1;
    if (r == -EREMOTEIO && !lib_code_is_passing(client_error(w->client, NULL)))
        return lib_fail_client(w->p, w->client, r);
    if (r < 0)
        lose_connection(w);
    return 0;
}

/* Take what has come, as far as one frame with something to tell.  Connects when it is time. */
static int pump_stream(penstock_watch *w)
{
    uint64_t ticks;
    int r = 0;

    if (!w->client && read(w->timer_fd, &ticks, sizeof(ticks)) == sizeof(ticks))
        r = begin_asking(w);
    while (r >= 0 && w->next >= w->n_queue && !w->reset) {
        r = read_frame(w);
        if (r <= 0)
            break;
    }
    return MIN(r, 0);
}

/* Until done(w), an error, or the time: 1, 0 the time has come. */
static int pump_until(penstock_watch *w, int timeout_ms, bool (*done)(const penstock_watch *w))
{
    int64_t deadline = timeout_ms < 0 ? INT64_MAX : now_mono_us() + (int64_t)timeout_ms * 1000;

    for (;;) {
        struct pollfd pfd = { .fd = w->epoll_fd, .events = POLLIN };
        int64_t left_ms = timeout_ms < 0 ? -1 : (deadline - now_mono_us() + 999) / 1000;
        int r = done(w) ? 1 : pump_stream(w);

        if (r != 0 || (r == 0 && done(w)))
            return r < 0 ? r : 1;
        if (timeout_ms >= 0 && left_ms <= 0)
            return 0;
        if (poll(&pfd, 1, (int)MIN(left_ms, (int64_t)INT_MAX)) < 0 && errno == EINTR)
            return timeout_ms < 0 ? lib_fail(w->p, -EINTR, 0, "%s", strerror(EINTR)) : 0;
    }
}

static bool has_begun(const penstock_watch *w)
{
    return w->flow.have_at && w->client;
}

static bool has_news(const penstock_watch *w)
{
    return w->next < w->n_queue || w->reset;
}

int penstock_watch_start(penstock_watch *w, int timeout_ms)
{
    return pump_until(w, timeout_ms, has_begun);
}

int penstock_watch_fd(const penstock_watch *w)
{
    return w->epoll_fd;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void set_row(struct penstock_row *row, unsigned entity, const ProtobufCMessage *record)
{
    row->kind = librow_kind_of(entity);
    row->record = record;
}

static void hand_out(penstock_watch *w, const struct told *t)
{
    w->change.told = *t;
    if (!t->change)
        return;
    set_row(&w->change.before, t->change->entity, t->before);
    set_row(&w->change.after, t->change->entity, t->after);
    w->given = (struct watchflow_place){ .lsn = t->change->lsn, .index = t->change->index };
}

int penstock_watch_next(penstock_watch *w, int timeout_ms, penstock_change **ret)
{
    int r;

    catch_up(w);
    r = pump_until(w, timeout_ms, has_news);
    if (r <= 0)
        return r;
    if (w->next < w->n_queue) {
        hand_out(w, &w->queue[w->next++]);
    } else {
        hand_out(w, &(struct told){ 0 });
        w->reset = false;
    }
    *ret = &w->change;
    return 1;
}

const char *penstock_watch_cursor(penstock_watch *w)
{
    w->cursor[0] = '\0';
    if (w->given.lsn && w->given.index == WATCHFLOW_WHOLE)
        (void)snprintf(w->cursor, sizeof(w->cursor), "%llu", (unsigned long long)w->given.lsn);
    else if (w->given.lsn)
        (void)snprintf(w->cursor, sizeof(w->cursor), "%llu.%u", (unsigned long long)w->given.lsn,
                       w->given.index); /* both fit */
    return w->cursor;
}

const char *penstock_change_event(const penstock_change *c)
{
    const char *word;

    if (!c->told.change)
        return "reset";
    if (c->told.change->gone)
        return "purged";
    word = names_event(c->told.change->kind);
    return word ? word : "changed";
}

const char *penstock_change_type(const penstock_change *c)
{
    return c->told.change ? entity_words[c->told.change->entity] : "";
}

uint32_t penstock_change_id(const penstock_change *c)
{
    return c->told.change ? c->told.change->id : 0;
}

int64_t penstock_change_time_us(const penstock_change *c)
{
    return c->told.change ? c->told.change->time_us : 0;
}

penstock_row *penstock_change_before(penstock_change *c)
{
    return c->told.change ? &c->before : NULL;
}

penstock_row *penstock_change_after(penstock_change *c)
{
    return c->told.change ? &c->after : NULL;
}

const char *penstock_change_json(penstock_change *c)
{
    const Pst__WatchChange *change = c->told.change;
    struct watch_line line;

    if (!change)
        return NULL;
    line = (struct watch_line){ .entity = change->entity,
                                .change = change,
                                .lsn = change->lsn,
                                .index = change->index,
                                .time_us = change->time_us,
                                .name = change->name,
                                .before = c->told.before,
                                .after = c->told.after };
    strbuf_reset(&c->json);
    watch_line_add(&c->json, &line, true);
    return c->json.failed ? NULL : strbuf_str(&c->json);
}
