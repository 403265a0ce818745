/* bench_launch.c - what a batch job costs the node besides itself
 *
 * Starts `true` N times plainly (posix_spawn, wait) and N times as a batch step (spool entry, step
 * daemon, script, exit file, removal), one after the other, and prints the processor time of each
 * way: the difference is the price of a step.  Arguments: count, CgroupPlugin, CgroupMountpoint. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/timefmt.h"
#include "stepd/cgroup/cgroup.h"
#include "stepd/shared/ctl.h"
#include "stepd/shared/spool.h"
#include "stepd/shared/stepd_spawn.h"

#define COUNT 500

static int64_t cpu_us(void)
{
    struct rusage self, kids;

    (void)getrusage(RUSAGE_SELF, &self);
    (void)getrusage(RUSAGE_CHILDREN, &kids);
    return (self.ru_utime.tv_sec + self.ru_stime.tv_sec + kids.ru_utime.tv_sec +
            kids.ru_stime.tv_sec) *
               USEC_PER_SEC +
           self.ru_utime.tv_usec + self.ru_stime.tv_usec + kids.ru_utime.tv_usec +
           kids.ru_stime.tv_usec;
}

static void run_plain(const char *script)
{
    char *argv[] = { (char *)script, NULL };
    pid_t pid;

    if (posix_spawn(&pid, script, NULL, NULL, argv, (char *[]){ NULL }) != 0)
        exit(1);
    (void)waitpid(pid, NULL, 0);
}

static void wait_end(int ctl, pid_t pid)
{
    struct pollfd p = { .fd = ctl, .events = POLLIN };
    ProtobufCMessage *news = NULL;
    int r;

    while (poll(&p, 1, -1) > 0) {
        while ((r = ctl_recv(ctl, &pst__step_news__descriptor, &news)) > 0)
            protobuf_c_message_free_unpacked(news, NULL);
        if (r == 0)
            break;
    }
    (void)close(ctl);
    (void)waitpid(pid, NULL, 0);
}

static void run_step(const char *exe, const char *spool, const struct cgroup_tree *tree,
                     uint32_t id)
{
    static const char script[] = "#!/bin/true\n";
    Pst__CgroupPlan plan = PST__CGROUP_PLAN__INIT;
    char job_name[32];
    char dir[PATH_MAX];
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    pid_t pid;
    int ctl;

    job.has_job_id = job.has_uid = job.has_gid = true;
    job.job_id = id;
    job.uid = getuid();
    job.gid = getgid();
    job.work_dir = (char *)spool;
    job.std_out = "/dev/null";
    on.job = &job;
    on.node_name = "n1";
    sf.job = &on;
    sf.has_step_id = true;
    sf.step_id = STEP_ID_BATCH;
    (void)snprintf(job_name, sizeof(job_name), "job_%u", id);
    plan.kind = tree->kind;
    plan.mount = (char *)tree->mount;
    plan.root = (char *)tree->root;
    plan.controllers = tree->use;
    plan.from_mount = tree->from_mount;
    plan.job_name = job_name;
    sf.cgroup = &plan;
    spool_step_dir(spool, id, 1, STEP_ID_BATCH, dir, sizeof(dir));
    sf.step_dir = dir;
    if (spool_make_step(spool, id, 1, STEP_ID_BATCH) < 0 ||
        spool_write(dir, "slurm_script", script, sizeof(script) - 1, 0700, getuid(), getgid()) <
            0 ||
        stepd_spawn(exe, &sf, -1, -1, -1, &pid, &ctl) < 0)
        exit(1);
    wait_end(ctl, pid);
    if (spool_remove_job(spool, id, 1) < 0)
        exit(1);
}

static void show(const char *way, unsigned n, int64_t cpu, int64_t wall)
{
    (void)printf("{\"bench\": \"launch\", \"way\": \"%s\", \"count\": %u, \"cpu_us_each\": %.1f, "
                 "\"wall_us_each\": %.1f}\n",
                 way, n, (double)cpu / n, (double)wall / n);
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : COUNT;
    struct cgroup_want want = {
        .plugin = argc > 2 ? argv[2] : "disabled",
        .mount = argc > 3 ? argv[3] : "/sys/fs/cgroup",
        .node = "bench",
    };
    struct cgroup_tree tree;
    struct err err = { .text = "" };
    char dir[] = "/tmp/bench_launch.XXXXXX", exe[PATH_MAX] = "", script[64], *slash;
    int64_t cpu, wall;

    if (getenv("SLURMSTEPD")) {
        (void)snprintf(exe, sizeof(exe), "%s", getenv("SLURMSTEPD"));
    } else if (readlink("/proc/self/exe", exe, sizeof(exe) - 64) > 0) {
        slash = strrchr(exe, '/');
        (void)snprintf(slash, 64, "/../src/stepd/slurmstepd");
    }
    if (cgroup_probe(&want, &tree, &err) < 0 || cgroup_tree_make(&tree, &err) < 0) {
        (void)fprintf(stderr, "bench_launch: %s\n", err.text);
        return 1;
    }
    if (n == 0 || access(exe, X_OK) < 0 || !mkdtemp(dir)) {
        (void)fprintf(stderr, "bench_launch: no step daemon at %s\n", exe);
        return 1;
    }
    if (spool_write(dir, "script", "#!/bin/true\n", 12, 0700, getuid(), getgid()) < 0)
        return 1;
    (void)snprintf(script, sizeof(script), "%s/script", dir);
    cpu = cpu_us();
    wall = now_mono_us();
    for (unsigned i = 0; i < n; i++)
        run_plain(script);
    show("plain", n, cpu_us() - cpu, now_mono_us() - wall);
    cpu = cpu_us();
    wall = now_mono_us();
    for (unsigned i = 0; i < n; i++)
        run_step(exe, dir, &tree, i + 1);
    cgroup_tree_leave(&tree);
    show(want.plugin, n, cpu_us() - cpu, now_mono_us() - wall);
    (void)unlink(script);
    (void)rmdir(dir);
    return 0;
}
