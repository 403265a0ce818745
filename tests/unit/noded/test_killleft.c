/* test_killleft.c - what a dead step daemon left is killed, and nobody who has its numbers now */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/conf.h"
#include "noded/steps/killleft.h"
#include "stepd/shared/spool.h"
#include "stepd/use/procscan.h"

#define JOB 4711u

struct fixture {
    struct noded d;
    char name[8], dir[64];
    pid_t pid; /* leads a session, and waits */
    struct proc_info info;
};

static pid_t start_session(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setsid();
        for (;;)
            (void)pause();
    }
    return pid;
}

static int set_up(void **state)
{
    static const char text[] = "ClusterName=t\nSlurmctldHost=h\n"
                               "NodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n";
    struct conf_text file = { .name = "slurm.conf", .text = text, .len = sizeof(text) - 1 };
    struct fixture *f = calloc(1, sizeof(*f));
    struct conf *conf = NULL;

    assert_non_null(f);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
    f->d.conf = conf;
    (void)snprintf(f->name, sizeof(f->name), "n1");
    f->d.name = f->name;
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/penstock-killleft-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->pid = start_session();
    do
        assert_int_equal(proc_read(f->pid, &f->info), 0);
    while (f->info.session != f->pid); /* it is about to */
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char path[128];

    if (f->pid > 0) {
        (void)kill(f->pid, SIGKILL);
        (void)waitpid(f->pid, NULL, 0);
    }
    (void)snprintf(path, sizeof(path), "%s/trace", f->dir);
    (void)unlink(path);
    (void)rmdir(f->dir);
    conf_free(f->d.conf);
    free(f);
    return 0;
}

/* The step that session was of, as its daemon wrote it down.  ticks 0: as older ones did. */
static void write_trace(struct fixture *f, const char *world, uint64_t ticks)
{
    Pst__StepTrace t = PST__STEP_TRACE__INIT;
    uint32_t session = (uint32_t)f->pid;

    t.has_pid = t.has_start_ticks = true;
    t.pid = 1; /* of no use here */
    t.start_ticks = 1;
    t.n_sessions = 1;
    t.sessions = &session;
    t.world = (char *)(uintptr_t)world;
    t.n_session_ticks = ticks ? 1 : 0;
    t.session_ticks = &ticks;
    assert_int_equal(spool_put_msg(f->dir, "trace", &t.base), 0);
}

static bool is_killed(struct fixture *f)
{
    int status;

    if (waitpid(f->pid, &status, WNOHANG) != f->pid)
        return false;
    f->pid = 0;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void test_kills(void **state)
{
    struct fixture *f = *state;
    char world[PROC_WORLD];

    proc_world(world);
    write_trace(f, world, f->info.start_ticks);
    assert_true(recover_kill_left(&f->d, f->dir, JOB));
    assert_true(is_killed(f));
}

static void test_kills_as_before(void **state)
{
    struct fixture *f = *state;

    write_trace(f, NULL, 0);
    assert_true(recover_kill_left(&f->d, f->dir, JOB));
    assert_true(is_killed(f));
}

/* The machine was started anew, and another program leads a session of that number. */
static void test_other_boot(void **state)
{
    struct fixture *f = *state;

    write_trace(f, "00000000-0000-0000-0000-000000000000 pid:[4026531836]", f->info.start_ticks);
    assert_true(recover_kill_left(&f->d, f->dir, JOB));
    assert_false(is_killed(f));
}

/* The session ended long ago, and its number went round. */
static void test_number_again(void **state)
{
    struct fixture *f = *state;
    char world[PROC_WORLD];

    proc_world(world);
    write_trace(f, world, f->info.start_ticks - 1);
    assert_true(recover_kill_left(&f->d, f->dir, JOB));
    assert_false(is_killed(f));
}

static void test_world(void **state)
{
    char world[PROC_WORLD];

    (void)state;
    proc_world(world);
    assert_true(strlen(world) > 10);
    assert_true(proc_is_our_world(world));
    assert_true(proc_is_our_world(NULL));
    assert_false(proc_is_our_world(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kills, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kills_as_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_boot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_number_again, set_up, tear_down),
        cmocka_unit_test(test_world),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
