/* nodecxi.h - what a step of this node gets of Slingshot: services on its NICs, with its VNIs
 *
 * With SwitchType=switch/hpe_slingshot the controller gives VNIs to a step, in its credential.  The
 * step daemon has slurmstepd-cxi make the services.  Main thread. */
#pragma once

#include "noded/noded.h"

/* What the step's file says of Slingshot.  -ENOMEM. */
int nodecxi_plan(const struct noded *d, Pst__StepFile *sf);
