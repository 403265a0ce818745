/* cgroup.h - the cgroup tree of a node: jobs, their steps and tasks; limits, counters, events,
 * the end
 *
 *   version 2:  ROOT/job_N/step_M/user/task_R       ROOT = MOUNT/SLICE/[NODE_]slurmstepd.scope
 *   version 1:  ROOT/uid_U/job_N/step_M/task_R      ROOT = MOUNT/CONTROLLER/slurm[_NODE], for
 *   each controller
 *
 * task_special holds the processes of the step that belong to no task; ROOT/system is slurmd's own.
 * Processes are in the leaves only.  slurmd finds and makes the root; step daemons make and remove
 * the folders below.  Without cgroups (CGROUP_NONE) every function can be called and does
 * nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_PATH 512
/* in place of a task's number: processes of the step that are of no task */
#define CGROUP_SPECIAL UINT32_MAX

struct err;

enum cgroup_kind {
    CGROUP_NONE,
    CGROUP_V1,
    CGROUP_V2,
};
/* Controllers, as bits.  Devices and freezing need none with version 2. */
enum cgroup_ctrl {
    CGROUP_FREEZER = 1,
    CGROUP_CPUSET = 2,
    CGROUP_MEMORY = 4,
    CGROUP_DEVICES = 8,
    CGROUP_CPUACCT = 16,
};
#define CGROUP_CTRLS 5

/* ---- the tree (slurmd) ----------------------------------------------------------------------- */

struct cgroup_tree {
    enum cgroup_kind kind;
    char mount[CGROUP_PATH / 4];
    char root[CGROUP_PATH / 4];  /* below the mount, or below each controller's folder */
    char extra[CGROUP_PATH / 4]; /* further controllers of version 2, "io pids" */
    unsigned use;                /* bits of what is turned on */
    /* true: this daemon may manage every cgroup from the mount downwards; false: another program
     * (systemd) manages the root */
    bool from_mount;
    bool confined; /* see cgroup_tree_confine() */
    /* with it: the file that leads back where the process came from */
    char home[CGROUP_CTRLS][CGROUP_PATH / 2];
};

struct cgroup_want {
    const char *plugin; /* CgroupPlugin; NULL = autodetect */
    const char *mount, *slice;
    const char *node;  /* NULL: the only node of this machine */
    const char *extra; /* EnableExtraControllers, or NULL */
    unsigned use;      /* controllers that something is to be limited or counted by */
};
/* Which tree there can be; makes nothing.  0 also with CGROUP_NONE.  Errors: -ENOTSUP a named
 * version is not mounted, or may not be written. */
int cgroup_probe(const struct cgroup_want *want, struct cgroup_tree *ret_tree, struct err *err);
/* "cgroup/v2", "cgroup/v1", "disabled". */
const char *cgroup_kind_name(enum cgroup_kind kind);
/* Make the root and ROOT/system and turn the controllers on, from the mount downwards where that
 * is ours. Controllers that cannot be had are taken out of tree->use: compare. */
int cgroup_tree_make(struct cgroup_tree *tree, struct err *err);
/* Remove the folders of jobs that are over.  owner: the same that the steps were begun with.  A
 * folder of this owner whose job is not kept is removed after its processes are killed; a folder of
 * another owner only when it is empty.  keep: is the job ("job_7") still known?  Returns how many
 * folders were removed. */
typedef bool cgroup_keep_fn(void *ctx, const char *job);
size_t cgroup_tree_sweep(const struct cgroup_tree *tree, const char *owner, cgroup_keep_fn *keep,
                         void *ctx);
struct cgroup_limits;
/* Move the calling process into ROOT/system.  Processes that it starts later are born there too,
 * unless they are started in another cgroup. */
int cgroup_tree_confine(struct cgroup_tree *tree, const struct cgroup_limits *limits,
                        struct err *err);
/* slurmd ends, or a step daemon that is confined with it: go back where it came from, remove
 * ROOT/system, and the root when no step is left. */
void cgroup_tree_leave(const struct cgroup_tree *tree);

/* ---- a step's part --------------------------------------------------------------------------- */

struct cgroup_device {
    bool block;
    uint32_t major, minor;
};
struct cgroup_limits { /* 0 and NULL: no limit */
    const char *cpus;  /* "0-3,8" in the kernel's numbers */
    /* bytes; swap_max is of swap alone and counts when has_swap */
    uint64_t ram_max, ram_high, swap_max;
    bool has_swap, has_swappiness;
    uint32_t swappiness;              /* version 1 */
    const struct cgroup_device *deny; /* devices that it may not use; all others it may */
    size_t n_deny;
};

struct cgroup {
    struct cgroup_tree tree;
    char step[CGROUP_PATH / 2]; /* below the root: "job_7/step_0"; "" none */
    int watch_fd;               /* see cgroup_watch(); -1 none */
};
struct cgroup_step {
    const char *owner; /* whose jobs these are: the slurmd's spool directory */
    const char *job;   /* "job_7" */
    const char *step;  /* "0", "batch" */
    uid_t uid;
    struct cgroup_limits job_limits, step_limits;
};
/* Make the folders of a step with their limits.  Errors leave cg->tree.kind == CGROUP_NONE, no
 * folder, and say what failed in err. */
int cgroup_begin(struct cgroup *cg, const struct cgroup_tree *tree, const struct cgroup_step *step,
                 struct err *err);
/* The memory that a job ("job_7") may use, changed while it runs: what of limits concerns it. */
int cgroup_job_memory(const struct cgroup_tree *tree, const char *job, uid_t uid,
                      const struct cgroup_limits *limits, struct err *err);
/* A task's folder (or CGROUP_SPECIAL's), made when it is not there.  deny: further devices for
 * this task. */
int cgroup_task(const struct cgroup *cg, uint32_t task, const struct cgroup_device *deny,
                size_t n_deny);
/* Descriptors for a process that is to belong to the task: version 2 a folder for
 * CLONE_INTO_CGROUP (or to write into its cgroup.procs), version 1 files into which it writes
 * "0".  Returns how many, 0 with none. */
int cgroup_task_open(const struct cgroup *cg, uint32_t task, int fds[CGROUP_CTRLS]);
/* Move a process there (pam_slurm_adopt).  Its threads come along. */
int cgroup_adopt(const struct cgroup *cg, uint32_t task, pid_t pid);

/* Signal all processes of the step.  SIGKILL is complete: processes that are forked meanwhile die
 * as well.  Returns how many processes were found. */
size_t cgroup_signal(const struct cgroup *cg, int sig);
/* Stop all processes of the step (on), also those being forked, or let them go on.  Stopped
 * processes can be killed. */
int cgroup_suspend(const struct cgroup *cg, bool on);
/* Is a process left in the step, or in one task of it?  Zombies do not count with version 2. */
bool cgroup_populated(const struct cgroup *cg);
bool cgroup_task_populated(const struct cgroup *cg, uint32_t task);

struct cgroup_usage {
    uint64_t user_us, sys_us;
    uint64_t mem_bytes, mem_peak_bytes; /* 0: not counted */
    uint64_t own_bytes;                 /* of mem_bytes: without files, whether cached or shared */
};
/* Of a task; CGROUP_SPECIAL - 1: of the step.  -ENOENT: nothing counts here. */
#define CGROUP_STEP (UINT32_MAX - 1)
int cgroup_usage(const struct cgroup *cg, uint32_t task, struct cgroup_usage *ret_usage);
/* How many processes the kernel has killed for want of memory. */
uint64_t cgroup_oom_kills(const struct cgroup *cg, uint32_t task);
/* From now on, when the kernel kills one process of the step for want of memory, it kills all of
 * them (version 2). */
int cgroup_oom_group(const struct cgroup *cg);

/* Version 2: cg->watch_fd becomes readable when the task (CGROUP_STEP: the step) gets its first
 * process or loses its last.  -ENOTSUP with version 1. */
int cgroup_watch(struct cgroup *cg, uint32_t task);
void cgroup_watch_drain(const struct cgroup *cg);

/* The step is over: remove its folders, and the job's when it was the last.  -EBUSY: processes
 * are left. */
int cgroup_end(struct cgroup *cg);

/* After a step daemon was killed: kill what lives in its step (cg->step, as it wrote it down).
 * True when nothing is left and the folders are gone. */
bool cgroup_kill_left(const struct cgroup_tree *tree, const char *step);
