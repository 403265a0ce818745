/* test_powerplan.c - which idle nodes are powered down, how many at a time, and what is excepted */
#include "model_util.h"

#include "base/timefmt.h"
#include "ctld/node/powerplan.h"

#define S USEC_PER_SEC
#define NOW (1000 * S)
#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

/* n1 .. n6, idle since second 900; partition p has n1-n4, q has n3-n6. */
static struct cluster *make_nodes(void)
{
    struct cluster *c;
    Pst__Transaction *tx = tx_new(1);

    assert_int_equal(cluster_new(&c), 0);
    for (uint32_t i = 0; i < 6; i++) {
        Pst__NodeRecord *n = tx_node_put(tx, PST__EVENT_KIND__EV_NODE_CONFIG);
        char name[8];

        (void)snprintf(name, sizeof(name), "n%u", i + 1);
        n->name = tx_strdup(name);
        SET(n, node_id, i);
        SET(n, state, PST__NODE_STATE__NODE_IDLE);
        SET(n, state_flags, 0);
        SET(n, cpus, 2);
        SET(n, last_busy_us, 900 * S);
    }
    for (int i = 0; i < 2; i++) {
        Pst__PartitionRecord *p = tx_part_put(tx, PST__EVENT_KIND__EV_PART_CONFIG);

        p->name = tx_strdup(i ? "q" : "p");
        p->nodes = tx_strdup(i ? "n[3-6]" : "n[1-4]");
    }
    assert_int_equal(cluster_apply(c, tx, NULL), 0);
    tx_free(tx);
    return c;
}

static void change(struct cluster *c, uint32_t id, uint32_t flags, Pst__NodeState state)
{
    Pst__Transaction *tx = tx_new(1);
    Pst__NodeRecord *n = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_POWER, id);

    SET(n, state_flags, flags);
    SET(n, state, state);
    assert_int_equal(cluster_apply(c, tx, NULL), 0);
    tx_free(tx);
}

/* The nodes that are chosen, as a list of numbers from 1: "1,3-4". */
static void assert_chosen(struct cluster *c, uint32_t time_s, const char *nodes, const char *parts,
                          const char *states, const char *expected)
{
    _cleanup_(power_except_free) struct power_except *e = NULL;
    _cleanup_(bitmap_free) struct bitmap *out = NULL, *want = NULL;
    struct power_policy policy = { .suspend_time_s = time_s };

    assert_int_equal(power_except_parse(c, nodes, parts, states, &e, NULL), 0);
    policy.except = e;
    assert_int_equal(bitmap_new(c->nnodes + 1, &out), 0);
    assert_int_equal(bitmap_new(c->nnodes + 1, &want), 0);
    assert_int_equal(power_choose(c, &policy, NOW, out), 0);
    for (const char *p = expected; *p; p++)
        if (*p != ',')
            bitmap_set(want, (uint32_t)(*p - '1'));
    assert_true(bitmap_equal(out, want));
}

static void test_times(void **state)
{
    struct cluster *c = make_nodes();
    Pst__Transaction *tx;

    (void)state;
    assert_chosen(c, 101, NULL, NULL, NULL, "");
    assert_chosen(c, 100, NULL, NULL, NULL, "1,2,3,4,5,6");
    assert_chosen(c, POWER_NEVER, NULL, NULL, NULL, "");
    tx = tx_new(1);
    SET(tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, "p"), suspend_time_s, 50);
    SET(tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, "q"), suspend_time_s, 500);
    assert_int_equal(cluster_apply(c, tx, NULL), 0);
    tx_free(tx);
    assert_chosen(c, POWER_NEVER, NULL, NULL, NULL, "1,2"); /* of n3 and n4 the longer one counts */
    tx = tx_new(1);
    SET(tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_CONFIG, 1), suspend_never, true);
    SET(tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_CONFIG, 4), suspend_time_s, 60);
    assert_int_equal(cluster_apply(c, tx, NULL), 0);
    tx_free(tx);
    assert_chosen(c, POWER_NEVER, NULL, NULL, NULL, "1,5"); /* the node's own word is the last */
    cluster_free(c);
}

static void test_states(void **state)
{
    struct cluster *c = make_nodes();

    (void)state;
    change(c, 0, FLAG(POWERED_DOWN), PST__NODE_STATE__NODE_IDLE);
    change(c, 1, FLAG(POWERING_UP), PST__NODE_STATE__NODE_IDLE);
    change(c, 2, FLAG(POWERING_DOWN), PST__NODE_STATE__NODE_IDLE);
    change(c, 3, FLAG(DRAIN), PST__NODE_STATE__NODE_IDLE);
    change(c, 4, 0, PST__NODE_STATE__NODE_DOWN);
    change(c, 5, 0, PST__NODE_STATE__NODE_UNKNOWN);
    assert_chosen(c, 1, NULL, NULL, NULL, "4,5");
    assert_chosen(c, 1, NULL, NULL, "down", "4");
    assert_chosen(c, 1, NULL, NULL, "DOWN,drain", "");
    cluster_free(c);
}

static void test_exceptions(void **state)
{
    struct cluster *c = make_nodes();

    (void)state;
    assert_chosen(c, 1, "n[1-2],n9", NULL, NULL, "3,4,5,6");
    assert_chosen(c, 1, "n[1-2],n5", "p", NULL, "6");
    assert_chosen(c, 1, "n[1-4]:2", NULL, NULL, "3,4,5,6");
    assert_chosen(c, 1, "n[1-4]:2,n6:1", NULL, NULL, "3,4,5");
    change(c, 0, FLAG(POWERED_DOWN), PST__NODE_STATE__NODE_IDLE);
    change(c, 1, 0, PST__NODE_STATE__NODE_DOWN);
    /* two that jobs could use: n3 and n4 */
    assert_chosen(c, 1, "n[1-4]:2", NULL, NULL, "2,5,6");
    cluster_free(c);
}

static void test_unknown_names(void **state)
{
    static const struct {
        const char *nodes;
        size_t unknown;
    } rows[] = { { NULL, 0 }, { "n[1-6]", 0 }, { "n[5-8]", 2 }, { "n[1-2]:1,nosuch,n9:1", 2 } };
    struct cluster *c = make_nodes();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(power_except_free) struct power_except *e = NULL;

        assert_int_equal(power_except_parse(c, rows[i].nodes, NULL, NULL, &e, NULL), 0);
        assert_int_equal(e->unknown, rows[i].unknown);
    }
    cluster_free(c);
}

static void test_on_idle(void **state)
{
    struct cluster *c = make_nodes();
    Pst__Transaction *tx = tx_new(1);

    (void)state;
    SET(tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, "q"), power_down_on_idle, true);
    SET(tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_POWER, 3), power_us, 950 * S);
    assert_int_equal(cluster_apply(c, tx, NULL), 0);
    tx_free(tx);
    assert_chosen(c, POWER_NEVER, NULL, NULL, NULL,
                  "3,5,6"); /* n4 has run no job since it came up */
    cluster_free(c);
}

static void test_rates(void **state)
{
    struct power_rate r = { 0 };
    uint32_t sum = 0;

    (void)state;
    assert_int_equal(power_rate_take(&r, 0, NOW, 5000), 5000); /* no limit */
    assert_int_equal(power_rate_take(&r, 60, NOW, 40), 40);    /* those of a minute at once */
    assert_int_equal(power_rate_take(&r, 60, NOW, 100), 20);
    assert_int_equal(power_rate_take(&r, 60, NOW, 100), 0);
    assert_int_equal(power_rate_take(&r, 60, NOW + 3 * S, 100), 3);
    assert_int_equal(power_rate_take(&r, 60, NOW + 3 * S - 1, 100), 0); /* clock back */
    assert_int_equal(power_rate_take(&r, 60, NOW + 1000 * S, 100), 60); /* not saved up */
    assert_int_equal(power_rate_take(&r, 60, NOW + 1010 * S, 100), 10);
    r = (struct power_rate){ 0 };
    for (int i = 0; i < 600; i++) /* passes of 100 ms for a minute */
        sum += power_rate_take(&r, 6, NOW + i * S / 10, 100);
    assert_in_range(sum, 11, 12); /* the first six, and six more in a minute */
}

static void test_changes(void **state)
{
    static const struct {
        const char *list, *word;
        bool off, nodes;
        const char *want; /* NULL: none is left */
    } cases[] = {
        { NULL, "cl1", false, true, "cl1" },
        { "cl1", "cl2", false, true, "cl[1-2]" },
        { "cl[1-4]", "cl2", true, true, "cl[1,3-4]" },
        { "cl[1-2]", "cl[1-2]", true, true, NULL },
        { "cl[1-4]:2", "cl9", false, true, "cl9,cl[1-4]:2" },
        { "cl9,cl[1-4]:2", "cl[1-4]:2", true, true, "cl9" },
        { "cl[1-4]:2", "cl[1-4]:2", false, true, "cl[1-4]:2" },
        { "p", "q", false, false, "p,q" },
        { "p,q", "Q", false, false, "p,q" },
        { "p,q", "p", true, false, "q" },
        { "", "p", true, false, NULL },
    };
    struct err err = { .text = "" };
    char *text = NULL;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        text = NULL;
        assert_int_equal(power_except_change(cases[i].list, cases[i].word, cases[i].off,
                                             cases[i].nodes, &text, &err),
                         0);
        if (cases[i].want)
            assert_string_equal(text, cases[i].want);
        else
            assert_null(text);
        free(text);
    }
    assert_int_equal(power_except_change("cl1", "cl[", false, true, &text, &err), -EINVAL);
    assert_int_equal(power_except_check("n[1-4]:0", NULL, &err), -EINVAL);
    assert_int_equal(power_except_check("n[1-4]:x", NULL, &err), -EINVAL);
    assert_int_equal(power_except_check("n1", "DOWN,HOT", &err), -EINVAL);
    assert_non_null(strstr(err.text, "SuspendExcStates: HOT is not CLOUD"));
    assert_int_equal(power_except_check("n1,n[2-4]:3", "down,Cloud", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),      cmocka_unit_test(test_states),
        cmocka_unit_test(test_exceptions), cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_on_idle),    cmocka_unit_test(test_rates),
        cmocka_unit_test(test_changes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
