/* selfline.h - how a dynamic node describes itself: slurmd -Z [--conf "K=V ..."]
 *
 * The description is a NodeName line.  What --conf says counts; the rest is what this machine has.
 * Once any of CPUs, Boards, Sockets, CoresPerSocket and ThreadsPerCore is given, none of them is
 * looked for. */
#pragma once

#include "base/err.h"
#include "noded/noded.h"

/* Make the line of the node `name` on this host.  given: --conf, NULL for none.  The caller frees
 * *ret_line.  Errors, with a sentence: -EINVAL given has what it cannot have, -EIO the machine
 * cannot be read, -ENOMEM. */
int selfline_make(const struct conf *conf, const char *name, const char *host, const char *given,
                  char **ret_line, struct err *err);
/* May --conf of a node that is not dynamic say this?  Of Topology= alone.  -EINVAL with a
 * sentence. */
int selfline_check_static(const char *given, struct err *err);
/* Topology= of --conf, which the caller frees; NULL: it says nothing of it. */
char *selfline_place(const struct conf *conf, const char *name, const char *given);
