/* srun_stop.c - ending a step before its time, and nodes that fail; see srun.h */
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/srun/srun.h"
#include "wire/errors.h"

#define KILL_GRACE_S 2 /* beyond KillWait, for the step to finish */

void srun_send_signal(struct srun *s, struct srun_part *part, unsigned sig, bool terminate)
{
    Pst__StepSignal msg = PST__STEP_SIGNAL__INIT;

    msg.signal = sig;
    msg.has_signal = sig != 0;
    msg.terminate = msg.has_terminate = terminate;
    msg.task_failed = msg.has_task_failed = terminate && sig == 0 && s->task_failed;
    if (part)
        srun_part_send(s, part, OP_STEP_SIGNAL, &msg.base);
    else
        srun_nodes_send(s, NULL, OP_STEP_SIGNAL, &msg.base);
}

void srun_signal_kill(struct srun *s, unsigned first)
{
    Pst__StepSignal msg = PST__STEP_SIGNAL__INIT;

    msg.first = first;
    msg.signal = SIGKILL;
    msg.terminate = msg.has_first = msg.has_signal = msg.has_terminate = true;
    srun_nodes_send(s, NULL, OP_STEP_SIGNAL, &msg.base);
}

/* Is a node of this part not done? */
static bool part_runs(const struct srun *s, const struct srun_part *part)
{
    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].part == part && !s->nodes[i].done)
            return true;
    return false;
}

static void abort_part(struct srun *s, struct srun_part *part)
{
    if (part->aborting)
        return;
    s->aborting = part->aborting = true;
    part->abort_mono_us =
        now_mono_us() + (int64_t)(conf_num(cli_conf(&s->cli), CONF_KILL_WAIT) + KILL_GRACE_S +
                                  conf_num(cli_conf(&s->cli), CONF_MESSAGE_TIMEOUT)) *
                            USEC_PER_SEC;
    cli_info("Job step aborted: Waiting up to %u seconds for job step to finish.",
             (unsigned)conf_num(cli_conf(&s->cli), CONF_KILL_WAIT) + KILL_GRACE_S);
}

void srun_abort(struct srun *s, struct srun_part *part)
{
    if (part) {
        abort_part(s, part);
        return;
    }
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->n_parts == 1 || part_runs(s, &s->parts[i]))
            abort_part(s, &s->parts[i]);
}

/* Does a part go on that nothing aborts? */
static bool goes_on(const struct srun *s)
{
    for (size_t i = 0; i < s->n_parts; i++)
        if (!s->parts[i].aborting && part_runs(s, &s->parts[i]))
            return true;
    return false;
}

void srun_terminate(struct srun *s)
{
    if (s->terminating || !goes_on(s))
        return;
    s->terminating = true;
    cli_info("Terminating StepId=%u.%u", s->job_id, s->step_id);
    srun_send_signal(s, NULL, 0, true);
}

/* A node's Prolog failed: the node takes no step of this job.  The controller ends the job. */
static void prolog_failed(struct srun *s, const struct srun_node *n, const char *why)
{
    const int code = ESLURMD_PROLOG_FAILED & 0xff; /* what a shell sees of the error's number */

    if (s->own_job)
        cli_info("Prolog failure on node %s", n->name);
    cli_error("Task launch for StepId=%u.%u failed on node %s: %s", s->job_id, s->step_id, n->name,
              why);
    srun_note_exit(s, code, (uint32_t)code << 8);
    if (s->launch_failed)
        return;
    cli_error("Application launch failed: %s", why);
    cli_info("Job step aborted");
}

static bool is_error(const char *why, int number)
{
    return why && strcmp(why, slurm_err_text(number)) == 0;
}

/* The second sentence is about the step: once. */
static void tell_launch(const struct srun *s, const struct srun_node *n, const char *why)
{
    cli_error("Task launch for StepId=%u.%u failed on node %s: %s", s->job_id, s->step_id, n->name,
              why);
    if (!s->launch_failed)
        cli_error("Application launch failed: %s", why);
}

void srun_node_failed(struct srun *s, struct srun_node *n, const char *why)
{
    const bool prolog = !n->started && is_error(why, ESLURMD_PROLOG_FAILED);
    const int code = !n->started && is_error(why, SLURM_COMMUNICATIONS_CONNECTION_ERROR)
                         ? SLURM_COMMUNICATIONS_CONNECTION_ERROR & 0xff
                         : CLI_EXIT_FAILED;

    if (n->done)
        return;
    if (prolog)
        prolog_failed(s, n, why);
    else if (n->started)
        cli_error("Connection to node %s lost: %s", n->name, why);
    else
        tell_launch(s, n, why);
    for (uint32_t i = 0; i < n->n_tasks; i++)
        s->task_state[s->ranks[n->first + i]] = TASK_EXITED;
    srun_note_exit(s, code, (uint32_t)code << 8);
    if (!n->started)
        s->launch_failed = true;
    srun_node_done(s, n);
    if (prolog && !s->terminating && goes_on(s)) {
        s->terminating = true; /* it was said that the step is aborted */
        srun_send_signal(s, NULL, 0, true);
    } else if (!jobopts_has(&s->opts, JO_NO_KILL) || s->launch_failed) {
        srun_terminate(s);
    }
}

void srun_lost(void *ctx, uint32_t lo, uint32_t hi, const char *why)
{
    struct srun *s = ctx;

    for (uint32_t i = lo; i <= hi && i < s->n_nodes; i++)
        srun_node_failed(s, &s->nodes[i], why);
}
