/* fake_nvml.c - a libnvidia-ml.so.1 of two GPUs, made for a FOLDER.  Their use stands in its file
 * `use`: lines of device minor, bytes, percent; without that file there is no driver.  Their clocks
 * stand in its folder `clocks`: MINOR holds "memory graphics", and each setting is a line of
 * `set`. */
#include <stdio.h>
#include <unistd.h>

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
    FILE *f = fopen(FOLDER "/use", "r");
    int found = 0;

    while (f && !found && fscanf(f, "%u %llu %u", &g->minor, &g->used, &g->busy) == 3)
        found = index-- == 0;
    if (f)
        fclose(f);
    return found ? 0 : 6; /* not found */
}

int nvmlInit_v2(void)
{
    return access(FOLDER "/use", R_OK) == 0 ? 0 : 9;
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

static int clocks_of(void *dev, const char *mode, FILE **ret, unsigned *ret_minor)
{
    char path[512];
    int r = nvmlDeviceGetMinorNumber(dev, ret_minor);

    if (r)
        return r;
    (void)snprintf(path, sizeof(path), FOLDER "/clocks/%u", *ret_minor);
    *ret = fopen(path, mode);
    return *ret ? 0 : 4; /* no permission */
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetApplicationsClock(void *dev, int type, unsigned *ret)
{
    unsigned minor, memory = 0, graphics = 0;
    FILE *f;
    int r = clocks_of(dev, "r", &f, &minor);

    if (r)
        return r;
    r = fscanf(f, "%u %u", &memory, &graphics) == 2 ? 0 : 999;
    (void)fclose(f);
    *ret = type == 2 ? memory : graphics;
    return r;
}

int nvmlDeviceGetSupportedMemoryClocks(void *dev, unsigned *n, unsigned *mhz)
{
    (void)dev;
    if (*n < 2)
        return 7; /* insufficient size */
    mhz[0] = 2619;
    mhz[1] = 1593;
    *n = 2;
    return 0;
}

int nvmlDeviceGetSupportedGraphicsClocks(void *dev, unsigned memory, unsigned *n, unsigned *mhz)
{
    (void)dev;
    if (memory != 2619 && memory != 1593)
        return 6;
    if (*n < 4)
        return 7;
    for (unsigned i = 0; i < 4; i++)
        mhz[i] = (memory == 2619 ? 1980 : 1200) - 300 * i;
    *n = 4;
    return 0;
}

int nvmlDeviceSetApplicationsClocks(void *dev, unsigned memory, unsigned graphics)
{
    unsigned minor;
    FILE *f;
    int r = clocks_of(dev, "w", &f, &minor);

    if (r)
        return r;
    (void)fprintf(f, "%u %u\n", memory, graphics);
    (void)fclose(f);
    f = fopen(FOLDER "/clocks/set", "a");
    if (!f)
        return 999;
    (void)fprintf(f, "%u: %u %u\n", minor, memory, graphics);
    (void)fclose(f);
    return 0;
}
