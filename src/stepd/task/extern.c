/* extern.c - the extern step: no tasks, but a place for processes that others start; see step.h
 *
 * The loop takes the step as running one task until slurmd says that the rest of the job is over
 * (release).  The adopted processes are not our children: nothing reports their ends, so that after
 * the release we look for them, in growing pauses.  Without a cgroup we know them by process number
 * and start time, and count their descendants with them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/use/procscan.h"
#include "stepd/step.h"

#define LOOK_FIRST_US 5000
#define LOOK_MAX_US 500000
#define GUESTS_MAX 4096u

struct guest {
    pid_t pid;
    uint64_t start_ticks;
    bool leads; /* a session */
};

struct extstep {
    bool released, used;
    bool emptied, finish; /* RunInJob: it waits for the epilog; that is over */
    int64_t look_mono_us; /* 0: nothing to look for */
    int64_t pause_us;
    struct guest *guests;
    size_t n, cap;
};

int extern_begin(struct step *s)
{
    s->ext = calloc(1, sizeof(*s->ext));
    if (!s->ext)
        return -ENOMEM;
    s->n_running = 1;
    return 0;
}

void extern_done(struct step *s)
{
    if (s->ext)
        free(s->ext->guests);
    free(s->ext);
    s->ext = NULL;
}

/* Forget the adopted processes that have ended. */
static void refresh_list(struct extstep *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->n; i++) {
        struct proc_info p;

        if (proc_read(e->guests[i].pid, &p) == 0 && p.start_ticks == e->guests[i].start_ticks &&
            p.state != 'Z')
            e->guests[kept++] = e->guests[i];
    }
    e->n = kept;
}

/* Signal all (0: none).  Returns how many there are. */
static size_t signal_all(struct step *s, int sig)
{
    struct extstep *e = s->ext;
    size_t found = 0;

    if (s->cg.tree.kind != CGROUP_NONE)
        return stepcg_signal(s, sig);
    refresh_list(e);
    for (size_t i = 0; i < e->n; i++) {
        pid_t pid = e->guests[i].pid;

        if (sig == SIGKILL)
            (void)kill(pid, SIGSTOP); /* so that it forks no more: the walk finds no orphans */
        found += proc_signal_tree(pid, sig);
        if (sig)
            (void)kill(pid, sig); /* it may have ended meanwhile */
    }
    return found + e->n;
}

static int add_guest(struct extstep *e, const struct proc_info *p)
{
    if (e->n == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 8;
        struct guest *grown;

        refresh_list(e);
        if (e->n >= GUESTS_MAX)
            return -EMFILE;
        grown = e->n < e->cap ? e->guests : realloc(e->guests, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        e->cap = e->n < e->cap ? e->cap : cap;
        e->guests = grown;
    }
    e->guests[e->n++] = (struct guest){ p->pid, p->start_ticks, p->session == p->pid };
    return 0;
}

/* The kernel's word is not asked whether it is a script: only root speaks to us. */
static bool takes_process(const struct step *s, bool script)
{
    if (script)
        return s->ext->released ? s->ext->emptied : !s->ended;
    return !s->ext->released && s->stage == KILL_NONE && !s->ended;
}

/* What the job has of this node's memory is the process's limit too, as ulimit -m shows. */
static void limit_memory(const struct step *s, pid_t pid)
{
    uint64_t mib = s->sf->job->mem_mib;
    struct rlimit limit = { .rlim_cur = mib << 20, .rlim_max = mib << 20 };

    if (s->sf->adopt_rss && mib)
        (void)prlimit(pid, RLIMIT_RSS, &limit, NULL); /* it may have ended */
}

int extern_adopt(struct step *s, pid_t pid, bool script)
{
    struct proc_info p;
    int r;

    if (!takes_process(s, script))
        return -ESHUTDOWN;
    r = proc_read(pid, &p);
    if (r == 0 && s->cg.tree.kind != CGROUP_NONE)
        r = cgroup_adopt(&s->cg, CGROUP_SPECIAL, pid);
    if (r == 0)
        r = add_guest(s->ext, &p);
    if (r == 0)
        s->ext->used = true;
    if (r == 0 && !script)
        limit_memory(s, pid);
    return r;
}

size_t extern_sessions(const struct step *s, uint32_t *sessions, uint64_t *ticks, size_t max)
{
    size_t n = 0;

    for (size_t i = s->ext->n; i-- > 0 && n < max;)
        if (s->ext->guests[i].leads) {
            ticks[n] = s->ext->guests[i].start_ticks;
            sessions[n++] = (uint32_t)s->ext->guests[i].pid;
        }
    return n;
}

void extern_terminate(struct step *s, bool now, uint32_t kill_wait_s)
{
    s->suspend_mono_us = 0;
    if (now) {
        s->stage = KILL_ALL;
        s->deadline_mono_us = now_mono_us();
    } else if (s->stage == KILL_NONE) {
        s->stage = KILL_TERM_SENT;
        s->deadline_mono_us = now_mono_us() + (int64_t)kill_wait_s * USEC_PER_SEC;
        (void)signal_all(s, SIGCONT); /* none is fine */
        (void)signal_all(s, SIGTERM);
    }
}

void extern_signal(struct step *s, int sig)
{
    (void)signal_all(s, sig);
}

void extern_release(struct step *s, bool finish)
{
    s->ext->released = true;
    s->ext->finish = finish;
    s->ext->emptied = false;
    s->ext->pause_us = LOOK_FIRST_US;
    s->ext->look_mono_us = now_mono_us();
}

void extern_lost_namespaces(struct step *s)
{
    s->ns_pid = 0;
    step_fail(s, "The first process of the job's namespaces was killed");
    s->worst = SIGKILL;
    s->n_running = 0;
}

bool extern_emptied(const struct step *s)
{
    return s->ext->emptied;
}

bool extern_used(const struct step *s)
{
    return s->ext->used;
}

void extern_count(struct step *s)
{
    struct cgroup_usage u;

    if (!s->ext->used || cgroup_usage(&s->cg, CGROUP_STEP, &u) < 0)
        return;
    s->usage.user_us += u.user_us;
    s->usage.sys_us += u.sys_us;
    s->usage.max_rss_kib = MAX(s->usage.max_rss_kib, u.mem_peak_bytes >> 10);
}

int64_t extern_deadline(const struct step *s)
{
    return s->swept ? 0 : s->ext->look_mono_us;
}

void extern_look(struct step *s, int64_t now_mono)
{
    struct extstep *e = s->ext;

    if (!e->released && s->stage == KILL_ALL && signal_all(s, 0) == 0) {
        s->stage = KILL_NONE; /* others of the job may take longer */
        s->kill_mono_us = 0;
    }
    if (!e->released || e->emptied || s->n_running == 0 || now_mono < e->look_mono_us)
        return;
    if (signal_all(s, 0) == 0) {
        e->emptied = s->sf->run_in_job && !e->finish;
        s->n_running = e->emptied ? 1 : 0;
        s->stage = KILL_NONE;
        s->kill_mono_us = 0;
        e->look_mono_us = 0;
        return;
    }
    e->look_mono_us = now_mono + e->pause_us;
    e->pause_us = MIN(e->pause_us * 2, (int64_t)LOOK_MAX_US);
}
