/* gpuuse.h - how busy a step's GPUs are, and how much of their memory is in use; stepd only
 *
 * What the kernel's driver says of a device is of all who use it: of a step that has the whole of
 * it.  GPUs of which the step has a share are left out, and so are those whose driver says nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct step;
struct gpuuse;

struct gpu_use {
    uint64_t mem_bytes;
    uint32_t busy_pct;
};

/* Of the GPU with this number among /dev/dri/renderD*, below the folder that stands for "/".
 * Errors: -ENOENT: the driver does not tell (amdgpu does). */
int gpuuse_read(const char *root, uint32_t minor, struct gpu_use *ret);

/* The GPUs of the step's tasks here; NULL: there are none that tell. */
struct gpuuse *gpuuse_new(const struct step *s);
/* What each task (room for s->n_tasks) uses now.  A GPU that several tasks see is of the first. */
void gpuuse_look(const struct gpuuse *g, struct gpu_use *uses);
void gpuuse_free(struct gpuuse *g);
