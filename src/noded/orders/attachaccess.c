/* attachaccess.c - connections for what is already here; see attachaccess.h
 *
 * sattach's and sstat's go to the step daemon, sbcast's, a relay's and those for the end of a
 * script's output to a process of the user.
 * Main thread.
 */
#include "noded/orders/attachaccess.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/people/groups.h"
#include "base/logflags.h"
#include "noded/link/listen.h"
#include "noded/steps/userproc.h"
#include "stepd/shared/stepd_spawn.h"
#include "stepd/shared/ctl.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* listen_refuse_op() closes what it answers on. */
static void refuse_access(int fd, ProtobufCBinaryData stream_key, unsigned op, uint32_t request_id,
                          int code, const char *text)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (own >= 0)
        listen_refuse_op(own, stream_key, op, request_id, code, text);
}

static void hand_over(struct noded *d, const Pst__StepCredential *cred, const Pst__StepOrder *order,
                      int fd, unsigned op, uint32_t request_id)
{
    struct njob *job = jobs_find(&d->jobs, cred->job_id, cred->run_id);
    const struct nstep *step = job ? job_find_step(job, cred->step_id) : NULL;

    if (!step || step->phase != STEP_RUNS || step->ctl_fd < 0)
        refuse_access(fd, order->stream_key, op, request_id, ESLURM_ALREADY_DONE,
                      "the step is not running on this node");
    else if (ctl_send_fd(step->ctl_fd, &order->base, fd) < 0)
        refuse_access(fd, order->stream_key, op, request_id, SLURM_ERROR,
                      "the step daemon does not listen");
}

void access_attach(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id,
                   ProtobufCBinaryData stream_key)
{
    Pst__StepOrder order = PST__STEP_ORDER__INIT;

    order.has_attach_id = true;
    order.attach_id = request_id;
    order.has_stream_key = stream_key.len > 0;
    order.stream_key = stream_key;
    hand_over(d, cred, &order, fd, OP_ATTACH_STEP, request_id);
}

void access_stat(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id,
                 ProtobufCBinaryData stream_key)
{
    Pst__StepOrder order = PST__STEP_ORDER__INIT;

    order.has_stat_id = true;
    order.stat_id = request_id;
    order.has_stream_key = stream_key.len > 0;
    order.stream_key = stream_key;
    hand_over(d, cred, &order, fd, OP_STAT_STEP, request_id);
}

/* use_client_ids: groups that the controller's credential tells. */
static int copy_groups(Pst__BcastFile *file, const Pst__ClientIdent *id, struct err *err)
{
    file->gids = malloc(id->n_gids * sizeof(*file->gids));
    if (!file->gids)
        return err_nomem(err);
    memcpy(file->gids, id->gids, id->n_gids * sizeof(*file->gids));
    file->n_gids = id->n_gids;
    return 0;
}

static int fill_groups(Pst__BcastFile *file, const Pst__StepCredential *cred, struct err *err)
{
    const Pst__ClientIdent *id = cred->job ? cred->job->client_ident : NULL;

    if (id && id->n_gids && geteuid() == 0)
        return copy_groups(file, id, err);
    if (cred->user_name && geteuid() == 0)
        return groups_of(cred->user_name, cred->gid, &file->gids, &file->n_gids, err);
    file->gids = malloc(sizeof(*file->gids));
    if (!file->gids)
        return err_nomem(err);
    file->gids[file->n_gids++] = cred->gid;
    return 0;
}

/* A connection, and who takes it over. */
struct takeover {
    const char *kind; /* of the process: "bcast", "tail", "relay" */
    unsigned op;
    uint32_t request_id;
    int fd;    /* the connection; not owned */
    int ns_fd; /* of the job; -1: it has none, or the process needs none */
};

static ProtobufCBinaryData stream_key_of(const Pst__BcastFile *file)
{
    return file->relay  ? file->relay->stream_key
           : file->tail ? file->tail->stream_key
                        : file->open->stream_key;
}

/* Start the process; it waits until it is in the table of those that are reaped. */
static int start_waiting(struct noded *d, const struct takeover *t, const Pst__BcastFile *file,
                         const Pst__StepCredential *cred, struct err *err)
{
    char exe[sizeof(d->stepd_exe) + 8];
    struct bcast_start b = {
        .exe = exe, .kind = t->kind, .dir = d->spool, .file = file, .fd = t->fd, .ns_fd = t->ns_fd
    };
    int go[2];
    pid_t pid;
    int r = pipe2(go, O_CLOEXEC) < 0 ? -errno : 0;

    if (r < 0)
        return r;
    /* The twin that is linked dynamically looks names up and loads liblz4 and OpenSSL. */
    (void)snprintf(
        exe, sizeof(exe), "%s%s", d->stepd_exe,
        file->relay || stream_key_of(file).len || (file->open && file->open->lz4) ? "-relay" : "");
    b.go_fd = go[0];
    r = bcast_spawn(&b, &pid);
    if (r == 0)
        r = userproc_add(d, cred, pid, t->kind, err); /* reaped with the other children */
    if (r == 0 && write(go[1], "", 1) != 1)
        r = -EIO; /* it ends */
    (void)close(go[0]);
    (void)close(go[1]);
    return r;
}

/* Start a process of the user that takes the connection over. */
static void start_process(struct noded *d, const struct takeover *t, Pst__BcastFile *file,
                          const Pst__StepCredential *cred)
{
    struct err err = { .text = "" };
    int r;

    if (geteuid() != 0 && cred->uid != geteuid()) {
        refuse_access(t->fd, stream_key_of(file), t->op, t->request_id, EPERM,
                      "slurmd is not root and cannot act as this user");
        return;
    }
    file->has_uid = file->has_gid = file->has_request_id = true;
    file->uid = cred->uid;
    file->gid = cred->gid;
    file->request_id = t->request_id;
    r = userproc_room(d, cred->uid, &err);
    if (r == 0)
        r = fill_groups(file, cred, &err);
    if (r == 0)
        r = start_waiting(d, t, file, cred, &err);
    if (r < 0) {
        const char *why = err.text[0] ? err.text : strerror(-r);

        log_error("cannot start a %s: %s job=%u uid=%u", t->kind, why, cred->job_id, cred->uid);
        refuse_access(t->fd, stream_key_of(file), t->op, t->request_id, -r, why);
    }
    free(file->gids);
}

/* The mount namespace of the credential's job; -1: it has none. */
static int namespace_of(struct noded *d, const Pst__StepCredential *cred)
{
    const struct njob *job = jobs_find(&d->jobs, cred->job_id, cred->run_id);

    return job ? job->ns_fd : -1;
}

void access_bcast(struct noded *d, Pst__BcastOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id)
{
    struct takeover t = { "bcast", OP_BCAST_OPEN, request_id, fd, namespace_of(d, cred) };
    Pst__BcastFile file = PST__BCAST_FILE__INIT;

    file.open = open;
    start_process(d, &t, &file, cred);
}

void access_tail(struct noded *d, Pst__TailOutput *tail, const Pst__StepCredential *cred, int fd,
                 uint32_t request_id)
{
    struct takeover t = { "tail", OP_TAIL_OUTPUT, request_id, fd, namespace_of(d, cred) };
    Pst__BcastFile file = PST__BCAST_FILE__INIT;

    file.tail = tail;
    file.job = cred->job;
    start_process(d, &t, &file, cred);
}

void access_relay(struct noded *d, Pst__RelayOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id)
{
    struct takeover t = { "relay", OP_RELAY, request_id, fd, -1 };
    Pst__BcastFile file = PST__BCAST_FILE__INIT;

    file.relay = open;
    log_flag(ROUTE, "JobId=%u relays %s to %zu nodes, at most %u at a time", cred->job_id,
             open->bcast ? "a file" : "a launch", open->n_nodes, open->width);
    start_process(d, &t, &file, cred);
}
