/* stepcgroup.c - the cgroups of a step as slurmd planned them; see step.h
 *
 * Even with a cgroup the step daemon is a subreaper, so that "no child left" is known from
 * wait(2).  Without one its descendants are walked. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/logflags.h"
#include "base/process/oomstatus.h"
#include "stepd/use/procscan.h"
#include "stepd/step.h"

#define STOP_ROUNDS 10u

static bool wants_children(const struct step *s)
{
    return s->launch && s->launch->has_wait_for_children && s->launch->wait_for_children;
}

/* Processes of a process namespace are found by their cgroup only. */
static bool has_namespaces(const struct step *s)
{
    return s->sf->ns_flags || (s->sf->ns && s->sf->ns->clone_flags);
}

static void read_tree(const Pst__CgroupPlan *plan, struct cgroup_tree *ret)
{
    *ret = (struct cgroup_tree){ .kind = (enum cgroup_kind)plan->kind, .use = plan->controllers };
    ret->from_mount = plan->from_mount;
    (void)snprintf(ret->mount, sizeof(ret->mount), "%s", plan->mount ? plan->mount : "");
    (void)snprintf(ret->root, sizeof(ret->root), "%s", plan->root ? plan->root : "");
    (void)snprintf(ret->extra, sizeof(ret->extra), "%s", plan->extra ? plan->extra : "");
    ret->confined = plan->n_home > 0;
    for (size_t i = 0; i < plan->n_home && i < CGROUP_CTRLS; i++)
        (void)snprintf(ret->home[i], sizeof(ret->home[i]), "%s", plan->home[i]);
}

/* ret->deny is the caller's to free.  -ENOMEM. */
static int read_limits(const Pst__CgroupLimits *from, struct cgroup_limits *ret,
                       struct cgroup_device **ret_deny)
{
    struct cgroup_device *deny;

    if (!from)
        return 0;
    *ret = (struct cgroup_limits){
        .cpus = from->cpus,
        .ram_max = from->ram_max,
        .ram_high = from->ram_high,
        .swap_max = from->swap_max,
        .has_swap = from->has_swap_max,
        .has_swappiness = from->has_swappiness,
        .swappiness = from->swappiness,
        .n_deny = from->n_deny,
    };
    deny = calloc(from->n_deny + 1, sizeof(*deny));
    if (!deny)
        return -ENOMEM;
    for (size_t i = 0; i < from->n_deny; i++)
        deny[i] = (struct cgroup_device){ from->deny[i]->block, from->deny[i]->major,
                                          from->deny[i]->minor };
    ret->deny = *ret_deny = deny;
    return 0;
}

static void log_limits(const struct step *s, const char *of, const struct cgroup_limits *l)
{
    if (l->cpus || l->ram_max || l->has_swap || l->n_deny)
        log_flag(CGROUP, "StepId=%u.%s limits of its %s: cpus=%s ram=%llu swap=%s%llu devices=-%zu",
                 s->job_id, s->step_name, of, l->cpus ? l->cpus : "all",
                 (unsigned long long)l->ram_max, l->has_swap ? "" : "unlimited or ",
                 (unsigned long long)l->swap_max, l->n_deny);
}

static void log_cgroup(const struct step *s, const struct cgroup_step *step, int r,
                       const struct err *err)
{
    if (r < 0) {
        log_flag(CGROUP, "StepId=%u.%s has none: %s", s->job_id, s->step_name,
                 err->text[0] ? err->text : strerror(-r));
        return;
    }
    log_flag(CGROUP, "StepId=%u.%s is in %s, version %d", s->job_id, s->step_name, s->cg.step,
             s->cg.tree.kind == CGROUP_V2 ? 2 : 1);
    log_limits(s, "job", &step->job_limits);
    log_limits(s, "step", &step->step_limits);
}

bool stepcg_begin(struct step *s)
{
    const Pst__CgroupPlan *plan = s->sf->cgroup;
    _cleanup_free_ struct cgroup_device *job_deny = NULL, *step_deny = NULL;
    struct cgroup_step step = { .step = s->step_name, .uid = s->uid };
    struct cgroup_tree tree;
    struct err err = { .text = "" };
    int r;

    if (wants_children(s) && (!plan || plan->kind != CGROUP_V2)) {
        step_fail(s, "--wait-for-children needs cgroup/v2, which node %s does not use",
                  s->sf->job->node_name);
        return false;
    }
    if (!plan || plan->kind == CGROUP_NONE || plan->kind > CGROUP_V2) {
        if (has_namespaces(s))
            step_fail(s, "The job's namespaces need cgroups, which node %s does not use",
                      s->sf->job->node_name);
        return !has_namespaces(s);
    }
    read_tree(plan, &tree);
    step.owner = plan->owner;
    step.job = plan->job_name;
    r = read_limits(plan->job, &step.job_limits, &job_deny);
    if (r == 0)
        r = read_limits(plan->step, &step.step_limits, &step_deny);
    if (r == 0)
        r = cgroup_begin(&s->cg, &tree, &step, &err);
    log_cgroup(s, &step, r, &err);
    if (r == 0 && plan->oom_group)
        (void)cgroup_oom_group(&s->cg); /* version 1: done by us when a task has ended */
    if (r == 0 || (!plan->job && !plan->step && !wants_children(s) && !has_namespaces(s)))
        return true; /* without limits to hold, the walk does as well */
    step_fail(s, "%s", err.text[0] ? err.text : strerror(-r));
    return false;
}

size_t stepcg_signal(struct step *s, int sig)
{
    return s->cg.tree.kind != CGROUP_NONE ? cgroup_signal(&s->cg, sig)
                                          : proc_signal_tree(getpid(), sig);
}

/* A process that forks while we stop the others leaves a child that is not stopped: look again
 * until the number of processes no longer changes. */
static void stop_all(struct step *s)
{
    size_t before = 0, n = stepcg_signal(s, SIGSTOP); /* none left is fine */

    for (unsigned i = 0; i < STOP_ROUNDS && n != before; i++) {
        before = n;
        n = stepcg_signal(s, SIGSTOP);
    }
}

void stepcg_suspend(struct step *s, bool on)
{
    if (s->cg.tree.kind != CGROUP_NONE && cgroup_suspend(&s->cg, on) >= 0)
        return;
    if (on)
        stop_all(s);
    else
        (void)stepcg_signal(s, SIGCONT);
}

bool stepcg_lingers(struct step *s, struct task *t)
{
    if (!wants_children(s) || s->stage != KILL_NONE || cgroup_watch(&s->cg, t->rank) < 0 ||
        !cgroup_task_populated(&s->cg, t->rank))
        return false;
    t->lingers = true;
    return true;
}

void stepcg_look(struct step *s)
{
    cgroup_watch_drain(&s->cg);
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].lingers && !cgroup_task_populated(&s->cg, s->tasks[i].rank))
            s->on->task_ended(s, &s->tasks[i], s->tasks[i].status);
}

void stepcg_oom(struct step *s)
{
    uint64_t n = cgroup_oom_kills(&s->cg, CGROUP_STEP);

    if (n == 0)
        return;
    s->worst = STATUS_OOM;
    s->oom = true;
    step_notice(
        s,
        "Detected %llu oom_kill event%s in StepId=%u.%s. Some of the step tasks have been OOM Killed.",
        (unsigned long long)n, n == 1 ? "" : "s", s->job_id, s->step_name);
}
