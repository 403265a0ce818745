/* cgtree.c - the node's tree: which there can be, its root, what others left; see cgroup.h
 *
 * Version 2 allows processes in leaves only, once controllers are on.  Where the mount is itself
 * a cgroup with processes in it (a container's), these are moved into a leaf beside ours; the
 * machine's own root needs no such thing.  ROOT/system keeps the root while slurmd lives, so
 * that no step's end takes it away under another's beginning. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "stepd/cgroup/cgroup_int.h"

#define CGROUP2_MAGIC 0x63677270
#define CGROUP1_MAGIC 0x27e0eb
#define OWNER_XATTR "trusted.penstock.owner"
#define PID_TEXT 16

const char *cgroup_kind_name(enum cgroup_kind kind)
{
    static const char *const names[] = {
        [CGROUP_NONE] = "disabled",
        [CGROUP_V1] = "cgroup/v1",
        [CGROUP_V2] = "cgroup/v2",
    };

    return names[kind];
}

/* ---- what there can be ----------------------------------------------------------------------- */

static bool writable_fs(const char *path, long magic)
{
    struct statfs sfs;

    return statfs(path, &sfs) == 0 && (long)sfs.f_type == magic && !(sfs.f_flags & ST_RDONLY) &&
           access(path, W_OK) == 0;
}

static bool format_fits(char *buf, size_t size, const char *fmt, const char *a, const char *b,
                        const char *c)
{
    int n = snprintf(buf, size, fmt, a, b, c);

    return n >= 0 && n < (int)size;
}

static bool probe_v2(const struct cgroup_want *w, struct cgroup_tree *t)
{
    if (!writable_fs(w->mount, CGROUP2_MAGIC))
        return false;
    t->kind = CGROUP_V2;
    return format_fits(t->mount, sizeof(t->mount), "%s%s%s", w->mount, "", "") &&
           format_fits(t->extra, sizeof(t->extra), "%s%s%s", w->extra ? w->extra : "", "", "") &&
           format_fits(
               t->root, sizeof(t->root), w->node ? "%s/%s_%sstepd.scope" : "%s/%s%sstepd.scope",
               w->slice && *w->slice ? w->slice : "system.slice", w->node ? w->node : "", "slurm");
}

/* Each controller is a hierarchy of its own; any but the freezer may be missing. */
static bool probe_v1(const struct cgroup_want *w, struct cgroup_tree *t)
{
    char path[CGI_PATH];

    for (size_t i = 0; i < CGROUP_CTRLS; i++)
        if (!format_fits(path, sizeof(path), "%s/%s%s", w->mount, cgi_ctrls[i].name, "") ||
            !writable_fs(path, CGROUP1_MAGIC))
            t->use &= ~(unsigned)cgi_ctrls[i].bit;
    if (!(t->use & CGROUP_FREEZER))
        return false;
    t->kind = CGROUP_V1;
    return format_fits(t->mount, sizeof(t->mount), "%s%s%s", w->mount, "", "") &&
           format_fits(t->root, sizeof(t->root), "slurm%s%s%s", w->node ? "_" : "",
                       w->node ? w->node : "", "");
}

int cgroup_probe(const struct cgroup_want *w, struct cgroup_tree *ret_tree, struct err *err)
{
    static const char *const versions[] = { "cgroup/v2", "cgroup/v1" };
    const char *plugin = w->plugin && strcmp(w->plugin, "autodetect") != 0 ? w->plugin : NULL;

    *ret_tree = (struct cgroup_tree){ .kind = CGROUP_NONE };
    if (plugin && strcmp(plugin, "disabled") == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct cgroup_tree t = { .use = w->use | CGROUP_FREEZER, .from_mount = true };

        if (plugin && strcmp(plugin, versions[i]) != 0)
            continue;
        if (i == 0 ? probe_v2(w, &t) : probe_v1(w, &t)) {
            *ret_tree = t;
            return 0;
        }
    }
    if (!plugin)
        return 0;
    return err_set(
        err, -ENOTSUP,
        "CgroupPlugin=%s: there is no such cgroup file system below %s that slurmd may write",
        plugin, w->mount);
}

/* ---- the root -------------------------------------------------------------------------------- */

static int make_dir(const char *path)
{
    return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int turn_on(const char *dir, const char *name)
{
    char path[CGI_PATH], text[64];

    if (snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir) >= (int)sizeof(path) ||
        snprintf(text, sizeof(text), "+%s", name) >= (int)sizeof(text))
        return -ENAMETOOLONG;
    return cgi_write(path, text);
}

int cgi_enable(const struct cgroup_tree *tree, const char *dir)
{
    char names[sizeof(tree->extra)], *at = names, *word;
    int r = 0, one;

    for (size_t i = 0; i < CGROUP_CTRLS; i++) {
        if (!(tree->use & CGI_V2_CTRLS & cgi_ctrls[i].bit))
            continue;
        one = turn_on(dir, cgi_ctrls[i].name);
        r = one < 0 ? one : r;
    }
    (void)snprintf(names, sizeof(names), "%s", tree->extra);
    while ((word = strsep(&at, ", ")))
        if (*word)
            (void)turn_on(dir, word); /* extra: nothing depends on them */
    return r;
}

/* Move the processes of a container's root into a leaf.  Kernel threads and what ends meanwhile
 * refuse. */
static int empty_cgroup(const char *dir)
{
    char leaf[CGI_PATH], from[CGI_PATH], to[CGI_PATH];
    _cleanup_fclose_ FILE *f = NULL;
    int pid, r;

    if (!format_fits(leaf, sizeof(leaf), "%s/%s%s", dir, "slurm_init", "") ||
        !format_fits(to, sizeof(to), "%s/%s%s", leaf, "cgroup.procs", "") ||
        !format_fits(from, sizeof(from), "%s/%s%s", dir, "cgroup.procs", ""))
        return -ENAMETOOLONG;
    r = make_dir(leaf);
    if (r < 0)
        return r;
    f = fopen(from, "re");
    while (f && fscanf(f, "%d", &pid) == 1) {
        char text[PID_TEXT];

        (void)snprintf(text, sizeof(text), "%d", pid);
        (void)cgi_write(to, text);
    }
    return 0;
}

static int enable_level(struct cgroup_tree *tree, const char *dir)
{
    int r = cgi_enable(tree, dir);

    if (r != -EBUSY)
        return r;
    r = empty_cgroup(dir);
    return r < 0 ? r : cgi_enable(tree, dir);
}

/* What of the wanted controllers the root has to give. */
static void check_controllers(struct cgroup_tree *tree, const char *root)
{
    char path[CGI_PATH], text[512], padded[540], word[32];

    if (snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root) >= (int)sizeof(path) ||
        cgi_read(path, text, sizeof(text)) < 0)
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    (void)snprintf(padded, sizeof(padded), " %s ", text);
    for (size_t i = 0; i < CGROUP_CTRLS; i++) {
        (void)snprintf(word, sizeof(word), " %s ", cgi_ctrls[i].name);
        if ((cgi_ctrls[i].bit & CGI_V2_CTRLS) && !strstr(padded, word))
            tree->use &= ~(unsigned)cgi_ctrls[i].bit;
    }
}

static int make_v2(struct cgroup_tree *tree)
{
    char path[CGI_PATH];
    size_t from = strlen(tree->mount);
    int r = cgi_path(tree, 0, NULL, NULL, path);

    for (char *p = path + from; r == 0 && *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (tree->from_mount && p > path + from)
            r = make_dir(path);
        if (r == 0 && tree->from_mount)
            (void)enable_level(tree, path); /* check_controllers() tells what came of it */
        *p = '/';
    }
    if (r == 0)
        r = make_dir(path);
    if (r == 0)
        (void)enable_level(tree, path); /* as above */
    if (r == 0)
        check_controllers(tree, path);
    return r;
}

/* CPUs and memory nodes have to be there before a process can be; the parent's are the most
 * there can be. */
static int seed_cpuset(const struct cgroup_tree *tree, const char *rel)
{
    static const char *const files[] = { "cpuset.mems", "cpuset.cpus" };
    char path[CGI_PATH], dir[CGI_PATH], text[512];
    int r = cgi_path(tree, CGROUP_CPUSET, rel, NULL, dir);

    *strrchr(dir, '/') = '\0';

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++) {
        r = cgi_path(tree, CGROUP_CPUSET, rel, files[i], path);
        if (r == 0)
            r = cgi_read(path, text, sizeof(text));
        if (r < 0 || (text[0] && text[0] != '\n'))
            continue;
        r = format_fits(path, sizeof(path), "%s/%s%s", dir, files[i], "")
                ? cgi_read(path, text, sizeof(text))
                : -ENAMETOOLONG;
        if (r == 0)
            r = cgi_put(tree, CGROUP_CPUSET, rel, files[i], text);
    }
    return r;
}

/* One folder in each hierarchy. */
static int make_v1(const struct cgroup_tree *tree, const char *rel)
{
    char path[CGI_PATH];
    int r = 0;

    for (size_t i = 0; r == 0 && i < CGROUP_CTRLS; i++) {
        if (!(tree->use & cgi_ctrls[i].bit))
            continue;
        r = cgi_path(tree, cgi_ctrls[i].bit, rel, NULL, path);
        if (r == 0)
            r = make_dir(path);
        if (r == 0 && cgi_ctrls[i].bit == CGROUP_CPUSET)
            r = seed_cpuset(tree, rel);
    }
    return r;
}

int cgi_make(const struct cgroup_tree *tree, const char *rel)
{
    char path[CGI_PATH];
    int r;

    if (tree->kind == CGROUP_V1)
        return make_v1(tree, rel);
    r = cgi_path(tree, 0, rel, NULL, path);
    return r < 0 ? r : make_dir(path);
}

int cgroup_tree_make(struct cgroup_tree *tree, struct err *err)
{
    char path[CGI_PATH] = "";
    int r;

    if (tree->kind == CGROUP_NONE)
        return 0;
    r = tree->kind == CGROUP_V2 ? make_v2(tree) : make_v1(tree, NULL);
    if (r == 0)
        r = cgi_make(tree, "system");
    (void)cgi_path(tree, CGROUP_FREEZER, NULL, NULL, path);
    return r < 0 ? err_set(err, r, "cannot make the cgroup %s: %s", path, strerror(-r)) : 0;
}

/* ---- daemons that stay in ROOT/system -------------------------------------------------------- */

/* "3:cpuset:/a" of version 1, "0::/a" of version 2. */
static bool is_about(const char *line, const struct cgroup_tree *tree, const char *name)
{
    const char *list = strchr(line, ':');
    size_t len = strlen(name);

    if (!list || tree->kind == CGROUP_V2)
        return list && strncmp(line, "0::", 3) == 0;
    for (const char *p = list + 1; *p && *p != ':'; p += strcspn(p, ",:"), p += *p == ',')
        if (strncmp(p, name, len) == 0 && (p[len] == ',' || p[len] == ':'))
            return true;
    return false;
}

/* The path of cgroup.procs of the cgroup that we are in. */
static int find_home(const struct cgroup_tree *tree, const char *name, char *buf, size_t size)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
    char line[CGI_PATH];

    while (f && fgets(line, sizeof(line), f)) {
        const char *path = strchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        if (!path || !is_about(line, tree, name))
            continue;
        return snprintf(buf, size, "%s%s%s%s/cgroup.procs", tree->mount,
                        tree->kind == CGROUP_V2 ? "" : "/", tree->kind == CGROUP_V2 ? "" : name,
                        path[1] ? path : "") < (int)size
                   ? 0
                   : -ENAMETOOLONG;
    }
    return -ENOENT;
}

int cgroup_tree_confine(struct cgroup_tree *tree, const struct cgroup_limits *limits,
                        struct err *err)
{
    char pid[PID_TEXT];
    int r = cgi_limit(tree, "system", limits, err);

    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    for (size_t i = 0; r == 0 && i < CGROUP_CTRLS; i++) {
        if (!(tree->use & cgi_ctrls[i].bit))
            continue;
        (void)find_home(tree, cgi_ctrls[i].name, tree->home[i],
                        sizeof(tree->home[i])); /* "": stays to the end */
        r = cgi_put(tree, cgi_ctrls[i].bit, "system", "cgroup.procs", pid);
        tree->confined = tree->confined || r == 0;
        if (tree->kind == CGROUP_V2)
            break;
    }
    return r < 0 && !err->text[0]
               ? err_set(err, r, "cannot enter the cgroup system: %s", strerror(-r))
               : r;
}

/* ---- what others left ------------------------------------------------------------------------ */

/* Call fn with the path of rel in each hierarchy. */
static int each_hierarchy(const struct cgroup_tree *tree, const char *rel,
                          int (*fn)(const char *path))
{
    char path[CGI_PATH];
    int r = 0, one;

    for (size_t i = 0; i < CGROUP_CTRLS; i++) {
        if (!(tree->use & cgi_ctrls[i].bit) ||
            cgi_path(tree, cgi_ctrls[i].bit, rel, NULL, path) < 0)
            continue;
        one = fn(path);
        r = one < 0 ? one : r;
        if (tree->kind == CGROUP_V2)
            return r;
    }
    return r;
}

int cgi_remove_all(const struct cgroup_tree *tree, const char *rel)
{
    return each_hierarchy(tree, rel, cgi_remove);
}

static int remove_one(const char *path)
{
    return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

int cgi_rmdir_all(const struct cgroup_tree *tree, const char *rel)
{
    return each_hierarchy(tree, rel, remove_one);
}

void cgi_mark(const struct cgroup_tree *tree, const char *rel, const char *owner)
{
    char path[CGI_PATH];

    if (owner && cgi_path(tree, CGROUP_FREEZER, rel, NULL, path) == 0)
        /* without it, only what is empty is removed */
        (void)setxattr(path, OWNER_XATTR, owner, strlen(owner), 0);
}

bool cgi_marked(const char *path, const char *owner)
{
    char text[CGI_PATH];
    ssize_t n = getxattr(path, OWNER_XATTR, text, sizeof(text));

    return owner && n == (ssize_t)strlen(owner) && memcmp(text, owner, (size_t)n) == 0;
}

void cgroup_tree_leave(const struct cgroup_tree *tree)
{
    if (tree->kind == CGROUP_NONE)
        return;
    for (size_t i = 0; tree->confined && i < CGROUP_CTRLS; i++)
        if (tree->home[i][0])
            (void)cgi_write(tree->home[i], "0"); /* it may have gone: then the folder stays */
    (void)cgi_rmdir_all(tree, "system");         /* the last step takes what cannot go yet */
    if (tree->from_mount)
        (void)cgi_rmdir_all(tree, NULL);
}
