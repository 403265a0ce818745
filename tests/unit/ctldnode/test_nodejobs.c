/* test_nodejobs.c - the index of the jobs that hold a node notices what came and went */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ctld/link/nodejobs.h"

#define NODES 4u
#define JOBS 3u

/* Job 1 holds nodes 0 and 2, job 2 node 2, job 3 node 3. */
struct world {
    struct cluster c;
    struct node nodes[NODES];
    Pst__NodeRecord records[NODES];
    struct job jobs[JOBS];
    Pst__JobRecord job_records[JOBS];
    Pst__Alloc allocs[JOBS];
    uint32_t ids[JOBS][2];
    struct nodejobs x;
};

static void start_job(struct world *w, uint32_t i)
{
    struct job *j = &w->jobs[i];

    w->job_records[i].has_state = 1;
    w->job_records[i].state = PST__JOB_STATE__JOB_RUNNING;
    j->next_active = w->c.active;
    w->c.active = j;
    for (size_t k = 0; k < w->allocs[i].n_node_ids; k++)
        w->nodes[w->ids[i][k]].jobs++;
}

static struct world *make_world(void)
{
    static const uint32_t held[JOBS][3] = { { 2, 0, 2 }, { 1, 2, 0 }, { 1, 3, 0 } };
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->c.nnodes = NODES;
    for (uint32_t i = 0; i < NODES; i++) {
        pst__node_record__init(&w->records[i]);
        w->records[i].node_id = i;
        w->nodes[i].rec = &w->records[i];
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        pst__job_record__init(&w->job_records[i]);
        pst__alloc__init(&w->allocs[i]);
        w->job_records[i].job_id = i + 1;
        w->job_records[i].alloc = &w->allocs[i];
        w->jobs[i].rec = &w->job_records[i];
        w->ids[i][0] = held[i][1];
        w->ids[i][1] = held[i][2];
        w->allocs[i].n_node_ids = held[i][0];
        w->allocs[i].node_ids = w->ids[i];
        assert_int_equal(idmap_put(&w->c.jobs, i + 1, &w->jobs[i]), 0);
        start_job(w, i);
    }
    return w;
}

static void free_world(struct world *w)
{
    nodejobs_done(&w->x);
    idmap_done(&w->c.jobs);
    free(w);
}

/* Bits of the ids of the jobs on a node. */
static unsigned jobs_on(struct world *w, uint32_t node)
{
    unsigned bits = 0;
    size_t n;
    uint32_t *ids = nodejobs_of(&w->x, &w->c, &w->nodes[node], &n);

    assert_int_equal(n, w->nodes[node].jobs);
    for (size_t i = 0; i < n; i++)
        bits |= 1u << ids[i];
    free(ids);
    return bits;
}

static void test_each_node(void **state)
{
    struct world *w = make_world();

    (void)state;
    assert_int_equal(jobs_on(w, 0), 1 << 1);
    assert_int_equal(jobs_on(w, 1), 0);
    assert_int_equal(jobs_on(w, 2), 1 << 1 | 1 << 2);
    assert_int_equal(jobs_on(w, 3), 1 << 3);
    free_world(w);
}

/* One index answers for all nodes, until it is wrong for the node that is asked for. */
static void test_index_is_kept(void **state)
{
    struct world *w = make_world();
    const uint32_t *made;

    (void)state;
    (void)jobs_on(w, 2);
    made = w->x.ids;
    (void)jobs_on(w, 0);
    (void)jobs_on(w, 3);
    assert_ptr_equal(w->x.ids, made);
    w->job_records[1].has_released = w->job_records[1].released = 1; /* job 2 leaves node 2 ... */
    w->c.active = &w->jobs[2];
    w->jobs[2].next_active = &w->jobs[0];
    w->nodes[2].jobs--;
    assert_int_equal(jobs_on(w, 2), 1 << 1);
    assert_ptr_equal(w->x.ids, made);
    w->job_records[1].has_released = 0; /* ... and has node 1 now */
    w->ids[1][0] = 1;
    start_job(w, 1);
    assert_int_equal(jobs_on(w, 1), 1 << 2);
    assert_int_equal(jobs_on(w, 2), 1 << 1);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_node),
        cmocka_unit_test(test_index_is_kept),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
