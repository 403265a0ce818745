/* energy.c - see energy.h
 *
 * Zones: intel-rapl:0 is a package, intel-rapl:0:1 a part of it, of which only memory is not in the
 * package's figure.  No zone is counted twice. */
#include "stepd/energy.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define FOLDER "/sys/class/powercap"

static bool read_number(const char *zone, const char *file, uint64_t *ret)
{
    char path[320];
    _cleanup_fclose_ FILE *f = NULL;
    unsigned long long n;

    (void)snprintf(path, sizeof(path), "%s/%s", zone, file);
    f = fopen(path, "re");
    if (!f || fscanf(f, "%llu", &n) != 1)
        return false;
    *ret = n;
    return true;
}

static bool counts(const char *zone)
{
    char path[320], name[64] = "";
    _cleanup_fclose_ FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "%s/name", zone);
    f = fopen(path, "re");
    return f && fgets(name, sizeof(name), f) &&
           (strncmp(name, "package", 7) == 0 || strncmp(name, "dram", 4) == 0);
}

void energy_begin(struct energy *e, const char *root)
{
    char folder[192];
    struct dirent *entry;
    DIR *d;

    *e = (struct energy){ .n = 0 };
    (void)snprintf(folder, sizeof(folder), "%s" FOLDER, root);
    d = opendir(folder);
    while (d && e->n < ENERGY_ZONES_MAX && (entry = readdir(d))) {
        char *path = e->zones[e->n].path;

        if (strncmp(entry->d_name, "intel-rapl:", 11) != 0)
            continue;
        if (snprintf(path, sizeof(e->zones->path), "%s/%s", folder, entry->d_name) >=
                (int)sizeof(e->zones->path) ||
            !counts(path) || !read_number(path, "energy_uj", &e->zones[e->n].last_uj))
            continue;
        if (!read_number(path, "max_energy_range_uj", &e->zones[e->n].range_uj))
            e->zones[e->n].range_uj = 0;
        e->n++;
    }
    if (d)
        (void)closedir(d);
}

void energy_look(struct energy *e)
{
    for (unsigned i = 0; i < e->n; i++) {
        uint64_t now, last = e->zones[i].last_uj;

        if (!read_number(e->zones[i].path, "energy_uj", &now))
            continue;
        if (now >= last)
            e->used_uj += now - last;
        else if (e->zones[i].range_uj > last)
            e->used_uj += e->zones[i].range_uj - last + now; /* it went round */
        e->zones[i].last_uj = now;
    }
}
