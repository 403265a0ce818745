/* cgroup.c - a step's cgroups from its begin to its end; see cgroup.h
 *
 * The step daemon itself stays outside: it is slurmd's memory and CPU time, and it has to live
 * when the step is killed, frozen or out of memory. */
#include "stepd/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "stepd/cgroup/cgroup_int.h"

#define BEGIN_TRIES 8 /* a sibling that ends removes the job's folder under our hands */
#define END_PATIENCE_MS 2000
#define KILL_ROUNDS 3

/* ---- begin ----------------------------------------------------------------------------------- */

/* rel with what its parts may use; version 2 hands controllers down. */
static int make_level(const struct cgroup_tree *tree, const char *rel,
                      const struct cgroup_limits *limits, bool inner, struct err *err)
{
    char path[CGI_PATH];
    int r = cgi_make(tree, rel);

    if (r < 0)
        return err_set(err, r, "cannot make the cgroup %s: %s", rel, strerror(-r));
    if (limits)
        r = cgi_limit(tree, rel, limits, err);
    if (r < 0 || !inner || tree->kind != CGROUP_V2)
        return r;
    r = cgi_path(tree, 0, rel, NULL, path);
    if (r == 0)
        r = cgi_enable(tree, path);
    return r < 0 ? err_set(err, r, "cannot turn on the controllers of the cgroup %s: %s", rel,
                           strerror(-r))
                 : 0;
}

static int make_levels(struct cgroup *cg, const char *job, const struct cgroup_step *s,
                       struct err *err)
{
    char user[CGROUP_PATH];
    int r = 0;

    if (cg->tree.kind == CGROUP_V1) {
        (void)snprintf(user, sizeof(user), "uid_%u", s->uid);
        r = make_level(&cg->tree, user, NULL, true, err);
    }
    if (r == 0)
        r = make_level(&cg->tree, job, &s->job_limits, true, err);
    if (r == 0)
        cgi_mark(&cg->tree, job, s->owner);
    if (r == 0)
        r = make_level(&cg->tree, cg->step, &s->step_limits, true, err);
    if (r < 0 || cg->tree.kind != CGROUP_V2)
        return r;
    (void)snprintf(user, sizeof(user), "%s/user", cg->step);
    return make_level(&cg->tree, user, NULL, true, err);
}

/* A job's folder below the root; how long its name is, size or more when it did not fit. */
static int name_job(const struct cgroup_tree *tree, uid_t uid, const char *job, char *buf,
                    size_t size)
{
    return tree->kind == CGROUP_V1 ? snprintf(buf, size, "uid_%u/%s", uid, job)
                                   : snprintf(buf, size, "%s", job);
}

int cgroup_job_memory(const struct cgroup_tree *tree, const char *job, uid_t uid,
                      const struct cgroup_limits *limits, struct err *err)
{
    const struct cgroup_limits memory = { .ram_max = limits->ram_max,
                                          .ram_high = limits->ram_high,
                                          .swap_max = limits->swap_max,
                                          .has_swap = limits->has_swap };
    char rel[CGROUP_PATH / 4];

    if (name_job(tree, uid, job, rel, sizeof(rel)) >= (int)sizeof(rel))
        return err_set(err, -ENAMETOOLONG, "the name of the job's cgroup is too long");
    return cgi_limit(tree, rel, &memory, err);
}

int cgroup_begin(struct cgroup *cg, const struct cgroup_tree *tree, const struct cgroup_step *s,
                 struct err *err)
{
    char job[CGROUP_PATH / 4];
    int n, r = 0;

    *cg = (struct cgroup){ .tree = *tree, .watch_fd = -1 };
    if (tree->kind == CGROUP_NONE)
        return 0;
    n = name_job(tree, s->uid, s->job, job, sizeof(job));
    if (n < (int)sizeof(job))
        n = snprintf(cg->step, sizeof(cg->step), "%s/step_%s", job, s->step);
    if (n >= (int)sizeof(job))
        r = err_set(err, -ENAMETOOLONG, "the name of the step's cgroup is too long");
    for (unsigned i = 0; r == 0 && i < BEGIN_TRIES; i++) {
        r = make_levels(cg, job, s, err);
        if (r != -ENOENT || i + 1 == BEGIN_TRIES)
            break;
        if (tree->from_mount) /* the root went with the last step of a slurmd that has left */
            r = cgroup_tree_make(&cg->tree, err);
        else
            r = 0;
    }
    if (r < 0) {
        (void)cgroup_end(cg); /* what there is of it */
        cg->tree.kind = CGROUP_NONE;
        cg->step[0] = '\0';
    }
    return r;
}

int cgroup_task(const struct cgroup *cg, uint32_t task, const struct cgroup_device *deny,
                size_t n_deny)
{
    char rel[CGI_PATH];
    int r;

    if (cg->tree.kind == CGROUP_NONE)
        return 0;
    r = cgi_task(cg, task, rel);
    if (r == 0)
        r = cgi_make(&cg->tree, rel);
    return r < 0 || !n_deny ? r : cgi_deny(&cg->tree, rel, deny, n_deny);
}

int cgroup_task_open(const struct cgroup *cg, uint32_t task, int fds[CGROUP_CTRLS])
{
    char rel[CGI_PATH], path[CGI_PATH];
    int n = 0;

    if (cg->tree.kind == CGROUP_NONE || cgi_task(cg, task, rel) < 0)
        return 0;
    if (cg->tree.kind == CGROUP_V2) {
        if (cgi_path(&cg->tree, 0, rel, NULL, path) < 0)
            return -ENAMETOOLONG;
        fds[0] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fds[0] < 0 ? -errno : 1;
    }
    for (size_t i = 0; i < CGROUP_CTRLS; i++) {
        if (!(cg->tree.use & cgi_ctrls[i].bit))
            continue;
        /* `tasks` moves the writer without the lock across the machine that cgroup.procs takes. */
        fds[n] = cgi_path(&cg->tree, cgi_ctrls[i].bit, rel, "tasks", path) < 0
                     ? -1
                     : open(path, O_WRONLY | O_CLOEXEC);
        if (fds[n] < 0) {
            int r = -errno;

            while (n > 0)
                (void)close(fds[--n]);
            return r;
        }
        n++;
    }
    return n;
}

int cgroup_adopt(const struct cgroup *cg, uint32_t task, pid_t pid)
{
    char rel[CGI_PATH], text[16];
    int r = cgroup_task(cg, task, NULL, 0);

    if (r == 0)
        r = cg->tree.kind == CGROUP_NONE ? -ENOTSUP : cgi_task(cg, task, rel);
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    for (size_t i = 0; r == 0 && i < CGROUP_CTRLS; i++)
        if (cg->tree.use & cgi_ctrls[i].bit) {
            r = cgi_put(&cg->tree, cgi_ctrls[i].bit, rel, "cgroup.procs", text);
            if (cg->tree.kind == CGROUP_V2)
                break;
        }
    return r;
}

/* ---- signals --------------------------------------------------------------------------------- */

static int freeze_part(const struct cgroup_tree *tree, const char *rel, bool on)
{
    if (tree->kind == CGROUP_V2)
        return cgi_put(tree, 0, rel, "cgroup.freeze", on ? "1" : "0");
    return cgi_put(tree, CGROUP_FREEZER, rel, "freezer.state", on ? "FROZEN" : "THAWED");
}

/* cgroup.kill reaches every process by itself.  Without it we freeze the cgroup first: a frozen
 * process does not fork, and a child that it forked before is frozen with it. */
static size_t signal_in(const struct cgroup_tree *tree, const char *rel, int sig)
{
    char path[CGI_PATH];
    size_t n;

    if (cgi_path(tree, CGROUP_FREEZER, rel, NULL, path) < 0)
        return 0;
    if (sig != SIGKILL)
        return cgi_signal(path, sig);
    if (tree->kind == CGROUP_V2 && cgi_put(tree, 0, rel, "cgroup.kill", "1") == 0)
        return cgi_signal(path, 0);
    (void)freeze_part(tree, rel,
                      true); /* if that fails, the caller repeats until no process is left */
    n = cgi_signal(path, SIGKILL);
    (void)freeze_part(tree, rel, false); /* frozen ones of version 1 do not die */
    return n;
}

size_t cgroup_signal(const struct cgroup *cg, int sig)
{
    char rel[CGI_PATH];

    if (cg->tree.kind == CGROUP_NONE || cgi_task(cg, CGROUP_STEP, rel) < 0)
        return 0;
    return signal_in(&cg->tree, rel, sig);
}

/* Processes are stopped, so that ps shows them as stopped, and frozen, so that none escapes by a
 * fork.  With version 1 no signal can kill a frozen process, and it looks like a hung one: the
 * cgroup is frozen only while the signals are sent.  With version 2 a frozen process does not take
 * the signal: the signal is sent before the freezing. */
int cgroup_suspend(const struct cgroup *cg, bool on)
{
    char rel[CGI_PATH];
    int r;

    if (cg->tree.kind == CGROUP_NONE)
        return -ENOTSUP;
    if (cgi_task(cg, CGROUP_STEP, rel) < 0)
        return -ENAMETOOLONG;
    if (!on) {
        (void)freeze_part(&cg->tree, rel, false); /* it may not be frozen */
        (void)signal_in(&cg->tree, rel, SIGCONT); /* none left is fine */
        return 0;
    }
    if (cg->tree.kind == CGROUP_V2) {
        (void)signal_in(&cg->tree, rel, SIGSTOP); /* as above */
        return freeze_part(&cg->tree, rel, true);
    }
    r = freeze_part(&cg->tree, rel, true);
    (void)signal_in(&cg->tree, rel, SIGSTOP); /* as above */
    return freeze_part(&cg->tree, rel, false) < 0 ? -EIO : r;
}

static bool part_is_populated(const struct cgroup_tree *tree, const char *rel)
{
    char path[CGI_PATH];
    uint64_t n = 0;

    if (tree->kind == CGROUP_V2)
        return cgi_get(tree, 0, rel, "cgroup.events", "populated", &n) == 0 && n > 0;
    return cgi_path(tree, CGROUP_FREEZER, rel, NULL, path) == 0 && cgi_signal(path, 0) > 0;
}

bool cgroup_task_populated(const struct cgroup *cg, uint32_t task)
{
    char rel[CGI_PATH];

    return cg->tree.kind != CGROUP_NONE && cgi_task(cg, task, rel) == 0 &&
           part_is_populated(&cg->tree, rel);
}

bool cgroup_populated(const struct cgroup *cg)
{
    return cgroup_task_populated(cg, CGROUP_STEP);
}

/* ---- counters -------------------------------------------------------------------------------- */

static void usage_v2(const struct cgroup_tree *t, const char *rel, struct cgroup_usage *u)
{
    /* what cannot be read counts as 0 */
    (void)cgi_get(t, 0, rel, "cpu.stat", "user_usec", &u->user_us);
    (void)cgi_get(t, 0, rel, "cpu.stat", "system_usec", &u->sys_us);
    (void)cgi_get(t, 0, rel, "memory.current", NULL, &u->mem_bytes);
    (void)cgi_get(t, 0, rel, "memory.peak", NULL, &u->mem_peak_bytes);
    (void)cgi_get(t, 0, rel, "memory.stat", "anon", &u->own_bytes);
}

static void usage_v1(const struct cgroup_tree *t, const char *rel, struct cgroup_usage *u)
{
    uint64_t total_ns = 0, user = 0, sys = 0;

    (void)cgi_get(t, CGROUP_CPUACCT, rel, "cpuacct.usage", NULL, &total_ns); /* as above */
    (void)cgi_get(t, CGROUP_CPUACCT, rel, "cpuacct.stat", "user", &user);
    (void)cgi_get(t, CGROUP_CPUACCT, rel, "cpuacct.stat", "system", &sys);
    /* The parts are in ticks, the sum is exact. */
    u->user_us = user + sys
                     ? (uint64_t)((double)(total_ns / 1000) * (double)user / (double)(user + sys))
                     : total_ns / 1000;
    u->sys_us = total_ns / 1000 - u->user_us;
    (void)cgi_get(t, CGROUP_MEMORY, rel, "memory.usage_in_bytes", NULL, &u->mem_bytes);
    (void)cgi_get(t, CGROUP_MEMORY, rel, "memory.max_usage_in_bytes", NULL, &u->mem_peak_bytes);
    (void)cgi_get(t, CGROUP_MEMORY, rel, "memory.stat", "total_rss", &u->own_bytes);
}

int cgroup_usage(const struct cgroup *cg, uint32_t task, struct cgroup_usage *ret_usage)
{
    char rel[CGI_PATH], path[CGI_PATH];
    struct cgroup_usage u = { 0 };

    if (cg->tree.kind == CGROUP_NONE || cgi_task(cg, task, rel) < 0 ||
        cgi_path(&cg->tree, CGROUP_FREEZER, rel, NULL, path) < 0 || access(path, F_OK) < 0)
        return -ENOENT;
    if (cg->tree.kind == CGROUP_V2)
        usage_v2(&cg->tree, rel, &u);
    else
        usage_v1(&cg->tree, rel, &u);
    *ret_usage = u;
    return 0;
}

static void add_kills(void *ctx, const char *name)
{
    uint64_t *sum = ((void **)ctx)[1], n = 0;
    const char *dir = ((void **)ctx)[0];
    char path[CGI_PATH];

    if (snprintf(path, sizeof(path), "%s/%s/memory.oom_control", dir, name) < (int)sizeof(path) &&
        cgi_number(path, "oom_kill", &n) == 0)
        *sum += n;
}

uint64_t cgroup_oom_kills(const struct cgroup *cg, uint32_t task)
{
    char rel[CGI_PATH], dir[CGI_PATH];
    uint64_t n = 0;

    if (!(cg->tree.use & CGROUP_MEMORY) || cg->tree.kind == CGROUP_NONE ||
        cgi_task(cg, task, rel) < 0)
        return 0;
    if (cg->tree.kind == CGROUP_V2) {
        (void)cgi_get(&cg->tree, 0, rel, "memory.events", "oom_kill", &n); /* of all below it too */
        return n;
    }
    /* of itself alone */
    (void)cgi_get(&cg->tree, CGROUP_MEMORY, rel, "memory.oom_control", "oom_kill", &n);
    if (cgi_path(&cg->tree, CGROUP_MEMORY, rel, NULL, dir) == 0)
        cgi_each_dir(dir, add_kills, (void *[]){ dir, &n });
    return n;
}

int cgroup_oom_group(const struct cgroup *cg)
{
    char rel[CGI_PATH];

    if (cg->tree.kind != CGROUP_V2 || !(cg->tree.use & CGROUP_MEMORY))
        return -ENOTSUP;
    return cgi_task(cg, CGROUP_STEP, rel) < 0 ? -ENAMETOOLONG
                                              : cgi_put(&cg->tree, 0, rel, "memory.oom.group", "1");
}

/* ---- events ---------------------------------------------------------------------------------- */

int cgroup_watch(struct cgroup *cg, uint32_t task)
{
    char rel[CGI_PATH], path[CGI_PATH];

    if (cg->tree.kind != CGROUP_V2)
        return -ENOTSUP;
    if (cg->watch_fd < 0)
        cg->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (cg->watch_fd < 0)
        return -errno;
    if (cgi_task(cg, task, rel) < 0 || cgi_path(&cg->tree, 0, rel, "cgroup.events", path) < 0)
        return -ENAMETOOLONG;
    return inotify_add_watch(cg->watch_fd, path, IN_MODIFY) < 0 ? -errno : 0;
}

void cgroup_watch_drain(const struct cgroup *cg)
{
    char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

    while (cg->watch_fd >= 0 && read(cg->watch_fd, buf, sizeof(buf)) > 0)
        ; /* what happened is read from the files */
}

/* ---- end ------------------------------------------------------------------------------------- */

/* Until no process is in rel; the last one leaves a moment after wait(2) has told its parent. */
static void wait_empty(const struct cgroup_tree *tree, const char *rel)
{
    char path[CGI_PATH], text[64];
    _cleanup_close_ int fd = -1;
    struct pollfd p = { .events = POLLPRI };

    if (tree->kind == CGROUP_V1 && cgi_path(tree, CGROUP_FREEZER, rel, NULL, path) == 0)
        cgi_wait(path, END_PATIENCE_MS); /* version 1 tells nothing; the processes do */
    if (tree->kind != CGROUP_V2 || cgi_path(tree, 0, rel, "cgroup.events", path) < 0)
        return;
    p.fd = fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0) {
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        text[n > 0 ? n : 0] = '\0';
        if (!strstr(text, "populated 1") || poll(&p, 1, END_PATIENCE_MS) <= 0)
            return;
    }
}

static int remove_step(const struct cgroup_tree *tree, const char *step)
{
    char rel[CGROUP_PATH / 2], *slash;
    int r = cgi_remove_all(tree, step);

    if (r == -EBUSY) {
        wait_empty(tree, step);
        r = cgi_remove_all(tree, step);
    }
    (void)snprintf(rel, sizeof(rel), "%s", step);
    while (r == 0 && (slash = strrchr(rel, '/'))) {
        *slash = '\0';
        if (cgi_rmdir_all(tree, rel) < 0)
            return 0; /* another step or job is in it */
    }
    if (r == 0 && tree->from_mount)
        (void)cgi_rmdir_all(tree, NULL); /* only after slurmd has left */
    return r;
}

int cgroup_end(struct cgroup *cg)
{
    int r;

    if (cg->watch_fd >= 0)
        (void)close(cg->watch_fd); /* nothing was written there */
    cg->watch_fd = -1;
    if (cg->tree.kind == CGROUP_NONE || !cg->step[0])
        return 0;
    r = remove_step(&cg->tree, cg->step);
    if (cg->tree.confined)
        cgroup_tree_leave(&cg->tree); /* slurmd may have left before us */
    cg->tree.kind = CGROUP_NONE;
    return r;
}

bool cgroup_kill_left(const struct cgroup_tree *tree, const char *step)
{
    char path[CGI_PATH];

    if (tree->kind == CGROUP_NONE || cgi_path(tree, CGROUP_FREEZER, step, NULL, path) < 0 ||
        access(path, F_OK) < 0)
        return true;
    /* a process that was being forked is found by the next round */
    for (int i = 0; i < KILL_ROUNDS && part_is_populated(tree, step); i++) {
        (void)signal_in(tree, step, SIGKILL); /* counts are of no use */
        wait_empty(tree, step);
    }
    return !part_is_populated(tree, step) && remove_step(tree, step) == 0;
}
