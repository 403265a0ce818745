/* jobns.c - see jobns.h
 *
 * One thread, so that it may unshare and fork.  Root makes the folders: their parent belongs to
 * root alone, so that no user can put a link into the path.  Programs of the site and rm run in the
 * node's namespace. */
#include "stepd/ns/jobns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/process/inherit.h"
#include "base/timefmt.h"
#include "stepd/ns/imexdev.h"
#include "stepd/ns/nspath.h"
#include "stepd/step.h"

#define INIT_WAIT_S 10

/* One about the namespace, which it finds by SLURM_NS. */
static bool ns_program_in(struct step *s, const char *path, uint32_t wait_s)
{
    char var[64];

    (void)snprintf(var, sizeof(var), "SLURM_NS=/proc/%d/ns/mnt",
                   (int)(s->ns_pid > 0 ? s->ns_pid : getpid()));
    return ns_program(s, path, wait_s, var);
}

/* ---- making ---------------------------------------------------------------------------------- */

static int make_parents(const char *path)
{
    char part[NS_PATH_MAX];

    if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
        return -ENAMETOOLONG;
    for (char *p = part + 1;; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return -errno;
        if (c == '\0')
            return 0;
        *p = c;
    }
}

/* A folder that the job gets for its own. */
struct folder {
    char path[NS_PATH_MAX];   /* where the job sees it */
    char source[NS_PATH_MAX]; /* what it sees there; "" a memory file system */
    char data[256];           /* of that */
    unsigned long flags;
    int fd; /* of the source, before another folder can hide it */
};

/* The bases: that of the namespace, then those of its folders that have one of their own.  NULL:
 * none at i. */
static const char *base_at(const Pst__Namespace *ns, size_t i)
{
    return i == 0 ? ns->base_path : ns->confs[i - 1]->base_path;
}

/* %j, %S and %u. */
static int expand_folder(const struct step *s, const char *pattern, char *buf, size_t size)
{
    size_t at = 0;

    for (const char *p = pattern; *p; p++) {
        int n;

        if (*p != '%')
            n = snprintf(buf + at, size - at, "%c", *p);
        else if (*++p == 'j')
            n = snprintf(buf + at, size - at, "%u", s->job_id);
        else if (*p == 'S' && s->job->sluid)
            n = snprintf(buf + at, size - at, "%s", s->job->sluid);
        else if (*p == 'u' && s->job->user_name)
            n = snprintf(buf + at, size - at, "%s", s->job->user_name);
        else
            return -EINVAL;
        at += (size_t)n;
        if (at >= size)
            return -ENAMETOOLONG;
    }
    return 0;
}

/* BASE/JOBID/_var_tmp for /var/tmp. */
static void source_of(const struct step *s, const char *base, struct folder *f)
{
    size_t n;

    ns_job_dir(base, s->job_id, f->source, sizeof(f->source));
    n = strlen(f->source);
    (void)snprintf(f->source + n, sizeof(f->source) - n, "/%s", f->path);
    for (char *p = f->source + MIN(n + 1, sizeof(f->source) - 1); *p; p++)
        if (*p == '/')
            *p = '_';
}

static int describe_folder(const struct step *s, size_t i, struct folder *f)
{
    const Pst__Namespace *ns = s->sf->ns;
    const Pst__NamespaceDir *conf = i < ns->n_dirs ? NULL : ns->confs[i - ns->n_dirs];
    int r = expand_folder(s, conf ? conf->path : ns->dirs[i], f->path, sizeof(f->path));

    f->fd = -1;
    f->source[0] = f->data[0] = '\0';
    f->flags = conf ? (unsigned long)conf->flags : 0;
    if (conf ? conf->tmpfs : strcmp(f->path, "/dev/shm") == 0)
        (void)snprintf(f->data, sizeof(f->data), "%s%s%s",
                       conf && conf->data && strstr(conf->data, "mode=") ? "" : "mode=1777",
                       conf && conf->data && !strstr(conf->data, "mode=") ? "," : "",
                       conf && conf->data ? conf->data : "");
    else
        source_of(s, conf && conf->base_path ? conf->base_path : ns->base_path, f);
    return r;
}

static int make_folder(const struct step *s, const char *path)
{
    if (mkdir(path, 0700) < 0)
        return errno == EEXIST ? 0 : -errno; /* of a step daemon that was killed */
    return s->switch_user && lchown(path, s->uid, s->gid) < 0 ? -errno : 0;
}

/* Root's alone: what others could have prepared would be mounted.  One of a step daemon that was
 * killed will do. */
static int make_job_dir(const char *path)
{
    struct stat st;

    if (mkdir(path, 0700) == 0)
        return 0;
    if (errno != EEXIST || lstat(path, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

static bool make_bases(struct step *s)
{
    const Pst__Namespace *ns = s->sf->ns;

    for (size_t i = 0; i <= ns->n_confs; i++) {
        const char *base = base_at(ns, i);
        char job_dir[NS_PATH_MAX];
        int r = base && ns->auto_base_path ? make_parents(base) : 0;

        if (r < 0) {
            step_fail(s, "BasePath %s could not be made: %s", base, strerror(-r));
            return false;
        }
        if (!base)
            continue;
        ns_job_dir(base, s->job_id, job_dir, sizeof(job_dir));
        r = make_job_dir(job_dir);
        if (r < 0) {
            step_fail(s, "The job's folder %s could not be made: %s", job_dir, strerror(-r));
            return false;
        }
    }
    return true;
}

static bool make_folders(struct step *s, struct folder *folders, size_t n)
{
    if (!make_bases(s) || !ns_program(s, s->sf->ns->init_script, INIT_WAIT_S, NULL))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct folder *f = &folders[i];
        int r = describe_folder(s, i, f);

        if (r == 0 && f->source[0])
            r = make_folder(s, f->source);
        if (r < 0) {
            step_fail(s, "The job's own %s could not be made: %s", f->path, strerror(-r));
            return false;
        }
    }
    return true;
}

/* A name of the folder that is at f->path now: the job's user may change what the path leads to.
 * *ret_fd is what holds it. */
static int name_place(const struct folder *f, char *buf, size_t size, int *ret_fd)
{
    int r = nspath_open(f->path, ret_fd);

    if (r == 0)
        (void)snprintf(buf, size, "/proc/self/fd/%d", *ret_fd); /* fits */
    return r;
}

/* What was mounted just now gets its flags. */
static int set_flags(const struct folder *f)
{
    _cleanup_close_ int fd = -1;
    char place[32];
    int r = name_place(f, place, sizeof(place), &fd);

    if (r == 0 && mount(NULL, place, NULL, MS_BIND | MS_REMOUNT | f->flags, NULL) < 0)
        r = -errno;
    return r;
}

static int mount_one(const struct folder *f)
{
    _cleanup_close_ int fd = -1;
    char source[32], place[32];
    int r = name_place(f, place, sizeof(place), &fd);

    if (r < 0)
        return r;
    if (!f->source[0])
        return mount("tmpfs", place, "tmpfs", f->flags | MS_NOSUID | MS_NODEV, f->data) < 0 ? -errno
                                                                                            : 0;
    (void)snprintf(source, sizeof(source), "/proc/self/fd/%d", f->fd);
    if (mount(source, place, NULL, MS_BIND, NULL) < 0)
        return -errno;
    return f->flags ? set_flags(f) : 0;
}

static int open_own(void)
{
    int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

static bool mount_all(struct step *s, struct folder *folders, size_t n)
{
    unsigned long how = MS_REC | (s->sf->ns->shared ? MS_SLAVE : MS_PRIVATE);

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, how, NULL) < 0) {
        step_fail(s, "The job's private folders need a mount namespace: %s", strerror(errno));
        return false;
    }
    for (size_t i = 0; i < n; i++) { /* in the new namespace: others cannot be mounted in it */
        struct folder *f = &folders[i];

        f->fd = f->source[0] ? open(f->source, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (f->source[0] && f->fd < 0) {
            step_fail(s, "The job's folder %s could not be opened: %s", f->source, strerror(errno));
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) {
        int r = mount_one(&folders[i]);

        log_flag(NAMESPACE, "JobId=%u its own %s, from %s: %s", s->job_id, folders[i].path,
                 folders[i].source[0] ? folders[i].source : "tmpfs",
                 r < 0 ? strerror(-r) : "mounted");

        if (r < 0) {
            step_fail(s, "The job's own %s could not be mounted: %s", folders[i].path,
                      strerror(-r));
            return false;
        }
    }
    return true;
}

static bool make_all(struct step *s)
{
    size_t n = s->sf->ns->n_dirs + s->sf->ns->n_confs;
    _cleanup_free_ struct folder *folders = calloc(n + 1, sizeof(*folders));
    bool ok;

    if (!folders) {
        step_fail(s, ERR_NOMEM);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        folders[i].fd = -1;
    ok = make_folders(s, folders, n) && mount_all(s, folders, n);
    for (size_t i = 0; i < n; i++)
        if (folders[i].fd >= 0)
            (void)close(folders[i].fd);
    return ok;
}

bool ns_make(struct step *s)
{
    const Pst__Namespace *ns = s->sf->ns;
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool ok;

    s->host_ns_fd = open_own();
    s->ns_fd = -1;
    ok = here >= 0 && s->host_ns_fd >= 0;
    if (!ok)
        step_fail(s, "The node's own view of its folders could not be kept: %s", strerror(errno));
    ok = ok && make_all(s);
    if (here >= 0)
        ok = fchdir(here) == 0 && ok; /* cannot fail: we were there */
    if (here >= 0)
        (void)close(here);
    s->ns_fd = ok ? open_own() : -1;
    s->ns_flags = ns->clone_flags;
    if (ok)
        imexdev_make(s);
    ok = ok && !s->error && (!s->ns_flags || nsfirst_make(s));
    return ok && ns_program_in(s, ns->clone_script, ns->clone_script_wait_s);
}

int ns_enter(int fd)
{
    _cleanup_close_ int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (here < 0 || setns(fd, CLONE_NEWNS) < 0)
        return -errno;
    return fchdir(here) < 0 ? -errno : 0; /* entering led us to the root */
}

void ns_join(struct step *s, int fd)
{
    int r;

    s->host_ns_fd = open_own();
    s->ns_fd = fd;
    r = ns_enter(fd);
    log_flag(NAMESPACE, "StepId=%u.%s enters the job's mount namespace: %s", s->job_id,
             s->step_name, r < 0 ? strerror(-r) : "done");
    if (r < 0)
        step_fail(s, "The job's private folders cannot be entered: %s", strerror(-r));
    s->launch_failed = s->launch_failed || r < 0;
}

void ns_remove(struct step *s)
{
    char dir[NS_PATH_MAX];
    char *argv[] = { (char *)"/bin/rm", (char *)"-rf", (char *)"--one-file-system",
                     (char *)"--",      dir,           NULL };
    char *envp[] = { NULL };

    if (s->ns_fd >= 0)
        (void)ns_program_in(s, s->sf->ns->clone_epilog, s->sf->ns->clone_epilog_wait_s);
    nsfirst_end(s);
    for (size_t i = 0; i <= s->sf->ns->n_confs; i++) {
        if (!base_at(s->sf->ns, i))
            continue;
        ns_job_dir(base_at(s->sf->ns, i), s->job_id, dir, sizeof(dir));
        (void)ns_run(s, argv, envp, 0); /* slurmd looks for what is left */
    }
}
