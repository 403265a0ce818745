/* bench_spawn.c - what the machine itself takes to start a program: fork and exec
 *
 * Starts a program COUNT times without waiting in between, as a step does with its tasks, then
 * waits for all.  This is the limit that the launch of tasks is held against.  Arguments: count,
 * program. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timefmt.h"

#define COUNT 256

static int64_t us_of(struct timeval t)
{
    return t.tv_sec * USEC_PER_SEC + t.tv_usec;
}

static int64_t cpu_us(void)
{
    struct rusage self, kids;

    (void)getrusage(RUSAGE_SELF, &self);
    (void)getrusage(RUSAGE_CHILDREN, &kids);
    return us_of(self.ru_utime) + us_of(self.ru_stime) + us_of(kids.ru_utime) +
           us_of(kids.ru_stime);
}

/* How many of the n could not be started or failed. */
static unsigned start_all(unsigned n, const char *program)
{
    unsigned started = 0, failed = 0;
    int status;

    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            (void)execl(program, program, (char *)NULL);
            _exit(127);
        }
        started += pid > 0;
    }
    for (unsigned i = 0; i < started; i++)
        failed += wait(&status) < 0 || status != 0;
    return n - started + failed;
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : COUNT, failed;
    const char *program = argc > 2 ? argv[2] : "/bin/true";
    int64_t cpu = cpu_us(), wall = now_mono_us();

    if (n == 0) {
        (void)fprintf(stderr, "bench_spawn: the count must be a number above 0\n");
        return 1;
    }
    failed = start_all(n, program);
    (void)printf("{\"bench\": \"spawn\", \"count\": %u, \"failed\": %u, \"cpu_us_each\": %.1f, "
                 "\"wall_us_each\": %.1f}\n",
                 n, failed, (double)(cpu_us() - cpu) / n, (double)(now_mono_us() - wall) / n);
    return failed ? 1 : 0;
}
