/* bench_acct.c - what accounting costs a job, against the database's own limit in the same run
 *
 *     bench_acct [DIR [JOBS]]
 *
 * "raw" is the limit: one insert of a record as large as a finished job's, in equal batches, with
 * no index.  "feed" stores whole lives of jobs (five transactions and a batch step each) as the
 * controller's thread does, with `flight` jobs between their first and last; ratio is jobs a second
 * over raw's.  "query" reads them back.  One JSON object a line. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"

#define BATCH 2000u /* transactions */
#define PHASES 5u
#define T0 (INT64_C(1700000000) * USEC_PER_SEC)
#define USERS 50u

static const uint32_t flights[] = { 1000, 5000, 20000 };

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_acct: %s: %s\n", what, why);
    exit(1);
}

struct bytes {
    uint8_t *data;
    size_t len;
};

static struct bytes encode(Pst__Transaction *tx)
{
    struct bytes b = { .len = pst__transaction__get_packed_size(tx) };

    b.data = malloc(b.len);
    if (!b.data)
        die("encode", "out of memory");
    (void)pst__transaction__pack(tx, b.data);
    tx_free(tx);
    return b;
}

static Pst__Alloc *make_alloc(void)
{
    Pst__Alloc a = PST__ALLOC__INIT;
    Pst__AllocGroup g = PST__ALLOC_GROUP__INIT, *groups[] = { &g };
    uint32_t node_ids[] = { 1234, 1235 };

    a.nodes = (char *)(uintptr_t) "node[1234-1235]"; /* copied below */
    a.node_ids = node_ids;
    a.n_node_ids = 2;
    a.groups = groups;
    a.n_groups = 1;
    SET(&a, total_cpus, 16);
    SET(&g, nodes, 2);
    SET(&g, cpus, 8);
    SET(&g, mem_mib, 16384);
    SET(&g, tasks, 8);
    g.cpu_ids = (char *)(uintptr_t) "0-7";
    return tx_dup_alloc(&a);
}

static Pst__Transaction *make_submit(uint32_t n)
{
    Pst__Transaction *tx = tx_new(T0 + n * 200);
    Pst__JobRecord *j = tx_job_put(tx, PST__EVENT_KIND__EV_JOB_SUBMIT);
    struct digest script = { .bytes = { 1 } }, env = { .bytes = { 2 } };

    SET(j, job_id, n + 1);
    SET(j, db_id, n + 1);
    SET(j, uid, 1000 + n % USERS);
    SET(j, gid, 1000);
    SET(j, state, JOB_STATE(PENDING));
    SET(j, submit_us, tx->time_us);
    SET(j, eligible_us, tx->time_us);
    SET(j, min_nodes, 2);
    SET(j, num_tasks, 16);
    SET(j, mem_per_cpu_mib, 2048);
    SET(j, time_limit_min, 60);
    SET(j, batch, true);
    memcpy(script.bytes + 8, &n, sizeof(n));
    tx_digest(&script, &j->has_script_digest, &j->script_digest);
    tx_digest(&env, &j->has_env_digest, &j->env_digest);
    j->user_name = tx_strdup("someuser");
    j->name = tx_strdup("train-model");
    j->account = tx_strdup("physics");
    j->qos = tx_strdup("normal");
    j->partition = tx_strdup("batch");
    j->alloc_host = tx_strdup("login1");
    j->work_dir = tx_strdup("/home/someuser/projects/experiment-17/run");
    j->command = tx_strdup("/home/someuser/projects/experiment-17/run/job.sh");
    j->submit_line = tx_strdup("sbatch -N2 -n16 --mem-per-cpu=2G -t 60 job.sh");
    j->std_out = tx_strdup("/home/someuser/projects/experiment-17/run/slurm-%j.out");
    j->req_tres = tx_strdup("cpu=16,mem=32G,node=2,billing=16");
    return tx;
}

static Pst__Transaction *make_start(uint32_t n)
{
    Pst__Transaction *tx = tx_new(T0 + n * 200 + 1000000);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_START, n + 1);
    Pst__StepRecord *s;

    SET(set, state, JOB_STATE(RUNNING));
    SET(set, state_flags, 0);
    SET(set, start_us, tx->time_us);
    SET(set, end_us, tx->time_us + 3600 * USEC_PER_SEC);
    SET(set, released, false);
    set->alloc = make_alloc();
    set->batch_host = tx_strdup("node1234");
    set->alloc_tres = tx_strdup("cpu=16,mem=32G,node=2,billing=16");
    s = tx_step_put(tx, PST__EVENT_KIND__EV_STEP_START, n + 1, STEP_BATCH);
    s->name = tx_strdup("batch");
    s->alloc = make_alloc();
    SET(s, state, PST__STEP_STATE__STEP_RUNNING);
    SET(s, start_us, tx->time_us);
    SET(s, job_db_id, n + 1);
    return tx;
}

static Pst__Transaction *make_end(uint32_t n)
{
    Pst__Transaction *tx = tx_new(T0 + n * 200 + 5000000);
    Pst__StepRecord *s = tx_step_patch(tx, PST__EVENT_KIND__EV_STEP_END, n + 1, STEP_BATCH);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_END, n + 1);

    SET(s, state, PST__STEP_STATE__STEP_COMPLETED);
    SET(s, end_us, tx->time_us);
    SET(s, exit_status, 0);
    SET(set, state, JOB_STATE(COMPLETED));
    SET(set, state_flags, JOB_FLAG(COMPLETING));
    SET(set, end_us, tx->time_us);
    SET(set, exit_status, 0);
    return tx;
}

/* Phase 0 .. 4 in the life of job n. */
static struct bytes make(uint32_t n, unsigned phase)
{
    Pst__Transaction *tx;

    switch (phase) {
    case 0:
        return encode(make_submit(n));
    case 1:
        return encode(make_start(n));
    case 2:
        tx = tx_new(T0 + n * 200 + 1500000);
        SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_LAUNCHED, n + 1), batch_started, true);
        return encode(tx);
    case 3:
        return encode(make_end(n));
    default:
        tx = tx_new(T0 + n * 200 + 5100000);
        SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_CLEANED, n + 1), released, true);
        SET(tx->events[0]->job_patch->set, state_flags, 0);
        return encode(tx);
    }
}

struct feeder {
    struct acct *acct;
    struct pb_arena *arena;
    uint64_t lsn, in_batch;
    int64_t spent_us;
};

static void feed(struct feeder *f, struct bytes b)
{
    struct err err = { .text = "" };
    int64_t t0 = now_mono_us();
    const Pst__Transaction *tx;
    int r = f->in_batch ? 0 : acct_begin(f->acct);

    pb_arena_reset(f->arena);
    tx = pst__transaction__unpack(pb_arena_allocator(f->arena), b.len, b.data);
    if (r == 0)
        r = acct_apply(f->acct, ++f->lsn, tx, &err);
    if (r == 0 && ++f->in_batch == BATCH) {
        r = acct_commit(f->acct);
        f->in_batch = 0;
    }
    if (r < 0)
        die("feed", err.text[0] ? err.text : acct_error(f->acct));
    f->spent_us += now_mono_us() - t0;
    free(b.data);
}

/* Phases of a job come flight / 4 jobs apart.  Making the transactions is not counted. */
static double feed_all(const char *db, uint32_t jobs, uint32_t flight)
{
    struct feeder f = { 0 };
    uint32_t gap = flight / (PHASES - 1);
    struct err err = { .text = "" };
    int64_t t0;

    if (acct_open(db, "bench", &f.acct, &err) < 0 || pb_arena_new(&f.arena) < 0)
        die(db, err.text);
    for (uint32_t i = 0; i < jobs + gap * (PHASES - 1); i++)
        for (unsigned phase = 0; phase < PHASES; phase++)
            if (i >= phase * gap && i - phase * gap < jobs)
                feed(&f, make(i - phase * gap, phase));
    t0 = now_mono_us();
    if (f.in_batch && acct_commit(f.acct) < 0)
        die("commit", acct_error(f.acct));
    acct_close(f.acct);
    pb_arena_free(f.arena);
    f.spent_us += now_mono_us() - t0;
    return (double)jobs * 1e6 / (double)f.spent_us;
}

static double raw_inserts(const char *db, uint32_t jobs)
{
    static uint8_t record[700];
    sqlite3 *c;
    sqlite3_stmt *stmt;
    int64_t t0;

    if (sqlite3_open(db, &c) != SQLITE_OK ||
        sqlite3_exec(
            c,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "PRAGMA wal_autocheckpoint=8192; CREATE TABLE t(id INTEGER PRIMARY KEY, r BLOB)",
            NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(c, "INSERT INTO t VALUES(?1,?2)", -1, &stmt, NULL) != SQLITE_OK)
        die(db, sqlite3_errmsg(c));
    t0 = now_mono_us();
    for (uint32_t i = 0; i < jobs; i++) {
        if (i % BATCH == 0)
            (void)sqlite3_exec(c, i ? "COMMIT; BEGIN" : "BEGIN", NULL, NULL, NULL);
        (void)sqlite3_bind_int64(stmt, 1, i);
        (void)sqlite3_bind_blob(stmt, 2, record, sizeof(record), SQLITE_STATIC);
        if (sqlite3_step(stmt) != SQLITE_DONE)
            die(db, sqlite3_errmsg(c));
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_exec(c, "COMMIT", NULL, NULL, NULL);
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(c); /* with the checkpoint, as for the store */
    return (double)jobs * 1e6 / (double)(now_mono_us() - t0);
}

static void query(const char *what, const char *db, const Pst__AcctFilter *filter)
{
    struct acct_rows *rows = NULL;
    struct err err = { .text = "" };
    int64_t t0 = now_mono_us(), selected;
    const uint8_t *data;
    size_t len, bytes = 0, n = 0;
    int r = acct_rows_open(db, filter, T0 + INT64_C(100000) * USEC_PER_SEC, NULL, &rows, &err);

    selected = now_mono_us();
    while (r >= 0 && (r = acct_rows_next(rows, &data, &len, &err)) > 0) {
        bytes += len;
        n++;
    }
    if (r < 0)
        die(what, err.text);
    acct_rows_close(rows);
    printf("{\"bench\":\"acct\",\"mode\":\"query\",\"what\":\"%s\",\"records\":%zu,\"bytes\":%zu,"
           "\"select_us\":%lld,\"total_us\":%lld}\n",
           what, n, bytes, (long long)(selected - t0), (long long)(now_mono_us() - t0));
}

static void queries(const char *db, uint32_t jobs)
{
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    uint32_t uid = 1007, job = jobs / 2, state = JOB_STATE(RUNNING);

    query("everything", db, &f);
    SET(&f, allocations_only, true);
    query("everything -X", db, &f);
    f.uids = &uid;
    f.n_uids = 1;
    SET(&f, start_us, T0 + (int64_t)jobs * 180);
    SET(&f, end_us, T0 + (int64_t)jobs * 200);
    query("a user's last tenth", db, &f);
    f.n_uids = 0;
    SET(&f, start_us, T0);
    f.job_ids = &job;
    f.n_job_ids = 1;
    query("one job", db, &f);
    f.n_job_ids = 0;
    f.states = &state;
    f.n_states = 1;
    f.start_us = f.end_us;
    query("running now", db, &f);
}

static void clear_dir(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            (void)unlinkat(dirfd(d), e->d_name, 0); /* rmdir tells */
    if (d)
        (void)closedir(d);
}

int main(int argc, char **argv)
{
    const char *base = argc > 1 ? argv[1] : "/tmp";
    uint64_t jobs = 50000;
    char dir[4000], db[4096];
    double raw;

    if (argc > 3 || (argc == 3 && parse_u64(argv[2], 1000, 100000000, &jobs) < 0)) {
        (void)fprintf(stderr, "usage: bench_acct [DIR [JOBS]]\n");
        return 2;
    }
    (void)snprintf(dir, sizeof(dir), "%s/bench-acct-XXXXXX", base);
    if (!mkdtemp(dir))
        die(dir, strerror(errno));
    (void)snprintf(db, sizeof(db), "%s/raw.db", dir);
    raw = raw_inserts(db, (uint32_t)jobs);
    printf("{\"bench\":\"acct\",\"mode\":\"raw\",\"inserts_per_s\":%.0f}\n", raw);
    for (size_t i = 0; i < ARRAY_SIZE(flights); i++) {
        double rate;

        clear_dir(dir);
        (void)snprintf(db, sizeof(db), "%s/acct.db", dir);
        rate = feed_all(db, (uint32_t)jobs, flights[i]);
        printf("{\"bench\":\"acct\",\"mode\":\"feed\",\"flight\":%u,\"jobs_per_s\":%.0f,"
               "\"transactions_per_s\":%.0f,\"ratio\":%.3f}\n",
               flights[i], rate, rate * PHASES, rate / raw);
        (void)fflush(stdout); /* shown as it comes */
    }
    queries(db, (uint32_t)jobs);
    clear_dir(dir);
    return rmdir(dir) < 0;
}
