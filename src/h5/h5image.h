/* h5image.h - the series of a step as the bytes of an HDF5 file
 *
 *     /Steps/0/Nodes/n1            attributes "Node Name", "Start Time"
 *     /Steps/0/Nodes/n1/Tasks/0    a row for each sample of task 0
 *     /Steps/0/Nodes/n1/Energy     ... of the node; Filesystem, Network
 * The files of a job's nodes have the groups that the file of the whole job has, so that merging
 * copies them.  The library writes into memory: it opens no file. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "h5/h5lib.h"
#include "h5/h5name.h"
#include "h5/h5samples.h"

#define H5_STEPS "Steps"
#define H5_NODES "Nodes"
#define H5_TASKS "Tasks"

/* The caller frees *ret_image.  -EIO: the library failed; -ENOMEM. */
int h5image_make(const struct h5_api *api, const struct h5name *name, const struct h5_samples *s,
                 void **ret_image, size_t *ret_len, struct err *err);
/* The group `name` in `at`, made unless it is there; < 0: the library failed. */
h5_id h5image_group(const struct h5_api *api, h5_id at, const char *name);
