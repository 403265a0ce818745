/* userproc.c - processes that serve a connection as the user: those of sbcast and of relays; see
 * noded.h
 *
 * They belong to a job but to no step: they are put into a part of the job's cgroup of their own,
 * where there is one, and end when their connection closes, or a moment after the job.  Each is
 * written down in the spool, so that an heir of slurmd knows it.  A process is held by a
 * descriptor, so that its number never means another one.  Main thread. */
#include "noded/steps/userproc.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "noded/plan/constrain.h"
#include "stepd/shared/spool.h"
#include "stepd/use/procscan.h"

#define USER_MAX                                                                                   \
    256u /* of one user at a time: the steps of a job that are started side by side have relays    \
            here */
#define PARTING_MS 5000u /* after the job: other nodes' last words come through a relay */
#define FILE_PREFIX "proc."

struct userproc {
    struct userproc *next;
    struct noded *d;
    Pst__UserProcess *rec; /* as in the spool; owned */
    int fd;                /* pidfd */
    uv_poll_t poll;
    uv_timer_t parting;
    unsigned open_handles;
};

static void name_file(const Pst__UserProcess *rec, char *buf, size_t size)
{
    (void)snprintf(buf, size, FILE_PREFIX "%u", rec->pid);
}

static void forget_file(const struct noded *d, const Pst__UserProcess *rec)
{
    char path[SPOOL_PATH_MAX], name[32];

    name_file(rec, name, sizeof(name));
    (void)snprintf(path, sizeof(path), "%s/%s", d->spool, name);
    (void)unlink(path); /* may never have been written */
}

static void on_closed(uv_handle_t *h)
{
    struct userproc *p = h->data;

    if (--p->open_handles > 0)
        return;
    (void)close(p->fd);
    pst__user_process__free_unpacked(p->rec, NULL);
    free(p);
}

/* Stop following it; what is written of it stays. */
static void let_go(struct userproc *p)
{
    struct userproc **at = &p->d->userprocs;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    uv_close((uv_handle_t *)&p->poll, on_closed);
    uv_close((uv_handle_t *)&p->parting, on_closed);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    struct userproc *p = poll->data;

    (void)status;
    (void)events;
    forget_file(p->d, p->rec);
    if (p->rec->cgroup)
        (void)cgroup_kill_left(&p->d->cgroups, p->rec->cgroup); /* empty: removed */
    let_go(p);
}

static void kill_now(const struct userproc *p)
{
    (void)pidfd_send_signal(p->fd, SIGKILL, NULL, 0); /* it may just have ended */
}

static void on_parting(uv_timer_t *t)
{
    kill_now(t->data);
}

/* fd and rec are taken on success. */
static int follow_process(struct noded *d, Pst__UserProcess *rec, int fd)
{
    struct userproc *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->d = d;
    p->poll.data = p->parting.data = p;
    if (uv_poll_init(&d->loop, &p->poll, fd) < 0) {
        free(p);
        return -ENOMEM;
    }
    (void)uv_timer_init(&d->loop, &p->parting); /* cannot fail */
    p->open_handles = 2;
    p->rec = rec;
    p->fd = fd;
    p->next = d->userprocs;
    d->userprocs = p;
    (void)uv_poll_start(&p->poll, UV_READABLE, on_end); /* cannot fail: not closing */
    return 0;
}

int userproc_room(const struct noded *d, uint32_t uid, struct err *err)
{
    unsigned n = 0;

    for (const struct userproc *p = d->userprocs; p; p = p->next)
        n += p->rec->uid == uid;
    return n < USER_MAX
               ? 0
               : err_set(err, -EAGAIN, "user %u has %u transfers and relays on this node already",
                         uid, n);
}

static Pst__UserProcess *record_of(const struct noded *d, const Pst__StepCredential *cred,
                                   pid_t pid, const char *kind, struct err *err)
{
    const struct njob *job = jobs_find((struct jobs *)&d->jobs, cred->job_id, cred->run_id);
    _cleanup_free_ char *cgroup = NULL;
    Pst__UserProcess *rec;
    struct proc_info info;
    char name[64], world[PROC_WORLD];
    int r;

    proc_world(world);
    (void)snprintf(name, sizeof(name), "%s%d", kind, (int)pid);
    r = constrain_adopt(d, job ? job->on->job : cred->job, cred->uid, name, pid, &cgroup, err);
    if (r < 0)
        return NULL;
    rec = malloc(sizeof(*rec));
    if (!rec || proc_read(pid, &info) < 0) {
        (void)err_set(err, -ENOMEM, "cannot follow the process");
        free(rec);
        return NULL;
    }
    pst__user_process__init(rec);
    rec->has_pid = rec->has_start_ticks = rec->has_job_id = rec->has_run_id = rec->has_uid = true;
    rec->pid = (uint32_t)pid;
    rec->start_ticks = info.start_ticks;
    rec->job_id = cred->job_id;
    rec->run_id = cred->run_id;
    rec->uid = cred->uid;
    rec->cgroup = TAKE_PTR(cgroup);
    (void)pb_set_str(&rec->world, world); /* -ENOMEM: as of an older release */
    return rec;
}

int userproc_add(struct noded *d, const Pst__StepCredential *cred, pid_t pid, const char *kind,
                 struct err *err)
{
    _cleanup_close_ int fd = pidfd_open(pid, 0); /* our child, not waited for */
    Pst__UserProcess *rec = fd < 0 ? NULL : record_of(d, cred, pid, kind, err);
    char name[32];
    int r;

    r = rec ? follow_process(d, rec, fd) : -EIO;
    if (r < 0) {
        (void)kill(pid, SIGKILL); /* we cannot follow the process, so nothing else would end it */
        if (rec)
            pst__user_process__free_unpacked(rec, NULL);
        return err->text[0] ? r : err_set(err, r, "cannot follow the process");
    }
    (void)TAKE_FD(fd);
    name_file(rec, name, sizeof(name));
    if (spool_put_msg(d->spool, name, &rec->base) < 0)
        log_error("cannot write down a process of user %u job=%u", rec->uid, rec->job_id);
    return 0;
}

void userproc_job_over(struct noded *d, uint32_t job_id, uint64_t run_id)
{
    for (struct userproc *p = d->userprocs; p; p = p->next)
        if (p->rec->job_id == job_id && p->rec->run_id == run_id &&
            !uv_is_active((uv_handle_t *)&p->parting))
            (void)uv_timer_start(&p->parting, on_parting, PARTING_MS,
                                 0); /* cannot fail: not closing */
}

/* ---- after a restart ------------------------------------------------------------------------- */

/* The process that was written down, held by a descriptor; negative: it has ended. */
static int find_process(const Pst__UserProcess *rec)
{
    _cleanup_close_ int fd = rec->pid > 0 ? pidfd_open((pid_t)rec->pid, 0) : -1;
    struct proc_info info;

    if (fd < 0 || !proc_is_our_world(rec->world) || proc_read((pid_t)rec->pid, &info) < 0 ||
        info.start_ticks != rec->start_ticks)
        return -ESRCH;
    return TAKE_FD(fd);
}

static void recover_one(struct noded *d, const char *name)
{
    ProtobufCMessage *msg = NULL;
    _cleanup_close_ int fd = -1;
    Pst__UserProcess *rec;
    char path[SPOOL_PATH_MAX];
    bool known;

    if (spool_get_msg(d->spool, name, &pst__user_process__descriptor, &msg) < 0) {
        (void)snprintf(path, sizeof(path), "%s/%s", d->spool, name);
        (void)unlink(path); /* an unreadable record is of no use */
        return;
    }
    rec = (Pst__UserProcess *)msg;
    fd = find_process(rec);
    known = jobs_find(&d->jobs, rec->job_id, rec->run_id) != NULL;
    if (fd >= 0 && known && follow_process(d, rec, fd) == 0) {
        (void)TAKE_FD(fd);
        return;
    }
    if (fd >= 0)
        (void)pidfd_send_signal(fd, SIGKILL, NULL, 0); /* its job has ended without it */
    if (rec->cgroup)
        (void)cgroup_kill_left(&d->cgroups, rec->cgroup); /* constrain_sweep() sees what stays */
    forget_file(d, rec);
    protobuf_c_message_free_unpacked(msg, NULL);
}

void userproc_recover(struct noded *d)
{
    DIR *dir = opendir(d->spool);
    const struct dirent *e;

    if (!dir)
        return; /* recover_spool() has said so */
    while ((e = readdir(dir)))
        if (strncmp(e->d_name, FILE_PREFIX, strlen(FILE_PREFIX)) == 0)
            recover_one(d, e->d_name);
    (void)closedir(dir);
}

void userproc_close(struct noded *d)
{
    while (d->userprocs) {
        if (uv_is_active((uv_handle_t *)&d->userprocs->parting))
            kill_now(d->userprocs); /* else it would run on until the next slurmd starts */
        let_go(d->userprocs);
    }
}
