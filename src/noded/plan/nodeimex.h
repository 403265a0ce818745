/* nodeimex.h - what a step of this node gets of the network between nodes: an IMEX channel
 *
 * With SwitchType=switch/nvidia_imex the start of a job says which channel it has on this node.
 * The step daemon makes the channel's device for the step's processes alone.  Main thread. */
#pragma once

#include "noded/noded.h"

/* Find the driver of the channels and empty the folder of their devices.  A node without the driver
 * makes no devices; the log says so once. */
void nodeimex_begin(struct noded *d);
/* What the step's file says of channels.  -ENOMEM. */
int nodeimex_plan(const struct noded *d, Pst__StepFile *sf);
/* The number of the character device "nvidia-caps-imex-channels" in ROOT/proc/devices; 0: there is
 * none. */
uint32_t nodeimex_major(const char *root);
