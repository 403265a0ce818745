/* tallies.c - tallies of jobs by name: user, account, partition */
#include "ctld/web/tallies.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctld/web/exposition.h"

#define T TALLY_TOTAL
#define P TALLY_PART
#define B (TALLY_TOTAL | TALLY_PART)

static const struct {
    const char *suffix, *help;
    unsigned pages;
} job_metrics[JOB_COUNTERS] = {
#define JOB_METRIC(counter, suffix, pages, help) [JOB_COUNT_##counter] = { suffix, help, pages },
#include "ctld/web/metricnames.def"
};

struct tally_row *tallies_find(const struct tallies *t, const char *name)
{
    return namemap_get(&t->by_name, name);
}

struct tally_row *tallies_row(struct tallies *t, const char *name)
{
    struct tally_row *row = tallies_find(t, name);

    if (row)
        return row;
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 16;
        struct tally_row **more = reallocarray(t->rows, cap, sizeof(struct tally_row *));

        if (!more)
            return NULL;
        t->rows = more;
        t->cap = cap;
    }
    row = calloc(1, sizeof(*row));
    if (row)
        row->name = strdup(name);
    if (!row || !row->name || namemap_put(&t->by_name, row->name, row) < 0) {
        if (row)
            free(row->name);
        free(row);
        return NULL;
    }
    t->rows[t->n++] = row;
    return row;
}

void tallies_done(struct tallies *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->rows[i]->name);
        free(t->rows[i]);
    }
    free(t->rows);
    namemap_done(&t->by_name);
    *t = (struct tallies){ 0 };
}

void tallies_write_jobs(const struct tallies *t, enum tally_pages page, const char *prefix,
                        const char *label, struct strbuf *sb)
{
    for (size_t i = 0; i < JOB_COUNTERS; i++) {
        if (!(job_metrics[i].pages & page))
            continue;
        exposition_family(sb, prefix, job_metrics[i].suffix, "gauge", job_metrics[i].help);
        for (size_t k = 0; k < t->n; k++)
            exposition_sample(sb, prefix, job_metrics[i].suffix, label, t->rows[k]->name,
                              t->rows[k]->jobs.n[i]);
    }
}
