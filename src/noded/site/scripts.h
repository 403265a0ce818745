/* scripts.h - Prolog and Epilog, of slurm.conf and of plugins.  Main loop. */
#pragma once

#include "noded/noded.h"

int scripts_new(struct noded *d, struct scripts **ret_scripts);
struct scripts *scripts_free(struct scripts *scripts);
/* Is there a Prolog (Epilog) to run? */
bool scripts_any(const struct noded *d, bool epilog);
/* Run the job's Prolog (Epilog), one program behind the other; job->prolog (job->epilog) says how
 * that goes. */
void scripts_start(struct noded *d, struct njob *job, bool epilog);
/* A child ended: true when it was one of these programs. */
bool scripts_child_exited(struct noded *d, pid_t pid, int status);
