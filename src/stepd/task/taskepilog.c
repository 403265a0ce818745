/* taskepilog.c - the user's --task-epilog and the site's TaskEpilog of a task that has ended; see
 * taskepilog.h
 *
 * They run as the user, one after the other, as children of the step daemon that its loop collects.
 * The user's has five seconds, so that it cannot hold the job; the site's has no limit of its own.
 * What they write to their standard error goes to the task's. */
#include "stepd/task/taskepilog.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/io/usermount.h"
#include "stepd/step.h"

#define USERS_LIMIT_US (5 * USEC_PER_SEC)

static const char *path_of(const struct step *s, int stage)
{
    const char *path = stage == EPILOG_SITES ? s->sf->task_epilog
                       : s->launch           ? s->launch->task_epilog
                                             : NULL;

    return path && *path ? path : NULL;
}

bool epilog_wanted(const struct step *s)
{
    return path_of(s, EPILOG_USERS) || path_of(s, EPILOG_SITES);
}

void epilog_keep(struct task *t, int err_fd)
{
    t->epilog.told = true;
    t->epilog.err_fd = fcntl(err_fd, F_DUPFD_CLOEXEC, 10); /* -1: what they write is lost */
}

static void close_stream(struct task *t)
{
    if (t->epilog.err_fd >= 0)
        usermount_close(t->epilog.err_fd); /* written line by line: nothing is left to fail */
    t->epilog.err_fd = -1;
}

void epilog_forget(struct step *s)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid <= 0 && s->tasks[i].epilog.stage == EPILOG_NOT)
            close_stream(&s->tasks[i]);
}

static void tell_failure(const struct step *s, const struct task *t, int status)
{
    task_notice(s, t->epilog.err_fd, "%s failed status=%d",
                t->epilog.stage == EPILOG_USERS ? "TaskEpilog" : "--task-epilog",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* False: there is none of this stage, or it cannot run, which changes nothing for the task. */
static bool start_epilog(struct step *s, struct task *t)
{
    const char *path = path_of(s, t->epilog.stage);
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    int r;

    if (!path)
        return false;
    envlist_borrow(&env, &s->env);
    if (s->launch)
        env_task_rank(s->launch, (uint32_t)(t - s->tasks), &env);
    r = taskscript_epilog(s, path, &env, t->epilog.err_fd, &t->epilog.pid);
    if (r < 0) {
        t->epilog.pid = 0;
        task_notice(s, t->epilog.err_fd, "execve(%s): %s", path, strerror(-r));
        tell_failure(s, t, 127 << 8);
        return false;
    }
    t->epilog.deadline_mono_us =
        t->epilog.stage == EPILOG_USERS ? now_mono_us() + USERS_LIMIT_US : 0;
    return true;
}

/* The next that there is, or none is left. */
static void go_on(struct step *s, struct task *t)
{
    while (t->epilog.stage != EPILOG_OVER) {
        t->epilog.stage++;
        if (t->epilog.stage != EPILOG_OVER && s->stage != KILL_ALL && start_epilog(s, t))
            return;
    }
    close_stream(t);
}

void epilog_begin(struct step *s, struct task *t)
{
    if (t->epilog.stage == EPILOG_NOT)
        go_on(s, t);
}

void epilog_ended(struct step *s, struct task *t, int status)
{
    t->epilog.pid = 0;
    if (status != 0)
        tell_failure(s, t, status);
    go_on(s, t);
}

bool epilog_runs(const struct step *s)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].epilog.pid)
            return true;
    return false;
}

void epilog_limit(struct step *s, int64_t deadline_mono_us)
{
    for (size_t i = 0; i < s->n_tasks; i++) {
        int64_t *at = &s->tasks[i].epilog.deadline_mono_us;

        if (s->tasks[i].epilog.pid && (!*at || *at > deadline_mono_us))
            *at = deadline_mono_us;
    }
}

int64_t epilog_next(const struct step *s)
{
    int64_t next = 0;

    for (size_t i = 0; i < s->n_tasks; i++) {
        int64_t at = s->tasks[i].epilog.pid ? s->tasks[i].epilog.deadline_mono_us : 0;

        next = at && (!next || at < next) ? at : next;
    }
    return next;
}

void epilog_timers(struct step *s, int64_t now_mono_us)
{
    for (size_t i = 0; i < s->n_tasks; i++) {
        struct task *t = &s->tasks[i];

        if (!t->epilog.pid || !t->epilog.deadline_mono_us ||
            now_mono_us < t->epilog.deadline_mono_us)
            continue;
        (void)kill(-t->epilog.pid, SIGKILL); /* it leads a session ... */
        (void)kill(t->epilog.pid, SIGKILL);  /* ... unless it has just been made */
        t->epilog.deadline_mono_us = 0;
    }
}
