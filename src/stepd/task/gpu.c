/* gpu.c - which GPUs each task sees; see gpu.h */
#include "stepd/task/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/bind/gpubind.h"
#include "stepd/task/bind.h"
#include "stepd/task/gpuclock.h"
#include "stepd/step.h"

struct step_gpus {
    struct gpubind bind;
    const Pst__Gpu *list[GPUS_MAX];
    size_t n;
};

/* The part about GPUs of "gres/x:...+gres/gpu:...". */
static char *gpu_part(const char *text)
{
    while (text && *text) {
        size_t len = strcspn(text, "+");

        if (strncmp(text, "gres/", 5) != 0 || strncmp(text, "gres/gpu:", 9) == 0)
            return strndup(text, len);
        text += len + (text[len] == '+');
    }
    return NULL;
}

void gpu_prepare(struct step *s)
{
    _cleanup_free_ char *text = s->launch ? gpu_part(s->launch->tres_bind) : NULL;
    struct err err = { .text = "" };

    if (!text)
        return;
    s->gpus = calloc(1, sizeof(*s->gpus));
    if (!s->gpus || gpubind_parse(text, &s->gpus->bind, &err) < 0) {
        step_fail(s, "%s", err_or_nomem(&err));
        return;
    }
    s->gpus->n = gpu_list_here(s->sf, s->gpus->list);
}

/* GPUs with a core among the task's CPUs. */
static struct bitmap *near_ones(const struct step *s, size_t index)
{
    const Pst__Processors *p = s->sf->processors;
    const struct bitmap *cpus = bind_cpus(s, index);
    struct bitmap *near = NULL;

    if (!p || !cpus || bitmap_new((uint32_t)s->gpus->n, &near) < 0)
        return NULL;
    for (size_t i = 0; i < s->gpus->n; i++) {
        _cleanup_(bitmap_free) struct bitmap *cores = NULL;

        if (!s->gpus->list[i]->cores || bitmap_new(p->sockets * p->cores, &cores) < 0 ||
            bitmap_parse(cores, s->gpus->list[i]->cores, NULL) < 0) {
            bitmap_set(near, (uint32_t)i); /* near to all */
            continue;
        }
        BITMAP_FOREACH (cores, core)
            for (uint32_t t = 0; t < p->threads; t++) {
                size_t at = (size_t)core * p->threads + t;

                if (at < p->n_os_ids && p->os_ids[at] < cpus->nbits &&
                    bitmap_test(cpus, p->os_ids[at]))
                    bitmap_set(near, (uint32_t)i);
            }
    }
    return near;
}

static struct bitmap *choose_gpus(const struct step *s, size_t index, bool *ret_asked_for_ours)
{
    _cleanup_(bitmap_free) struct bitmap *near = NULL;
    struct bitmap *bm = NULL;

    if (!s->gpus || !s->gpus->n || bitmap_new((uint32_t)s->gpus->n, &bm) < 0)
        return NULL;
    if (s->gpus->bind.kind == GPUBIND_CLOSEST)
        near = near_ones(s, index);
    *ret_asked_for_ours = gpubind_task(&s->gpus->bind, (uint32_t)index, near, bm);
    return bm;
}

/* Tasks with GPUs of their own are not told of the step's others. */
static void put_ids(const struct step *s, const struct bitmap *bm, struct envlist *el)
{
    _cleanup_val_(strbuf_done) struct strbuf ids = STRBUF_INIT;

    BITMAP_FOREACH (bm, i)
        strbuf_addf(&ids, "%s%u", ids.len ? "," : "", s->gpus->list[i]->minor);
    if (ids.len)
        envlist_set(el, "SLURM_STEP_GPUS", strbuf_str(&ids));
}

void gpu_task(const struct step *s, size_t index, struct envlist *el)
{
    bool ours = true;
    _cleanup_(bitmap_free) struct bitmap *bm = choose_gpus(s, index, &ours);

    if (!bm)
        return;
    if (!ours)
        step_notice((struct step *)s,
                    "task %u: the binding of GPUs names none of the step's; it gets the first",
                    s->tasks[index].rank);
    if (s->gpus->bind.kind == GPUBIND_PER_TASK)
        put_ids(s, bm, el);
    gpu_put(s->sf, s->gpus->list, s->gpus->n, bm, el);
}

size_t gpu_first_task(const struct step *s, const Pst__Gpu *gpu)
{
    size_t at = 0;

    while (s->gpus && at < s->gpus->n && s->gpus->list[at] != gpu)
        at++;
    for (size_t i = 0; s->gpus && at < s->gpus->n && i < s->n_tasks; i++) {
        bool ours;
        _cleanup_(bitmap_free) struct bitmap *bm = choose_gpus(s, i, &ours);

        if (bm && bitmap_test(bm, (uint32_t)at))
            return i;
    }
    return 0;
}

static void put_list(char *buf, size_t size, const struct step *s, const struct bitmap *bm,
                     bool relative)
{
    size_t at = 0;

    buf[0] = '\0';
    BITMAP_FOREACH (bm, i)
        if (at < size)
            at += (size_t)snprintf(buf + at, size - at, "%s%u", at ? "," : "",
                                   relative ? i : s->gpus->list[i]->minor);
}

static void tell_freq(const struct step *s, size_t index, int fd)
{
    const char *line = gpuclock_line(s);

    if (index == 0 && line)
        output_tell(s, fd, line, strlen(line));
}

void gpu_tell(const struct step *s, size_t index, int fd)
{
    bool ours;
    _cleanup_(bitmap_free) struct bitmap *bm =
        s->gpus && s->gpus->bind.verbose ? choose_gpus(s, index, &ours) : NULL;
    uint64_t all = 0, mine = 0;
    char global[256], local[256], line[sizeof(global) + sizeof(local) + 128];

    tell_freq(s, index, fd);
    if (!bm)
        return;
    for (uint32_t i = 0; i < s->gpus->n && i < GPUBIND_GPUS_MAX; i++) {
        all |= UINT64_C(1) << i;
        mine |= (uint64_t)bitmap_test(bm, i) << i;
    }
    put_list(global, sizeof(global), s, bm, false);
    put_list(local, sizeof(local), s, bm, s->sf->gpus_relative);
    (void)snprintf(line, sizeof(line),
                   "gpu-bind: usable_gres=0x%llX; bit_alloc=0x%llX; local_inx=0; global_list=%s; "
                   "local_list=%s\n",
                   (unsigned long long)mine, (unsigned long long)all, global, local);
    output_tell(s, fd, line, strlen(line));
}

void gpu_done(struct step *s)
{
    if (s->gpus)
        gpubind_done(&s->gpus->bind);
    free(s->gpus);
    s->gpus = NULL;
}
