/* proctrack.c - see proctrack.h
 *
 * Owns the choice between cgroups and the subreaper's walk.  Even with a cgroup the step daemon is
 * a subreaper, so "no child left" is known from wait(2) alone and no directory is polled.  The
 * version 1 hierarchy is joined through `tasks`: moving oneself by that file takes no lock across
 * the machine, which through cgroup.procs costs milliseconds. */
#include "stepd/proctrack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/procscan.h"

#define CGROUP2_MAGIC 0x63677270
#define CGROUP1_MAGIC 0x27e0eb

static bool is_fs(const char *path, long magic)
{
    struct statfs sfs;

    return statfs(path, &sfs) == 0 && (long)sfs.f_type == magic && access(path, W_OK) == 0;
}

const char *proctrack_kind_name(enum proctrack_kind kind)
{
    static const char *const names[] = {
        [PROCTRACK_TREE] = "subreaper",
        [PROCTRACK_CGROUP1] = "cgroup/v1",
        [PROCTRACK_CGROUP2] = "cgroup/v2",
    };

    return names[kind];
}

void proctrack_probe(const char *type, const char *mount, const char *slice,
                     struct proctrack_mode *ret)
{
    char path[PROCTRACK_PATH];

    *ret = (struct proctrack_mode){ .kind = PROCTRACK_TREE };
    if (type && strcmp(type, "proctrack/cgroup") != 0)
        return;
    if (!mount || strlen(mount) > 128 || (slice && strlen(slice) > 64))
        return;
    if (is_fs(mount, CGROUP2_MAGIC)) {
        (void)snprintf(path, sizeof(path), "%s/%s", mount, slice ? slice : "system.slice");
        ret->kind = PROCTRACK_CGROUP2;
        (void)snprintf(ret->root, sizeof(ret->root), "%s", access(path, W_OK) == 0 ? path : mount);
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/freezer", mount);
    if (is_fs(path, CGROUP1_MAGIC)) {
        ret->kind = PROCTRACK_CGROUP1;
        (void)snprintf(ret->root, sizeof(ret->root), "%s", path);
    }
}

static bool make_path(char *path, size_t from)
{
    for (char *p = path + from; *p; p++) {
        if (*p != '/' || p == path)
            continue;
        *p = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return false;
        *p = '/';
    }
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

void proctrack_begin(struct proctrack *pt, const struct proctrack_mode *mode, const char *node,
                     uint32_t job_id, const char *step_name)
{
    char dir[PROCTRACK_PATH], file[PROCTRACK_PATH + 16];
    int n;

    *pt = (struct proctrack){ .kind = PROCTRACK_TREE, .join_fd = -1 };
    if (mode->kind == PROCTRACK_TREE)
        return;
    n = snprintf(dir, sizeof(dir), "%s/%s_slurmstepd.scope/job_%u/step_%s/user", mode->root, node,
                 job_id, step_name);
    /* A sibling step that just ended may remove the parents under our hands: once more then. */
    if (n >= (int)sizeof(dir) ||
        (!make_path(dir, strlen(mode->root) + 1) && !make_path(dir, strlen(mode->root) + 1)))
        return;
    (void)snprintf(file, sizeof(file), "%s/%s", dir,
                   mode->kind == PROCTRACK_CGROUP1 ? "tasks" : "cgroup.procs");
    pt->join_fd = open(file, O_WRONLY | O_CLOEXEC);
    if (pt->join_fd < 0) {
        cgroup_remove_dir(dir);
        return;
    }
    pt->kind = mode->kind;
    (void)snprintf(pt->dir, sizeof(pt->dir), "%s", dir);
}

size_t proctrack_signal(const struct proctrack *pt, int sig)
{
    if (pt->kind != PROCTRACK_TREE)
        return cgroup_signal_dir(pt->dir, sig);
    return proc_signal_tree(getpid(), sig);
}

void proctrack_end(struct proctrack *pt)
{
    if (pt->join_fd >= 0)
        (void)close(pt->join_fd); /* nothing was written through it here */
    pt->join_fd = -1;
    if (pt->dir[0])
        cgroup_remove_dir(pt->dir);
    pt->dir[0] = '\0';
}
