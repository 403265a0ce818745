/* test_stepgres.c - devices of a job that its steps get: what they ask for, those near their cores,
 * what other steps hold
 *
 * The job has n0 and n1: on each 8 CPUs, a100 GPUs 0-3 (0-1 near cores 0-3, 2-3 near cores 4-7),
 * one v100 (GPU 4) and two licences of "port", which have no devices. */
#include "model_util.h"

#include "base/bitmap.h"
#include "base/strbuf.h"
#include "ctld/step/stepgres.h"
#include "wire/errors.h"

#define NODES 2u

static void put_gres(Pst__AllocGroup *g, const char *name, const char *type, uint64_t count,
                     const char *devices)
{
    Pst__GresAlloc *a = malloc(sizeof(*a));

    assert_non_null(a);
    pst__gres_alloc__init(a);
    assert_int_equal(pb_set_str(&a->name, name), 0);
    assert_int_equal(pb_set_str(&a->type, type), 0);
    assert_int_equal(pb_set_str(&a->devices, devices), 0);
    SET(a, count, count);
    g->gres = realloc(g->gres, (g->n_gres + 1) * sizeof(Pst__GresAlloc *));
    assert_non_null(g->gres);
    g->gres[g->n_gres++] = a;
}

static void put_near(Pst__NodeRecord *r, const char *devices, const char *cores)
{
    Pst__GresTopo *t = malloc(sizeof(*t));

    assert_non_null(t);
    pst__gres_topo__init(t);
    assert_int_equal(pb_set_str(&t->name, "gpu"), 0);
    assert_int_equal(pb_set_str(&t->devices, devices), 0);
    assert_int_equal(pb_set_str(&t->cores, cores), 0);
    r->gres_topo = realloc(r->gres_topo, (r->n_gres_topo + 1) * sizeof(Pst__GresTopo *));
    assert_non_null(r->gres_topo);
    r->gres_topo[r->n_gres_topo++] = t;
}

static struct cluster *make_world(void)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);
    Pst__Alloc *alloc = make_alloc(0, NODES, 8, 800);

    for (uint32_t i = 0; i < NODES; i++) {
        char name[8];
        Pst__NodeRecord *r;

        (void)snprintf(name, sizeof(name), "n%u", i);
        r = put_node(tx, i, name, 8);
        SET(r, sockets, 2);
        SET(r, cores_per_socket, 4);
        put_near(r, "0-1", "0-3");
        put_near(r, "2-3", "4-7");
    }
    apply_ok(c, tx);
    add_job(c, 1);
    put_gres(alloc->groups[0], "gpu", "a100", 4, "0-3");
    put_gres(alloc->groups[0], "gpu", "v100", 1, "4");
    put_gres(alloc->groups[0], "port", NULL, 2, NULL);
    start_job(c, 1, alloc, T0);
    return c;
}

/* Nodes from first on, a group each, with these CPUs and tasks. */
static Pst__Alloc *make_step(uint32_t first, uint32_t count, const char *cpus, uint32_t tasks)
{
    Pst__Alloc *a = make_alloc(first, count, 4, 100);

    a->groups = realloc(a->groups, NODES * sizeof(Pst__AllocGroup *));
    assert_non_null(a->groups);
    for (uint32_t i = 1; i < count; i++) {
        a->groups[i] = malloc(sizeof(**a->groups));
        assert_non_null(a->groups[i]);
        pst__alloc_group__init(a->groups[i]);
        a->n_groups++;
    }
    for (uint32_t i = 0; i < count; i++) {
        SET(a->groups[i], nodes, 1);
        SET(a->groups[i], tasks, tasks);
        assert_int_equal(pb_set_str(&a->groups[i]->cpu_ids, cpus), 0);
    }
    return a;
}

/* "gpu:a100=0-1 port=2; ..." node by node. */
static void tell_devices(const Pst__Alloc *a, struct strbuf *sb)
{
    for (size_t i = 0; i < a->n_groups; i++) {
        const Pst__AllocGroup *g = a->groups[i];

        strbuf_add(sb, i ? "; " : "");
        for (size_t k = 0; k < g->n_gres; k++) {
            const Pst__GresAlloc *x = g->gres[k];

            strbuf_addf(sb, "%s%s%s%s=", k ? " " : "", x->name, x->type ? ":" : "",
                        x->type ? x->type : "");
            if (x->devices)
                strbuf_add(sb, x->devices);
            else
                strbuf_addf(sb, "%llu", (unsigned long long)x->count);
        }
    }
}

static const struct row {
    const char *per_node, *per_task, *per_step;
    uint32_t first, nodes, tasks; /* tasks of each node */
    const char *cpus;
    int code;
    const char *want;
} rows[] = {
    /* no request: all of the job's */
    { NULL, NULL, NULL, 0, 1, 1, "0-3", 0, "gpu:a100=0-3 gpu:v100=4 port=2" },
    { "none", NULL, NULL, 0, 1, 1, "0-3", 0, "" },
    { "gres/gpu:a100:2", NULL, NULL, 0, 2, 1, "0-3", 0, "gpu:a100=0-1; gpu:a100=0-1" },
    { "gres/gpu:a100:2", NULL, NULL, 0, 2, 1, "4-7", 0, "gpu:a100=2-3; gpu:a100=2-3" },
    { "gres/gpu:a100:3", NULL, NULL, 1, 1, 1, "4-7", 0, "gpu:a100=0,2-3" },
    { "gres/gpu:5", NULL, NULL, 0, 1, 1, "0-7", 0, "gpu:a100=0-3 gpu:v100=4" },
    { "gres/gpu:6", NULL, NULL, 0, 1, 1, "0-7", ESLURM_INVALID_GRES, "" },
    { "gres/gpu:h100:1", NULL, NULL, 0, 1, 1, "0-7", ESLURM_INVALID_GRES, "" },
    { "gres/gpu:v100", NULL, NULL, 0, 1, 1, "0-7", 0, "gpu:v100=4" },
    { "cpu=2,gres/port=2,gres/gpu", NULL, NULL, 0, 1, 1, "0-7", 0, "port=2 gpu:a100=0" },
    { "gres/port:3", NULL, NULL, 0, 1, 1, "0-7", ESLURM_INVALID_GRES, "" },
    { NULL, "gres/gpu:a100:1", NULL, 0, 2, 2, "4-7", 0, "gpu:a100=2-3; gpu:a100=2-3" },
    { NULL, "gres/gpu:1", NULL, 0, 1, 6, "0-7", ESLURM_INVALID_GRES, "" },
    { NULL, "gres/gpu:1", NULL, 0, 1, 0, "0-3", 0, "gpu:a100=0" },
    /* together: one of each node at least */
    { NULL, NULL, "gres/gpu:a100:4", 0, 2, 1, "0-3", 0, "gpu:a100=0-2; gpu:a100=0" },
    { NULL, NULL, "gres/gpu:a100:8", 0, 2, 1, "0-3", 0, "gpu:a100=0-3; gpu:a100=0-3" },
    { NULL, NULL, "gres/gpu:1", 0, 2, 1, "0-3", 0, "gpu:a100=0; " },
    { NULL, NULL, "gres/gpu:11", 0, 2, 1, "0-3", ESLURM_INVALID_GRES, "; " },
};

static void test_requests(void **state)
{
    struct cluster *c = make_world();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct row *r = &rows[i];
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        Pst__StepSpec spec = PST__STEP_SPEC__INIT;
        Pst__Alloc *a = make_step(r->first, r->nodes, r->cpus, r->tasks);

        spec.tres_per_node = (char *)r->per_node; /* read only, likewise below */
        spec.tres_per_task = (char *)r->per_task;
        spec.tres_per_step = (char *)r->per_step;
        if (stepgres_fill(c, cluster_job(c, 1), &spec, a, false) != r->code)
            fail_msg("row %zu", i);
        tell_devices(a, &sb);
        if (strcmp(strbuf_str(&sb), r->want) != 0)
            fail_msg("row %zu: %s, not %s", i, strbuf_str(&sb), r->want);
        pst__alloc__free_unpacked(a, NULL);
    }
    cluster_free(c);
}

/* A running step with devices of its own. */
static void run_step(struct cluster *c, uint32_t id, const char *per_node, bool overlap)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    Pst__StepRecord *s = tx_step_put(tx, EV(STEP_START), 1, id);
    struct step *step;

    spec.tres_per_node = (char *)per_node;
    s->alloc = make_step(0, 1, "0-3", 1);
    assert_int_equal(stepgres_fill(c, cluster_job(c, 1), &spec, s->alloc, overlap), 0);
    SET(s, state, PST__STEP_STATE__STEP_RUNNING);
    SET(s, own_gres, true);
    SET(s, overlap, overlap);
    apply_ok(c, tx);
    step = cluster_step(cluster_job(c, 1), id);
    assert_int_equal(bitmap_new(1, &step->waiting), 0); /* as stepcreate.c does: it runs */
    bitmap_set(step->waiting, 0);
}

static int try_step(struct cluster *c, uint32_t node, const char *per_node, const char *per_step,
                    bool overlap, char *ret, size_t size)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    Pst__Alloc *a = make_step(node, 1, "0-3", 1);
    int r;

    spec.tres_per_node = (char *)per_node;
    spec.tres_per_step = (char *)per_step;
    r = stepgres_fill(c, cluster_job(c, 1), &spec, a, overlap);
    tell_devices(a, &sb);
    (void)snprintf(ret, size, "%s", strbuf_str(&sb));
    pst__alloc__free_unpacked(a, NULL);
    return r;
}

static void test_held(void **state)
{
    struct cluster *c = make_world();
    char got[128];

    (void)state;
    run_step(c, 0, "gres/gpu:a100:3", false);
    run_step(c, 1, "gres/gpu:a100:2", true); /* shares: nothing is taken from others */
    assert_int_equal(try_step(c, 0, "gres/gpu:a100:1", NULL, false, got, sizeof(got)), 0);
    assert_string_equal(got, "gpu:a100=3");
    assert_int_equal(try_step(c, 0, "gres/gpu:a100:2", NULL, false, got, sizeof(got)),
                     ESLURM_NODES_BUSY);
    assert_int_equal(try_step(c, 0, NULL, "gres/gpu:a100:2", false, got, sizeof(got)),
                     ESLURM_NODES_BUSY);
    assert_int_equal(try_step(c, 0, "gres/gpu:2", NULL, false, got, sizeof(got)), 0);
    assert_string_equal(got, "gpu:a100=3 gpu:v100=4");
    assert_int_equal(try_step(c, 0, "gres/gpu:a100:2", NULL, true, got, sizeof(got)), 0);
    assert_string_equal(got, "gpu:a100=0-1");
    assert_int_equal(try_step(c, 1, "gres/gpu:a100:2", NULL, false, got, sizeof(got)), 0);
    assert_string_equal(got, "gpu:a100=0-1"); /* the other node */
    assert_int_equal(try_step(c, 0, NULL, NULL, false, got, sizeof(got)), 0);
    assert_string_equal(got, "gpu:a100=0-3 gpu:v100=4 port=2"); /* asks for none: sees all */
    cluster_free(c);
}

static void test_words(void **state)
{
    struct cluster *c = make_world();
    const struct job *j = cluster_job(c, 1);
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    char *text;

    (void)state;
    assert_false(stepgres_asks(&spec));
    assert_null(stepgres_request(&spec, 2));
    assert_int_equal(stepgres_gpus(j, &spec, 1, 3), 10); /* the job's, of both nodes */
    spec.tres_per_node = (char *)"cpu=2";
    assert_false(stepgres_asks(&spec));
    spec.tres_per_node = (char *)"gres/gpu:2";
    assert_true(stepgres_asks(&spec));
    assert_int_equal(stepgres_gpus(j, &spec, 2, 3), 4);
    spec.tres_per_step = (char *)"gres/gpu:a100:3";
    text = stepgres_request(&spec, 2);
    assert_string_equal(text, "gres/gpu:a100:3");
    free(text);
    SET(&spec, exact, true);
    text = stepgres_request(&spec, 2);
    assert_string_equal(text, "cpu:2,gres/gpu:a100:3");
    free(text);
    spec.tres_per_node = NULL;
    assert_int_equal(stepgres_gpus(j, &spec, 2, 3), 3);
    spec.tres_per_task = (char *)"gres/gpu:1";
    assert_int_equal(stepgres_gpus(j, &spec, 2, 3), 3);
    assert_int_equal(stepgres_gpus(j, &spec, 2, 4), 4);
    cluster_free(c);
}

static const struct socket_row {
    const char *text;
    uint32_t sockets;
    const char *cpus;
    int code;
    const char *want;
} socket_rows[] = {
    { "gres/gpu:a100:1", 1, "0-3", 0, "gpu:a100=0" },
    { "gres/gpu:a100:1", 1, "4-7", 0, "gpu:a100=2" },
    { "gres/gpu:a100:1", 2, "0-3", 0, "gpu:a100=0,2" }, /* its own socket first, then the other */
    { "gres/gpu:a100:2", 2, "0-7", 0, "gpu:a100=0-3" },
    { "gres/gpu:2", 2, "4-7", 0, "gpu:a100=0-3" },
    { "gres/gpu:a100:3", 1, "0-7", ESLURM_INVALID_GRES, "" }, /* a socket has two */
    { "gres/gpu:3", 1, "0-7", 0, "gpu:a100=0-1 gpu:v100=4" }, /* the v100 is near all sockets */
    { "gres/gpu:3", 2, "0-7", ESLURM_INVALID_GRES, "" },      /* ... and counts once */
    { "gres/gpu:a100:1", 3, "0-7", ESLURM_INVALID_GRES, "" },
    { "gres/port:1", 2, "0-7", 0, "port=2" },
    { "gres/port:2", 2, "0-7", ESLURM_INVALID_GRES, "" },
    { "gres/gpu:0", 2, "0-7", 0, "" },
};

static void test_sockets(void **state)
{
    struct cluster *c = make_world();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(socket_rows); i++) {
        const struct socket_row *r = &socket_rows[i];
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        Pst__StepSpec spec = PST__STEP_SPEC__INIT;
        Pst__Alloc *a = make_step(0, 1, r->cpus, 1);

        spec.tres_per_socket = (char *)r->text; /* read only */
        SET(&spec, sockets_per_node, r->sockets);
        if (stepgres_fill(c, cluster_job(c, 1), &spec, a, false) != r->code)
            fail_msg("row %zu", i);
        tell_devices(a, &sb);
        if (strcmp(strbuf_str(&sb), r->want) != 0)
            fail_msg("row %zu: %s, not %s", i, strbuf_str(&sb), r->want);
        pst__alloc__free_unpacked(a, NULL);
    }
    cluster_free(c);
}

static void test_sockets_held(void **state)
{
    struct cluster *c = make_world();
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    Pst__Alloc *a = make_step(0, 1, "0-3", 1);

    (void)state;
    run_step(c, 0, "gres/gpu:a100:2", false); /* both near cores 0-3 */
    spec.tres_per_socket = (char *)"gres/gpu:a100:1";
    SET(&spec, sockets_per_node, 2);
    assert_true(stepgres_asks(&spec));
    assert_int_equal(stepgres_gpus(cluster_job(c, 1), &spec, 2, 3), 4);
    assert_int_equal(stepgres_fill(c, cluster_job(c, 1), &spec, a, false), ESLURM_NODES_BUSY);
    assert_int_equal(a->groups[0]->n_gres, 0);
    SET(&spec, sockets_per_node, 1);
    assert_int_equal(stepgres_fill(c, cluster_job(c, 1), &spec, a, false), 0);
    assert_string_equal(a->groups[0]->gres[0]->devices, "2");
    pst__alloc__free_unpacked(a, NULL);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),     cmocka_unit_test(test_held),
        cmocka_unit_test(test_words),        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_sockets_held),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
