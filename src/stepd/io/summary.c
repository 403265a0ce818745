/* summary.c - what the job used, below the last byte of a batch job's output; see step.h
 *
 * A process of the user writes it, through the descriptor that the script's output was opened
 * with: it reaches the file that the job wrote, whatever the name leads to by now, and nothing
 * that the user may not write.  It runs after the last process of the step and before the step's
 * end is told, so that a user to whom the job has ended finds the summary.  That process asks the
 * controller for the other steps; we hand it what we know ourselves. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/shared/helper.h"
#include "stepd/shared/spool.h"
#include "stepd/io/usermount.h"
#include "stepd/step.h"

#define SUMMARY_LIMIT_US (20 * USEC_PER_SEC)

/* The run as far as it is known here: its script, and how that ended. */
static int find_output(const struct step *s, int *ret_fd)
{
    Pst__JobRecord job = *s->job;
    Pst__StepRecord batch = PST__STEP_RECORD__INIT, *steps[] = { &batch };
    Pst__AcctJob run = PST__ACCT_JOB__INIT;

    job.has_state = job.has_end_us = job.has_db_id = true;
    job.state = WIFEXITED(s->worst) && WEXITSTATUS(s->worst) == 0 ? PST__JOB_STATE__JOB_COMPLETED
                                                                  : PST__JOB_STATE__JOB_FAILED;
    job.end_us = now_us();
    job.db_id = s->run_id;
    batch.has_step_id = batch.has_num_tasks = true;
    batch.step_id = s->step_id;
    batch.num_tasks = 1;
    batch.usage = (Pst__StepUsage *)&s->usage;
    run.job = &job;
    run.steps = steps;
    run.n_steps = 1;
    return spool_memfd(&run.base, 0, ret_fd);
}

static int start_writer(struct step *s)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    _cleanup_close_ int in_fd = -1, null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    char path[HELPER_PATH_MAX], *paths[] = { path, NULL };
    int r = helper_path("summary", path, sizeof(path)), flags = fcntl(s->out_fd, F_GETFL);
    struct child c = { .step = s, .paths = paths, .argv = paths, .tty = -1, .any_dir = true };

    if (r == 0)
        r = find_output(s, &in_fd);
    if (r < 0)
        return r;
    /* Below whatever else was written to the file, through other descriptors too. */
    if (null_fd < 0 || flags < 0 || fcntl(s->out_fd, F_SETFL, flags | O_APPEND) < 0)
        return -errno;
    if (s->sf->conf_path)
        envlist_set(&env, "SLURM_CONF", s->sf->conf_path);
    c.envp = envlist_array(&env);
    if (!c.envp)
        return -ENOMEM;
    c.fds[0] = in_fd;
    c.fds[1] = s->out_fd;
    c.fds[2] = null_fd;
    return child_start(&c, &s->summary_pid);
}

bool summary_begin(struct step *s)
{
    struct stat st;

    if (s->summarized || !s->sf->has_summary || !s->sf->summary || !s->started)
        return false;
    s->summarized = true;
    /* a program of the user may serve it: even to ask what it is may block */
    if (s->out_fd < 0 ||
        (!usermount_has(s->out_fd) && (fstat(s->out_fd, &st) < 0 || !S_ISREG(st.st_mode))))
        return false;
    if (start_writer(s) < 0)
        s->summary_pid = 0; /* the job has lost a convenience, not more */
    s->swept = s->summary_pid == 0;
    s->deadline_mono_us = now_mono_us() + SUMMARY_LIMIT_US;
    return s->summary_pid > 0;
}
