/* gpumig.c - see gpumig.h */
#include "noded/plan/gpumig.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

#define PATH_SIZE 4096
#define DEVICE "/nvidia-cap"

/* The number behind the word, which is all of the text; false: it is another text. */
static bool number_after(const char *text, const char *word, uint32_t *ret)
{
    size_t n = strlen(word);
    uint64_t value;

    if (strncmp(text, word, n) != 0 || parse_u64(text + n, 0, UINT32_MAX, &value) < 0)
        return false;
    *ret = (uint32_t)value;
    return true;
}

static bool read_minor(const char *path, uint32_t *ret)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char line[128];

    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (number_after(line, "DeviceFileMinor: ", ret))
            return true;
    }
    return false;
}

/* Among the parts of one GPU. */
static bool find_part(const char *folder, uint32_t minor, uint32_t *ret)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    bool found = false;

    while (!found && dir && (e = readdir(dir))) {
        char path[PATH_SIZE + 300];
        uint32_t have;

        (void)snprintf(path, sizeof(path), "%s/%s/access", folder, e->d_name);
        found = number_after(e->d_name, "gi", ret) && read_minor(path, &have) && have == minor;
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

bool gpumig_find(const char *root, const char *file, struct gpumig *ret)
{
    const char *name = strrchr(file, '/');
    char path[PATH_SIZE];
    const struct dirent *e;
    bool found = false;
    uint32_t minor;
    DIR *dir;

    if (!name || !number_after(name, DEVICE, &minor))
        return false;
    (void)snprintf(path, sizeof(path), "%s/proc/driver/nvidia/capabilities", root);
    dir = opendir(path);
    while (!found && dir && (e = readdir(dir))) {
        char below[PATH_SIZE];

        (void)snprintf(below, sizeof(below), "%.3000s/%.255s/mig", path, e->d_name);
        found = number_after(e->d_name, "gpu", &ret->gpu) && find_part(below, minor, &ret->part);
    }
    if (dir)
        (void)closedir(dir);
    return found;
}
