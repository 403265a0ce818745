/* bench_array.c - half a million tasks in one record: submission, starts one by one, a cancelled
 * range
 *
 * Works on the model alone: what a transaction costs to apply, and what it weighs in the log.
 * One JSON object a line; `per_start_ratio` compares the starts of the last tenth with those of
 * the first: 1 when nothing is quadratic. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "model/array.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"

enum { TASKS = 500000 };

static size_t log_bytes;

static void apply(struct cluster *c, Pst__Transaction *tx)
{
    struct err err = { .text = "" };

    log_bytes += pst__transaction__get_packed_size(tx);
    if (cluster_apply(c, tx, &err) < 0) {
        fprintf(stderr, "bench_array: %s\n", err.text);
        exit(1);
    }
    tx_free(tx);
}

static void put_array(struct cluster *c, const char *spec)
{
    Pst__Transaction *tx = tx_new(1);
    Pst__JobRecord *r = tx_job_put(tx, PST__EVENT_KIND__EV_JOB_SUBMIT);
    uint32_t throttle, count;

    SET(r, job_id, 1);
    SET(r, array_job_id, 1);
    SET(r, uid, 1000);
    r->name = tx_strdup("wrap");
    r->partition = tx_strdup("main");
    if (array_parse(spec, TASKS - 1, &r->array_tasks, &throttle, &count, NULL) < 0)
        exit(1);
    apply(c, tx);
}

/* As start.c does it: the task leaves the record and becomes a job. */
static void start_one(struct cluster *c, uint32_t id)
{
    const Pst__JobRecord *array = cluster_job(c, 1)->rec;
    Pst__Transaction *tx = tx_new(2);
    Pst__JobRecord *r;
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", array_first(array->array_tasks));
    (void)tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, 1);
    tx_take_tasks(tx, text);
    r = tx_job_put(tx, PST__EVENT_KIND__EV_JOB_START);
    SET(r, job_id, id);
    SET(r, array_job_id, 1);
    SET(r, array_task_id, array_first(array->array_tasks));
    SET(r, state, JOB_STATE(RUNNING));
    SET(r, uid, 1000);
    r->name = tx_strdup("wrap");
    apply(c, tx);
}

static int run(const char *name, const char *spec)
{
    struct cluster *c = NULL;
    size_t before, held;
    int64_t t0, t_submit, t_cancel, t_first = 0, t_last = 0;
    uint32_t count, tenth, id = 2;
    Pst__Transaction *tx;

    if (cluster_new(&c) < 0)
        return 1;
    before = mallinfo2().uordblks;
    t0 = now_mono_us();
    put_array(c, spec);
    t_submit = now_mono_us() - t0;
    held = mallinfo2().uordblks - before;
    tx = tx_new(2);
    (void)tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, 1);
    tx_take_tasks(tx, "400000-499999");
    t0 = now_mono_us();
    apply(c, tx);
    t_cancel = now_mono_us() - t0;
    count = array_count(cluster_job(c, 1)->rec->array_tasks) - 1;
    tenth = count / 10;
    log_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        t0 = i == 0 || i == count - tenth ? now_mono_us() : t0;
        start_one(c, id++);
        if (i == tenth - 1)
            t_first = now_mono_us() - t0;
    }
    t_last = now_mono_us() - t0;
    printf(
        "{\"bench\":\"array\",\"case\":\"%s\",\"submit_us\":%lld,\"bytes_held\":%zu,\"cancel_range_us\":%lld,"
        "\"starts\":%u,\"ns_per_start\":%.0f,\"log_bytes_per_start\":%zu,\"per_start_ratio\":%.2f}\n",
        name, (long long)t_submit, held, (long long)t_cancel, count, (double)t_last * 1000 / tenth,
        log_bytes / count, (double)t_last / (double)(t_first ? t_first : 1));
    cluster_free(c);
    return 0;
}

int main(void)
{
    return run("contiguous", "0-499999") || run("every second", "0-499999:2");
}
