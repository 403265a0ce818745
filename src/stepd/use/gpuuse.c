/* gpuuse.c - see gpuuse.h */
#include "stepd/use/gpuuse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/env/gpuenv.h"
#include "stepd/step.h"

#define RENDER_FILE "/dev/dri/renderD"
#define NVIDIA_FILE "/dev/nvidia"
#define STALE_US (30 * USEC_PER_SEC)

struct gpuuse {
    const char *root, *listed; /* the step file's */
    size_t n;
    struct {
        uint32_t minor;
        bool listed;
        size_t task;
    } gpus[];
};

static int read_value(const char *root, uint32_t minor, const char *name, uint64_t *ret)
{
    char path[512];
    _cleanup_fclose_ FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "%s/sys/class/drm/renderD%" PRIu32 "/device/%s", root, minor,
                   name);
    f = fopen(path, "re");
    return f && fscanf(f, "%" SCNu64, ret) == 1 ? 0 : -ENOENT;
}

int gpuuse_read(const char *root, uint32_t minor, struct gpu_use *ret)
{
    uint64_t mem, busy;

    if (read_value(root, minor, "mem_info_vram_used", &mem) < 0 ||
        read_value(root, minor, "gpu_busy_percent", &busy) < 0)
        return -ENOENT;
    *ret = (struct gpu_use){ .mem_bytes = mem, .busy_pct = (uint32_t)MIN(busy, (uint64_t)100) };
    return 0;
}

int gpuuse_listed(const char *path, uint32_t minor, struct gpu_use *ret)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    int64_t at, now = now_mono_us();
    struct gpu_use use;
    uint32_t n;

    /* One of a later time is from before the node was started anew: its clock began again. */
    if (!f || fscanf(f, "%" SCNd64, &at) != 1 || at > now || now - at > STALE_US)
        return -ENOENT;
    while (fscanf(f, "%" SCNu32 " %" SCNu64 " %" SCNu32, &n, &use.mem_bytes, &use.busy_pct) == 3)
        if (n == minor) {
            *ret = use;
            return 0;
        }
    return -ENOENT;
}

struct gpuuse *gpuuse_new(const struct step *s)
{
    const Pst__Gpu *list[GPUS_MAX];
    size_t n = gpu_list_whole(s->sf, list);
    struct gpuuse *g = calloc(1, sizeof(*g) + n * sizeof(g->gpus[0]));
    struct gpu_use use;

    for (size_t i = 0; g && i < n; i++) {
        const char *path = list[i]->path ? list[i]->path : "";
        bool listed = s->sf->gpu_use_path && strstr(path, NVIDIA_FILE);

        if (!listed && (!strstr(path, RENDER_FILE) ||
                        gpuuse_read(s->sf->machine_root, list[i]->minor, &use) < 0))
            continue;
        g->gpus[g->n].minor = list[i]->minor;
        g->gpus[g->n].listed = listed;
        g->gpus[g->n++].task = s->on->gpu_task(s, list[i]);
    }
    if (g && g->n) {
        g->root = s->sf->machine_root;
        g->listed = s->sf->gpu_use_path;
        return g;
    }
    free(g);
    return NULL;
}

void gpuuse_look(const struct gpuuse *g, struct gpu_use *uses)
{
    for (size_t i = 0; i < g->n; i++) {
        struct gpu_use use, *to = &uses[g->gpus[i].task];

        if ((g->gpus[i].listed ? gpuuse_listed(g->listed, g->gpus[i].minor, &use)
                               : gpuuse_read(g->root, g->gpus[i].minor, &use)) < 0)
            continue; /* the next look will do */
        to->mem_bytes += use.mem_bytes;
        to->busy_pct += use.busy_pct;
    }
}

void gpuuse_free(struct gpuuse *g)
{
    free(g);
}
