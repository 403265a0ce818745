/* cgfile.c - paths, files and folders of cgroups; see cgroup_int.h
 *
 * No state.  A cgroup file takes one write(2) whole and answers with its errno. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/cgroup/cgroup_int.h"

#define FILE_SIZE 4096
#define DEPTH_MAX 16 /* of folders that users made themselves in a delegated subtree */

const struct cgi_ctrl cgi_ctrls[CGROUP_CTRLS] = {
    { CGROUP_FREEZER, "freezer" }, { CGROUP_CPUSET, "cpuset" },   { CGROUP_MEMORY, "memory" },
    { CGROUP_DEVICES, "devices" }, { CGROUP_CPUACCT, "cpuacct" },
};

static const char *ctrl_name(enum cgroup_ctrl ctrl)
{
    for (size_t i = 0; i < CGROUP_CTRLS; i++)
        if (cgi_ctrls[i].bit == ctrl)
            return cgi_ctrls[i].name;
    return "";
}

int cgi_path(const struct cgroup_tree *tree, enum cgroup_ctrl ctrl, const char *rel,
             const char *file, char buf[static CGI_PATH])
{
    bool v1 = tree->kind == CGROUP_V1;
    int n = snprintf(buf, CGI_PATH, "%s%s%s/%s%s%s%s%s", tree->mount, v1 ? "/" : "",
                     v1 ? ctrl_name(ctrl) : "", tree->root, rel && *rel ? "/" : "", rel ? rel : "",
                     file ? "/" : "", file ? file : "");

    return n < 0 || n >= CGI_PATH ? -ENAMETOOLONG : 0;
}

int cgi_task(const struct cgroup *cg, uint32_t task, char buf[static CGI_PATH])
{
    const char *user = cg->tree.kind == CGROUP_V2 ? "/user" : "";
    int n;

    if (task == CGROUP_STEP)
        n = snprintf(buf, CGI_PATH, "%s%s", cg->step, user);
    else if (task == CGROUP_SPECIAL)
        n = snprintf(buf, CGI_PATH, "%s%s/task_special", cg->step, user);
    else
        n = snprintf(buf, CGI_PATH, "%s%s/task_%" PRIu32, cg->step, user, task);
    return n < 0 || n >= CGI_PATH ? -ENAMETOOLONG : 0;
}

int cgi_write(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);

    if (fd < 0)
        return -errno;
    return write(fd, text, len) == (ssize_t)len ? 0 : -errno;
}

int cgi_read(const char *path, char *buf, size_t size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    buf[0] = '\0';
    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        return -errno;
    buf[n] = '\0';
    return 0;
}

int cgi_number(const char *path, const char *key, uint64_t *ret)
{
    char text[FILE_SIZE];
    size_t len = key ? strlen(key) : 0;
    int r = cgi_read(path, text, sizeof(text));

    if (r < 0)
        return r;
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (key && (strncmp(line, key, len) != 0 || line[len] != ' '))
            continue;
        return sscanf(line + (key ? len + 1 : 0), "%" SCNu64, ret) == 1 ? 0 : -EBADMSG;
    }
    return -ENOENT;
}

int cgi_put(const struct cgroup_tree *tree, enum cgroup_ctrl ctrl, const char *rel,
            const char *file, const char *text)
{
    char path[CGI_PATH];
    int r = cgi_path(tree, ctrl, rel, file, path);

    return r < 0 ? r : cgi_write(path, text);
}

int cgi_get(const struct cgroup_tree *tree, enum cgroup_ctrl ctrl, const char *rel,
            const char *file, const char *key, uint64_t *ret)
{
    char path[CGI_PATH];
    int r = cgi_path(tree, ctrl, rel, file, path);

    return r < 0 ? r : cgi_number(path, key, ret);
}

/* ---- folders --------------------------------------------------------------------------------- */

void cgi_each_dir(const char *dir, cgi_dir_fn *fn, void *ctx)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    if (!d)
        return;
    while ((e = readdir(d)))
        if (e->d_type == DT_DIR && e->d_name[0] != '.')
            fn(ctx, e->d_name);
    (void)closedir(d);
}

struct walk {
    const char *dir;
    unsigned depth;
    int r, sig, wait_ms;
    size_t n;
};

static void remove_below(struct walk *w);

static void remove_one(void *ctx, const char *name)
{
    const struct walk *w = ctx;
    char path[CGI_PATH];
    struct walk sub = { .dir = path, .depth = w->depth + 1 };

    if (snprintf(path, sizeof(path), "%s/%s", w->dir, name) < (int)sizeof(path))
        remove_below(&sub);
}

/* rmdir first: most are empty. */
static void remove_below(struct walk *w)
{
    if (rmdir(w->dir) == 0 || errno == ENOENT)
        return;
    if (w->depth < DEPTH_MAX)
        cgi_each_dir(w->dir, remove_one, w);
    w->r = rmdir(w->dir) < 0 && errno != ENOENT ? -errno : 0;
}

int cgi_remove(const char *dir)
{
    struct walk w = { .dir = dir };

    remove_below(&w);
    return w.r;
}

/* A process is readable when it has left all that it was in. */
static void wait_for(pid_t pid, int timeout_ms)
{
    _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = { .fd = fd, .events = POLLIN };

    if (fd >= 0)
        (void)poll(&p, 1, timeout_ms); /* the caller looks whether it was enough */
}

static void signal_here(struct walk *w)
{
    char path[CGI_PATH];
    _cleanup_fclose_ FILE *f = NULL;
    int pid;

    if (snprintf(path, sizeof(path), "%s/cgroup.procs", w->dir) >= (int)sizeof(path))
        return;
    f = fopen(path, "re");
    while (f && fscanf(f, "%d", &pid) == 1) {
        if (pid <= 0 || pid == getpid())
            continue;
        w->n++;
        if (w->sig)
            (void)kill(pid, w->sig); /* it may have ended meanwhile */
        if (w->wait_ms)
            wait_for(pid, w->wait_ms);
    }
}

static void signal_one(void *ctx, const char *name)
{
    struct walk *w = ctx;
    char path[CGI_PATH];
    struct walk sub = { .dir = path, .depth = w->depth + 1, .sig = w->sig, .wait_ms = w->wait_ms };

    if (snprintf(path, sizeof(path), "%s/%s", w->dir, name) >= (int)sizeof(path))
        return;
    signal_here(&sub);
    if (sub.depth < DEPTH_MAX)
        cgi_each_dir(path, signal_one, &sub);
    w->n += sub.n;
}

size_t cgi_signal(const char *dir, int sig)
{
    struct walk w = { .dir = dir, .sig = sig };

    signal_here(&w);
    cgi_each_dir(dir, signal_one, &w);
    return w.n;
}

void cgi_wait(const char *dir, int timeout_ms)
{
    struct walk w = { .dir = dir, .wait_ms = timeout_ms };

    signal_here(&w);
    cgi_each_dir(dir, signal_one, &w);
}
