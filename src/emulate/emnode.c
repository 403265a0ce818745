/* emnode.c - see emnode.h */
#include "emulate/emnode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "daemon/dmntarget.h"
#include "emulate/emjobs.h"
#include "version.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "wire/server/dialer.h"

#define HEARTBEAT_S 30u
#define RETRY_MS 1000u
#define CONTROLLERS_MAX 8u
#define DIALING_MAX 256u

struct emnode {
    struct emhost *host;
    const struct conf_node *described;
    struct dialer *dialer;
    struct emjobs jobs;
    uv_timer_t ends;      /* of the script that ends next */
    uv_timer_t heartbeat; /* until the node is registered: the next try */
    uint32_t flight;      /* the request that waits for its answer; 0: none */
    bool registering, registered, closing, rebooted;
    bool dialing; /* one of those whose turn it is */
    struct emnode *next_to_dial;
    int64_t boot_us;
    uint64_t beat_ms; /* as the controller wishes it */
};

/* ---- messages -------------------------------------------------------------------------------- */

static void send_report(struct emnode *n, bool heartbeat)
{
    Pst__NodeReport msg = PST__NODE_REPORT__INIT;
    struct emreport parts;
    int r;

    if (n->flight || !n->registered)
        return; /* with the answer, or with the registration */
    r = emjobs_report(&n->jobs, now_us(), &parts, &msg);
    if (r < 0)
        return; /* no memory: the next heartbeat tries again */
    if (heartbeat) {
        msg.has_cpu_load_centi = msg.has_free_mem_mib = true;
        msg.free_mem_mib = n->described->real_memory_mib;
    }
    if ((r || heartbeat) && dialer_request(n->dialer, OP_NODE_REPORT, &msg.base, &n->flight) < 0) {
        n->flight = 0;
        emjobs_lost(&n->jobs);
    }
    emreport_done(&parts);
}

static void fill_node(const struct emnode *n, Pst__NodeRecord *rec)
{
    const struct conf_node *d = n->described;
    struct emhost *h = n->host;

    rec->name = d->name;
    rec->hostname = h->name;
    rec->arch = h->arch;
    rec->os = h->os;
    rec->version = (char *)(uintptr_t)SLURM_RELEASE; /* only read */
    rec->boot_id = h->boot_id;
    rec->features = d->features;
    rec->has_port = rec->has_boards = rec->has_sockets = rec->has_cores_per_socket = true;
    rec->has_threads_per_core = rec->has_cpus = rec->has_real_memory_mib = rec->has_tmp_disk_mib =
        true;
    rec->port = d->port;
    rec->boards = d->boards ? d->boards : 1;
    rec->sockets = d->sockets;
    rec->cores_per_socket = d->cores_per_socket;
    rec->threads_per_core = d->threads_per_core;
    rec->cpus = d->cpus;
    rec->real_memory_mib = d->real_memory_mib;
    rec->tmp_disk_mib = d->tmp_disk_mib;
    rec->has_slurmd_start_us = rec->has_boot_us = true;
    rec->slurmd_start_us = h->boot_us;
    rec->boot_us = n->boot_us;
}

static void on_heartbeat(uv_timer_t *timer);

static void beat_every(struct emnode *n, uint64_t ms)
{
    if (uv_timer_get_repeat(&n->heartbeat) != ms)
        (void)uv_timer_start(&n->heartbeat, on_heartbeat, ms, ms); /* not closing */
}

static void register_node(struct emnode *n)
{
    Pst__NodeRegister msg = PST__NODE_REGISTER__INIT;
    Pst__NodeRecord rec = PST__NODE_RECORD__INIT;
    struct emreport parts;
    char boot_id[64];

    emjobs_lost(&n->jobs);
    if (emjobs_register(&n->jobs, now_us(), &parts, &msg) < 0) {
        dialer_drop(n->dialer, ERR_NOMEM);
        return;
    }
    fill_node(n, &rec);
    if (n->rebooted) {
        (void)snprintf(boot_id, sizeof(boot_id), "emulated-%lld", (long long)n->boot_us);
        rec.boot_id = boot_id;
    }
    msg.node = &rec;
    n->registering = dialer_request(n->dialer, OP_NODE_REGISTER, &msg.base, &n->flight) == 0;
    emreport_done(&parts);
    if (!n->registering)
        beat_every(n, RETRY_MS);
}

static void set_registered(struct emnode *n, bool registered)
{
    if (n->registered == registered)
        return;
    n->registered = registered;
    n->host->n_registered += registered ? 1 : (size_t)-1;
    n->host->changed(n->host);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static int make_dialer(struct emnode *n);

static void dial_more(struct emhost *h)
{
    while (h->next_to_dial && h->n_dialing < DIALING_MAX) {
        struct emnode *n = h->next_to_dial;

        h->next_to_dial = n->next_to_dial;
        if (!h->next_to_dial)
            h->last_to_dial = &h->next_to_dial;
        if (n->closing)
            continue;
        if (make_dialer(n) < 0) {
            log_nomem("node %s stays away", n->described->name);
            continue;
        }
        n->dialing = true;
        h->n_dialing++;
        dialer_start(n->dialer);
    }
}

static void wait_for_turn(struct emnode *n)
{
    n->next_to_dial = NULL;
    *n->host->last_to_dial = n;
    n->host->last_to_dial = &n->next_to_dial;
}

/* The node has got through, or is given up: another one's turn. */
static void end_turn(struct emnode *n)
{
    if (!n->dialing)
        return;
    n->dialing = false;
    n->host->n_dialing--;
    dial_more(n->host);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void on_ends(uv_timer_t *timer);

/* End what is due, and wait for the next. */
static void turn_jobs(struct emnode *n)
{
    int64_t now = now_mono_us(), next = emjobs_turn(&n->jobs, now);

    if (n->closing)
        return;
    if (next == EMJOBS_NEVER)
        (void)uv_timer_stop(&n->ends); /* cannot fail */
    else
        (void)uv_timer_start(&n->ends, on_ends, (uint64_t)((next - now) / 1000 + 1), 0);
    send_report(n, false);
}

static void on_ends(uv_timer_t *timer)
{
    turn_jobs(timer->data);
}

static void on_heartbeat(uv_timer_t *timer)
{
    struct emnode *n = timer->data;

    if (n->registered)
        send_report(n, true);
    else if (n->dialer && dialer_is_up(n->dialer) && !n->registering)
        register_node(n);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int launch_job(struct emnode *n, ProtobufCMessage *msg)
{
    const Pst__LaunchBatch *m = PB_AS(launch_batch, msg);

    return m->job && m->job->job ? emjobs_launch(&n->jobs, m, now_mono_us()) : -EINVAL;
}

static int prepare_job(struct emnode *n, ProtobufCMessage *msg)
{
    const Pst__PrepareJob *m = PB_AS(prepare_job, msg);

    return m->job && m->job->job ? emjobs_prepare(&n->jobs, m) : -EINVAL;
}

static int signal_steps(struct emnode *n, ProtobufCMessage *msg)
{
    return emjobs_signal(&n->jobs, PB_AS(signal_steps, msg), now_mono_us());
}

static int terminate_job(struct emnode *n, ProtobufCMessage *msg)
{
    return emjobs_terminate(&n->jobs, PB_AS(terminate_job, msg));
}

static int shut_down(struct emnode *n, ProtobufCMessage *msg)
{
    (void)msg;
    emnode_close(n);
    return 0;
}

/* Everything on the node is lost; the node is there again at once. */
static int reboot_node(struct emnode *n, ProtobufCMessage *msg)
{
    (void)msg;
    emjobs_clear(&n->jobs);
    n->boot_us = now_us();
    n->rebooted = true;
    dialer_drop(n->dialer, "the node reboots");
    return 0;
}

static int take_without_effect(struct emnode *n, ProtobufCMessage *msg)
{
    (void)n;
    (void)msg;
    return 0;
}

static const struct {
    unsigned op;
    int (*fn)(struct emnode *n, ProtobufCMessage *msg);
} orders[] = {
    { OP_LAUNCH_BATCH, launch_job },           { OP_PREPARE_JOB, prepare_job },
    { OP_SIGNAL_STEPS, signal_steps },         { OP_TERMINATE_JOB, terminate_job },
    { OP_NODE_SHUTDOWN, shut_down },           { OP_NODE_REBOOT_NOW, reboot_node },
    { OP_NODE_ACTION, take_without_effect },   { OP_NODE_RECONFIGURE, take_without_effect },
    { OP_NODE_HEALTH, take_without_effect },   { OP_NODE_DEBUG, take_without_effect },
    { OP_NODE_TOPOLOGY, take_without_effect },
};

static int obey_order(struct emnode *n, const struct frame *frame, struct err *err)
{
    ProtobufCMessage *msg = NULL;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        if (orders[i].op != frame->op)
            continue;
        r = frame_unpack_request(frame, &msg, err);
        if (r < 0)
            return r;
        r = orders[i].fn(n, msg);
        protobuf_c_message_free_unpacked(msg, NULL);
        return r < 0 ? err_set(err, r, "%s", strerror(-r)) : 0;
    }
    return err_set(err, -EOPNOTSUPP, "an emulated node runs batch scripts alone (operation %u)",
                   frame->op);
}

static void on_request(void *ctx, const struct frame *frame)
{
    struct emnode *n = ctx;
    struct err err = { .text = "" };
    int r = obey_order(n, frame, &err);

    if (!(frame->flags & FRAME_ONEWAY)) {
        if (r < 0)
            (void)dialer_reply_error(n->dialer, frame->op, frame->id,
                                     r == -ENOENT ? ESLURM_INVALID_JOB_ID : SLURM_ERROR, err.text);
        else
            (void)dialer_reply(n->dialer, frame->op, frame->id, NULL); /* gone: asked again */
    }
    turn_jobs(n);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void on_registered(struct emnode *n, const struct frame *frame)
{
    Pst__NodeRegisterReply *reply = NULL;

    n->beat_ms = HEARTBEAT_S * 1000;
    if (FRAME_UNPACK(node_register_reply, frame, &reply, NULL) == 0) {
        if (reply->has_heartbeat_s && reply->heartbeat_s)
            n->beat_ms = reply->heartbeat_s * UINT64_C(1000);
        pst__node_register_reply__free_unpacked(reply, NULL);
    }
    set_registered(n, true);
    end_turn(n);
}

/* Not now: the disk of the controller is full, say, or another controller leads. */
static void take_refusal(struct emnode *n, const struct frame *frame)
{
    Pst__Error *e = NULL;
    bool leave = false;

    emjobs_lost(&n->jobs);
    if (frame && FRAME_UNPACK(error, frame, &e, NULL) == 0) {
        leave = e->code == ESLURM_IN_STANDBY_MODE || e->code == EPST_SHUTTING_DOWN;
        if (!leave)
            log_error("%s: the controller refuses: %s", n->described->name,
                      e->text ? e->text : slurm_err_text(e->code));
        pst__error__free_unpacked(e, NULL);
    }
    if (leave) {
        dialer_next(n->dialer, "another controller leads");
        return;
    }
    end_turn(n); /* it did get through; nodes that nobody knows must not keep others out */
    beat_every(n, RETRY_MS);
}

static void on_reply(void *ctx, uint32_t id, int r, const struct frame *frame)
{
    struct emnode *n = ctx;
    bool was_registration = n->registering;

    if (id != n->flight || n->closing)
        return;
    n->flight = 0;
    n->registering = false;
    if (r == -ECONNRESET)
        return; /* on_down() follows */
    if (r < 0 || (frame->flags & FRAME_ERROR)) {
        take_refusal(n, frame);
        return;
    }
    emjobs_acked(&n->jobs);
    if (was_registration)
        on_registered(n, frame);
    beat_every(n, n->beat_ms); /* faster where a report was refused */
    turn_jobs(n);
}

static void on_up(void *ctx)
{
    register_node(ctx);
}

static void on_down(void *ctx, const char *why)
{
    struct emnode *n = ctx;

    (void)why;
    n->flight = 0;
    n->registering = false;
    set_registered(n, false);
    if (n->dialing || n->closing)
        return; /* it tries again by itself */
    dialer_close(n->dialer);
    n->dialer = NULL;
    wait_for_turn(n);
    dial_more(n->host);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int make_dialer(struct emnode *n)
{
    static const struct dialer_hooks hooks = { on_up, on_down, on_request, on_reply };
    const struct conf *c = n->host->conf;
    struct client_target targets[CONTROLLERS_MAX];
    const char *addrs[CONTROLLERS_MAX];
    size_t count = conf_ctld_addrs(c, addrs, ARRAY_SIZE(addrs));

    for (size_t i = 0; i < count; i++) {
        targets[i] = dmntarget_controller(c, "slurmd");
        targets[i].host = addrs[i];
    }
    return dialer_new(n->host->loop, targets, count, conf_slurm_uid(c), &hooks, n, &n->dialer);
}

int emnode_new(struct emhost *host, const struct conf_node *described, struct emnode **ret)
{
    struct emnode *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    n->host = host;
    n->described = described;
    n->boot_us = host->boot_us;
    (void)uv_timer_init(host->loop, &n->ends); /* these cannot fail */
    (void)uv_timer_init(host->loop, &n->heartbeat);
    n->ends.data = n->heartbeat.data = n;
    host->n_left++;
    *ret = n;
    return 0;
}

void emhost_init(struct emhost *host)
{
    host->last_to_dial = &host->next_to_dial;
}

void emnode_start(struct emnode *n)
{
    wait_for_turn(n);
    dial_more(n->host);
}

void emnode_close(struct emnode *n)
{
    if (n->closing)
        return;
    n->closing = true;
    set_registered(n, false);
    emjobs_clear(&n->jobs);
    if (n->dialer)
        dialer_close(n->dialer);
    end_turn(n);
    uv_close((uv_handle_t *)&n->ends, NULL);
    uv_close((uv_handle_t *)&n->heartbeat, NULL);
    n->host->n_left--;
    n->host->changed(n->host);
}

struct emnode *emnode_free(struct emnode *n)
{
    if (n)
        emjobs_clear(&n->jobs);
    free(n);
    return NULL;
}
