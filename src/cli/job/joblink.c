/* joblink.c - an allocation as its owner sees it; see joblink.h.
 *
 * Frames of two requests may be under way on the connection: the one watched (wait_id) and a call
 * in progress; frames of others are dropped.  Signals are blocked and arrive through sig_fd, so a
 * wait ends with -EINTR without races. */
#include "cli/job/joblink.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/job/submit.h"
#include "wire/caps.h"
#include "wire/errors.h"

#define GRACE_MS 300 /* how soon a grant must come for nothing to be said about waiting */
#define RETRY_MS 500
#define COMPLETE_TRIES 120 /* of RETRY_MS each */
#define STEP_TELL_MS 300   /* who waits longer for a step is told of it */

void joblink_init(struct joblink *l, struct cli *cli, int sig_fd)
{
    *l = (struct joblink){ .cli = cli, .sig_fd = sig_fd };
}

void joblink_done(struct joblink *l)
{
    l->client = client_free(l->client);
    clusters_done(l->cli, &l->elsewhere);
}

static void free_msg(ProtobufCMessage *msg)
{
    if (msg)
        protobuf_c_message_free_unpacked(msg, NULL);
}

/* Take a signal that came: true when it ends a wait (l->signo).  A process that goes on, after `fg`
 * or after its job was suspended, and a window of another size end none. */
static bool take_signal(struct joblink *l)
{
    struct signalfd_siginfo info = { 0 };

    if (read(l->sig_fd, &info, sizeof(info)) != (ssize_t)sizeof(info) ||
        info.ssi_signo == SIGCONT || info.ssi_signo == SIGWINCH)
        return false;
    l->signo = (int)info.ssi_signo;
    return true;
}

/* Wait for input on fd (-1: none) or a signal.  1 input, 0 time is up, -EINTR. */
static int wait_fd(struct joblink *l, int fd, int timeout_ms)
{
    struct pollfd fds[2] = {
        { .fd = fd, .events = POLLIN },
        { .fd = l->sig_fd, .events = POLLIN },
    };

    for (;;) {
        int n = poll(fds, 2, timeout_ms);

        if (n < 0)
            return errno == EINTR ? 0 : -errno;
        if (fds[1].revents && take_signal(l))
            return -EINTR;
        if (n == 0 || fds[0].revents)
            return n > 0 ? 1 : 0;
    }
}

/* The message of an answer.  Waiting requests are answered with JobStatus whatever their op. */
static int unpack_status(const struct frame *frame, const ProtobufCMessageDescriptor *desc,
                         ProtobufCMessage **ret_msg)
{
    if (frame->flags & FRAME_ERROR)
        return frame_unpack(frame, &pst__error__descriptor, ret_msg, NULL);
    return frame_unpack_body(frame, desc, ret_msg, NULL);
}

/* Is this the last word of a controller that has given up control, or ends?  The request, or with
 * id 0 whatever it has not answered, was not carried out.  A submission waits for another one that
 * leads, and for no restart. */
static bool gave_up_control(const struct joblink *l, const struct frame *frame, uint32_t id)
{
    ProtobufCMessage *msg = NULL;
    int code;

    if (!(frame->flags & FRAME_REPLY) || !(frame->flags & FRAME_ERROR) ||
        (frame->id != 0 && frame->id != id))
        return false;
    if (frame_unpack(frame, &pst__error__descriptor, &msg, NULL) < 0)
        return false;
    code = ((Pst__Error *)msg)->code;
    free_msg(msg);
    return code == ESLURM_IN_STANDBY_MODE || (code == EPST_SHUTTING_DOWN && l->job_id);
}

/* Next frame that answers request id.  1 with the message (caller frees), 0 time is up, -EINTR,
 * -EPIPE connection lost (moved: nothing was done), -EREMOTEIO refused (err_code, err_text). */
static int next_answer(struct joblink *l, uint32_t id, const ProtobufCMessageDescriptor *desc,
                       int timeout_ms, struct frame *ret_frame, ProtobufCMessage **ret_msg)
{
    for (;;) {
        int r = client_recv(l->client, 0, ret_frame);

        if (r == 0) {
            r = wait_fd(l, client_fd(l->client), timeout_ms);
            if (r <= 0)
                return r;
            continue;
        }
        if (r < 0)
            return -EPIPE;
        l->moved = gave_up_control(l, ret_frame, id);
        if (l->moved)
            return -EPIPE;
        if (ret_frame->id != id || !(ret_frame->flags & FRAME_REPLY))
            continue;
        if (unpack_status(ret_frame, desc, ret_msg) < 0)
            return -EPIPE;
        if (!(ret_frame->flags & FRAME_ERROR))
            return 1;
        l->err_code = ((Pst__Error *)*ret_msg)->code;
        (void)snprintf(l->err_text, sizeof(l->err_text), "%s",
                       ((Pst__Error *)*ret_msg)->text ? ((Pst__Error *)*ret_msg)->text : "");
        l->refused_id = ((Pst__Error *)*ret_msg)->job_id;
        free_msg(*ret_msg);
        *ret_msg = NULL;
        return -EREMOTEIO;
    }
}

/* Connect again, for as long as it takes.  0, -EINTR, or what will not get better. */
static int reconnect_link(struct joblink *l)
{
    struct cli_patience patience = { 0 };
    struct err err = { .text = "" };

    l->client = client_free(l->client);
    for (;;) {
        int r = cli_connect_once(l->cli, &l->client, &err);

        if (r == 0 || !cli_may_come_back(r))
            return r;
        cli_still_trying(&patience, err.text);
        r = wait_fd(l, -1, RETRY_MS);
        if (r < 0)
            return r;
    }
}

static int send_wait(struct joblink *l, bool until_started)
{
    Pst__JobWaitRequest req = PST__JOB_WAIT_REQUEST__INIT;

    req.job_id = l->job_id;
    req.has_job_id = true;
    req.until_started = req.has_until_started = until_started;
    req.attach = req.has_attach = l->attached;
    l->wait_id = client_next_id(l->client);
    return client_send(l->client, OP_JOB_WAIT, 0, l->wait_id, &req.base);
}

/* ---- allocation ------------------------------------------------------------------------------ */

struct asking {
    struct joblink *l;
    const Pst__SubmitRequest *req;
    const char *what;
    bool salloc;
    bool immediate; /* with --immediate */
    bool at_once;   /* it will not wait: nothing to tell */
    bool told;      /* that we wait */
    Pst__JobStatus *grant;
    char waits_for[128]; /* what the topology lacks; empty = not said */
};

static bool unavailable_now(Pst__JobReason reason)
{
    switch (reason) {
    case PST__JOB_REASON__REASON_PARTITION_NODE_LIMIT:
    case PST__JOB_REASON__REASON_PARTITION_CONFIG:
    case PST__JOB_REASON__REASON_PARTITION_INACTIVE:
        return true;
    default:
        return false;
    }
}

static void tell_waiting(struct asking *a, Pst__JobReason reason)
{
    if (a->told || a->at_once)
        return;
    a->told = true;
    if (reason == PST__JOB_REASON__REASON_JOB_HELD_USER ||
        reason == PST__JOB_REASON__REASON_JOB_HELD_ADMIN)
        cli_info("Job is in held state, pending scheduler release");
    if (reason == PST__JOB_REASON__REASON_PARTITION_DOWN)
        cli_info("%s", slurm_err_text(ESLURM_PARTITION_DOWN));
    if (unavailable_now(reason))
        cli_info("Requested partition configuration not available now");
    if (reason == PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL ||
        reason == PST__JOB_REASON__REASON_NODES_UNAVAILABLE)
        cli_info("Required node not available (down, drained or reserved)");
    if (a->waits_for[0])
        cli_info("%s", a->waits_for);
    if (a->salloc)
        cli_info("Pending job allocation %u", a->l->job_id);
    cli_info("job %u queued and waiting for resources", a->l->job_id);
}

static bool state_terminal(Pst__JobState state)
{
    return state >= PST__JOB_STATE__JOB_COMPLETED;
}

/* The job ended before it was granted, or before its nodes were ready.  A message of the controller
 * may have said why. */
static int never_granted(struct asking *a, const Pst__JobStatus *st)
{
    if (a->grant || (st->message && *st->message)) {
        if (a->salloc || a->grant)
            cli_error("Job allocation %u has been revoked", a->l->job_id);
        return cli_error_status();
    }
    if (st->state == PST__JOB_STATE__JOB_CANCELLED)
        cli_info("Job has been cancelled");
    if (a->salloc)
        cli_info("Job allocation %u has been revoked.", a->l->job_id);
    submit_print_code(a->what, ESLURM_ALREADY_DONE, NULL);
    return cli_error_status();
}

/* Prologs run on the nodes.  srun says so only when it is asked to be talkative. */
static void tell_configuring(struct asking *a)
{
    if (a->salloc)
        cli_info("Waiting for resource configuration");
    else
        cli_verbose(1, "Waiting for resource configuration");
}

static void take_grant(struct asking *a, Pst__JobStatus *st)
{
    bool first = !a->grant;

    if (!first && st->job) { /* a fuller picture; keep a step that came before */
        if (!st->step) {
            st->step = a->grant->step;
            a->grant->step = NULL;
        }
        free_msg(&a->grant->base);
        a->grant = st;
    } else if (!first) {
        a->grant->launched |= st->launched;
        free_msg(&st->base);
    } else {
        a->grant = st;
        if (a->told)
            cli_info("job %u has been allocated resources", a->l->job_id);
        cli_verbose(1, "JobId=%u returned by the controller", a->l->job_id);
        if (a->salloc)
            cli_info("Granted job allocation %u", a->l->job_id);
        if (!st->launched)
            tell_configuring(a);
    }
}

static bool complete_grant(const struct asking *a, bool more)
{
    return a->grant && (!more || a->grant->launched);
}

/* Another cluster of the federation runs the job: it is asked from now on. */
static int follow_job(struct asking *a, const Pst__JobStatus *st)
{
    struct joblink *l = a->l;
    uint32_t port = st->cluster_port;

    if (!st->cluster_addrs || !*st->cluster_addrs || !port || port > UINT16_MAX) {
        cli_error("Cluster %s runs job %u, and nobody knows where its controller is", st->cluster,
                  l->job_id);
        return -cli_error_status();
    }
    cli_verbose(1, "job %u has started in cluster %s", l->job_id, st->cluster);
    clusters_add(&l->elsewhere, st->cluster, st->cluster_addrs, port);
    clusters_use(l->cli, &l->elsewhere, l->elsewhere.n - 1);
    l->client = client_free(l->client);
    return 0; /* without a connection the wait goes on there */
}

/* One frame.  1 = done, 0 = go on, else minus the exit status. */
static int take_frame(struct asking *a, const struct frame *frame, ProtobufCMessage *msg,
                      Pst__JobReason *reason)
{
    bool more = (frame->flags & FRAME_MORE) != 0;
    Pst__JobStatus *st = PB_AS(job_status, msg);
    int r = 0;

    a->l->streaming = more;
    submit_print_messages(st->message);
    if (st->has_job_id)
        a->l->job_id = st->job_id;
    *reason = st->reason;
    (void)snprintf(a->waits_for, sizeof(a->waits_for), "%s", st->waits_for ? st->waits_for : "");
    if (st->job || (a->grant && !state_terminal(st->state))) {
        take_grant(a, st);
        return complete_grant(a, more) ? 1 : 0;
    }
    if (state_terminal(st->state))
        r = -never_granted(a, st);
    else if (st->cluster)
        r = follow_job(a, st);
    free_msg(msg);
    return r;
}

static int wait_interrupted(struct asking *a)
{
    /* SIGINT from no terminal */
    bool silent = a->salloc && a->l->signo == SIGINT && !isatty(STDIN_FILENO);

    joblink_cancel(a->l);
    if (a->salloc)
        cli_info("Job aborted due to signal");
    if (a->l->job_id && !silent)
        cli_info("Job allocation %u has been revoked%s", a->l->job_id, a->salloc ? "." : "");
    return CLI_EXIT_FAILED;
}

/* On the new connection.  A submission whose fate nobody knows is not repeated: only the user can
 * tell. */
static int ask_again(struct asking *a)
{
    struct joblink *l = a->l;

    if (l->job_id)
        return send_wait(l, true);
    if (!l->moved)
        return -EPIPE;
    l->wait_id = client_next_id(l->client);
    return client_send(l->client, OP_JOB_SUBMIT, 0, l->wait_id, &a->req->base);
}

/* The connection broke while we wait.  0 = waiting again, else the exit status. */
static int resume_waiting(struct asking *a)
{
    int r = reconnect_link(a->l);

    if (r == 0)
        r = ask_again(a);
    if (r == -EINTR)
        return wait_interrupted(a);
    if (r < 0) {
        cli_error("%s: %s", a->what, slurm_err_text(EPST_UNREACHABLE));
        return cli_error_status();
    }
    return 0;
}

static int wait_granted(struct asking *a)
{
    struct joblink *l = a->l;
    Pst__JobReason reason = PST__JOB_REASON__REASON_NONE;

    for (;;) {
        int timeout_ms = a->told || a->grant ? -1 : GRACE_MS;
        ProtobufCMessage *msg = NULL;
        struct frame frame;
        int r = next_answer(l, l->wait_id, &pst__job_status__descriptor, timeout_ms, &frame, &msg);

        if (r == 0 && l->job_id && !a->grant) {
            tell_waiting(a, reason);
        } else if (r == -EINTR) {
            return wait_interrupted(a);
        } else if (r == -EREMOTEIO) {
            bool busy = l->err_code == ESLURM_NODES_BUSY;

            submit_print_code(busy ? "Unable to allocate resources" : a->what, l->err_code,
                              l->err_text);
            return a->immediate && (busy || l->err_code == ESLURM_IMMEDIATE)
                       ? cli_immediate_status()
                       : cli_error_status();
        } else if (r == -EPIPE) {
            r = resume_waiting(a);
            if (r != 0)
                return r;
        } else if (r > 0) {
            r = take_frame(a, &frame, msg, &reason);
            if (r != 0)
                return r > 0 ? 0 : -r;
            if (!l->client) /* to another cluster */
                r = resume_waiting(a);
            if (r != 0)
                return r;
        }
    }
}

int joblink_allocate(struct joblink *l, Pst__SubmitRequest *req, const char *what,
                     Pst__JobStatus **ret_grant)
{
    struct asking a = {
        .l = l,
        .req = req,
        .what = what,
        .salloc = strcmp(l->cli->program, "salloc") == 0,
        .immediate = req->has_immediate_s,
        .at_once = req->has_immediate_s && req->immediate_s <= 1,
    };
    int r, status;

    req->wait_alloc = req->has_wait_alloc = true;
    req->follows = req->has_follows = true;
    l->attached = true;
    l->client = cli_connect_or_die(l->cli, what);
    l->wait_id = client_next_id(l->client);
    r = client_send(l->client, OP_JOB_SUBMIT, 0, l->wait_id, &req->base);
    if (r < 0) {
        submit_print_error(what, l->client, r);
        return cli_error_status();
    }
    status = wait_granted(&a);
    if (status != 0) {
        if (a.grant)
            free_msg(&a.grant->base);
        return status;
    }
    *ret_grant = a.grant;
    return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static bool bad_job(int code)
{
    return code == ESLURM_INVALID_JOB_ID || code == ESLURM_JOB_FINISHED;
}

static void check_variable(uint32_t job_id)
{
    cli_info("Check SLURM_JOB_ID environment variable. Expired or invalid job %u", job_id);
}

static void job_expired(uint32_t job_id)
{
    cli_error("Slurm job %u has expired", job_id);
    check_variable(job_id);
}

void joblink_unconfirmed(int code, uint32_t job_id)
{
    cli_error("Unable to confirm allocation for job %u: %s", job_id, slurm_err_text(code));
    check_variable(job_id);
}

static void step_refused(struct joblink *l, uint32_t job_id)
{
    char what[96];

    if (l->err_code == ESLURM_INVALID_NODE_COUNT && l->err_text[0]) {
        for (char *line = l->err_text, *rest; line; line = rest) {
            rest = strchr(line, '\n');
            if (rest)
                *rest++ = '\0';
            cli_error("%s", line);
        }
        return;
    }
    if (bad_job(l->err_code) || l->err_code == ESLURM_JOB_PENDING) {
        if (l->err_code == ESLURM_JOB_FINISHED)
            job_expired(job_id);
        else
            joblink_unconfirmed(l->err_code, job_id);
        return;
    }
    (void)snprintf(what, sizeof(what), "Unable to create step for job %u", job_id);
    submit_print_code(what, l->err_code, l->err_text);
}

/* A step of one job, or over components. */
struct step_ask {
    uint32_t job_id;
    const Pst__StepSpec *spec;
    Pst__HetStepRequest *het;
    bool immediate;
    bool told; /* that it waits: the end of the step before is no wait */
};

static int send_step(struct joblink *l, const struct step_ask *ask)
{
    Pst__StepCreateRequest req = PST__STEP_CREATE_REQUEST__INIT;

    l->wait_id = client_next_id(l->client);
    if (ask->het) {
        ask->het->wait = ask->het->has_wait = !ask->immediate;
        return client_send(l->client, OP_HET_STEP_CREATE, 0, l->wait_id, &ask->het->base);
    }
    req.job_id = ask->job_id;
    req.has_job_id = true;
    req.spec = (Pst__StepSpec *)ask->spec;
    req.wait = req.has_wait = !ask->immediate;
    return client_send(l->client, OP_STEP_CREATE, 0, l->wait_id, &req.base);
}

static int step_lost(struct joblink *l, const struct step_ask *ask)
{
    int r = reconnect_link(l);

    if (r == 0)
        r = send_step(l, ask);
    if (r == -EINTR)
        return r;
    if (r < 0)
        cli_error("Unable to create step for job %u: %s", ask->job_id,
                  slurm_err_text(EPST_UNREACHABLE));
    return r;
}

static void tell_step_cancelled(struct joblink *l, uint32_t job_id)
{
    cli_info("Cancelled pending job step with signal %d", l->signo);
    cli_error("Unable to create step for job %u: %s", job_id, slurm_err_text(ESLURM_ALREADY_DONE));
}

static int ask_step(struct joblink *l, struct step_ask *ask, ProtobufCMessage **ret_reply)
{
    const ProtobufCMessageDescriptor *desc =
        ask->het ? &pst__het_step_reply__descriptor : &pst__step_reply__descriptor;
    int r;

    l->job_id = ask->job_id;
    if (!l->client)
        l->client = cli_connect_or_die(l->cli, NULL);
    r = send_step(l, ask);
    for (;;) {
        ProtobufCMessage *msg = NULL;
        struct frame frame;

        if (r >= 0)
            r = next_answer(l, l->wait_id, desc, ask->told ? -1 : STEP_TELL_MS, &frame, &msg);
        if (r == -EINTR) {
            tell_step_cancelled(l, ask->job_id);
            return CLI_EXIT_FAILED;
        }
        if (r == -EREMOTEIO) {
            step_refused(l, ask->job_id);
            return cli_error_status();
        }
        if (r < 0) {
            r = step_lost(l, ask);
            if (r < 0 && r != -EINTR)
                return cli_error_status();
            continue;
        }
        if (r == 0) {
            ask->told = true;
            cli_verbose(
                1, "Job %u step creation temporarily disabled, retrying (Requested nodes are busy)",
                ask->job_id);
            continue;
        }
        *ret_reply = msg;
        return 0;
    }
}

int joblink_step(struct joblink *l, uint32_t job_id, const Pst__StepSpec *spec,
                 Pst__StepReply **ret_reply)
{
    struct step_ask ask = { .job_id = job_id, .spec = spec, .immediate = spec->has_immediate_s };
    ProtobufCMessage *msg = NULL;
    int status = ask_step(l, &ask, &msg);

    if (status == 0)
        *ret_reply = PB_AS(step_reply, msg);
    if (status == 0 && (*ret_reply)->waited && ask.told)
        cli_info("Step created for StepId=%u.%u", job_id, (*ret_reply)->step->step_id);
    return status;
}

int joblink_het_step(struct joblink *l, Pst__HetStepRequest *req, Pst__HetStepReply **ret_reply)
{
    struct step_ask ask = { .job_id = req->job_id, .het = req };
    ProtobufCMessage *msg = NULL;
    Pst__HetStepReply *reply;
    int status;

    ask.immediate = req->n_components && req->components[0]->spec->has_immediate_s;
    status = ask_step(l, &ask, &msg);
    if (status != 0)
        return status;
    reply = PB_AS(het_step_reply, msg);
    if (reply->n_steps != req->n_components)
        cli_die(cli_error_status(), "the controller made %zu parts of a step of %zu",
                reply->n_steps, req->n_components);
    if (reply->n_steps && reply->steps[0]->waited && ask.told)
        cli_info("Step created for StepId=%u.%u", req->job_id, reply->steps[0]->step->step_id);
    *ret_reply = reply;
    return 0;
}

/* ---- while it runs --------------------------------------------------------------------------- */

void joblink_watch(struct joblink *l, bool attach)
{
    l->attached = attach;
    if (l->streaming)
        return; /* the request that asked for the allocation tells its end as well */
    if (l->client && send_wait(l, false) < 0)
        l->client = client_free(l->client);
}

int joblink_fd(const struct joblink *l)
{
    return l->client ? client_fd(l->client) : -1;
}

int joblink_timeout_ms(const struct joblink *l)
{
    int64_t left_us;

    if (l->client || l->ended || !l->wait_id)
        return -1;
    left_us = l->retry_mono_us - now_mono_us();
    return left_us <= 0 ? 0 : (int)(left_us / 1000) + 1;
}

static void try_again(struct joblink *l)
{
    struct err err = { .text = "" };

    l->retry_mono_us = now_mono_us() + RETRY_MS * 1000;
    if (cli_connect_once(l->cli, &l->client, &err) < 0)
        cli_still_trying(&l->patience, err.text);
    else if (send_wait(l, false) < 0)
        l->client = client_free(l->client);
    else
        l->patience = (struct cli_patience){ 0 };
}

static void take_status(struct joblink *l, const Pst__JobStatus *st)
{
    if (!state_terminal(st->state))
        return;
    l->ended = true;
    l->cancelled = st->state == PST__JOB_STATE__JOB_CANCELLED;
}

bool joblink_process(struct joblink *l)
{
    if (l->ended || !l->wait_id)
        return false;
    if (!l->client && joblink_timeout_ms(l) == 0)
        try_again(l);
    while (l->client && !l->ended) {
        ProtobufCMessage *msg = NULL;
        struct frame frame;
        int r = client_recv(l->client, 0, &frame);

        if (r == 0)
            return false;
        if (r < 0 || gave_up_control(l, &frame, l->wait_id)) {
            l->client = client_free(l->client);
            l->retry_mono_us = now_mono_us();
            return false;
        }
        if (frame.id != l->wait_id || unpack_status(&frame, &pst__job_status__descriptor, &msg) < 0)
            continue;
        if (frame.flags & FRAME_ERROR)
            l->ended = true; /* no longer known */
        else
            take_status(l, PB_AS(job_status, msg));
        free_msg(msg);
    }
    return l->ended;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* id: "JOB" or "JOB.STEP" */
static int send_verb(struct joblink *l, Pst__JobVerb verb, char *id, uint32_t exit_status,
                     uint32_t *ret_id)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;
    char *ids[] = { id };

    req.verb = verb;
    req.has_verb = true;
    req.ids = ids;
    req.n_ids = 1;
    req.exit_status = exit_status;
    req.has_exit_status = verb == PST__JOB_VERB__VERB_COMPLETE;
    *ret_id = client_next_id(l->client);
    return client_send(l->client, OP_JOB_ACTION, 0, *ret_id, &req.base);
}

static int try_verb_on(struct joblink *l, Pst__JobVerb verb, char *target, uint32_t exit_status)
{
    struct err err = { .text = "" };
    ProtobufCMessage *msg = NULL;
    struct frame frame;
    uint32_t id = 0;
    int r = l->client ? 0 : cli_connect_once(l->cli, &l->client, &err);

    if (r == 0)
        r = send_verb(l, verb, target, exit_status, &id);
    if (r >= 0) {
        int sig_fd = l->sig_fd;

        l->sig_fd = -1; /* what is asked for now must be finished */
        r = next_answer(l, id, &pst__job_action_reply__descriptor, RETRY_MS * 20, &frame, &msg);
        l->sig_fd = sig_fd;
        if (r == 0)
            r = -ETIMEDOUT;
    }
    free_msg(msg);
    if (r < 0 && r != -EREMOTEIO)
        l->client = client_free(l->client);
    return r < 0 ? r : 0;
}

static int try_verb(struct joblink *l, Pst__JobVerb verb, uint32_t exit_status)
{
    char id[16];

    (void)snprintf(id, sizeof(id), "%u", l->job_id);
    return try_verb_on(l, verb, id, exit_status);
}

void joblink_end_step(struct joblink *l, uint32_t job_id, uint32_t step_id, uint32_t exit_status)
{
    char id[32];

    (void)snprintf(id, sizeof(id), "%u.%u", job_id, step_id);
    /* without the controller the step ends with its job */
    (void)try_verb_on(l, PST__JOB_VERB__VERB_COMPLETE, id, exit_status);
}

int joblink_complete(struct joblink *l, uint32_t exit_status)
{
    for (unsigned i = 0; i < COMPLETE_TRIES; i++) {
        int r = try_verb(l, PST__JOB_VERB__VERB_COMPLETE, exit_status);

        if (r == 0)
            return 0;
        if (r == -EREMOTEIO) {
            if (bad_job(l->err_code))
                return 0; /* it ended by itself meanwhile */
            submit_print_code("Unable to release the allocation", l->err_code, l->err_text);
            return r;
        }
        if (!cli_may_come_back(r))
            break;
        (void)poll(NULL, 0, RETRY_MS); /* a pause; the controller may be restarting */
    }
    cli_error("Unable to release the allocation of job %u: %s", l->job_id,
              slurm_err_text(EPST_UNREACHABLE));
    return -EHOSTUNREACH;
}

void joblink_cancel(struct joblink *l)
{
    if (l->job_id)
        (void)try_verb(l, PST__JOB_VERB__VERB_CANCEL, 0); /* losing the client ends it as well */
}
