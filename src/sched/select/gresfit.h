/* gresfit.h - how much of a job the devices of a node allow */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fit;
struct geometry;
struct pick;

/* Is the node good for a part of the job that gets so many units?  Sets what its devices limit
 * in *f. */
bool gres_fit(const struct pick *p, uint32_t id, const struct geometry *g, uint32_t units,
              struct fit *f);
