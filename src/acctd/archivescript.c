/* archivescript.c - ArchiveScript; see archivescript.h */
#include "acctd/archivescript.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/spawnprog.h"
#include "base/timefmt.h"

#define KINDS 6u

struct told {
    const char *flag, *last;
    uint64_t hours;
    bool keeps;
};

static void list_kinds(const struct archive_what *what, struct told kinds[KINDS])
{
    kinds[0] = (struct told){ "EVENTS", "EVENT", what->event_h, what->events };
    kinds[1] = (struct told){ "JOBS", "JOB", what->job_h, what->jobs };
    kinds[2] = (struct told){ "STEPS", "STEP", what->step_h, what->steps };
    kinds[3] = (struct told){ "SUSPEND", "SUSPEND", what->suspend_h, what->suspends };
    kinds[4] = (struct told){ "TXN", "TXN", what->txn_h, what->txns };
    kinds[5] = (struct told){ "USAGE", "USAGE", what->usage_h, what->usage };
}

bool archivescript_wanted(const struct archive_what *what)
{
    struct told kinds[KINDS];
    bool any = false;

    list_kinds(what, kinds);
    for (size_t i = 0; i < KINDS; i++)
        any = any || kinds[i].hours;
    return any;
}

/* With what the program is told; that lies in `text`. */
static char **environment_of(const struct archive_what *what, int64_t now_us,
                             char text[2 * KINDS][64])
{
    struct told kinds[KINDS];
    char *own[2 * KINDS];
    size_t n = 0;

    list_kinds(what, kinds);
    for (size_t i = 0; i < KINDS; i++) {
        (void)snprintf(text[n], 64, "SLURM_ARCHIVE_%s=%d", kinds[i].flag,
                       kinds[i].hours && kinds[i].keeps);
        own[n] = text[n];
        n++;
        if (!kinds[i].hours)
            continue;
        (void)snprintf(text[n], 64, "SLURM_ARCHIVE_LAST_%s=%" PRId64, kinds[i].last,
                       acct_archive_cut(now_us, kinds[i].hours) / USEC_PER_SEC);
        own[n] = text[n];
        n++;
    }
    return spawn_env("SLURM_ARCHIVE_", own, n);
}

int archivescript_start(struct archivescript *s, const char *path, const struct archive_what *what,
                        int64_t now_us, struct err *err)
{
    char text[2 * KINDS][64];
    _cleanup_free_ char **envp = environment_of(what, now_us, text);
    int r = envp ? spawn_program(
                       &(struct spawn){ .path = path,
                                        .envp = envp,
                                        .fds = (const int[]){ -1, STDERR_FILENO, STDERR_FILENO },
                                        .n_fds = 3 },
                       &s->pid)
                 : -ENOMEM;

    if (r < 0) {
        s->pid = 0;
        return err_set(err, r, "ArchiveScript %s: %s, nothing is purged", path,
                       strerrordesc_np(-r));
    }
    s->told_us = now_us;
    return 0;
}

int archivescript_look(struct archivescript *s, const char *path, struct err *err)
{
    int status = 0;
    pid_t pid = waitpid(s->pid, &status, WNOHANG);

    if (pid == 0 || (pid < 0 && errno == EINTR))
        return 1;
    s->pid = 0;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (pid > 0 && WIFSIGNALED(status))
        return err_set(err, -EIO, "ArchiveScript %s ended by signal %d, nothing is purged", path,
                       WTERMSIG(status));
    return err_set(err, -EIO, "ArchiveScript %s failed with exit code %d, nothing is purged", path,
                   pid > 0 ? WEXITSTATUS(status) : 255);
}

void archivescript_spare(struct archive_what *what)
{
    what->events = what->jobs = what->steps = false;
    what->suspends = what->txns = what->usage = false;
}

void archivescript_end(struct archivescript *s)
{
    if (s->pid > 0)
        (void)kill(-s->pid, SIGTERM); /* its session; init takes what is left of it */
    s->pid = 0;
}
