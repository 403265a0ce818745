/* hung.h - step daemons that do not answer */
#pragma once

#include "noded/noded.h"

void hung_begin(struct noded *d);
void hung_told_to_end(struct noded *d, struct nstep *step);
void hung_answered(struct nstep *step); /* a message came from its daemon */
