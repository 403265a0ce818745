/* fuzz_jobwalk.c - arbitrary texts, one a line, as the ids of a request over a few jobs
 *
 * Whatever they name, the walk ends, gives jobs that exist and tasks that their record holds,
 * and costs what such a small cluster can cost. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctld/job/jobwalk.h"
#include "model/array.h"
#include "model/tx.h"

enum { INPUT_MAX = 16384, TEXTS_MAX = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_job(Pst__Transaction *tx, uint32_t id, uint32_t array, long task, const char *tasks)
{
    Pst__JobRecord *r = tx_job_put(tx, PST__EVENT_KIND__EV_JOB_SUBMIT);

    SET(r, job_id, id);
    if (array)
        SET(r, array_job_id, array);
    if (task >= 0)
        SET(r, array_task_id, (uint32_t)task);
    if (tasks)
        r->array_tasks = tx_strdup(tasks);
}

static struct cluster *small_world(void)
{
    Pst__Transaction *tx = tx_new(1);
    struct cluster *c;

    assert(cluster_new(&c) == 0);
    put_job(tx, 5, 0, -1, NULL);
    put_job(tx, 10, 10, -1, "20-60:2");
    put_job(tx, 11, 10, 0, NULL);
    put_job(tx, 12, 10, 1, NULL);
    put_job(tx, 13, 10, -1, "3-4,7");
    assert(cluster_apply(c, tx, NULL) == 0);
    tx_free(tx);
    return c;
}

static void walk_all(struct cluster *c, char **texts, size_t n)
{
    struct jobwalk w;
    struct job_ref ref;
    enum jobwalk_event e = JOBWALK_PAUSE;

    jobwalk_init(&w, c, texts, n);
    while (e != JOBWALK_END && e != JOBWALK_REFUSED) {
        e = jobwalk_next(&w, &ref);
        if (e == JOBWALK_PAUSE)
            budget_next_turn(&w.budget);
        else if (e == JOBWALK_NONE)
            assert(w.code != 0);
        else if (e == JOBWALK_JOB)
            assert(
                cluster_job(c, ref.job->rec->job_id) == ref.job &&
                (!ref.tasks || array_contains(ref.job->rec->array_tasks, array_first(ref.tasks))));
    }
    assert(w.budget.total <= (n + 1) * 256);
    jobwalk_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = malloc(size + 1);
    char *texts[TEXTS_MAX], *save = NULL;
    struct cluster *c;
    size_t n = 0;

    if (!text || size > INPUT_MAX)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line = strtok_r(text, "\n", &save); line && n < TEXTS_MAX;
         line = strtok_r(NULL, "\n", &save))
        texts[n++] = line;
    c = small_world();
    walk_all(c, texts, n);
    cluster_free(c);
    return 0;
}
