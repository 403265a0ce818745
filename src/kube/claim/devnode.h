/* devnode.h - devices of a node, as the ResourceSlices of its drivers tell them
 *
 * A driver's pool counts when all slices of its newest generation are there.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* The devices of a driver: an array of {pool, device, attributes}, in the order of their indexes.
 * slices: an object or array of ResourceSlices of one node.  NULL: no memory. */
json_t *devnode_list(const json_t *slices, const char *driver);
/* GPUs alone: a driver may have parts of GPUs among its devices (attribute "type"). */
json_t *devnode_gpus(const json_t *slices, const char *driver);
/* The CPUs of a node by cores: an array of arrays of devices, numbered as Slurm does: by socket,
 * core and CPU.  Efficiency cores are left out.  NULL: no memory. */
json_t *devnode_cores(const json_t *slices);
/* An attribute of a device, named with or without its driver; NULL: it has none. */
const json_t *devnode_attribute(const json_t *device, const char *driver, const char *name,
                                const char *type);
/* The GRES of a node: "gpu:gpu.nvidia.com:8", by commas; "": it has no GPUs.  A driver that begins
 * with "gpu." is one of GPUs. */
void devnode_write_gres(const json_t *slices, struct strbuf *out);
