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
#include "noded/hw/hw.h"
#include "noded/plan/gpumig.h"
#include "stepd/env/gpuenv.h"

#define TEXT_MAX 65536u

/* A file: that of a GPU, or of a part of one. */
struct gpufile {
    char name[24];
    struct strbuf jobs;
};

struct gpumap {
    Pst__StepFile *gpus; /* what the node has */
    const char *root;
    struct gpufile *files;
    size_t n_files, most_files;
    uint32_t place[GPUS_MAX]; /* of a device among the files */
};

/* "0", or "0.7". */
static bool is_number(const char *name)
{
    size_t n = strspn(name, "0123456789"), part = name[n] == '.' ? n + 1 : n;

    return n && !name[part + strspn(name + part, "0123456789")] && (part == n || name[part]);
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

/* The place of the name among the files; a new one is made. */
static uint32_t find_file(struct gpumap *m, const char *name)
{
    size_t i = 0;

    while (i < m->n_files && strcmp(m->files[i].name, name) != 0)
        i++;
    if (i == m->n_files)
        (void)snprintf(m->files[m->n_files++].name, sizeof(m->files[i].name), "%s", name);
    return (uint32_t)i;
}

static void find_part(void *ctx, const char *kind, uint32_t number, const char *path)
{
    struct gpumap *m = ctx;
    struct gpumig mig;
    char name[24];

    if (strcmp(kind, "gpu") != 0 || number >= GPUS_MAX || m->n_files >= m->most_files ||
        !gpumig_find(m->root, path, &mig))
        return;
    (void)snprintf(name, sizeof(name), "%u.%u", mig.gpu, mig.part);
    m->place[number] = find_file(m, name);
}

/* A file for each GPU and part. */
static int name_files(struct gpumap *m, const struct gres_rows *rows)
{
    m->most_files = 2 * m->gpus->n_gpus;
    m->files = calloc(m->most_files + 1, sizeof(*m->files));
    if (!m->files)
        return -ENOMEM;
    for (size_t i = 0; i < m->gpus->n_gpus; i++) {
        const Pst__Gpu *gpu = m->gpus->gpus[i];
        char name[24];

        (void)snprintf(name, sizeof(name), "%u", gpu->minor);
        if (gpu->number < GPUS_MAX)
            m->place[gpu->number] = find_file(m, name);
    }
    gres_files(rows, find_part, m);
    return 0;
}

static void add_job(void *ctx, struct njob *job)
{
    struct gpumap *m = ctx;
    const Pst__Gpu *list[GPUS_MAX];
    size_t n = job->clean ? 0 : gpu_list_job(m->gpus, job->on, list);

    for (size_t i = 0; i < n; i++) {
        struct strbuf *jobs = &m->files[m->place[list[i]->number]].jobs;
        bool told = false;

        for (size_t k = 0; k < i && !told; k++) /* once for several devices of one file */
            told = m->place[list[k]->number] == m->place[list[i]->number];
        if (!told)
            strbuf_addf(jobs, "%s%u", jobs->len ? "\n" : "", job->job_id);
    }
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

static bool has_file(const struct gpumap *m, const char *name)
{
    for (size_t i = 0; i < m->n_files; i++)
        if (strcmp(m->files[i].name, name) == 0)
            return true;
    return false;
}

static void remove_strays(const struct gpumap *m, int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    while (list && (e = readdir(list)))
        if (is_number(e->d_name) && !has_file(m, e->d_name))
            (void)unlinkat(dir, e->d_name, 0); /* tried again at the next start */
    if (list)
        (void)closedir(list);
    else if (fd >= 0)
        (void)close(fd);
}

static void write_map(struct noded *d, bool strays)
{
    _cleanup_close_ int dir = open_folder(d);
    _cleanup_free_ char *root = hw_root(d->conf);
    struct gpumap *m = dir < 0 || !root ? NULL : calloc(1, sizeof(*m));
    int r = 0;

    if (m && (m->gpus = malloc(sizeof(*m->gpus)))) {
        pst__step_file__init(m->gpus);
        m->root = root;
        if (gres_step_gpus(d->gres, m->gpus) < 0 || name_files(m, d->gres) < 0)
            r = -ENOMEM;
        else
            jobs_each(&d->jobs, add_job, m);
        for (size_t i = 0; r == 0 && i < m->n_files; i++)
            r = tell_gpu(dir, m->files[i].name, &m->files[i].jobs);
        if (r == 0 && strays)
            remove_strays(m, dir);
        if (r < 0)
            log_seldom(LOG_ERROR, "gpu_job_map: %s: a file is as it was", strerror(-r));
        pst__step_file__free_unpacked(m->gpus, NULL);
    }
    for (size_t i = 0; m && i < m->n_files; i++)
        strbuf_done(&m->files[i].jobs);
    if (m)
        free(m->files);
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
