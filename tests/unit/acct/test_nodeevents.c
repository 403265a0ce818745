/* test_nodeevents.c - when nodes were away and what the cluster had, from events of the journal */
#include "acct_util.h"

#include "acct/nodeevents.h"
#include "acct/sql/db.h"
#include "base/strbuf.h"

#define FLAG(x) (UINT32_C(1) << PST__NODE_FLAG__NODE_FLAG_##x)
#define STATE(x, flags) (PST__NODE_STATE__NODE_##x | (int64_t)(flags) << 8)
#define SOURCE 3

struct yard {
    struct sql *db;
    struct nodes *nodes;
};

static void open_yard(struct yard *y, struct world *w)
{
    struct err err = { .text = "" };

    assert_int_equal(acct_db_open(w->db, &y->db, &err), 0);
    assert_int_equal(nodes_new(y->db, SOURCE, &y->nodes), 0);
}

static void close_yard(struct yard *y)
{
    assert_null(nodes_free(y->nodes));
    sql_close(y->db);
}

/* The one event of tx, then a flush; tx is freed. */
static void note_event(struct yard *y, Pst__Transaction *tx)
{
    assert_int_equal(nodes_apply(y->nodes, tx->events[0], tx->time_us), 0);
    assert_int_equal(nodes_flush(y->nodes), 0);
    tx_free(tx);
}

static void put_node(struct yard *y, int64_t at, uint32_t id, const char *name, uint32_t cpus)
{
    Pst__Transaction *tx = tx_new(at);
    Pst__NodeRecord *r = tx_node_put(tx, EV(NODE_CONFIG));

    SET(r, node_id, id);
    (void)pb_set_str(&r->name, name);
    SET(r, cpus, cpus);
    SET(r, real_memory_mib, 100);
    SET(r, state, PST__NODE_STATE__NODE_IDLE);
    note_event(y, tx);
}

static void set_state(struct yard *y, int64_t at, uint32_t id, Pst__NodeState state, uint32_t flags,
                      const char *reason)
{
    Pst__Transaction *tx = tx_new(at);
    Pst__NodeRecord *r = tx_node_patch(tx, EV(NODE_STATE), id);

    SET(r, state, state);
    SET(r, state_flags, flags);
    if (reason)
        (void)pb_set_str(&r->reason, reason);
    note_event(y, tx);
}

/* All periods: "node[from,to) what", a cluster's with its nodes and TRES. */
static void expect_periods(struct yard *y, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf got = STRBUF_INIT;
    struct sql_stmt *stmt = NULL;
    int r;

    assert_int_equal(
        sql_prepare(y->db,
                    "SELECT node, start_us, end_us, state, reason, tres, nodes, source FROM events "
                    "ORDER BY node, start_us",
                    &stmt),
        0);
    while ((r = sql_step(stmt)) == 1) {
        int64_t end = sql_int(stmt, 2);
        const char *nodes = sql_text(stmt, 6);

        assert_int_equal(sql_int(stmt, 7), SOURCE);
        strbuf_addf(&got, "%s[%lld,", sql_text(stmt, 0), (long long)sql_int(stmt, 1));
        if (end == ACCT_OPEN_END)
            strbuf_addf(&got, "-) ");
        else
            strbuf_addf(&got, "%lld) ", (long long)end);
        if (nodes)
            strbuf_addf(&got, "%s:%s\n", nodes, sql_text(stmt, 5));
        else
            strbuf_addf(&got, "%s:%s\n", sql_text(stmt, 4) ? sql_text(stmt, 4) : "",
                        sql_text(stmt, 5));
    }
    assert_int_equal(r, 0);
    assert_string_equal(strbuf_str(&got), want);
    sql_free(stmt);
}

static void test_away(void **state)
{
    (void)state;
    assert_int_equal(nodes_away(STATE(IDLE, 0)), NODE_THERE);
    assert_int_equal(nodes_away(STATE(IDLE, FLAG(NOT_RESPONDING) | FLAG(CLOUD))), NODE_THERE);
    assert_int_equal(nodes_away(STATE(DOWN, 0)), NODE_DOWN);
    assert_int_equal(nodes_away(STATE(IDLE, FLAG(DRAIN))), NODE_DOWN);
    assert_int_equal(nodes_away(STATE(IDLE, FLAG(FAIL))), NODE_DOWN);
    assert_int_equal(nodes_away(STATE(IDLE, FLAG(MAINTENANCE))), NODE_PLANNED_DOWN);
    assert_int_equal(nodes_away(STATE(DOWN, FLAG(MAINTENANCE))), NODE_PLANNED_DOWN);
    assert_int_equal(nodes_away(STATE(IDLE, FLAG(POWERED_DOWN))), NODE_PLANNED_DOWN);
    assert_int_equal(nodes_away(STATE(IDLE, FLAG(POWERING_DOWN))), NODE_PLANNED_DOWN);
    assert_int_equal(nodes_away(STATE(DOWN, FLAG(REBOOT_ISSUED))), NODE_PLANNED_DOWN);
    assert_int_equal(nodes_away(STATE(IDLE, FLAG(POWERING_UP))), NODE_THERE);
    assert_int_equal(nodes_away(STATE(FUTURE, FLAG(DRAIN))), NODE_THERE);
}

/* What the cluster has is one row; it ends when another begins. */
static void test_cluster(void **state)
{
    struct yard y;

    open_yard(&y, *state);
    put_node(&y, 100, 0, "n1", 4);
    expect_periods(&y, "[100,-) n1:cpu=4,mem=100M,node=1,billing=4\n");
    put_node(&y, 200, 1, "n2", 8);
    put_node(&y, 250, 1, "n2", 8); /* nothing new */
    expect_periods(&y, "[100,200) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "[200,-) n[1-2]:cpu=12,mem=200M,node=2,billing=12\n");
    set_state(&y, 300, 1, PST__NODE_STATE__NODE_FUTURE, 0, NULL); /* no part of it now */
    expect_periods(&y, "[100,200) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "[200,300) n[1-2]:cpu=12,mem=200M,node=2,billing=12\n"
                       "[300,-) n1:cpu=4,mem=100M,node=1,billing=4\n");
    close_yard(&y);
}

static void test_periods(void **state)
{
    struct yard y;

    open_yard(&y, *state);
    put_node(&y, 100, 0, "n1", 4);
    set_state(&y, 200, 0, PST__NODE_STATE__NODE_DOWN, 0, "no word");
    set_state(&y, 250, 0, PST__NODE_STATE__NODE_DOWN, 0, "no word"); /* as it was */
    set_state(&y, 300, 0, PST__NODE_STATE__NODE_DOWN, 0, "disk");
    set_state(&y, 400, 0, PST__NODE_STATE__NODE_IDLE, FLAG(MAINTENANCE), NULL);
    set_state(&y, 500, 0, PST__NODE_STATE__NODE_IDLE, 0, NULL);
    set_state(&y, 600, 0, PST__NODE_STATE__NODE_IDLE, FLAG(NOT_RESPONDING), NULL);
    expect_periods(&y, "[100,-) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "n1[200,300) no word:cpu=4,mem=100M,node=1,billing=4\n"
                       "n1[300,400) disk:cpu=4,mem=100M,node=1,billing=4\n"
                       "n1[400,500) disk:cpu=4,mem=100M,node=1,billing=4\n");
    close_yard(&y);
}

/* A node that is removed while it is down is down no more, and of no cluster. */
static void test_removal(void **state)
{
    struct yard y;
    Pst__Transaction *tx = tx_new(300);

    open_yard(&y, *state);
    put_node(&y, 100, 0, "n1", 4);
    put_node(&y, 100, 1, "n2", 4);
    set_state(&y, 200, 1, PST__NODE_STATE__NODE_DOWN, 0, "gone");
    tx_node_remove(tx, 1);
    note_event(&y, tx);
    tx = tx_new(400);
    tx_node_remove(tx, 7); /* never was */
    note_event(&y, tx);
    set_state(&y, 500, 1, PST__NODE_STATE__NODE_DOWN, 0, "nobody");
    expect_periods(&y, "[100,300) n[1-2]:cpu=8,mem=200M,node=2,billing=8\n"
                       "[300,-) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "n2[200,300) gone:cpu=4,mem=100M,node=1,billing=4\n");
    close_yard(&y);
}

/* Whoever starts again, or gave a transaction up, goes on with what the database has. */
static void test_again(void **state)
{
    struct yard y;
    Pst__Transaction *tx;

    open_yard(&y, *state);
    put_node(&y, 100, 0, "n1", 4);
    close_yard(&y);
    open_yard(&y, *state);
    set_state(&y, 200, 0, PST__NODE_STATE__NODE_IDLE, FLAG(DRAIN), "check"); /* a patch alone */
    expect_periods(&y, "[100,-) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "n1[200,-) check:cpu=4,mem=100M,node=1,billing=4\n");

    assert_int_equal(sql_begin(y.db), 0);
    tx = tx_new(300);
    tx_node_remove(tx, 0);
    assert_int_equal(nodes_apply(y.nodes, tx->events[0], 300), 0);
    tx_free(tx);
    sql_rollback(y.db);
    nodes_forget(y.nodes);
    set_state(&y, 400, 0, PST__NODE_STATE__NODE_IDLE, 0, NULL);
    expect_periods(&y, "[100,-) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "n1[200,400) check:cpu=4,mem=100M,node=1,billing=4\n");
    close_yard(&y);
}

/* Without its controller a cluster is down; the row of what it has stays open. */
static void test_controller(void **state)
{
    struct yard y;

    open_yard(&y, *state);
    assert_int_equal(sql_exec(y.db, "INSERT INTO sources VALUES(3,'demo','',0,0,0,0)"), 0);
    put_node(&y, 100, 0, "n1", 4);
    assert_int_equal(nodes_note_back(y.db, SOURCE, 150), 0); /* it never was away */
    assert_int_equal(nodes_note_gone(y.db, "other", 160), 0);
    assert_int_equal(nodes_note_gone(y.db, "demo", 200), 0);
    expect_periods(&y, "[100,-) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "[200,-) n1:cpu=4,mem=100M,node=1,billing=4\n");
    assert_int_equal(nodes_note_back(y.db, SOURCE, 300), 0);
    assert_int_equal(nodes_note_back(y.db, SOURCE, 400), 0); /* once is enough */
    expect_periods(&y, "[100,-) n1:cpu=4,mem=100M,node=1,billing=4\n"
                       "[200,300) n1:cpu=4,mem=100M,node=1,billing=4\n");
    close_yard(&y);
}

int main(void)
{
#define STORED(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_away), STORED(test_cluster), STORED(test_periods),
        STORED(test_removal),        STORED(test_again),   STORED(test_controller),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("nodeevents", tests, NULL, NULL);
}
