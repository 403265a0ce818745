/* test_daemonize.c - base/process/daemonize.h: how a daemon leaves who started it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/daemonize.h"

#include "child_util.h"

static char dir[32], file[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-dmn-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(file, sizeof(file), "%s/f", dir);
    return 0;
}

static int drop_dir(void **state)
{
    (void)state;
    (void)unlink(file);
    return rmdir(dir);
}

/* The exit status of fn() in a child: these calls change the process. */
static int in_child(int (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        child_exit(fn());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The daemon leads a session, has no terminal, and says so only when it serves. */
static int detach_and_serve(void)
{
    struct stat in, null;
    int fd = -1;

    if (daemonize_detach(&fd, NULL) < 0)
        return 2;
    if (getsid(0) != getpid())
        _exit(1); /* the parent sees the end of the pipe */
    daemonize_ready(fd);
    child_exit(
        fstat(0, &in) == 0 && stat("/dev/null", &null) == 0 && in.st_rdev == null.st_rdev ? 0 : 1);
}

static int detach_and_die(void)
{
    int fd = -1;

    _exit(daemonize_detach(&fd, NULL) < 0 ? 2 : 0);
}

/* No pipe can be had: nothing is forked, and the sentence says why. */
static int detach_without_descriptors(void)
{
    struct rlimit few = { 3, 3 };
    struct err err = { .text = "" };
    int fd = -7;

    if (setrlimit(RLIMIT_NOFILE, &few) < 0 || daemonize_detach(&fd, &err) != -EMFILE)
        return 1;
    return fd == -7 && strncmp(err.text, "cannot make a pipe: ", 20) == 0 ? 0 : 2;
}

static void test_detach(void **state)
{
    (void)state;
    assert_int_equal(in_child(detach_without_descriptors), 0);
    assert_int_equal(in_child(detach_and_serve), 0);
    assert_int_equal(in_child(detach_and_die), 1);
    daemonize_ready(-1); /* in the foreground it changes nothing */
    assert_true(fcntl(1, F_GETFD) >= 0);
}

static int work_in_own(void)
{
    char entered[PATH_MAX];
    char now[4096];

    daemonize_work_in(file, NULL, entered);
    return strcmp(entered, dir) == 0 && getcwd(now, sizeof(now)) && strcmp(now, dir) == 0 ? 0 : 1;
}

static int work_in_open_one(void)
{
    char entered[PATH_MAX];

    daemonize_work_in(file, "/nonexistent", entered);
    return strcmp(entered, "/");
}

static int work_in_state_dir(void)
{
    char entered[PATH_MAX];

    daemonize_work_in("/nonexistent/log", dir, entered);
    return strcmp(entered, dir);
}

static int work_where_started(void)
{
    char entered[PATH_MAX];

    if (chdir(dir) < 0)
        return 2;
    daemonize_work_in("log", "/", entered);
    return strcmp(entered, dir);
}

static void test_work_in(void **state)
{
    (void)state;
    assert_int_equal(in_child(work_in_own), 0);
    assert_int_equal(in_child(work_in_state_dir), 0);
    assert_int_equal(in_child(work_where_started), 0);
    assert_int_equal(chmod(dir, 0777), 0); /* anybody could put a program there */
    assert_int_equal(in_child(work_in_open_one), 0);
    assert_int_equal(chmod(dir, 0700), 0);
}

static void test_notify(void **state)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char text[32], name[200];

    (void)state;
    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", file);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", file, 1), 0);
    daemonize_serve(-1);
    assert_int_equal(recv(fd, text, sizeof(text), MSG_DONTWAIT), 7);
    assert_memory_equal(text, "READY=1", 7);
    memset(name, 'x', sizeof(name) - 1); /* longer than the name of a socket can be */
    name[0] = '/';
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    daemonize_notify("READY=1");
    (void)close(fd); /* nobody hears it any more: that is logged */
    assert_int_equal(setenv("NOTIFY_SOCKET", file, 1), 0);
    daemonize_notify("READY=1");
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* a name that is no file */
    (void)snprintf(name, sizeof(name), "@penstock-test-%d", (int)getpid());
    memset(&sa, 0, sizeof(sa));
    sa.sun_family = AF_UNIX;
    memcpy(sa.sun_path + 1, name + 1, strlen(name) - 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    daemonize_notify("STOPPING=1");
    assert_int_equal(recv(fd, text, sizeof(text), MSG_DONTWAIT), 10);
    assert_memory_equal(text, "STOPPING=1", 10);
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    daemonize_notify("READY=1");
    assert_int_equal(recv(fd, text, sizeof(text), MSG_DONTWAIT), -1);
}

static void test_pid_file(void **state)
{
    long pid = 0;
    FILE *f;

    (void)state;
    daemonize_pid_file(file);
    f = fopen(file, "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pid), 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(pid, getpid());
    daemonize_pid_file("/nonexistent/pid"); /* is logged */
}

static int limits(void)
{
    struct rlimit files, core;

    daemonize_limits();
    return getrlimit(RLIMIT_NOFILE, &files) == 0 && getrlimit(RLIMIT_CORE, &core) == 0 &&
                   files.rlim_cur == files.rlim_max && core.rlim_cur == 0 && core.rlim_max == 0
               ? 0
               : 1;
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The number of a longer one is written over; a successor's stays when we end. */
static void test_pid_file_of_two(void **state)
{
    char text[64] = "", want[64];
    FILE *f;

    (void)state;
    write_file("12345678901\nrest\n");
    daemonize_pid_file(file);
    f = fopen(file, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    assert_int_equal(fclose(f), 0);
    (void)snprintf(want, sizeof(want), "%ld\n", (long)getpid());
    assert_string_equal(text, want);
    write_file("1\n");
    daemonize_pid_remove(file);
    assert_int_equal(access(file, F_OK), 0);
    daemonize_pid_file(file);
    daemonize_pid_remove(file);
    assert_int_equal(access(file, F_OK), -1);
    daemonize_pid_remove(file); /* gone: nothing to do */
}

static void test_limits(void **state)
{
    (void)state;
    assert_int_equal(in_child(limits), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_detach, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_work_in, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_notify, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_pid_file, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_pid_file_of_two, make_dir, drop_dir),
        cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
