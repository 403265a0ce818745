/* test_topo_place.c - which nodes jobs get under a topology: the worked examples of the reference
 * page by their numbers, and recorded placements
 *
 * A row says which nodes are in use, what is asked for in the words of the command line, and the
 * nodes that the job gets: "wait" with the reason that the topology gives, or "never" when no idle
 * machine could hold it.  Nodes count from 1.  Jobs take whole nodes of 4 CPUs; on the partition
 * "cores" only the CPUs they ask for, and all memory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/explain/explain_units.h"
#include "sched/explain/sched_explain.h"
#include "sched/plan/switchwait.h"
#include "sched/select/picktopo.h"
#include "sched/state/topoclose.h"
#include "sched/topo/topo.h"
#include "sched/topo/topobits.h"
#include "sched/topo/topochoose.h"
#include "sched/topo/topoblock.h"
#include "sched/topo/topokind.h"
#include "sched/topo/toporing.h"
#include "sched/topo/topotorus.h"
#include "sched/topo/topotree.h"

enum cluster {
    BLOCK,    /* 4 blocks of 4, sizes 4 and 8 */
    BLOCK416, /* the same, sizes 4 and 16 */
    BLOCK2,   /* 8 blocks of 2, sizes 2, 4 and 16 */
    GAP,      /* BLOCK, the second block has no nodes */
    RACKS,    /* 4 blocks of 32, sizes 30 and 120 */
    TREE,     /* s0-s3 of 4 nodes, s4 above s0-s1, s5 above s2-s3, s6 above both */
    YTREE,    /* 4 leaves of 4 nodes below one switch */
    LEAVES,   /* the same without it */
    TREE3,    /* TREE with leaves of 2 nodes */
    RING,     /* two rings of 8 */
    TORUS16,  /* 4 x 2 x 2 */
    TORUS32,  /* 4 x 4 x 2 */
    FLAT10,
    FLAT16,
};

struct row {
    const char *name;
    enum cluster cluster;
    const char *state, *ask, *want;
};

#include "topo_recorded.h"

static const struct row examples[] = {
    { "1", BLOCK, "", "-N4", "13-16" },
    { "2", BLOCK, "13", "-N4", "9-12" },
    { "3", BLOCK, "5", "-N2", "6-7" },
    { "4", BLOCK, "1-2,5-6,9-10,13-14", "-N3", "wait: No suitable topology unit found" },
    { "5", BLOCK, "", "-N5", "9,13-16" },
    { "6", BLOCK, "13-15", "-N5", "9-12,16" },
    { "7", BLOCK, "", "-N9", "5,9-16" },
    { "8", BLOCK, "1-4,13-16", "-N8", "wait: No suitable topology unit found" },
    { "9", BLOCK, "1-4,13-16", "-N8 --segment=4", "5-12" },
    { "10", BLOCK, "1-4,13-16", "-N8 --segment=4 --consolidate-segments",
      "wait: No suitable topology unit found for segment" },
    { "11", BLOCK, "", "-N4 --segment=2", "13-16" },
    { "12", BLOCK, "", "-N4 --segment=2 --spread-segments", "9-10,13-14" },
    { "13", BLOCK, "", "-N10 --segment=2 --spread-segments", "never" },
    { "14", BLOCK, "", "-N6 --segment=4", "never: topology" },
    { "15", BLOCK, "", "-N3 --segment=4", "13-15" },
    { "16", BLOCK, "", "-N2 -w 1,5", "never" },
    { "17", BLOCK, "", "-N2 -w 6", "5-6" },
    { "18", BLOCK, "", "-N4 -x 13", "9-12" },
    { "19", BLOCK, "", "-N6 --segment=3 -w 1-4,9-12", "1-3,9-11" },
    { "20", BLOCK, "", "-N6 --segment=3 -w 1-3", "never: topology" },
    { "21", BLOCK, "", "-N2 --exclusive=topo", "13-14" },
    { "21, then", BLOCK, "topo:13-14", "-N2", "9-10" },
    { "22", GAP, "5-8", "-N8", "9-16" },
    { "22, no pair", GAP, "5-8,16", "-N8", "wait: No suitable topology unit found" },
    { "23", BLOCK416, "", "-N5", "9,13-16" },
    { "24", BLOCK416, "1-2,5-6,9-10,13-14", "-N5", "wait: No suitable topology unit found" },
    { "25", RACKS, "", "-N31", "97-127" },
    { "26", YTREE, "", "-N4", "1-4" },
    { "27", YTREE, "7-8", "-N2", "5-6" },
    { "28", YTREE, "", "-N6", "1-6" },
    { "29", YTREE, "2-4,8,15-16", "-N6", "9-14" },
    { "30", YTREE, "", "-N6 --switches=1@5", "wait" },
    { "30, at once", YTREE, "", "-N6 --switches=1@0", "1-6" },
    { "31", LEAVES, "", "-N6", "never" },
    { "32", LEAVES, "", "-N2 -w 1,5", "never: topology" },
    { "33", TREE3, "2", "-N3", "1,3-4" },
    { "34", FLAT10, "4", "-N3", "1-3" },
    { "35", FLAT10, "4", "-N7", "1,5-10" },
    { "36", RING, "1,4", "-N3", "5-7" },
    { "37", RING, "3-6", "-N4", "1-2,7-8" },
    { "38", RING, "", "-N8 --segment=4", "1-4,9-12" },
    { "39", RING, "", "-N12 --segment=4", "never" },
    { "40", TORUS32, "", "-N4", "1-2,5-6" },
    { "41", TORUS32, "1-2,5-6", "-N4", "17-18,21-22" },
    { "42", TORUS32, "", "-N6", "never: topology" },
    { "43", TORUS32, "", "-N16 --segment=8", "1-2,5-6,9-10,13-14,17-18,21-22,25-26,29-30" },
};

/* With SchedulerParameters=keep_segments, "keep:N". */
static const struct row kept[] = {
    { "one node, as Slurm", BLOCK, "1", "-N1", "2" },
    { "one node", BLOCK, "keep:3 1", "-N1", "5" },
    { "one node, no segment to lose", BLOCK, "keep:3 1-2 5", "-N1", "3" },
    { "one node, always a segment lost", BLOCK, "keep:4 9", "-N1", "10" },
    { "one node, required", BLOCK, "keep:3 1", "-N1 -w 2", "2" },
    { "several, as Slurm", RACKS, "97-99", "-N2", "100-101" },
    { "several", RACKS, "keep:14 97-99", "-N2", "65-66" },
    { "several, segments of more than a block", RACKS, "keep:60 97-98", "-N2", "65-66" },
    { "two blocks, then the rest", RACKS, "keep:15 1-32 33", "-N34", "65-66,97-128" },
    { "a whole pair of blocks, as Slurm", BLOCK2, "4", "-N2", "15-16" },
    { "a whole pair of blocks", BLOCK2, "keep:2 4", "-N2", "1-2" },
    { "segments", BLOCK, "keep:3 1", "-N2 --segment=1", "5,13" },
};

/* ---- clusters -------------------------------------------------------------------------------- */

#define NODES_MAX 128u

static uint32_t ids[NODES_MAX];

static const struct layout {
    enum topo_kind kind;
    uint32_t nodes, unit;    /* nodes of a unit with nodes, one after the other */
    const uint32_t sizes[3]; /* block */
    uint32_t above[3];       /* tree: leaves below each switch above, a power of two; 0 = no more */
    uint32_t dims[3];
} layouts[] = {
    [BLOCK] = { TOPO_BLOCK, 16, 4, .sizes = { 4, 8 } },
    [BLOCK416] = { TOPO_BLOCK, 16, 4, .sizes = { 4, 16 } },
    [BLOCK2] = { TOPO_BLOCK, 16, 2, .sizes = { 2, 4, 16 } },
    [GAP] = { TOPO_BLOCK, 16, 4, .sizes = { 4, 8 } },
    [RACKS] = { TOPO_BLOCK, 128, 32, .sizes = { 30, 120 } },
    [TREE] = { TOPO_TREE, 16, 4, .above = { 2, 4 } },
    [YTREE] = { TOPO_TREE, 16, 4, .above = { 4 } },
    [LEAVES] = { TOPO_TREE, 16, 4 },
    [TREE3] = { TOPO_TREE, 8, 2, .above = { 2, 4 } },
    [RING] = { TOPO_RING, 16, 8 },
    [TORUS16] = { TOPO_TORUS, 16, 16, .dims = { 4, 2, 2 } },
    [TORUS32] = { TOPO_TORUS, 32, 32, .dims = { 4, 4, 2 } },
    [FLAT10] = { TOPO_FLAT, 10, 10 },
    [FLAT16] = { TOPO_FLAT, 16, 16 },
};

static const uint32_t boxes16[][3] = {
    { 1, 1, 1 }, { 2, 1, 1 }, { 2, 2, 1 }, { 2, 2, 2 }, { 4, 2, 2 }
};
static const uint32_t boxes32[][3] = { { 2, 2, 1 }, { 2, 2, 2 }, { 4, 4, 2 } };

static size_t add_switches(const struct layout *l, struct topo_unit_spec *units, size_t n,
                           uint32_t *children)
{
    size_t below = 0, nbelow = n;

    for (uint32_t level = 0; level < 3 && l->above[level]; level++) {
        uint32_t each = l->above[level] / (level ? l->above[level - 1] : 1);
        size_t first = n;

        for (size_t i = 0; i < nbelow; i += each) {
            units[n] =
                (struct topo_unit_spec){ .name = "s", .children = children, .nchildren = each };
            for (uint32_t k = 0; k < each; k++)
                *children++ = (uint32_t)(below + i + k);
            n++;
        }
        below = first;
        nbelow = n - first;
    }
    return n;
}

static void put_topology(struct sched *s, enum cluster cluster)
{
    const struct layout *l = &layouts[cluster];
    struct topo_unit_spec units[32] = { 0 };
    struct topo_placement_spec placements[5] = { 0 };
    struct topo_spec spec = { .name = "t",
                              .kind = l->kind,
                              .units = units,
                              .block_sizes = l->sizes,
                              .placements = placements };
    const struct topo_spec *const set[] = { &spec };
    uint32_t children[32];

    if (l->kind == TOPO_FLAT)
        return;
    for (uint32_t at = 0; at < l->nodes; at += l->unit) {
        struct topo_unit_spec *u = &units[spec.nunits++];

        *u = (struct topo_unit_spec){ .name = "u", .nodes = ids + at, .nnodes = l->unit };
        memcpy(u->dims, l->dims, sizeof(u->dims));
    }
    if (cluster == GAP)
        units[1].nnodes = 0;
    while (l->kind == TOPO_BLOCK && spec.nblock_sizes < ARRAY_SIZE(l->sizes) &&
           l->sizes[spec.nblock_sizes])
        spec.nblock_sizes++;
    if (l->kind == TOPO_TREE)
        spec.nunits = add_switches(l, units, spec.nunits, children);
    spec.nplacements = cluster == TORUS16   ? ARRAY_SIZE(boxes16)
                       : cluster == TORUS32 ? ARRAY_SIZE(boxes32)
                                            : 0;
    for (size_t i = 0; i < spec.nplacements; i++) {
        const uint32_t *d = cluster == TORUS16 ? boxes16[i] : boxes32[i];

        memcpy(placements[i].dims, d, sizeof(placements[i].dims));
        memcpy(placements[i].spacing, d, sizeof(placements[i].spacing));
    }
    assert_int_equal(sched_topologies_put(s, set, 1), 0);
}

static struct sched *make_cluster(enum cluster cluster, const struct bitmap *drained)
{
    struct sched_params params = { .select = SCHED_SELECT_CORE, .select_memory = true };
    struct sched_partition part = { .name = "debug",
                                    .node_ids = ids,
                                    .nnodes = layouts[cluster].nodes,
                                    .up = true,
                                    .max_time_min = SCHED_UNLIMITED,
                                    .max_nodes = SCHED_UNLIMITED,
                                    .exclusive_node = true };
    struct sched *s;

    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < NODES_MAX; i++)
        ids[i] = i;
    for (uint32_t i = 0; i < part.nnodes; i++) {
        struct sched_node node = { .id = i,
                                   .cpus = 4,
                                   .sockets = 1,
                                   .cores_per_socket = 4,
                                   .threads_per_core = 1,
                                   .mem_mib = 8000,
                                   .weight = 1,
                                   .schedulable = !bitmap_test(drained, i) };

        assert_int_equal(sched_node_put(s, &node), 0);
    }
    put_topology(s, cluster);
    assert_int_equal(sched_partition_put(s, &part), 0);
    part.name = "cores";
    part.exclusive_node = false;
    assert_int_equal(sched_partition_put(s, &part), 0);
    return s;
}

/* ---- requests -------------------------------------------------------------------------------- */

struct request {
    struct sched_job job;
    const char *part;
    uint32_t req[NODES_MAX], exc[NODES_MAX];
};

/* "1-4,9" as counted from 1 -> ids. */
static size_t read_ids(const char *text, uint32_t *ret)
{
    struct bitmap *bm;
    size_t n = 0;

    assert_int_equal(bitmap_new(NODES_MAX + 1, &bm), 0);
    assert_int_equal(bitmap_parse(bm, text, NULL), 0);
    BITMAP_FOREACH (bm, i)
        ret[n++] = i - 1;
    bitmap_free(bm);
    return n;
}

static void read_word(struct request *r, const char *word, const char *value)
{
    struct sched_job *j = &r->job;
    char *end;

    if (strncmp(word, "-N", 2) == 0) {
        j->min_nodes = j->max_nodes = (uint32_t)strtoul(word + 2, &end, 10);
        if (*end == '-')
            j->max_nodes = (uint32_t)strtoul(end + 1, NULL, 10);
    } else if (strncmp(word, "-n", 2) == 0) {
        j->num_tasks = (uint32_t)strtoul(word + 2, NULL, 10);
    } else if (strcmp(word, "-p") == 0) {
        r->part = value;
    } else if (strcmp(word, "-w") == 0) {
        j->nreq = read_ids(value, r->req);
    } else if (strcmp(word, "-x") == 0) {
        j->nexc = read_ids(value, r->exc);
    } else if (strncmp(word, "--segment=", 10) == 0) {
        j->segment_size = (uint32_t)strtoul(word + 10, NULL, 10);
    } else if (strncmp(word, "--switches=", 11) == 0) {
        j->switches = (uint32_t)strtoul(word + 11, &end, 10);
        j->switches_wait_s = *end ? (uint32_t)strtoul(end + 1, NULL, 10) * 60 : 300;
        if (strchr(end, ':'))
            j->switches_wait_s = 1;
    } else if (strcmp(word, "--spread-segments") == 0) {
        j->spread_segments = true;
    } else if (strcmp(word, "--consolidate-segments") == 0) {
        j->consolidate_segments = true;
    } else if (strcmp(word, "--exclusive=topo") == 0) {
        j->exclusive_topo = true;
    } else if (strcmp(word, "--contiguous") == 0) {
        j->contiguous = true;
    } else if (strcmp(word, "--spread-job") == 0) {
        j->spread = true;
    } else if (strcmp(word, "--use-min-nodes") == 0) {
        j->use_min_nodes = true;
    } else {
        fail_msg("what is %s?", word);
    }
}

static void read_request(struct request *r, char *text)
{
    char *save = NULL;

    *r = (struct request){ .part = "debug" };
    r->job = (struct sched_job){ .id = 1,
                                 .min_nodes = 1,
                                 .cpus_per_task = 1,
                                 .npartitions = 1,
                                 .time_limit_min = 10,
                                 .has_mem_per_node = true,
                                 .req_nodes = r->req,
                                 .exc_nodes = r->exc };
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        read_word(r, w, w[0] == '-' && strchr("pwx", w[1]) ? strtok_r(NULL, " ", &save) : NULL);
    if (r->job.max_nodes == 0 && !r->job.num_tasks)
        r->job.num_tasks = r->job.max_nodes = 1;
    r->job.partitions = &r->part;
}

static void run_on(struct sched *s, uint32_t id, const char *nodes, bool exclusive_topo)
{
    struct sched_alloc_node hold[NODES_MAX] = { 0 };
    struct sched_alloc alloc = { .nodes = hold };
    uint32_t on[NODES_MAX];
    uint64_t cpus = 15;

    alloc.nnodes = read_ids(nodes, on);
    for (size_t i = 0; i < alloc.nnodes; i++)
        hold[i] = (struct sched_alloc_node){ .node_id = on[i],
                                             .cpus = 4,
                                             .cpu_bits = &cpus,
                                             .ncpu_words = 1,
                                             .mem_mib = 8000,
                                             .tasks = 1 };
    assert_int_equal(sched_job_running(s, id, "debug", &alloc, 0, 600000000, true), 0);
    if (exclusive_topo)
        assert_int_equal(sched_job_topo(s, id, true), 0);
}

static void set_state(struct sched *s, const char *text)
{
    char copy[256], *save = NULL;
    uint32_t id = 100;

    (void)snprintf(copy, sizeof(copy), "%s", text);
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        if (strncmp(w, "topo:", 5) == 0)
            run_on(s, id++, w + 5, true);
        else if (strncmp(w, "drain:", 6) != 0 && strncmp(w, "keep:", 5) != 0)
            run_on(s, id++, w, false);
}

static void set_keep(struct sched *s, const char *state)
{
    struct sched_params params = { .select = SCHED_SELECT_CORE, .select_memory = true };
    const char *at = strstr(state, "keep:");

    params.keep_segments = at ? (uint32_t)strtoul(at + 5, NULL, 10) : 0;
    sched_params_set(s, &params);
}

static struct bitmap *drained_of(const char *state)
{
    const char *at = strstr(state, "drain:");
    struct bitmap *bm;
    uint32_t list[NODES_MAX];
    size_t n = at ? read_ids(at + 6, list) : 0;

    assert_int_equal(bitmap_new(NODES_MAX, &bm), 0);
    for (size_t i = 0; i < n; i++)
        bitmap_set(bm, list[i]);
    return bm;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void tell_nodes(const struct sched_alloc *a, char *ret, size_t size)
{
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    _cleanup_free_ char *text = NULL;

    assert_int_equal(bitmap_new(NODES_MAX + 1, &bm), 0);
    for (size_t i = 0; i < a->nnodes; i++)
        bitmap_set(bm, a->nodes[i].node_id + 1);
    assert_int_equal(bitmap_format(bm, &text), 0);
    (void)snprintf(ret, size, "%s", text);
}

static void tell_decision(const struct sched_decisions *out, char *ret, size_t size)
{
    const struct sched_decision *d = NULL;

    for (size_t i = 0; i < out->n; i++)
        if (out->items[i].job_id == 1)
            d = &out->items[i];
    assert_non_null(d);
    if (d->kind == SCHED_START)
        tell_nodes(&d->alloc, ret, size);
    else if (d->topo)
        (void)snprintf(ret, size, "wait: %s", topo_why_text(d->topo));
    else
        (void)snprintf(ret, size, "wait");
}

static bool test_row(const struct row *row)
{
    _cleanup_(bitmap_free) struct bitmap *drained = drained_of(row->state);
    struct sched *s = make_cluster(row->cluster, drained);
    struct sched_decisions out = { 0 };
    struct request r;
    enum sched_why why;
    int64_t wake_us;
    char ask[128], got[128];

    (void)snprintf(ask, sizeof(ask), "%s", row->ask);
    read_request(&r, ask);
    set_keep(s, row->state);
    set_state(s, row->state);
    if (!sched_feasible(s, &r.job, &why)) {
        (void)snprintf(got, sizeof(got), why == SCHED_WHY_TOPOLOGY ? "never: topology" : "never");
    } else {
        assert_int_equal(sched_job_put(s, &r.job), 0);
        assert_int_equal(sched_pass(s, 1000000, &out, &wake_us), 0);
        tell_decision(&out, got, sizeof(got));
    }
    sched_decisions_done(&out);
    sched_free(s);
    if (strcmp(got, row->want) == 0)
        return true;
    print_error("%s: in use \"%s\", %s: %s, not %s\n", row->name, row->state, row->ask, got,
                row->want);
    return false;
}

static void test_rows(const struct row *rows, size_t n)
{
    size_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong += !test_row(&rows[i]);
    assert_int_equal(wrong, 0);
}

static void test_examples(void **state)
{
    (void)state;
    test_rows(examples, ARRAY_SIZE(examples));
}

static void test_recorded(void **state)
{
    (void)state;
    test_rows(recorded, ARRAY_SIZE(recorded));
}

static void test_kept(void **state)
{
    (void)state;
    test_rows(kept, ARRAY_SIZE(kept));
}

/* ---- plans ----------------------------------------------------------------------------------- */

#define MINUTE INT64_C(60000000)

static void run_until(struct sched *s, uint32_t id, uint32_t node, int64_t end_us)
{
    char text[8];

    (void)snprintf(text, sizeof(text), "%u", node);
    run_on(s, id, text, false);
    sched_job_end_time(s, id, end_us);
}

static void put_request(struct sched *s, uint32_t id, const char *ask, uint32_t minutes)
{
    struct request r;
    char copy[128];

    (void)snprintf(copy, sizeof(copy), "%s", ask);
    read_request(&r, copy);
    r.job.partitions = &r.part;
    r.job.id = id;
    r.job.time_limit_min = minutes;
    r.job.priority = 1000 - id;
    assert_int_equal(sched_job_put(s, &r.job), 0);
}

/* What a pass and a backfill say of a job: where it starts, or when it is expected. */
static void tell_plan(struct sched *s, uint32_t id, char *ret, size_t size)
{
    struct sched_decisions out = { 0 };
    int64_t wake_us;

    (void)snprintf(ret, size, "nothing");
    assert_int_equal(sched_pass(s, MINUTE, &out, &wake_us), 0);
    assert_int_equal(sched_backfill(s, MINUTE, &out), 0);
    for (size_t i = 0; i < out.n; i++) {
        const struct sched_decision *d = &out.items[i];

        if (d->job_id != id)
            continue;
        if (d->kind == SCHED_START)
            tell_nodes(&d->alloc, ret, size);
        else
            (void)snprintf(ret, size, "minute %d on %zu nodes", (int)(d->expected_us / MINUTE),
                           d->nexpected);
    }
    sched_decisions_done(&out);
}

static struct sched *planning_cluster(bool conservative)
{
    struct sched_params params = { .select = SCHED_SELECT_CORE,
                                   .select_memory = true,
                                   .backfill = true,
                                   .bf_window_min = 1440,
                                   .conservative = conservative };
    struct bitmap *none;
    struct sched *s;

    assert_int_equal(bitmap_new(NODES_MAX, &none), 0);
    s = make_cluster(BLOCK, none);
    sched_params_set(s, &params);
    bitmap_free(none);
    return s;
}

/* Four nodes are free at minute 20, but four of one block only at minute 30. */
static void test_expected_start(void **state)
{
    (void)state;
    for (int conservative = 0; conservative < 2; conservative++) {
        struct sched *s = planning_cluster(conservative);
        char got[128];

        for (uint32_t node = 1; node <= 16; node++)
            run_until(s, 100 + node, node, (node % 4 == 1 ? 20 : node <= 4 ? 30 : 60) * MINUTE);
        put_request(s, 1, "-N4", 10);
        tell_plan(s, 1, got, sizeof(got));
        assert_string_equal(got, "minute 30 on 4 nodes");
        sched_free(s);
    }
}

/* A job that will close its block at minute 20 keeps others from being there then. */
static void test_closed_in_plan(void **state)
{
    static const struct {
        uint32_t minutes;
        const char *want;
    } others[] = { { 10, "16" }, { 30, "minute 40 on 1 nodes" } };

    (void)state;
    for (int conservative = 0; conservative < 2; conservative++) {
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
            struct sched *s = planning_cluster(conservative);
            char got[128];

            for (uint32_t node = 1; node <= 13; node++)
                run_until(s, 100 + node, node, (node == 13 ? 20 : 600) * MINUTE);
            put_request(s, 1, "-N2 --exclusive=topo", 20);
            put_request(s, 2, "-N1 -w 16", others[i].minutes);
            tell_plan(s, 2, got, sizeof(got));
            if (conservative || i == 0) /* EASY tells only the first job when it starts */
                assert_string_equal(got, others[i].want);
            else
                assert_string_not_equal(got, "16");
            sched_free(s);
        }
    }
}

/* For few switches a job waits so long, from its first trial on. */
static void test_switches_wait(void **state)
{
    struct sched_decisions out = { 0 };
    struct bitmap *none;
    int64_t wake_us;
    struct sched *s;

    (void)state;
    assert_int_equal(bitmap_new(NODES_MAX, &none), 0);
    s = make_cluster(YTREE, none);
    put_request(s, 1, "-N6 --switches=1@5", 10);
    assert_int_equal(sched_pass(s, 2 * MINUTE, &out, &wake_us), 0);
    assert_int_equal(wake_us, 7 * MINUTE);
    assert_int_equal(sched_pass(s, 6 * MINUTE, &out, &wake_us), 0);
    assert_int_equal(out.started, 0);
    assert_int_equal(sched_pass(s, 7 * MINUTE, &out, &wake_us), 0);
    assert_int_equal(out.started, 1);
    sched_decisions_done(&out);
    sched_free(s);
    bitmap_free(none);
}

/* Which blocks are almost enough, and what they lack. */
static void test_explains_blocks(void **state)
{
    struct bitmap *drained = drained_of("drain:13");
    struct sched *s = make_cluster(BLOCK, drained);
    struct sched_explanation x;
    struct request r;
    char ask[] = "-N4";
    bool down = false;

    (void)state;
    run_on(s, 100, "1,5-6,9-10", false);
    read_request(&r, ask);
    assert_int_equal(sched_job_put(s, &r.job), 0);
    assert_int_equal(sched_explain(s, &r.job, NULL, 0, MINUTE, &x), 0);
    assert_int_equal(x.parts[0].topo, TOPO_WHY_NO_UNIT);
    assert_int_equal(x.parts[0].nunits, 3);
    for (uint32_t i = 0; i < 2; i++) {
        const struct explain_unit *u = &x.parts[0].units[i];

        assert_int_equal(u->free, 3);
        assert_int_equal(u->wanted, 4);
        assert_int_equal(u->nmissing, 1);
        assert_int_equal(u->holders[0], u->down[0] ? 0 : 100);
        assert_int_equal(u->missing[0], u->down[0] ? 12 : 0);
        down = down || u->down[0];
    }
    assert_true(down);
    assert_int_equal(x.parts[0].units[2].free, 2);
    sched_explanation_done(&x);
    sched_free(s);
    bitmap_free(drained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_expected_start),
        cmocka_unit_test(test_closed_in_plan),
        cmocka_unit_test(test_switches_wait),
        cmocka_unit_test(test_explains_blocks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
