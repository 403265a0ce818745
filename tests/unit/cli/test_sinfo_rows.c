/* test_sinfo_rows.c - how nodes gather into sinfo's rows, its fields and its state filter */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/format/fmt_sinfo.h"
#include "cli/query/out_query.h"
#include "cli/query/out_nodes.h"

#define NF(name) (1u << PST__NODE_FLAG__NODE_FLAG_##name)

static Pst__NodeRecord *node(const char *name, uint32_t alloc, uint32_t flags, uint32_t weight)
{
    Pst__NodeRecord *n = malloc(sizeof(*n));

    assert_non_null(n);
    pst__node_record__init(n);
    assert_int_equal(pb_set_str(&n->name, name), 0);
    n->has_state = true;
    n->state = flags & NF(NOT_RESPONDING) ? PST__NODE_STATE__NODE_DOWN : PST__NODE_STATE__NODE_IDLE;
    n->state_flags = flags;
    n->cpus = 16;
    n->alloc_cpus = alloc;
    n->sockets = 2;
    n->cores_per_socket = 4;
    n->threads_per_core = 2;
    n->real_memory_mib = 16000;
    n->weight = weight;
    n->has_cpu_load_centi = true;
    n->cpu_load_centi = alloc * 100;
    assert_int_equal(pb_set_str(&n->gres, "gpu:a100:2,shard:8"), 0);
    return n;
}

static Pst__PartitionRecord *part(const char *name, const char *nodes, bool is_default)
{
    Pst__PartitionRecord *p = malloc(sizeof(*p));

    assert_non_null(p);
    pst__partition_record__init(p);
    assert_int_equal(pb_set_str(&p->name, name), 0);
    assert_int_equal(pb_set_str(&p->nodes, nodes), 0);
    p->is_default = is_default;
    p->has_state = true;
    p->state = PST__PARTITION_STATE__PART_UP;
    p->has_max_time_min = is_default;
    p->max_time_min = 60;
    return p;
}

static struct cluster_nodes table;

static int make_table(void **state)
{
    Pst__NodeRecord *nodes[] = {
        node("node10", 0, 0, 10),
        node("node1", 4, 0, 1),
        node("node2", 16, 0, 1),
        node("node3", 0, NF(DRAIN), 5),
        node("node4", 0, NF(NOT_RESPONDING), 10),
    };
    Pst__PartitionRecord *parts[] = { part("debug", "node[1-4,10]", true),
                                      part("low", "node[1-2],gone", false) };

    (void)state;
    return cluster_nodes_make(nodes, ARRAY_SIZE(nodes), parts, ARRAY_SIZE(parts), 0, &table);
}

static int drop_table(void **state)
{
    (void)state;
    cluster_nodes_done(&table);
    return 0;
}

static void test_table(void **state)
{
    _cleanup_free_ char *parts = NULL;

    (void)state;
    assert_int_equal(table.n_nodes, 5);
    assert_string_equal(table.nodes[4].record->name, "node10");
    assert_int_equal(cluster_nodes_find(&table, "node10"), 4);
    assert_int_equal(cluster_nodes_find(&table, "node5"), -1);
    assert_int_equal(table.parts[1].n_nodes, 2);
    assert_int_equal(cluster_nodes_partitions(&table, 0, true, &parts), 0);
    assert_string_equal(parts, "debug,low");
}

static void on_bad(void *ctx, const char *spec)
{
    (void)ctx;
    fail_msg("format not understood: %s", spec);
}

/* One row of the nodes [first, last] of partition 0. */
static void expect(const char *spec, size_t first, size_t last, bool exact, const char *line)
{
    struct fmt f = FMT_INIT;
    struct sinfo_row row, other;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    assert_int_equal(fmt_parse_short(&f, &sinfo_fields, spec, on_bad, NULL), 0);
    sinfo_row_init(&row, table.parts[0].record, 0, table.nodes[first].record);
    row.exact = exact;
    for (size_t i = first + 1; i <= last; i++) {
        sinfo_row_init(&other, table.parts[0].record, 0, table.nodes[i].record);
        assert_int_equal(sinfo_row_add(&row, &other), 0);
    }
    fmt_row(&f, &row, &sb);
    assert_string_equal(strbuf_str(&sb), line);
    sinfo_row_done(&row);
    fmt_done(&f);
}

static void test_fields(void **state)
{
    (void)state;
    expect("%9P %.5a %.10l %.6D %.6t %N", 0, 0, false,
           "debug*       up    1:00:00      1    mix node1\n");
    expect("%P %R %F %A %C %D %N", 0, 4, false,
           "debug* debug 2/1/2/5 2/1 20/28/32/80 5 node[1-4,10]\n");
    expect("%w %c %m %z %X %Y %Z %O", 0, 2, false, "1+ 16 16000 2:4:2 2 4 2 0.00-16.00\n");
    expect("%L %s %r %g %h %I %p %B %S %M %i|%V", 0, 0, false,
           "n/a 1-infinite no all NO 1 1 UNLIMITED all OFF |N/A\n");
    expect("%T %t %E %u %U %H %e", 3, 3, false, "down* down* none Unknown Unknown Unknown N/A\n");
    expect("%T %t", 2, 2, false, "drained drain\n");
}

static void test_row_without_nodes(void **state)
{
    struct fmt f = FMT_INIT;
    struct sinfo_row row;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    assert_int_equal(
        fmt_parse_short(&f, &sinfo_fields, "%9P %.5a %.10l %.6D %.6t %N", on_bad, NULL), 0);
    sinfo_row_init(&row, table.parts[1].record, 1, NULL);
    fmt_row(&f, &row, &sb);
    assert_string_equal(strbuf_str(&sb), "low          up   infinite      0    n/a \n");
    fmt_done(&f);
}

static void key_of(const char *spec, size_t i, bool exact, struct strbuf *sb)
{
    struct fmt f = FMT_INIT;
    struct sinfo_row row;

    assert_int_equal(fmt_parse_short(&f, &sinfo_fields, spec, on_bad, NULL), 0);
    sinfo_row_init(&row, table.parts[0].record, 0, table.nodes[i].record);
    row.exact = exact;
    strbuf_reset(sb);
    sinfo_key(&f, &row, false, sb);
    fmt_done(&f);
}

static bool same_row(const char *spec, size_t a, size_t b, bool exact)
{
    _cleanup_val_(strbuf_done) struct strbuf ka = STRBUF_INIT, kb = STRBUF_INIT;

    key_of(spec, a, exact, &ka);
    key_of(spec, b, exact, &kb);
    return strcmp(strbuf_str(&ka), strbuf_str(&kb)) == 0;
}

static void test_keys(void **state)
{
    (void)state;
    assert_false(same_row("%P %t", 0, 1, false));
    assert_true(same_row("%P %D %N", 0, 4, false));
    assert_true(same_row("%P %w", 0, 2, false));
    assert_false(same_row("%P %w", 0, 2, true));
}

static void test_every_field(void **state)
{
    struct sinfo_row full, empty;
    struct pb_fieldset set = { 0 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    sinfo_row_init(&full, table.parts[0].record, 0, table.nodes[0].record);
    sinfo_row_init(&empty, table.parts[0].record, 0, NULL);
    for (size_t i = 0; i < sinfo_fields.n; i++) {
        const struct fmt_field *f = &sinfo_fields.rows[i];

        f->get(&sb, &full);
        f->get(&sb, &empty);
        if (f->num) {
            (void)f->num(&full);
            (void)f->num(&empty);
        }
        query_need_names(f->needs, &pst__node_record__descriptor, &set);
    }
    assert_false(sb.failed);
}

static bool passes(const char *text, const struct names_node *n)
{
    struct sinfo_filter f;
    char bad[32];

    assert_int_equal(sinfo_filter_parse(&f, text, bad, sizeof(bad)), 0);
    return sinfo_filter_match(&f, n);
}

static void test_filter(void **state)
{
    struct names_node drained = { PST__NODE_STATE__NODE_IDLE, NF(DRAIN), 16, 0 };
    struct names_node mixed = { PST__NODE_STATE__NODE_IDLE, 0, 16, 4 };
    struct sinfo_filter f;
    char bad[32], many[1024] = "";

    (void)state;
    assert_false(passes("", &mixed)); /* no state: no node */
    assert_true(passes("all", &mixed));
    assert_true(passes("al", &mixed)); /* allocated, in part too */
    assert_true(passes("!drain", &mixed));
    assert_true(passes("idle", &drained));
    assert_true(passes("drain,down", &drained));
    assert_false(passes("drain,down", &mixed));
    assert_true(passes("mix+~drain", &mixed));
    assert_false(passes("mix&~drain", &drained));
    assert_true(passes("mix+drain,idle", &drained));
    assert_true(passes("~idle", &mixed));
    assert_true(sinfo_filter_parse(&f, "idle,nosuch", bad, sizeof(bad)) < 0);
    assert_string_equal(bad, "nosuch");
    assert_true(sinfo_filter_parse(&f, "~", bad, sizeof(bad)) < 0);
    for (int i = 0; i < 100; i++)
        strncat(many, "idle,", sizeof(many) - strlen(many) - 1);
    assert_true(sinfo_filter_parse(&f, many, bad, sizeof(bad)) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_row_without_nodes),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_filter),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_table, drop_table);
}
