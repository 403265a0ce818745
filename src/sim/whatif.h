/* whatif.h - when the jobs of a living cluster will start, and what a change does to that; pure */
#pragma once

#include "base/strbuf.h"
#include "sim/world.h"

struct whatif {
    const char *cluster;
    int64_t now_us;
    uint32_t run_percent;
    const char *const *changes; /* as asked for */
    size_t nchanges;
    const struct world *before;
    const struct sim_result *rb;
    const struct world *after; /* NULL: nothing was to be changed */
    const struct sim_result *ra;
    const char *const *jobs; /* these only, "12" or "12_3"; none = all */
    size_t njobs;
    uint32_t submitted; /* id of the job that --submit made up, 0 = none */
    bool all;           /* text: jobs whose start does not change, too */
};

void whatif_text(const struct whatif *wi, struct strbuf *out);
void whatif_json(const struct whatif *wi, struct strbuf *out);
/* Is there a waiting or running job of that name ("12" also names all tasks of an array)? */
bool whatif_knows(const struct whatif *wi, const char *name);
