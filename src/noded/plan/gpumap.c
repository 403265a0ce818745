/* gpumap.c - see gpumap.h */
#include "noded/plan/gpumap.h"

#include "noded/noded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "stepd/env/env.h"
#include "stepd/env/envlist.h"
#include "stepd/env/gpuenv.h"

#define TEXT_MAX 65536u

struct gpumap {
    Pst__StepFile *gpus; /* what the node has */
    struct strbuf jobs[GPUS_MAX];
};

static bool is_number(const char *name)
{
    return *name && !name[strspn(name, "0123456789")];
}

/* The folder, which is made; -1: there is none, or it cannot be had. */
static int open_folder(const struct noded *d)
{
    _cleanup_free_ char *path = NULL;
    const char *value;
    size_t len;
    int fd;

    if (!conf_option(d->conf, CONF_SLURMD_PARAMETERS, "gpu_job_map", &value, &len) || !value)
        return -1;
    path = strndup(value, len);
    if (!path || (mkdir(path, 0755) < 0 && errno != EEXIST) ||
        (fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
        log_seldom(LOG_ERROR, "gpu_job_map=%.*s: %s: nobody is told which job has which GPU",
                   (int)len, value, path ? strerror(errno) : ERR_NOMEM);
        return -1;
    }
    return fd;
}

static void add_job(void *ctx, struct njob *job)
{
    struct gpumap *m = ctx;
    struct envlist env = { .items = NULL };
    const char *list;

    if (job->clean)
        return;
    env_script_gpus(m->gpus, job->on, &env);
    list = envlist_get(&env, "SLURM_JOB_GPUS");
    while (list && *list) {
        char *end;
        unsigned long number = strtoul(list, &end, 10);

        if (end != list && number < GPUS_MAX)
            strbuf_addf(&m->jobs[number], "%s%u", m->jobs[number].len ? "\n" : "", job->job_id);
        list = end + (*end == ',');
        if (end == list && *end)
            break;
    }
    envlist_done(&env);
}

/* Is this what the file says already? */
static bool is_told(int dir, const char *name, const struct strbuf *text)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char have[TEXT_MAX];
    ssize_t n = fd < 0 ? -1 : read(fd, have, sizeof(have));

    return n >= 0 && (size_t)n == text->len && memcmp(have, text->buf, text->len) == 0;
}

static int tell_gpu(int dir, const char *name, const struct strbuf *text)
{
    char tmp[40];
    int fd, r = 0;

    if (!text->len)
        return unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
    if (text->failed || text->len > TEXT_MAX)
        return -ENOMEM;
    if (is_told(dir, name, text))
        return 0;
    (void)snprintf(tmp, sizeof(tmp), ".%s.new", name);
    (void)unlinkat(dir, tmp, 0); /* of a slurmd that was killed */
    fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    if (write(fd, text->buf, text->len) != (ssize_t)text->len)
        r = -EIO;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(dir, tmp, dir, name) < 0)
        r = -errno;
    if (r < 0)
        (void)unlinkat(dir, tmp, 0); /* nothing depends on it */
    return r;
}

static bool has_gpu(const struct gpumap *m, unsigned long number)
{
    for (size_t i = 0; i < m->gpus->n_gpus; i++)
        if (m->gpus->gpus[i]->minor == number)
            return true;
    return false;
}

static void remove_strays(const struct gpumap *m, int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    while (list && (e = readdir(list)))
        if (is_number(e->d_name) && !has_gpu(m, strtoul(e->d_name, NULL, 10)))
            (void)unlinkat(dir, e->d_name, 0); /* tried again at the next start */
    if (list)
        (void)closedir(list);
    else if (fd >= 0)
        (void)close(fd);
}

static void write_map(struct noded *d, bool strays)
{
    _cleanup_close_ int dir = open_folder(d);
    struct gpumap *m = dir < 0 ? NULL : calloc(1, sizeof(*m));
    int r = 0;

    if (m && (m->gpus = malloc(sizeof(*m->gpus)))) {
        pst__step_file__init(m->gpus);
        if (gres_step_gpus(d->gres, m->gpus) < 0)
            r = -ENOMEM;
        else
            jobs_each(&d->jobs, add_job, m);
        for (size_t i = 0; r == 0 && i < m->gpus->n_gpus; i++) {
            uint32_t number = m->gpus->gpus[i]->minor;
            char name[16];

            (void)snprintf(name, sizeof(name), "%u", number);
            if (number < GPUS_MAX)
                r = tell_gpu(dir, name, &m->jobs[number]);
        }
        if (r == 0 && strays)
            remove_strays(m, dir);
        if (r < 0)
            log_seldom(LOG_ERROR, "gpu_job_map: %s: a file is as it was", strerror(-r));
        pst__step_file__free_unpacked(m->gpus, NULL);
    }
    for (size_t i = 0; m && i < GPUS_MAX; i++)
        strbuf_done(&m->jobs[i]);
    free(m);
}

void gpumap_begin(struct noded *d)
{
    write_map(d, true);
}

void gpumap_update(struct noded *d)
{
    write_map(d, false);
}
