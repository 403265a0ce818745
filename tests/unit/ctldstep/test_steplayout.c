/* test_steplayout.c - which part of a job a step gets: nodes, free CPUs, what was asked, and what
 * comes out */
#include "model_util.h"

#include "api.pb-c.h"
#include "ctld/job/nodefeatures.h"
#include "ctld/step/steplayout.h"
#include "wire/errors.h"

#define JOB 1u

/* A job on `nodes` nodes n0 .. with `cpus` each of 8. */
static struct cluster *world(uint32_t nodes, uint32_t cpus)
{
    struct cluster *c = new_cluster();
    Pst__Alloc *a = make_alloc(0, nodes, cpus, 1000);

    add_nodes(c, 6, 8);
    add_job(c, JOB);
    start_job(c, JOB, a, T0);
    return c;
}

/* A running step on the nodes [first, first + n), holding CPUs "lo-hi" of each. */
static void running_step(struct cluster *c, uint32_t id, uint32_t first, uint32_t n,
                         const char *cpus, bool overlap)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__StepRecord *s = tx_step_put(tx, EV(STEP_START), JOB, id);
    struct step *made;

    SET(s, state, PST__STEP_STATE__STEP_RUNNING);
    SET(s, overlap, overlap);
    s->alloc = make_alloc(first, n, 1, 0);
    s->alloc->groups[0]->cpu_ids = tx_strdup(cpus);
    apply_ok(c, tx);
    made = cluster_step(cluster_job(c, JOB), id);
    assert_int_equal(bitmap_new(n, &made->waiting), 0);
    bitmap_fill(made->waiting);
}

/* "n0:2,n1:1" of tasks; freed by the caller. */
static char *tasks_text(const struct cluster *c, const Pst__Alloc *a)
{
    char *text = calloc(1, 256);

    assert_non_null(text);
    for (size_t i = 0; i < a->n_node_ids; i++)
        (void)snprintf(text + strlen(text), 256 - strlen(text), "%s%s:%u", i ? "," : "",
                       cluster_node(c, a->node_ids[i])->rec->name, alloc_group(a, i)->tasks);
    return text;
}

struct want {
    uint32_t tasks, nodes, max_nodes, cpt, per_node, relative;
    bool exact, overlap, overcommit, interactive;
    uint64_t mem, mem_per_cpu; /* MiB; the job has 1000 on each node */
    const char *nodelist, *exclude, *dist;
};

static Pst__StepSpec spec_of(const struct want *w)
{
    Pst__StepSpec s = PST__STEP_SPEC__INIT;

#define GIVE(field, value)                                                                         \
    do {                                                                                           \
        if (value)                                                                                 \
            SET(&s, field, value);                                                                 \
    } while (0)
    GIVE(num_tasks, w->tasks);
    GIVE(min_nodes, w->nodes);
    GIVE(max_nodes, w->max_nodes);
    GIVE(cpus_per_task, w->cpt);
    GIVE(ntasks_per_node, w->per_node);
    GIVE(relative, w->relative);
    GIVE(exact, w->exact);
    GIVE(overlap, w->overlap);
    GIVE(overcommit, w->overcommit);
    GIVE(interactive, w->interactive);
    GIVE(mem_per_node_mib, w->mem);
    GIVE(mem_per_cpu_mib, w->mem_per_cpu);
    s.nodelist = (char *)w->nodelist;
    s.exclude = (char *)w->exclude;
    s.distribution = (char *)w->dist;
    return s;
}

static const struct {
    uint32_t job_nodes, job_cpus; /* per node */
    const char *steps;            /* each "id@first+n:cpus" (o: overlapping), ';' between */
    struct want want;
    int code;
    const char *layout; /* tasks per node */
    uint32_t cpus;      /* of the step in all, 0 = not looked at */
} cases[] = {
    /* Nothing runs. */
    { 1, 4, "", { .tasks = 1 }, 0, "n0:1", 4 },
    { 1, 4, "", { .tasks = 4 }, 0, "n0:4", 4 },
    { 1, 4, "", { .tasks = 5 }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    { 2, 4, "", { .tasks = 0 }, 0, "n0:1,n1:1", 8 },
    { 2, 4, "", { .tasks = 1 }, 0, "n0:1", 4 },
    { 2, 4, "", { .tasks = 3 }, 0, "n0:2,n1:1", 8 },
    { 2, 4, "", { .tasks = 8 }, 0, "n0:4,n1:4", 8 },
    { 2, 4, "", { .tasks = 9 }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    { 3, 4, "", { .tasks = 6 }, 0, "n0:2,n1:2,n2:2", 12 },
    { 3, 4, "", { .tasks = 6, .dist = "block:block,Pack" }, 0, "n0:4,n1:1,n2:1", 12 },
    { 3, 4, "", { .tasks = 6, .dist = "plane=2" }, 0, "n0:2,n1:2,n2:2", 12 },
    { 2, 4, "", { .tasks = 6, .dist = "plane=3" }, 0, "n0:3,n1:3", 8 },
    { 2, 4, "", { .tasks = 5, .dist = "plane=4" }, 0, "n0:4,n1:1", 8 },
    { 3, 4, "", { .tasks = 6, .dist = "cyclic" }, 0, "n0:2,n1:2,n2:2", 12 },
    { 3, 4, "", { .tasks = 7, .dist = "cyclic:block" }, 0, "n0:3,n1:2,n2:2", 12 },
    /* CPUs a task, and no number of tasks: as many as fit. */
    { 1, 4, "", { .cpt = 1 }, 0, "n0:4", 4 },
    { 2, 4, "", { .cpt = 2 }, 0, "n0:2,n1:2", 8 },
    { 2, 4, "", { .cpt = 3, .exact = true }, 0, "n0:1,n1:1", 6 },
    { 2, 4, "", { .cpt = 2, .nodes = 1 }, 0, "n0:2", 4 },
    { 2, 4, "", { .cpt = 2, .per_node = 1 }, 0, "n0:1,n1:1", 8 },
    { 2, 4, "", { .cpt = 1, .tasks = 3 }, 0, "n0:2,n1:1", 8 },
    { 1, 4, "", { .cpt = 5 }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    /* Node counts. */
    { 4, 2, "", { .nodes = 2 }, 0, "n0:1,n1:1", 4 },
    { 4, 2, "", { .nodes = 2, .tasks = 3 }, 0, "n0:2,n1:1", 4 },
    { 4, 2, "", { .nodes = 4, .tasks = 4 }, 0, "n0:1,n1:1,n2:1,n3:1", 8 },
    { 4, 2, "", { .nodes = 5 }, ESLURM_INVALID_NODE_COUNT, NULL, 0 },
    { 4, 2, "", { .tasks = 4, .max_nodes = 2 }, 0, "n0:2,n1:2", 4 },
    { 4, 2, "", { .nodes = 2, .tasks = 5 }, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, NULL, 0 },
    { 4, 4, "", { .per_node = 2 }, 0, "n0:2,n1:2,n2:2,n3:2", 16 },
    { 4, 4, "", { .nodes = 2, .per_node = 3 }, 0, "n0:3,n1:3", 8 },
    { 4, 4, "", { .nodes = 2, .per_node = 5 }, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, NULL, 0 },
    { 4, 4, "", { .tasks = 3, .per_node = 1 }, 0, "n0:1,n1:1,n2:1", 12 },
    /* CPUs per task. */
    { 2, 4, "", { .tasks = 2, .cpt = 4 }, 0, "n0:1,n1:1", 8 },
    { 2, 4, "", { .tasks = 4, .cpt = 2 }, 0, "n0:2,n1:2", 8 },
    { 2, 4, "", { .tasks = 3, .cpt = 3 }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    { 1, 4, "", { .tasks = 1, .cpt = 5 }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    { 2, 4, "", { .tasks = 1, .cpt = 5 }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    /* --exact takes what its tasks need. */
    { 1, 4, "", { .tasks = 1, .exact = true }, 0, "n0:1", 1 },
    { 2, 4, "", { .tasks = 3, .cpt = 2, .exact = true }, 0, "n0:2,n1:1", 6 },
    /* Another step has some: by default a step wants the nodes for itself. */
    { 1, 4, "0@0+1:0-1", { .tasks = 1 }, ESLURM_NODES_BUSY, NULL, 0 },
    { 1, 4, "0@0+1:0-1", { .tasks = 2, .exact = true }, 0, "n0:2", 2 },
    { 1, 4, "0@0+1:0-1", { .tasks = 3, .exact = true }, ESLURM_NODES_BUSY, NULL, 0 },
    { 1, 4, "0@0+1:0-1", { .tasks = 5, .exact = true }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    { 1, 4, "0@0+1:0-3", { .tasks = 1, .exact = true }, ESLURM_NODES_BUSY, NULL, 0 },
    { 2, 4, "0@0+1:0-3", { .tasks = 1 }, 0, "n1:1", 4 },
    { 2, 4, "0@0+1:0-3", { .tasks = 2 }, ESLURM_NODES_BUSY, NULL, 0 },
    { 2, 4, "0@0+1:0;1@1+1:0", { .tasks = 1 }, ESLURM_NODES_BUSY, NULL, 0 },
    { 2, 4, "0@0+2:0", { .tasks = 6, .exact = true }, 0, "n0:3,n1:3", 6 },
    { 1, 4, "0@0+1:0-1;1@0+1:2-3", { .tasks = 1, .exact = true }, ESLURM_NODES_BUSY, NULL, 0 },
    /* --overlap shares, on either side. */
    { 1, 4, "0@0+1:0-3", { .tasks = 1, .overlap = true }, 0, "n0:1", 4 },
    { 1, 4, "0@0+1:0-3", { .interactive = true }, 0, "n0:1", 4 },
    { 1, 4, "0@0+1:0-3o", { .tasks = 1 }, 0, "n0:1", 4 },
    /* The batch step holds nothing. */
    { 1, 4, "4294967291@0+1:0-3", { .tasks = 4 }, 0, "n0:4", 4 },
    /* Memory: --mem waits for what is not there, --mem-per-cpu is refused. */
    { 1, 4, "", { .tasks = 1, .mem = 1000 }, 0, "n0:1", 4 },
    { 1, 4, "", { .tasks = 1, .mem = 1001 }, ESLURM_NODES_BUSY, NULL, 0 },
    { 1, 4, "", { .tasks = 4, .mem_per_cpu = 250 }, 0, "n0:4", 4 },
    { 1, 4, "", { .tasks = 4, .mem_per_cpu = 251 }, ESLURM_TOO_MANY_REQUESTED_CPUS, NULL, 0 },
    { 1, 4, "0@0+1:0-3", { .tasks = 1, .mem = 2000, .overlap = true }, 0, "n0:1", 4 },
    /* --overcommit */
    { 1, 2, "", { .tasks = 7, .overcommit = true }, 0, "n0:7", 2 },
    { 2, 2, "", { .tasks = 7, .overcommit = true }, 0, "n0:4,n1:3", 4 },
    { 2, 2, "", { .tasks = 4000000000u, .overcommit = true }, ESLURM_BAD_TASK_COUNT, NULL, 0 },
    { 2, 2, "", { .per_node = 3000000000u, .overcommit = true }, ESLURM_BAD_TASK_COUNT, NULL, 0 },
    { 1,
      2,
      "",
      { .tasks = 3, .cpt = 4000000000u, .overcommit = true, .exact = true },
      0,
      "n0:3",
      2 },
    /* --relative, --nodelist, --exclude */
    { 4, 2, "", { .relative = 1 }, 0, "n1:1,n2:1,n3:1", 6 },
    { 4, 2, "", { .relative = 3, .tasks = 2 }, 0, "n3:2", 2 },
    { 4, 2, "", { .relative = 2, .nodes = 3 }, ESLURM_INVALID_NODE_COUNT, NULL, 0 },
    { 4, 2, "", { .relative = 4 }, ESLURM_INVALID_NODE_COUNT, NULL, 0 },
    { 4, 2, "", { .nodelist = "n[1,3]" }, 0, "n1:1,n3:1", 4 },
    { 4, 2, "", { .nodelist = "n2", .tasks = 2 }, 0, "n2:2", 2 },
    { 4, 2, "", { .nodelist = "n5" }, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, NULL, 0 },
    { 4, 2, "", { .nodelist = "n[1" }, ESLURM_INVALID_NODE_NAME, NULL, 0 },
    { 4, 2, "", { .exclude = "n0,n2" }, 0, "n1:1,n3:1", 4 },
    { 4, 2, "", { .exclude = "n[0-3]" }, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, NULL, 0 },
    { 4, 2, "", { .exclude = "n[" }, ESLURM_INVALID_NODE_NAME, NULL, 0 },
    { 4, 2, "", { .exclude = "n0,n9" }, ESLURM_INVALID_NODE_NAME, NULL, 0 },
    { 4,
      2,
      "",
      { .nodelist = "n[0-1]", .exclude = "n0" },
      ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE,
      NULL,
      0 },
};

static void add_steps(struct cluster *c, const char *text)
{
    unsigned id, first, n;
    char cpus[32];
    int used;

    while (*text && sscanf(text, "%u@%u+%u:%31[0-9,-]%n", &id, &first, &n, cpus, &used) == 4) {
        bool overlap = text[used] == 'o';

        running_step(c, id, first, n, cpus, overlap);
        text += used + overlap;
        text += *text == ';';
    }
    assert_int_equal(*text, '\0');
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cluster *c = world(cases[i].job_nodes, cases[i].job_cpus);
        Pst__StepSpec spec = spec_of(&cases[i].want);
        Pst__Alloc *a = NULL;
        char *dist = NULL;
        uint32_t ntasks = 0, sum = 0, cpus = 0;
        _cleanup_free_ char *text = NULL;
        int r;

        add_steps(c, cases[i].steps);
        r = steplayout_make(c, cluster_job(c, JOB), &spec, &a, &ntasks, &dist, NULL);
        if (r != cases[i].code)
            print_error("# row %zu: %d (%s)\n", i, r, slurm_err_text(r));
        assert_int_equal(r, cases[i].code);
        assert_int_equal(a != NULL, r == 0);
        if (a) {
            text = tasks_text(c, a);
            assert_string_equal(text, cases[i].layout);
            for (size_t k = 0; k < a->n_node_ids; k++) {
                sum += alloc_group(a, k)->tasks;
                cpus += alloc_group(a, k)->cpus;
            }
            assert_int_equal(sum, ntasks);
            assert_int_equal(cpus, a->total_cpus);
            if (cases[i].cpus)
                assert_int_equal(cpus, cases[i].cpus);
            pst__alloc__free_unpacked(a, NULL);
        }
        cluster_free(c);
    }
}

/* Two steps never get the same CPU unless they said so. */
static void test_disjoint(void **state)
{
    struct cluster *c = world(2, 8);
    struct want w = { .tasks = 2, .exact = true };
    Pst__StepSpec spec = spec_of(&w);
    struct bitmap *taken[2] = { NULL, NULL };

    (void)state;
    assert_int_equal(bitmap_new(8, &taken[0]), 0);
    assert_int_equal(bitmap_new(8, &taken[1]), 0);
    for (uint32_t id = 0;; id++) {
        Pst__Alloc *a = NULL;
        char *dist = NULL;
        uint32_t n;
        int r = steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL);
        Pst__Transaction *tx;
        struct step *s;

        if (r == ESLURM_NODES_BUSY) {
            assert_int_equal(id, 8);
            break;
        }
        assert_int_equal(r, 0);
        for (size_t i = 0; i < a->n_node_ids; i++) {
            struct bitmap *mine = NULL;

            assert_int_equal(bitmap_new(8, &mine), 0);
            assert_int_equal(bitmap_parse(mine, alloc_group(a, i)->cpu_ids, NULL), 0);
            assert_int_equal(bitmap_count(mine), alloc_group(a, i)->cpus);
            assert_false(bitmap_overlaps(mine, taken[a->node_ids[i]]));
            bitmap_or(taken[a->node_ids[i]], mine);
            bitmap_free(mine);
        }
        tx = tx_new(T0);
        tx_step_put(tx, EV(STEP_START), JOB, id)->alloc = a;
        apply_ok(c, tx);
        s = cluster_step(cluster_job(c, JOB), id);
        assert_int_equal(bitmap_new((uint32_t)s->rec->alloc->n_node_ids, &s->waiting), 0);
        bitmap_fill(s->waiting);
    }
    bitmap_free(taken[0]);
    bitmap_free(taken[1]);
    cluster_free(c);
}

/* A node on which a step has ended is free although the step goes on elsewhere. */
static void test_partly_ended(void **state)
{
    struct cluster *c = world(2, 4);
    struct want w = { .tasks = 1 };
    Pst__StepSpec spec = spec_of(&w);
    Pst__Alloc *a = NULL;
    char *dist = NULL;
    uint32_t n;

    (void)state;
    running_step(c, 0, 0, 2, "0-3", false);
    assert_int_equal(steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL),
                     ESLURM_NODES_BUSY);
    bitmap_clear(cluster_step(cluster_job(c, JOB), 0)->waiting, 1);
    assert_int_equal(steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL), 0);
    assert_int_equal(a->node_ids[0], 1);
    pst__alloc__free_unpacked(a, NULL);
    cluster_free(c);
}

/* srun that made its allocation: the job's own layout is the step's. */
static void test_job_layout(void **state)
{
    struct cluster *c = world(3, 4);
    struct want w = { .tasks = 6 };
    Pst__StepSpec spec = spec_of(&w);
    Pst__AllocGroup *g = cluster_job(c, JOB)->rec->alloc->groups[0];
    Pst__Alloc *a = NULL;
    _cleanup_free_ char *text = NULL;
    char *dist = NULL;
    uint32_t n;

    (void)state;
    SET(g, tasks, 2);
    assert_int_equal(steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL), 0);
    text = tasks_text(c, a);
    assert_string_equal(text, "n0:2,n1:2,n2:2");
    assert_string_equal(a->nodes, "n[0-2]");
    pst__alloc__free_unpacked(a, NULL);
    cluster_free(c);
}

/* A list says which node each task gets; the record has it by places in the step. */
static void test_by_rank(void **state)
{
    static const struct {
        const char *list, *layout, *dist;
        uint32_t cpus_per_task;
        int code;
    } rows[] = {
        { "n2,n0,n2", "n0:1,n2:2", "arbitrary=1,0,1:block", 0, 0 },
        { "n1,n1,n1,n1", "n1:4", "arbitrary=0*4:block", 0, 0 },
        { "n0,n1,n2,n2,n1,n0", "n0:2,n1:2,n2:2", "arbitrary=0,1,2*2,1,0:block", 2, 0 },
        { "n0,n0,n0,n1", NULL, NULL, 2, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE },
        { "n0,n9", NULL, NULL, 0, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cluster *c = world(3, 4);
        Pst__StepSpec spec = PST__STEP_SPEC__INIT;
        _cleanup_free_ char *text = NULL, *dist = NULL;
        Pst__Alloc *a = NULL;
        uint32_t n = 0;

        spec.nodelist = (char *)rows[i].list;
        spec.distribution = (char *)"arbitrary:block";
        if (rows[i].cpus_per_task)
            SET(&spec, cpus_per_task, rows[i].cpus_per_task);
        assert_int_equal(steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL),
                         rows[i].code);
        if (rows[i].code == 0) {
            text = tasks_text(c, a);
            assert_string_equal(text, rows[i].layout);
            assert_string_equal(dist, rows[i].dist);
            pst__alloc__free_unpacked(a, NULL);
        }
        cluster_free(c);
    }
}

static void test_memory_and_gres(void **state)
{
    struct cluster *c = world(1, 4);
    Pst__AllocGroup *g = cluster_job(c, JOB)->rec->alloc->groups[0];
    Pst__GresAlloc *gpu = malloc(sizeof(*gpu));
    struct want w = { .tasks = 2, .exact = true };
    Pst__StepSpec spec = spec_of(&w);
    Pst__Alloc *a = NULL;
    char *dist = NULL;
    uint32_t n;

    (void)state;
    pst__gres_alloc__init(gpu);
    gpu->name = tx_strdup("gpu");
    gpu->devices = tx_strdup("0-1");
    SET(gpu, count, 2);
    g->gres = malloc(sizeof(Pst__GresAlloc *));
    g->gres[0] = gpu;
    g->n_gres = 1;
    assert_int_equal(steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL), 0);
    assert_int_equal(a->groups[0]->mem_mib, 1000); /* the job's */
    assert_int_equal(a->groups[0]->n_gres, 1);
    assert_string_equal(a->groups[0]->gres[0]->devices, "0-1");
    pst__alloc__free_unpacked(a, NULL);
    SET(&spec, mem_per_cpu_mib, 100);
    assert_int_equal(steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL), 0);
    assert_int_equal(a->groups[0]->mem_mib, 200);
    pst__alloc__free_unpacked(a, NULL);
    SET(&spec, mem_per_node_mib, 300);
    assert_int_equal(steplayout_make(c, cluster_job(c, JOB), &spec, &a, &n, &dist, NULL), 0);
    assert_int_equal(a->groups[0]->mem_mib, 300);
    pst__alloc__free_unpacked(a, NULL);
    cluster_free(c);
}

/* --constraint: nodes of the job that have the features. */
static void test_features(void **state)
{
    static const struct {
        const char *expr;
        int code;
        const char *nodes;
    } rows[] = {
        { "fast", 0, "1,3" },
        { "fast|big", 0, "0-1,3" },
        { "fast&big", 0, "" },
        { "[fast|big]", 0, "0-1,3" },
        { "none", ESLURM_INVALID_FEATURE, NULL },
        { "(fast", ESLURM_INVALID_FEATURE, NULL },
    };
    struct cluster *c = world(4, 2);

    (void)state;
    c->nodes[0]->rec->features = strdup("big");
    c->nodes[1]->rec->features = strdup("fast,red");
    c->nodes[3]->rec->features = strdup("red,fast");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct bitmap *nodes = NULL;
        char *text = NULL;

        assert_int_equal(bitmap_new(c->nnodes, &nodes), 0);
        bitmap_fill(nodes);
        assert_int_equal(nodes_keep_features(c, rows[i].expr, nodes), rows[i].code);
        if (rows[i].code == 0) {
            assert_int_equal(bitmap_format(nodes, &text), 0);
            assert_string_equal(text, rows[i].nodes);
        }
        free(text);
        bitmap_free(nodes);
    }
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),        cmocka_unit_test(test_disjoint),
        cmocka_unit_test(test_partly_ended), cmocka_unit_test(test_job_layout),
        cmocka_unit_test(test_by_rank),      cmocka_unit_test(test_memory_and_gres),
        cmocka_unit_test(test_features),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
