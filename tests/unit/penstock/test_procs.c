/* test_procs.c - which processes are taken for the cluster's: a pid file may be old, junk, or of
 * somebody else */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "folder_util.h"
#include "penstock/penstock.h"

static struct instance in;

static int begin_test(void **state)
{
    (void)state;
    folder_make(in.dir, sizeof(in.dir), "procs");
    (void)snprintf(in.conf, sizeof(in.conf), "%s/etc/slurm.conf", in.dir);
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    return folder_unlink(in.dir);
}

static void write_pid(const char *name, const char *text)
{
    char path[INSTANCE_PATH_MAX + 64];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/run", in.dir);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    (void)snprintf(path, sizeof(path), "%s/run/%s", in.dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void copy_file(const char *from, const char *to)
{
    int in_fd = open(from, O_RDONLY | O_CLOEXEC),
        out_fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    ssize_t n;

    assert_true(in_fd >= 0 && out_fd >= 0);
    do
        n = sendfile(out_fd, in_fd, NULL, 1 << 20);
    while (n > 0);
    assert_int_equal(n, 0);
    assert_int_equal(close(in_fd), 0);
    assert_int_equal(close(out_fd), 0);
}

/* A process whose program has this name, and whose command line begins with this word. */
static pid_t start_program(const char *name, const char *word)
{
    char path[INSTANCE_PATH_MAX + 64], line[2 * INSTANCE_PATH_MAX], exe[64];
    pid_t pid;

    (void)snprintf(path, sizeof(path), "%s/%s", in.dir, name);
    copy_file("/bin/sleep", path);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl(path, word, "1000", (char *)NULL);
        _exit(127);
    }
    (void)snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
    for (;;) { /* until the program is there */
        ssize_t n = readlink(exe, line, sizeof(line) - 1);

        line[n > 0 ? n : 0] = '\0';
        if (strcmp(line, path) == 0)
            return pid;
        assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    }
}

static void end_program(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_junk(void **state)
{
    static const char *const texts[] = { "",     "\n",          "0\n",   "1\n",
                                         "-1\n", "abc\n",       "12x\n", "99999999999999999999\n",
                                         " 7\n", "4194305000\n" };
    struct procs found;
    char name[32];

    (void)state;
    assert_int_equal(procs_find(&in, &found), 0); /* no folder */
    assert_int_equal(found.n, 0);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        (void)snprintf(name, sizeof(name), "j%zu.pid", i);
        write_pid(name, texts[i]);
    }
    (void)snprintf(name, sizeof(name), "%d\n", (int)getpid());
    write_pid("test.pid", name); /* lives, and is no daemon */
    assert_int_equal(procs_find(&in, &found), 0);
    assert_int_equal(found.n, 0);
    procs_done(&found);
}

/* The program and the configuration both must be ours. */
static void test_ours(void **state)
{
    pid_t ours = start_program("slurmctld", in.conf),
          other = start_program("slurmd", "/etc/slurm.conf"),
          stranger = start_program("sleeper", in.conf);
    struct procs found;
    char text[32];

    (void)state;
    (void)snprintf(text, sizeof(text), "%d\n", (int)ours);
    write_pid("slurmctld.pid", text);
    write_pid("no-ending", text);
    write_pid("other.pidx", text);
    (void)snprintf(text, sizeof(text), "%d\n", (int)other);
    write_pid("slurmd.pid", text);
    (void)snprintf(text, sizeof(text), "%d", (int)stranger);
    write_pid("stranger.pid", text);
    assert_int_equal(procs_find(&in, &found), 0);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.items[0].pid, ours);
    assert_string_equal(found.items[0].name, "slurmctld");
    assert_int_equal(procs_wait(&found, now_mono_us()), 1); /* lives */
    procs_signal(&found, SIGTERM);
    assert_int_equal(procs_wait(&found, now_mono_us() + 60 * USEC_PER_SEC), 0);
    assert_int_equal(waitpid(ours, NULL, 0), ours);
    procs_signal(&found, SIGKILL); /* gone is as good */
    procs_done(&found);
    assert_int_equal(procs_find(&in, &found), 0);
    assert_int_equal(found.n, 0);
    assert_int_equal(kill(other, 0), 0);
    assert_int_equal(kill(stranger, 0), 0);
    end_program(other);
    end_program(stranger);
}

static int run_line(const char *line, int64_t limit_us)
{
    char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)line, NULL };
    pid_t pid = -1;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int r = proc_start(argv, fd, &pid);

    assert_int_equal(r, 0);
    (void)close(fd);
    return proc_finish(pid, now_mono_us() + limit_us);
}

static void test_finish(void **state)
{
    char *argv[] = { (char *)"/nowhere/program", NULL };
    pid_t pid;

    (void)state;
    assert_int_equal(run_line("exit 0", 60 * USEC_PER_SEC), 0);
    assert_int_equal(run_line("exit 1", 60 * USEC_PER_SEC), -EREMOTEIO);
    assert_int_equal(run_line("kill -9 $$", 60 * USEC_PER_SEC), -EREMOTEIO);
    assert_int_equal(run_line("exec sleep 1000", 0), -ETIMEDOUT);
    assert_int_equal(run_line("exec sleep 1000", -5), -ETIMEDOUT); /* the deadline is past */
    assert_int_equal(proc_start(argv, 2, &pid), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_junk, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_ours, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_finish, begin_test, end_test),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    (void)alarm(120); /* a test that waits has failed */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
