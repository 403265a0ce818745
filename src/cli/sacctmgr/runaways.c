/* runaways.c - see runaways.h.  Runs are sorted by the number of their job at the first
 * question. */
#include "cli/sacctmgr/runaways.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sluid.h"

struct known_run {
    uint32_t job_id;
    bool is_open;
    int64_t submit_us;
    uint64_t sluid; /* 0: not said */
};

bool runaways_is_open(const Pst__JobRecord *j)
{
    return j->state <= PST__JOB_STATE__JOB_SUSPENDED;
}

static struct known_run run_of(const Pst__JobRecord *j)
{
    return (struct known_run){ j->job_id, runaways_is_open(j), j->submit_us,
                               j->sluid ? sluid_parse(j->sluid) : 0 };
}

int runaways_note(struct known_runs *k, const Pst__JobRecord *j)
{
    if (k->n == k->cap) {
        size_t cap = k->cap ? k->cap * 2 : 256;
        struct known_run *grown = reallocarray(k->runs, cap, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        k->runs = grown;
        k->cap = cap;
    }
    k->runs[k->n++] = run_of(j);
    k->sorted = false;
    return 0;
}

static int compare_runs(const void *pa, const void *pb)
{
    const struct known_run *a = pa, *b = pb;

    return (a->job_id > b->job_id) - (a->job_id < b->job_id);
}

bool runaways_is_known(struct known_runs *k, const Pst__JobRecord *j)
{
    struct known_run asked = run_of(j);
    const struct known_run *found;

    if (!k->n)
        return false;
    if (!k->sorted)
        qsort(k->runs, k->n, sizeof(*k->runs), compare_runs);
    k->sorted = true;
    found = bsearch(&asked, k->runs, k->n, sizeof(*k->runs), compare_runs);
    if (!found || found->is_open)
        return found;
    return found->sluid && asked.sluid ? found->sluid == asked.sluid
                                       : found->submit_us == asked.submit_us;
}

void runaways_done(struct known_runs *k)
{
    free(k->runs);
    *k = (struct known_runs){ 0 };
}
