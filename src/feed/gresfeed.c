/* gresfeed.c - see gresfeed.h
 *
 * Counts of one kind that are given in two ways have decided how many tasks or nodes there are
 * (base/gpucount.h).  Here the narrower count is kept: by node before by job, by task before by
 * job. */
#include "feed/gresfeed.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "base/must.h"
#include "feed/feedmem.h"

struct want {
    const char *name, *type;
    uint64_t node, job, task, socket;
};

struct wants {
    struct want *v;
    size_t n;
};

static bool same_type(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static struct want *find_want(struct wants *w, const struct gres_text *g)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->v[i].name, g->name) == 0 && same_type(w->v[i].type, g->type))
            return &w->v[i];
    w->v = must(realloc(w->v, (w->n + 1) * sizeof(*w->v)));
    w->v[w->n] = (struct want){ .name = g->name, .type = g->type };
    return &w->v[w->n++];
}

/* offset: of the count in struct want.  Of two entries of one kind the later counts. */
static void take_list(struct feed *f, struct wants *w, const char *list, size_t offset, bool tres)
{
    char *copy = list ? feed_own(f, strdup(list)) : NULL, *save = NULL;

    for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p; p = strtok_r(NULL, ",", &save)) {
        struct gres_text g;

        if (tres && strncmp(p, "gres/", 5) != 0)
            continue; /* CPUs and licences of a task */
        if (gres_text_parse(p, &g))
            *(uint64_t *)(void *)((char *)find_want(w, &g) + offset) = g.count;
    }
}

static void settle_want(struct sched_job *s, struct want *w)
{
    if (w->socket) /* of the sockets the job asks for on each node */
        w->node = MAX(w->node, w->socket * MAX(s->min_sockets, 1u));
    if (w->node || w->task)
        w->job = 0;
    if (!w->node || !w->task)
        return;
    if (!s->ntasks_per_node)
        s->ntasks_per_node = (uint32_t)MIN(MAX(w->node / w->task, 1u), (uint64_t)INT32_MAX);
    w->task = 0;
}

/* --ntasks-per-gpu without a count of GPUs. */
static void add_gpus_of_tasks(struct wants *w, const struct sched_job *s)
{
    static const struct gres_text gpu = { .name = (char *)"gpu" };

    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->v[i].name, "gpu") == 0)
            return;
    if (s->tasks_per_gpu && s->num_tasks)
        find_want(w, &gpu)->job = (s->num_tasks + s->tasks_per_gpu - 1) / s->tasks_per_gpu;
}

void feed_fill_gres(struct feed *f, const Pst__JobRecord *r)
{
    struct sched_job *s = &f->job;
    struct wants w = { 0 };
    struct sched_gres_req *list;

    take_list(f, &w, r->tres_per_node, offsetof(struct want, node), false);
    take_list(f, &w, r->tres_per_job, offsetof(struct want, job), false);
    take_list(f, &w, r->tres_per_task, offsetof(struct want, task), true);
    take_list(f, &w, r->tres_per_socket, offsetof(struct want, socket), false);
    add_gpus_of_tasks(&w, s);
    list = feed_own(f, calloc(w.n + 1, sizeof(*list)));
    for (size_t i = 0; i < w.n; i++) {
        struct want *want = &w.v[i];

        settle_want(s, want);
        if (want->node || want->job || want->task)
            list[s->ngres++] = (struct sched_gres_req){ .name = want->name,
                                                        .type = want->type,
                                                        .per_node = want->node,
                                                        .per_job = want->job,
                                                        .per_task = want->task,
                                                        .per_socket = want->socket };
    }
    s->gres = list;
    free(w.v);
}
