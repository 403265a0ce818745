/* test_dmnlife.c - where a daemon finds its configuration, whom it becomes, and a log that
 * cannot be written */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "folder_util.h"

static char folder[64];

static int begin_group(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "dmnlife");
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static const char *inside(const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* Links are followed now: the daemon leaves this directory, and reads the file again later. */
static void test_conf_file(void **state)
{
    struct err err = { .text = "" };
    char *path = (char *)"x", want[256];
    FILE *f = fopen(inside("real.conf"), "we");

    (void)state;
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(symlink("real.conf", inside("slurm.conf")), 0);
    assert_int_equal(daemon_conf_file(inside("slurm.conf"), &path, &err), 0);
    (void)snprintf(want, sizeof(want), "%s/real.conf", folder);
    assert_string_equal(path, want);
    free(path);
    path = (char *)"x";
    assert_int_equal(daemon_conf_file(inside("missing"), &path, &err), -ENOENT);
    (void)snprintf(want, sizeof(want), "%s/missing: No such file or directory", folder);
    assert_string_equal(err.text, want);
    assert_string_equal(path, "x"); /* written on success only */
    assert_int_equal(symlink("loop", inside("loop")), 0);
    assert_int_equal(daemon_conf_file(inside("loop"), &path, &err), -ELOOP);
}

/* A daemon of root becomes SlurmUser; everybody else stays who he is.  In a child: there is no way
 * back. */
static void test_become(void **state)
{
    const uid_t stranger = 3999999999u;
    pid_t pid;
    int status;

    (void)state;
    assert_int_equal(daemon_become(getuid(), NULL), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct err err = { .text = "" };
        int r = daemon_become(stranger, &err);

        if (getuid() != 0)
            _exit(r == 0 ? 0 : 1); /* not root: nothing happens */
        _exit(r == -EPERM &&
                      strncmp(err.text, "cannot become SlurmUser (uid 3999999999): ", 42) == 0
                  ? 0
                  : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static const struct daemon_head head = { .name = "testd" };

/* In a child: the log and the work directory are the process's. */
static void open_log_in_child(const char *path, const char *err_file)
{
    struct daemon_options o = { .foreground = true };
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(err_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        (void)dup2(fd, 2);
        daemon_open_log(&head, &o, path, LOG_INFO, folder);
        log_info("here");
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool file_has(const char *path, const char *what)
{
    char text[2048];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    if (f)
        (void)fclose(f);
    text[n] = '\0';
    return strstr(text, what) != NULL;
}

static void test_log(void **state)
{
    char err_file[256], log_file[256];

    (void)state;
    (void)snprintf(err_file, sizeof(err_file), "%s", inside("err"));
    (void)snprintf(log_file, sizeof(log_file), "%s", inside("log"));
    open_log_in_child(log_file, err_file);
    assert_true(file_has(log_file, "here"));
    assert_false(file_has(err_file, "cannot write"));
    open_log_in_child("/nowhere/log", err_file);
    assert_true(file_has(err_file, "testd: cannot write /nowhere/log, logging to stderr\n"));
    assert_true(file_has(err_file, "here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conf_file),
        cmocka_unit_test(test_become),
        cmocka_unit_test(test_log),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin_group, end_group);
}
