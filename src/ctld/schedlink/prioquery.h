/* prioquery.h - the parts of jobs' priorities: answers to sprio, gathered by the scheduler's
 * thread
 *
 * The row of the operation OP_QUERY_PRIORITY is all that other files see of this one.  It has two
 * functions: the first answers on the connection's thread with every job, the second (`narrow`)
 * with the jobs that PrivateData lets the user see. */
#pragma once

#include "ctld/core/service.h"

extern const struct ctld_service prioquery_service;
