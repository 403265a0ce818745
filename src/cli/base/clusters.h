/* clusters.h - the clusters of -M, and asking one of them after the other
 *
 * slurmdbd knows where the controllers of its clusters are.  The cluster of slurm.conf is found
 * without slurmdbd.  For commands: mistakes are told and end the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "session/dial.h"

struct cli;

struct clusters {
    struct dial_cluster *list; /* in the order of their names */
    size_t n;
};

/* The clusters that -M names ("all", or words with commas between).  False: one of them cannot be
 * asked, which was told; *ret is empty then. */
bool clusters_find(struct cli *c, const char *list, struct clusters *ret);
/* The same, and the end of the process where that fails. */
void clusters_find_or_die(struct cli *c, const char *list, struct clusters *ret);
void clusters_done(struct cli *c, struct clusters *cl);
/* Add one; texts are copied.  addrs NULL: the cluster of slurm.conf. */
void clusters_add(struct clusters *cl, const char *name, const char *addrs, uint32_t port);

/* From now on the command asks the i-th cluster; cl is borrowed until clusters_done(). */
void clusters_use(struct cli *c, const struct clusters *cl, size_t i);
/* ... and print the line that names it, behind an empty line where it is not the first. */
void clusters_begin(struct cli *c, const struct clusters *cl, size_t i, bool heading);

/* For commands that ask one cluster: it is asked from now on, until the process ends. */
void clusters_use_one(struct cli *c, const char *list);

/* SLURM_WORKING_CLUSTER, which salloc -M leaves for the srun in its allocation: that cluster is
 * asked from now on, until the process ends.  Without the variable nothing changes. */
void clusters_use_working(struct cli *c);
/* The value of the variable for the cluster that is asked; NULL: that of slurm.conf.  Caller
 * frees. */
char *clusters_working_value(const struct cli *c);
