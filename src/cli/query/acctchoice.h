/* acctchoice.h - which jobs of accounting are shown, and in what shape: sacct, and the REST API
 *
 * Pure: the accounting store has chosen by what its request can say, here is the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "cli/query/out_jobfilter.h"

/* Components of a heterogeneous job that is named: those named, all, or the leader alone. */
enum whole_het { WHOLE_NAMED, WHOLE_YES, WHOLE_NO };

struct acct_choice {
    const struct jobfilter *filter;
    const char *assocs; /* a list of numbers; NULL: any */
    enum whole_het whole_het;
};

bool acct_wanted(const struct acct_choice *c, const Pst__JobRecord *j);
/* Is it over, with this exit code? */
bool acct_ended_with(const Pst__JobRecord *j, uint32_t code);
/* batch, extern, interactive, then the numbered ones. */
void acct_sort_steps(Pst__AcctJob *a);
/* Cut the times of a job and its steps to a window. */
void acct_truncate(Pst__AcctJob *a, int64_t start_us, int64_t end_us);
