/* json_alloc.h - what a job holds of each node, and what its steps use of that, as JSON */
#pragma once

#include "api.pb-c.h"
#include "cli/format/json_out.h"
#include "wire/client.h"

struct step_use;

/* Ask for the steps that run, of the jobs that the filter chooses (NULL: all).  0, or as
 * client_stream(); *ret_use is NULL then, and where no step uses anything. */
int step_use_load(struct client *c, Pst__JobFilter *filter, struct step_use **ret_use);
struct step_use *step_use_free(struct step_use *use); /* always NULL */

/* The members of the list "allocation": an object for each node. */
void json_alloc(struct json *js, const Pst__JobRecord *job, const struct step_use *use);
