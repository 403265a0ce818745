/* test_inherit.c - base/process/inherit.h and base/process/spawnprog.h: what a process begins with
 * and what it passes on */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "base/process/spawnprog.h"

#include "child_util.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* The exit status of check() in a child with descriptors 3 to 40, 100 and 900 open. */
static int in_child(int (*check)(void))
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        for (int fd = 3; fd <= 40; fd++)
            (void)dup2(1, fd);
        (void)dup2(1, 100);
        (void)dup2(1, 900);
        child_exit(check());
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int count_open(void)
{
    int n = 0;

    for (int fd = 0; fd < 1000; fd++)
        n += is_open(fd);
    return n;
}

static int check_close_all(void)
{
    inherit_close(3, -1);
    return count_open() == 3 && is_open(0) && is_open(1) && is_open(2) ? 0 : 1;
}

static int check_close_but(void)
{
    inherit_close(5, 100);
    return count_open() == 6 && is_open(3) && is_open(4) && is_open(100) ? 0 : 1;
}

static int check_close_but_first(void)
{
    inherit_close(5, 5);
    return count_open() == 6 && is_open(5) && !is_open(6) ? 0 : 1;
}

/* Open until the exec, and not passed on. */
static int check_close_at_exec(void)
{
    int before = count_open();

    inherit_close_at_exec(5);
    for (int fd = 5; fd < 1000; fd++)
        if (is_open(fd) && fcntl(fd, F_GETFD) != FD_CLOEXEC)
            return 1;
    return count_open() == before && is_open(900) && fcntl(4, F_GETFD) == 0 ? 0 : 2;
}

static int check_begin(void)
{
    struct stat st, null;
    struct sigaction act;
    sigset_t set;

    (void)close(0);
    (void)close(2);
    (void)signal(SIGHUP, SIG_IGN);
    (void)sigfillset(&set);
    (void)sigprocmask(SIG_SETMASK, &set, NULL);
    (void)umask(0);
    inherit_begin(8);
    if (count_open() != 8 || stat("/dev/null", &null) < 0)
        return 1;
    for (int fd = 0; fd < 3; fd += 2)
        if (fstat(fd, &st) < 0 || st.st_rdev != null.st_rdev)
            return 2;
    if (sigaction(SIGHUP, NULL, &act) < 0 || act.sa_handler != SIG_DFL)
        return 3;
    if (sigprocmask(SIG_SETMASK, NULL, &set) < 0 || sigismember(&set, SIGTERM))
        return 4;
    return umask(0) == 022 ? 0 : 5;
}

static int check_umask_stays_closed(void)
{
    (void)umask(077);
    inherit_begin(3);
    return umask(0) == 077 ? 0 : 1;
}

/* From here on the kernel has no close_range(2), as those before 5.9. */
static bool forget_close_range(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = ARRAY_SIZE(rules), .filter = rules };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(SYS_close_range, 500, 501, 0) < 0 && errno == ENOSYS;
}

static int check_old_kernel(int (*check)(void))
{
    for (int fd = 1000; fd < 1020; fd++) /* more than one read of the folder gives */
        (void)dup2(1, fd);
    for (int fd = 200; fd < 600; fd++)
        (void)dup2(1, fd);
    return forget_close_range() ? check() : 77;
}

static int check_old_close_all(void)
{
    return check_old_kernel(check_close_all);
}

static int check_old_close_but(void)
{
    return check_old_kernel(check_close_but);
}

static int check_old_close_but_first(void)
{
    return check_old_kernel(check_close_but_first);
}

static int check_old_close_at_exec(void)
{
    return check_old_kernel(check_close_at_exec);
}

static int check_old_begin(void)
{
    return check_old_kernel(check_begin);
}

static void test_old_kernel(void **state)
{
    (void)state;
    assert_int_equal(in_child(check_old_close_all), 0);
    assert_int_equal(in_child(check_old_close_but), 0);
    assert_int_equal(in_child(check_old_close_but_first), 0);
    assert_int_equal(in_child(check_old_close_at_exec), 0);
    assert_int_equal(in_child(check_old_begin), 0);
}

/* Nobody tells what is open: the process ends instead of passing it on. */
static int check_nothing_listed(void)
{
    if (!forget_close_range())
        return 77;
    for (int fd = 41; dup2(1, fd) >= 0; fd++) /* no descriptor is left for the folder */
        ;
    inherit_close(3, -1);
    return 0;
}

static int check_nothing_listed_at_exec(void)
{
    if (!forget_close_range())
        return 77;
    for (int fd = 41; dup2(1, fd) >= 0; fd++)
        ;
    inherit_close_at_exec(3);
    return 0;
}

static void test_nothing_listed(void **state)
{
    (void)state;
    assert_int_equal(in_child(check_nothing_listed), 127);
    assert_int_equal(in_child(check_nothing_listed_at_exec), 127);
}

static int check_no_keys(void)
{
    inherit_no_keys(); /* where the kernel has keyrings, ours is another one now */
    return 0;
}

static void test_inherit(void **state)
{
    (void)state;
    assert_int_equal(in_child(check_close_all), 0);
    assert_int_equal(in_child(check_close_but), 0);
    assert_int_equal(in_child(check_close_but_first), 0);
    assert_int_equal(in_child(check_close_at_exec), 0);
    assert_int_equal(in_child(check_begin), 0);
    assert_int_equal(in_child(check_umask_stays_closed), 0);
    assert_int_equal(in_child(check_no_keys), 0);
}

/* A program that was given these descriptors finds `names` in its folder of them, and nothing of
 * ours. */
static void check_spawned(const int *fds, size_t n_fds, const char *names)
{
    char script[200], arg0[] = "sh", arg1[] = "-c";
    char *argv[] = { arg0, arg1, script, NULL };
    struct spawn s = { .path = "/bin/sh", .argv = argv, .fds = fds, .n_fds = n_fds };
    int status = -1;
    pid_t pid = 0;

    (void)snprintf(script, sizeof(script),
                   "n= i=0; while [ $i -lt 1000 ]; do [ ! -e /proc/$$/fd/$i ] || n=\"$n $i\"; "
                   "i=$((i+1)); done; "
                   "[ \"$n\" = \" %s\" ]",
                   names);
    assert_int_equal(spawn_program(&s, &pid), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        print_message("not %s\n", names);
    assert_int_equal(status, 0);
}

static int check_spawn(void)
{
    int some[] = { -1, -1, STDERR_FILENO, 20, -1, 30 };

    check_spawned(NULL, 0, "0 1 2");
    check_spawned(some, 1, "0 1 2");
    check_spawned(some, 6, "0 1 2 3 5");
    return 0;
}

static void test_spawn(void **state)
{
    struct spawn missing = { .path = "/no/such/program" };
    pid_t pid = 0;

    (void)state;
    assert_int_equal(in_child(check_spawn), 0);
    assert_int_equal(spawn_program(&missing, &pid), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_inherit),
                                        cmocka_unit_test(test_old_kernel),
                                        cmocka_unit_test(test_nothing_listed),
                                        cmocka_unit_test(test_spawn) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
