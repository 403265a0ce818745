/* bench_acct_load.c - a year of jobs into an accounting store, as slurmdbd stores them, for
 * bench/acct
 *
 *     bench_acct_load [LOCATION JOBS START_S]
 *
 * Without arguments 20,000 jobs into a file of its own that it removes.
 *
 * Job i runs from START_S + i * year / JOBS for 60 to 7260 seconds on 1 to 8 CPUs, for user number
 * i % 100 in account a(i % 10).  Whole lives of three transactions and a batch step each go through
 * acct_apply() in batches, then usage is summed up.  One JSON object a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "acct/acct.h"
#include "acct/sql/db.h"
#include "acct/usage/rollup.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"

#define BATCH 2000u /* transactions */
#define YEAR (INT64_C(365) * 86400)

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench_acct_load: %s: %s\n", what, why);
    exit(1);
}

/* Of this process: SQLite's is in it, a server's is not. */
static double cpu_s(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

struct load {
    struct acct *acct;
    uint64_t lsn;
    unsigned in_batch;
};

static void feed(struct load *l, Pst__Transaction *tx)
{
    struct err err = { .text = "" };

    if (!l->in_batch && acct_begin(l->acct) < 0)
        die("begin", acct_error(l->acct));
    if (acct_apply(l->acct, ++l->lsn, tx, &err) < 0)
        die("apply", err.text);
    tx_free(tx);
    if (++l->in_batch == BATCH) {
        if (acct_commit(l->acct) < 0)
            die("commit", acct_error(l->acct));
        l->in_batch = 0;
    }
}

static void submit(struct load *l, uint32_t i, int64_t start_us, const char *tres)
{
    Pst__Transaction *tx = tx_new(start_us - 10 * USEC_PER_SEC);
    Pst__JobRecord *j = tx_job_put(tx, PST__EVENT_KIND__EV_JOB_SUBMIT);
    char text[32];

    SET(j, job_id, i + 1);
    SET(j, db_id, i + 1);
    SET(j, uid, i % 100);
    SET(j, gid, 10001);
    SET(j, state, JOB_STATE(PENDING));
    SET(j, submit_us, tx->time_us);
    SET(j, eligible_us, tx->time_us);
    (void)snprintf(text, sizeof(text), "u%u", i % 100);
    (void)pb_set_str(&j->user_name, text);
    (void)snprintf(text, sizeof(text), "a%u", i % 10);
    (void)pb_set_str(&j->account, text);
    (void)pb_set_str(&j->name, "wrap");
    (void)pb_set_str(&j->qos, "normal");
    (void)pb_set_str(&j->partition, "debug");
    (void)pb_set_str(&j->work_dir, "/home/user/project");
    (void)pb_set_str(&j->submit_line, "sbatch --time=60 run.sh");
    (void)pb_set_str(&j->req_tres, tres);
    feed(l, tx);
}

static Pst__Alloc *make_alloc(uint32_t i)
{
    Pst__Alloc *a = malloc(sizeof(*a));

    if (!a)
        die("start", "out of memory");
    pst__alloc__init(a);
    (void)pb_set_str(&a->nodes, "node1");
    SET(a, total_cpus, 1 + i % 8);
    return a;
}

static void start(struct load *l, uint32_t i, int64_t start_us, const char *tres)
{
    Pst__Transaction *tx = tx_new(start_us);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_START, i + 1);
    Pst__StepRecord *s = tx_step_put(tx, PST__EVENT_KIND__EV_STEP_START, i + 1, STEP_BATCH);

    SET(set, state, JOB_STATE(RUNNING));
    SET(set, start_us, start_us);
    (void)pb_set_str(&set->alloc_tres, tres);
    set->alloc = make_alloc(i);
    s->alloc = make_alloc(i);
    (void)pb_set_str(&s->name, "batch");
    SET(s, state, PST__STEP_STATE__STEP_RUNNING);
    SET(s, start_us, start_us);
    SET(s, job_db_id, i + 1);
    feed(l, tx);
}

static void end(struct load *l, uint32_t i, int64_t end_us)
{
    Pst__Transaction *tx = tx_new(end_us);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_END, i + 1);
    Pst__StepRecord *s = tx_step_patch(tx, PST__EVENT_KIND__EV_STEP_END, i + 1, STEP_BATCH);

    SET(set, state, JOB_STATE(COMPLETED));
    SET(set, end_us, end_us);
    SET(set, exit_status, 0);
    SET(s, state, PST__STEP_STATE__STEP_COMPLETED);
    SET(s, end_us, end_us);
    SET(s, exit_status, 0);
    feed(l, tx);
}

static void roll_up(const char *location)
{
    struct err err = { .text = "" };
    int64_t t0 = now_mono_us();
    double cpu0 = cpu_s();
    struct sql *db;
    int r = acct_db_open(location, &db, &err);

    while (r == 0 && (r = acct_roll_up(db, &err)) == 1)
        r = 0;
    if (r < 0)
        die("roll-up", err.text);
    (void)sql_close(db);
    (void)printf("{\"bench\":\"rollup\",\"hours\":%lld,\"seconds\":%.2f,\"cpu_s\":%.2f}\n",
                 (long long)(YEAR / 3600), (double)(now_mono_us() - t0) / 1e6, cpu_s() - cpu0);
}

/* A file of its own, and what belongs to it. */
static void run_alone(const char *self)
{
    char path[] = "/tmp/bench-acct-load-XXXXXX", name[64];
    int fd = mkstemp(path), status;
    pid_t pid;

    if (fd < 0)
        die("a file in /tmp", "cannot be made");
    (void)close(fd);
    pid = fork();
    if (pid == 0) {
        (void)execl(self, self, path, "20000", "1735689600", NULL);
        _exit(1);
    }
    (void)waitpid(pid, &status, 0);
    (void)unlink(path);
    (void)snprintf(name, sizeof(name), "%s-wal", path);
    (void)unlink(name);
    (void)snprintf(name, sizeof(name), "%s-shm", path);
    (void)unlink(name);
    exit(pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv)
{
    struct load l = { 0 };
    struct err err = { .text = "" };
    uint64_t jobs = 0, begin = 0;
    int64_t t0;

    if (argc == 1)
        run_alone("/proc/self/exe");
    if (argc != 4 || parse_u64(argv[2], 1, UINT32_MAX / 2, &jobs) < 0 ||
        parse_u64(argv[3], 1, UINT32_MAX, &begin) < 0)
        die("usage", "bench_acct_load LOCATION JOBS START_S");
    if (acct_open_source(argv[1], "bench", "bench", &l.acct, &err) < 0)
        die("open", err.text);
    t0 = now_mono_us();
    for (uint32_t i = 0; i < jobs; i++) {
        int64_t at = ((int64_t)begin + (int64_t)i * YEAR / (int64_t)jobs) * USEC_PER_SEC;
        char tres[64];

        (void)snprintf(tres, sizeof(tres), "cpu=%u,mem=1G,node=1,billing=%u", 1 + i % 8, 1 + i % 8);
        submit(&l, i, at, tres);
        start(&l, i, at, tres);
        end(&l, i, at + (60 + (int64_t)i * 7919 % 7200) * USEC_PER_SEC);
    }
    feed(&l, tx_new(((int64_t)begin + YEAR + 86400) * USEC_PER_SEC));
    if (l.in_batch && acct_commit(l.acct) < 0)
        die("commit", acct_error(l.acct));
    (void)printf("{\"bench\":\"absorb\",\"jobs\":%llu,\"jobs_per_s\":%.0f,\"cpu_s\":%.2f}\n",
                 (unsigned long long)jobs, (double)jobs / ((double)(now_mono_us() - t0) / 1e6),
                 cpu_s());
    (void)acct_close(l.acct); /* always NULL */
    roll_up(argv[1]);
    return 0;
}
