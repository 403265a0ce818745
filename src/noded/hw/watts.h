/* watts.h - the node's energy, with AcctGatherNodeFreq */
#pragma once

#include "noded/noded.h"

int watts_new(struct noded *d, struct watts **ret);
void watts_configure(struct noded *d); /* at the start, and when the configuration was read again */
void watts_close(struct watts *w);
struct watts *watts_free(struct watts *w);
/* The node's energy as last measured, valid until the next measurement; NULL: not known. */
const Pst__NodeEnergy *watts_now(const struct noded *d);
