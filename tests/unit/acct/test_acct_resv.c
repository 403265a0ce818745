/* test_acct_resv.c - reservations in the accounting store: their periods, what is charged, reports,
 * kills, purging */
#include "rollup_util.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "acct/acctresv.h"

#define FLAG(x) (UINT64_C(1) << PST__RESV_FLAG__RESV_FLAG_##x)

/* A reservation of n0 (8 CPUs) in hours [from, to). */
struct a_resv {
    uint32_t id;
    int64_t from, to, period; /* seconds of the month; period 0: from */
    uint64_t flags;
    bool started;
    int64_t ended; /* 0: it did not */
    const char *users, *accounts;
    uint32_t uid; /* of the first user */
};

static Pst__Transaction *resv_tx(Pst__EventKind kind, const struct a_resv *a, int64_t at)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);
    Pst__ReservationRecord rec = PST__RESERVATION_RECORD__INIT;
    uint32_t uids[] = { a->uid };

    SET(&rec, resv_id, a->id);
    SET(&rec, start_us, (MONTH + a->from) * SEC);
    SET(&rec, end_us, (MONTH + a->to) * SEC);
    SET(&rec, flags, a->flags);
    if (a->started) {
        SET(&rec, started, true);
        SET(&rec, period_us, (MONTH + (a->period ? a->period : a->from)) * SEC);
    }
    if (a->ended)
        SET(&rec, ended_us, (MONTH + a->ended) * SEC);
    rec.name = (char *)(uintptr_t) "maint";
    rec.nodes = (char *)(uintptr_t) "n0";
    rec.tres = (char *)(uintptr_t) "cpu=8";
    rec.users = (char *)(uintptr_t)a->users;
    rec.accounts = (char *)(uintptr_t)a->accounts;
    rec.uids = uids;
    rec.n_uids = a->uid ? 1 : 0;
    tx_resv_put(tx, kind, &rec);
    return tx;
}

static void put(struct world *w, Pst__EventKind kind, const struct a_resv *a, int64_t at)
{
    feed(w, resv_tx(kind, a, at));
}

/* From its making to its end. */
static void live(struct world *w, struct a_resv a)
{
    put(w, EV(RESV_CREATE), &a, MAX(a.from - 60, 1));
    a.started = true;
    put(w, EV(RESV_START), &a, a.from);
    a.ended = a.to;
    put(w, EV(RESV_END), &a, a.to);
    feed(w, tx_new((MONTH + a.to) * SEC));
}

static void join(struct world *w, uint32_t job, uint32_t resv, int64_t at)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);

    SET(tx_job_patch(tx, EV(JOB_UPDATE), job), resv_id, resv);
    feed(w, tx);
}

/* ---- what the store tells -------------------------------------------------------------------- */

struct listed {
    Pst__AcctResvRecord *rows[16];
    size_t n;
};

static int keep(void *ctx, const ProtobufCMessage *record)
{
    struct listed *l = ctx;
    ProtobufCMessage *copy;

    assert_true(l->n < ARRAY_SIZE(l->rows));
    assert_int_equal(pb_dup(record, &copy), 0);
    l->rows[l->n++] = (Pst__AcctResvRecord *)copy;
    return 0;
}

static void listed_done(struct listed *l)
{
    for (size_t i = 0; i < l->n; i++)
        pst__acct_resv_record__free_unpacked(l->rows[i], NULL);
    l->n = 0;
}

static struct listed list(struct world *w, const Pst__AcctCond *where)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;
    struct listed l = { .n = 0 };
    struct sql *db;

    assert_int_equal(acct_db_open_reader(w->db, &db, NULL), 0);
    assert_int_equal(resv_list(db, where ? where : &all, keep, &l), 0);
    assert_null(sql_close(db));
    return l;
}

static void assert_row(const Pst__AcctResvRecord *v, int64_t from, int64_t to, uint64_t alloc,
                       uint64_t idle)
{
    assert_string_equal(v->cluster, "test");
    assert_string_equal(v->name, "maint");
    assert_int_equal(v->start_us, (MONTH + from) * SEC);
    assert_int_equal(v->end_us, (MONTH + to) * SEC);
    assert_int_equal(v->n_use, 1);
    assert_string_equal(v->use[0]->tres, "cpu");
    assert_int_equal(v->use[0]->alloc_s, alloc);
    assert_int_equal(v->use[0]->idle_s, idle);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static const struct an_assoc assocs[] = {
    { 1, 0, "root", NULL },    { 2, 1, "chem", NULL },    { 3, 1, "phys", NULL },
    { 4, 2, "chem", "alice" }, { 5, 3, "phys", "alice" }, { 6, 3, "phys", "bob" },
};

/* A job of it uses 4 of 8 CPUs for an hour and a half; the rest is charged to both of alice's
 * accounts. */
static void test_used(void **state)
{
    _cleanup_val_(listed_done) struct listed l = { .n = 0 };
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    struct world *w = *state;

    make_nodes(w);
    make_assocs(w, assocs, ARRAY_SIZE(assocs));
    live(w, (struct a_resv){ .id = 7, .from = HOUR, .to = 4 * HOUR, .users = "alice", .uid = 77 });
    queue_job(w, 1, HOUR, "chem", 77, "cpu=4");
    start_job(w, 1, HOUR, "cpu=4,node=1");
    join(w, 1, 7, HOUR);
    end_job(w, 1, HOUR + 5400, HOUR + 5400);
    queue_job(w, 2, 2 * HOUR, "bio", 9, "cpu=8"); /* no part of it */
    start_job(w, 2, 2 * HOUR, "cpu=8");
    end_job(w, 2, 3 * HOUR, 3 * HOUR);
    fed(w, 5 * HOUR);
    l = list(w, NULL);
    assert_int_equal(l.n, 1);
    assert_row(l.rows[0], HOUR, 4 * HOUR, 4 * 5400, 8 * 3 * HOUR - 4 * 5400);
    assert_true(l.rows[0]->unused_wall_s == 3 * HOUR - 4 * 5400 / 8.0);
    assert_int_equal(l.rows[0]->n_assoc_ids, 2);
    assert_int_equal(l.rows[0]->assoc_ids[0], 4);
    assert_int_equal(l.rows[0]->assoc_ids[1], 5);
    assert_cluster(w, HOUR, 2 * HOUR, "cpu", 8 * HOUR, 0, 0, 0, 8 * HOUR, 0);
    assert_cluster(w, 2 * HOUR, 3 * HOUR, "cpu", 16 * HOUR, 0, 0, 0, 0, 0);
    assert_cluster(w, 3 * HOUR, 4 * HOUR, "cpu", 8 * HOUR, 0, 0, 0, 8 * HOUR, 0);
    assert_cluster(w, 4 * HOUR, 5 * HOUR, "cpu", 0, 0, 0, 0, 16 * HOUR, 0);
    assert_int_equal(used(w, "phys", 77, "cpu", 0, DAY), (8 * 3 * HOUR - 4 * 5400) / 2);
    assert_int_equal(used(w, "chem", 77, "cpu", 0, DAY), (8 * 3 * HOUR - 4 * 5400) / 2 + 4 * 5400);
    assert_int_equal(used(w, "bio", 0, "cpu", 0, DAY), 8 * HOUR);
    /* of the second hour alone */
    SET(&where, start_us, (MONTH + 2 * HOUR) * SEC);
    SET(&where, end_us, (MONTH + 3 * HOUR) * SEC);
    SET(&where, used_within, true);
    listed_done(&l);
    l = list(w, &where);
    assert_int_equal(l.n, 1);
    assert_row(l.rows[0], HOUR, 4 * HOUR, 4 * 1800, 8 * HOUR - 4 * 1800);
    SET(&where, start_us, (MONTH + 4 * HOUR) * SEC);
    SET(&where, end_us, (MONTH + 5 * HOUR) * SEC);
    listed_done(&l);
    l = list(w, &where);
    assert_int_equal(l.n, 0);
}

/* Who pays: an account's own association, and nobody when only others are kept out or the users
 * have no association where others have. */
static void test_charged(void **state)
{
    struct world *w = *state;

    make_nodes(w);
    make_assocs(w, assocs, ARRAY_SIZE(assocs));
    live(w, (struct a_resv){ .id = 1, .from = HOUR, .to = 2 * HOUR, .accounts = "phys" });
    live(w, (struct a_resv){ .id = 2, .from = 2 * HOUR, .to = 3 * HOUR, .users = "-alice" });
    live(w,
         (struct a_resv){ .id = 3, .from = 3 * HOUR, .to = 4 * HOUR, .users = "carol", .uid = 99 });
    live(w,
         (struct a_resv){
             .id = 4, .from = 4 * HOUR, .to = 5 * HOUR, .users = "alice,bob", .accounts = "phys" });
    fed(w, 6 * HOUR);
    assert_int_equal(used(w, "phys", UINT32_MAX, "cpu", 0, 3 * HOUR), 8 * HOUR);
    assert_int_equal(used(w, "phys", 0, "cpu", 0, 3 * HOUR), 8 * HOUR);
    assert_int_equal(used(w, "", 99, "cpu", 0, DAY), 0);
    assert_int_equal(used(w, "phys", 0, "cpu", 4 * HOUR, DAY), 8 * HOUR);
    assert_cluster(w, HOUR, 5 * HOUR, "cpu", 4 * 8 * HOUR, 0, 0, 0, 4 * 8 * HOUR, 0);
}

/* Maintenance is planned down, whether its nodes are down or not; a node that is down is no idle
 * part of another reservation. */
static void test_maint(void **state)
{
    struct world *w = *state;

    make_nodes(w);
    live(w, (struct a_resv){
                .id = 1, .from = HOUR, .to = 2 * HOUR, .flags = FLAG(MAINT), .users = "root" });
    set_node(w, 0, 3 * HOUR, PST__NODE_STATE__NODE_DOWN, 0);
    live(w, (struct a_resv){
                .id = 2, .from = 3 * HOUR, .to = 4 * HOUR, .flags = FLAG(MAINT), .users = "root" });
    live(w, (struct a_resv){ .id = 3, .from = 4 * HOUR, .to = 5 * HOUR, .users = "root" });
    set_node(w, 0, 5 * HOUR, PST__NODE_STATE__NODE_IDLE, 0);
    queue_job(w, 1, 5 * HOUR, "a", 5,
              "cpu=12"); /* others run on its nodes: not more than was idle */
    start_job(w, 1, 5 * HOUR, "cpu=12");
    end_job(w, 1, 6 * HOUR, 6 * HOUR);
    live(w, (struct a_resv){ .id = 4,
                             .from = 5 * HOUR,
                             .to = 6 * HOUR,
                             .flags = FLAG(IGNORE_JOBS),
                             .users = "x",
                             .uid = 3 });
    fed(w, 7 * HOUR);
    assert_cluster(w, HOUR, 2 * HOUR, "cpu", 0, 0, 8 * HOUR, 0, 8 * HOUR, 0);
    assert_cluster(w, 3 * HOUR, 4 * HOUR, "cpu", 0, 0, 8 * HOUR, 0, 8 * HOUR, 0);
    assert_cluster(w, 4 * HOUR, 5 * HOUR, "cpu", 0, 8 * HOUR, 0, 0, 8 * HOUR, 0);
    assert_cluster(w, 5 * HOUR, 6 * HOUR, "cpu", 16 * HOUR, 0, 0, 0, 0, 0);
    assert_int_equal(used(w, "", 3, "cpu", 0, DAY), 4 * HOUR);
}

/* A change begins another period; what was planned and deleted, and what floats, leaves nothing. */
static void test_periods(void **state)
{
    _cleanup_val_(listed_done) struct listed l = { .n = 0 };
    struct a_resv a = { .id = 1, .from = HOUR, .to = 5 * HOUR, .users = "u", .uid = 5 };
    struct world *w = *state;
    Pst__Transaction *tx;

    make_nodes(w);
    put(w, EV(RESV_CREATE), &a, 60);
    a.from = 2 * HOUR; /* moved before it began */
    put(w, EV(RESV_UPDATE), &a, 120);
    l = list(w, NULL);
    assert_int_equal(l.n, 1);
    assert_row(l.rows[0], 2 * HOUR, 5 * HOUR, 0, 0);
    listed_done(&l);
    a.started = true;
    put(w, EV(RESV_START), &a, 2 * HOUR);
    put(w, EV(RESV_UPDATE), &a, 2 * HOUR + 60); /* nothing that accounting asks for */
    a.ended = 3 * HOUR;
    put(w, EV(RESV_END), &a, 3 * HOUR);
    a.ended = 0;
    a.period = 3 * HOUR;
    a.to = 4 * HOUR;
    put(w, EV(RESV_UPDATE), &a, 3 * HOUR);
    fed(w, 3 * HOUR + 10);
    l = list(w, NULL);
    assert_int_equal(l.n, 2);
    assert_row(l.rows[0], 2 * HOUR, 3 * HOUR, 0, 8 * HOUR);
    assert_row(l.rows[1], 3 * HOUR, 4 * HOUR, 0, 0);
    listed_done(&l);
    tx = tx_new((MONTH + 3 * HOUR + 1800) * SEC); /* it goes without having been said to end */
    tx_resv_remove(tx, EV(RESV_DELETE), 1);
    feed(w, tx);
    put(w, EV(RESV_CREATE), &(struct a_resv){ .id = 2, .from = 9 * HOUR, .to = 10 * HOUR },
        4 * HOUR);
    tx = tx_new((MONTH + 4 * HOUR + 1) * SEC);
    tx_resv_remove(tx, EV(RESV_DELETE), 2);
    feed(w, tx);
    put(w, EV(RESV_CREATE),
        &(struct a_resv){ .id = 3, .from = 1, .to = 2 * HOUR, .flags = FLAG(TIME_FLOAT) },
        4 * HOUR);
    fed(w, 5 * HOUR);
    l = list(w, NULL);
    assert_int_equal(l.n, 2);
    assert_row(l.rows[1], 3 * HOUR, 3 * HOUR + 1800, 0, 8 * 1800);
    assert_int_equal(used(w, "", 5, "cpu", 0, DAY), 8 * (HOUR + 1800));
}

/* The controller was away when it began and ended: hours that were summed up are summed up
 * again. */
static void test_late(void **state)
{
    struct a_resv a = { .id = 1, .from = HOUR, .to = 5 * HOUR, .users = "u", .uid = 5 };
    struct world *w = *state;

    make_nodes(w);
    put(w, EV(RESV_CREATE), &a, 60);
    fed(w, 3 * HOUR);
    assert_int_equal(used(w, "", 5, "cpu", 0, DAY), 0);
    a.started = true;
    put(w, EV(RESV_START), &a, 3 * HOUR);
    fed(w, 4 * HOUR);
    assert_int_equal(used(w, "", 5, "cpu", 0, DAY), 8 * 3 * HOUR);
    fed(w, 8 * HOUR);
    assert_int_equal(used(w, "", 5, "cpu", 0, DAY), 8 * 4 * HOUR);
    a.ended = 2 * HOUR; /* it was not used, and that long ago */
    put(w, EV(RESV_END), &a, 8 * HOUR + 1);
    fed(w, 9 * HOUR);
    assert_int_equal(used(w, "", 5, "cpu", 0, DAY), 8 * HOUR);
}

/* ---- kills ----------------------------------------------------------------------------------- */

#define STEPS 120u

/* The n-th transaction of a fixed history: reservations of two hours with a change in the middle, a
 * job in each. */
static Pst__Transaction *history(uint32_t n)
{
    uint32_t id = n / 6 + 1;
    int64_t at = (int64_t)id * 2 * HOUR;
    struct a_resv a = {
        .id = id, .from = at, .to = at + 2 * HOUR, .users = "u", .uid = 5, .started = n % 6 > 0
    };
    Pst__Transaction *tx;

    switch (n % 6) {
    case 0:
        return resv_tx(EV(RESV_CREATE), &a, at - 100);
    case 1:
        tx = resv_tx(EV(RESV_START), &a, at);
        (void)put_job(tx, id, id, "job");
        return tx;
    case 2:
        tx = tx_new((MONTH + at + 60) * SEC);
        fill_start(tx_job_patch(tx, EV(JOB_START), id), tx->time_us, "n0");
        (void)pb_set_str(&tx->events[0]->job_patch->set->alloc_tres, "cpu=4");
        SET(tx->events[0]->job_patch->set, resv_id, id);
        return tx;
    case 3:
        a.ended = at + HOUR;
        tx = resv_tx(EV(RESV_END), &a, at + HOUR);
        a.ended = 0;
        a.period = at + HOUR;
        {
            Pst__Transaction *next = resv_tx(EV(RESV_NODES), &a, at + HOUR);

            tx_resv_put(tx, EV(RESV_NODES), next->events[0]->resv_put);
            tx_free(next);
        }
        return tx;
    case 4:
        tx = tx_new((MONTH + at + HOUR + 600) * SEC);
        SET(tx_job_patch(tx, EV(JOB_END), id), state, JOB_STATE(COMPLETED));
        SET(tx->events[0]->job_patch->set, end_us, tx->time_us);
        return tx;
    default:
        a.period = at + HOUR;
        a.ended = a.to;
        tx = resv_tx(EV(RESV_END), &a, a.to);
        tx_resv_remove(tx, EV(RESV_DELETE), id);
        return tx;
    }
}

static int apply_history(struct acct *a, uint32_t to, uint32_t batch)
{
    int r = acct_begin(a);

    for (uint32_t lsn = 1; r == 0 && lsn <= to; lsn++) {
        Pst__Transaction *tx = history(lsn - 1);

        r = acct_apply(a, lsn, tx, NULL);
        tx_free(tx);
        if (r == 0 && lsn % batch == 0) {
            r = acct_commit(a);
            r = r < 0 ? r : acct_begin(a);
        }
    }
    return r < 0 ? r : acct_commit(a);
}

/* Two periods each: 4 of 8 CPUs used for 59 minutes of the first, for 10 of the second. */
static void assert_history(struct world *w)
{
    uint64_t alloc = 0, idle = 0;
    Pst__AcctCond where = PST__ACCT_COND__INIT;

    assert_int_equal(rows_of(w, "reservations"), 2 * STEPS / 6);
    for (uint32_t id = 1; id <= STEPS / 6; id++) {
        struct listed l;

        where.ids = &id;
        where.n_ids = 1;
        l = list(w, &where);
        assert_int_equal(l.n, 2);
        assert_row(l.rows[0], id * 2 * HOUR, id * 2 * HOUR + HOUR, 4 * 3540, 8 * HOUR - 4 * 3540);
        assert_row(l.rows[1], id * 2 * HOUR + HOUR, id * 2 * HOUR + 2 * HOUR, 4 * 600,
                   8 * HOUR - 4 * 600);
        alloc += l.rows[0]->use[0]->alloc_s + l.rows[1]->use[0]->alloc_s;
        idle += l.rows[0]->use[0]->idle_s + l.rows[1]->use[0]->idle_s;
        listed_done(&l);
    }
    assert_int_equal(used(w, "", 5, "cpu", 0, 90 * DAY), idle);
    assert_int_equal(used(w, "", 1000, "cpu", 0, 90 * DAY), alloc);
}

static void test_killed(void **state)
{
    struct world *w = *state;

    make_nodes(w);
    assert_int_equal(acct_rewind(w->acct, 0), 0); /* the history has its own numbers */
    w->acct = acct_close(w->acct);
    for (uint32_t round = 1; round <= 5; round++) {
        uint32_t upto = round * 19;
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            struct acct *a = NULL;
            Pst__Transaction *tx = history(upto);

            if (acct_open(w->db, "test", &a, NULL) < 0 || apply_history(a, upto, 5) < 0 ||
                acct_begin(a) < 0 || acct_apply(a, upto + 1, tx, NULL) < 0)
                _exit(1);
            (void)kill(getpid(), SIGKILL);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        roll(w);
    }
    w->acct = open_db(w->db);
    assert_int_equal(acct_cursor(w->acct), 95);
    assert_int_equal(apply_history(w->acct, STEPS, 5), 0);
    assert_int_equal(apply_history(w->acct, STEPS, 7), 0); /* all of it once more */
    w->lsn = STEPS;
    fed(w, 90 * (int64_t)DAY);
    assert_history(w);
}

/* ---- old stores, old rows -------------------------------------------------------------------- */

/* A store of the release before has no such tables. */
static void test_migrated(void **state)
{
    _cleanup_val_(listed_done) struct listed l = { .n = 0 };
    struct world *w = *state;
    struct sql *db;

    make_nodes(w);
    w->acct = acct_close(w->acct);
    assert_int_equal(acct_db_open(w->db, &db, NULL), 0);
    assert_int_equal(sql_exec(db, "DROP TABLE reservations; DROP TABLE usage_resv;"
                                  "UPDATE parts SET version=1 WHERE name='usage'"),
                     0);
    assert_null(sql_close(db));
    live(w, (struct a_resv){ .id = 1, .from = HOUR, .to = 2 * HOUR, .users = "u", .uid = 5 });
    fed(w, 3 * HOUR);
    l = list(w, NULL);
    assert_int_equal(l.n, 1);
    assert_row(l.rows[0], HOUR, 2 * HOUR, 0, 8 * HOUR);
}

static void count_files(struct world *w, const struct strbuf *files, bool load, size_t want)
{
    char *text = strdup(strbuf_str(files)), *save = NULL;
    size_t n = 0;

    assert_non_null(text);
    for (char *f = strtok_r(text, "\n", &save); f; f = strtok_r(NULL, "\n", &save)) {
        struct err err = { .text = "" };
        uint64_t rows;

        n++;
        if (load)
            assert_int_equal(load_file(w, f, &rows, &err), 0);
    }
    free(text);
    assert_int_equal(n, want);
}

static void test_purged(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf files = STRBUF_INIT;
    _cleanup_val_(listed_done) struct listed l = { .n = 0 };
    struct world *w = *state;
    struct sql *db;

    make_nodes(w);
    live(w, (struct a_resv){ .id = 1, .from = HOUR, .to = 2 * HOUR, .users = "u", .uid = 5 });
    put(w, EV(RESV_START),
        &(struct a_resv){ .id = 2, .from = 2 * HOUR, .to = 90 * HOUR, .started = true }, 2 * HOUR);
    queue_job(w, 1, HOUR, "chem", 5, "cpu=4");
    start_job(w, 1, HOUR, "cpu=4,node=1");
    join(w, 1, 1, HOUR);
    change_state(w, 1, HOUR + 60, JOB_STATE(SUSPENDED));
    change_state(w, 1, HOUR + 120, JOB_STATE(RUNNING));
    fed(w, 10 * HOUR);
    assert_int_equal(acct_db_open(w->db, &db, NULL), 0);
    assert_int_equal(
        sql_exec(db,
                 "CREATE TABLE IF NOT EXISTS txns(id $INT NOT NULL PRIMARY KEY, time_us $INT NOT"
                 " NULL, record $BLOB NOT NULL)$TABLE;"
                 "REPLACE INTO txns VALUES(1, 5, X'0801'),(2, 6, X'0802'),(3, 7, X'0803')"),
        0);
    assert_null(sql_close(db));
    purge(w,
          (struct archive_what){ .resv_h = 5,
                                 .resvs = true,
                                 .suspend_h = 5,
                                 .suspends = true,
                                 .txn_h = 5,
                                 .txns = true },
          10 * HOUR, &files);
    assert_int_equal(rows_of(w, "reservations"), 1); /* the one that lasts */
    assert_int_equal(rows_of(w, "usage_resv"), 0);
    assert_int_equal(rows_of(w, "suspensions"), 0);
    assert_int_equal(rows_of(w, "txns"), 1); /* the newest */
    count_files(w, &files, true, 4);
    assert_int_equal(rows_of(w, "txns"), 3);
    assert_int_equal(rows_of(w, "suspensions"), 1);
    l = list(w, NULL);
    assert_int_equal(l.n, 2);
    assert_row(l.rows[0], HOUR, 2 * HOUR, 4 * 3540, 8 * HOUR - 4 * 3540);
    strbuf_reset(&files);
    purge(w, (struct archive_what){ .resv_h = 5, .suspend_h = 5, .txn_h = 5 }, 10 * HOUR, &files);
    count_files(w, &files, false, 0); /* without a trace */
    assert_int_equal(rows_of(w, "reservations"), 1);
    assert_int_equal(rows_of(w, "suspensions"), 0);
}

/* Another journal: what was open ends with the old one. */
static void test_new_journal(void **state)
{
    _cleanup_val_(listed_done) struct listed l = { .n = 0 };
    struct world *w = *state;
    Pst__Transaction *tx;

    make_nodes(w);
    for (int i = 0; i < 2; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "journal-%d", i);
        tx = tx_new((MONTH + 3 * HOUR) * SEC);
        (void)pb_set_str(&tx_cluster(tx)->cluster_id, id);
        feed(w, tx);
        if (i == 0) {
            put(w, EV(RESV_START),
                &(struct a_resv){ .id = 1, .from = HOUR, .to = 9 * HOUR, .started = true },
                3 * HOUR);
            put(w, EV(RESV_CREATE), &(struct a_resv){ .id = 2, .from = 9 * HOUR, .to = 10 * HOUR },
                3 * HOUR);
        }
    }
    l = list(w, NULL);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.rows[0]->end_us, (MONTH + 3 * HOUR) * SEC);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_used),     TEST(test_charged), TEST(test_maint),
        TEST(test_periods),  TEST(test_late),    TEST(test_killed),
        TEST(test_migrated), TEST(test_purged),  TEST(test_new_journal),
    };

    (void)setenv("TZ", "UTC", 1);
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
