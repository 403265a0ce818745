/* nodeimex.c - see nodeimex.h */
#include "noded/plan/nodeimex.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "model/words/imexwords.h"
#include "noded/hw/hw.h"

#define IMEX_DIR "/dev/nvidia-caps-imex-channels"
#define PATH_SIZE 4096

uint32_t nodeimex_major(const char *root)
{
    char path[PATH_SIZE], line[256], name[64];
    _cleanup_fclose_ FILE *f = NULL;
    bool character = false;
    unsigned number;

    (void)snprintf(path, sizeof(path), "%s/proc/devices", root);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (strstr(line, "devices:"))
            character = strncmp(line, "Character", 9) == 0;
        else if (character && sscanf(line, " %u %63s", &number, name) == 2 &&
                 strcmp(name, "nvidia-caps-imex-channels") == 0)
            return number;
    }
    return 0;
}

/* Devices of jobs that are over: of slurmd alone, which made the folder. */
static void empty_folder(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *e;

    while (dir && (e = readdir(dir)))
        if (strncmp(e->d_name, "channel", 7) == 0 && unlinkat(dirfd(dir), e->d_name, 0) < 0)
            log_error("cannot remove %s/%s: %s", path, e->d_name, strerror(errno));
    if (dir)
        (void)closedir(dir);
}

static int nodeimex_dir(const struct noded *d, char **ret)
{
    _cleanup_free_ char *root = hw_root(d->conf);

    return root && asprintf(ret, "%s%s", root, IMEX_DIR) >= 0 ? 0 : -ENOMEM;
}

static bool uses_imex(const struct noded *d)
{
    const char *type = conf_str(d->conf, CONF_SWITCH_TYPE);

    return type && strcasecmp(type, "switch/nvidia_imex") == 0;
}

static uint32_t major_of(const struct noded *d)
{
    _cleanup_free_ char *root = hw_root(d->conf);
    uint64_t major = 0;

    if (conf_option_u64(d->conf, CONF_SWITCH_PARAMETERS, "imex_dev_major", &major) && major)
        return (uint32_t)major;
    return root ? nodeimex_major(root) : 0;
}

void nodeimex_begin(struct noded *d)
{
    _cleanup_free_ char *dir = NULL;

    d->imex_major = 0;
    if (!uses_imex(d) || nodeimex_dir(d, &dir) < 0)
        return;
    d->imex_major = major_of(d);
    if (!d->imex_major) {
        log_error("no driver of IMEX channels in /proc/devices: jobs here get no channel");
        return;
    }
    if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
        log_error("cannot make %s: %s: jobs here get no channel", dir, strerror(errno));
        d->imex_major = 0;
        return;
    }
    empty_folder(dir);
}

int nodeimex_plan(const struct noded *d, Pst__StepFile *sf)
{
    uint32_t channel = d->imex_major && sf->job->job ? job_imex_channel(sf->job->job, d->name) : 0;

    if (!channel)
        return 0;
    sf->has_imex_channel = sf->has_imex_major = true;
    sf->imex_channel = channel;
    sf->imex_major = d->imex_major;
    return nodeimex_dir(d, &sf->imex_dir);
}
