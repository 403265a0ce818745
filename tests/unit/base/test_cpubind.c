/* test_cpubind.c - --cpu-bind: its text, and the masks of tasks held against those of Debian's
 * Slurm 22.05.
 *
 * tests/golden/cpubind.txt is what the peer did (tests/peer/binding made it); rows that may
 * differ stand in cpubind-differences.txt beside it, with the reason and our masks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/bind/cpubind.h"
#include "base/strbuf.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void test_text(void **state)
{
    static const struct {
        const char *text;
        enum cpubind_kind kind;
        bool verbose, quiet;
        size_t n_items;
        const char *first;
    } rows[] = {
        { "", CPUBIND_AUTO, false, false, 0, NULL },
        { "q", CPUBIND_AUTO, false, true, 0, NULL },
        { "verbose", CPUBIND_AUTO, true, false, 0, NULL },
        { "v,cores", CPUBIND_CORES, true, false, 0, NULL },
        { "cores,quiet", CPUBIND_CORES, false, true, 0, NULL },
        { "None", CPUBIND_NONE, false, false, 0, NULL },
        { "rank_ldom", CPUBIND_RANK_LDOM, false, false, 0, NULL },
        { "map_cpu:3,1", CPUBIND_MAP_CPU, false, false, 2, "3" },
        { "verbose,map_cpu:0*3,7", CPUBIND_MAP_CPU, true, false, 4, "0" },
        { "mask_cpu:0xF0,f", CPUBIND_MASK_CPU, false, false, 2, "F0" },
        { "mask_ldom:1*2", CPUBIND_MASK_LDOM, false, false, 2, "1" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cpubind b;

        assert_int_equal(cpubind_parse(rows[i].text, &b, NULL), 0);
        assert_int_equal(b.kind, rows[i].kind);
        assert_int_equal(b.verbose, rows[i].verbose);
        assert_int_equal(b.quiet, rows[i].quiet);
        assert_int_equal(b.list.n, rows[i].n_items);
        if (rows[i].first)
            assert_string_equal(b.list.items[0], rows[i].first);
        cpubind_done(&b);
    }
}

static void test_bad_text(void **state)
{
    static const char *const rows[] = { "core-wise",
                                        "rank",
                                        "map_cpu:",
                                        "map_cpu:x",
                                        "map_cpu:1,",
                                        "map_cpu:1,,2",
                                        "mask_cpu:0x",
                                        "mask_cpu:fg",
                                        "map_cpu:1*0",
                                        "map_cpu:1*",
                                        "map_cpu:1*99999999999",
                                        "threads;",
                                        "rank_l" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cpubind b;
        struct err err = { .text = "" };

        assert_int_equal(cpubind_parse(rows[i], &b, &err), -EINVAL);
        assert_string_equal(err.text, "Invalid --cpu-bind argument");
    }
}

/* ---- the peer's masks ------------------------------------------------------------------------ */

struct row {
    struct cpubind_node node;
    struct cpubind_step step;
    struct bitmap *cpus;
    char kind[128], dist[64];
    const char *masks; /* the rest of the line */
};

static void set_hex(struct bitmap *bm, const char *hex)
{
    unsigned long long bits = strtoull(hex, NULL, 16);

    for (unsigned i = 0; i < 64 && i < bm->nbits; i++)
        if (bits >> i & 1)
            bitmap_set(bm, i);
}

static void read_row(const char *line, struct row *r)
{
    char have[32], one[8];
    int used = 0;

    *r = (struct row){ 0 };
    assert_int_equal(sscanf(line, "%ux%ux%u %31s %u %u %63s %7s %127s %n", &r->node.sockets,
                            &r->node.cores, &r->node.threads, have, &r->step.n_tasks,
                            &r->step.cpus_per_task, r->dist, one, r->kind, &used),
                     9);
    assert_int_equal(bitmap_new(r->node.sockets * r->node.cores * r->node.threads, &r->cpus), 0);
    set_hex(r->cpus, have);
    r->step.cpus = r->cpus;
    r->step.distribution = strcmp(r->dist, "-") == 0 ? NULL : r->dist;
    r->step.one_thread = strcmp(one, "one") == 0;
    r->masks = line + used;
}

/* Our masks as the golden file writes them. */
static char *our_masks(const struct row *r)
{
    struct bitmap *masks[64] = { NULL };
    struct strbuf sb = STRBUF_INIT;
    struct cpubind b;
    enum cpubind_kind kind;
    char *text = NULL;

    assert_int_equal(cpubind_parse(strcmp(r->kind, "-") == 0 ? "" : r->kind, &b, NULL), 0);
    if (cpubind_masks(&b, &r->node, &r->step, masks, &kind, NULL) < 0)
        strbuf_add(&sb, "refused");
    for (uint32_t i = 0; i < r->step.n_tasks && masks[i]; i++) {
        unsigned long long bits = 0;

        BITMAP_FOREACH (masks[i], cpu)
            bits |= 1ull << cpu;
        strbuf_addf(&sb, "%s%llx", i ? " " : "", bits);
        assert_true(bitmap_subset(masks[i], r->cpus)); /* never more than the step has */
        bitmap_free(masks[i]);
    }
    cpubind_done(&b);
    assert_int_equal(strbuf_detach(&sb, &text), 0);
    return text;
}

/* Is `line`, with our masks, listed?  Lines of the list are: row -> masks | reason. */
static bool listed(const char *list, const char *line, const char *ours)
{
    _cleanup_free_ char *want = NULL;

    assert_true(asprintf(&want, "\n%s -> %s |", line, ours) > 0);
    return strstr(list, want) != NULL;
}

static char *read_file(const char *name)
{
    _cleanup_free_ char *path = NULL;
    char *text = calloc(1, 1 << 20);
    FILE *f;

    assert_true(asprintf(&path, "%s/tests/golden/%s", SOURCE_ROOT, name) > 0);
    f = fopen(path, "re");
    if (!f)
        fail_msg("%s: %s", path, strerror(errno));
    text[0] = '\n';
    assert_true(fread(text + 1, 1, (1 << 20) - 2, f) > 0);
    (void)fclose(f);
    return text;
}

static void test_peer(void **state)
{
    _cleanup_free_ char *golden = read_file("cpubind.txt"),
                        *list = read_file("cpubind-differences.txt");
    unsigned rows = 0, bad = 0, different = 0;
    char *save = NULL;

    (void)state;
    for (char *line = strtok_r(golden, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct row r;
        _cleanup_free_ char *ours = NULL;

        if (*line == '#')
            continue;
        read_row(line, &r);
        ours = our_masks(&r);
        rows++;
        if (strcmp(ours, r.masks) != 0 && listed(list, line, ours)) {
            different++;
        } else if (strcmp(ours, r.masks) != 0) {
            bad++;
            print_message("# %s -> %s |\n", line, ours);
        }
        bitmap_free(r.cpus);
    }
    print_message("# %u rows, %u differ with a reason, %u without\n", rows, different, bad);
    assert_true(rows >= 60);
    assert_int_equal(bad, 0);
}

/* ---- properties ------------------------------------------------------------------------------ */

/* As many CPUs as tasks need, bound to threads: a partition of them. */
static void test_partition(void **state)
{
    static const char *const dists[] = { NULL, "block:block", "block:cyclic", "block:fcyclic" };
    struct cpubind_node node = { .sockets = 2, .cores = 8, .threads = 2 };
    struct cpubind b;
    uint32_t seed = 1;

    (void)state;
    assert_int_equal(cpubind_parse("threads", &b, NULL), 0);
    for (unsigned round = 0; round < 2000; round++) {
        _cleanup_(bitmap_free) struct bitmap *cpus = NULL, *seen = NULL;
        struct bitmap *masks[8];
        struct cpubind_step step = { .cpus_per_task = 1 + round % 4,
                                     .distribution = dists[round / 4 % 4] };
        enum cpubind_kind kind;

        step.n_tasks = 1 + round % 8;
        assert_int_equal(bitmap_new(32, &cpus), 0);
        assert_int_equal(bitmap_new(32, &seen), 0);
        while (bitmap_count(cpus) < step.n_tasks * step.cpus_per_task) {
            seed = seed * 1664525u + 1013904223u;
            bitmap_set(cpus, seed >> 27);
        }
        step.cpus = cpus;
        assert_int_equal(cpubind_masks(&b, &node, &step, masks, &kind, NULL), 0);
        for (uint32_t i = 0; i < step.n_tasks; i++) {
            assert_int_equal(bitmap_count(masks[i]), step.cpus_per_task);
            assert_false(bitmap_overlaps(seen, masks[i]));
            bitmap_or(seen, masks[i]);
            bitmap_free(masks[i]);
        }
        assert_true(bitmap_equal(seen, cpus));
    }
    cpubind_done(&b);
}

/* Words of CpuBind are words of --cpu-bind. */
static void test_keys(void **state)
{
    static const char *const keys[] = { "none", "core", "Socket", "ldom", "THREAD", "cores" };
    struct cpubind b;

    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        assert_non_null(cpubind_of_key(keys[i]));
        assert_int_equal(cpubind_parse(cpubind_of_key(keys[i]), &b, NULL), 0);
        assert_true(b.kind != CPUBIND_AUTO);
        cpubind_done(&b);
    }
    assert_string_equal(cpubind_of_key("core"), "cores");
    assert_null(cpubind_of_key("off"));
    assert_null(cpubind_of_key("rank_ldom"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_text),
                                        cmocka_unit_test(test_bad_text),
                                        cmocka_unit_test(test_keys), cmocka_unit_test(test_peer),
                                        cmocka_unit_test(test_partition) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
