/* gpuuse.h - how busy a step's GPUs are, and how much of their memory is in use; stepd only
 *
 * A driver tells the use of a whole device, by all its users together.  So only GPUs that the step
 * has as a whole are measured; GPUs of which the step has a share are left out, and so are GPUs
 * whose driver tells nothing.  amdgpu tells its numbers in /sys.  For NVIDIA's GPUs slurmd asks the
 * vendor's library and writes GPUUSE_FILE of its spool: the time of the monotonic clock in
 * microseconds, then a line "MINOR BYTES PERCENT" for each GPU. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GPUUSE_FILE "gpu_use"

struct step;
struct gpuuse;

struct gpu_use {
    uint64_t mem_bytes;
    uint32_t busy_pct;
};

/* Of the GPU with this number among /dev/dri/renderD*, below the folder that stands for "/".
 * Errors: -ENOENT: the driver does not tell (amdgpu does). */
int gpuuse_read(const char *root, uint32_t minor, struct gpu_use *ret);

/* The use of /dev/nvidiaMINOR, from the file path.  -ENOENT: the file has no line for that GPU, or
 * slurmd no longer writes the file. */
int gpuuse_listed(const char *path, uint32_t minor, struct gpu_use *ret);

/* The GPUs of the step's tasks here; NULL: there are none that tell. */
struct gpuuse *gpuuse_new(const struct step *s);
/* What each task (room for s->n_tasks) uses now.  A GPU that several tasks see is of the first. */
void gpuuse_look(const struct gpuuse *g, struct gpu_use *uses);
void gpuuse_free(struct gpuuse *g);
