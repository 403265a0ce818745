/* cgsweep.c - remove cgroups of jobs that slurmd no longer knows; see cgroup.h */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "stepd/cgroup/cgroup_int.h"

struct sweep {
    const struct cgroup_tree *tree;
    const char *owner;
    cgroup_keep_fn *keep;
    void *ctx;
    char user[64]; /* "uid_7" of version 1 */
    size_t n;
};

static void sweep_job(void *ctx, const char *name)
{
    struct sweep *s = ctx;
    char rel[CGROUP_PATH / 2], path[CGI_PATH];

    if (strncmp(name, "job_", 4) != 0 || (s->keep && s->keep(s->ctx, name)) ||
        snprintf(rel, sizeof(rel), "%s%s%s", s->user, *s->user ? "/" : "", name) >=
            (int)sizeof(rel) ||
        cgi_path(s->tree, CGROUP_FREEZER, rel, NULL, path) < 0)
        return;
    if (cgi_marked(path, s->owner) && !cgroup_kill_left(s->tree, rel))
        return;
    if (cgi_remove_all(s->tree, rel) == 0)
        s->n++;
}

static void sweep_user(void *ctx, const char *name)
{
    struct sweep *s = ctx;
    char path[CGI_PATH];

    if (strncmp(name, "uid_", 4) != 0 || strlen(name) >= sizeof(s->user) ||
        cgi_path(s->tree, CGROUP_FREEZER, name, NULL, path) < 0)
        return;
    (void)snprintf(s->user, sizeof(s->user), "%s", name);
    cgi_each_dir(path, sweep_job, s);
    (void)cgi_rmdir_all(s->tree, name); /* when it was the last job */
}

size_t cgroup_tree_sweep(const struct cgroup_tree *tree, const char *owner, cgroup_keep_fn *keep,
                         void *ctx)
{
    struct sweep s = { .tree = tree, .owner = owner, .keep = keep, .ctx = ctx };
    char path[CGI_PATH];

    if (tree->kind != CGROUP_NONE && cgi_path(tree, CGROUP_FREEZER, NULL, NULL, path) == 0)
        cgi_each_dir(path, tree->kind == CGROUP_V2 ? sweep_job : sweep_user, &s);
    return s.n;
}
