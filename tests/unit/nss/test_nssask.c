/* test_nssask.c - libnss_slurm among step daemons that are slow, gone, or nobody's */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nss/nssask.h"

static const char ann[] = NSSTEXT_HEAD "ann:1000:100:::\nusers:100\n",
                  bob[] = NSSTEXT_HEAD "bob:1001:100:::\n";

static int make_spool(void **state)
{
    char *path = strdup("/tmp/nssask-XXXXXX");

    *state = path;
    return path && mkdtemp(path) ? 0 : -1;
}

static int remove_spool(void **state)
{
    char *path = *state, command[128];
    FILE *f;

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", path);
    f = popen(command, "r");
    free(path);
    return f && pclose(f) == 0 ? 0 : -1;
}

/* A socket that a step daemon would have. */
static int listen_step(const char *spool, const char *job, const char *step)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s", spool, job);
    (void)mkdir(sa.sun_path, 0755);
    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s/nss", spool, job);
    (void)mkdir(sa.sun_path, 0755);
    (void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/%s/nss/%s", spool, job, step);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* A process that gives the text to each who connects. */
static pid_t serve(int fd, const char *text)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) {
            int c = accept(fd, NULL, NULL);

            if (c < 0)
                _exit(1);
            (void)send(c, text, strlen(text), MSG_NOSIGNAL);
            (void)close(c);
        }
    }
    (void)close(fd);
    return pid;
}

static void end_process(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct seen {
    const char *wanted;
    char names[64];
};

static int note_user(void *ctx, const struct nss_user *u)
{
    struct seen *s = ctx;
    size_t len = strlen(s->names);

    (void)snprintf(s->names + len, sizeof(s->names) - len, "%s ", u->name);
    return s->wanted && strcmp(u->name, s->wanted) == 0;
}

static void test_own_first(void **state)
{
    const char *spool = *state;
    pid_t a = serve(listen_step(spool, "job4.1", "batch"), ann),
          b = serve(listen_step(spool, "job44.1", "step0"), bob);
    struct seen s = { .wanted = "bob" };
    bool busy = false;

    (void)setenv("SLURM_JOB_ID", "44", 1);
    assert_true(nssask_find(spool, note_user, &s, &busy));
    assert_string_equal(s.names, "bob ");
    (void)setenv("SLURM_JOB_ID", "4", 1);
    s = (struct seen){ .wanted = "bob" };
    assert_true(nssask_find(spool, note_user, &s, &busy));
    assert_string_equal(s.names, "ann bob ");
    /* a word that leads elsewhere is no hint */
    (void)setenv("SLURM_JOB_ID", "../x", 1);
    s = (struct seen){ .wanted = "carl" };
    assert_false(nssask_find(spool, note_user, &s, &busy));
    assert_false(busy);
    assert_int_equal(strlen(s.names), 8);
    (void)unsetenv("SLURM_JOB_ID");
    end_process(a);
    end_process(b);
}

/* The socket of a killed daemon, one who tells nonsense, a folder of something else. */
static void test_gone(void **state)
{
    const char *spool = *state;
    pid_t liar = serve(listen_step(spool, "job1.1", "batch"), "root:x:0:0::/:/bin/sh\n");
    pid_t a = serve(listen_step(spool, "job1.1", "step0"), ann);
    struct seen s = { .wanted = "ann" };
    bool busy = false;

    (void)close(listen_step(spool, "job1.1", "extern"));
    (void)close(listen_step(spool, "other", "batch"));
    assert_true(nssask_find(spool, note_user, &s, &busy));
    assert_string_equal(s.names, "ann ");
    assert_false(busy);
    assert_false(nssask_find("/nowhere/at/all", note_user, &s, &busy));
    end_process(a);
    end_process(liar);
}

/* A daemon that does not answer costs NSSASK_MS, and the caller hears that it does not know. */
static void test_silent(void **state)
{
    const char *spool = *state;
    int fd = listen_step(spool, "job1.1", "batch");
    struct seen s = { .wanted = "ann" };
    bool busy = false;
    struct timespec t0, t1;

    (void)clock_gettime(CLOCK_MONOTONIC, &t0);
    assert_false(nssask_find(spool, note_user, &s, &busy));
    (void)clock_gettime(CLOCK_MONOTONIC, &t1);
    assert_true(busy);
    assert_true((t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000 >=
                NSSASK_MS - 1);
    (void)close(fd);
}

/* Where anybody may make a job's folder, nobody is believed. */
static void test_open_to_all(void **state)
{
    const char *spool = *state;
    pid_t a = serve(listen_step(spool, "job1.1", "batch"), ann);
    struct seen s = { .wanted = "ann" };
    bool busy = false;

    assert_int_equal(chmod(spool, 0777), 0);
    assert_false(nssask_find(spool, note_user, &s, &busy));
    assert_string_equal(s.names, "");
    end_process(a);
}

static void test_descriptors(void **state)
{
    const char *spool = *state;
    pid_t a = serve(listen_step(spool, "job1.1", "batch"), ann);
    struct seen s = { .wanted = "ann" };
    bool busy = false;
    int before = dup(0), after;

    (void)close(before);
    for (int i = 0; i < 100; i++)
        (void)nssask_find(spool, note_user, &s, &busy);
    after = dup(0);
    (void)close(after);
    assert_int_equal(after, before);
    end_process(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_first, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_gone, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_silent, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_open_to_all, make_spool, remove_spool),
        cmocka_unit_test_setup_teardown(test_descriptors, make_spool, remove_spool),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
