/* nvml.c - what NVIDIA's GPUs are used for, by the vendor's library; see nvml.h
 *
 * The driver of these GPUs tells their use only through that library.  AutoDetect=nvml loads it.
 * While there are jobs, a thread of libuv's pool asks for the use every SAMPLE_MS, since a call to
 * a driver in trouble may last, and writes the answers into a file of the spool.  Step daemons read
 * that file. */
#include "noded/hw/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/loadlib.h"
#include "base/timefmt.h"
#include "noded/hw/gatherconf.h"
#include "stepd/use/gpuuse.h"

#define LIBRARY "libnvidia-ml.so.1"
#define SAMPLE_MS 2000

/* The library's interface, as far as it is used.  Functions return 0, or an error. */
typedef void *device_t;
struct memory_info {
    unsigned long long total, free, used;
};
struct utilization {
    unsigned gpu, memory; /* percent of the last moments */
};
struct api {
    int (*init)(void);
    const char *(*error_text)(int);
    int (*count)(unsigned *);
    int (*handle)(unsigned, device_t *);
    int (*minor)(device_t, unsigned *);
    int (*utilization)(device_t, struct utilization *);
    int (*memory)(device_t, struct memory_info *);
};

struct nvml {
    struct noded *d;
    uv_timer_t timer;
    uv_work_t work;
    bool at_work;
    bool on;
    bool loaded; /* and it stays: it has threads of its own */
    struct api api;
    char *path, *path_new; /* of the answers */
};

int nvml_new(struct noded *d, struct nvml **ret)
{
    struct nvml *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    if (asprintf(&n->path, "%s/" GPUUSE_FILE, d->spool) < 0) {
        free(n);
        return -ENOMEM;
    }
    if (asprintf(&n->path_new, "%s.new", n->path) < 0) {
        free(n->path);
        free(n);
        return -ENOMEM;
    }
    n->d = d;
    (void)uv_timer_init(&d->loop, &n->timer); /* cannot fail */
    n->timer.data = n->work.data = n;
    *ret = n;
    return 0;
}

void nvml_close(struct nvml *n)
{
    uv_close((uv_handle_t *)&n->timer, NULL);
}

struct nvml *nvml_free(struct nvml *n)
{
    if (!n)
        return NULL;
    (void)remove(n->path); /* there may be none */
    free(n->path);
    free(n->path_new);
    free(n);
    return NULL;
}

static int load_library(struct nvml *n, struct err *err)
{
    const struct loadlib_symbol symbols[] = { { "nvmlInit_v2", &n->api.init },
                                              { "nvmlErrorString", &n->api.error_text },
                                              { "nvmlDeviceGetCount_v2", &n->api.count },
                                              { "nvmlDeviceGetHandleByIndex_v2", &n->api.handle },
                                              { "nvmlDeviceGetMinorNumber", &n->api.minor },
                                              { "nvmlDeviceGetUtilizationRates",
                                                &n->api.utilization },
                                              { "nvmlDeviceGetMemoryInfo", &n->api.memory } };
    int r = loadlib(NULL, LIBRARY, NULL, RTLD_LOCAL, symbols, ARRAY_SIZE(symbols), err);

    if (r < 0)
        return r;
    r = n->api.init();
    return r == 0 ? 0 : err_set(err, -EIO, LIBRARY ": %s", n->api.error_text(r));
}

/* On a thread of the pool, which alone uses the library.  A GPU that gives no answer has no
 * line. */
static void ask_library(uv_work_t *work)
{
    struct nvml *n = work->data;
    _cleanup_fclose_ FILE *f = fopen(n->path_new, "we");
    unsigned count = 0;

    if (!f || n->api.count(&count) != 0)
        return;
    (void)fprintf(f, "%" PRId64 "\n", now_mono_us());
    for (unsigned i = 0; i < count; i++) {
        struct utilization use;
        struct memory_info mem;
        device_t dev;
        unsigned minor;

        if (n->api.handle(i, &dev) == 0 && n->api.minor(dev, &minor) == 0 &&
            n->api.utilization(dev, &use) == 0 && n->api.memory(dev, &mem) == 0)
            (void)fprintf(f, "%u %llu %u\n", minor, mem.used, use.gpu);
    }
    if (fclose(TAKE_PTR(f)) == 0)
        (void)rename(n->path_new, n->path); /* else the old one grows stale */
}

static void take_values(uv_work_t *work, int status)
{
    struct nvml *n = work->data;

    (void)status; /* never cancelled */
    n->at_work = false;
}

static void on_tick(uv_timer_t *timer)
{
    struct nvml *n = timer->data;

    if (n->at_work || n->d->jobs.count == 0)
        return;
    n->at_work = uv_queue_work(&n->d->loop, &n->work, ask_library, take_values) == 0;
}

void nvml_configure(struct noded *d)
{
    struct nvml *n = d->nvml;
    struct err err = { .text = "" };
    bool wanted = gather_gpus(d->conf) && gres_how(d->conf, d->name) == GPUS_NVML;

    if (wanted && !n->loaded) {
        n->loaded = load_library(n, &err) == 0;
        if (!n->loaded)
            log_error("AutoDetect=nvml: %s: how the GPUs are used is not known", err.text);
    }
    n->on = wanted && n->loaded;
    if (n->on)
        (void)uv_timer_start(&n->timer, on_tick, 0, SAMPLE_MS); /* cannot fail: not closing */
    else
        (void)uv_timer_stop(&n->timer); /* cannot fail */
}

const char *nvml_path(const struct noded *d)
{
    return d->nvml->on ? d->nvml->path : NULL;
}
