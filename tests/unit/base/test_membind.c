/* test_membind.c - text of --mem-bind, and which NUMA domains tasks get on made-up nodes */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/bind/membind.h"

static void test_text(void **state)
{
    static const struct {
        const char *text;
        enum membind_kind kind;
        bool verbose, prefer, sort;
        size_t n;
    } rows[] = {
        { "", MEMBIND_UNSET, false, false, false, 0 },
        { "none", MEMBIND_NONE, false, false, false, 0 },
        { "no", MEMBIND_NONE, false, false, false, 0 },
        { "v,Local", MEMBIND_LOCAL, true, false, false, 0 },
        { "verbose,quiet,rank", MEMBIND_RANK, false, false, false, 0 },
        { "sort,prefer,local", MEMBIND_LOCAL, false, true, true, 0 },
        { "sort,nosort,p", MEMBIND_UNSET, false, true, false, 0 },
        { "verbose,map_mem:0,1*2", MEMBIND_MAP, true, false, false, 3 },
        { "mask_mem:0x3,c", MEMBIND_MASK, false, false, false, 2 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct membind b;

        assert_int_equal(membind_parse(rows[i].text, &b, NULL), 0);
        assert_int_equal(b.kind, rows[i].kind);
        assert_int_equal(b.verbose, rows[i].verbose);
        assert_int_equal(b.prefer, rows[i].prefer);
        assert_int_equal(b.sort, rows[i].sort);
        assert_int_equal(b.list.n, rows[i].n);
        membind_done(&b);
    }
}

static void test_bad_text(void **state)
{
    static const char *const rows[] = { "n",          "near",        "map_mem",  "map_mem:",
                                        "map_mem:x",  "map_mem:0,",  "map_mem:", "mask_mem:0x",
                                        "mask_mem:g", "map_mem:0*0", "locally",  "local,,rank" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct membind b;
        struct err err = { .text = "" };

        assert_int_equal(membind_parse(rows[i], &b, &err), -EINVAL);
        assert_string_equal(err.text, "Invalid --mem-bind argument");
    }
}

/* Eight CPUs in domains 0 (0-3), 2 (4-7) and 3, which has memory alone; there is no domain 1. */
struct made_up {
    struct bitmap *cpus[4];
    struct membind_node node;
};

static void make(struct made_up *m)
{
    *m = (struct made_up){ .cpus = { NULL } };
    for (int i = 0; i < 4; i++)
        if (i != 1)
            assert_int_equal(bitmap_new(8, &m->cpus[i]), 0);
    bitmap_set_range(m->cpus[0], 0, 4);
    bitmap_set_range(m->cpus[2], 4, 4);
    m->node = (struct membind_node){ m->cpus, 4 };
}

/* The domains as a number, or the error. */
static int domains(const char *text, uint32_t task, const char *task_cpus)
{
    _cleanup_(bitmap_free) struct bitmap *mask = NULL, *cpus = NULL;
    struct err err = { .text = "" };
    struct made_up m;
    struct membind b;
    int r;

    make(&m);
    assert_int_equal(membind_parse(text, &b, NULL), 0);
    assert_int_equal(bitmap_new(4, &mask), 0);
    if (task_cpus) {
        assert_int_equal(bitmap_new(6, &cpus), 0); /* as wide as it has to be */
        assert_int_equal(bitmap_parse(cpus, task_cpus, NULL), 0);
    }
    r = membind_mask(&b, &m.node, task, cpus, mask, &err);
    assert_int_equal(r < 0, err.text[0] != '\0');
    membind_done(&b);
    for (int i = 0; i < 4; i++)
        bitmap_free(m.cpus[i]);
    return r < 0 ? r : (int)mask->words[0];
}

static void test_domains(void **state)
{
    (void)state;
    assert_int_equal(domains("none", 0, "0"), 0);
    assert_int_equal(domains("verbose", 0, "0"), 0);
    assert_int_equal(domains("local", 0, "0"), 1);
    assert_int_equal(domains("local", 0, "5"), 4);
    assert_int_equal(domains("local", 0, "3-4"), 5);
    assert_int_equal(domains("local", 0, NULL), 13);
    assert_int_equal(domains("rank", 0, "5"), 1);
    assert_int_equal(domains("rank", 1, "0"), 4);
    assert_int_equal(domains("rank", 2, "0"), 8);
    assert_int_equal(domains("rank", 3, "0"), 1);
    assert_int_equal(domains("map_mem:2,0", 0, "0"), 4);
    assert_int_equal(domains("map_mem:2,0", 1, "0"), 1);
    assert_int_equal(domains("map_mem:2,0", 2, "0"), 4);
    assert_int_equal(domains("map_mem:2*3,0", 2, "0"), 4);
    assert_int_equal(domains("map_mem:1", 0, "0"), -ERANGE);
    assert_int_equal(domains("map_mem:4", 0, "0"), -ERANGE);
    assert_int_equal(domains("mask_mem:0x5,8", 0, "0"), 5);
    assert_int_equal(domains("mask_mem:0x5,8", 1, "0"), 8);
    assert_int_equal(domains("mask_mem:3", 0, "0"), -ERANGE);
    assert_int_equal(domains("mask_mem:10", 0, "0"), -ERANGE);
}

static void test_node_without_domains(void **state)
{
    struct membind_node none = { NULL, 0 };
    _cleanup_(bitmap_free) struct bitmap *mask = NULL;
    struct membind b = { .kind = MEMBIND_RANK };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(bitmap_new(1, &mask), 0);
    assert_int_equal(membind_mask(&b, &none, 0, NULL, mask, &err), -ENODEV);
    b.kind = MEMBIND_LOCAL;
    assert_int_equal(membind_mask(&b, &none, 0, NULL, mask, &err), 0);
    assert_true(bitmap_empty(mask));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_node_without_domains),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
