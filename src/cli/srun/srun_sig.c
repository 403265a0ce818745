/* srun_sig.c - signals, and when a step must be ended before its time; see srun.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/job/jobtext.h"
#include "cli/srun/srun.h"
#include "cli/srun/srun_sender.h"
#include "cli/job/tasks.h"

static const int handled[] = { SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1,
                               SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };

static void read_ignored(struct srun *s)
{
    const char *p = jobopts_get(&s->opts, JO_IGNORE_SIGNALS);

    while (p && *p) {
        char word[32];
        size_t n = MIN(strcspn(p, ","), sizeof(word) - 1);

        memcpy(word, p, n);
        word[n] = '\0';
        s->ignored |= UINT64_C(1) << (jobtext_signal_number(word) & 63);
        p += strcspn(p, ",");
        p += *p == ',';
    }
}

void srun_sig_open(struct srun *s)
{
    sigset_t set;

    read_ignored(s);
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(handled); i++)
        sigaddset(&set, handled[i]);
    if (sigprocmask(SIG_BLOCK, &set, &s->old_mask) < 0)
        cli_fatal("signals cannot be blocked: %s", strerror(errno));
    (void)signal(SIGPIPE, SIG_IGN); /* a closed output is an error of write(2) */
    s->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->sig_fd < 0)
        cli_fatal("no signal descriptor: %s", strerror(errno));
}

static void begin_end(struct srun *s)
{
    cli_info("forcing job termination");
    srun_abort(s, NULL);
}

/* Whoever ends srun itself ends its tasks at once.  The end of the job, which comes as SIGCONT and
 * SIGTERM, leaves them KillWait to clean up; SIGCONT alone is a shell's `fg`. */
static void force_end(struct srun *s, int sig)
{
    bool with_job = sig == SIGTERM && s->continued_mono_us &&
                    now_mono_us() - s->continued_mono_us < USEC_PER_SEC;

    begin_end(s);
    srun_send_signal(s, NULL, with_job ? 0 : SIGKILL, true);
}

/* ---- states of tasks ------------------------------------------------------------------------- */

void srun_task_states(struct srun *s)
{
    static const char *const words[] = { "starting", "running", "exited", "exited abnormally" };
    uint32_t *ranks = xmalloc_or_die(s->n_tasks * sizeof(*ranks));

    for (uint8_t state = 0; state < ARRAY_SIZE(words); state++) {
        size_t n = 0;

        for (uint32_t i = 0; i < s->n_tasks; i++) {
            if (s->task_state[i] == state)
                ranks[n++] = i;
        }
        if (n > 0) {
            _cleanup_free_ char *list = tasks_list(ranks, n);

            cli_info("StepId=%u.%u %s %s: %s", s->job_id, s->step_id, n > 1 ? "tasks" : "task",
                     list, words[state]);
        }
    }
    free(ranks);
}

/* ---- reactions ------------------------------------------------------------------------------- */

static void on_interrupt(struct srun *s)
{
    int64_t now = now_mono_us();
    bool quit = jobopts_has(&s->opts, JO_QUIT_ON_INTERRUPT);

    if (jobopts_has(&s->opts, JO_DISABLE_STATUS) && !quit) {
        cli_info("sending Ctrl-C to StepId=%u.%u", s->job_id, s->step_id);
        srun_send_signal(s, NULL, SIGINT, false);
        return;
    }
    if (quit || (s->interrupt_mono_us && now - s->interrupt_mono_us < USEC_PER_SEC)) {
        cli_info("sending Ctrl-C to StepId=%u.%u", s->job_id, s->step_id);
        s->interrupted = true;
        begin_end(s);
        srun_signal_kill(s, SIGINT); /* what tasks end of that do not ignore it */
        return;
    }
    s->interrupt_mono_us = now;
    cli_info("interrupt (one more within 1 sec to abort)");
    srun_task_states(s);
}

static bool has_task_0(const struct srun *s, const struct srun_node *n)
{
    return n->n_tasks > 0 && s->ranks[n->first] == 0;
}

static void on_resize(struct srun *s)
{
    Pst__StepSignal msg = PST__STEP_SIGNAL__INIT;
    struct winsize ws;

    if (!s->pty || ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) < 0)
        return;
    msg.signal = SIGWINCH;
    msg.rows = ws.ws_row;
    msg.cols = ws.ws_col;
    msg.has_signal = msg.has_rows = msg.has_cols = true;
    srun_nodes_send(s, has_task_0, OP_STEP_SIGNAL, &msg.base);
}

static void on_signal(struct srun *s, const struct signalfd_siginfo *info)
{
    int sig = (int)info->ssi_signo;

    if (s->ignored >> (sig & 63) & 1)
        return;
    switch (sig) {
    case SIGINT:
        on_interrupt(s);
        break;
    case SIGQUIT:
        cli_info("Quit");
        force_end(s, sig);
        break;
    case SIGTERM:
    case SIGHUP:
        force_end(s, sig);
        break;
    case SIGALRM:
        break;
    case SIGCONT:
        s->continued_mono_us = now_mono_us();
        cli_info("got SIGCONT");
        break;
    case SIGWINCH:
        on_resize(s);
        break;
    default:
        if (!srun_sent_to_script(info))
            srun_send_signal(s, NULL, (unsigned)sig, false);
        break;
    }
}

/* A cancelled job's srun gets SIGCONT and then SIGTERM, but signalfd(2) gives the lower number
 * first. */
void srun_sig_read(struct srun *s)
{
    struct signalfd_siginfo info, term = { 0 };

    while (read(s->sig_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGTERM)
            term = info;
        else
            on_signal(s, &info);
    }
    if (term.ssi_signo)
        on_signal(s, &term);
}

static void wait_expired(struct srun *s)
{
    s->wait_told = true;
    cli_info("First task exited %llds ago", (long long)(s->wait_us / USEC_PER_SEC));
    srun_task_states(s);
    cli_info("Terminating StepId=%u.%u", s->job_id, s->step_id);
    srun_abort(s, NULL);
    srun_send_signal(s, NULL, SIGKILL, false);
}

/* A node may be lost without an error.  Do not wait for it when the step should have ended. */
static void give_up(struct srun *s, struct srun_part *part)
{
    bool told = false;

    if (srun_io_full(s)) { /* the reader of our output is slow, not the node */
        part->abort_mono_us = now_mono_us() + USEC_PER_SEC;
        return;
    }
    part->abort_mono_us = 0;
    for (size_t i = 0; i < s->n_nodes; i++) {
        if (s->nodes[i].part != part || s->nodes[i].done)
            continue;
        if (!told)
            cli_error("Timed out waiting for job step to complete");
        told = true;
        srun_node_failed(s, &s->nodes[i], "no answer");
    }
}

/* The part that is given up first, NULL: none */
static struct srun_part *part_due(struct srun *s)
{
    struct srun_part *first = NULL;

    for (size_t i = 0; i < s->n_parts; i++) {
        struct srun_part *part = &s->parts[i];

        if (part->abort_mono_us && (!first || part->abort_mono_us < first->abort_mono_us))
            first = part;
    }
    return first;
}

/* All tasks have ended; what they left behind holds their streams open. */
static void leave_streams(struct srun *s)
{
    if (srun_io_full(s)) { /* as above */
        s->last_exit_mono_us += USEC_PER_SEC;
        return;
    }
    cli_error("StepId=%u.%u: output has not ended %u seconds after the last task; srun leaves it",
              s->job_id, s->step_id, (unsigned)conf_num(cli_conf(&s->cli), CONF_EIO_TIMEOUT));
    for (size_t i = 0; i < s->n_nodes; i++)
        srun_node_done(s, &s->nodes[i]);
}

/* When the streams of a step whose tasks have ended are left; 0: there is no such time. */
static int64_t streams_due_us(struct srun *s)
{
    uint64_t eio_s = conf_num(cli_conf(&s->cli), CONF_EIO_TIMEOUT);

    return s->last_exit_mono_us && eio_s ? s->last_exit_mono_us + (int64_t)eio_s * USEC_PER_SEC : 0;
}

void srun_timers(struct srun *s, int *ret_ms)
{
    int64_t left_us, due_us = 0, streams_us = s->aborting ? 0 : streams_due_us(s);
    struct srun_part *part = part_due(s);

    *ret_ms = -1;
    if (streams_us && now_mono_us() >= streams_us) {
        leave_streams(s);
        *ret_ms = 0;
        return;
    }
    if (part)
        due_us = part->abort_mono_us;
    else if (streams_us)
        due_us = streams_us; /* no task is left that --wait could end */
    else if (s->wait_us && !s->aborting && s->first_exit_mono_us && !s->wait_told)
        due_us = s->first_exit_mono_us + s->wait_us;
    if (!due_us)
        return;
    left_us = due_us - now_mono_us();
    if (left_us > 0)
        *ret_ms = (int)(left_us / 1000) + 1;
    else if (part)
        give_up(s, part);
    else
        wait_expired(s);
}
