/* sh5item.h - one item of a series, sample by sample, of all nodes of a job beside each other */
#pragma once

#include "cli/sh5util/sh5walk.h"

/* A line for each sample of a step: where the item's value was least and most, the sum and mean of
 * all, and each.  Samples of nodes are compared by their number, since nodes begin a step at one
 * time.  said: gets a line for each step, of the sample whose sum was most.  -ENOENT. */
int sh5item_write(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                  const struct sh5series *which, const char *item, FILE *to, FILE *said,
                  struct err *err);
