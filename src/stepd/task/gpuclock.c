/* gpuclock.c - see gpuclock.h
 *
 * The clocks are set through the vendor's library, which slurmd's AutoDetect=nvml asked for.  It
 * stays open while the step runs: a driver may forget what it was told by one who is gone. */
#include "stepd/task/gpuclock.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bind/gpufreq.h"
#include "base/cleanup.h"
#include "base/process/loadlib.h"
#include "stepd/step.h"
#include "stepd/task/gpu.h"

#define LIBRARY "libnvidia-ml.so.1"
#define CLOCKS_MAX 1024u /* that a GPU may have */
#define DISABLED "GpuFreq=control_disabled\n"

enum { CLOCK_GRAPHICS = 0, CLOCK_MEMORY = 2 }; /* the library's numbers */

/* The library's interface, as far as it is used.  Functions return 0, or an error. */
typedef void *device_t;
struct api {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_text)(int);
    int (*count)(unsigned *);
    int (*handle)(unsigned, device_t *);
    int (*minor)(device_t, unsigned *);
    int (*clock)(device_t, int, unsigned *);
    int (*memory_clocks)(device_t, unsigned *, unsigned *);
    int (*graphics_clocks)(device_t, unsigned, unsigned *, unsigned *);
    int (*set)(device_t, unsigned, unsigned);
};

struct clocks { /* MHz */
    unsigned memory, graphics;
};

struct gpu_state {
    device_t dev;
    struct clocks before, set;
};

struct gpuclock {
    struct api api;
    bool open;
    struct gpu_state *gpus; /* those that were set */
    size_t n;
    char line[96];
};

static int open_library(struct gpuclock *c, struct err *err)
{
    struct api *api = &c->api;
    const struct loadlib_symbol symbols[] = {
        { "nvmlInit_v2", &api->init },
        { "nvmlShutdown", &api->shutdown },
        { "nvmlErrorString", &api->error_text },
        { "nvmlDeviceGetCount_v2", &api->count },
        { "nvmlDeviceGetHandleByIndex_v2", &api->handle },
        { "nvmlDeviceGetMinorNumber", &api->minor },
        { "nvmlDeviceGetApplicationsClock", &api->clock },
        { "nvmlDeviceGetSupportedMemoryClocks", &api->memory_clocks },
        { "nvmlDeviceGetSupportedGraphicsClocks", &api->graphics_clocks },
        { "nvmlDeviceSetApplicationsClocks", &api->set },
    };
    int r = loadlib(NULL, LIBRARY, NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), err);

    if (r < 0)
        return r;
    r = api->init();
    c->open = r == 0;
    return c->open ? 0 : err_set(err, -EIO, LIBRARY ": %s", api->error_text(r));
}

static bool find_device(const struct api *api, uint32_t minor, device_t *ret)
{
    unsigned count = 0, its;

    if (api->count(&count) != 0)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (api->handle(i, ret) == 0 && api->minor(*ret, &its) == 0 && its == minor)
            return true;
    return false;
}

static int read_clocks(const struct api *api, device_t dev, struct clocks *ret)
{
    int r = api->clock(dev, CLOCK_MEMORY, &ret->memory);

    return r ? r : api->clock(dev, CLOCK_GRAPHICS, &ret->graphics);
}

/* Graphics clocks depend on the memory's.  Errors are the library's. */
static int choose_clocks(const struct api *api, device_t dev, const struct gpufreq *want,
                         const struct clocks *now, struct clocks *ret)
{
    unsigned mhz[CLOCKS_MAX], n = CLOCKS_MAX;
    int r = api->memory_clocks(dev, &n, mhz);

    if (r)
        return r;
    ret->memory = gpufreq_choose(&want->memory, now->memory, mhz, MIN(n, CLOCKS_MAX));
    n = CLOCKS_MAX;
    r = api->graphics_clocks(dev, ret->memory, &n, mhz);
    if (r == 0)
        ret->graphics = gpufreq_choose(&want->graphics, now->graphics, mhz, MIN(n, CLOCKS_MAX));
    return r;
}

/* Of a step what srun was told; of a batch script what the job was. */
static const char *asked_text(const struct step *s)
{
    return s->launch ? envlist_get(&s->env, "SLURM_GPU_FREQ") : s->job->gpu_freq;
}

/* The word of the message: who set a frequency. */
static const char *asked_by(const struct step *s)
{
    return asked_text(s) ? "--gpu-freq" : "GpuFreqDef";
}

static int set_gpu(struct step *s, const struct gpufreq *want, const Pst__Gpu *gpu, struct err *err)
{
    struct gpuclock *c = s->gpuclock;
    struct gpu_state *g = &c->gpus[c->n];
    int r;

    if (!find_device(&c->api, gpu->minor, &g->dev))
        return err_set(err, -ENODEV, "%s: " LIBRARY " of node %s knows no GPU %u", asked_by(s),
                       s->host, gpu->minor);
    r = read_clocks(&c->api, g->dev, &g->before);
    if (r == 0)
        r = choose_clocks(&c->api, g->dev, want, &g->before, &g->set);
    if (r == 0)
        r = c->api.set(g->dev, g->set.memory, g->set.graphics);
    if (r)
        return err_set(err, -EIO, "%s: cannot set GPU %u of node %s: %s", asked_by(s), gpu->minor,
                       s->host, c->api.error_text(r));
    c->n++;
    return 0;
}

static int set_all(struct step *s, const struct gpufreq *want, const Pst__Gpu *const *list,
                   size_t n, struct err *err)
{
    struct gpuclock *c = s->gpuclock;
    int r = open_library(c, err);

    c->gpus = calloc(n, sizeof(*c->gpus));
    if (r == 0 && !c->gpus)
        r = err_nomem(err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = set_gpu(s, want, list[i], err);
    if (r == 0 && want->verbose)
        (void)snprintf(c->line, sizeof(c->line), "GpuFreq=memory_freq:%u,graphics_freq:%u\n",
                       c->gpus[0].set.memory, c->gpus[0].set.graphics);
    return r;
}

void gpuclock_set(struct step *s)
{
    const Pst__Gpu *list[GPUS_MAX];
    size_t n = gpu_list_whole(s->sf, list);
    const char *text = asked_text(s) ? asked_text(s) : s->sf->gpu_freq_default;
    struct err err = { .text = "" };
    struct gpufreq want;

    if (s->error || s->ext || !text || n == 0 || !(s->gpuclock = calloc(1, sizeof(*s->gpuclock))))
        return;
    if (!s->sf->gpu_clocks)
        (void)snprintf(s->gpuclock->line, sizeof(s->gpuclock->line), "%s", DISABLED);
    else if (gpufreq_parse(text, &want) < 0)
        step_notice(s, "Invalid %s argument: gpu:%.200s", asked_by(s), text);
    else if (set_all(s, &want, list, n, &err) < 0)
        step_notice(s, "%s", err.text);
}

const char *gpuclock_line(const struct step *s)
{
    return s->gpuclock && s->gpuclock->line[0] ? s->gpuclock->line : NULL;
}

void gpuclock_done(struct step *s)
{
    struct gpuclock *c = s->gpuclock;

    for (size_t i = 0; c && i < c->n; i++) {
        struct gpu_state *g = &c->gpus[i];
        struct clocks now;

        if (read_clocks(&c->api, g->dev, &now) == 0 && now.memory == g->set.memory &&
            now.graphics == g->set.graphics) /* else a later step of the GPU has set it */
            (void)c->api.set(g->dev, g->before.memory, g->before.graphics); /* nobody to tell */
    }
    if (c && c->open)
        (void)c->api.shutdown(); /* the step ends */
    if (c)
        free(c->gpus);
    free(c);
    s->gpuclock = NULL;
}
