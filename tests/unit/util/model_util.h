/* model_util.h - what the tests of the model share: small clusters made by events, one line each */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/array.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"
#include "fields.h"

#define UTIL __attribute__((unused)) static
#define T0 INT64_C(1700000000000000)
#define SEC INT64_C(1000000)
#define EV(kind) PST__EVENT_KIND__EV_##kind

/* A generator of one's own: the same numbers everywhere (splitmix64). */
UTIL uint64_t rnd(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

UTIL uint32_t rnd_below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(rnd(seed) % n);
}

UTIL struct cluster *new_cluster(void)
{
    struct cluster *c = NULL;

    assert_int_equal(cluster_new(&c), 0);
    return c;
}

/* Takes tx. */
UTIL void apply_ok(struct cluster *c, Pst__Transaction *tx)
{
    struct err err = { .text = "" };
    int r = cluster_apply(c, tx, &err);

    if (r != 0)
        print_error("# %s\n", err.text);
    assert_int_equal(r, 0);
    assert_string_equal(err.text, "");
    tx_free(tx);
}

/* Takes tx; the sentence must contain `words`. */
UTIL void apply_bad(struct cluster *c, Pst__Transaction *tx, const char *words)
{
    struct err err = { .text = "" };

    assert_int_equal(cluster_apply(c, tx, &err), -EUCLEAN);
    if (!strstr(err.text, words))
        print_error("# wanted '%s', got '%s'\n", words ? words : "", err.text);
    assert_non_null(strstr(err.text, words));
    tx_free(tx);
}

UTIL Pst__NodeRecord *put_node(Pst__Transaction *tx, uint32_t id, const char *name, uint32_t cpus)
{
    Pst__NodeRecord *r = tx_node_put(tx, EV(NODE_CONFIG));

    SET(r, node_id, id);
    assert_int_equal(pb_set_str(&r->name, name), 0);
    SET(r, cpus, cpus);
    SET(r, real_memory_mib, UINT64_C(8000));
    SET(r, state, PST__NODE_STATE__NODE_IDLE);
    SET(r, state_flags, 0);
    return r;
}

UTIL void add_nodes(struct cluster *c, uint32_t n, uint32_t cpus)
{
    Pst__Transaction *tx = tx_new(T0);
    char name[32];

    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        put_node(tx, i, name, cpus);
    }
    apply_ok(c, tx);
}

UTIL Pst__PartitionRecord *put_part(Pst__Transaction *tx, const char *name, const char *nodes)
{
    Pst__PartitionRecord *r = tx_part_put(tx, EV(PART_CONFIG));

    assert_int_equal(pb_set_str(&r->name, name), 0);
    assert_int_equal(pb_set_str(&r->nodes, nodes), 0);
    SET(r, state, PST__PARTITION_STATE__PART_UP);
    return r;
}

UTIL Pst__JobRecord *put_job(Pst__Transaction *tx, uint32_t id)
{
    Pst__JobRecord *r = tx_job_put(tx, EV(JOB_SUBMIT));

    SET(r, job_id, id);
    SET(r, state, JOB_STATE(PENDING));
    SET(r, uid, 1000);
    SET(r, db_id, id);
    assert_int_equal(pb_set_str(&r->name, "job"), 0);
    return r;
}

UTIL void add_job(struct cluster *c, uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);

    put_job(tx, id);
    apply_ok(c, tx);
}

/* Task of an array with a job id of its own; task < 0: the array record with `tasks`. */
UTIL void add_task(struct cluster *c, uint32_t id, uint32_t array, int task, const char *tasks)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, id);

    SET(r, array_job_id, array);
    if (task >= 0)
        SET(r, array_task_id, (uint32_t)task);
    assert_int_equal(pb_set_str(&r->array_tasks, tasks), 0);
    apply_ok(c, tx);
}

/* `count` nodes from id first on, each with these CPUs and this memory: one group. */
UTIL Pst__Alloc *make_alloc(uint32_t first, uint32_t count, uint32_t cpus, uint64_t mem_mib)
{
    Pst__Alloc *a = malloc(sizeof(*a));
    Pst__AllocGroup *g = malloc(sizeof(*g));

    assert_true(a && g);
    pst__alloc__init(a);
    pst__alloc_group__init(g);
    a->n_node_ids = count;
    a->node_ids = malloc((count ? count : 1) * sizeof(*a->node_ids));
    for (uint32_t i = 0; i < count; i++)
        a->node_ids[i] = first + i;
    a->groups = malloc(sizeof(Pst__AllocGroup *));
    a->groups[0] = g;
    a->n_groups = 1;
    SET(g, nodes, count);
    SET(g, cpus, cpus);
    SET(g, mem_mib, mem_mib);
    SET(a, total_cpus, count * cpus);
    return a;
}

/* Takes alloc. */
UTIL void start_job(struct cluster *c, uint32_t id, Pst__Alloc *alloc, int64_t now)
{
    Pst__Transaction *tx = tx_new(now);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_START), id);

    SET(set, state, JOB_STATE(RUNNING));
    SET(set, state_flags, 0);
    SET(set, start_us, now);
    SET(set, released, false);
    set->alloc = alloc;
    apply_ok(c, tx);
}

UTIL void set_state(struct cluster *c, uint32_t id, Pst__JobState state, uint32_t flags)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_UPDATE), id);

    SET(set, state, state);
    SET(set, state_flags, flags);
    apply_ok(c, tx);
}

/* The end; with `clean` nothing is held any more. */
UTIL void end_job(struct cluster *c, uint32_t id, Pst__JobState state, int64_t now, bool clean)
{
    Pst__Transaction *tx = tx_new(now);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_END), id);

    SET(set, state, state);
    SET(set, state_flags, clean ? 0 : JOB_FLAG(COMPLETING));
    SET(set, end_us, now);
    if (clean)
        SET(set, released, true);
    apply_ok(c, tx);
}

UTIL void clean_job(struct cluster *c, uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_CLEANED), id);

    SET(set, state_flags, 0);
    SET(set, released, true);
    apply_ok(c, tx);
}

UTIL void requeue_job(struct cluster *c, uint32_t id)
{
    static const uint32_t gone[] = { JOB_F_START_US, JOB_F_END_US, JOB_F_ALLOC, JOB_F_RELEASED };
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_REQUEUE), id);

    SET(set, state, JOB_STATE(PENDING));
    SET(set, state_flags, 0);
    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        tx_clear(tx, gone[i]);
    apply_ok(c, tx);
}

UTIL void purge_job(struct cluster *c, uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);

    tx_job_purge(tx, id);
    apply_ok(c, tx);
}

/* Two nodes, a partition, a waiting job with a step. */
UTIL struct cluster *small_cluster(void)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    add_nodes(c, 2, 4);
    put_part(tx, "p", "n0");
    SET(put_job(tx, 1), state, JOB_STATE(PENDING));
    tx_step_put(tx, EV(STEP_START), 1, 0);
    apply_ok(c, tx);
    return c;
}

/* A transaction as its bytes are read again. */
UTIL Pst__Transaction *repack(const Pst__Transaction *tx)
{
    size_t len = pst__transaction__get_packed_size(tx);
    _cleanup_free_ uint8_t *buf = malloc(len ? len : 1);
    Pst__Transaction *again;

    assert_int_equal(pst__transaction__pack(tx, buf), len);
    again = pst__transaction__unpack(NULL, len, buf);
    assert_non_null(again);
    return again;
}
