/* test_procscan.c - processes as /proc shows them: who descends from whom, what one uses, and which
 * get a signal */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepd/use/procscan.h"

/* A child that has a child of its own, whose pid it tells; both sleep until a signal ends them. */
static pid_t start_two(pid_t *ret_below)
{
    int fds[2];
    pid_t child;

    assert_int_equal(pipe(fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pid_t below = fork();

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (below == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
        if (write(fds[1], &below, sizeof(below)) != sizeof(below))
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(fds[0], ret_below, sizeof(*ret_below)), sizeof(*ret_below));
    (void)close(fds[0]);
    (void)close(fds[1]);
    return child;
}

static bool find_self(void *ctx, const struct proc_info *info)
{
    unsigned *n = ctx;

    n[0]++;
    n[1] += info->pid == getpid();
    return info->pid != getpid();
}

static void test_read(void **state)
{
    struct proc_info info;
    unsigned seen[2] = { 0 };

    (void)state;
    assert_int_equal(proc_read(getpid(), &info), 0);
    assert_int_equal(info.pid, getpid());
    assert_int_equal(info.ppid, getppid());
    assert_int_equal(info.session, getsid(0));
    assert_int_equal(info.state, 'R');
    assert_int_equal(proc_read(0x7ffffff0, &info), -ESRCH);
    proc_each(find_self, seen);
    assert_int_equal(seen[1], 1);
}

/* Names of programs may hold what parts the columns of /proc/PID/stat. */
static void test_odd_name(void **state)
{
    struct proc_info info;

    (void)state;
    assert_int_equal(prctl(PR_SET_NAME, ") Z 1 (a b"), 0);
    assert_int_equal(proc_read(getpid(), &info), 0);
    assert_int_equal(info.ppid, getppid());
    assert_int_equal(info.state, 'R');
    assert_int_equal(prctl(PR_SET_NAME, "test"), 0);
}

static void test_below(void **state)
{
    pid_t below = 0, child = start_two(&below);
    struct proc_below *list = NULL;
    size_t n = proc_below(getpid(), &list);
    bool saw_child = false, saw_below = false;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        saw_child |= list[i].pid == child && list[i].top == child;
        saw_below |= list[i].pid == below && list[i].top == child;
        assert_int_not_equal(list[i].pid, getpid());
    }
    assert_true(saw_child && saw_below);
    free(list);
    assert_int_equal(proc_below(below, &list), 0);
    free(list);
    assert_int_equal(proc_signal_tree(child, SIGKILL), 1); /* the one below it, not itself */
    assert_int_equal(kill(child, 0), 0);
    assert_int_equal(proc_signal_tree(getpid(), 0) >= 1, true);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_use(void **state)
{
    struct proc_use u = { 0 };

    (void)state;
    assert_int_equal(proc_use(getpid(), PROC_RSS, &u), 0);
    assert_int_equal(u.pid, getpid());
    assert_int_equal(u.session, getsid(0));
    assert_true(u.mem > 100000 && u.vmem > u.mem);
    assert_int_equal(proc_use(0x7ffffff0, PROC_RSS, &u), -ESRCH);
}

/* A whole entry counts, not its beginning. */
static void test_env(void **state)
{
    pid_t child;
    int status;
    char *envp[] = { (char *)"A=1", (char *)"B=23", NULL };
    char *argv[] = { (char *)"sleep", (char *)"60", NULL };
    int fds[2];
    char c;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0); /* the other end closes when the program runs */
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execve("/bin/sleep", argv, envp);
        _exit(1);
    }
    (void)close(fds[1]);
    assert_int_equal(read(fds[0], &c, 1), 0);
    (void)close(fds[0]);
    assert_true(proc_env_has(child, "B=23"));
    assert_true(proc_env_has(child, "A=1"));
    assert_false(proc_env_has(child, "B=2"));
    assert_false(proc_env_has(child, "=23"));
    assert_false(proc_env_has(0x7ffffff0, "A=1"));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_read),
                                        cmocka_unit_test(test_odd_name),
                                        cmocka_unit_test(test_below), cmocka_unit_test(test_use),
                                        cmocka_unit_test(test_env) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
