/* siteprog.h - programs of the site about the node as a whole */
#pragma once

#include "noded/noded.h"

enum siteprog {
    SITEPROG_HEALTH,
    SITEPROG_REBOOT,
    SITEPROG_UNKILLABLE,
    SITEPROG_POWER, /* a PowerAction that is asked for by its name */
    SITEPROG_MAX_
};
int siteprogs_new(struct noded *d, struct siteprogs **ret);
void siteprogs_close(struct siteprogs *p);
struct siteprogs *siteprogs_free(struct siteprogs *p);
/* Start the program of this kind, if one is configured and none of its kind runs.  step: the step
 * that the program is about, or NULL; arg: its argument, or NULL. */
void siteprog_run(struct noded *d, enum siteprog kind, const struct nstep *step, const char *arg);
/* Run a PowerAction with Location=slurmd for this node, unless one runs.  -EINVAL: the node's
 * configuration has none of that name. */
int siteprog_power(struct noded *d, const char *action, struct err *err);
/* The environment of such programs: slurmd's own, and SLURMD_NODENAME. */
struct envlist;
void siteprog_env(const struct noded *d, struct envlist *env);
bool siteprog_child_exited(struct noded *d, pid_t pid, int status);
