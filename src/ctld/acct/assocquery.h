/* assocquery.h - op query-assocs: what the controller knows of users, associations and QOS
 *
 * The core lists the records with what it knows itself, the scheduler's thread adds what runs,
 * and the connection's thread sends them. */
#pragma once

#include "ctld/ctld.h"
#include "sched/sched.h"

struct assocquery;
void assocquery_gather(struct assocquery *q, struct sched *s); /* scheduler's thread; takes q */
/* it will not be gathered; takes q */
void assocquery_drop(struct assocquery *q);
