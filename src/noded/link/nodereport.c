/* nodereport.c - what the controller learns from this node, over the connection we dialled; see
 * noded.h
 *
 * Events gather in a queue and leave together when the loop has nothing else at hand, so a burst
 * makes one message and a single event none the later.  A report is done when its reply came (then
 * it is durable there): only then ended steps leave the spool.  When the connection drops, queue
 * and unanswered reports are forgotten: the registration that opens the next one tells the whole
 * state.  Main thread. */
#include "noded/link/nodereport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "configless/confserver.h"
#include "daemon/dmntarget.h"
#include "noded/hw/hw.h"
#include "noded/hw/watts.h"
#include "noded/link/listen.h"
#include "noded/link/nodeconf.h"
#include "noded/link/nodekey.h"
#include "noded/link/reportbuild.h"
#include "noded/plan/gpumap.h"
#include "stepd/shared/spool.h"
#include "wire/errors.h"
#include "wire/server/dialer.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"

#define HEARTBEAT_S 30
#define RETRY_MS 1000
#define HELD_MAX 4096                       /* orders */
#define WATCH_PARTS 3                       /* of the silence, between two looks */
#define ENERGY_REPORT_US (5 * USEC_PER_SEC) /* no more often, however often it is looked at */
#define REPORT_EVENTS_MAX 4096u             /* in one message */
#define HOSTS_MAX 8u                        /* controllers of the configuration */
#define TARGETS_MAX (HOSTS_MAX + CONFSERVER_MAX)

struct flight { /* a report or registration without an answer yet */
    struct flight *next;
    uint32_t id;
    bool registration, drain;
    struct report_events events;
};

/* What a controller asked for before we know its term. */
struct held {
    struct held *next;
    struct frame frame;
    uint8_t body[];
};

struct reporter {
    struct noded *d;
    struct dialer *dialer;
    uv_prepare_t prepare;
    uv_timer_t heartbeat;
    uv_timer_t retry; /* of what the controller could not take just now */
    struct report_events queue;
    struct flight *flights;
    char *drain_reason; /* until acknowledged */
    char *refused;      /* why the last registration was; NULL: none since the last good one */
    bool drain_sent, dirty, registered;
    bool changed;    /* since it registered: the node is another one than it said */
    bool keyless;    /* of this connection: the controller's key cannot be kept here */
    bool conf_taken; /* since the last registration was sent, or to be told */
    uint64_t heartbeat_s;
    int64_t told_us;              /* of the monotonic clock: the last heartbeat */
    uv_timer_t watch;             /* of the controller's silence, where there are several */
    int64_t silence_us, heard_us; /* how long it may last; when the last frame came (monotonic) */
    uint32_t term;                /* the newest that a controller told */
    struct held *held, **held_end;
    unsigned n_held;
    int64_t registered_us; /* when the controller last accepted this node; 0: never */
};

static void queue_event(struct noded *d, struct report_event e)
{
    struct reporter *r = d->reporter;

    if (!dialer_is_up(r->dialer))
        return; /* the registration will tell */
    report_events_add(&r->queue, e);
    r->dirty = true;
}

void report_launched(struct noded *d, const struct nstep *s)
{
    queue_event(d,
                (struct report_event){ EV_LAUNCHED, s->job->job_id, s->step_id, s->job->run_id });
}

void report_ended(struct noded *d, const struct nstep *s)
{
    queue_event(d, (struct report_event){ EV_ENDED, s->job->job_id, s->step_id, s->job->run_id });
}

void report_absent(struct noded *d, uint32_t job_id, uint64_t run_id, uint32_t step_id)
{
    queue_event(d, (struct report_event){ EV_ABSENT, job_id, step_id, run_id });
}

void report_clean(struct noded *d, uint32_t job_id, uint64_t run_id)
{
    queue_event(d, (struct report_event){ EV_CLEAN, job_id, 0, run_id });
}

void report_prolog_done(struct noded *d, const struct njob *job)
{
    queue_event(d, (struct report_event){ EV_PROLOG_DONE, job->job_id, 0, job->run_id });
}

void report_prolog_failed(struct noded *d, const struct njob *job)
{
    queue_event(d, (struct report_event){ EV_PROLOG_FAILED, job->job_id, 0, job->run_id });
}

void report_script_told(struct noded *d, const struct njob *job)
{
    queue_event(d, (struct report_event){ EV_SCRIPT_TOLD, job->job_id, 0, job->run_id });
}

void report_memory(struct noded *d, const struct njob *job)
{
    queue_event(d, (struct report_event){ EV_MEMORY, job->job_id, 0, job->run_id });
}

void report_drain(struct noded *d, const char *reason)
{
    struct reporter *r = d->reporter;

    if (r->drain_reason || pb_set_str(&r->drain_reason, reason) < 0)
        return; /* the first is the cause, what follows its consequence */
    r->drain_sent = false;
    r->dirty = true;
}

void report_conf_taken(struct noded *d)
{
    struct reporter *r = d->reporter;

    r->conf_taken = r->dirty = true;
}

void report_conf_failed(struct noded *d)
{
    struct reporter *r = d->reporter;

    if (r->registered) /* else it is about to hear that it is not let in */
        dialer_drop(r->dialer, "the configuration in force cannot be taken");
}

void report_changed(struct noded *d)
{
    struct reporter *r = d->reporter;

    r->changed = r->registered; /* else the registration tells */
}

/* ---- acknowledged ---------------------------------------------------------------------------- */

static void drop_job(struct noded *d, struct njob *job)
{
    (void)spool_remove_job(d->spool, job->job_id,
                           job->run_id); /* a leftover is dropped at the next start */
    jobs_remove(&d->jobs, job);
    gpumap_update(d);
}

static void acked_end(struct noded *d, struct njob *job, uint32_t step_id)
{
    struct nstep *step = job_find_step(job, step_id);

    if (!step || step->phase != STEP_ENDED)
        return;
    if (job->single && step_id == STEP_ID_BATCH) {
        if (!job->clean)
            return; /* registered while its epilog ran: node_clean is still to be said */
        drop_job(d, job);
        return;
    }
    (void)spool_remove_step(d->spool, job->job_id, job->run_id, step_id); /* as above */
    job_remove_step(job, step);
}

static void take_ack(struct noded *d, const struct report_event *e)
{
    struct njob *job = jobs_find(&d->jobs, e->job_id, e->run_id);

    if (!job)
        return;
    if (e->kind == EV_ENDED)
        acked_end(d, job, e->step_id);
    else if (e->kind == EV_CLEAN && job->clean)
        drop_job(d, job);
}

static void flight_free(struct flight *f)
{
    free(f->events.items);
    free(f);
}

static void forget_all(struct reporter *r)
{
    while (r->flights) {
        struct flight *f = r->flights;

        r->flights = f->next;
        flight_free(f);
    }
    r->queue.n = 0;
    r->drain_sent = false;
}

/* ---- sending ----------------------------------------------------------------------- */

/* How many queued events the next message takes: one prolog failure at most, it is a single
 * field. */
static size_t next_share(const struct report_events *q)
{
    size_t n = 0;
    bool failed = false;

    while (n < q->n && n < REPORT_EVENTS_MAX) {
        if (q->items[n].kind == EV_PROLOG_FAILED) {
            if (failed)
                break;
            failed = true;
        }
        n++;
    }
    return n;
}

static int send_share(struct reporter *r, size_t n, bool heartbeat)
{
    struct report_build b;
    struct flight *f = calloc(1, sizeof(*f));
    const char *problem;
    uint32_t load;
    uint64_t free_mib;
    int rc = f && report_build_init(&b, n) ? 0 : -ENOMEM;

    if (rc < 0) {
        free(f);
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        report_build_add(r->d, &b, &r->queue.items[i]);
        report_events_add(&f->events, r->queue.items[i]);
    }
    if (heartbeat) {
        hw_load(&load, &free_mib);
        b.msg.has_cpu_load_centi = b.msg.has_free_mem_mib = true;
        b.msg.cpu_load_centi = load;
        b.msg.free_mem_mib = free_mib;
        b.msg.energy = (Pst__NodeEnergy *)watts_now(r->d); /* only read */
        r->told_us = now_mono_us();
    }
    if (r->drain_reason && !r->drain_sent) {
        b.msg.drain_reason = r->drain_reason;
        f->drain = r->drain_sent = true;
    }
    if (r->conf_taken && nodeconf_digest(r->d, &b.msg.conf_digest, &problem)) {
        b.msg.has_conf_digest = true;
        r->conf_taken = false;
    }
    rc = dialer_request(r->dialer, OP_NODE_REPORT, &b.msg.base, &f->id);
    report_build_done(&b);
    if (rc < 0) {
        flight_free(f);
        return rc;
    }
    f->next = r->flights;
    r->flights = f;
    return 0;
}

static void flush_queue(struct reporter *r)
{
    while (dialer_is_up(r->dialer) && (r->queue.n || (r->drain_reason && !r->drain_sent) ||
                                       (r->conf_taken && r->registered))) {
        size_t n = next_share(&r->queue);

        if (send_share(r, n, false) < 0)
            return; /* down, or out of memory: tried again with the next event */
        r->queue.n -= n;
        if (r->queue.n) /* a drain may come without events, before the first one */
            memmove(r->queue.items, r->queue.items + n, r->queue.n * sizeof(*r->queue.items));
    }
    r->dirty = false;
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct reporter *r = prepare->data;

    if (r->changed) { /* orders on their way were for what it was, and come again */
        r->changed = false;
        dialer_drop(r->dialer, "the node registers again as it is configured now");
    }
    if (r->dirty)
        flush_queue(r);
}

static void on_heartbeat(uv_timer_t *timer)
{
    struct reporter *r = timer->data;

    if (dialer_is_up(r->dialer) && r->registered)
        (void)send_share(r, 0, true); /* the next beat will do */
}

/* ---- registration ---------------------------------------------------------------------------- */

struct census {
    struct noded *d;
    struct report_events running, ended, jobs;
};

static void count_step(struct census *c, const struct njob *job, const struct nstep *s)
{
    struct report_event e = { EV_LAUNCHED, job->job_id, s->step_id, job->run_id };

    if (s->phase != STEP_ENDED) {
        report_events_add(&c->running, e);
    } else if (!job->single || job->clean || s->step_id != STEP_ID_BATCH) {
        e.kind = EV_ENDED;
        report_events_add(&c->ended, e);
    } else {
        report_events_add(&c->running, e); /* its epilog runs: told when that is over */
    }
}

/* The script last: with it the job ends, and what became of its steps is no longer heard. */
static void count_job(void *ctx, struct njob *job)
{
    struct census *c = ctx;

    if (!job->clean)
        report_events_add(&c->jobs, (struct report_event){ EV_CLEAN, job->job_id, 0, job->run_id });
    for (const struct nstep *s = job->steps; s; s = s->next)
        if (s->step_id != STEP_ID_BATCH)
            count_step(c, job, s);
    for (const struct nstep *s = job->steps; s; s = s->next)
        if (s->step_id == STEP_ID_BATCH)
            count_step(c, job, s);
}

static void census_done(struct census *c)
{
    free(c->running.items);
    free(c->jobs.items);
    free(c->ended.items);
}

/* Which key is ours, and whom we know as the controllers. */
static void tell_keys(const struct reporter *r, Pst__NodeRegister *msg)
{
    const uint8_t *known = nodekey_controller(r->d);
    bool tells = r->d->identity && !r->keyless;

    msg->node->has_launch_keys = msg->node->launch_keys = tells;
    if (!tells)
        return;
    msg->has_node_key = msg->has_controller_key = true; /* only read */
    msg->node_key =
        (ProtobufCBinaryData){ IDKEY_SIZE, (uint8_t *)(uintptr_t)idkey_public(r->d->identity) };
    if (known)
        msg->controller_key = (ProtobufCBinaryData){ IDKEY_SIZE, (uint8_t *)(uintptr_t)known };
}

static int send_registration(struct reporter *r, struct census *c, struct flight *f)
{
    size_t n = c->running.n + c->jobs.n + c->ended.n;
    Pst__NodeRegister msg = PST__NODE_REGISTER__INIT;
    const char *problem;
    struct report_build b;
    int rc;

    if (!report_build_init(&b, n))
        return -ENOMEM;
    for (size_t i = 0; i < c->running.n; i++)
        report_build_add(r->d, &b, &c->running.items[i]);
    for (size_t i = 0; i < c->jobs.n; i++)
        report_build_add(r->d, &b, &c->jobs.items[i]);
    for (size_t i = 0; i < c->ended.n; i++)
        report_build_add(r->d, &b, &c->ended.items[i]);
    msg.node = r->d->hardware;
    msg.node->has_registered_us = r->registered_us > 0;
    msg.node->registered_us = r->registered_us;
    msg.node_line = r->d->node_line;
    msg.running = b.launched;
    msg.n_running = b.msg.n_launched;
    msg.jobs = b.clean;
    msg.n_jobs = b.msg.n_clean;
    msg.ended = b.ended;
    msg.n_ended = b.msg.n_ended;
    if (nodeconf_digest(r->d, &msg.conf_digest, &problem)) {
        msg.has_conf_digest = true;
        msg.conf_problem = (char *)(uintptr_t)problem; /* only read */
        r->conf_taken = false;
    }
    tell_keys(r, &msg);
    msg.has_conf_hash = true;
    msg.conf_hash = conf_says_hash(r->d->conf);
    msg.has_pid = true;
    msg.pid = (uint32_t)uv_os_getpid();
    rc = dialer_request(r->dialer, OP_NODE_REGISTER, &msg.base, &f->id);
    report_build_done(&b);
    return rc;
}

static void requeue_prologs(void *ctx, struct njob *job)
{
    struct noded *d = ctx;

    if (job->prolog_wanted && job->prolog == SCRIPT_DONE)
        report_prolog_done(d, job);
    if (job->prolog == SCRIPT_FAILED)
        report_prolog_failed(d, job);
}

static void requeue_clean(void *ctx, struct njob *job)
{
    struct noded *d = ctx;

    if (job->clean && !job->single)
        report_clean(d, job->job_id, job->run_id);
}

/* Tell everything there is to tell. */
static void register_node(struct reporter *r)
{
    struct census c = { .d = r->d };
    struct flight *f = calloc(1, sizeof(*f));

    forget_all(r);
    r->changed = false;
    jobs_each(&r->d->jobs, count_job, &c);
    if (f && send_registration(r, &c, f) == 0) {
        f->registration = true;
        f->events = c.ended;
        c.ended = (struct report_events){ 0 };
        f->next = r->flights;
        r->flights = f;
    } else {
        free(f);
        log_nomem("the node cannot register");
    }
    census_done(&c);
    jobs_each(&r->d->jobs, requeue_prologs, r->d);
    jobs_each(&r->d->jobs, requeue_clean, r->d);
    r->dirty = true;
}

static void on_up(void *ctx)
{
    struct reporter *r = ctx;

    r->keyless = false;
    register_node(r);
}

static void on_retry(uv_timer_t *timer)
{
    struct reporter *r = timer->data;

    if (!dialer_is_up(r->dialer))
        return; /* the next connection registers anyway */
    if (r->registered)
        r->dirty = true;
    else
        register_node(r);
}

/* The controller could not make it durable (its disk is full, say): keep it and try again. */
static void take_refusal(struct reporter *r, struct flight *f, const struct frame *frame)
{
    Pst__Error *e = NULL;
    const char *text = "no reason given";
    uint64_t wait_ms = RETRY_MS;

    if (frame && FRAME_UNPACK(error, frame, &e, NULL) == 0 && e->text)
        text = e->text;
    if (e && (e->code == ESLURM_IN_STANDBY_MODE || e->code == EPST_SHUTTING_DOWN)) {
        dialer_next(r->dialer, slurm_err_text(e->code)); /* another one leads, or soon will */
        pst__error__free_unpacked(e, NULL);
        return;
    }
    if (e && e->code == EPST_STALE_CONFIGURATION && r->conf_taken)
        log_debug("registering again with the configuration in force");
    else if (!f->registration)
        log_error("the controller refused a report: %s", text);
    else if (!r->refused || strcmp(r->refused, text) != 0) /* it is tried again and again */
        log_error("the controller refused our registration: %s", text);
    if (f->registration)
        (void)pb_set_str(&r->refused, text); /* -ENOMEM: logged again */
    if (f->registration && r->d->node_line && e && e->code == ESLURM_INVALID_NODE_STATE) {
        log_info("ending: the node was deleted; steps go on");
        r->d->on->stop(r->d);
    }
    if (e)
        pst__error__free_unpacked(e, NULL);
    for (size_t i = 0; i < f->events.n && !f->registration; i++)
        report_events_add(&r->queue, f->events.items[i]);
    if (f->drain)
        r->drain_sent = false;
    if (f->registration && r->conf_taken) /* it was sent away to take the configuration, and has */
        wait_ms = 0;
    (void)uv_timer_start(&r->retry, on_retry, wait_ms, 0); /* not closing */
}

/* What was held is done now, in its order, or forgotten. */
static void take_held(struct reporter *r, bool obey)
{
    struct held *list = r->held;

    r->held = NULL;
    r->held_end = &r->held;
    r->n_held = 0;
    while (list) {
        struct held *next = list->next;

        if (obey)
            r->d->on->request(r->d, r->dialer, &list->frame);
        free(list);
        list = next;
    }
}

static void on_down(void *ctx, const char *why)
{
    struct reporter *r = ctx;

    if (r->registered)
        log_info("lost the controller: %s", why);
    r->registered = false;
    forget_all(r);
    take_held(r, false);
}

/* Several controllers: one that says nothing for as long as its lease is not in control any more,
 * though its host may keep the connection. */
static void on_watch(uv_timer_t *timer)
{
    struct reporter *r = timer->data;
    Pst__PingRequest ping = PST__PING_REQUEST__INIT;
    int64_t silent_us = now_mono_us() - r->heard_us;

    if (!dialer_is_up(r->dialer) || !r->registered)
        return;
    if (silent_us > r->silence_us) {
        log_info("the controller has said nothing for %lld ms", (long long)silent_us / 1000);
        dialer_next(r->dialer, "it says nothing");
    } else if (silent_us > r->silence_us / WATCH_PARTS) {
        (void)dialer_request(r->dialer, OP_PING, &ping.base, NULL); /* any answer will do */
    }
}

static void watch_silence(struct reporter *r, uint32_t silence_ms)
{
    uint64_t every_ms = silence_ms / WATCH_PARTS;

    r->silence_us = (int64_t)silence_ms * 1000;
    if (silence_ms)
        (void)uv_timer_start(&r->watch, on_watch, every_ms, every_ms); /* not closing */
    else
        (void)uv_timer_stop(&r->watch); /* cannot fail */
}

/* Is it a controller whose term is over, and who does not know yet? */
static bool is_outdated(struct reporter *r, const Pst__NodeRegisterReply *reply)
{
    if (!reply->has_term || reply->term >= r->term) {
        r->term = reply->has_term ? reply->term : r->term;
        return false;
    }
    log_error("the controller is one of term %u, and %u has begun: it is not obeyed", reply->term,
              r->term);
    return true;
}

static bool learn_controller(struct reporter *r, const ProtobufCBinaryData *key)
{
    if (!nodekey_learn(r->d, key->data, key->len))
        return false;
    listen_set_controller(r->d->listener, nodekey_controller(r->d));
    report_set_controller(r->d);
    return true;
}

static void take_acks(struct reporter *r, const struct flight *f)
{
    for (size_t i = 0; i < f->events.n; i++)
        take_ack(r->d, &f->events.items[i]);
}

static void on_registered(struct reporter *r, const struct flight *f, const struct frame *frame)
{
    Pst__NodeRegisterReply *reply;
    uint64_t beat = HEARTBEAT_S;

    if (FRAME_UNPACK(node_register_reply, frame, &reply, NULL) == 0) {
        if (is_outdated(r, reply)) {
            dialer_next(r->dialer, "its term is over");
            pst__node_register_reply__free_unpacked(reply, NULL);
            return;
        }
        if (reply->has_learn_first && reply->learn_first) {
            r->keyless = !learn_controller(r, &reply->controller_key);
            pst__node_register_reply__free_unpacked(reply, NULL);
            register_node(r);
            return;
        }
        if (reply->has_now_us)
            listen_set_clock(r->d->listener, reply->now_us);
        watch_silence(r, reply->has_silence_ms ? reply->silence_ms : 0);
        if (reply->has_heartbeat_s && reply->heartbeat_s)
            beat = reply->heartbeat_s;
        if (reply->has_controller_key && !r->keyless)
            (void)learn_controller(r, &reply->controller_key); /* false: known, or cannot be kept */
        if (reply->topology)
            r->d->on->placed(r->d, reply->topology);
        reply->topology = NULL; /* taken */
        pst__node_register_reply__free_unpacked(reply, NULL);
    }
    take_acks(r, f);
    if (!r->registered)
        log_info("registered with the controller as %s", r->d->name);
    r->registered = true;
    r->registered_us = now_us();
    (void)pb_set_str(&r->refused, NULL); /* cannot fail: it frees */
    r->d->on->registered(r->d);
    take_held(r, true);
    (void)uv_timer_start(&r->heartbeat, on_heartbeat, beat * 1000, beat * 1000); /* not closing */
    (void)send_share(r, 0, true); /* load and memory at once; the beat repeats it */
}

void report_energy(struct noded *d)
{
    struct reporter *r = d->reporter;

    if (now_mono_us() - r->told_us >= ENERGY_REPORT_US)
        on_heartbeat(&r->heartbeat);
}

static struct flight *take_flight(struct reporter *r, uint32_t id)
{
    for (struct flight **p = &r->flights; *p; p = &(*p)->next) {
        struct flight *f = *p;

        if (f->id == id) {
            *p = f->next;
            return f;
        }
    }
    return NULL;
}

static void on_reply(void *ctx, uint32_t id, int rc, const struct frame *frame)
{
    struct reporter *r = ctx;
    struct flight *f = take_flight(r, id);

    r->heard_us = now_mono_us();
    if (!f)
        return;
    if (rc == 0 && frame && !(frame->flags & FRAME_ERROR)) {
        if (f->registration)
            on_registered(r, f, frame);
        else
            take_acks(r, f);
        if (f->drain && r->drain_sent)
            (void)pb_set_str(&r->drain_reason, NULL); /* NULL: only frees */
    } else if (rc != -ECONNRESET) {
        take_refusal(r, f, frame);
    }
    flight_free(f);
}

static void hold_order(struct reporter *r, const struct frame *frame)
{
    struct held *h = r->n_held < HELD_MAX ? malloc(sizeof(*h) + frame->len) : NULL;

    if (!h) {
        dialer_next(r->dialer, "it asks for too much before it answers");
        return;
    }
    h->next = NULL;
    h->frame = *frame;
    if (frame->len)
        memcpy(h->body, frame->body, frame->len);
    h->frame.body = h->body;
    *r->held_end = h;
    r->held_end = &h->next;
    r->n_held++;
}

static void on_request(void *ctx, const struct frame *frame)
{
    struct reporter *r = ctx;

    r->heard_us = now_mono_us();
    if (r->term && !r->registered)
        hold_order(r, frame); /* until it is known that the term of who asks is not over */
    else
        r->d->on->request(r->d, r->dialer, frame);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Behind the controllers of the configuration: whoever was asked for it.  A controller that has
 * moved since is there, and hands out the configuration that says so.  The new number. */
static size_t add_servers(const struct noded *d, struct client_target *targets, size_t n)
{
    const struct confservers *servers = nodeconf_servers(d);

    for (size_t i = 0; n && servers && i < servers->n; i++) {
        const struct confserver *s = &servers->list[i];
        bool known = false;

        for (size_t k = 0; k < n && !known; k++)
            known = targets[k].port == s->port && strcmp(targets[k].host, s->host) == 0;
        if (known)
            continue;
        targets[n] = targets[0];
        targets[n].host = s->host;
        targets[n++].port = s->port;
    }
    return n;
}

/* Whom to dial, as configured now; borrowed.  Their number. */
static size_t list_targets(const struct reporter *r, struct client_target targets[TARGETS_MAX])
{
    const struct conf *c = r->d->conf;
    const char *addrs[HOSTS_MAX];
    size_t n = conf_ctld_addrs(c, addrs, ARRAY_SIZE(addrs));

    for (size_t i = 0; i < n; i++) {
        struct client_target *t = &targets[i];

        *t = dmntarget_controller(c, "slurmd");
        t->host = addrs[i];
        t->tls = r->d->tls;
        t->identity = r->d->identity;
        t->controller_key = nodekey_controller(r->d);
        t->may_relearn = nodekey_may_relearn(r->d);
    }
    return add_servers(r->d, targets, n);
}

static int make_dialer(struct reporter *r)
{
    static const struct dialer_hooks hooks = { on_up, on_down, on_request, on_reply };
    struct client_target targets[TARGETS_MAX];
    size_t n = list_targets(r, targets);
    uid_t slurm_uid = conf_slurm_uid(r->d->conf);

    return dialer_new(&r->d->loop, targets, n, slurm_uid, &hooks, r, &r->dialer);
}

void report_set_controller(struct noded *d)
{
    dialer_set_controller(d->reporter->dialer, nodekey_controller(d), nodekey_may_relearn(d));
}

void report_set_hosts(struct noded *d)
{
    struct client_target targets[TARGETS_MAX];
    size_t n = list_targets(d->reporter, targets);
    int r = dialer_set_targets(d->reporter->dialer, targets, n);

    if (r < 0)
        log_error("the controllers' hosts stay what they were: %s", strerror(-r));
}

void report_set_tls(struct noded *d, struct tls_ctx *tls)
{
    dialer_set_tls(d->reporter->dialer, tls);
}

int report_new(struct noded *d, struct reporter **ret_reporter)
{
    struct reporter *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return -ENOMEM;
    r->d = d;
    r->held_end = &r->held;
    rc = make_dialer(r);
    if (rc < 0) {
        free(r);
        return rc;
    }
    (void)uv_prepare_init(&d->loop, &r->prepare); /* these cannot fail */
    (void)uv_timer_init(&d->loop, &r->heartbeat);
    (void)uv_timer_init(&d->loop, &r->retry);
    (void)uv_timer_init(&d->loop, &r->watch);
    r->prepare.data = r->heartbeat.data = r->retry.data = r->watch.data = r;
    *ret_reporter = r;
    return 0;
}

void report_start(struct reporter *r)
{
    (void)uv_prepare_start(&r->prepare, on_prepare);
    dialer_start(r->dialer);
}

void report_close(struct reporter *r)
{
    uv_close((uv_handle_t *)&r->prepare, NULL);
    uv_close((uv_handle_t *)&r->heartbeat, NULL);
    uv_close((uv_handle_t *)&r->retry, NULL);
    uv_close((uv_handle_t *)&r->watch, NULL);
    dialer_close(r->dialer);
}

struct reporter *report_free(struct reporter *r)
{
    if (r) {
        forget_all(r);
        take_held(r, false);
        free(r->queue.items);
        free(r->drain_reason);
        free(r->refused);
        free(r);
    }
    return NULL;
}
