/* ownmetrics.h - the page of what only we tell: how long things take, and how far behind who is */
#pragma once

#include "api.pb-c.h"

#include "base/strbuf.h"

struct histogram;
struct startwaits;

struct own_stream {
    bool sends; /* the log goes to other controllers: */
    bool witness_answers;
    uint64_t followers, in_sync, lag_bytes, lag_us; /* the longest of those that follow */
};

struct own_figures { /* all borrowed */
    const Pst__DiagReply *diag;
    const struct histogram *sync, *batch, *pass, *plan; /* microseconds */
    struct startwaits *waits;
    uint64_t view_age_us;
    unsigned watchers;
    uint64_t watch_lag; /* records that the slowest watcher has yet to take */
    uint64_t journal_records;
    bool has_jobcomp; /* JobCompType is set: */
    uint64_t jobcomp_lag;
    struct own_stream stream;
};

/* Names with the prefix penstock_.  Any thread. */
void ownmetrics_write(const struct own_figures *f, struct strbuf *sb);
