/* shape.c - shapes: all that selection looks at in a job, each kept once.
 *
 * A shape is found by the bytes of its key, node lists and strings (hash-consing).  It lives as
 * long as a class refers to it. */
#include "sched/state/shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/compare/order.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/base/constraint.h"
#include "sched/base/extra.h"
#include "sched/state/lics.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

void shape_free(struct shape *sh)
{
    if (sh) {
        free(sh->nodes);
        free(sh->text);
        constraint_free(sh->features);
        constraint_free(sh->prefer);
        extra_free(sh->extra);
        free(sh);
    }
}

static uint32_t add_text(struct shape *sh, const char *text)
{
    uint32_t at = sh->ntext;
    size_t len = text ? strlen(text) + 1 : 0;

    if (!text)
        return UINT32_MAX;
    memcpy(sh->text + at, text, len);
    sh->ntext += (uint32_t)len;
    return at;
}

static int alloc_text(struct shape *sh, const struct sched_job *job)
{
    const char *const exprs[] = { job->features, job->prefer, job->extra };
    size_t len = 1;

    for (size_t i = 0; i < ARRAY_SIZE(exprs); i++) {
        size_t n = exprs[i] ? strnlen(exprs[i], CONSTRAINT_TEXT_MAX + 1) : 0;

        if (n > CONSTRAINT_TEXT_MAX)
            return -E2BIG;
        len += n + 1;
    }
    for (size_t i = 0; i < job->ngres; i++) {
        if (!job->gres[i].name)
            return -EINVAL;
        len +=
            strlen(job->gres[i].name) + 1 + (job->gres[i].type ? strlen(job->gres[i].type) + 1 : 0);
    }
    sh->text = malloc(len);
    return sh->text ? 0 : -ENOMEM;
}

static uint32_t copy_ids(uint32_t *to, const uint32_t *from, size_t n)
{
    uint32_t kept = 0;

    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
    if (n)
        qsort(to, n, sizeof(*to), order_u32);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || to[i] != to[kept - 1])
            to[kept++] = to[i];
    return kept;
}

/* Typed requests before untyped ones, so that "any" does not take what another row needs; among
 * these, requests for the whole job first, where node_fit() looks for them. */
static void add_gres(struct shape *sh, const struct sched_job *job)
{
    for (int pass = 0; pass < 4; pass++) {
        for (size_t i = 0; i < job->ngres; i++) {
            const struct sched_gres_req *g = &job->gres[i];
            int want = (g->per_job ? 0 : 2) + (g->type ? 0 : 1);

            if (want != pass)
                continue;
            sh->npj += g->per_job != 0;
            sh->key.gres[sh->key.ngres++] =
                (struct shape_gres){ .per_node = g->per_node,
                                     .per_job = g->per_job,
                                     .per_task = g->per_task,
                                     .per_socket = g->per_socket,
                                     .name_off = add_text(sh, g->name),
                                     .type_off = add_text(sh, g->type) };
        }
    }
}

static void fill_key(const struct sched *s, struct shape *sh, const struct sched_job *job,
                     const struct sched_job_resv *resv)
{
    struct shape_key *k = &sh->key;

    k->min_nodes = MAX(job->min_nodes, 1u);
    k->max_nodes = job->max_nodes;
    k->num_tasks = job->num_tasks;
    k->cpus_per_task = job->cpus_per_task;
    k->ntasks_per_node = job->ntasks_per_node;
    k->ntasks_per_core = job->ntasks_per_core;
    k->ntasks_per_socket = job->ntasks_per_socket;
    k->threads_per_core = job->threads_per_core;
    k->pn_min_cpus = job->pn_min_cpus;
    if (job->overcommit && job->cpus_per_task > 1) /* a node holds one of its tasks at least */
        k->pn_min_cpus = MAX(k->pn_min_cpus, job->cpus_per_task);
    k->min_sockets = job->min_sockets;
    k->min_cores_per_socket = job->min_cores_per_socket;
    k->resv = resv ? resv->id : 0;
    k->socket_dist = job->socket_dist;
    k->core_spec = job->core_spec;
    k->cpus_per_gpu = job->cpus_per_gpu;
    k->tasks_per_gpu = job->tasks_per_gpu;
    k->mem_per_gpu_mib = job->mem_per_gpu_mib;
    k->flags =
        (job->exclusive || job->core_spec || job->kept_too ? SHAPE_EXCLUSIVE : 0u) |
        (job->kept_too ? SHAPE_KEPT_TOO : 0u) | (job->oversubscribe ? SHAPE_SHARE : 0u) |
        (job->overcommit ? SHAPE_OVERCOMMIT : 0u) | (job->contiguous ? SHAPE_CONTIGUOUS : 0u) |
        (job->spread ? SHAPE_SPREAD : 0u) | (job->has_mem_per_node ? SHAPE_MEM_PER_NODE : 0u) |
        (job->use_min_nodes ? SHAPE_USE_MIN_NODES : 0u) |
        (resv && resv->magnetic ? SHAPE_DRAWN : 0u) | (job->pack ? SHAPE_PACK : 0u) |
        (job->gres_bind == SCHED_BIND_ENFORCE ? SHAPE_BIND : 0u) |
        (job->gres_bind == SCHED_BIND_NONE ? SHAPE_NO_BIND : 0u) |
        (job->one_task_per_share ? SHAPE_TASK_SHARE : 0u) |
        (job->any_part_size ? SHAPE_ANY_PART_SIZE : 0u) |
        (job->spec_threads ? SHAPE_SPEC_THREADS : 0u) | (job->expedite ? SHAPE_EXPEDITE : 0u) |
        (job->exclusive_topo ? SHAPE_EXCLUSIVE_TOPO : 0u) | (job->external ? SHAPE_EXTERNAL : 0u) |
        (job->may_boot && job->features ? SHAPE_BOOT : 0u) | (job->extra ? SHAPE_EXTRA : 0u);
    k->segment_size = job->segment_size;
    k->switches = job->switches;
    if (k->segment_size)
        k->flags |= (job->spread_segments ? SHAPE_SPREAD_SEGMENTS : 0u) |
                    (job->consolidate_segments ? SHAPE_CONSOLIDATE : 0u);
    if (job->label)
        k->label = strtab_find(&s->label_tab, job->label, strlen(job->label)) +
                   1; /* job_build() entered it */
    if (s->uids) {
        k->flags |= SHAPE_UID | (job->exclusive_user ? SHAPE_OWNED : 0u);
        k->uid = job->uid;
    }
    k->mem_per_node_mib = job->has_mem_per_node ? job->mem_per_node_mib : 0;
    k->mem_per_cpu_mib = job->has_mem_per_node ? 0 : job->mem_per_cpu_mib;
}

/* How many numbers there are in sh->nodes. */
static uint32_t count_numbers(const struct shape_key *k)
{
    return k->nreq + k->nexc + k->ncounts + 3u * k->nlics + k->nlisted;
}

uint32_t shape_listed(const struct shape *shape, uint32_t node_id)
{
    const struct shape_key *k = &shape->key;
    const uint32_t *at = bsearch(&node_id, shape->nodes, k->nreq, sizeof(*at), order_u32);

    return at && k->nlisted ? shape->nodes[count_numbers(k) - k->nlisted + (at - shape->nodes)] : 0;
}

struct job_lic shape_lic(const struct shape *shape, uint32_t i)
{
    const struct shape_key *k = &shape->key;
    const uint32_t *v = shape->nodes + k->nreq + k->nexc + k->ncounts + (size_t)3 * i;

    return (struct job_lic){ .id = v[0], .count = v[1] | (uint64_t)v[2] << 32 };
}

/* Licences with layers decide about nodes.  Of alternatives the others do too: their place in the
 * order counts. */
static void add_lics(const struct sched *s, struct shape *sh, const struct job_lics *want)
{
    struct shape_key *k = &sh->key;
    uint32_t *v = sh->nodes + k->nreq + k->nexc + k->ncounts;

    for (uint32_t i = 0; want->layered && i < want->n; i++) {
        if (!want->any && !s->lics[want->v[i].id].hres)
            continue;
        *v++ = want->v[i].id;
        *v++ = (uint32_t)want->v[i].count;
        *v++ = (uint32_t)(want->v[i].count >> 32);
        k->nlics++;
    }
    k->lics_any = want->layered && want->any;
}

/* After all others; those of a node that is listed twice count together. */
static void add_listed(struct shape *sh, const struct sched_job *job)
{
    uint32_t *tasks = sh->nodes + count_numbers(&sh->key);

    if (!job->req_tasks)
        return;
    memset(tasks, 0, sh->key.nreq * sizeof(*tasks));
    for (size_t i = 0; i < job->nreq; i++) {
        const uint32_t *at =
            bsearch(&job->req_nodes[i], sh->nodes, sh->key.nreq, sizeof(*at), order_u32);

        tasks[at - sh->nodes] += job->req_tasks[i];
    }
    sh->key.nlisted = sh->key.nreq;
}

static int shape_build(const struct sched *s, const struct sched_job *job,
                       const struct job_lics *want, const struct sched_job_resv *resv,
                       struct shape **ret)
{
    size_t nlics = want->layered ? want->n : 0;
    struct shape *sh;
    uint32_t npj = 0;
    int r;

    if (!job->cpus_per_task || job->ngres > SCHED_MAX_JOB_GRES ||
        (job->max_nodes && job->max_nodes < job->min_nodes))
        return -EINVAL;
    for (size_t i = 0; i < job->ngres; i++)
        npj += job->gres[i].per_job != 0;
    if (npj > SHAPE_PER_JOB_MAX || job->nreq + job->nexc + job->nnode_counts > BITMAP_MAX_BITS)
        return -EINVAL;
    sh = calloc(1, sizeof(*sh));
    if (!sh)
        return -ENOMEM;
    r = alloc_text(sh, job);
    sh->nodes = r == 0 ? malloc((2 * job->nreq + job->nexc + job->nnode_counts + 3 * nlics + 1) *
                                sizeof(*sh->nodes))
                       : NULL;
    if (r == 0 && !sh->nodes)
        r = -ENOMEM;
    if (r < 0) {
        shape_free(sh);
        return r;
    }
    fill_key(s, sh, job, resv);
    sh->key.nreq = copy_ids(sh->nodes, job->req_nodes, job->nreq);
    sh->key.nexc = copy_ids(sh->nodes + sh->key.nreq, job->exc_nodes, job->nexc);
    sh->key.ncounts =
        copy_ids(sh->nodes + sh->key.nreq + sh->key.nexc, job->node_counts, job->nnode_counts);
    add_lics(s, sh, want);
    add_listed(sh, job);
    add_gres(sh, job);
    sh->key.features_off = UINT32_MAX;
    if (job->features && job->features[0])
        sh->key.features_off = add_text(sh, job->features);
    sh->key.prefer_off = UINT32_MAX;
    if (job->prefer && job->prefer[0])
        sh->key.prefer_off = add_text(sh, job->prefer);
    add_text(sh, job->extra);
    *ret = sh;
    return 0;
}

static bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->hash == b->hash && a->ntext == b->ntext &&
           !memcmp(&a->key, &b->key, sizeof(a->key)) &&
           !memcmp(a->nodes, b->nodes, count_numbers(&a->key) * sizeof(*a->nodes)) &&
           !memcmp(a->text, b->text, a->ntext);
}

static int grow_shapes(struct sched *s)
{
    uint32_t n = s->nshape_slots ? s->nshape_slots * 2 : 64;
    struct shape **slots = calloc(n, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->nshape_slots; i++) {
        for (struct shape *sh = s->shape_slots[i], *next; sh; sh = next) {
            next = sh->hash_next;
            sh->hash_next = slots[sh->hash & (n - 1)];
            slots[sh->hash & (n - 1)] = sh;
        }
    }
    free(s->shape_slots);
    s->shape_slots = slots;
    s->nshape_slots = n;
    return 0;
}

static const char *last_text(const struct shape *sh)
{
    uint32_t at = sh->ntext - 1;

    while (at && sh->text[at - 1])
        at--;
    return sh->text + at;
}

/* The shape like sh that there is, or sh itself; takes sh. */
static int intern_shape(struct sched *s, struct shape *sh, struct shape **ret)
{
    struct shape **slot;
    int r = 0;

    sh->hash = strtab_hash(&sh->key, sizeof(sh->key)) * 31 +
               strtab_hash(sh->nodes, count_numbers(&sh->key) * sizeof(*sh->nodes)) * 7 +
               strtab_hash(sh->text, sh->ntext);
    slot = &s->shape_slots[sh->hash & (s->nshape_slots - 1)];
    for (struct shape *old = *slot; old; old = old->hash_next) {
        if (shape_equal(old, sh)) {
            shape_free(sh);
            old->refs++;
            *ret = old;
            return 0;
        }
    }
    if (sh->key.features_off != UINT32_MAX)
        r = constraint_parse(sh->text + sh->key.features_off, &sh->features, NULL);
    if (r == 0 && sh->key.prefer_off != UINT32_MAX)
        r = constraint_parse(sh->text + sh->key.prefer_off, &sh->prefer, NULL);
    if (r == 0 && sh->key.flags & SHAPE_EXTRA)
        r = extra_parse(last_text(sh), &sh->extra, NULL);
    if (r < 0) {
        shape_free(sh);
        return r;
    }
    sh->refs = 1;
    sh->hash_next = *slot;
    *slot = sh;
    s->nshapes++;
    *ret = sh;
    return 0;
}

int shape_get(struct sched *s, const struct sched_job *job, const struct job_lics *want,
              const struct sched_job_resv *resv, struct shape **ret)
{
    struct shape *sh = NULL;
    int r = s->nshapes < s->nshape_slots ? 0 : grow_shapes(s);

    if (r == 0)
        r = shape_build(s, job, want, resv, &sh);
    return r < 0 ? r : intern_shape(s, sh, ret);
}

int shape_any_switches(struct sched *s, const struct shape *like, struct shape **ret)
{
    struct shape *sh;
    int r = s->nshapes < s->nshape_slots ? 0 : grow_shapes(s);

    sh = r == 0 ? calloc(1, sizeof(*sh)) : NULL;
    if (!sh)
        return -ENOMEM;
    sh->key = like->key;
    sh->key.switches = 0;
    sh->ntext = like->ntext;
    sh->npj = like->npj;
    sh->nodes = malloc(((size_t)count_numbers(&like->key) + 1) * sizeof(*sh->nodes));
    sh->text = malloc(like->ntext + 1);
    if (!sh->nodes || !sh->text) {
        shape_free(sh);
        return -ENOMEM;
    }
    memcpy(sh->nodes, like->nodes, (size_t)count_numbers(&like->key) * sizeof(*sh->nodes));
    memcpy(sh->text, like->text, like->ntext);
    return intern_shape(s, sh, ret);
}

void shape_unref(struct sched *s, struct shape *sh)
{
    struct shape **pp = &s->shape_slots[sh->hash & (s->nshape_slots - 1)];

    if (--sh->refs)
        return;
    while (*pp != sh)
        pp = &(*pp)->hash_next;
    *pp = sh->hash_next;
    s->nshapes--;
    shape_free(sh);
}

/* ---- classes --------------------------------------------------------------------------------- */

uint32_t shape_must(const struct shape *shape)
{
    const struct shape_key *k = &shape->key;

    return k->max_nodes && k->nreq > k->max_nodes ? 0 : k->nreq;
}

double shape_nodes(const struct shape *shape)
{
    return MAX(shape->key.min_nodes, 1u);
}

double shape_cpus(const struct shape *shape)
{
    const struct shape_key *k = &shape->key;
    double tasks = k->num_tasks ? k->num_tasks : shape_nodes(shape) * MAX(k->ntasks_per_node, 1u);

    return tasks * k->cpus_per_task;
}
