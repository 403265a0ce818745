/* filter.h - an AcctFilter as an SQL condition, and what of it is compared in C; acct/ only */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "acct/sql/sql.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "acctop.pb-c.h"
#include "api.pb-c.h"

#define FILTER_LISTS 5 /* texts: see filter.c */
#define FILTER_SETS 3

struct word_list {
    const char **words; /* sorted; borrowed */
    size_t n;
    bool in_sql;
};

struct number_set {
    uint32_t *values; /* sorted */
    size_t n;
    bool in_sql; /* else only their range is */
};

struct filter {
    const Pst__AcctFilter *want;
    struct word_list lists[FILTER_LISTS];
    struct number_set sets[FILTER_SETS];
    struct hostlist *nodes; /* owns the words of that list */
    struct word_list seen;  /* accounts whose jobs are seen beside those of want->seen_uid */
    int64_t start_us, end_us;
};

/* Borrows want for f's life.  Errors: -EINVAL a bad node list, -ENOMEM. */
int filter_init(struct filter *f, const Pst__AcctFilter *want, int64_t now_us, struct err *err);
void filter_done(struct filter *f);
/* Append the condition on the table jobs; its parameters are texts in filter_bind()'s order. */
void filter_sql(const struct filter *f, struct strbuf *sb);
void filter_bind(const struct filter *f, struct sql_stmt *stmt);
/* Append ", column" for each that filter_match() looks at. */
void filter_columns(const struct filter *f, struct strbuf *sb);
/* Does the present row pass what the condition leaves open?  The columns begin at col. */
bool filter_match(const struct filter *f, struct sql_stmt *stmt, unsigned col);

/* Is word in the list, letter case aside; an empty list holds all. */
bool cond_has(char *const *list, size_t n, const char *word);
bool cond_has_id(const uint32_t *list, size_t n, uint32_t id);
/* Clusters aside, but for the shares whose percentage is asked for. */
bool cond_resource(const Pst__AcctCond *where, const Pst__ResourceRecord *r);
