/* nodeops.c - the controller's requests to this node; see nodeops.h
 *
 * One row an operation.  The reply means "accepted": what becomes of it is reported.  Main thread.
 */
#include "noded/orders/nodeops.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/pb/pbutil.h"
#include "noded/link/listen.h"
#include "noded/link/nodeconf.h"
#include "noded/link/nodereport.h"
#include "noded/site/helpers.h"
#include "noded/site/siteprog.h"
#include "noded/steps/steplaunch.h"
#include "noded/steps/stepwatch.h"
#include "noded/steps/userproc.h"
#include "wire/errors.h"
#include "wire/server/dialer.h"

static int op_launch_batch(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    return launch_batch(d, PB_AS(launch_batch, msg), err);
}

static int op_prepare_job(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    return launch_prepare(d, PB_AS(prepare_job, msg), err);
}

/* The controller wonders whether srun came to start these steps before it died. */
static void tell_absent(struct noded *d, struct njob *job, const Pst__SignalSteps *m)
{
    for (size_t i = 0; i < m->n_step_ids; i++)
        if (!job || !job_find_step(job, m->step_ids[i]))
            report_absent(d, m->job_id, m->run_id, m->step_ids[i]);
}

static int op_signal_steps(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    const Pst__SignalSteps *m = PB_AS(signal_steps, msg);
    struct njob *job = jobs_find(&d->jobs, m->job_id, m->run_id);

    if (m->has_ask && m->ask) {
        tell_absent(d, job, m);
        return 0;
    }
    if (!job && (m->suspend || m->resume)) {
        jobs_note_suspended(&d->jobs, m->run_id, m->suspend);
        return 0;
    }
    if (!job)
        return err_set(err, -ENOENT, "job %u is not on this node", m->job_id);
    if (m->has_measure && m->measure) {
        report_memory(d, job);
        return 0;
    }
    steps_order(d, job, m);
    return 0;
}

static int op_terminate_job(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    Pst__TerminateJob *m = PB_AS(terminate_job, msg);
    struct njob *job = jobs_find(&d->jobs, m->job_id, m->run_id);

    (void)err;
    if (!job)
        job = launch_for_epilog(d, m);
    if (job) {
        steps_terminate_job(d, job, m);
    } else {
        jobs_note_suspended(&d->jobs, m->run_id, false);
        listen_revoke(d->listener, m->job_id, m->run_id);
        userproc_job_over(d, m->job_id, m->run_id);
        report_clean(d, m->job_id, m->run_id); /* nothing here: that is clean */
    }
    return 0;
}

static int op_launch_async(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    return launch_async(d, PB_AS(launch_step, msg), err);
}

static int op_shutdown(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    (void)msg;
    (void)err;
    d->on->stop(d);
    return 0;
}

static int op_health(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    (void)msg;
    (void)err;
    siteprog_run(d, SITEPROG_HEALTH, NULL, NULL);
    return 0;
}

static int op_reboot(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    const Pst__NodeRebootNow *m = PB_AS(node_reboot_now, msg);

    (void)err;
    log_info("the controller asks for a reboot%s%s", m->features ? " with the features " : "",
             m->features ? m->features : "");
    helpers_boot(d, m->features);
    return 0;
}

static int op_action(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    return siteprog_power(d, PB_AS(node_action_now, msg)->action, err);
}

static int op_reconfigure(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    (void)msg;
    (void)d->on->reconfigure(d, err); /* it says by itself what is wrong */
    return 0;
}

static int op_configure(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    const Pst__NodeConfigure *m = PB_AS(node_configure, msg);
    int r;

    if (!m->bundle || !d->nodeconf)
        return err_set(err, -EINVAL, "this node has files of its own");
    r = nodeconf_take(d, m->bundle, err);
    if (r < 0)
        report_conf_failed(d); /* nothing is started here until the node could take it */
    else
        report_conf_taken(d);
    return r;
}

static int op_topology(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    ProtobufCMessage *copy;

    if (pb_dup(&PB_AS(node_topology, msg)->base, &copy) < 0)
        return err_nomem(err);
    d->on->placed(d, (Pst__NodeTopology *)copy);
    return 0;
}

static int op_debug(struct noded *d, ProtobufCMessage *msg, struct err *err)
{
    const Pst__DebugRequest *m = PB_AS(debug_request, msg);
    enum log_level level;

    (void)d;
    if (m->level && log_level_parse(m->level, &level) < 0)
        return err_set(err, -EINVAL, "unknown debug level");
    for (size_t i = 0; i < m->n_flags; i++)
        if ((m->flags[i][0] != '+' && m->flags[i][0] != '-') || !conf_debug_flag(m->flags[i] + 1))
            return err_set(err, -EINVAL, "unknown debug flag");
    for (size_t i = 0; i < m->n_flags; i++)
        logflags_change(m->flags[i] + 1, m->flags[i][0] == '+');
    if (m->level)
        log_set_level(level);
    return 0;
}

static const struct {
    unsigned op;
    int (*fn)(struct noded *d, ProtobufCMessage *msg, struct err *err);
} ops[] = {
    { OP_LAUNCH_BATCH, op_launch_batch },    { OP_PREPARE_JOB, op_prepare_job },
    { OP_SIGNAL_STEPS, op_signal_steps },    { OP_TERMINATE_JOB, op_terminate_job },
    { OP_LAUNCH_ASYNC, op_launch_async },    { OP_NODE_SHUTDOWN, op_shutdown },
    { OP_NODE_RECONFIGURE, op_reconfigure }, { OP_NODE_HEALTH, op_health },
    { OP_NODE_REBOOT_NOW, op_reboot },       { OP_NODE_DEBUG, op_debug },
    { OP_NODE_TOPOLOGY, op_topology },       { OP_NODE_CONFIGURE, op_configure },
    { OP_NODE_ACTION, op_action },
};

static int run_op(struct noded *d, const struct frame *frame, struct err *err)
{
    ProtobufCMessage *msg = NULL;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
        if (ops[i].op != frame->op)
            continue;
        r = frame_unpack_request(frame, &msg, err);
        if (r < 0)
            return r;
        r = ops[i].fn(d, msg, err);
        protobuf_c_message_free_unpacked(msg, NULL);
        return r;
    }
    return err_set(err, -EOPNOTSUPP, "slurmd does not know operation %u", frame->op);
}

void ops_request(struct noded *d, struct dialer *dialer, const struct frame *frame)
{
    struct err err = { .text = "" };
    int r = run_op(d, frame, &err);

    if (r < 0)
        log_error("%s: %s", wire_op_info(frame->op) ? wire_op_info(frame->op)->name : "request",
                  err.text[0] ? err.text : strerror(-r));
    if (frame->flags & FRAME_ONEWAY)
        return;
    if (r < 0)
        (void)dialer_reply_error(
            dialer, frame->op, frame->id, r == -ENOENT ? ESLURM_INVALID_JOB_ID : SLURM_ERROR,
            err.text[0] ? err.text : strerror(-r)); /* gone: it will ask again */
    else
        (void)dialer_reply(dialer, frame->op, frame->id, NULL); /* as above */
}
