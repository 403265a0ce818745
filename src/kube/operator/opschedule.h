/* opschedule.h - the reservation of a NodeSet whose workers are replaced at a time: nssched.h
 *
 * slurmctld is asked whether the reservation is there, and the next step is decided from its
 * answer.  What is not answered changes nothing. */
#pragma once

#include "kube/nodeset/nsdecide.h"
#include "kube/operator/operator_impl.h"

/* See to the reservation of a set that lives. */
void opschedule_see(struct opwork *w, struct slurmnodes *l, const struct nsview *v);
/* The set is being deleted: the reservation goes, then the finalizer. */
void opschedule_end(struct opwork *w, struct slurmnodes *l);
