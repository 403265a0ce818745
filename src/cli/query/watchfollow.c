/* watchfollow.c - follow changes and print a line for each; see watchfollow.h
 *
 * First a snapshot from the views, kept back until the controller says that the record it shows is
 * durable; then the changes behind it.  `at` is the place reached: everything up to it was printed.
 * When the connection goes, the next one begins there, so nothing is missed or told twice. */
#include "cli/query/watchfollow.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/query/out_query.h"
#include "cli/query/watch_line.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "wire/watchfields.h"

#define RETRY_MS 200
#define ENTITIES (PST__WATCH_ENTITY__WATCH_PARTITION + 1)

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    (void)sig;
    interrupted = 1;
}

struct follow {
    const struct watch_options *o;
    struct client *client;
    bool have_at;
    uint64_t at_lsn;
    uint32_t at_index;
    uint64_t snap_lsn[ENTITIES]; /* the snapshot shows the state at */
    unsigned entity;             /* being asked for */
    struct strbuf held;          /* the snapshot's lines */
    struct strbuf out;
    struct pb_arena *arena;
    bool told_lost;
};

int watch_cursor_parse(const char *text, uint64_t *ret_lsn, uint32_t *ret_index)
{
    _cleanup_free_ char *lsn = strndup(text, strcspn(text, "."));
    const char *dot = strchr(text, '.');
    uint64_t index = UINT32_MAX;

    if (!lsn || parse_u64(lsn, 0, UINT64_MAX / 2, ret_lsn) < 0 ||
        (dot && parse_u64(dot + 1, 0, UINT32_MAX, &index) < 0))
        return -EINVAL;
    *ret_index = (uint32_t)index;
    return 0;
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

static bool task_wanted(const struct follow *f, uint32_t id, uint32_t array, bool has_task,
                        uint32_t task)
{
    return !f->o->ids || filter_ids_match(f->o->ids, id, array, has_task, task) ||
           filter_ids_match_whole(f->o->ids, id, array);
}

static int on_record(void *ctx, const ProtobufCMessage *rec, const struct query_info *info)
{
    struct follow *f = ctx;
    struct watch_line line = { .entity = f->entity,
                               .snapshot = true,
                               .lsn = info->lsn,
                               .index = UINT32_MAX,
                               .time_us = info->now_us,
                               .after = rec };

    if (f->entity == PST__WATCH_ENTITY__WATCH_JOB) {
        const Pst__JobRecord *j = (const Pst__JobRecord *)rec;

        if (!task_wanted(f, j->job_id, j->array_job_id, j->has_array_task_id, j->array_task_id))
            return 0;
        watch_line_identify_job(&line, j);
    } else if (f->entity == PST__WATCH_ENTITY__WATCH_NODE) {
        line.name = ((const Pst__NodeRecord *)rec)->name;
    } else {
        line.name = ((const Pst__PartitionRecord *)rec)->name;
    }
    f->snap_lsn[f->entity] = info->lsn;
    watch_line_add(&f->held, &line, f->o->json);
    return 0;
}

static int send_query(struct follow *f, unsigned entity)
{
    static const unsigned ops[] = { [PST__WATCH_ENTITY__WATCH_JOB] = OP_QUERY_JOBS,
                                    [PST__WATCH_ENTITY__WATCH_NODE] = OP_QUERY_NODES,
                                    [PST__WATCH_ENTITY__WATCH_PARTITION] = OP_QUERY_PARTITIONS };
    const struct watch_fields *w = watch_fields(entity);
    _cleanup_free_ uint32_t *fields = xmalloc_or_die((w->nfields + w->nidentity) * sizeof(*fields));
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    struct query_info info = { 0 };
    struct strbuf names = STRBUF_INIT;
    int r;

    memcpy(fields, w->fields, w->nfields * sizeof(*fields));
    memcpy(fields + w->nfields, w->identity, w->nidentity * sizeof(*fields));
    req.fields = fields;
    req.n_fields = w->nfields + w->nidentity;
    req.jobs = entity == PST__WATCH_ENTITY__WATCH_JOB ? f->o->jobs : NULL;
    if (entity == PST__WATCH_ENTITY__WATCH_NODE)
        req.names = (char *)f->o->nodes; /* only read */
    for (size_t i = 0; entity == PST__WATCH_ENTITY__WATCH_PARTITION && i < f->o->n_partitions; i++)
        strbuf_addf(&names, "%s%s", i ? "," : "", f->o->partitions[i]);
    if (names.len)
        req.names = (char *)strbuf_str(&names);
    f->entity = entity;
    r = query_run(f->client, ops[entity], &req.base, w->desc, on_record, f, &info);
    f->snap_lsn[entity] = info.lsn;
    strbuf_done(&names);
    return r;
}

/* Lines of every record asked for; the place to go on from is the oldest of the states shown. */
static int take_snapshot(struct follow *f)
{
    uint64_t from = UINT64_MAX;
    int r = 0;

    strbuf_reset(&f->held);
    for (unsigned e = 1; r >= 0 && e < ENTITIES; e++) {
        if (!(f->o->entities >> e & 1))
            continue;
        r = send_query(f, e);
        from = MIN(from, f->snap_lsn[e]);
    }
    f->at_lsn = from;
    f->at_index = UINT32_MAX;
    return r;
}

/* ---- changes --------------------------------------------------------------------------------- */

static int ask_again(struct follow *f, bool since)
{
    Pst__WatchRequest req = PST__WATCH_REQUEST__INIT;
    Pst__JobFilter jobs = PST__JOB_FILTER__INIT;
    uint32_t entities[ENTITIES];

    req.entities = entities;
    for (unsigned e = 1; e < ENTITIES; e++)
        if (f->o->entities >> e & 1)
            entities[req.n_entities++] = e;
    if (f->o->jobs) {
        jobs = *f->o->jobs;
        if (f->o->all_states)
            jobs.n_states = 0;
        req.jobs = &jobs;
    }
    req.nodes = (char *)f->o->nodes; /* only read */
    req.partitions = f->o->partitions;
    req.n_partitions = f->o->n_partitions;
    req.has_since_lsn = since;
    req.since_lsn = f->at_lsn;
    req.has_since_index = since && f->at_index != UINT32_MAX;
    req.since_index = f->at_index;
    return client_send(f->client, OP_WATCH, 0, client_next_id(f->client), &req.base);
}

static int on_change(struct follow *f, const Pst__WatchChange *c)
{
    const struct watch_fields *w = watch_fields(c->entity);
    struct watch_line line = { .entity = c->entity,
                               .change = c,
                               .lsn = c->lsn,
                               .index = c->index,
                               .time_us = c->time_us,
                               .name = c->name };

    if (!w || c->lsn < f->at_lsn || (c->lsn == f->at_lsn && c->index <= f->at_index) ||
        c->lsn <= f->snap_lsn[c->entity])
        return 0;
    if (c->entity == PST__WATCH_ENTITY__WATCH_JOB &&
        !task_wanted(f, c->id, c->array_job_id, c->has_array_task_id, c->array_task_id))
        return 0;
    line.before = query_unpack(f->arena, w->desc, c->before.data, c->before.len);
    line.after = query_unpack(f->arena, w->desc, c->after.data, c->after.len);
    if (!line.before || !line.after)
        return -EBADMSG;
    watch_line_add(&f->out, &line, f->o->json);
    return 0;
}

/* 0 go on, 1 begin anew, negative: the connection is of no use. */
static int on_frame(struct follow *f, const struct frame *frame)
{
    const Pst__WatchBatch *b;
    int r = 0;

    pb_arena_reset(f->arena);
    b = (const Pst__WatchBatch *)query_unpack(f->arena, &pst__watch_batch__descriptor, frame->body,
                                              frame->len);
    if (!b)
        return -EBADMSG;
    if (b->has_reset && b->reset)
        return 1;
    if (b->has_ready && b->ready) {
        f->told_lost = false;
        if (f->have_at)
            return 0; /* we know better where we are within that record */
        cli_write_out(&f->held, true);
        f->at_lsn = b->cursor_lsn;
        f->at_index = UINT32_MAX;
        f->have_at = true;
    }
    for (size_t i = 0; r >= 0 && i < b->n_changes; i++) {
        const Pst__WatchChange *c = (const Pst__WatchChange *)query_unpack(
            f->arena, &pst__watch_change__descriptor, b->changes[i].data, b->changes[i].len);

        r = c ? on_change(f, c) : -EBADMSG;
    }
    if (r < 0)
        return r;
    cli_write_out(&f->out, true);
    if (b->has_cursor_lsn && b->cursor_lsn >= f->at_lsn) {
        f->at_lsn = b->cursor_lsn;
        f->at_index = UINT32_MAX;
    }
    return 0;
}

/* Wait for bytes or a signal. */
static int wait_readable(const struct follow *f, const sigset_t *unblocked)
{
    struct pollfd p = { .fd = client_fd(f->client), .events = POLLIN };

    if (p.fd < 0)
        return -EPIPE;
    return ppoll(&p, 1, NULL, unblocked) < 0 && errno != EINTR ? -errno : 0;
}

static int read_on(struct follow *f, const sigset_t *unblocked)
{
    while (!interrupted) {
        struct frame frame;
        int r = client_recv(f->client, 0, &frame);

        if (r == 0)
            r = wait_readable(f, unblocked);
        else if (r > 0 && frame.op == OP_WATCH && (frame.flags & FRAME_ERROR)) {
            Pst__Error *e;

            if (FRAME_UNPACK(error, &frame, &e, NULL) < 0)
                return -EBADMSG;
            cli_error("%s", e->text ? e->text : "refused");
            exit(CLI_EXIT_FAILED);
        } else if (r > 0 && frame.op == OP_WATCH)
            r = on_frame(f, &frame);
        else if (r > 0)
            r = 0;
        if (r != 0)
            return r;
    }
    return 0;
}

/* One connection: until it goes, the log no longer reaches back, or a signal. */
static int run_session(struct follow *f, const sigset_t *unblocked)
{
    bool since = f->have_at;
    struct err err = { .text = "" };
    int r = cli_connect_once(f->o->cli, &f->client, &err);

    if (r < 0 && !cli_may_come_back(r) && r != -EBUSY)
        cli_die(CLI_EXIT_FAILED, "%s", err.text[0] ? err.text : strerror(-r));
    if (r == 0 && !f->have_at) {
        memset(f->snap_lsn, 0, sizeof(f->snap_lsn));
        f->at_lsn = 0;
        if (!f->o->changes_only) {
            r = take_snapshot(f);
            since = true;
        }
    }
    if (r == 0)
        r = ask_again(f, since);
    if (r == 0)
        r = read_on(f, unblocked);
    if (r == -EREMOTEIO && client_error(f->client, NULL) != EPST_BUSY &&
        client_error(f->client, NULL) != EPST_SHUTTING_DOWN)
        cli_die(CLI_EXIT_FAILED, "%s", client_strerror(f->client, r));
    f->client = client_free(f->client);
    return r;
}

static void say_reset(struct follow *f)
{
    if (f->have_at || f->o->since)
        cli_error("the log no longer reaches back to cursor %llu: %s follow",
                  (unsigned long long)f->at_lsn,
                  f->o->changes_only ? "only later changes" : "a snapshot and later changes");
    f->have_at = false;
}

int watch_follow(const struct watch_options *o)
{
    struct follow f = { .o = o };
    struct sigaction sa = { .sa_handler = on_signal };
    sigset_t blocked, unblocked;

    check_mem_or_die(pb_arena_new(&f.arena));
    if (o->since) {
        f.have_at = true;
        if (watch_cursor_parse(o->since, &f.at_lsn, &f.at_index) < 0)
            cli_die(CLI_EXIT_FAILED,
                    "Invalid cursor: %s: a number, or two with a dot, as watch printed it",
                    o->since);
    }
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &blocked, &unblocked); /* cannot fail: the set is ours */
    (void)sigaction(SIGINT, &sa, NULL);
    (void)sigaction(SIGTERM, &sa, NULL);
    while (!interrupted) {
        struct timespec pause = { .tv_nsec = RETRY_MS * 1000000 };
        int r = run_session(&f, &unblocked);

        if (r > 0)
            say_reset(&f);
        if (r < 0 && !f.told_lost && !interrupted)
            cli_error("The connection to the controller is lost: waiting for it");
        f.told_lost = r < 0;
        if (r != 0)
            (void)ppoll(NULL, 0, &pause, &unblocked); /* cut short by a signal */
    }
    if (f.have_at && f.at_index == UINT32_MAX)
        cli_info("ended at cursor %llu", (unsigned long long)f.at_lsn);
    strbuf_done(&f.held);
    strbuf_done(&f.out);
    pb_arena_free(f.arena);
    return CLI_EXIT_OK;
}
