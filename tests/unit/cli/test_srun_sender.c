/* test_srun_sender.c - does a signal come from the step daemon of the batch script around srun? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/srun/srun_sender.h"

/* What srun, some processes below one of that name, says of a signal from there. */
static bool answer_below(const char *name, unsigned between, const char *step, int code, bool other)
{
    int status;
    pid_t daemon = fork(), child;

    assert_true(daemon >= 0);
    if (daemon == 0) {
        struct signalfd_siginfo info = { .ssi_signo = SIGUSR1, .ssi_code = code };

        info.ssi_pid = (uint32_t)(other ? getppid() : getpid());
        (void)prctl(PR_SET_NAME, name);
        for (unsigned i = 0; i <= between; i++) { /* each has one child, and its answer */
            child = fork();
            if (child > 0)
                _exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                               : 2);
            (void)prctl(PR_SET_NAME, "bash");
        }
        if (step)
            (void)setenv("SLURM_STEP_ID", step, 1);
        else
            (void)unsetenv("SLURM_STEP_ID");
        _exit(srun_sent_to_script(&info));
    }
    assert_int_equal(waitpid(daemon, &status, 0), daemon);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status);
}

static void test_senders(void **state)
{
    (void)state;
    assert_true(answer_below("slurmstepd", 0, "4294967291", SI_USER, false));
    assert_true(answer_below("slurmstepd", 1, "-5", SI_USER, false)); /* bash, srun */
    assert_true(answer_below("slurmstepd-plug", 1, "4294967291", SI_USER, false));
    /* in a step: its daemon signals that step alone */
    assert_false(answer_below("slurmstepd", 1, "0", SI_USER, false));
    assert_false(answer_below("slurmstepd", 1, NULL, SI_USER, false));
    /* to the script's first process alone, which srun is */
    assert_false(answer_below("slurmstepd", 0, "4294967291", SI_QUEUE, false));
    /* the script itself */
    assert_false(answer_below("bash", 1, "4294967291", SI_USER, false));
    /* somebody above the daemon */
    assert_false(answer_below("slurmstepd", 1, "4294967291", SI_USER, true));
}

/* A process that is not above srun, whatever its name; and one that is gone. */
static void test_strangers(void **state)
{
    struct signalfd_siginfo info = { .ssi_signo = SIGUSR1, .ssi_code = SI_USER };
    int ready[2], status;
    char byte = 0;
    pid_t pid;

    (void)state;
    (void)setenv("SLURM_STEP_ID", "4294967291", 1);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_NAME, "slurmstepd");
        _exit(write(ready[1], &byte, 1) == 1 && pause() < 0 ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    info.ssi_pid = (uint32_t)pid;
    assert_false(srun_sent_to_script(&info));
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(srun_sent_to_script(&info));
    info.ssi_pid = 0; /* outside of a namespace of its own */
    assert_false(srun_sent_to_script(&info));
    (void)close(ready[0]);
    (void)close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_senders),
        cmocka_unit_test(test_strangers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
