/* srun_exit.c - the lines about tasks that ended badly; see srun.h
 *
 * Tasks of a node that end alike within HOLD_US share a line: what kills them does so one after the
 * other.  Only the line waits; the exit status counts at once. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/timefmt.h"
#include "cli/srun/srun.h"
#include "cli/job/tasks.h"

#define HOLD_US (100 * 1000)

static void tell_exit(struct srun *s, struct srun_node *n)
{
    _cleanup_free_ char *list = NULL;
    const char *what = n->n_held > 1 ? "tasks" : "task";
    char text[128];

    if (n->n_held == 0)
        return;
    qsort(n->held, n->n_held, sizeof(*n->held), order_u32);
    for (uint32_t i = 0; i < n->n_held; i++)
        n->held[i] -= n->part->first_rank; /* a component counts its own tasks */
    list = tasks_list(n->held, n->n_held);
    n->n_held = 0;
    if (n->held_status == 0) {
        cli_verbose(1, "%s: %s %s: Completed", n->name, what, list);
        return;
    }
    if (s->interrupted)
        return; /* the user knows what he killed */
    tasks_status_text(n->held_status, n->held_oom, text, sizeof(text));
    srun_io_flush(s);
    cli_error("%s: %s %s: %s", n->name, what, list, text);
}

void srun_exit_hold(struct srun *s, struct srun_node *n, const Pst__StepTaskExit *msg)
{
    if (n->n_held > 0 && (n->held_status != msg->status || n->held_oom != msg->oom))
        tell_exit(s, n);
    if (!n->held)
        n->held = xmalloc_or_die((n->n_tasks + 1) * sizeof(*n->held));
    for (size_t i = 0; i < msg->n_task_ids && n->n_held < n->n_tasks; i++)
        n->held[n->n_held++] = msg->task_ids[i];
    n->held_status = msg->status;
    n->held_oom = msg->oom;
    if (n->n_held == n->n_tasks)
        tell_exit(s, n);
    else if (!s->tell_mono_us)
        s->tell_mono_us = now_mono_us() + HOLD_US;
}

void srun_exit_tell(struct srun *s)
{
    s->tell_mono_us = 0;
    for (size_t i = 0; i < s->n_nodes; i++)
        tell_exit(s, &s->nodes[i]);
}

void srun_exit_timer(struct srun *s, int *ms)
{
    int64_t left_us = s->tell_mono_us - now_mono_us();

    if (!s->tell_mono_us)
        return;
    if (left_us <= 0) {
        srun_exit_tell(s);
        return;
    }
    if (*ms < 0 || *ms > left_us / 1000 + 1)
        *ms = (int)(left_us / 1000) + 1;
}
