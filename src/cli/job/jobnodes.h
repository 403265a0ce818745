/* jobnodes.h - lists of nodes that users name on command lines and in files */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* A list of nodes as given, or what a file of them says (file, or a path): names with commas
 * between.  0 or the exit status; *field is replaced. */
int jobnodes_list(const char *arg, bool file, char **field, struct err *err);
/* The same for the file that SLURM_HOSTFILE names.  0 with *field as it was when there is none. */
int jobnodes_hostfile(char **field, struct err *err);
/* Fold the list, each name once: "node2,node1,node2" becomes "node[1-2]".  *ret_n (may be NULL) is
 * how many there are.  0 or the exit status, the message printed; NULL and "" stay as they are. */
int jobnodes_fold(char **field, size_t *ret_n);
