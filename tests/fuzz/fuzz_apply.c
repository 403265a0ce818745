/* fuzz_apply.c - arbitrary bytes as a transaction, applied to a small cluster
 *
 * Events may be refused; the cluster is then only good for being freed.  One that was accepted must
 * be whole: it can be dumped into another of equal hash, and everything in it purged. */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"

enum { INPUT_MAX = 8192, NODE_ID_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_nodes(Pst__Transaction *tx)
{
    static const char *const names[] = { "n0", "n1", "n2" };

    for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
        Pst__NodeRecord *n = tx_node_put(tx, PST__EVENT_KIND__EV_NODE_CONFIG);

        SET(n, node_id, i);
        n->name = tx_strdup(names[i]);
        SET(n, cpus, 4);
    }
}

static Pst__Alloc *two_nodes(void)
{
    Pst__Alloc *a = malloc(sizeof(*a));
    Pst__AllocGroup *g = malloc(sizeof(*g));

    assert(a && g);
    pst__alloc__init(a);
    pst__alloc_group__init(g);
    a->node_ids = calloc(2, sizeof(*a->node_ids));
    a->groups = malloc(sizeof(Pst__AllocGroup *));
    assert(a->node_ids && a->groups);
    a->node_ids[1] = 1;
    a->n_node_ids = 2;
    a->groups[0] = g;
    a->n_groups = 1;
    SET(g, nodes, 2);
    SET(g, cpus, 2);
    SET(g, mem_mib, 100);
    return a;
}

/* Jobs 1 (pending), 2 (running, with a step), 3 (ended) and array 4 with task 5. */
static void put_jobs(Pst__Transaction *tx)
{
    struct digest name = { .bytes = { 77 } };

    tx_blob(tx, &name, "script", 6);
    for (uint32_t id = 1; id <= 5; id++) {
        Pst__JobRecord *r = tx_job_put(tx, PST__EVENT_KIND__EV_JOB_SUBMIT);

        SET(r, job_id, id);
        tx_digest(&name, &r->has_script_digest, &r->script_digest);
        SET(r, state,
            id == 2   ? JOB_STATE(RUNNING)
            : id == 3 ? JOB_STATE(FAILED)
                      : JOB_STATE(PENDING));
        if (id == 2)
            r->alloc = two_nodes();
        if (id >= 4)
            SET(r, array_job_id, 4);
        if (id == 4)
            r->array_tasks = tx_strdup("0-3");
        if (id == 5)
            SET(r, array_task_id, 4);
    }
    (void)tx_step_put(tx, PST__EVENT_KIND__EV_STEP_START, 2, 0);
}

static struct cluster *small(void)
{
    struct cluster *c = NULL;
    Pst__Transaction *tx = tx_new(1);
    int r = cluster_new(&c);

    assert(r == 0);
    put_nodes(tx);
    tx_part_put(tx, PST__EVENT_KIND__EV_PART_CONFIG)->name = tx_strdup("p");
    (void)pb_set_str(&tx->events[tx->n_events - 1]->part_put->nodes, "n[0-1]");
    put_jobs(tx);
    r = cluster_apply(c, tx, NULL);
    assert(r == 0);
    tx_free(tx);
    return c;
}

/* Memory in proportion to the largest node id is by design, and slow here. */
static bool too_large(const Pst__Transaction *tx)
{
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_NODE_PUT &&
            tx->events[i]->node_put->node_id > NODE_ID_MAX)
            return true;
    return false;
}

static int into(void *ctx, const Pst__Transaction *tx)
{
    return cluster_apply(ctx, tx, NULL);
}

static void purge_all(struct cluster *c)
{
    Pst__Transaction *tx = tx_new(2);
    void *v;
    int r;

    for (size_t pos = 0; (v = idmap_next(&c->jobs, &pos));)
        tx_job_purge(tx, ((struct job *)v)->rec->job_id);
    r = cluster_apply(c, tx, NULL);
    assert(r == 0);
    assert(!c->jobs.count && !c->arrays.count && !c->active && !c->done_head && !c->done_tail);
    for (uint32_t i = 0; i < c->nnodes; i++)
        assert(!c->nodes[i] ||
               (!c->nodes[i]->jobs && !c->nodes[i]->alloc_cpus && !c->nodes[i]->alloc_mem_mib));
    for (size_t i = 0; i < ARRAY_SIZE(c->njobs_state); i++)
        assert(c->njobs_state[i] == 0);
    tx_free(tx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Pst__Transaction *tx = size <= INPUT_MAX ? pst__transaction__unpack(NULL, size, data) : NULL;
    struct cluster *c, *copy = NULL;
    struct err err = { .text = "" };
    int r;

    if (!tx || too_large(tx)) {
        tx_free(tx);
        return 0;
    }
    c = small();
    r = cluster_apply(c, tx, &err);
    assert((r < 0) == (err.text[0] != '\0'));
    if (r == 0) {
        assert(cluster_new(&copy) == 0);
        r = cluster_dump(c, into, copy);
        assert(r == 0);
        assert(cluster_hash(copy) == cluster_hash(c));
        (void)cluster_done_oldest(c);
        purge_all(c);
        purge_all(copy);
        cluster_free(copy);
    }
    tx_free(tx);
    cluster_free(c);
    return 0;
}
