/* confcache.h - configurations on disk: a folder each, one of them current
 *
 *   ROOT/                 755, the daemon's: what users may read is below
 *     <digest>/           a whole configuration; its name begins the digest of the bundle
 *       slurm.conf ...    644; what slurmd alone reads 600; scripts of slurmd 700, of tasks 755
 *       slurm.key ...         links to files of this host (hostfiles.h)
 *       .bundle           names, kinds and digest: what must be there
 *     current             a link to the folder that counts
 *
 * A folder is written under another name, synced, and renamed; then the link is.  A folder that is
 * there is whole, and is never changed but for the links to files of this host: what runs with it
 * goes on with it.  Main thread. */
#pragma once

#include "api.pb-c.h"
#include "base/err.h"
#include "configless/hostfiles.h"

struct confcache {
    char *root;
    struct hostfiles host; /* owned */
};

/* Take root, which is made with its parents where need be.  host (copied; NULL: none) are the files
 * that links lead to.  Errors: -EACCES another user may write root, those of mkdir(2). */
int confcache_open(struct confcache *c, const char *root, const struct hostfiles *host,
                   struct err *err);
void confcache_done(struct confcache *c);

/* Write a bundle, which confbundle_check() has passed, unless it is there.  The caller frees
 * *ret_conf, the path of its slurm.conf.  Nothing is switched. */
int confcache_store(const struct confcache *c, const Pst__ConfBundle *b, char **ret_conf,
                    struct err *err);
/* From now on the bundle counts, also after a restart. */
int confcache_switch(const struct confcache *c, const Pst__ConfBundle *b, struct err *err);

/* The bundle that counts, checked whole, and the path of its slurm.conf.  -ENOENT: there is none;
 * -EINVAL: it is damaged, err says how. */
int confcache_current(const struct confcache *c, Pst__ConfBundle **ret, char **ret_conf,
                      struct err *err);

/* Remove all configurations but the current one, and what an interrupted write left. */
void confcache_clean(const struct confcache *c);
