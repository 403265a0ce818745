/* adopt.c - see adopt.h
 *
 * A job is here when the spool has it and does not say that it is clean.  The extern step's daemon
 * takes whoever asks by what the kernel says of the connection, and lets only root ask. */
#include "pam/adopt.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>

#include "base/cleanup.h"
#include "stepd/ctl.h"
#include "stepd/spool.h"
#include "stepfile.pb-c.h"

#define ANSWER_MS 10000

struct search {
    const char *spool;
    uid_t uid;
    struct adopt_job newest;
    size_t count;
};

static int on_entry(void *ctx, uint32_t job_id, uint64_t run_id, const uint32_t *step_id)
{
    struct search *s = ctx;
    char dir[SPOOL_PATH_MAX];
    ProtobufCMessage *msg = NULL;
    const Pst__JobRecord *job;

    if (step_id)
        return 0;
    spool_job_dir(s->spool, job_id, run_id, dir, sizeof(dir));
    if (spool_has(dir, "clean") ||
        spool_get_msg(dir, "job", &pst__job_on_node__descriptor, &msg) < 0)
        return 0; /* over, or just coming or going */
    job = ((const Pst__JobOnNode *)msg)->job;
    if (job && job->uid == s->uid) {
        s->count++;
        if (s->count == 1 || job->start_us >= s->newest.start_us)
            s->newest = (struct adopt_job){ job_id, run_id, job->start_us };
    }
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

int adopt_find(const char *spool, uid_t uid, struct adopt_job *ret_newest, size_t *ret_count)
{
    struct search s = { .spool = spool, .uid = uid };
    int r = spool_scan(spool, on_entry, &s);

    if (r < 0)
        return r;
    if (s.count)
        *ret_newest = s.newest;
    *ret_count = s.count;
    return 0;
}

/* The step daemon's next word; it has slurmd to talk to as well, so that it may be busy for a
 * moment. */
static int answer(int fd, int *ret_ns, int *ret_flags)
{
    ProtobufCMessage *msg = NULL;
    _cleanup_close_ int ns = -1;
    int r;

    do {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        r = poll(&p, 1, ANSWER_MS);
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0)
            return -ETIMEDOUT;
        r = ctl_recv_fd(fd, &pst__step_news__descriptor, &msg, &ns);
    } while (r == -EAGAIN);
    if (r <= 0)
        return r < 0 ? r : -ECONNRESET;
    r = ((const Pst__StepNews *)msg)->adopted ? 0 : -EREMOTEIO;
    if (r == 0) /* a mount namespace itself, or a pidfd with flags */
        *ret_flags = ((const Pst__StepNews *)msg)->has_ns_flags
                         ? (int)((const Pst__StepNews *)msg)->ns_flags
                         : CLONE_NEWNS;
    protobuf_c_message_free_unpacked(msg, NULL);
    if (r == 0)
        *ret_ns = TAKE_FD(ns);
    return r;
}

int adopt_join(const char *spool, const struct adopt_job *job, int *ret_ns, int *ret_flags)
{
    Pst__StepOrder o = PST__STEP_ORDER__INIT;
    _cleanup_close_ int fd = -1;
    char dir[SPOOL_PATH_MAX];
    int r;

    spool_step_dir(spool, job->job_id, job->run_id, STEP_ID_EXTERN, dir, sizeof(dir));
    r = ctl_connect(dir, "sock", &fd);
    if (r < 0)
        return r;
    o.has_adopt = o.adopt = true;
    r = ctl_send(fd, &o.base);
    return r < 0 ? r : answer(fd, ret_ns, ret_flags);
}
