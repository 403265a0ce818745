/* conf_shared.h - the files of a configuration that hosts without files of their own need
 *
 * The controller reads them from the folder of slurm.conf: slurm.conf with what it includes, its
 * sister files, and scripts that are written without a folder (Prolog=prolog.sh).  Keys, and files
 * that the controller alone reads, are not among them. */
#pragma once

#include "conf/conf.h"

#define CONF_SHARED_FILES 512u
#define CONF_SHARED_TOTAL (8u << 20) /* bytes of all of them */
#define CONF_SHARED_NAME 255u        /* of a name with its folders */

enum conf_share {
    CONF_SHARE_ALL,         /* daemons and commands read it */
    CONF_SHARE_NODE,        /* slurmd alone */
    CONF_SHARE_NODE_SCRIPT, /* slurmd runs it */
    CONF_SHARE_TASK_SCRIPT, /* users' tasks run it */
};

struct conf_shared_file {
    char *name; /* relative to the folder of slurm.conf; slurm.conf is always "slurm.conf" */
    char *data;
    size_t len;
    enum conf_share share;
};
struct conf_shared {
    struct conf_shared_file *files; /* slurm.conf first */
    size_t n, total;
};

/* Read the files of c, which was loaded with CONF_FULL.  The caller frees *ret with
 * conf_shared_done().  Errors, each with a sentence: -EINVAL a file that would not be found
 * elsewhere (an Include with a folder that is not below that of slurm.conf), -EFBIG, -ESTALE a file
 * is not any more what c was loaded from, those of reading, -ENOMEM. */
int conf_shared_read(const struct conf *c, struct conf_shared *ret, struct err *err);
void conf_shared_done(struct conf_shared *s);

/* May a file of this name be written below a folder?  Words between single slashes, none of them
 * with a dot in front, printable and without blanks; no keys. */
bool conf_shared_name_ok(const char *name);

/* Have several nodes one host?  Without memory the answer is no. */
bool conf_shared_hosts(const struct conf *c);
