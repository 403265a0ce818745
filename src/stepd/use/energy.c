/* energy.c - see energy.h
 *
 * Zones of RAPL: intel-rapl:0 is a package, intel-rapl:0:1 a part of it, of which only memory is
 * not in the package's figure.  No zone is counted twice. */
#include "stepd/use/energy.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
    const char *place;
    uint64_t unit_uj;
} kinds[] = { [ENERGY_RAPL] = { "/sys/class/powercap", 1 },
              [ENERGY_PM_COUNTERS] = { "/sys/cray/pm_counters", 1000000 } };

const char *energy_place(enum energy_kind kind)
{
    return kinds[kind].place;
}

static int read_number(const char *path, uint64_t *ret)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    unsigned long long n;

    if (!f)
        return -errno;
    if (fscanf(f, "%llu", &n) != 1)
        return -EBADMSG;
    *ret = n;
    return 0;
}

static bool zone_counts(const char *zone)
{
    char path[320], name[64] = "";
    _cleanup_fclose_ FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "%s/name", zone);
    f = fopen(path, "re");
    return f && fgets(name, sizeof(name), f) &&
           (strncmp(name, "package", 7) == 0 || strncmp(name, "dram", 4) == 0);
}

/* Take the counter folder/file. */
static int add_counter(struct energy *e, const char *folder, const char *file)
{
    char *path = e->zones[e->n].path;
    uint64_t now = 0;
    int r;

    if (snprintf(path, sizeof(e->zones->path), "%s/%s", folder, file) >=
        (int)sizeof(e->zones->path))
        return -ENAMETOOLONG;
    r = read_number(path, &now);
    if (r < 0)
        return r;
    e->zones[e->n].last = now;
    e->first_uj += now * e->unit_uj;
    e->n++;
    return 0;
}

static int add_rapl(struct energy *e, const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    char zone[512], range[560];
    int why = d ? -ENOENT : -errno;

    while (d && e->n < ENERGY_ZONES_MAX && (entry = readdir(d))) {
        int r;

        if (strncmp(entry->d_name, "intel-rapl:", 11) != 0)
            continue;
        (void)snprintf(zone, sizeof(zone), "%s/%s", folder, entry->d_name);
        if (!zone_counts(zone))
            continue;
        r = add_counter(e, zone, "energy_uj");
        (void)snprintf(range, sizeof(range), "%s/max_energy_range_uj", zone);
        if (r < 0)
            why = r;
        else if (read_number(range, &e->zones[e->n - 1].range) < 0)
            e->zones[e->n - 1].range = 0;
    }
    if (d)
        (void)closedir(d);
    return e->n ? 0 : why;
}

int energy_begin(struct energy *e, enum energy_kind kind, const char *root)
{
    char folder[192];

    *e = (struct energy){ .unit_uj = kinds[kind].unit_uj };
    (void)snprintf(folder, sizeof(folder), "%s%s", root, kinds[kind].place);
    return kind == ENERGY_RAPL ? add_rapl(e, folder) : add_counter(e, folder, "energy");
}

void energy_look(struct energy *e)
{
    for (unsigned i = 0; i < e->n; i++) {
        uint64_t now = 0, last = e->zones[i].last;

        if (read_number(e->zones[i].path, &now) < 0)
            continue;
        if (now >= last)
            e->used_uj += (now - last) * e->unit_uj;
        else if (e->zones[i].range > last)
            e->used_uj += (e->zones[i].range - last + now) * e->unit_uj; /* it went round */
        e->zones[i].last = now;
    }
}
