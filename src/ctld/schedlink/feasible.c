/* feasible.c - could this job ever run?; see feasible.h. */
#include "ctld/schedlink/feasible.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/sametext.h"
#include "ctld/job/jobfacts.h"
#include "ctld/core/service.h"
#include "ctld/schedlink/idlemodel.h"
#include "ctld/topology/topology.h"
#include "sched/base/constraint.h"
#include "sched/topo/topo.h"

struct node_class {
    const Pst__NodeRecord *like; /* borrowed from one of its nodes; valid until invalidated */
    struct bitmap *nodes;
};

struct feasible {
    struct node_class *classes;
    size_t n;
    bool valid;
    struct idlemodel *idle;
};

int feasible_new(struct feasible **ret)
{
    struct feasible *f = calloc(1, sizeof(*f));

    if (!f || idlemodel_new(&f->idle) < 0) {
        free(f);
        return -ENOMEM;
    }
    *ret = f;
    return 0;
}

void feasible_invalidate(struct feasible *f)
{
    for (size_t i = 0; i < f->n; i++)
        bitmap_free(f->classes[i].nodes);
    free(f->classes);
    *f = (struct feasible){ .idle = f->idle };
}

void feasible_place_anew(struct feasible *f)
{
    idlemodel_parts(f->idle);
}

struct feasible *feasible_free(struct feasible *f)
{
    if (!f)
        return NULL;
    feasible_invalidate(f);
    idlemodel_free(f->idle);
    free(f);
    return NULL;
}

static bool same_make(const Pst__NodeRecord *a, const Pst__NodeRecord *b)
{
    return a->cpus == b->cpus && a->sockets == b->sockets &&
           a->cores_per_socket == b->cores_per_socket &&
           a->threads_per_core == b->threads_per_core && a->real_memory_mib == b->real_memory_mib &&
           a->mem_spec_mib == b->mem_spec_mib && a->tmp_disk_mib == b->tmp_disk_mib &&
           same_or_missing(a->features, b->features) && same_or_missing(a->gres, b->gres);
}

static struct node_class *class_of(struct feasible *f, const struct cluster *c,
                                   const Pst__NodeRecord *r)
{
    struct node_class *bigger;

    for (size_t i = f->n; i-- > 0;) /* neighbours are alike: the last class first */
        if (same_make(f->classes[i].like, r))
            return &f->classes[i];
    bigger = realloc(f->classes, (f->n + 1) * sizeof(*bigger));
    if (!bigger)
        return NULL;
    f->classes = bigger;
    f->classes[f->n] = (struct node_class){ .like = r };
    if (bitmap_new(c->nnodes, &f->classes[f->n].nodes) < 0)
        return NULL;
    return &f->classes[f->n++];
}

static void build_classes(struct feasible *f, const struct cluster *c)
{
    feasible_invalidate(f);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        struct node_class *k = c->nodes[i] ? must(class_of(f, c, c->nodes[i]->rec)) : NULL;

        if (k)
            bitmap_set(k->nodes, i);
    }
    f->valid = true;
}

/* ---- what one node must offer ---------------------------------------------------------------- */

struct demand {
    uint32_t nodes; /* at least */
    uint64_t tasks; /* in all, 0 = one per node */
    uint32_t cpt;
    uint32_t per_node; /* tasks on each, 0 = free */
    uint64_t mem;      /* per node */
    uint64_t mem_cpu;
    uint32_t cpus_max; /* of a node that the partition gives to a job; 0 = all */
};

static struct demand demand_of(const Pst__JobRecord *r, bool memory_counts)
{
    struct demand d = { .nodes = r->has_min_nodes && r->min_nodes ? r->min_nodes : 1,
                        .tasks = r->has_num_tasks ? r->num_tasks : 0,
                        .cpt = r->has_cpus_per_task && r->cpus_per_task ? r->cpus_per_task : 1,
                        .per_node = r->has_ntasks_per_node ? r->ntasks_per_node : 0 };

    if (memory_counts && r->has_mem_per_node_mib)
        d.mem = r->mem_per_node_mib;
    if (memory_counts && r->has_mem_per_cpu_mib)
        d.mem_cpu = r->mem_per_cpu_mib;
    return d;
}

/* Devices of the kind on a node of this make. */
static uint64_t gres_on(const Pst__NodeRecord *n, const struct gres_text *kind)
{
    _cleanup_free_ char *has = strdup(n->gres ? n->gres : "");
    struct gres_text have;
    uint64_t sum = 0;
    char *save = NULL;

    for (char *h = has ? strtok_r(has, ",", &save) : NULL; h; h = strtok_r(NULL, ",", &save))
        if (gres_text_parse(h, &have) && strcmp(have.name, kind->name) == 0 &&
            (!kind->type || same_or_missing(have.type, kind->type) ||
             (!have.type && gres_shares_gpu(have.name))))
            sum += have.count;
    return sum;
}

static bool gres_fits(const Pst__NodeRecord *n, const char *want)
{
    _cleanup_free_ char *wants = strdup(want);
    char *save = NULL;

    for (char *w = wants ? strtok_r(wants, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text need;

        if (gres_text_parse(w, &need) && gres_on(n, &need) < need.count)
            return false;
    }
    return true;
}

/* Are there nodes in the partition with devices of every kind that the job wants in all?  (Too
 * few of them is a matter of the partition, which may grow.) */
static bool gres_within(const struct feasible *f, const struct partition *p, const char *want)
{
    _cleanup_free_ char *wants = strdup(want);
    char *save = NULL;

    for (char *w = wants ? strtok_r(wants, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text need;
        uint64_t sum = 0;

        if (!gres_text_parse(w, &need))
            continue;
        for (size_t i = 0; i < f->n; i++)
            if (f->classes[i].nodes->nbits == p->nodes->nbits)
                sum += bitmap_count_and(f->classes[i].nodes, p->nodes) *
                       gres_on(f->classes[i].like, &need);
        if (sum < need.count)
            return false;
    }
    return true;
}

/* Nodes that devices of one kind fill at least; 0: no node of the partition has any. */
static uint32_t gres_fill(const struct feasible *f, const struct partition *p,
                          const struct gres_text *need)
{
    uint64_t most = 0;

    for (size_t i = 0; i < f->n; i++)
        if (f->classes[i].nodes->nbits == p->nodes->nbits &&
            bitmap_overlaps(f->classes[i].nodes, p->nodes))
            most = MAX(most, gres_on(f->classes[i].like, need));
    return most ? (uint32_t)MIN((need->count + most - 1) / most, UINT32_MAX) : 0;
}

uint32_t feasible_gres_nodes(struct feasible *f, const struct cluster *c, const struct partition *p,
                             const char *want)
{
    _cleanup_free_ char *wants = strdup(want);
    uint32_t least = 0;
    char *save = NULL;

    if (!f->valid)
        build_classes(f, c);
    for (char *w = wants ? strtok_r(wants, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text need;

        if (gres_text_parse(w, &need))
            least = MAX(least, gres_fill(f, p, &need));
    }
    return least;
}

/* Tasks that fit on an empty node of this make; 0 = the node is of no use. */
static uint32_t class_tasks(const Pst__NodeRecord *n, const Pst__JobRecord *r,
                            const struct demand *d, const char **hint)
{
    uint64_t mem = n->real_memory_mib > n->mem_spec_mib ? n->real_memory_mib - n->mem_spec_mib : 0;
    uint32_t tasks = (d->cpus_max ? MIN(d->cpus_max, n->cpus) : n->cpus) / d->cpt;

    if (d->mem > mem || d->mem_cpu > mem / d->cpt) {
        *hint = "Memory specification can not be satisfied";
        return 0;
    }
    if (d->mem_cpu)
        tasks = (uint32_t)MIN(tasks, mem / (d->mem_cpu * d->cpt));
    if (r->has_overcommit && r->overcommit && n->cpus >= d->cpt)
        tasks = UINT32_MAX;
    if ((r->has_pn_min_cpus && r->pn_min_cpus > n->cpus) || !tasks ||
        (d->per_node && tasks < d->per_node)) {
        *hint = "CPU count per node can not be satisfied";
        return 0;
    }
    if (r->has_tmp_disk_mib && r->tmp_disk_mib > n->tmp_disk_mib) {
        *hint = "Temporary disk specification can not be satisfied";
        return 0;
    }
    if ((r->has_sockets_per_node && r->sockets_per_node > n->sockets) ||
        (r->has_cores_per_socket && r->cores_per_socket > n->cores_per_socket) ||
        (r->has_threads_per_core && r->threads_per_core > n->threads_per_core)) {
        *hint = "Socket, core and/or thread specification can not be satisfied";
        return 0;
    }
    if ((r->tres_per_node && !gres_fits(n, r->tres_per_node)) ||
        (r->has_ntasks_per_socket &&
         r->ntasks_per_socket > (uint64_t)n->cores_per_socket * n->threads_per_core))
        return 0;
    return d->per_node ? d->per_node : tasks;
}

/* ---- names in the request -------------------------------------------------------------------- */

static bool feature_known(const struct feasible *f, const char *word, size_t len)
{
    for (size_t i = 0; i < f->n; i++) {
        for (const char *p = f->classes[i].like->features; p && *p;) {
            size_t n = strcspn(p, ",");

            if (n == len && strncmp(p, word, len) == 0)
                return true;
            p += n + (p[n] == ',');
        }
    }
    return false;
}

/* Every name of a constraint expression must be a feature of some node. */
static bool features_known(const struct feasible *f, const char *expr)
{
    static const char ops[] = "&|[](),*: ";

    if (strnlen(expr, CONSTRAINT_TEXT_MAX + 1) > CONSTRAINT_TEXT_MAX)
        return false;
    for (const char *p = expr; *p;) {
        size_t n = strcspn(p, ops);
        bool count = p > expr && p[-1] == '*'; /* "a*2" */

        if (n && !count && !feature_known(f, p, n))
            return false;
        p += n;
        p += *p != '\0';
    }
    return true;
}

static bool is_constraint(const char *expr)
{
    _cleanup_(constraint_free) struct constraint *parsed = NULL;

    return !*expr || constraint_parse(expr, &parsed, NULL) == 0;
}

/* ---- constraints over classes ---------------------------------------------------------------- */

struct lookup {
    const struct feasible *f;
    struct bitmap *bits; /* over classes; valid until the next question */
};

static const struct bitmap *classes_with(void *arg, const char *name, size_t len)
{
    struct lookup *l = arg;

    bitmap_zero(l->bits);
    for (size_t i = 0; i < l->f->n; i++)
        for (const char *p = l->f->classes[i].like->features; p && *p;) {
            size_t n = strcspn(p, ",");

            if (n == len && strncmp(p, name, len) == 0)
                bitmap_set(l->bits, (uint32_t)i);
            p += n + (p[n] == ',');
        }
    return l->bits;
}

/* The classes that one alternative of the constraint admits.  0 or an ESLURM code; caller frees
 * *ret. */
static int classes_admitted(const struct feasible *f, const struct constraint *parsed, uint32_t alt,
                            struct bitmap **ret)
{
    _cleanup_(bitmap_free) struct bitmap *one = NULL, *scratch = NULL;
    struct lookup l = { .f = f };

    if (bitmap_new((uint32_t)f->n, &one) < 0 || bitmap_new((uint32_t)f->n, &scratch) < 0)
        return SLURM_ERROR;
    l.bits = scratch;
    bitmap_fill(one);
    if (constraint_mask(parsed, alt, classes_with, &l, one) < 0)
        return SLURM_ERROR;
    *ret = TAKE_PTR(one);
    return 0;
}

/* Wanted and unwanted nodes exist, the wanted ones are in the partition, none is both.  Who places
 * an external job excludes nodes of another system too, which need not be ours.  0 or an ESLURM
 * code; *ret_avoid, the unwanted ones, is the caller's. */
static int nodes_check(const struct cluster *c, const struct partition *p, const Pst__JobRecord *r,
                       struct bitmap **ret_avoid)
{
    _cleanup_(bitmap_free) struct bitmap *want = NULL, *avoid = NULL;
    int code = r->req_nodes ? jobs_nodes_named(c, r->req_nodes, true, &want) : 0;

    if (code == 0 && want && !bitmap_empty(want) &&
        (p->nodes->nbits != want->nbits || !bitmap_subset(want, p->nodes)))
        code = ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
    if (code == 0 && r->exc_nodes)
        code = jobs_nodes_named(c, r->exc_nodes, !r->external, &avoid);
    if (code == 0 && want && avoid && bitmap_overlaps(want, avoid))
        return ESLURM_INVALID_NODE_NAME;
    *ret_avoid = TAKE_PTR(avoid);
    return code;
}

uint32_t feasible_nodes(struct feasible *f, const struct cluster *c, const struct partition *p,
                        const Pst__JobRecord *r, bool memory_counts)
{
    struct demand d = demand_of(r, memory_counts);
    uint32_t most = 0;
    const char *hint;

    if (!f->valid)
        build_classes(f, c);
    for (size_t i = 0; d.tasks && i < f->n; i++)
        if (f->classes[i].nodes->nbits == p->nodes->nbits &&
            bitmap_overlaps(f->classes[i].nodes, p->nodes))
            most = MAX(most, class_tasks(f->classes[i].like, r, &d, &hint));
    return most ? (uint32_t)((d.tasks + most - 1) / most) : 0;
}

/* The job as it is tried first: what it prefers takes the place of what it asks for. */
static Pst__JobRecord as_preferred(const Pst__JobRecord *r)
{
    Pst__JobRecord as = *r; /* shallow */

    if (r->prefer && *r->prefer) {
        as.features = r->prefer;
        as.prefer = NULL;
    }
    return as;
}

/* The CPUs of its last core that a job holds without using them cost memory of each CPU too. */
static uint64_t spare_cpus(const struct feasible *f, const struct demand *d)
{
    uint32_t threads = 1;

    for (size_t i = 0; d->mem_cpu && i < f->n; i++)
        threads = MAX(threads, f->classes[i].like->threads_per_core);
    return threads - 1;
}

/* Does any empty node hold the whole job, whatever place it is given?  `most` tasks fit on one. */
static bool surely_fits(const struct feasible *f, const struct ctld *ctld,
                        const struct partition *p, const Pst__JobRecord *r, const struct demand *d,
                        uint64_t most)
{
    const Pst__PartitionRecord *pr = p->rec;
    const struct topologies *all = topology_now(ctld);
    const struct topo *topo = all ? topologies_named(all, pr->topology) : NULL;

    if (r->has_segment_size || (topo && topo_get_spec(topo)->kind == TOPO_TORUS))
        return false; /* a torus has shapes, and perhaps none of one node */
    return d->nodes <= 1 && MAX(d->tasks, 1u) + spare_cpus(f, d) <= most && !r->features &&
           !r->prefer && !r->req_nodes && !r->exc_nodes && !r->tres_per_node && !r->tres_per_job &&
           !r->tres_per_task && !r->tres_per_socket && !r->node_counts && !r->licenses &&
           !r->has_ntasks_per_socket && !r->has_ntasks_per_core && !r->has_threads_per_core &&
           !r->has_core_spec && !pr->has_max_cpus_per_node && !pr->has_max_cpus_per_socket;
}

bool feasible_exactly(struct feasible *f, const struct ctld *ctld, const struct partition *p,
                      const Pst__JobRecord *r, bool memory_counts)
{
    const Pst__JobRecord first = as_preferred(r);
    struct demand d = demand_of(r, memory_counts);
    uint64_t most = 0;
    const char *hint;

    if (r->reservation)
        return true; /* its nodes may be others than the partition's */
    if (!f->valid)
        build_classes(f, ctld->cluster);
    for (size_t i = 0; i < f->n; i++) {
        const Pst__NodeRecord *like = f->classes[i].like;

        if (f->classes[i].nodes->nbits == p->nodes->nbits && !like->has_core_spec &&
            !like->cpu_spec_list && bitmap_overlaps(f->classes[i].nodes, p->nodes))
            most = MAX(most, class_tasks(like, r, &d, &hint));
    }
    return surely_fits(f, ctld, p, r, &d, most) || idlemodel_places(f->idle, ctld, p, &first);
}

int feasible_code(const struct feasible *f)
{
    return idlemodel_lacks_topology(f->idle) ? ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE
                                             : ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

/* Where to look, and what was found there. */
struct search {
    const struct partition *p;
    const Pst__JobRecord *r;
    struct demand d;
    const struct bitmap *admitted; /* classes; NULL: all */
    const struct bitmap *avoid;    /* nodes; NULL: none */
    uint64_t nodes, tasks;
    const char *hint;
};

/* Nodes of class i in the partition that the job does not avoid. */
static uint32_t nodes_of_class(const struct feasible *f, const struct search *s, size_t i)
{
    const struct bitmap *nodes = f->classes[i].nodes;
    uint32_t n = bitmap_count_and(nodes, s->p->nodes);

    if (n && s->avoid)
        for (uint32_t k = bitmap_next(nodes, 0); k < nodes->nbits; k = bitmap_next(nodes, k + 1))
            n -= bitmap_test(s->p->nodes, k) && bitmap_test(s->avoid, k);
    return n;
}

static void count_nodes(const struct feasible *f, struct search *s)
{
    s->nodes = s->tasks = 0;
    for (size_t i = 0; i < f->n; i++) {
        uint32_t here, n;

        if (f->classes[i].nodes->nbits != s->p->nodes->nbits)
            continue; /* a partition without nodes */
        if (s->admitted && !bitmap_test(s->admitted, (uint32_t)i))
            continue;
        n = nodes_of_class(f, s, i);
        here = n ? class_tasks(f->classes[i].like, s->r, &s->d, &s->hint) : 0;
        if (here) {
            s->nodes += n;
            s->tasks += (uint64_t)n * here;
        }
    }
}

static int judge_counts(const struct search *s)
{
    return s->nodes < s->d.nodes || s->tasks < s->d.tasks ? ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE
                                                          : 0;
}

/* One of the alternatives of the constraint has room for the whole job. */
static int judge_alternatives(const struct feasible *f, struct search *s)
{
    _cleanup_(constraint_free) struct constraint *parsed = NULL;
    int code = 0;

    if (constraint_parse(s->r->features, &parsed, NULL) < 0)
        return ESLURM_INVALID_FEATURE;
    for (uint32_t alt = 0; alt < constraint_alts(parsed); alt++) {
        _cleanup_(bitmap_free) struct bitmap *admitted = NULL;

        code = classes_admitted(f, parsed, alt, &admitted);
        if (code != 0)
            break;
        s->admitted = admitted;
        count_nodes(f, s);
        s->admitted = NULL;
        code = judge_counts(s);
        if (code == 0)
            break;
    }
    return code;
}

static int judge_places(const struct feasible *f, struct search *s)
{
    if (s->r->features && *s->r->features)
        return judge_alternatives(f, s);
    count_nodes(f, s);
    return judge_counts(s);
}

bool feasible_features_known(struct feasible *f, const struct cluster *c, const char *expr)
{
    if (!f->valid)
        build_classes(f, c);
    return features_known(f, expr);
}

uint64_t feasible_cpus_within(const struct cluster *c, const struct partition *p)
{
    uint64_t sum = 0;

    BITMAP_FOREACH (p->nodes, id) {
        uint32_t cpus = c->nodes[id] ? c->nodes[id]->rec->cpus : 0;

        sum += p->rec->max_cpus_per_node ? MIN(cpus, p->rec->max_cpus_per_node) : cpus;
    }
    return sum;
}

static uint64_t least_cpus(const struct demand *d)
{
    return MAX(d->tasks, (uint64_t)d->nodes) * d->cpt;
}

/* More CPUs or nodes than the partition has in all: it may grow, and the job waits (recording 40).
 * What fits on the nodes that there are in no way, although they have CPUs enough, is refused. */
static bool is_beyond(const struct cluster *c, const struct partition *p, const struct demand *d)
{
    return d->nodes > bitmap_count(p->nodes) || least_cpus(d) > feasible_cpus_within(c, p);
}

int feasible_check(struct feasible *f, const struct cluster *c, const struct partition *p,
                   const Pst__JobRecord *r, bool memory_counts, const char **ret_hint)
{
    _cleanup_(bitmap_free) struct bitmap *avoid = NULL;
    const Pst__JobRecord first = as_preferred(r);
    struct search s = { .p = p, .r = &first, .d = demand_of(r, memory_counts) };
    int code = 0;

    if (!f->valid)
        build_classes(f, c);
    if (r->req_nodes || r->exc_nodes)
        code = nodes_check(c, p, r, &avoid);
    if (code != 0)
        return code;
    if (r->features && *r->features &&
        (!features_known(f, r->features) || !is_constraint(r->features)))
        return ESLURM_INVALID_FEATURE;
    if (r->tres_per_job && !gres_within(f, p, r->tres_per_job))
        return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
    if (r->prefer && (!features_known(f, r->prefer) || !is_constraint(r->prefer)))
        return ESLURM_INVALID_PREFER;
    if (s.d.per_node && r->has_max_nodes && r->max_nodes &&
        s.d.tasks > (uint64_t)s.d.per_node * r->max_nodes)
        return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
    s.avoid = avoid && avoid->nbits == p->nodes->nbits ? avoid : NULL;
    code = judge_places(f, &s);
    if (code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE && s.nodes && is_beyond(c, p, &s.d))
        code = ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE;
    /* A task that is larger than that fits nowhere: selection refuses it (recording 57), unless the
     * partition gives fewer CPUs in all than the job takes (recording 40). */
    if (code == 0 && p->rec->has_max_cpus_per_node &&
        (s.d.cpt <= p->rec->max_cpus_per_node || least_cpus(&s.d) > feasible_cpus_within(c, p))) {
        const char *hint = s.hint;

        s.d.cpus_max = p->rec->max_cpus_per_node;
        if (s.d.cpus_max && judge_places(f, &s) != 0)
            code = ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE; /* but for the partition's limit */
        s.hint = hint;
    }
    if (s.hint && !s.nodes) /* else some nodes are good enough, one by one */
        *ret_hint = s.hint;
    return code;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_feasible(struct ctld *ctld, struct err *err)
{
    (void)err;
    return feasible_new(&ctld->feasible);
}

static void free_feasible(struct ctld *ctld)
{
    ctld->feasible = feasible_free(ctld->feasible);
}

static void forget_of_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    if (kind == PST__EVENT_KIND__EV_UNSPECIFIED) /* only what jobs hold on it changed */
        return;
    feasible_invalidate(ctld->feasible);
    idlemodel_node(ctld->feasible->idle, n->rec->node_id);
}

static void forget_of_gone(struct ctld *ctld, struct node *n)
{
    feasible_invalidate(ctld->feasible);
    idlemodel_node(ctld->feasible->idle, n->rec->node_id);
}

static void forget_of_part(struct ctld *ctld, struct partition *p, Pst__EventKind kind)
{
    (void)p;
    (void)kind;
    idlemodel_parts(ctld->feasible->idle);
}

static void forget_of_conf(struct ctld *ctld)
{
    idlemodel_forget(ctld->feasible->idle);
}

const struct ctld_service feasible_service = {
    .name = "feasible",
    .start = start_feasible,
    .free = free_feasible,
    .on_node = forget_of_node,
    .on_node_gone = forget_of_gone,
    .on_part = forget_of_part,
    .reconfigured = forget_of_conf,
};
