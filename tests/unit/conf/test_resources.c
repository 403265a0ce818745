/* test_resources.c - resources.yaml: what is read of it, and every mistake with its line */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "conf/conf.h"
#include "conf/layers/layertree.h"
#include "conf/layers/resources.h"

#define OF_MODE_3 "- resource: w\n  mode: MODE_3\n  layers:\n"
#define OF_MODE_1 "- resource: p\n  mode: MODE_1\n  layers:\n"

static struct conf *make_conf(void)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\nLicenses=a:1,foo=3\n"
                               "NodeName=n[01-24] CPUs=1\nPartitionName=p Nodes=ALL\n";
    const struct conf_text t = { "slurm.conf", text, sizeof(text) - 1 };
    struct conf *c = NULL;

    assert_int_equal(conf_load_text(&t, 1, CONF_FULL, &c, NULL, NULL), 0);
    return c;
}

static void test_reads_file(void **state)
{
    /* The layers of the description's example, in an order of their own. */
    static const char text[] =
        "- resource: watts\n  mode: MODE_3\n  topology: blocks\n  variables:\n"
        "    - {name: idle, value: 400}\n    - {name: train, value: 1500}\n  layers:\n"
        "    - nodes: [\"n[01-24]\"]\n      count: 48000\n"
        "      base: [{name: chiller, value: 5000}, {name: pumps, value: 1500}]\n"
        "    - {nodes: [\"n[13-18]\"], count: 15000}\n"
        "    - {nodes: [\"n[01-12]\"], count: 24000, base: [{name: cooling1, value: 2000}]}\n"
        "    - {nodes: [\"n[13-24]\"], count: 28000, base: [{name: cooling2, value: 1000}]}\n"
        "    - {nodes: [\"n[04-06]\", \"n[01-03]\"], count: 15000,\n"
        "       base: [{name: racknet, value: 1500}]}\n"
        "    - {nodes: [\"n[07-12]\"], count: 15000}\n"
        "    - {nodes: \"n[19-24]\", count: 15000}\n"
        "- resource: port\n  mode: MODE_1\n  layers:\n"
        "    - {nodes: [\"n[01-24]\"], count: 40}\n    - {nodes: [\"n[01-12]\"], count: -1}\n";
    static const struct {
        const char *nodes;
        uint32_t total, parent;
    } want[] = {
        { "n[13-18]", 15000, 5 },
        { "n[01-06]", 13500, 4 },
        { "n[07-12]", 15000, 4 },
        { "n[19-24]", 15000, 5 },
        { "n[01-12]", 20500, 6 },
        { "n[13-24]", 27000, 6 },
        { "n[01-24]", 37000, RESOURCES_NO_LAYER },
    };
    struct conf *c = make_conf();
    struct resources *all = NULL;
    struct err err = { .text = "" };
    uint32_t value = 0;

    (void)state;
    assert_int_equal(resources_parse(text, sizeof(text) - 1, c, &all, NULL, &err), 0);
    assert_int_equal(all->n, 2);
    assert_string_equal(all->list[0].topology, "blocks");
    assert_int_equal(all->list[0].nlayers, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(all->list[0].layers[i].nodes, want[i].nodes);
        assert_int_equal(all->list[0].layers[i].total, want[i].total);
        assert_int_equal(all->list[0].layers[i].parent, want[i].parent);
    }
    assert_int_equal(resource_most(&all->list[0]), 37000);
    assert_true(resource_variable(&all->list[0], "train:", 5, &value) && value == 1500);
    assert_false(resource_variable(&all->list[0], "turbo", 5, &value));
    assert_int_equal(all->list[1].layers[1].total, RESOURCES_INFINITE);
    assert_int_equal(resource_most(&all->list[1]), 40);
    assert_ptr_equal(resources_find(all, "port:3", 4), &all->list[1]);
    assert_null(resources_find(all, "por", 3));
    resources_free(all);
    conf_free(c);
}

static const struct {
    const char *text, *words;
} bad[] = {
    { "a: 1\n", "line 1: a list is expected" },
    { "- 5\n", "line 1: a mapping" },
    { "- resource: w\n  mode: MODE_3\n", "line 1: a resource needs layers" },
    { "- resource: w\n  layers: [{nodes: n01, count: 1}]\n", "needs a mode" },
    { "- mode: MODE_1\n  layers: [{nodes: n01, count: 1}]\n", "needs a name" },
    { "- resource: w\n  mode: MODE_9\n", "line 2: mode MODE_9 is none of MODE_1, MODE_2, MODE_3" },
    { "- resource: w\n  mode: MODE_1\n  colour: red\n", "line 3: unknown key \"colour\"" },
    { "- resource: w\n  resource: v\n", "line 2: the key resource stands twice" },
    { "- resource: \"w 1\"\n", "line 1: \"w 1\" cannot be the name of a resource" },
    { "- resource: w/x\n", "cannot be the name" },
    { "- resource: foo\n  mode: MODE_1\n  layers: [{nodes: n01, count: 1}]\n",
      "foo is a licence of slurm.conf" },
    { OF_MODE_1 "    - {nodes: n01, count: 1}\n" OF_MODE_1 "    - {nodes: n02, count: 1}\n",
      "line 5: the resource p is described in line 1 already" },
    { OF_MODE_1 "    - {count: 1}\n", "line 4: a layer needs nodes" },
    { OF_MODE_1 "    - {nodes: n01}\n", "line 4: a layer needs a count" },
    { OF_MODE_1 "    - {nodes: [], count: 1}\n", "at least one node" },
    { OF_MODE_1 "    - {nodes: n01, count: -2}\n", "line 4: \"-2\" is not a number from 0" },
    { OF_MODE_1 "    - {nodes: n01, count: 4294967296}\n", "is not a number" },
    { OF_MODE_1 "    - {nodes: n01, count: 1x}\n", "is not a number" },
    { OF_MODE_1 "    - {nodes: n77, count: 1}\n", "no NodeName line of slurm.conf names n77" },
    { OF_MODE_1 "    - {nodes: \"n[3-1]\", count: 1}\n", "line 4: nodes: " },
    { OF_MODE_1 "    - {nodes: \"n[01-02]\", count: 1}\n    - {nodes: [n02, n01], count: 2}\n",
      "line 5: the layer n[01-02] of p has the nodes of the layer in line 4" },
    { OF_MODE_1 "    - {nodes: n01, count: 5, base: [{name: x, value: 3}, {name: y, value: 3}]}\n",
      "sum up to 6, more than its count of 5" },
    { OF_MODE_1 "    - {nodes: n01, count: 5, base: [{name: x}]}\n", "needs a name and a value" },
    { "- resource: p\n  mode: MODE_1\n  topology: t\n  layers: [{nodes: n01, count: 1}]\n",
      "topology is for resources of MODE_3" },
    { "- resource: p\n  mode: MODE_1\n  variables: [{name: 5x, value: 1}]\n",
      "begins like a number" },
    { "- resource: p\n  mode: MODE_1\n  variables: [{name: x, value: 1}, {name: x, value: 2}]\n",
      "the variable x stands twice" },
    { OF_MODE_3 "    - {nodes: \"n[01-04]\", count: 9}\n    - {nodes: \"n[05-06]\", count: 9}\n",
      "line 5: node n05 of the layer n[05-06] of w is not in the largest layer" },
    { OF_MODE_3 "    - {nodes: \"n[01-08]\", count: 9}\n    - {nodes: \"n[01-04]\", count: 9}\n"
                "    - {nodes: \"n[03-05]\", count: 9}\n",
      "line 6: the layer n[03-05] of w lies partly in another" },
    { OF_MODE_3 "    - {nodes: \"n[01-08]\", count: 9}\n    - {nodes: \"n[01-04]\", count: 9}\n"
                "    - {nodes: \"n[01-02]\", count: 9}\n    - {nodes: \"n[05-08]\", count: 9}\n",
      "in MODE_3 all leaves have the same depth" },
    { OF_MODE_3 "    - {nodes: \"n[01-08]\", count: 9, base: [{name: a, value: 5}]}\n"
                "    - {nodes: \"n[01-04]\", count: 9, base: [{name: b, value: 5}]}\n",
      "with those of the layers below, sum up to 10" },
    { "- resource: [\n", "this is not YAML" },
};

static void test_refuses_mistakes(void **state)
{
    struct conf *c = make_conf();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct resources *all = NULL;
        struct resources_fault fault;
        struct err err = { .text = "" };

        assert_int_equal(resources_parse(bad[i].text, strlen(bad[i].text), c, &all, &fault, &err),
                         -EINVAL);
        assert_null(all);
        if (!strstr(err.text, bad[i].words))
            fail_msg("text %zu: %s", i, err.text);
        assert_int_equal(fault.source[0] != 0, strstr(bad[i].text, "MODE_9") != NULL);
    }
    conf_free(c);
}

static void test_limits(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf chain = STRBUF_INIT, many = STRBUF_INIT;
    struct conf *c = make_conf();
    struct resources *all = NULL;
    struct err err = { .text = "" };

    (void)state;
    strbuf_add(&chain, OF_MODE_3);
    for (int i = 0; i < 17; i++) /* a chain, one node less each time */
        strbuf_addf(&chain, "    - {nodes: \"n[%02d-24]\", count: 9}\n", i + 1);
    assert_int_equal(resources_parse(strbuf_str(&chain), chain.len, c, &all, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.text, "more than 16 levels"));
    for (int i = 0; i < 65; i++)
        strbuf_addf(&many,
                    "- {resource: r%d, mode: MODE_1, layers: "
                    "[{nodes: n01, count: 1}]}\n",
                    i);
    assert_int_equal(resources_parse(strbuf_str(&many), many.len, c, &all, NULL, &err), -E2BIG);
    assert_int_equal(resources_parse("# none\n", 7, c, &all, NULL, &err), 0);
    assert_int_equal(all->n, 0);
    resources_free(all);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_file),
        cmocka_unit_test(test_refuses_mistakes),
        cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
