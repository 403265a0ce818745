/* fake_nvml.c - a libnvidia-ml.so.1 of two GPUs whose use stands in the file FAKE_NVML: lines of
 * device minor, bytes, percent */
#include <stdio.h>
#include <stdlib.h>

struct memory_info {
    unsigned long long total, free, used;
};
struct utilization {
    unsigned gpu, memory;
};
struct gpu {
    unsigned minor, busy;
    unsigned long long used;
};

static int look(unsigned index, struct gpu *g)
{
    FILE *f = fopen(getenv("FAKE_NVML"), "r");
    int found = 0;

    while (f && !found && fscanf(f, "%u %llu %u", &g->minor, &g->used, &g->busy) == 3)
        found = index-- == 0;
    if (f)
        fclose(f);
    return found ? 0 : 6; /* not found */
}

int nvmlInit_v2(void)
{
    return getenv("FAKE_NVML") ? 0 : 9;
}

const char *nvmlErrorString(int r)
{
    return r == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    *ret = (void *)((char *)0 + index);
    return 0;
}

int nvmlDeviceGetMinorNumber(void *dev, unsigned *ret)
{
    struct gpu g;
    int r = look((unsigned)((char *)dev - (char *)0), &g);

    *ret = g.minor;
    return r;
}

int nvmlDeviceGetUtilizationRates(void *dev, struct utilization *ret)
{
    struct gpu g;
    int r = look((unsigned)((char *)dev - (char *)0), &g);

    ret->gpu = g.busy;
    ret->memory = 0;
    return r;
}

int nvmlDeviceGetMemoryInfo(void *dev, struct memory_info *ret)
{
    struct gpu g;
    int r = look((unsigned)((char *)dev - (char *)0), &g);

    ret->total = 80ull << 30;
    ret->used = g.used;
    ret->free = ret->total - g.used;
    return r;
}
