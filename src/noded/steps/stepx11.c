/* stepx11.c - connections for X programs reach the extern step; see stepx11.h */
#include "noded/steps/stepx11.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "noded/jobs/jobtable.h"
#include "noded/link/listen.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* Takes fd. */
static void refuse_connection(int fd, const Pst__StepOrder *o, const char *why)
{
    listen_refuse_op(fd, o->stream_key, OP_ATTACH_STEP, o->attach_id, SLURM_ERROR, why);
}

static void drop_waiting(struct njob *job, const char *why)
{
    Pst__StepOrder *o = TAKE_PTR(job->x11_order);
    int fd = TAKE_FD(job->x11_fd);

    if (!o)
        return;
    refuse_connection(fd, o, why);
    pst__step_order__free_unpacked(o, NULL);
}

void x11_extern_changed(struct noded *d, struct njob *job)
{
    const struct nstep *ext = job_find_step(job, STEP_ID_EXTERN);

    (void)d;
    if (!job->x11_order)
        return;
    if (ext && ext->phase == STEP_WAITS)
        return;
    if (!ext || ext->phase != STEP_RUNS || ext->ctl_fd < 0 || job->terminating) {
        drop_waiting(job, "the job has no extern step on this node");
        return;
    }
    if (ctl_send_fd(ext->ctl_fd, &job->x11_order->base, job->x11_fd) < 0) {
        drop_waiting(job, "the step daemon does not listen");
        return;
    }
    pst__step_order__free_unpacked(TAKE_PTR(job->x11_order), NULL);
    (void)close(TAKE_FD(job->x11_fd)); /* the step daemon has its own */
}

void x11_offer(struct noded *d, struct njob *job, const Pst__AttachStep *attach, int fd,
               uint32_t request_id)
{
    Pst__StepOrder o = PST__STEP_ORDER__INIT;
    ProtobufCMessage *copy = NULL;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (own < 0)
        return; /* the caller sees the end of the connection */
    drop_waiting(job, "another connection for X programs came");
    o.has_attach_id = o.has_x11_cookie = true;
    o.attach_id = request_id;
    o.has_stream_key = attach->stream_key.len > 0;
    o.stream_key = attach->stream_key;
    o.x11_cookie = attach->x11_cookie;
    if (pb_dup(&o.base, &copy) < 0) {
        refuse_connection(own, &o, strerror(ENOMEM));
        return;
    }
    job->x11_order = (Pst__StepOrder *)copy;
    job->x11_fd = own;
    x11_extern_changed(d, job);
}

int x11_fill_step(const struct noded *d, const struct njob *job, Pst__StepFile *sf)
{
    ProtobufCMessage *msg = NULL;
    const Pst__StepX11 *x;
    char dir[SPOOL_PATH_MAX];
    int r;

    if (!job->on->job->x11 || !sf->launch)
        return 0;
    spool_step_dir(d->spool, job->job_id, job->run_id, STEP_ID_EXTERN, dir, sizeof(dir));
    if (spool_get_msg(dir, "x11", &pst__step_x11__descriptor, &msg) < 0)
        return 0; /* this node has none */
    x = (const Pst__StepX11 *)msg;
    sf->has_x11_display = x->has_display;
    sf->x11_display = x->display;
    r = pb_set_str(&sf->x11_authority, x->authority);
    protobuf_c_message_free_unpacked(msg, NULL);
    return r;
}
