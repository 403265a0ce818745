/* watchfollow.c - follow changes and print a line for each; see watchfollow.h
 *
 * First a snapshot from the views, kept back until the controller says that the record it shows is
 * durable; then the changes behind it (session/watchflow.h), over as many connections as it
 * takes. */
#include "cli/query/watchfollow.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/query/out_query.h"
#include "cli/query/watch_line.h"
#include "session/watchflow.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "wire/watchfields.h"

#define RETRY_MS 200
#define ENTITIES WATCHFLOW_ENTITIES

struct follow {
    const struct watch_options *o;
    struct client *client;
    struct watchflow flow;
    Pst__JobFilter jobs;         /* of the changes */
    uint64_t snap_lsn[ENTITIES]; /* the snapshot shows the state at */
    unsigned entity;             /* being asked for */
    struct strbuf held;          /* the snapshot's lines */
    struct strbuf out;
    struct pb_arena *arena;
    bool told_lost;
    int signal_fd; /* readable once somebody wants us to end; stays so */
};

int watch_cursor_parse(const char *text, uint64_t *ret_lsn, uint32_t *ret_index)
{
    struct watchflow_place place;
    int r = watchflow_place_parse(text, &place);

    if (r < 0)
        return r;
    *ret_lsn = place.lsn;
    *ret_index = place.index;
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
    f->flow.at = (struct watchflow_place){ .lsn = from, .index = WATCHFLOW_WHOLE };
    return r;
}

/* ---- changes --------------------------------------------------------------------------------- */

static int on_change(void *ctx, const Pst__WatchChange *c, const ProtobufCMessage *before,
                     const ProtobufCMessage *after)
{
    struct follow *f = ctx;
    struct watch_line line = { .entity = c->entity,
                               .change = c,
                               .lsn = c->lsn,
                               .index = c->index,
                               .time_us = c->time_us,
                               .name = c->name,
                               .before = before,
                               .after = after };

    if (c->lsn <= f->snap_lsn[c->entity])
        return 0;
    if (c->entity == PST__WATCH_ENTITY__WATCH_JOB &&
        !task_wanted(f, c->id, c->array_job_id, c->has_array_task_id, c->array_task_id))
        return 0;
    watch_line_add(&f->out, &line, f->o->json);
    return 0;
}

/* The snapshot is durable. */
static void on_ready(void *ctx)
{
    struct follow *f = ctx;

    cli_write_out(&f->held, true);
}

static int on_frame(struct follow *f, const struct frame *frame)
{
    int r = watchflow_take(&f->flow, f->arena, frame);

    f->told_lost = f->told_lost && r != 0;
    cli_write_out(&f->out, true);
    return r;
}

static void flow_begin(struct follow *f)
{
    const struct watch_options *o = f->o;

    if (o->jobs)
        f->jobs = *o->jobs;
    if (o->all_states)
        f->jobs.n_states = 0;
    f->flow = (struct watchflow){
        .entities = o->entities,
        .jobs = o->jobs ? &f->jobs : NULL,
        .nodes = o->nodes,
        .partitions = o->partitions,
        .n_partitions = o->n_partitions,
        .keep_text = o->cli->keeps_text,
        .on_change = on_change,
        .on_ready = on_ready,
        .ctx = f,
    };
}

/* Wait for timeout_ms (-1: for ever), for bytes of fd (-1: of none) or a signal. */
static int wait_readable(const struct follow *f, int fd, int timeout_ms)
{
    struct pollfd p[] = { { .fd = f->signal_fd, .events = POLLIN },
                          { .fd = fd, .events = POLLIN } };

    return poll(p, ARRAY_SIZE(p), timeout_ms) < 0 && errno != EINTR ? -errno : 0;
}

static bool is_interrupted(const struct follow *f)
{
    struct pollfd p = { .fd = f->signal_fd, .events = POLLIN };

    return poll(&p, 1, 0) > 0;
}

static int read_on(struct follow *f)
{
    while (!is_interrupted(f)) {
        struct frame frame;
        int r = client_recv(f->client, 0, &frame);

        if (r == 0)
            r = client_fd(f->client) < 0 ? -EPIPE : wait_readable(f, client_fd(f->client), -1);
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
static int run_session(struct follow *f)
{
    bool since = f->flow.have_at;
    struct err err = { .text = "" };
    int r = cli_connect_once(f->o->cli, &f->client, &err);

    if (r < 0 && !cli_may_come_back(r) && r != -EBUSY)
        cli_die(CLI_EXIT_FAILED, "%s", err.text[0] ? err.text : strerror(-r));
    if (r == 0 && !f->flow.have_at) {
        memset(f->snap_lsn, 0, sizeof(f->snap_lsn));
        f->flow.at = (struct watchflow_place){ 0 };
        if (!f->o->changes_only) {
            r = take_snapshot(f);
            since = true;
        }
    }
    if (r == 0)
        r = watchflow_ask(&f->flow, f->client, since);
    if (r == 0)
        r = read_on(f);
    if (r == -EREMOTEIO && client_error(f->client, NULL) != EPST_BUSY &&
        client_error(f->client, NULL) != EPST_SHUTTING_DOWN)
        cli_die(CLI_EXIT_FAILED, "%s", client_strerror(f->client, r));
    f->client = client_free(f->client);
    return r;
}

static void say_reset(struct follow *f)
{
    if (f->flow.have_at || f->o->since)
        cli_error("the log no longer reaches back to cursor %llu: %s follow",
                  (unsigned long long)f->flow.at.lsn,
                  f->o->changes_only ? "only later changes" : "a snapshot and later changes");
    f->flow.have_at = false;
}

int watch_follow(const struct watch_options *o)
{
    struct follow f = { .o = o };
    sigset_t ending;

    check_mem_or_die(pb_arena_new(&f.arena));
    flow_begin(&f);
    if (o->since) {
        f.flow.have_at = true;
        if (watchflow_place_parse(o->since, &f.flow.at) < 0)
            cli_die(CLI_EXIT_FAILED,
                    "Invalid cursor: %s: a number, or two with a dot, as watch printed it",
                    o->since);
    }
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ending, NULL); /* cannot fail: the set is ours */
    f.signal_fd = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    if (f.signal_fd < 0)
        cli_die(CLI_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
    while (!is_interrupted(&f)) {
        int r = run_session(&f);

        if (r > 0)
            say_reset(&f);
        if (r < 0 && !f.told_lost && !is_interrupted(&f))
            cli_error("The connection to the controller is lost: waiting for it");
        f.told_lost = r < 0;
        if (r != 0)
            (void)wait_readable(&f, -1, RETRY_MS); /* cut short by a signal */
    }
    if (f.flow.have_at && f.flow.at.index == WATCHFLOW_WHOLE)
        cli_info("ended at cursor %llu", (unsigned long long)f.flow.at.lsn);
    (void)close(f.signal_fd);
    strbuf_done(&f.held);
    strbuf_done(&f.out);
    pb_arena_free(f.arena);
    return CLI_EXIT_OK;
}
