/* test_memuse.c - the memory of a job's processes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noded/jobs/memuse.h"

#define MIB (1u << 20)
#define USED (64u * MIB)

/* A child whose own child has USED bytes in memory: as a step daemon and its task. */
static pid_t start_daemon(int *ret_ready)
{
    int ready[2];
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (fork() == 0) {
            char *p;

            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it goes with its parent */
            p = mmap(NULL, USED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

            memset(p, 1, USED);
            if (write(ready[1], "x", 1) != 1)
                _exit(1);
        }
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    *ret_ready = ready[0];
    return pid;
}

static void test_job(void **state)
{
    struct nstep ended = { .phase = STEP_ENDED, .pid = 1, .ctl_fd = -1 },
                 step = { .next = &ended, .phase = STEP_RUNS, .ctl_fd = -1 };
    struct njob job = { .steps = &step };
    int ready;
    char c;

    (void)state;
    assert_int_equal(memuse_kib(&job), 0); /* a daemon that cannot be told uses nothing */
    step.pid = start_daemon(&ready);
    assert_int_equal(read(ready, &c, 1), 1);
    assert_in_range(memuse_kib(&job), USED / 1024, 2 * USED / 1024);
    assert_int_equal(kill(step.pid, SIGKILL), 0);
    assert_int_equal(waitpid(step.pid, NULL, 0), step.pid);
    assert_int_equal(memuse_kib(&job), 0);
    (void)close(ready);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_job) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
