/* test_profile.c - the profile of the conservative plan: slots of time, the steps of nodes and the
 * bitmaps made of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_bits.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_filter.h"
#include "sched/profile/prof_holders.h"
#include "sched/profile/prof_recall.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_steps.h"
#include "sched/sched.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

#define SLOTS 40u
#define NODES 3u
#define MINUTE INT64_C(60000000)
#define T0 (1000 * MINUTE)

/* Nodes of four CPUs, of which nothing is held; slots a minute long. */
struct world {
    struct sched s;
    struct prof pf;
    struct node nodes[NODES];
    struct pnode pnodes[NODES];
    struct part part, *parts[1];
    struct license lics[2];
    int64_t times[SLOTS], ends[SLOTS];
    bool release[SLOTS];
    struct recall recall[NODES];
    uint64_t held_lics[SLOTS * 2];
};

static int make_world(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->s.prof = &w->pf;
    w->s.nodes = w->nodes;
    w->s.nnodes = NODES;
    w->s.nbits = 64;
    w->parts[0] = &w->part;
    w->s.parts = w->parts;
    w->s.nparts = 1;
    w->s.lics = w->lics;
    w->s.nlics = 2;
    w->part.select_memory = true;
    w->pf = (struct prof){ .times = w->times,
                           .ends = w->ends,
                           .nslots = SLOTS,
                           .release = w->release,
                           .nodes = w->pnodes,
                           .nnodes = NODES,
                           .nlevels = 3,
                           .nwords = 1,
                           .most_cpus = 4,
                           .recall = w->recall };
    for (uint32_t q = 0; q < SLOTS; q++)
        w->times[q] = T0 + q * MINUTE;
    for (uint32_t id = 0; id < NODES; id++) {
        w->nodes[id] = (struct node){ .exists = true, .cpus = 4, .nwords = 1, .mem_mib = 1000 };
        assert_int_equal(prof_steps_clear(&w->s, id), 0);
    }
    assert_int_equal(bitmap_new(64, &w->s.dup), 0);
    *state = w;
    return 0;
}

static int free_world(void **state)
{
    struct world *w = *state;

    for (uint32_t id = 0; id < NODES; id++) {
        free(w->pnodes[id].mem);
        free(w->pnodes[id].ids);
    }
    free(w->pf.bits);
    free(w->pf.blocks);
    free(w->pf.counts);
    free(w->pf.idx);
    bitmap_free(w->s.dup);
    free(w);
    return 0;
}

/* The node holds these CPUs from slot `from` on; steps come latest first. */
static void add_step(struct world *w, uint32_t id, uint32_t from, uint64_t cpus)
{
    struct pnode *pn = &w->pnodes[id];
    struct step *st;

    assert_int_equal(prof_steps_room(pn, pn->n + 1), 0);
    memmove(pn->mem + pn->stride, pn->mem, (size_t)pn->n * pn->stride);
    pn->n++;
    st = step_at(pn, 0);
    memset(st, 0, pn->stride);
    st->from = from;
    st->w[0] = cpus;
    st->held = cpus != 0;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void test_times(void **state)
{
    struct world *w = *state;
    struct sched *s = &w->s;

    assert_int_equal(prof_slots(s), SLOTS);
    assert_int_equal(prof_time(s, 3), T0 + 3 * MINUTE);
    assert_int_equal(prof_slot_at(s, T0 - 1), 0);
    assert_int_equal(prof_slot_at(s, T0 + 1), 1);
    assert_int_equal(prof_slot_at(s, T0 + MINUTE), 1);
    assert_int_equal(prof_slot_at(s, T0 + SLOTS * MINUTE), SLOTS);
    assert_int_equal(prof_until(s, 2, 5), 7);
    assert_int_equal(prof_until(s, 2, 0), 3); /* no span is empty */
    assert_int_equal(prof_until(s, 2, 1000), SLOTS);
    assert_int_equal(prof_release(s, 0), SLOTS); /* nothing comes free */
    w->release[4] = true;
    assert_int_equal(prof_release(s, 0), 4);
    assert_int_equal(prof_release(s, 4), 4);
    assert_int_equal(prof_release(s, 5), SLOTS);
}

/* A start is promised for the latest end that is rounded up to its slot. */
static void test_promise(void **state)
{
    struct world *w = *state;
    struct sched *s = &w->s;

    assert_int_equal(prof_promise(s, 5), T0 + 5 * MINUTE);
    prof_note_end(s, 5, T0 + 4 * MINUTE + 20);
    prof_note_end(s, 5, T0 + 4 * MINUTE + 10);
    assert_int_equal(prof_promise(s, 5), T0 + 4 * MINUTE + 20);
    prof_note_end(s, 5, T0 + 9 * MINUTE); /* late: not behind the slot's beginning */
    assert_int_equal(prof_promise(s, 5), T0 + 5 * MINUTE);
    prof_note_end(s, 6, T0); /* over already */
    assert_int_equal(prof_promise(s, 6), T0 + 6 * MINUTE);
    prof_note_end(s, SLOTS, T0 + 9 * MINUTE); /* beyond all planning */
}

static void test_advance(void **state)
{
    struct world *w = *state;
    struct sched *s = &w->s;

    assert_true(prof_advance(s, T0 + 30));
    assert_int_equal(prof_now(s), 0);
    assert_int_equal(prof_time(s, 0), T0 + 30);
    assert_true(prof_advance(s, T0 + 2 * MINUTE));
    assert_int_equal(prof_now(s), 2);
    assert_true(prof_advance(s, T0)); /* clocks that go back change nothing */
    assert_int_equal(prof_now(s), 2);
    assert_int_equal(prof_time(s, 2), T0 + 2 * MINUTE);
    assert_false(prof_advance(s, T0 + SLOTS * MINUTE)); /* at its end: make another one */
}

static void test_licences(void **state)
{
    struct world *w = *state;
    struct sched *s = &w->s;
    struct job_lic held[] = { { 0, 3 }, { 1, 1 } };
    const struct job_lics l = { .v = held, .n = 2 };

    assert_false(prof_fixed(s));
    assert_true(prof_lic_left(s, 0, 0, SLOTS) == UINT64_MAX); /* none are planned */
    w->pf.lics = w->held_lics;
    w->pf.nlics = 2;
    w->lics[0].total = 5;
    w->lics[1].total = 1;
    assert_true(prof_fixed(s));
    prof_hold_lics(s, &l, 4, 6);
    assert_int_equal(prof_lic_left(s, 0, 0, 4), 5);
    assert_int_equal(prof_lic_left(s, 0, 0, 5), 2);
    assert_int_equal(prof_lic_left(s, 0, 6, 99), 5);
    assert_int_equal(prof_lic_left(s, 1, 5, 6), 0);
    assert_true(w->release[6]);
    prof_hold_lics(s, &l, 5, UINT32_MAX); /* together more than there are */
    assert_int_equal(prof_lic_left(s, 0, 5, 6), 0);
    assert_int_equal(prof_lic_left(s, 0, SLOTS - 1, SLOTS), 2);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void test_find_step(void **state)
{
    struct world *w = *state;
    struct pnode *pn = &w->pnodes[0];

    assert_int_equal(step_find(pn, 0), 0);
    add_step(w, 0, 3, 1);
    add_step(w, 0, 8, 0);
    assert_int_equal(step_find(pn, 2), 2);
    assert_int_equal(step_find(pn, 3), 1);
    assert_int_equal(step_find(pn, 7), 1);
    assert_int_equal(step_find(pn, 8), 0);
    assert_int_equal(step_find(pn, SLOTS), 0);
    assert_int_equal(step_free(&w->nodes[0], step_at(pn, 1)), 3);
}

/* CPUs kept from jobs are held in the first step and for one job alone. */
static void test_spec(void **state)
{
    struct world *w = *state;
    uint64_t spec = 8;

    w->nodes[1].spec = &spec;
    assert_int_equal(prof_steps_clear(&w->s, 1), 0);
    assert_int_equal(step_free(&w->nodes[1], step_at(&w->pnodes[1], 0)), 3);
    assert_int_equal(step_at(&w->pnodes[1], 0)->w[1], 8);
    assert_false(step_at(&w->pnodes[1], 0)->held); /* by no job */
}

static void test_hold_step(void **state)
{
    struct world *w = *state;
    uint64_t bits = 3;
    struct sched_alloc_node an = {
        .node_id = 0, .cpus = 2, .cpu_bits = &bits, .ncpu_words = 1, .mem_mib = 600
    };
    struct hold h = { .an = &an, .uid = 7, .label = 1, .cpus = true, .firm = true };
    struct step *st = step_at(&w->pnodes[0], 0);

    assert_true(step_holds(&w->s, st, &an, 0));
    step_add(&w->s, 0, st, &h);
    assert_true(st->held && st->any && !st->mixed && !st->labels_mixed);
    assert_int_equal(st->mem, 600);
    assert_int_equal(st->w[0], 3);
    assert_int_equal(st->w[1], 3);
    assert_false(step_holds(&w->s, st, &an, 0)); /* the CPUs */
    bits = 12;
    assert_false(step_holds(&w->s, st, &an, 0)); /* the memory */
    an.mem_mib = 400;
    assert_true(step_holds(&w->s, st, &an, 0));
    an.mem_mib = 401;
    w->part.select_memory = false;
    assert_true(step_holds(&w->s, st, &an, 0));
    h.uid = 8;
    h.firm = false;
    step_add(&w->s, 0, st, &h);
    assert_true(st->mixed && !st->labels_mixed);
    assert_int_equal(st->w[0], 15);
    assert_int_equal(st->w[1], 3);
    h.label = 2;
    h.cpus = false; /* suspended: its memory counts, its CPUs do not */
    step_add(&w->s, 0, st, &h);
    assert_true(st->labels_mixed);
    assert_int_equal(st->mem, 600 + 401 + 401);
}

static void test_holders(void **state)
{
    struct world *w = *state;
    uint32_t n, *ids;

    for (uint32_t job = 1; job <= 9; job++)
        assert_int_equal(prof_note_holder(&w->s, 2, job), 0);
    assert_int_equal(prof_note_holder(&w->s, NODES, 1), -ERANGE);
    ids = prof_holders(&w->s, 2, &n);
    assert_int_equal(n, 9);
    assert_int_equal(ids[8], 9);
    prof_holders_cut(&w->s, 2, 3);
    assert_int_equal(prof_note_holder(&w->s, 2, 10), 0);
    ids = prof_holders(&w->s, 2, &n);
    assert_int_equal(n, 4);
    assert_int_equal(ids[3], 10);
    (void)prof_holders(&w->s, 0, &n);
    assert_int_equal(n, 0);
}

/* ---- bitmaps --------------------------------------------------------------------------------- */

/* Each bitmap and count says what the steps say. */
static void check_bits(const struct world *w)
{
    const struct prof *pf = &w->pf;

    for (uint32_t q = 0; q < SLOTS; q++) {
        for (uint32_t k = 0; k <= pf->nlevels; k++) {
            uint64_t want = 0;

            for (uint32_t id = 0; id < NODES; id++) {
                const struct step *st = step_at(&w->pnodes[id], step_find(&w->pnodes[id], q));
                uint32_t left = step_free(&w->nodes[id], st);

                if (k == pf->nlevels ? !st->held : left >= UINT32_C(1) << k)
                    want |= UINT64_C(1) << id;
            }
            assert_int_equal(*level_words(pf, q, k), want);
            assert_int_equal(pf->counts[q * (pf->nlevels + 1) + k], __builtin_popcountll(want));
        }
    }
    for (uint32_t first = 0; first < SLOTS; first += PROF_BLOCK) {
        for (uint32_t k = 0; k <= pf->nlevels; k++) {
            uint64_t want = UINT64_MAX;

            for (uint32_t q = first; q < MIN(first + PROF_BLOCK, SLOTS); q++)
                want &= *level_words(pf, q, k);
            assert_int_equal(*block_words(pf, first, k), want);
        }
    }
}

static void test_make_bits(void **state)
{
    struct world *w = *state;

    add_step(w, 0, 3, 1);
    add_step(w, 0, 20, 15);
    add_step(w, 1, 17, 7);
    add_step(w, 1, 18, 0);
    assert_int_equal(prof_bits_make(&w->s), 0);
    check_bits(w);
    assert_int_equal(levels_of(&w->pf, 0), 0);
    assert_int_equal(levels_of(&w->pf, 1), 1);
    assert_int_equal(levels_of(&w->pf, 3), 2);
    assert_int_equal(levels_of(&w->pf, 4), 3);
    assert_int_equal(levels_of(&w->pf, 4000), 3);
}

/* Steps come to hold more, and the bitmaps follow; neighbours in one go. */
static void test_lose(void **state)
{
    struct world *w = *state;

    for (uint32_t id = 0; id < NODES; id++) {
        add_step(w, id, 5, 0);
        add_step(w, id, 30, 0);
    }
    assert_int_equal(prof_bits_make(&w->s), 0);
    for (uint32_t id = 0; id < 2; id++) {
        struct step *st = step_at(&w->pnodes[id], 1);

        st->w[0] = 7;
        st->held = true;
        prof_bits_refresh(&w->s, id, st, 30, 3, false);
    }
    assert_int_equal(w->pf.nlost, 1);
    prof_bits_flush(&w->pf);
    assert_int_equal(w->pf.nlost, 0);
    check_bits(w);
    prof_bits_refresh(&w->s, 0, step_at(&w->pnodes[0], 1), 30, 1, true); /* no level is lost */
    assert_int_equal(w->pf.nlost, 0);
}

static void test_change(void **state)
{
    struct world *w = *state;
    uint8_t was[PROF_SLOTS_MAX], is[PROF_SLOTS_MAX];

    add_step(w, 1, 4, 15);
    add_step(w, 1, 20, 1);
    assert_int_equal(prof_bits_make(&w->s), 0);
    prof_levels(&w->s, 1, was);
    assert_int_equal(was[3], 3);
    assert_int_equal(was[4], 0 | PROF_HELD);
    assert_int_equal(was[SLOTS - 1], 2 | PROF_HELD);
    step_at(&w->pnodes[1], 1)->w[0] = 3;
    step_at(&w->pnodes[1], 0)->w[0] = 0;
    step_at(&w->pnodes[1], 0)->held = false;
    prof_levels(&w->s, 1, is);
    prof_bits_change(&w->s, 1, was, is);
    check_bits(w);
}

/* ---- candidates ------------------------------------------------------------------------------ */

static uint64_t filtered(struct world *w, uint32_t from, uint32_t until, bool idle, uint64_t cpus,
                         uint32_t need, uint32_t *ret_next)
{
    struct bitmap *mask = NULL;
    struct pick p = { .s = &w->s, .from = from, .until = until, .next = UINT32_MAX };
    uint64_t left;

    assert_int_equal(bitmap_new(64, &mask), 0);
    bitmap_set_range(mask, 0, NODES);
    left = prof_filter(&p, mask, idle, cpus, need) ? mask->words[0] : 0;
    *ret_next = p.next;
    bitmap_free(mask);
    return left;
}

static void test_filter(void **state)
{
    struct world *w = *state;
    uint32_t next;

    add_step(w, 0, 18, 7); /* one CPU left from slot 18 on */
    add_step(w, 1, 10, 1);
    add_step(w, 1, 12, 0);
    assert_int_equal(prof_bits_make(&w->s), 0);
    assert_int_equal(filtered(w, 0, 10, true, 0, 1, &next), 7);
    assert_int_equal(filtered(w, 0, 40, false, 1, 1, &next), 7);
    assert_int_equal(filtered(w, 0, 40, false, 2, 1, &next), 6);
    assert_int_equal(filtered(w, 0, 18, true, 0, 1, &next), 5);
    assert_int_equal(filtered(w, 0, 40, false, 2, 3, &next), 0);
    assert_int_equal(next, SLOTS); /* slots up to the end have two such nodes alone */
    assert_int_equal(filtered(w, 9, 17, true, 0, 3, &next), 0);
    assert_int_equal(next, 12); /* until then one holds something */
    assert_int_equal(filtered(w, 12, 99, true, 0, 2, &next), 6);
}

/* What was found stands for spans in which no other step begins. */
static void test_recall(void **state)
{
    struct world *w = *state;
    struct fit fit = { .id = 0, .tasks = 3 }, found = { 0 };
    struct pick p = { .s = &w->s, .from = 4, .until = 6 };

    w->pf.searches = 1;
    add_step(w, 0, 3, 1);
    add_step(w, 0, 8, 0);
    assert_int_equal(prof_recall_fit(&p, 0, &found), -1);
    prof_note_fit(&p, 0, &fit, true);
    p.from = 7;
    p.until = 8;
    assert_int_equal(prof_recall_fit(&p, 0, &found), 1);
    assert_int_equal(found.tasks, 3);
    p.until = 9; /* another step */
    assert_int_equal(prof_recall_fit(&p, 0, &found), -1);
    p.from = 8;
    assert_int_equal(prof_recall_fit(&p, 0, &found), -1);
    p.from = 4;
    p.until = 6;
    prof_note_fit(&p, 0, &fit, false);
    p.until = 9;
    assert_int_equal(prof_recall_fit(&p, 0, &found), 0); /* more of the future is no better */
    w->pf.searches = 2;
    assert_int_equal(prof_recall_fit(&p, 0, &found), -1);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_world, free_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_times),     ROW(test_promise), ROW(test_advance),   ROW(test_licences),
        ROW(test_find_step), ROW(test_spec),    ROW(test_hold_step), ROW(test_holders),
        ROW(test_make_bits), ROW(test_lose),    ROW(test_change),    ROW(test_filter),
        ROW(test_recall),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
