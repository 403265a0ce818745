/* gpumig.h - parts of GPUs (MIG): which one a capability device belongs to
 *
 * The driver says it: ROOT/proc/driver/nvidia/capabilities/gpu0/mig/gi7/access has the number of
 * the device nvidia-cap66, and one of the files of a line MultipleFiles= of gres.conf is that
 * device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gpumig {
    uint32_t gpu, part; /* 0 and 7 */
};

/* Is the device file the one of a part as a whole?  false too where the driver does not know it. */
bool gpumig_find(const char *root, const char *file, struct gpumig *ret);
