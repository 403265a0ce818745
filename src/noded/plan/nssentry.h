/* nssentry.h - what steps tell programs of this node about their job's user (nss_slurm) */
#pragma once

#include "noded/noded.h"
#include "stepfile.pb-c.h"

struct strbuf;

/* The text of nss/nsstext.h for a job whose user is not root: as his own host told him
 * (use_client_ids), else as this node's name service does, which may block.  -ENODATA: he, or a
 * name of his, cannot be told; -E2BIG; -ENOMEM. */
int nssentry_put(struct strbuf *sb, const Pst__JobOnNode *on);
/* LaunchParameters=enable_nss_slurm: put the text into sf, and make the job's folder for sockets.
 * Where that fails a line in the log says so; the step runs without. */
void nssentry_plan(const struct noded *d, Pst__StepFile *sf);
