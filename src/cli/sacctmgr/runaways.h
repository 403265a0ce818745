/* runaways.h - which jobs of the accounting store are runaways
 *
 * A runaway is open in the store though the controller does not know it.  The end of a job reaches
 * the store some time after the controller has it, so a job that is over there is no runaway as
 * long as the controller still has it.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "job.pb-c.h"

/* What the controller knows: all zero at first. */
struct known_runs {
    struct known_run *runs;
    size_t n, cap;
    bool sorted;
};

/* Not over: waiting, running or suspended. */
bool runaways_is_open(const Pst__JobRecord *j);
/* j is a job of the controller.  Errors: -ENOMEM. */
int runaways_note(struct known_runs *k, const Pst__JobRecord *j);
/* Is j, a run that is open in the store, known: a job of this number is open, or this very run is
 * over?  (Numbers may come anew when a controller has lost its state.) */
bool runaways_is_known(struct known_runs *k, const Pst__JobRecord *j);
void runaways_done(struct known_runs *k);
