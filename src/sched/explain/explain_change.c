/* explain_change.c - the smallest change of each kind with which a job would start now.
 *
 * Sizes are bisected: the smallest is tried first, then the largest that works is looked for.  Each
 * one named was tried as it is named. */
#include "sched/explain/explain_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/explain/explain_try.h"
#include "sched/explain/sched_explain.h"
#include "sched/sched.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

/* Is the text names joined by '&' alone?  Then *ret_n of them. */
static bool plain_words(const char *text, uint32_t *ret_n)
{
    *ret_n = 1;
    for (const char *p = text; *p; p++) {
        if (strchr("|*![]()", *p))
            return false;
        *ret_n += *p == '&' || *p == ',';
    }
    return true;
}

static void drop_word(const char *text, uint32_t index, char *out)
{
    uint32_t i = 0;
    size_t len = 0;

    for (const char *p = text; *p; i++) {
        size_t n = strcspn(p, "&,");

        if (i != index) {
            if (len)
                out[len++] = '&';
            memcpy(out + len, p, n);
            len += n;
        }
        p += n + (p[n] != '\0');
    }
    out[len] = '\0';
}

static bool apply_features(const struct sched_job *job, const struct explain_change *c,
                           struct explain_trial *t)
{
    t->job.features = NULL;
    if (c->index == UINT32_MAX)
        return true;
    if (strlen(job->features) >= sizeof(t->features))
        return false;
    drop_word(job->features, c->index, t->features);
    t->job.features = t->features;
    return true;
}

static bool apply_gres(const struct sched_job *job, const struct explain_change *c,
                       struct explain_trial *t)
{
    struct sched_gres_req *g = &t->gres[c->index];

    if (job->ngres > ARRAY_SIZE(t->gres) || c->index >= job->ngres)
        return false;
    memcpy(t->gres, job->gres, job->ngres * sizeof(*t->gres));
    t->job.gres = t->gres;
    if (!c->value) {
        memmove(g, g + 1, (job->ngres - c->index - 1) * sizeof(*g));
        t->job.ngres--;
    } else if (g->per_node) {
        g->per_node = c->value;
    } else if (g->per_job) {
        g->per_job = c->value;
    } else {
        g->per_task = c->value;
    }
    return true;
}

/* Fewer nodes: as many tasks on each as before. */
static void apply_nodes(const struct sched_job *job, uint32_t nodes, struct explain_trial *t)
{
    uint32_t per_node = MAX(job->num_tasks / MAX(job->min_nodes, 1u), 1u);

    t->job.min_nodes = nodes;
    if (t->job.max_nodes)
        t->job.max_nodes = MIN(t->job.max_nodes, nodes);
    if (job->num_tasks)
        t->job.num_tasks = MIN(job->num_tasks, per_node * nodes);
}

bool sched_explain_apply(const struct sched_job *job, const struct explain_change *c,
                         struct explain_trial *ret)
{
    ret->job = *job;
    switch (c->kind) {
    case CHANGE_TIME:
        ret->job.time_limit_min = (uint32_t)c->value;
        ret->job.time_min_min = job->time_min_min > c->value ? 0 : job->time_min_min;
        return c->value > 0;
    case CHANGE_NODES:
        apply_nodes(job, (uint32_t)c->value, ret);
        return c->value > 0;
    case CHANGE_TASKS:
        ret->job.num_tasks = (uint32_t)c->value;
        return c->value >= MAX(job->min_nodes, 1u);
    case CHANGE_CPUS:
        ret->job.cpus_per_task = (uint32_t)c->value;
        return c->value > 0;
    case CHANGE_MEM_NODE:
        ret->job.mem_per_node_mib = c->value;
        return c->value > 0;
    case CHANGE_MEM_CPU:
        ret->job.mem_per_cpu_mib = c->value;
        return c->value > 0;
    case CHANGE_GRES:
        return apply_gres(job, c, ret);
    case CHANGE_FEATURES:
        return apply_features(job, c, ret);
    case CHANGE_NODELIST:
        ret->job.nreq = 0;
        return true;
    case CHANGE_EXCLUDE:
        ret->job.nexc = 0;
        return true;
    case CHANGE_EXCLUSIVE:
        ret->job.exclusive = false;
        return true;
    case CHANGE_CONTIGUOUS:
        ret->job.contiguous = false;
        return true;
    case CHANGE_PARTITION:
        ret->partition = c->text;
        ret->job.partitions = &ret->partition;
        ret->job.npartitions = 1;
        return true;
    }
    return false;
}

/* ---- tries ----------------------------------------------------------------------------------- */

struct tries {
    struct ex *x;
    const struct sched_job *job;
    struct sched_explanation *out;
    struct explain_trial trial;
    int r; /* the first error */
};

static bool change_works(struct tries *t, const struct explain_change *c)
{
    int r;

    if (t->r < 0 || !sched_explain_apply(t->job, c, &t->trial))
        return false;
    r = ex_starts(t->x, &t->trial.job);
    if (r < 0)
        t->r = r;
    return r == 1;
}

static void add_change(struct tries *t, const struct explain_change *c)
{
    if (t->out->nchanges < EXPLAIN_CHANGES)
        t->out->changes[t->out->nchanges++] = *c;
}

static bool try_one(struct tries *t, struct explain_change c)
{
    bool ok = change_works(t, &c);

    if (ok)
        add_change(t, &c);
    return ok;
}

/* The largest value in [least, most] that works. */
static void bisect_value(struct tries *t, struct explain_change c, uint64_t least, uint64_t most)
{
    uint64_t yes = least, no = most + 1;

    c.value = least;
    if (least > most || !change_works(t, &c))
        return;
    while (no - yes > 1) {
        c.value = yes + (no - yes) / 2;
        if (change_works(t, &c))
            yes = c.value;
        else
            no = c.value;
    }
    c.value = yes;
    add_change(t, &c);
}

/* The longest limit that works beside the places of all others. */
static void bisect_time(struct tries *t, struct explain_change *best)
{
    uint32_t lo = 0, hi = t->job->time_limit_min;
    const uint32_t longest = 60 * 24 * 366;

    if (hi == SCHED_UNLIMITED)
        hi = longest;
    while (hi - lo > 1 && t->r >= 0) {
        struct explain_change c = { .kind = CHANGE_TIME, .value = lo + (hi - lo) / 2 };

        if (change_works(t, &c))
            lo = (uint32_t)c.value;
        else
            hi = (uint32_t)c.value;
    }
    best->value = lo;
    for (uint32_t i = 0; lo && i < t->out->nparts && !best->before_job; i++)
        best->before_job = t->out->parts[i].kept_for;
}

/* A time limit that ends before the reserved start of another job: the longest such that works. */
static void try_time(struct tries *t)
{
    const struct sched *s = t->x->s;
    struct explain_change best = { .kind = CHANGE_TIME };
    _cleanup_free_ uint64_t *ends = NULL;
    _cleanup_free_ uint32_t *whose = NULL;
    uint32_t n = s->nresvs, most = t->job->time_limit_min;

    if (n) {
        ends = malloc(n * sizeof(*ends));
        whose = malloc(n * sizeof(*whose));
        if (!ends || !whose) {
            t->r = -ENOMEM;
            return;
        }
    }
    for (uint32_t i = 0; i < n; i++) { /* a try may make them anew */
        ends[i] = s->resvs[i].start_us > t->x->now_us
                      ? (uint64_t)(s->resvs[i].start_us - t->x->now_us) / 60000000
                      : 0;
        whose[i] = i < t->x->nholds ? t->x->holds[i] : 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct explain_change c = { .kind = CHANGE_TIME, .value = ends[i], .before_job = whose[i] };

        if (c.value > best.value && c.value < most && change_works(t, &c))
            best = c;
    }
    if (s->params.conservative)
        bisect_time(t, &best);
    if (best.value)
        add_change(t, &best);
    for (uint32_t i = 0; !best.value && i < t->out->nparts; i++) { /* a partition's own limit */
        uint32_t id =
            strtab_find(&s->parts_tab, t->out->parts[i].name, strlen(t->out->parts[i].name));
        struct explain_change c = { .kind = CHANGE_TIME, .value = s->parts[id]->max_time_min };

        if (t->out->parts[i].why == SCHED_WHY_PART_TIME_LIMIT && try_one(t, c))
            break;
    }
}

static void try_sizes(struct tries *t)
{
    const struct sched_job *j = t->job;

    if (j->min_nodes > 1)
        bisect_value(t, (struct explain_change){ .kind = CHANGE_NODES }, 1, j->min_nodes - 1);
    if (j->num_tasks > 1)
        bisect_value(t, (struct explain_change){ .kind = CHANGE_TASKS }, MAX(j->min_nodes, 1u),
                     j->num_tasks - 1);
    if (j->cpus_per_task > 1)
        bisect_value(t, (struct explain_change){ .kind = CHANGE_CPUS }, 1, j->cpus_per_task - 1);
    if (j->has_mem_per_node)
        bisect_value(t, (struct explain_change){ .kind = CHANGE_MEM_NODE }, 1,
                     j->mem_per_node_mib ? j->mem_per_node_mib - 1 : 1u << 24);
    else if (j->mem_per_cpu_mib > 1)
        bisect_value(t, (struct explain_change){ .kind = CHANGE_MEM_CPU }, 1,
                     j->mem_per_cpu_mib - 1);
}

static void try_features(struct tries *t)
{
    uint32_t n;
    bool found = false;

    if (plain_words(t->job->features, &n) && n > 1)
        for (uint32_t i = 0; i < n && i < 8; i++)
            found |= try_one(t, (struct explain_change){ .kind = CHANGE_FEATURES, .index = i });
    if (!found)
        (void)try_one(t, (struct explain_change){ .kind = CHANGE_FEATURES, .index = UINT32_MAX });
}

static void try_gres(struct tries *t)
{
    for (uint32_t i = 0; i < t->job->ngres; i++) {
        const struct sched_gres_req *g = &t->job->gres[i];
        uint64_t count = MAX(MAX(g->per_node, g->per_job), g->per_task);
        size_t had = t->out->nchanges;

        if (count > 1)
            bisect_value(t, (struct explain_change){ .kind = CHANGE_GRES, .index = i }, 1,
                         count - 1);
        if (t->out->nchanges == had)
            (void)try_one(t, (struct explain_change){ .kind = CHANGE_GRES, .index = i });
    }
}

static bool uses_partition(const struct sched_job *job, const char *partition)
{
    for (size_t i = 0; i < job->npartitions; i++)
        if (strcmp(job->partitions[i], partition) == 0)
            return true;
    return false;
}

/* The change outlives the name of the caller, so it takes that of the scheduler. */
static void try_partition(struct tries *t, const char *name)
{
    const struct strtab *names = &t->x->s->parts_tab;
    uint32_t id = strtab_find(names, name, strlen(name));

    if (id != STRTAB_NONE)
        (void)try_one(
            t, (struct explain_change){ .kind = CHANGE_PARTITION, .text = names->names[id] });
}

int ex_changes(struct ex *x, const struct sched_job *job, const char *const *others, size_t nothers,
               struct sched_explanation *out)
{
    struct tries t = { .x = x, .job = job, .out = out };

    try_time(&t);
    try_sizes(&t);
    if (job->features && job->features[0])
        try_features(&t);
    try_gres(&t);
    if (job->nreq)
        (void)try_one(&t, (struct explain_change){ .kind = CHANGE_NODELIST });
    if (job->nexc)
        (void)try_one(&t, (struct explain_change){ .kind = CHANGE_EXCLUDE });
    if (job->exclusive)
        (void)try_one(&t, (struct explain_change){ .kind = CHANGE_EXCLUSIVE });
    if (job->contiguous)
        (void)try_one(&t, (struct explain_change){ .kind = CHANGE_CONTIGUOUS });
    for (size_t i = 0; i < nothers && i < 64; i++)
        if (!uses_partition(job, others[i]))
            try_partition(&t, others[i]);
    return t.r;
}
