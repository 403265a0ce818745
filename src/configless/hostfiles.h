/* hostfiles.h - files of this host that no controller sends: keys, certificates, whom it trusts
 *
 * They stand where slurm.conf would stand, or where an option says.  Configurations that came
 * from a controller find them by links of the usual names beside their slurm.conf.  Main thread.
 */
#pragma once

#include "base/err.h"

enum hostfile {
    HOSTFILE_KEY, /* the cluster's, slurm.key or slurm.jwks */
    HOSTFILE_CA,
    HOSTFILE_CERT, /* slurmd's own */
    HOSTFILE_CERT_KEY,
    HOSTFILE_CONTROLLERS, /* slurmctld.pub */
    HOSTFILE_MAX_
};

struct hostfiles {
    char *path[HOSTFILE_MAX_]; /* absolute; NULL: there is no such file; owned */
};

/* What is beside conf_path (-f; NULL: SLURM_CONF, else the usual file).  ca_file (--ca-cert-file;
 * NULL: not given) must be an absolute path of a file that is there; key_file as conflink_key() has
 * it.  Errors: -EINVAL, -ENOENT, -ENOMEM. */
int hostfiles_find(const char *conf_path, const char *key_file, const char *ca_file,
                   struct hostfiles *ret, struct err *err);
/* Empty it; all of it is freed. */
void hostfiles_done(struct hostfiles *h);

/* The same files again, of which ret owns copies.  -ENOMEM. */
int hostfiles_copy(const struct hostfiles *h, struct hostfiles *ret);

/* Let links in the folder `dir` lead to these files; links to others are replaced, and removed
 * where this host has no such file.  A file that is no link stays: -EEXIST.  -errno. */
int hostfiles_link(const struct hostfiles *h, int dir);
