/* test_cgroup.c - cgroups of jobs, steps and tasks, in a folder of files that stands for the
 * kernel's
 *
 * A file of this folder keeps what was written into it and answers what the test wrote.  Rules of
 * the kernel (which write fails, what a kill does to a subtree) are in tests/vm. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "folder_util.h"
#include "stepd/cgroup/cgroup_int.h"

struct machine {
    char dir[64];
    struct cgroup_tree tree;
};

static const struct cgroup_step no_limits = { .job = "job_7", .step = "0", .uid = 12 };

/* dir/name with all folders above it. */
static void make_path(const struct machine *m, const char *name, char buf[static CGI_PATH])
{
    assert_true(snprintf(buf, CGI_PATH, "%s/%s", m->dir, name) < CGI_PATH);
    for (char *p = buf + strlen(m->dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        assert_true(mkdir(buf, 0755) == 0 || errno == EEXIST);
    }
}

static void put_text(const struct machine *m, const char *name, const char *text)
{
    char path[CGI_PATH];
    FILE *f;

    make_path(m, name, path);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_text(const struct machine *m, const char *name, const char *text)
{
    char path[CGI_PATH], found[256];

    make_path(m, name, path);
    assert_int_equal(cgi_read(path, found, sizeof(found)), 0);
    assert_string_equal(found, text);
}

static bool is_there(const struct machine *m, const char *name)
{
    char path[CGI_PATH];

    assert_true(snprintf(path, sizeof(path), "%s/%s", m->dir, name) < CGI_PATH);
    return access(path, F_OK) == 0;
}

/* Version 2 with its root at DIR/s; version 1 with hierarchies at DIR/CONTROLLER/s. */
static void machine_init(struct machine *m, enum cgroup_kind kind, unsigned use)
{
    *m = (struct machine){ .dir = "/tmp/penstock-cgroup-XXXXXX" };
    assert_non_null(mkdtemp(m->dir));
    m->tree = (struct cgroup_tree){ .kind = kind, .use = use | CGROUP_FREEZER };
    (void)snprintf(m->tree.mount, sizeof(m->tree.mount), "%s", m->dir);
    (void)snprintf(m->tree.root, sizeof(m->tree.root), "%s", "s");
    for (size_t i = 0; i < CGROUP_CTRLS; i++) {
        char path[CGI_PATH], name[32];

        (void)snprintf(name, sizeof(name), kind == CGROUP_V1 ? "%s/s/x" : "s/x", cgi_ctrls[i].name);
        make_path(m, name, path);
    }
}

static void machine_done(const struct machine *m)
{
    folder_remove(m->dir);
}

/* A child that waits to be killed. */
static pid_t start_child(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void test_paths(void **state)
{
    struct cgroup_tree v1 = { .kind = CGROUP_V1, .mount = "/m", .root = "r" };
    struct cgroup_tree v2 = { .kind = CGROUP_V2, .mount = "/m", .root = "r" };
    struct cgroup cg = { .tree = v2, .step = "job_1/step_2" };
    char path[CGI_PATH], big[CGI_PATH];

    (void)state;
    assert_int_equal(cgi_path(&v1, CGROUP_MEMORY, "job_1", "tasks", path), 0);
    assert_string_equal(path, "/m/memory/r/job_1/tasks");
    assert_int_equal(cgi_path(&v2, CGROUP_MEMORY, NULL, NULL, path), 0);
    assert_string_equal(path, "/m/r");
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_int_equal(cgi_path(&v2, 0, big, NULL, path), -ENAMETOOLONG);
    assert_int_equal(cgi_task(&cg, 3, path), 0);
    assert_string_equal(path, "job_1/step_2/user/task_3");
    assert_int_equal(cgi_task(&cg, CGROUP_SPECIAL, path), 0);
    assert_string_equal(path, "job_1/step_2/user/task_special");
    cg.tree = v1;
    assert_int_equal(cgi_task(&cg, CGROUP_STEP, path), 0);
    assert_string_equal(path, "job_1/step_2");
}

static void test_numbers(void **state)
{
    struct machine m;
    uint64_t n = 9;

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    put_text(&m, "s/events", "low 4\noom 0\noom_kill 3\nlast 18446744073709551615\n");
    put_text(&m, "s/max", "max\n");
    assert_int_equal(cgi_get(&m.tree, 0, NULL, "events", "oom_kill", &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(cgi_get(&m.tree, 0, NULL, "events", "last", &n), 0);
    assert_true(n == UINT64_MAX);
    assert_int_equal(cgi_get(&m.tree, 0, NULL, "events", "oom_ki", &n), -ENOENT);
    assert_int_equal(cgi_get(&m.tree, 0, NULL, "max", NULL, &n), -EBADMSG);
    assert_int_equal(cgi_get(&m.tree, 0, "none", "max", NULL, &n), -ENOENT);
    assert_true(n == UINT64_MAX); /* failures change nothing */
    machine_done(&m);
}

/* Folders go with all below them, but not with a file that is no kernel's. */
static void test_removed(void **state)
{
    struct machine m;
    char path[CGI_PATH];

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    make_path(&m, "s/a/b/c/x", path);
    make_path(&m, "s/a/d/x", path);
    assert_int_equal(cgi_remove_all(&m.tree, "a"), 0);
    assert_false(is_there(&m, "s/a"));
    assert_int_equal(cgi_remove_all(&m.tree, "a"), 0); /* gone is no error */
    put_text(&m, "s/a/b/file", "");
    assert_int_equal(cgi_remove_all(&m.tree, "a"), -ENOTEMPTY);
    assert_int_equal(cgi_rmdir_all(&m.tree, "a"), -ENOTEMPTY);
    machine_done(&m);
}

/* Processes of all folders below get the signal; the one that sends it does not. */
static void test_signals(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct err err = { 0 };
    char text[64];
    int status;
    pid_t one = start_child(), two = start_child();

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    (void)snprintf(text, sizeof(text), "%d\n%d\n0\n", (int)getpid(), (int)one);
    put_text(&m, "s/job_7/step_0/user/task_0/cgroup.procs", text);
    (void)snprintf(text, sizeof(text), "%d\n", (int)two);
    put_text(&m, "s/job_7/step_0/user/task_1/own/deep/cgroup.procs", text);
    assert_int_equal(cgroup_signal(&cg, 0), 2);
    assert_int_equal(cgroup_signal(&cg, SIGTERM), 2);
    assert_int_equal(waitpid(one, &status, 0), one);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(waitpid(two, &status, 0), two);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    machine_done(&m);
}

/* Without cgroup.kill: frozen, killed one by one, thawed. */
static void test_killed(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct err err = { 0 };
    char text[16];
    int status;
    pid_t pid = start_child();

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    (void)snprintf(text, sizeof(text), "%d\n", (int)pid);
    put_text(&m, "s/job_7/step_0/user/cgroup.procs", text);
    put_text(&m, "s/job_7/step_0/user/cgroup.freeze", "-");
    assert_int_equal(cgroup_signal(&cg, SIGKILL), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_text(&m, "s/job_7/step_0/user/cgroup.freeze", "0");
    put_text(&m, "s/job_7/step_0/user/cgroup.kill", "-");
    put_text(&m, "s/job_7/step_0/user/cgroup.procs", "");
    assert_int_equal(cgroup_signal(&cg, SIGKILL), 0);
    assert_text(&m, "s/job_7/step_0/user/cgroup.kill", "1");
    machine_done(&m);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void test_without_cgroups(void **state)
{
    const struct cgroup_tree none = { .kind = CGROUP_NONE };
    struct cgroup_tree tree = none;
    struct cgroup cg;
    struct cgroup_usage use;
    struct err err = { 0 };
    int fds[CGROUP_CTRLS];

    (void)state;
    assert_int_equal(cgroup_tree_make(&tree, &err), 0);
    assert_int_equal(cgroup_begin(&cg, &none, &no_limits, &err), 0);
    assert_int_equal(cgroup_task(&cg, 0, NULL, 0), 0);
    assert_int_equal(cgroup_task_open(&cg, 0, fds), 0);
    assert_int_equal(cgroup_adopt(&cg, 0, getpid()), -ENOTSUP);
    assert_int_equal(cgroup_signal(&cg, SIGKILL), 0);
    assert_int_equal(cgroup_suspend(&cg, true), -ENOTSUP);
    assert_false(cgroup_populated(&cg));
    assert_int_equal(cgroup_usage(&cg, CGROUP_STEP, &use), -ENOENT);
    assert_int_equal(cgroup_oom_kills(&cg, CGROUP_STEP), 0);
    assert_int_equal(cgroup_oom_group(&cg), -ENOTSUP);
    assert_int_equal(cgroup_watch(&cg, 0), -ENOTSUP);
    assert_int_equal(cgroup_tree_sweep(&none, "o", NULL, NULL), 0);
    assert_true(cgroup_kill_left(&none, "job_7/step_0"));
    assert_int_equal(cgroup_end(&cg), 0);
    cgroup_tree_leave(&none);
    assert_string_equal(cgroup_kind_name(CGROUP_NONE), "disabled");
    assert_string_equal(cgroup_kind_name(CGROUP_V2), "cgroup/v2");
}

/* The last step takes the job's folder along; the root stays. */
static void test_step_v2(void **state)
{
    struct machine m;
    struct cgroup one, two;
    struct cgroup_step batch = no_limits;
    struct err err = { 0 };
    int fds[CGROUP_CTRLS];

    (void)state;
    batch.step = "batch";
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_begin(&one, &m.tree, &no_limits, &err), 0);
    assert_int_equal(cgroup_begin(&two, &m.tree, &batch, &err), 0);
    assert_true(is_there(&m, "s/job_7/step_0/user"));
    assert_true(is_there(&m, "s/job_7/step_batch/user"));
    assert_int_equal(cgroup_task_open(&one, 4, fds), -ENOENT);
    assert_int_equal(cgroup_task(&one, 4, NULL, 0), 0);
    assert_true(is_there(&m, "s/job_7/step_0/user/task_4"));
    assert_int_equal(cgroup_task_open(&one, 4, fds), 1);
    (void)close(fds[0]);
    assert_int_equal(cgroup_end(&one), 0);
    assert_false(is_there(&m, "s/job_7/step_0"));
    assert_true(is_there(&m, "s/job_7"));
    assert_int_equal(one.tree.kind, CGROUP_NONE);
    assert_int_equal(cgroup_end(&two), 0);
    assert_false(is_there(&m, "s/job_7"));
    assert_true(is_there(&m, "s"));
    machine_done(&m);
}

static void test_step_v1(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct err err = { 0 };
    int fds[CGROUP_CTRLS];

    (void)state;
    machine_init(&m, CGROUP_V1, CGROUP_MEMORY);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    assert_true(is_there(&m, "freezer/s/uid_12/job_7/step_0"));
    assert_true(is_there(&m, "memory/s/uid_12/job_7/step_0"));
    assert_false(is_there(&m, "cpuset/s/uid_12"));
    assert_int_equal(cgroup_task(&cg, 1, NULL, 0), 0);
    put_text(&m, "freezer/s/uid_12/job_7/step_0/task_1/tasks", "");
    assert_int_equal(cgroup_task_open(&cg, 1, fds), -ENOENT); /* all of them or none */
    put_text(&m, "memory/s/uid_12/job_7/step_0/task_1/tasks", "");
    assert_int_equal(cgroup_task_open(&cg, 1, fds), 2);
    (void)close(fds[0]);
    (void)close(fds[1]);
    assert_int_equal(cgroup_watch(&cg, 1), -ENOTSUP);
    machine_done(&m);
    machine_init(&m, CGROUP_V1, CGROUP_MEMORY);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    assert_int_equal(cgroup_end(&cg), 0);
    assert_false(is_there(&m, "freezer/s/uid_12"));
    assert_false(is_there(&m, "memory/s/uid_12"));
    machine_done(&m);
}

/* A new folder of cpuset has no CPUs: it takes those of the folder above. */
static void test_cpuset_of_parent(void **state)
{
    struct machine m;

    (void)state;
    machine_init(&m, CGROUP_V1, CGROUP_CPUSET);
    put_text(&m, "cpuset/s/cpuset.cpus", "0-3\n");
    put_text(&m, "cpuset/s/cpuset.mems", "0\n");
    put_text(&m, "cpuset/s/uid_12/cpuset.cpus", "\n");
    put_text(&m, "cpuset/s/uid_12/cpuset.mems", "1\n"); /* has some: keeps them */
    assert_int_equal(cgi_make(&m.tree, "uid_12"), 0);
    assert_text(&m, "cpuset/s/uid_12/cpuset.cpus", "0-3\n");
    assert_text(&m, "cpuset/s/uid_12/cpuset.mems", "1\n");
    machine_done(&m);
}

/* A limit that cannot be set: no folder is left, and a sentence names the limit. */
static void test_begin_fails(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct cgroup_step s = no_limits;
    struct err err = { 0 };
    char name[CGROUP_PATH];

    (void)state;
    machine_init(&m, CGROUP_V1, CGROUP_MEMORY);
    s.step_limits.ram_max = 4096;
    assert_int_equal(cgroup_begin(&cg, &m.tree, &s, &err), -ENOENT);
    assert_non_null(strstr(err.text, "cannot set memory.limit_in_bytes=4096"));
    assert_int_equal(cg.tree.kind, CGROUP_NONE);
    assert_false(is_there(&m, "memory/s/uid_12"));
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    s.step = name;
    assert_int_equal(cgroup_begin(&cg, &m.tree, &s, &err), -ENAMETOOLONG);
    assert_false(is_there(&m, "memory/s/uid_12"));
    machine_done(&m);
}

static void test_adopted(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct err err = { 0 };
    char mine[16];

    (void)state;
    (void)snprintf(mine, sizeof(mine), "%d", (int)getpid());
    machine_init(&m, CGROUP_V2, CGROUP_CPUACCT);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    put_text(&m, "s/job_7/step_0/user/task_special/cgroup.procs", "");
    assert_int_equal(cgroup_adopt(&cg, CGROUP_SPECIAL, getpid()), 0);
    assert_text(&m, "s/job_7/step_0/user/task_special/cgroup.procs", mine);
    machine_done(&m);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_limits_v2(void **state)
{
    const struct cgroup_limits l = {
        .cpus = "0-1", .ram_max = 1000, .ram_high = 900, .swap_max = 50, .has_swap = true
    };
    struct machine m;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V2, CGROUP_CPUSET | CGROUP_MEMORY);
    put_text(&m, "s/j/cpuset.cpus", "");
    put_text(&m, "s/j/memory.max", "");
    put_text(&m, "s/j/memory.high", "");
    assert_int_equal(cgi_limit(&m.tree, "j", &l, &err), 0); /* a kernel without swap */
    assert_text(&m, "s/j/cpuset.cpus", "0-1");
    assert_text(&m, "s/j/memory.max", "1000");
    assert_text(&m, "s/j/memory.high", "900");
    put_text(&m, "s/j/memory.swap.max", "");
    put_text(&m, "s/j/memory.high", "");
    assert_int_equal(
        cgi_limit(&m.tree, "j",
                  &(struct cgroup_limits){ .ram_max = 7, .ram_high = 8, .has_swap = true }, &err),
        0);
    assert_text(&m, "s/j/memory.high", ""); /* above the limit it says nothing */
    assert_text(&m, "s/j/memory.swap.max", "0");
    m.tree.use = CGROUP_FREEZER; /* what is not turned on is not limited */
    assert_int_equal(cgi_limit(&m.tree, "elsewhere", &l, &err), 0);
    machine_done(&m);
}

/* memory.memsw has both: the sum is written, whatever stood there. */
static void test_limits_v1(void **state)
{
    static const char *const before[] = { "10", "100000" };
    const struct cgroup_limits l = { .ram_max = 1000,
                                     .ram_high = 900,
                                     .swap_max = 50,
                                     .has_swap = true,
                                     .has_swappiness = true,
                                     .swappiness = 5 };
    struct machine m;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V1, CGROUP_MEMORY);
    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        put_text(&m, "memory/s/j/memory.limit_in_bytes", "");
        put_text(&m, "memory/s/j/memory.soft_limit_in_bytes", "");
        put_text(&m, "memory/s/j/memory.swappiness", "");
        put_text(&m, "memory/s/j/memory.memsw.limit_in_bytes", before[i]);
        assert_int_equal(cgi_limit(&m.tree, "j", &l, &err), 0);
        assert_text(&m, "memory/s/j/memory.limit_in_bytes", "1000");
        assert_text(&m, "memory/s/j/memory.soft_limit_in_bytes", "900");
        assert_text(&m, "memory/s/j/memory.swappiness", "5");
        /* A file keeps what a shorter text does not cover. */
        assert_text(&m, "memory/s/j/memory.memsw.limit_in_bytes", i ? "105000" : "1050");
    }
    machine_done(&m);
}

static void test_devices_v1(void **state)
{
    const struct cgroup_device gpu = { .major = 195, .minor = 1 };
    const struct cgroup_device disk = { .block = true, .major = 8 };
    struct machine m;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V1, CGROUP_DEVICES);
    put_text(&m, "devices/s/j/devices.deny", "");
    assert_int_equal(cgi_deny(&m.tree, "j", &gpu, 1), 0);
    assert_text(&m, "devices/s/j/devices.deny", "c 195:1 rwm");
    put_text(&m, "devices/s/j/devices.deny", "");
    assert_int_equal(cgi_deny(&m.tree, "j", &disk, 1), 0);
    assert_text(&m, "devices/s/j/devices.deny", "b 8:0 rwm");
    m.tree.use = CGROUP_FREEZER;
    assert_int_equal(
        cgi_limit(&m.tree, "j", &(struct cgroup_limits){ .deny = &gpu, .n_deny = 1 }, &err),
        -ENOTSUP);
    assert_non_null(strstr(err.text, "cannot confine j to its devices"));
    assert_int_equal(cgi_deny(&m.tree, "j", NULL, 100000), -E2BIG);
    machine_done(&m);
}

/* A folder that is no cgroup gets no program: -EINVAL, or -EPERM where BPF is not allowed. */
static void test_devices_v2(void **state)
{
    const struct cgroup_device gpu = { .major = 195, .minor = 1 };
    struct machine m;

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_true(cgi_deny(&m.tree, NULL, &gpu, 1) < 0);
    assert_int_equal(cgi_deny(&m.tree, "nowhere", &gpu, 1), -ENOENT);
    machine_done(&m);
}

/* ---- counters and events --------------------------------------------------------------------- */

static void test_usage_v2(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct cgroup_usage u;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    assert_int_equal(cgroup_usage(&cg, 0, &u), -ENOENT);
    put_text(&m, "s/job_7/step_0/user/task_0/cpu.stat",
             "usage_usec 30\nuser_usec 20\nsystem_usec 10\n");
    put_text(&m, "s/job_7/step_0/user/task_0/memory.current", "4096\n");
    put_text(&m, "s/job_7/step_0/user/task_0/memory.stat", "anon 1024\nfile 3072\n");
    assert_int_equal(cgroup_usage(&cg, 0, &u), 0);
    assert_int_equal(u.user_us, 20);
    assert_int_equal(u.sys_us, 10);
    assert_int_equal(u.mem_bytes, 4096);
    assert_int_equal(u.own_bytes, 1024);
    assert_int_equal(u.mem_peak_bytes, 0); /* an older kernel */
    machine_done(&m);
}

/* The sum is in nanoseconds; its parts come in ticks and share it. */
static void test_usage_v1(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct cgroup_usage u;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V1, CGROUP_CPUACCT | CGROUP_MEMORY);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    put_text(&m, "cpuacct/s/uid_12/job_7/step_0/cpuacct.usage", "8000000\n");
    put_text(&m, "memory/s/uid_12/job_7/step_0/memory.max_usage_in_bytes", "77\n");
    assert_int_equal(cgroup_usage(&cg, CGROUP_STEP, &u), 0);
    assert_int_equal(u.user_us, 8000); /* no tick yet */
    assert_int_equal(u.sys_us, 0);
    assert_int_equal(u.mem_peak_bytes, 77);
    put_text(&m, "cpuacct/s/uid_12/job_7/step_0/cpuacct.stat", "user 3\nsystem 1\n");
    assert_int_equal(cgroup_usage(&cg, CGROUP_STEP, &u), 0);
    assert_int_equal(u.user_us, 6000);
    assert_int_equal(u.sys_us, 2000);
    machine_done(&m);
}

static void test_oom(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    put_text(&m, "s/job_7/step_0/user/memory.events", "oom 9\noom_kill 2\n");
    put_text(&m, "s/job_7/step_0/user/memory.oom.group", "0");
    assert_int_equal(cgroup_oom_kills(&cg, CGROUP_STEP), 0); /* memory is not ours to limit */
    assert_int_equal(cgroup_oom_group(&cg), -ENOTSUP);
    cg.tree.use |= CGROUP_MEMORY;
    assert_int_equal(cgroup_oom_kills(&cg, CGROUP_STEP), 2);
    assert_int_equal(cgroup_oom_group(&cg), 0);
    assert_text(&m, "s/job_7/step_0/user/memory.oom.group", "1");
    machine_done(&m);
    machine_init(&m, CGROUP_V1, CGROUP_MEMORY);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    put_text(&m, "memory/s/uid_12/job_7/step_0/memory.oom_control", "under_oom 0\noom_kill 1\n");
    put_text(&m, "memory/s/uid_12/job_7/step_0/task_0/memory.oom_control", "oom_kill 2\n");
    put_text(&m, "memory/s/uid_12/job_7/step_0/task_1/memory.oom_control", "oom_kill 4\n");
    assert_int_equal(cgroup_oom_kills(&cg, CGROUP_STEP), 7);
    assert_int_equal(cgroup_oom_kills(&cg, 1), 4);
    machine_done(&m);
}

static void test_suspended(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    assert_int_equal(cgroup_suspend(&cg, true), -ENOENT); /* a kernel without the freezer */
    put_text(&m, "s/job_7/step_0/user/cgroup.freeze", "0");
    assert_int_equal(cgroup_suspend(&cg, true), 0);
    assert_text(&m, "s/job_7/step_0/user/cgroup.freeze", "1");
    assert_int_equal(cgroup_suspend(&cg, false), 0);
    assert_text(&m, "s/job_7/step_0/user/cgroup.freeze", "0");
    machine_done(&m);
    machine_init(&m, CGROUP_V1, 0);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    assert_int_equal(cgroup_suspend(&cg, true), -EIO);
    put_text(&m, "freezer/s/uid_12/job_7/step_0/freezer.state", "");
    assert_int_equal(cgroup_suspend(&cg, true), 0);
    /* The processes are stopped by now; a frozen one could not be killed. */
    assert_text(&m, "freezer/s/uid_12/job_7/step_0/freezer.state", "THAWED");
    machine_done(&m);
}

static bool is_readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 0) > 0;
}

static void test_watched(void **state)
{
    struct machine m;
    struct cgroup cg;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_begin(&cg, &m.tree, &no_limits, &err), 0);
    put_text(&m, "s/job_7/step_0/user/task_0/cgroup.events", "populated 0\nfrozen 0\n");
    assert_int_equal(cgroup_watch(&cg, 1), -ENOENT);
    assert_int_equal(cgroup_watch(&cg, 0), 0);
    assert_false(is_readable(cg.watch_fd));
    assert_false(cgroup_task_populated(&cg, 0));
    put_text(&m, "s/job_7/step_0/user/task_0/cgroup.events", "populated 1\nfrozen 0\n");
    assert_true(is_readable(cg.watch_fd));
    assert_true(cgroup_task_populated(&cg, 0));
    cgroup_watch_drain(&cg);
    assert_false(is_readable(cg.watch_fd));
    assert_int_equal(cgroup_end(&cg), -ENOTEMPTY);
    assert_int_equal(cg.watch_fd, -1);
    machine_done(&m);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void test_probed(void **state)
{
    struct machine m;
    struct cgroup_want w = { .slice = "system.slice" };
    struct cgroup_tree tree;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    w.mount = m.dir; /* a folder that is no cgroup file system */
    assert_int_equal(cgroup_probe(&w, &tree, &err), 0);
    assert_int_equal(tree.kind, CGROUP_NONE);
    w.plugin = "disabled";
    assert_int_equal(cgroup_probe(&w, &tree, &err), 0);
    w.plugin = "cgroup/v1";
    assert_int_equal(cgroup_probe(&w, &tree, &err), -ENOTSUP);
    assert_int_equal(strncmp(err.text, "CgroupPlugin=cgroup/v1: ", 24), 0);
    w.plugin = "autodetect";
    assert_int_equal(cgroup_probe(&w, &tree, &err), 0);
    machine_done(&m);
}

/* Controllers are asked for from the mount downwards; what the root does not list cannot be had. */
static void test_made(void **state)
{
    struct machine m;
    struct err err = { 0 };

    (void)state;
    machine_init(&m, CGROUP_V2, CGROUP_CPUSET | CGROUP_MEMORY);
    m.tree.from_mount = true;
    (void)snprintf(m.tree.root, sizeof(m.tree.root), "slice/root");
    (void)snprintf(m.tree.extra, sizeof(m.tree.extra), "io, pids");
    put_text(&m, "cgroup.subtree_control", "");
    put_text(&m, "slice/cgroup.subtree_control", "");
    put_text(&m, "slice/root/cgroup.subtree_control", "-------- memory hugetlb\n");
    assert_int_equal(cgroup_tree_make(&m.tree, &err), 0);
    assert_true(is_there(&m, "slice/root/system"));
    /* Each write starts at the front of a file: +cpuset, +memory, +io, +pids. */
    assert_text(&m, "cgroup.subtree_control", "+pidsry");
    assert_text(&m, "slice/cgroup.subtree_control", "+pidsry");
    assert_int_equal(m.tree.use, CGROUP_FREEZER | CGROUP_MEMORY);
    machine_done(&m);
}

static void test_confined(void **state)
{
    const struct cgroup_limits none = { 0 };
    struct machine m;
    struct err err = { 0 };
    char mine[16];

    (void)state;
    (void)snprintf(mine, sizeof(mine), "%d", (int)getpid());
    machine_init(&m, CGROUP_V2, 0);
    assert_int_equal(cgroup_tree_make(&m.tree, &err), 0);
    assert_int_equal(cgroup_tree_confine(&m.tree, &none, &err), -ENOENT);
    assert_string_equal(err.text, "cannot enter the cgroup system: No such file or directory");
    assert_false(m.tree.confined);
    put_text(&m, "s/system/cgroup.procs", "");
    err.text[0] = '\0';
    assert_int_equal(cgroup_tree_confine(&m.tree, &none, &err), 0);
    assert_true(m.tree.confined);
    assert_text(&m, "s/system/cgroup.procs", mine);
    machine_done(&m);
}

static bool keep_seven(void *ctx, const char *job)
{
    (void)ctx;
    return strcmp(job, "job_7") == 0;
}

/* Folders of jobs that are not known go when they are empty; other folders are not touched. */
static void test_swept(void **state)
{
    struct machine m;
    char path[CGI_PATH];

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    make_path(&m, "s/job_6/step_0/user/x", path);
    make_path(&m, "s/job_7/step_0/x", path);
    make_path(&m, "s/system/x", path);
    put_text(&m, "s/job_8/step_0/file", "");
    assert_int_equal(cgroup_tree_sweep(&m.tree, "me", keep_seven, NULL), 1);
    assert_false(is_there(&m, "s/job_6"));
    assert_true(is_there(&m, "s/job_7/step_0"));
    assert_true(is_there(&m, "s/job_8/step_0"));
    assert_true(is_there(&m, "s/system"));
    machine_done(&m);
    machine_init(&m, CGROUP_V1, 0);
    make_path(&m, "freezer/s/uid_5/job_6/step_0/x", path);
    make_path(&m, "freezer/s/uid_6/job_7/x", path);
    make_path(&m, "freezer/s/uid_7/other/x", path);
    assert_int_equal(cgroup_tree_sweep(&m.tree, NULL, keep_seven, NULL), 1);
    assert_false(is_there(&m, "freezer/s/uid_5"));
    assert_true(is_there(&m, "freezer/s/uid_6/job_7"));
    assert_true(is_there(&m, "freezer/s/uid_7/other"));
    machine_done(&m);
}

/* What a step daemon left when it was killed. */
static void test_left(void **state)
{
    struct machine m;
    char path[CGI_PATH], text[16];
    int status;
    pid_t pid;

    (void)state;
    machine_init(&m, CGROUP_V2, 0);
    assert_true(cgroup_kill_left(&m.tree, "job_9/step_0"));
    make_path(&m, "s/job_7/step_0/user/x", path);
    assert_true(cgroup_kill_left(&m.tree, "job_7/step_0"));
    assert_false(is_there(&m, "s/job_7"));
    machine_done(&m);
    machine_init(&m, CGROUP_V1, 0);
    pid = start_child();
    (void)snprintf(text, sizeof(text), "%d\n", (int)pid);
    put_text(&m, "freezer/s/uid_1/job_7/step_0/cgroup.procs", text);
    assert_false(cgroup_kill_left(&m.tree, "uid_1/job_7/step_0")); /* the file still lists it */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    machine_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_removed),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_without_cgroups),
        cmocka_unit_test(test_step_v2),
        cmocka_unit_test(test_step_v1),
        cmocka_unit_test(test_cpuset_of_parent),
        cmocka_unit_test(test_begin_fails),
        cmocka_unit_test(test_adopted),
        cmocka_unit_test(test_limits_v2),
        cmocka_unit_test(test_limits_v1),
        cmocka_unit_test(test_devices_v1),
        cmocka_unit_test(test_devices_v2),
        cmocka_unit_test(test_usage_v2),
        cmocka_unit_test(test_usage_v1),
        cmocka_unit_test(test_oom),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_watched),
        cmocka_unit_test(test_probed),
        cmocka_unit_test(test_made),
        cmocka_unit_test(test_confined),
        cmocka_unit_test(test_swept),
        cmocka_unit_test(test_left),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
