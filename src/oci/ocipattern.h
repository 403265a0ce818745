/* ocipattern.h - command lines and paths of oci.conf with their %x filled in
 *
 * Pure data.
 *   %% a per cent sign   %@ command of the task, each argument quoted   %b bundle   %e file of the
 * environment %j job   %m folder of the step's files   %n node   %p process of the runtime, -1 none
 * %r root file system %s step   %t task   %u user   %U its number   %Z working directory */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct oci_vars {
    const char *const *argv; /* NULL-terminated; NULL = "" */
    const char *bundle, *env_file, *spool_dir, *node, *root, *step, *user,
        *work_dir; /* NULL = "" */
    uint32_t job_id, task, uid;
    pid_t pid; /* 0 = none */
};

/* For a shell, which a single program takes the place of, so that signals reach it alone and %p is
 * its own: what a value holds never ends a word or a quotation of the pattern.  Caller frees.
 * -ENOMEM. */
int oci_command(const char *pattern, const struct oci_vars *vars, char **ret);
/* A path: values as they are. */
int oci_path(const char *pattern, const struct oci_vars *vars, char **ret);
