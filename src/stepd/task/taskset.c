/* taskset.c - signals to the step's processes, and their end; see step.h
 *
 * A task leads a session of its own, so a signal to its group reaches what a shell would reach. The
 * end is certain in another way: the step daemon is the subreaper, every orphan becomes its child,
 * and only when wait(2) knows no child any more is the step over. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/timefmt.h"
#include "stepd/xdisplay.h"
#include "stepd/use/gather.h"
#include "stepd/shared/spool.h"
#include "stepd/xdisplay.h"
#include "stepd/step.h"
#include "stepd/nicservice.h"
#include "stepd/io/userwrite.h"
#include "stepd/task/taskepilog.h"

#define SWEEP_FIRST_US 2000
/* A script that was spared at first is asked to end a second before its steps are killed, so that
 * it does not go on when they are, and killed a second after them: its sruns tell of their end. */
#define SPARED_LEAD_S 1u
#define SPARED_TERM_S 2u
#define SWEEP_MAX_US 1000000
#define SIGNAL_LEAD_US 250000 /* for tasks to end of the signal before the kill */

static void to_groups(struct step *s, int sig)
{
    if (s->sf->cgroup && s->sf->cgroup->signal_children && s->cg.tree.kind != CGROUP_NONE) {
        (void)stepcg_signal(s, sig); /* none left is fine */
        return;
    }
    for (size_t i = 0; i < s->n_tasks; i++) {
        if (s->tasks[i].pid > 0 && !s->tasks[i].exited)
            (void)kill(-s->tasks[i].pid, sig); /* its group may be gone already */
    }
}

static void write_cancelled(struct step *s, const char *reason, int shown_signal)
{
    char when[32], what[32], why[64];
    time_t now = time(NULL);
    struct tm tm;

    if (s->noticed || s->step_id == UINT32_MAX)
        return;
    s->noticed = true;
    if (s->launch && s->launch->node_index > 0) { /* the step's first node writes the line */
        if (s->from_outside)
            step_tell(s, NULL); /* srun goes by any of them */
        return;
    }
    (void)localtime_r(&now, &tm);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    if (s->launch)
        (void)snprintf(what, sizeof(what), "STEP %u.%s", s->job_id, s->step_name);
    else
        (void)snprintf(what, sizeof(what), "JOB %u", s->job_id);
    (void)snprintf(why, sizeof(why), "DUE to SIGNAL %s", strsignal(shown_signal));
    step_notice(s, "*** %s ON %s CANCELLED AT %s %s ***", what, s->sf->job->node_name, when,
                reason && *reason ? reason : why);
}

void step_signal(struct step *s, int sig, bool leader_only)
{
    step_debug(s, LOG_DEBUG, "signal %d for the step", sig);
    if (s->launch ? sig == SIGTERM : sig == SIGKILL) {
        bool before = s->noticed;

        write_cancelled(s, NULL, sig); /* as if it were cancelled */
        s->noticed = before;           /* an end that comes later has a line of its own */
    }
    if (sig == SIGKILL && !leader_only) {
        (void)stepcg_signal(s, SIGKILL);
        return;
    }
    if (!leader_only) {
        to_groups(s, sig);
        return;
    }
    for (size_t i = 0; i < s->n_tasks; i++) {
        /* queued: srun in the script's place passes on what does not reach its step otherwise */
        if (s->tasks[i].pid > 0 && !s->tasks[i].exited)
            (void)sigqueue(s->tasks[i].pid, sig, (union sigval){ .sival_int = 0 });
    }
}

static void ask_to_end(struct step *s, uint32_t kill_wait_s)
{
    s->stage = KILL_TERM_SENT;
    s->deadline_mono_us = now_mono_us() + (int64_t)kill_wait_s * USEC_PER_SEC;
    to_groups(s, SIGCONT);
    to_groups(s, SIGTERM);
}

void step_terminate(struct step *s, const char *reason, int shown_signal, bool now,
                    uint32_t kill_wait_s)
{
    if (!s->swept && s->n_running == 0)
        epilog_limit(s, now_mono_us() + (now ? 0 : (int64_t)kill_wait_s * USEC_PER_SEC));
    if (s->swept || s->n_running == 0)
        return;
    write_cancelled(s, reason, shown_signal);
    s->suspend_mono_us = 0;
    if (now) {
        s->stage = KILL_ALL;
        s->deadline_mono_us = now_mono_us();
        (void)stepcg_signal(s, SIGKILL); /* step_timers() repeats it */
        return;
    }
    if (s->stage != KILL_NONE && s->stage != KILL_SPARED)
        return;
    ask_to_end(s, kill_wait_s);
}

void step_signal_kill(struct step *s, int sig)
{
    if (s->swept || s->n_running == 0) {
        step_terminate(s, NULL, SIGKILL, true, 0);
        return;
    }
    write_cancelled(s, NULL, SIGKILL);
    s->suspend_mono_us = 0;
    to_groups(s, sig);
    s->stage = KILL_ALL;
    s->deadline_mono_us = now_mono_us() + SIGNAL_LEAD_US; /* then step_timers() kills */
}

void step_spare(struct step *s, const char *reason, uint32_t kill_wait_s)
{
    if (s->swept || s->n_running == 0 || s->stage != KILL_NONE) {
        step_terminate(s, reason, SIGTERM, false, kill_wait_s);
        return;
    }
    write_cancelled(s, reason, SIGTERM);
    s->suspend_mono_us = 0;
    s->stage = KILL_SPARED;
    s->deadline_mono_us =
        now_mono_us() + (int64_t)(kill_wait_s - MIN(kill_wait_s, SPARED_LEAD_S)) * USEC_PER_SEC;
    to_groups(s, SIGCONT);
}

void step_suspend(struct step *s, bool on)
{
    if (!on) {
        s->suspend_mono_us = 0;
        stepcg_suspend(s, false);
        if (s->ext)
            extern_signal(s, SIGCONT);
        return;
    }
    to_groups(s, SIGTSTP);
    s->suspend_mono_us =
        now_mono_us() +
        (int64_t)(s->sf->has_suspend_grace_s ? s->sf->suspend_grace_s : 2) * USEC_PER_SEC;
}

static void add_usage(struct step *s, const struct rusage *ru)
{
    Pst__StepUsage *u = &s->usage;

    u->user_us += (uint64_t)(ru->ru_utime.tv_sec * USEC_PER_SEC + ru->ru_utime.tv_usec);
    u->sys_us += (uint64_t)(ru->ru_stime.tv_sec * USEC_PER_SEC + ru->ru_stime.tv_usec);
    u->max_rss_kib = MAX(u->max_rss_kib, (uint64_t)ru->ru_maxrss);
    u->read_bytes += (uint64_t)ru->ru_inblock * 512;
    u->write_bytes += (uint64_t)ru->ru_oublock * 512;
}

/* The status that counts for the step: Slurm takes the largest number; out of memory is told at
 * the end. */
static void note_status(struct step *s, int status)
{
    if (status > s->worst)
        s->worst = status;
}

void step_task_ended(struct step *s, struct task *t, int status)
{
    bool oom_group = s->sf->cgroup && s->sf->cgroup->oom_group;

    t->exited = true;
    t->lingers = false;
    t->status = status;
    t->oom = cgroup_oom_kills(&s->cg, t->rank) > 0;
    t->nth_end = s->n_ended++;
    s->n_running--;
    step_debug(s, LOG_VERBOSE, "task %u (%d) ended with status 0x%04x", t->rank, (int)t->pid,
               (unsigned)status);
    note_status(s, status);
    if (s->plug)
        s->plug_ops->task_exit(s, t);
    epilog_begin(s, t);
    if (t->oom && oom_group && s->n_running > 0)
        step_terminate(s, "DUE TO OUT OF MEMORY", SIGKILL, true, 0);
    if (status != 0 && s->launch && s->launch->kill_on_bad_exit && s->n_running > 0)
        step_terminate(s, STEP_TASK_FAILURE, SIGTERM, false, s->sf->kill_wait_s);
}

static struct task *find_task(struct step *s, pid_t pid)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if ((s->tasks[i].pid == pid && !s->tasks[i].exited && !s->tasks[i].lingers) ||
            s->tasks[i].epilog.pid == pid)
            return &s->tasks[i];
    return NULL;
}

/* The next child that ended, 0 none now, -1 there is no child. */
static pid_t next_ended(struct step *s, int *ret_status, struct rusage *ret_ru)
{
    siginfo_t si;
    int r;

    do {
        si.si_pid = 0;
        r = waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT);
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return -1; /* ECHILD */
    if (si.si_pid == 0)
        return 0;
    gather_zombie(s, si.si_pid); /* /proc has it until it is waited for */
    return wait4(si.si_pid, ret_status, WNOHANG, ret_ru);
}

/* A process of the user's wrote for us, and has ended. */
static bool writer_reaped(struct step *s, pid_t pid, int status)
{
    const struct task *t;
    int r;

    if (!userwrite_reaped(s->userwrites, pid, status, &t, &r))
        return false;
    if (t && r < 0)
        s->on->file_failed(s, t, r);
    s->deadline_mono_us = now_mono_us(); /* look again at what there is */
    return true;
}

/* False: there are children left. */
static bool reap_children(struct step *s)
{
    for (;;) {
        struct rusage ru;
        int status;
        pid_t pid = next_ended(s, &status, &ru);
        struct task *t;

        if (pid < 0)
            return true;
        if (pid == 0)
            return false;
        if (await_reaped(s, pid, status) || xdisplay_reaped(s, pid) ||
            writer_reaped(s, pid, status))
            continue; /* its use is not the job's */
        if (nics_reaped(s, pid)) {
            s->deadline_mono_us = now_mono_us(); /* look again at what there is */
            continue;
        }
        if (pid == s->ns_pid) {
            extern_lost_namespaces(s);
            continue;
        }
        if (pid == s->summary_pid) {
            s->summary_pid = 0;
            s->deadline_mono_us = now_mono_us(); /* look again at what there is */
            continue;                            /* its use is not the job's */
        }
        add_usage(s, &ru);
        gather_reaped(s, pid, &ru);
        t = find_task(s, pid);
        if (!t)
            continue; /* an orphan that came to us */
        if (t->epilog.pid == pid)
            epilog_ended(s, t, status);
        else if (stepcg_lingers(s, t))
            t->status = status;
        else
            step_task_ended(s, t, status);
    }
}

bool step_reap(struct step *s)
{
    bool none = reap_children(s);

    if (s->n_running > 0)
        return false;
    if (!s->ns_flags)
        return none;
    /* Orphans are the namespace's first process's, which is a child of the extern step only. */
    return (none || s->ns_pid > 0) && !cgroup_populated(&s->cg);
}

/* What may last longer than the tasks, and when it may not any more. */
static bool helpers_run(const struct step *s, int64_t now_mono)
{
    if (s->summary_pid && now_mono < s->deadline_mono_us)
        return true;
    return epilog_runs(s) || xdisplay_busy(s);
}

/* What the tasks have left them, processes of the user may still write. */
static bool writers_run(struct step *s, int64_t now_mono)
{
    int64_t until = userwrite_until(s->userwrites, now_mono);

    if (until)
        s->deadline_mono_us = until;
    return until != 0;
}

static void note_unkillable(struct step *s, int64_t now_mono)
{
    int64_t limit_s = s->sf->has_unkillable_s ? s->sf->unkillable_s : 60;

    if (!s->kill_mono_us)
        s->kill_mono_us = now_mono;
    s->unkillable = now_mono - s->kill_mono_us >= limit_s * USEC_PER_SEC;
}

/* The tasks are over but something they started is not: kill, and look again soon. */
static void sweep_processes(struct step *s, int64_t now_mono)
{
    int64_t pause = SWEEP_FIRST_US;

    for (unsigned i = 0; i < s->sweeps && pause < SWEEP_MAX_US; i++)
        pause *= 2;
    s->sweeps++;
    note_unkillable(s, now_mono);
    if (!failpoint("stepd-no-kill"))
        (void)stepcg_signal(s, SIGKILL); /* wait(2) decides when it is enough */
    userwrite_kill(s->userwrites);
    if (s->ext)
        extern_signal(s, SIGKILL);
    s->deadline_mono_us = now_mono + MIN(pause, (int64_t)SWEEP_MAX_US);
}

/* Does anything of a script that was asked to end still do so?  Its sruns pass on what their
 * steps say of their end:
 * they have as long as the script had. */
static bool script_ends(const struct step *s, int64_t now_mono)
{
    return s->step_id == STEP_ID_BATCH && (s->stage == KILL_TERM_SENT || s->stage == KILL_SPARED) &&
           now_mono < s->deadline_mono_us && s->tasks[0].pid > 0 && kill(-s->tasks[0].pid, 0) == 0;
}

void step_timers(struct step *s, int64_t now_mono)
{
    if (s->suspend_mono_us && now_mono >= s->suspend_mono_us) {
        s->suspend_mono_us = 0;
        stepcg_suspend(s, true);
        if (s->ext)
            extern_signal(s, SIGSTOP);
    }
    if (s->swept)
        return;
    epilog_timers(s, now_mono);
    if (s->n_running == 0) {
        if (helpers_run(s, now_mono) || writers_run(s, now_mono))
            return;
        if (step_reap(s))
            s->swept = true;
        else if (!script_ends(s, now_mono) &&
                 (now_mono >= s->deadline_mono_us || s->stage != KILL_ALL)) {
            s->stage = KILL_ALL;
            sweep_processes(s, now_mono);
        }
        return;
    }
    if (s->stage == KILL_TERM_SENT && now_mono >= s->deadline_mono_us)
        s->stage = KILL_ALL;
    if (s->stage == KILL_SPARED && now_mono >= s->deadline_mono_us)
        ask_to_end(s, SPARED_TERM_S);
    if (s->stage == KILL_ALL && now_mono >= s->deadline_mono_us)
        sweep_processes(s, now_mono);
}
