/* test_pmi.c - PMI: where ranks are, the text of messages, the table of names and values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>

#include "base/cleanup.h"
#include "pmi/kvs.h"
#include "pmi/pmilayout.h"
#include "pmi/text.h"

/* ---- layout ---------------------------------------------------------------------------------- */

struct want {
    const char *nodes, *distribution;
    uint32_t counts[4];
    size_t n;
    const char *map, *vector;
};

static void check_layout(const struct want *w)
{
    Pst__StepPart part = PST__STEP_PART__INIT, *parts[] = { &part };
    _cleanup_free_ char *map = NULL, *vector = NULL;
    struct layout l;

    part.nodes = (char *)w->nodes;
    part.distribution = (char *)w->distribution;
    part.counts = (uint32_t *)w->counts;
    part.n_counts = w->n;
    assert_int_equal(layout_init(&l, parts, 1), 0);
    map = layout_rank_map(&l);
    vector = layout_vector(&l);
    assert_string_equal(map, w->map);
    assert_string_equal(vector, w->vector);
    layout_done(&l);
}

static void test_layouts(void **state)
{
    static const struct want rows[] = {
        { "n1", NULL, { 3 }, 1, "0,1,2", "(vector,(0,1,3))" },
        { "n[1-3]", "block", { 2, 2, 2 }, 3, "0,1;2,3;4,5", "(vector,(0,3,2))" },
        { "n[1-3]", "block", { 3, 2, 2 }, 3, "0,1,2;3,4;5,6", "(vector,(0,1,3),(1,2,2))" },
        { "n[1-2]", "cyclic", { 2, 2 }, 2, "0,2;1,3", "(vector,(0,2,1),(0,2,1))" },
        { "n[1-3]", "cyclic", { 2, 1, 1 }, 3, "0,3;1;2", "(vector,(0,3,1),(0,1,1))" },
        { "n[1-2]", "plane=2", { 4, 4 }, 2, "0,1,4,5;2,3,6,7", "(vector,(0,2,2),(0,2,2))" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check_layout(&rows[i]);
}

/* Two components, the second on a node of the first. */
static void test_parts(void **state)
{
    Pst__StepPart a = PST__STEP_PART__INIT, b = PST__STEP_PART__INIT, *parts[] = { &a, &b };
    uint32_t one[] = { 2 }, two[] = { 1, 2 };
    _cleanup_free_ char *map = NULL, *names = NULL;
    struct layout l;

    (void)state;
    a.nodes = (char *)"n1";
    a.counts = one;
    a.n_counts = 1;
    b.nodes = (char *)"n[1-2]";
    b.counts = two;
    b.n_counts = 2;
    assert_int_equal(layout_init(&l, parts, 2), 0);
    map = layout_rank_map(&l);
    names = layout_node_list(&l);
    assert_string_equal(map, "0,1;2;3,4");
    assert_string_equal(names, "n1,n1,n2");
    assert_ptr_equal(layout_part(&l, 1), &l.parts[0]);
    assert_ptr_equal(layout_part(&l, 2), &l.parts[1]);
    assert_int_equal(l.node_of[4], 2);
    layout_done(&l);
}

static void test_contradictions(void **state)
{
    Pst__StepPart part = PST__STEP_PART__INIT, *parts[] = { &part };
    uint32_t counts[] = { 1, 0 };
    struct layout l;

    (void)state;
    part.nodes = (char *)"n[1-3]";
    part.counts = counts;
    part.n_counts = 2;
    assert_int_equal(layout_init(&l, parts, 1), -EINVAL); /* three nodes, two counts */
    part.nodes = (char *)"n[1-2]";
    counts[0] = 0;
    assert_int_equal(layout_init(&l, parts, 1), -EINVAL); /* nobody */
    counts[0] = UINT32_MAX;
    assert_int_equal(layout_init(&l, parts, 1), -EINVAL);
    assert_int_equal(layout_init(&l, parts, 0), -EINVAL);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void test_lines(void **state)
{
    char line[] = "cmd=put kvsname=1.0 key=a-b value=x=y;z\nrest";
    struct pmi_text t;

    (void)state;
    assert_int_equal(pmi_text_whole(line, 10, false), 0);
    assert_int_equal(pmi_text_whole(line, sizeof(line) - 1, false), strchr(line, '\n') - line + 1);
    assert_int_equal(pmi_text_parse(line, (size_t)(strchr(line, '\n') - line + 1), false, &t), 0);
    assert_int_equal(t.n, 4);
    assert_string_equal(pmi_text_get(&t, "value"), "x=y;z");
    assert_null(pmi_text_get(&t, "thrid"));
}

static void test_frames(void **state)
{
    char frame[] = "    27cmd=kvs-put;key=k;value=a;;b;";
    char open[] = "     5key=k", nul[] = "     4a=\0;", bare[] = "     2a;";
    struct pmi_text t;
    long n = pmi_text_whole(frame, sizeof(frame) - 1, true);

    (void)state;
    assert_int_equal(n, 33);
    assert_int_equal(pmi_text_whole(frame, 32, true), 0);
    assert_int_equal(pmi_text_whole("12x   ", 6, true), -EBADMSG);
    assert_int_equal(pmi_text_whole("      ", 6, true), -EBADMSG);
    frame[n - 3] = ';'; /* value=a;;;; is a;; followed by nothing */
    memcpy(frame, "    29cmd=kvs-put;key=k;value=a;;b;", sizeof(frame) - 1);
    assert_int_equal(pmi_text_parse(frame, sizeof(frame) - 1, true, &t), 0);
    assert_int_equal(t.n, 3);
    assert_string_equal(pmi_text_get(&t, "value"), "a;b");
    assert_int_equal(pmi_text_parse(open, sizeof(open) - 1, true, &t), -EBADMSG);
    assert_int_equal(pmi_text_parse(nul, sizeof(nul) - 1, true, &t), -EBADMSG);
    assert_int_equal(pmi_text_parse(bare, sizeof(bare) - 1, true, &t), -EBADMSG);
}

static void test_field_round_trip(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct pmi_text t;

    (void)state;
    strbuf_add(&sb, "     0"); /* the length is not looked at again */
    pmi_text_field(&sb, "a", ";");
    pmi_text_field(&sb, "b", "x;;y");
    pmi_text_field(&sb, "c", "");
    assert_int_equal(pmi_text_parse(sb.buf, sb.len, true, &t), 0);
    assert_string_equal(pmi_text_get(&t, "a"), ";");
    assert_string_equal(pmi_text_get(&t, "b"), "x;;y");
    assert_string_equal(pmi_text_get(&t, "c"), "");
}

/* ---- names and values ------------------------------------------------------------------------ */

static void test_table(void **state)
{
    struct kvs a = KVS_INIT, b = KVS_INIT;
    char name[16];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "key%d", i);
        assert_int_equal(kvs_put(&a, name, i % 2 ? "odd" : "even"), 0);
    }
    assert_int_equal(kvs_put(&a, "key7", "seven"), 0);
    assert_int_equal(kvs_merge(&b, (const uint8_t *)a.fresh.buf, a.fresh.len), 0);
    assert_string_equal(kvs_get(&b, "key7"), "seven");
    assert_string_equal(kvs_get(&b, "key998"), "even");
    assert_null(kvs_get(&b, "key1000"));
    assert_int_equal(b.fresh.len, 0); /* what others brought is not brought again */
    assert_int_equal(kvs_merge(&b, (const uint8_t *)"name", 5), -EBADMSG);
    assert_int_equal(kvs_merge(&b, (const uint8_t *)"n\0v", 3), -EBADMSG);
    kvs_done(&a);
    kvs_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_contradictions), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_frames),         cmocka_unit_test(test_field_round_trip),
        cmocka_unit_test(test_table),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
