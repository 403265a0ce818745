/* saylimit.h - the words about a limit that holds a job (private to this room) */
#pragma once

#include "ctld/starts/explainmade.h"

/* Which limit, what it grants, what is used of it, and what would help; p gets its reason. */
void say_limit(struct explain_made *m, const struct sched_limit_hit *h, Pst__ExplainPartition *p);
