/* iterate.c - --iterate: a listing again and again
 *
 * Owns nothing.  One thread, which forks. */
#include "cli/base/iterate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/cli.h"

/* The status of a child, once it ended. */
static int await_child(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            cli_die(CLI_EXIT_FAILED, "waitpid: %s", strerror(errno));
    return status;
}

/* End as the child ended. */
static void end_alike(int status)
{
    if (WIFSIGNALED(status)) {
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : CLI_EXIT_FAILED);
}

void iterate_begin(uint32_t seconds)
{
    pid_t self = getpid();

    while (seconds) {
        pid_t pid;
        int status;

        (void)fflush(NULL); /* the child would write it once more */
        pid = fork();
        if (pid < 0)
            cli_die(CLI_EXIT_FAILED, "fork: %s", strerror(errno));
        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* cannot fail with a good signal */
            if (getppid() != self)
                _exit(CLI_EXIT_FAILED); /* the parent ended before */
            return;
        }
        status = await_child(pid);
        if (status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == ITERATE_AGAIN))
            end_alike(status);
        if (printf("\n") < 0 || fflush(stdout) != 0)
            exit(CLI_EXIT_FAILED); /* nobody reads any more */
        (void)sleep(seconds);
    }
}
