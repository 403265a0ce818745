/* oci.h - one task in a container: from its bundle to its exit code; slurmstepd-oci only
 *
 * The step daemon starts this program in place of the task's: as the user, with the task's streams,
 * limits, CPUs and environment, and its command behind our name.  What root must not parse is
 * parsed here.  Functions return 0 or a negative errno; what a person can mend has a sentence in
 * err. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "oci/ocipattern.h"
#include "stepfile.pb-c.h"

#define OCI_CONFIG_MAX (4u << 20) /* bytes of a bundle's config.json */

struct oci {
    const Pst__OciTask *task;
    const Pst__OciPlan *plan;
    char *const *env;      /* of the task */
    char **argv;           /* of the task; argv[0] changes for a batch script */
    char **inner, **outer; /* environments: the container's (of which the bundle may know better),
                              the runtime's */
    char *bundle;          /* the one asked for, absolute */
    char *spool, *dir;     /* of the step, and below it the bundle that the runtime gets */
    char *env_file, *mount_at;
    char *root;           /* its root file system */
    struct oci_vars vars; /* borrows all of these */
};

/* envfilter.c */
/* NULL-terminated; the strings are env's.  Without those that the expression (NULL none) finds.
 * -EINVAL, -ENOMEM. */
int oci_env_filter(char *const *env, const char *regex, char ***ret);
/* Set NAME in a list; assignment ("NAME=value") is borrowed.  -ENOMEM. */
int oci_env_set(char ***env, const char *assignment);

/* ociconfig.c: a pure function but for looking whether folders exist */
struct oci_edit {
    char *const *argv, *const *env;    /* NULL-terminated */
    const char *bundle;                /* absolute */
    const char *work_dir;              /* taken when the container has such a folder */
    const char *mount_from, *mount_at; /* a folder and where it is seen; NULL = none */
    char *const *mounts;               /* folders seen where they are */
    size_t n_mounts;
    const char *disable_hooks; /* "prestart,poststop"; NULL = none */
    uint32_t uid, gid;
    bool terminal;
};
/* The bundle's config.json as a task needs it.  Caller frees both: the text, and the path of the
 * root file system. */
int oci_config(const char *text, size_t len, const struct oci_edit *e, char **ret_text,
               char **ret_root, struct err *err);

/* bundle.c */
/* Paths that need no file: all but the root file system.  argv and env as given to the program. */
int oci_paths(struct oci *o, struct err *err);
/* Read the bundle, write what the runtime gets. */
int oci_make(struct oci *o, struct err *err);
void oci_remove(const struct oci *o); /* what oci_make() wrote; missing is fine */
void oci_done(struct oci *o);

/* runtime.c */
/* Run the container; gives the exit code of its process, 128 + signal when one ended it. */
int oci_run(struct oci *o, int *ret_code, struct err *err);
/* The runtime forgets what is left of it. */
void oci_delete(struct oci *o);
