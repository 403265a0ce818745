/* partgate.h - partitions that keep a waiting job out
 *
 * AllowAccounts, AllowQos and their opposites, RootOnly and ReqResv may change while a job waits,
 * or keep it out from the start (EnforcePartLimits=NO).  A partition that does is not told to the
 * scheduler; a job without another one waits and says so.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* Does p take no job like r now? */
bool partgate_shut(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r);

/* Is every partition there for everybody? */
bool partgate_none(const struct ctld *ctld);

/* Does one of its partitions keep the job out? */
bool partgate_any(const struct ctld *ctld, const Pst__JobRecord *r);

/* Take the partitions that keep r out off the list names, which keeps its order.  Return how many
 * are left. */
size_t partgate_filter(const struct ctld *ctld, const Pst__JobRecord *r, const char **names,
                       size_t n);

/* All partitions of j keep it out: note that as the reason why it waits. */
void partgate_note(struct ctld *ctld, struct job *j);

/* Forget what partgate_note() noted. */
void partgate_forget(struct job *j);
