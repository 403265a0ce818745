/* cgroup_int.h - what the parts of cgroup.h share: paths and small files */
#pragma once

#include "stepd/cgroup/cgroup.h"

#define CGI_PATH (2 * CGROUP_PATH)

extern const struct cgi_ctrl {
    enum cgroup_ctrl bit;
    const char *name; /* as both versions spell it */
} cgi_ctrls[CGROUP_CTRLS];
/* The controllers of version 2 that have to be turned on for `use`. */
#define CGI_V2_CTRLS (CGROUP_CPUSET | CGROUP_MEMORY)

/* ROOT[/rel][/file].  -ENAMETOOLONG. */
int cgi_path(const struct cgroup_tree *tree, enum cgroup_ctrl ctrl, const char *rel,
             const char *file, char buf[static CGI_PATH]);
/* The part of a step below the root: the step itself (CGROUP_STEP), or a task's folder. */
int cgi_task(const struct cgroup *cg, uint32_t task, char buf[static CGI_PATH]);
/* A whole small file.  Negative errno. */
int cgi_write(const char *path, const char *text);
int cgi_read(const char *path, char *buf, size_t size);
/* The number behind `key ` in a file of lines, or of the whole file with key NULL. */
int cgi_number(const char *path, const char *key, uint64_t *ret);
/* write and read by tree, place and name. */
int cgi_put(const struct cgroup_tree *tree, enum cgroup_ctrl ctrl, const char *rel,
            const char *file, const char *text);
int cgi_get(const struct cgroup_tree *tree, enum cgroup_ctrl ctrl, const char *rel,
            const char *file, const char *key, uint64_t *ret);
/* Call fn with the name of each folder in dir. */
typedef void cgi_dir_fn(void *ctx, const char *name);
void cgi_each_dir(const char *dir, cgi_dir_fn *fn, void *ctx);
/* Remove the folder and all in it: -EBUSY when there are processes, -ENOENT is no error. */
int cgi_remove(const char *dir);
/* Signal what is in dir and all below it.  Returns how many. */
size_t cgi_signal(const char *dir, int sig);
/* Wait until the processes that are in dir and below now have ended, timeout_ms each at most. */
void cgi_wait(const char *dir, int timeout_ms);
/* Turn the wanted controllers on for the folders in dir (version 2). */
int cgi_enable(const struct cgroup_tree *tree, const char *dir);

/* cgtree.c */
/* One folder below the root, in each hierarchy. */
int cgi_make(const struct cgroup_tree *tree, const char *rel);
/* Remove it, with all below or alone. */
int cgi_remove_all(const struct cgroup_tree *tree, const char *rel);
int cgi_rmdir_all(const struct cgroup_tree *tree, const char *rel);
/* Note which slurmd a job's folder belongs to, for cgroup_tree_sweep(). */
void cgi_mark(const struct cgroup_tree *tree, const char *rel, const char *owner);
/* Does the folder at path belong to owner? */
bool cgi_marked(const char *path, const char *owner);

/* cglimit.c */
int cgi_limit(const struct cgroup_tree *tree, const char *rel, const struct cgroup_limits *limits,
              struct err *err);
/* cgdev.c */
int cgi_deny(const struct cgroup_tree *tree, const char *rel, const struct cgroup_device *deny,
             size_t n);
