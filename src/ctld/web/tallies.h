/* tallies.h - tallies of jobs by name: user, account, partition */
#pragma once

#include "ctld/web/metrictally.h"
#include "model/tables/idmap.h"

struct strbuf;

struct tally_row {
    char *name; /* owned */
    struct job_tally jobs;
    struct node_tally nodes;
};

struct tallies { /* zero-initialised is empty; rows in the order in which names came */
    struct tally_row **rows;
    size_t n, cap;
    struct namemap by_name;
};

/* The row of a name, made when there is none.  NULL: out of memory. */
struct tally_row *tallies_row(struct tallies *t, const char *name);
struct tally_row *tallies_find(const struct tallies *t, const char *name); /* NULL: none */
void tallies_done(struct tallies *t);

enum tally_pages { TALLY_TOTAL = 1, TALLY_PART = 2 };
/* Families of jobs on `page`: prefix "slurm_user_jobs", a sample for each row. */
void tallies_write_jobs(const struct tallies *t, enum tally_pages page, const char *prefix,
                        const char *label, struct strbuf *sb);
