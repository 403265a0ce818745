/* gpus.c - see gpus.h
 *
 * NVIDIA: a folder for each GPU in /proc/driver/nvidia/gpus, named by its PCI address.  AMD: the
 * GPUs bound to the driver in /sys/bus/pci/drivers/amdgpu.  A GPU without its device file is none.
 */
#include "noded/hw/gpus.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/readfile.h"

#define PATH_SIZE 512

static const struct {
    const char *word;
    int how; /* negative errno */
} words[] = {
    { "off", GPUS_OFF },       { "nvidia", GPUS_NVIDIA }, { "amd", GPUS_AMD },
    { "full", GPUS_FULL },     { "nvml", GPUS_NVML },     { "rsmi", GPUS_AMD },
    { "oneapi", -EOPNOTSUPP }, { "nrt", -EOPNOTSUPP },
};

int gpus_how_parse(const char *text, enum gpus_how *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcasecmp(text, words[i].word) != 0)
            continue;
        if (words[i].how < 0)
            return words[i].how;
        *ret = (enum gpus_how)words[i].how;
        return 0;
    }
    return -EINVAL;
}

const char *gpus_how_word(enum gpus_how how)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (words[i].how == (int)how)
            return words[i].word;
    return "off";
}

/* "NVIDIA H100 80GB HBM3" -> "nvidia_h100_80gb_hbm3" */
static void set_type(struct gpu_found *g, const char *model)
{
    size_t n = 0;

    for (const char *p = model; *p && n + 1 < sizeof(g->type); p++) {
        if (isspace((unsigned char)*p))
            g->type[n++] = '_';
        else if (isalnum((unsigned char)*p) || strchr("-_.+", *p))
            g->type[n++] = (char)tolower((unsigned char)*p);
    }
    while (n && g->type[n - 1] == '_')
        n--;
    g->type[n] = '\0';
}

/* Behind "Name:" of a line, without blanks around it; NULL: another line. */
static char *value_of(char *line, const char *name)
{
    size_t len = strlen(name);
    char *p, *end;

    if (strncmp(line, name, len) != 0 || line[len] != ':')
        return NULL;
    p = line + len + 1 + strspn(line + len + 1, " \t");
    for (end = p + strlen(p); end > p && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return p;
}

static bool is_there(const char *root, const char *file)
{
    char path[PATH_SIZE];

    (void)snprintf(path, sizeof(path), "%s%s", root, file);
    return access(path, F_OK) == 0;
}

static bool read_nvidia(const char *root, const char *pci, struct gpu_found *g)
{
    char path[PATH_SIZE], line[256], *v, *end;
    _cleanup_fclose_ FILE *f = NULL;
    bool numbered = false;

    (void)snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information", root, pci);
    f = fopen(path, "re");
    if (!f)
        return false;
    while (fgets(line, sizeof(line), f)) {
        if ((v = value_of(line, "Model")))
            set_type(g, v);
        else if ((v = value_of(line, "GPU UUID")))
            (void)snprintf(g->uuid, sizeof(g->uuid), "%s", v);
        else if ((v = value_of(line, "Device Minor"))) {
            g->minor = (uint32_t)strtoul(v, &end, 10);
            numbered = end != v && !*end;
        }
    }
    (void)snprintf(g->file, sizeof(g->file), "/dev/nvidia%u", g->minor);
    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/drivers/nvidia/%s/local_cpulist", root, pci);
    readfile_line(path, g->cpus, sizeof(g->cpus));
    g->how = GPUS_NVIDIA;
    return numbered && g->type[0] && is_there(root, g->file);
}

/* The render node's number: drm/renderD128. */
static bool render_node(const char *root, const char *pci, uint32_t *ret_minor)
{
    char path[PATH_SIZE];
    struct dirent *e;
    bool found = false;
    DIR *d;

    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/drivers/amdgpu/%s/drm", root, pci);
    d = opendir(path);
    while (d && !found && (e = readdir(d)))
        found = sscanf(e->d_name, "renderD%u", ret_minor) == 1;
    if (d)
        (void)closedir(d);
    return found;
}

static bool read_amd(const char *root, const char *pci, struct gpu_found *g)
{
    char path[PATH_SIZE], line[128];

    if (!render_node(root, pci, &g->minor))
        return false;
    (void)snprintf(g->file, sizeof(g->file), "/dev/dri/renderD%u", g->minor);
    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/drivers/amdgpu/%s/product_name", root, pci);
    readfile_line(path, line, sizeof(line));
    set_type(g, line[0] ? line : "amd");
    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/drivers/amdgpu/%s/unique_id", root, pci);
    readfile_line(path, line, sizeof(line));
    if (line[0])
        (void)snprintf(g->uuid, sizeof(g->uuid), "GPU-%.64s", line);
    (void)snprintf(path, sizeof(path), "%s/sys/bus/pci/drivers/amdgpu/%s/local_cpulist", root, pci);
    readfile_line(path, g->cpus, sizeof(g->cpus));
    g->how = GPUS_AMD;
    return is_there(root, g->file);
}

static int by_address(const void *a, const void *b)
{
    return strcmp(((const struct gpu_found *)a)->pci, ((const struct gpu_found *)b)->pci);
}

/* A device of a driver's folder: its PCI address is its name. */
static bool is_address(const char *name)
{
    return strlen(name) >= 5 && strlen(name) < sizeof(((struct gpu_found *)0)->pci) &&
           isxdigit((unsigned char)name[0]) && strchr(name, ':');
}

static int find_in(const char *root, const char *folder,
                   bool (*read_one)(const char *root, const char *pci, struct gpu_found *g),
                   struct gpu_found **ret)
{
    struct gpu_found *list = NULL;
    char path[PATH_SIZE];
    struct dirent *e;
    int n = 0;
    DIR *d;

    (void)snprintf(path, sizeof(path), "%s%s", root, folder);
    d = opendir(path);
    while (d && n < (int)GPUS_FOUND_MAX && (e = readdir(d))) {
        struct gpu_found g = { .pci = "" }, *more;

        if (!is_address(e->d_name))
            continue;
        (void)snprintf(g.pci, sizeof(g.pci), "%s", e->d_name);
        if (!read_one(root, g.pci, &g))
            continue;
        more = realloc(list, ((size_t)n + 1) * sizeof(*list));
        if (!more)
            break; /* those there is room for */
        list = more;
        list[n++] = g;
    }
    if (d)
        (void)closedir(d);
    if (n)
        qsort(list, (size_t)n, sizeof(*list), by_address);
    *ret = list;
    return n;
}

int gpus_find(const char *root, enum gpus_how how, struct gpu_found **ret)
{
    int n = 0;

    *ret = NULL;
    root = root && strcmp(root, "/") != 0 ? root : "";
    if (how == GPUS_NVIDIA || how == GPUS_NVML || how == GPUS_FULL)
        n = find_in(root, "/proc/driver/nvidia/gpus", read_nvidia, ret);
    if (!n && (how == GPUS_AMD || how == GPUS_FULL)) {
        free(*ret);
        n = find_in(root, "/sys/bus/pci/drivers/amdgpu", read_amd, ret);
    }
    return n;
}
