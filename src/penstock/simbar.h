/* simbar.h - how far a simulation is, on standard error when that is a terminal; internal to
 * penstock sim */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simbar {
    const char *label, *unit; /* "easy", "jobs" */
    int64_t began_us, drawn_us;
    bool shown, wanted;
};

/* It shows itself when the run has taken half a second. */
struct simbar simbar_begin(const char *label, const char *unit, bool quiet);
/* ctx is a struct simbar; as sim_config.progress. */
void simbar_progress(void *ctx, size_t done, size_t total);
/* The line ends, wherever it stands. */
void simbar_end(struct simbar *b);
