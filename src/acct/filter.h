/* filter.h - an AcctFilter as an SQL condition; acct/ only */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "api.pb-c.h"

#define FILTER_LISTS 5 /* texts compared in C: see filter.c */

struct word_list {
    const char **words; /* sorted; borrowed */
    size_t n;
};

struct filter {
    const Pst__AcctFilter *want;
    struct word_list lists[FILTER_LISTS];
    struct hostlist *nodes; /* owns the words of that list */
    int64_t start_us, end_us;
    char *job_ids, *uids, *states; /* JSON arrays */
};

/* Borrows want for f's life.  Errors: -EINVAL a bad node list, -ENOMEM. */
int filter_init(struct filter *f, const Pst__AcctFilter *want, int64_t now_us, struct err *err);
void filter_done(struct filter *f);
/* Append the condition on table alias `t`.  Its parameters are named, so it may occur again. */
void filter_sql(const struct filter *f, const char *t, struct strbuf *sb);
/* Make the functions that the condition calls known to db; f must outlive its statements. */
int filter_register(struct filter *f, sqlite3 *db);
int filter_bind(const struct filter *f, sqlite3_stmt *stmt);
