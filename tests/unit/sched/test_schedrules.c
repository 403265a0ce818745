/* test_schedrules.c - what lets a job start at all: limits of its partition, licences beside those
 * that are reserved, windows of reservations; and what it counts as by TRES */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/rules/adv_data.h"
#include "sched/rules/advlics.h"
#include "sched/rules/advtime.h"
#include "sched/rules/licfit.h"
#include "sched/rules/partlimits.h"
#include "sched/rules/tresfactor.h"
#include "sched/sched.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define MINUTE INT64_C(60000000)
#define NOW (1000 * MINUTE)

/* One partition that is up and unlimited, and a job of ten minutes on one node. */
struct world {
    struct sched s;
    struct part part, *parts[1];
    struct shape shape;
    struct class cls;
    struct job *job;
    struct entry *e;
    struct license lics[3];
    struct advs advs;
    struct advres resvs[2], *list[2];
    struct sched_resv_window windows[2];
    struct job_lic reserved[1], used[1];
};

static int make_world(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->job = calloc(1, sizeof(*w->job));
    w->e = calloc(1, sizeof(*w->e));
    assert_non_null(w->job);
    assert_non_null(w->e);
    w->part =
        (struct part){ .up = true, .max_nodes = SCHED_UNLIMITED, .max_time_min = SCHED_UNLIMITED };
    w->parts[0] = &w->part;
    w->s.parts = w->parts;
    w->s.nparts = 1;
    w->shape.key = (struct shape_key){
        .min_nodes = 1, .cpus_per_task = 1, .features_off = UINT32_MAX, .prefer_off = UINT32_MAX
    };
    w->cls.shape = &w->shape;
    *w->job = (struct job){ .id = 1, .time_limit_min = 10, .qos = STRTAB_NONE };
    *w->e = (struct entry){ .job = w->job, .cls = &w->cls };
    w->s.lics = w->lics;
    w->s.nlics = 3;
    *state = w;
    return 0;
}

static int free_world(void **state)
{
    struct world *w = *state;

    bitmap_free(w->advs.cored);
    free(w->advs.wins);
    free(w->job);
    free(w->e);
    free(w);
    return 0;
}

/* ---- partitions ------------------------------------------------------------------------------ */

static void test_part_state(void **state)
{
    struct world *w = *state;

    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    w->part.paused = true;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_RESOURCES);
    w->part.up = false;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_DOWN);
    w->part.inactive = true;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_INACTIVE);
    assert_int_equal(entry_limits_once_up(&w->s, w->e), SCHED_WHY_NONE);
}

static void test_part_nodes(void **state)
{
    struct world *w = *state;
    struct shape_key *k = &w->shape.key;

    w->part.min_nodes = 2;
    w->part.max_nodes = 4;
    k->min_nodes = 4;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    k->min_nodes = 5;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_NODE_LIMIT);
    k->min_nodes = 1;
    k->max_nodes = 1; /* too few; one without a maximum gets more than it needs */
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_NODE_LIMIT);
    k->max_nodes = 0;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    k->min_nodes = 5;
    k->flags = SHAPE_ANY_PART_SIZE;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
}

/* A job that names the least time that it needs starts where that is granted, and gets no more than
 * the partition's limit. */
static void test_part_time(void **state)
{
    struct world *w = *state;

    w->part.max_time_min = 10;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    w->job->time_limit_min = 11;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_TIME_LIMIT);
    assert_int_equal(entry_minutes(&w->s, w->e, 11), 11);
    w->job->time_min_min = 10;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    assert_int_equal(entry_minutes(&w->s, w->e, 11), 10);
    w->job->time_min_min = 11;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_TIME_LIMIT);
}

static void test_part_memory(void **state)
{
    struct world *w = *state;
    struct shape_key *k = &w->shape.key;

    k->mem_per_cpu_mib = 100;
    w->part.max_mem_per_cpu_mib = 100;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    k->mem_per_cpu_mib = 101;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_MEM);
    w->part.max_mem_per_cpu_mib = 0;
    w->part.max_mem_per_node_mib = 400;
    k->mem_per_cpu_mib = 100;
    k->num_tasks = 9;
    k->max_nodes = 2; /* five of them on one node */
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_MEM);
    k->num_tasks = 8;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    k->pn_min_cpus = 5;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_MEM);
    k->pn_min_cpus = 0;
    k->flags = SHAPE_MEM_PER_NODE; /* --mem=0: all of a node */
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_PART_MEM);
    k->mem_per_node_mib = 400;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
}

static void test_channels(void **state)
{
    struct world *w = *state;

    w->s.params.channels = 4;
    w->s.channels_held = 3;
    w->job->channels = 1;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_NONE);
    w->job->channels = 2;
    assert_int_equal(entry_limits(&w->s, w->e), SCHED_WHY_CHANNELS);
}

/* ---- licences -------------------------------------------------------------------------------- */

static void test_licences(void **state)
{
    struct world *w = *state;
    struct job_lic v[] = { { 0, 3 }, { 1, 1 } };
    struct job_lics want = { .v = v, .n = 2 };
    uint32_t which = 9;

    w->lics[0] = (struct license){ .total = 5, .used = 2 };
    w->lics[1] = (struct license){ .total = 1, .used = 1 };
    assert_false(lics_fit(&w->s, &want, NOW, &which));
    assert_int_equal(which, 1);
    want.any = true;
    assert_true(lics_fit(&w->s, &want, NOW, &which));
    assert_int_equal(which, 0);
    w->lics[0].used = 3;
    assert_false(lics_fit(&w->s, &want, NOW, &which));
    want.n = 0;
    assert_true(lics_fit(&w->s, &want, NOW, &which)); /* it asks for none */
    w->lics[0].used = 9;                              /* there are fewer than are held */
    assert_int_equal(lic_left(&w->s, 0, NOW), 0);
}

/* What a planned start leaves counts for jobs that would still run then. */
static void test_licences_planned(void **state)
{
    struct world *w = *state;
    uint64_t spare[1] = { 1 };
    struct resv r = { .start_us = NOW + MINUTE, .spare_lic = spare, .nspare_lic = 1 };

    w->lics[0].total = 5;
    w->lics[1].total = 5;
    w->s.resvs = &r;
    w->s.nresvs = 1;
    assert_int_equal(lic_left(&w->s, 0, NOW + MINUTE), 5);
    assert_int_equal(lic_left(&w->s, 0, NOW + MINUTE + 1), 1);
    assert_int_equal(lic_left(&w->s, 1, NOW + 2 * MINUTE), 5); /* not known when it was planned */
}

/* A reservation of four licences from the fifth minute to the eighth; its jobs hold one. */
static void reserve(struct world *w)
{
    w->windows[0] = (struct sched_resv_window){ NOW + 5 * MINUTE, NOW + 8 * MINUTE };
    w->reserved[0] = (struct job_lic){ 0, 4 };
    w->used[0] = (struct job_lic){ 0, 1 };
    w->resvs[0] = (struct advres){ .id = 7,
                                   .windows = w->windows,
                                   .nwindows = 1,
                                   .lics = { .v = w->reserved, .n = 1 },
                                   .used = { .v = w->used, .n = 1 } };
    w->list[0] = &w->resvs[0];
    w->advs.list = w->list;
    w->advs.n = 1;
    w->s.advs = &w->advs;
}

static void test_licences_reserved(void **state)
{
    struct world *w = *state;

    assert_false(adv_lics_any(&w->s));
    adv_about(&w->s, w->e, NOW); /* there are no reservations */
    reserve(w);
    assert_true(adv_lics_any(&w->s));
    assert_int_equal(adv_lics_kept(&w->s, 0), 0); /* about nobody */
    adv_about(&w->s, w->e, NOW);
    assert_int_equal(adv_lics_kept(&w->s, 0), 3);
    assert_int_equal(adv_lics_kept(&w->s, 1), 0);
    w->job->time_limit_min = 5; /* over when it begins */
    assert_int_equal(adv_lics_kept(&w->s, 0), 0);
    assert_int_equal(adv_lics_kept_in(&w->s, 0, NOW + 8 * MINUTE, NOW + 9 * MINUTE), 0);
    assert_int_equal(adv_lics_kept_in(&w->s, 0, NOW + 7 * MINUTE, NOW + 9 * MINUTE), 3);
    w->shape.key.resv = 7; /* its own job */
    assert_int_equal(adv_lics_kept_in(&w->s, 0, NOW + 7 * MINUTE, NOW + 9 * MINUTE), 0);
    w->shape.key.resv = 0;
    w->used[0].count = 6; /* more than is reserved keeps nothing from others */
    assert_int_equal(adv_lics_kept_in(&w->s, 0, NOW + 7 * MINUTE, NOW + 9 * MINUTE), 0);
    w->used[0].count = 0;
    w->resvs[0].floats = true; /* always two minutes from now: shorter jobs never meet it */
    w->resvs[0].float_us = 2 * MINUTE;
    assert_int_equal(adv_lics_kept_in(&w->s, 0, NOW, NOW + 2 * MINUTE), 0);
    assert_int_equal(adv_lics_kept_in(&w->s, 0, NOW, NOW + 3 * MINUTE), 4);
}

/* ---- windows --------------------------------------------------------------------------------- */

static int64_t edges[8];
static uint32_t nedges;

static void note_edge(struct sched *s, int64_t at_us)
{
    (void)s;
    if (nedges < ARRAY_SIZE(edges))
        edges[nedges] = at_us;
    nedges++;
}

static void test_windows(void **state)
{
    struct world *w = *state;

    assert_false(advs_any(&w->s));
    assert_int_equal(advs_refresh(&w->s, NOW), 0);
    assert_true(advs_wake(&w->s) == INT64_MAX);
    reserve(w);
    w->windows[1] = (struct sched_resv_window){ NOW + 20 * MINUTE, NOW + 21 * MINUTE };
    w->resvs[0].nwindows = 2;
    w->advs.dirty = true;
    w->s.nbits = 64;
    assert_int_equal(bitmap_new(64, &w->advs.cored), 0);
    assert_int_equal(advs_refresh(&w->s, NOW), 0);
    assert_true(advs_any(&w->s));
    assert_int_equal(w->advs.nwins, 2);
    assert_true(advs_wake(&w->s) == INT64_MAX); /* nobody waits */
    w->s.npending = 1;
    assert_int_equal(advs_wake(&w->s), NOW + 5 * MINUTE);
    nedges = 0;
    advs_each_edge(&w->s, note_edge);
    assert_int_equal(nedges, 4);
    assert_int_equal(edges[1], NOW + 8 * MINUTE);
    assert_int_equal(advs_refresh(&w->s, NOW + 6 * MINUTE), 0);
    assert_int_equal(advs_wake(&w->s), NOW + 8 * MINUTE);
    assert_int_equal(advs_refresh(&w->s, NOW + 8 * MINUTE), 0); /* the first is over */
    assert_int_equal(w->advs.nwins, 1);
    assert_int_equal(advs_wake(&w->s), NOW + 20 * MINUTE);
    assert_int_equal(advs_refresh(&w->s, NOW + 30 * MINUTE), 0);
    assert_true(advs_wake(&w->s) == INT64_MAX);
}

/* ---- TRES ------------------------------------------------------------------------------------ */

static void test_tres(void **state)
{
    struct world *w = *state;
    struct shape_key *k = &w->shape.key;
    char text[] = "gpu\0a100";

    w->shape.text = text;
    k->min_nodes = 2;
    k->max_nodes = 2;
    k->num_tasks = 6;
    k->cpus_per_task = 2;
    k->mem_per_cpu_mib = 10;
    k->ngres = 2;
    k->gres[0] = (struct shape_gres){ .per_node = 3, .name_off = 0, .type_off = 4 };
    k->gres[1] = (struct shape_gres){ .per_task = 1, .name_off = 0, .type_off = UINT32_MAX };
    assert_true(tres_asked(w->e, "node") == 2);
    assert_true(tres_asked(w->e, "cpu") == 12);
    assert_true(tres_asked(w->e, "mem") == 120);
    assert_true(tres_asked(w->e, "gres/gpu") == 3 * 2 + 6);
    assert_true(tres_asked(w->e, "gres/gpu:a100") == 6);
    assert_true(tres_asked(w->e, "gres/gpu:h100") == 0);
    assert_true(tres_asked(w->e, "gres/gp") == 0);
    assert_true(tres_asked(w->e, "license/x") == 0);
    k->flags = SHAPE_MEM_PER_NODE;
    k->mem_per_node_mib = 500;
    assert_true(tres_asked(w->e, "mem") == 1000);
}

/* ---- the window of the plan ------------------------------------------------------------------ */

static void test_window(void **state)
{
    struct world *w = *state;

    w->s.params.bf_window_min = 30;
    assert_true(bf_within(&w->s, NOW, NOW + 30 * MINUTE));
    assert_false(bf_within(&w->s, NOW, NOW + 30 * MINUTE + 1));
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_world, free_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_part_state),       ROW(test_part_nodes),
        ROW(test_part_time),        ROW(test_part_memory),
        ROW(test_channels),         ROW(test_licences),
        ROW(test_licences_planned), ROW(test_licences_reserved),
        ROW(test_windows),          ROW(test_tres),
        ROW(test_window),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
