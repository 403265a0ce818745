/* jobnodes.h - lists of nodes that users name on command lines and in files */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct hostlist;

/* A list of nodes as given, or what a file of them says (file, or a path): names with commas
 * between.  0 or the exit status; *field is replaced. */
int jobnodes_list(const char *arg, bool file, char **field, struct err *err);
/* The same for the file that SLURM_HOSTFILE names.  0 with *field as it was when there is none. */
int jobnodes_hostfile(char **field, struct err *err);
/* Fold the list, each name once: "node2,node1,node2" becomes "node[1-2]".  *ret_n (may be NULL) is
 * how many there are.  0 or the exit status, the message printed; NULL and "" stay as they are. */
int jobnodes_fold(char **field, size_t *ret_n);
/* A layout of tasks, "node[1-2],node3*2", as a name for each task.  0 or the exit status. */
int jobnodes_expand(const char *list, struct hostlist **ret_all, struct err *err);
/* How many tasks of that layout each node has: "node1*1,node2*1,node3*2", the nodes in the order of
 * jobnodes_fold(). */
char *jobnodes_counts(const struct hostlist *all);
