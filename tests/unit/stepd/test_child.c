/* test_child.c - processes of a step: what they find, and where those end that cannot begin */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/step.h"
#include "stepd/use/procscan.h"

static char dir[32], forbidden[48];

static int make_dir(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-child-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(forbidden, sizeof(forbidden), "%s/data", dir);
    fd = open(forbidden, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : close(fd);
}

static int drop_dir(void **state)
{
    (void)state;
    (void)unlink(forbidden);
    return rmdir(dir);
}

/* A child that runs a script, with a pipe for its standard output. */
struct fixture {
    struct step s;
    struct child c;
    Pst__LaunchStep launch;
    char script[200];
    char *argv[4], *paths[4];
    int out;
};

static void make_child(struct fixture *f, const char *script)
{
    static char *envp[] = { NULL };
    int p[2], in = open("/dev/null", O_RDWR | O_CLOEXEC);

    *f = (struct fixture){ .launch = PST__LAUNCH_STEP__INIT };
    f->s = (struct step){ .work_dir = dir, .umask = 027, .launch = &f->launch };
    (void)snprintf(f->script, sizeof(f->script), "%s", script);
    f->argv[0] = (char *)"sh";
    f->argv[1] = (char *)"-c";
    f->argv[2] = f->script;
    f->paths[0] = (char *)"/bin/sh";
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    f->out = p[0];
    f->c = (struct child){ .step = &f->s,
                           .paths = f->paths,
                           .argv = f->argv,
                           .envp = envp,
                           .tty = -1,
                           .fds = { in, p[1], p[1] } };
}

/* Start it; when that works *ret_text is what it printed. */
static int run_child(struct fixture *f, int *ret_status, char *text, size_t size, pid_t *ret_pid)
{
    size_t len = 0;
    ssize_t n;
    int r = child_start(&f->c, ret_pid);

    (void)close(f->c.fds[0]);
    (void)close(f->c.fds[1]);
    while (r == 0 && (n = read(f->out, text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    (void)close(f->out);
    text[len] = '\0';
    if (r == 0)
        assert_int_equal(waitpid(*ret_pid, ret_status, 0), *ret_pid);
    else
        assert_int_equal(waitpid(-1, ret_status, WNOHANG), -1); /* nothing is left behind */
    return r;
}

static void expect_text(struct fixture *f, const char *want)
{
    char text[400];
    int status = -1;
    pid_t pid;

    assert_int_equal(run_child(f, &status, text, sizeof(text), &pid), 0);
    assert_string_equal(text, want);
    assert_int_equal(status, 0);
}

static void expect_failure(struct fixture *f, int stage, int err)
{
    char text[400];
    int status;
    pid_t pid = 0;

    assert_int_equal(run_child(f, &status, text, sizeof(text), &pid), err);
    assert_int_equal(f->c.stage, stage);
    assert_int_equal(f->c.err, err);
    assert_int_equal(pid, 0);
}

static void test_what_it_finds(void **state)
{
    char slot[CHILD_PID_ROOM] = "", text[400], want[400];
    struct fixture f;
    int status;
    pid_t pid;

    (void)state;
    make_child(&f, "umask; pwd; set -- $(cat /proc/$$/stat); echo $6");
    f.c.pid_slot = slot;
    assert_int_equal(run_child(&f, &status, text, sizeof(text), &pid), 0);
    (void)snprintf(want, sizeof(want), "0027\n%s\n%d\n", dir, (int)pid);
    assert_string_equal(text, want);
    (void)snprintf(want, sizeof(want), "%d", (int)pid);
    assert_string_equal(slot, want);
}

/* When the kernel says that a child was made is known without asking /proc, or it is not known. */
static void test_start_ticks(void **state)
{
    struct proc_info info;
    unsigned known = 0;

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct fixture f;
        int status;
        pid_t pid;

        make_child(&f, "");
        assert_int_equal(child_start(&f.c, &pid), 0);
        (void)close(f.c.fds[0]);
        (void)close(f.c.fds[1]);
        (void)close(f.out);
        assert_int_equal(proc_read(pid, &info), 0); /* a zombie has it, too */
        if (f.c.start_ticks)
            assert_int_equal(f.c.start_ticks, info.start_ticks);
        known += f.c.start_ticks != 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    assert_true(known > 0);
}

static void test_descriptors(void **state)
{
    int give[2] = { fcntl(2, F_DUPFD_CLOEXEC, 20), fcntl(2, F_DUPFD_CLOEXEC, 20) };
    int ours = fcntl(2, F_DUPFD, 30), keep = fcntl(2, F_DUPFD_CLOEXEC, 40);
    struct fixture f;

    (void)state;
    make_child(&f, "for i in 0 1 2 3 4 5 6 7 8 9 20 21 30 40; do "
                   "[ ! -e /proc/$$/fd/$i ] || echo $i; done");
    f.c.give = give;
    f.c.n_give = 2;
    f.c.keep_fd = keep;
    expect_text(&f, "0\n1\n2\n3\n4\n40\n");
    (void)close(ours);
    (void)close(keep);
    (void)close(give[0]);
    (void)close(give[1]);
}

static void test_limits(void **state)
{
    Pst__Rlimit files = PST__RLIMIT__INIT, core = PST__RLIMIT__INIT, odd = PST__RLIMIT__INIT,
                none = PST__RLIMIT__INIT;
    Pst__Rlimit *list[] = { &odd, &none, &files, &core };
    struct fixture f;

    (void)state;
    files.name = (char *)"NOFILE";
    files.soft = 77;
    core.name = (char *)"CORE";
    core.soft = 0;
    odd.name = (char *)"NOFILES"; /* of another release: passed over */
    odd.soft = 1;
    make_child(&f, "ulimit -Sn; ulimit -Sc");
    f.launch.rlimits = list;
    f.launch.n_rlimits = ARRAY_SIZE(list);
    f.c.limits = true;
    expect_text(&f, "77\n0\n");
}

static void test_where_it_looks(void **state)
{
    char below[64];
    struct fixture f;

    (void)state;
    (void)snprintf(below, sizeof(below), "%s/sh", forbidden);
    make_child(&f, "echo ran"); /* missing, below a file, not to be executed: the next one counts */
    f.paths[0] = below;
    f.paths[1] = forbidden;
    f.paths[2] = (char *)"/bin/sh";
    expect_text(&f, "ran\n");
    make_child(&f, "");
    f.paths[0] = forbidden;
    f.paths[1] = (char *)"/no/such/program";
    expect_failure(&f, CHILD_EXEC, -EACCES);
    make_child(&f, "");
    f.paths[0] = below;
    expect_failure(&f, CHILD_EXEC, -ENOENT);
}

static void test_no_work_dir(void **state)
{
    struct fixture f;

    (void)state;
    make_child(&f, "");
    f.s.work_dir = (char *)"/no/such/folder";
    expect_failure(&f, CHILD_CHDIR, -ENOENT);
    make_child(&f, "pwd");
    f.s.work_dir = (char *)"/no/such/folder";
    f.c.any_dir = true;
    expect_text(&f, "/tmp\n");
}

/* What a program of srun sees as its own name: the path, unless it was typed with one. */
static void test_own_name(void **state)
{
    static const struct {
        const char *typed, *shown;
    } rows[] = { { "sh", "/bin/sh\n" }, { "./sh", "/bin/sh\n" }, { "bin/sh", "bin/sh\n" } };
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        make_child(&f, "echo $0");
        f.argv[0] = (char *)rows[i].typed;
        f.paths[0] = (char *)"/no/such/sh";
        f.paths[1] = (char *)"/bin/sh";
        f.c.along_path = true;
        expect_text(&f, rows[i].shown);
        assert_ptr_equal(f.argv[0], rows[i].typed);
    }
    make_child(&f, "echo $0"); /* of a batch script it is the name that was given */
    expect_text(&f, "sh\n");
}

static void test_tmpdir(void **state)
{
    char *missing[] = { (char *)"A=1", (char *)"TMPDIR=/no/such/folder", (char *)"B=2", NULL };
    char *there[] = { (char *)"TMPDIR=/", NULL };
    struct fixture f;

    (void)state;
    make_child(&f, "echo $A $TMPDIR $B");
    f.c.envp = missing;
    f.c.tmpdir = true;
    expect_text(&f, "1 /tmp 2\n");
    assert_string_equal(missing[1], "TMPDIR=/no/such/folder"); /* ours, not the child's */
    make_child(&f, "echo $TMPDIR");
    f.c.envp = there;
    f.c.tmpdir = true;
    expect_text(&f, "/\n");
    make_child(&f, "echo $TMPDIR");
    f.c.envp = missing;
    expect_text(&f, "/no/such/folder\n");
}

static void test_no_setup(void **state)
{
    struct fixture f;

    (void)state;
    make_child(&f, "");
    f.c.tty = f.c.fds[0]; /* no terminal */
    expect_failure(&f, CHILD_SETUP, -ENOTTY);
    make_child(&f, "");
    f.c.keep_fd = 987; /* not open */
    expect_failure(&f, CHILD_SETUP, -EBADF);
}

/* The holder of a lease on the program may keep it for 45 s: nobody waits for that. */
static void test_leased_program(void **state)
{
    static const char script[] = "#!/bin/sh\necho ran\n";
    struct timespec t0, t1;
    struct fixture f;
    char path[PATH_MAX], text[8] = "";
    int fd, status = -1;
    pid_t pid = 0;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/leased", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, script, sizeof(script) - 1), sizeof(script) - 1);
    (void)close(fd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)signal(SIGIO, SIG_IGN);
    assert_int_equal(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
    make_child(&f, "");
    f.paths[0] = path;
    (void)clock_gettime(CLOCK_MONOTONIC, &t0);
    assert_int_equal(child_start(&f.c, &pid), 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &t1);
    assert_true(t1.tv_sec - t0.tv_sec < 10);
    assert_int_equal(f.s.slow_starts, 1);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    (void)close(fd); /* and the lease */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(f.out, text, sizeof(text) - 1), 4);
    assert_string_equal(text, "ran\n");
    (void)unlink(path);
    (void)close(f.c.fds[0]);
    (void)close(f.c.fds[1]);
    (void)close(f.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_it_finds, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_start_ticks, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_descriptors, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_limits, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_where_it_looks, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_no_work_dir, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_own_name, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_tmpdir, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_no_setup, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_leased_program, make_dir, drop_dir),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
