/* restwatch.h - GET /penstock/v1/watch: changes of jobs, nodes and partitions as they happen
 *
 * Events of a stream (text/event-stream) or lines of JSON (application/jsonl), over the cursor of
 * `scontrol watch`.  The watchers of one caller share one connection to slurmctld, which was made
 * with that caller's token: a watcher sees what slurmctld tells his caller.  One thread sends to
 * all of them.  Memory: a ring of changes for each caller, and a helping for a watcher whose socket
 * is full. */
#pragma once

#include "base/err.h"
#include "rest/rest.h"

struct conf;
struct watch_hub;

/* Errors: -ENOMEM, -EAGAIN no thread, -EMFILE. */
int restwatch_new(const struct conf *conf, struct watch_hub **ret, struct err *err);
/* For rest_config.taking; lives as long as the hub. */
struct rest_taking restwatch_taking(struct watch_hub *hub);
void restwatch_stop(struct watch_hub *hub); /* everybody is told and let go; none is taken now */
struct watch_hub *restwatch_free(struct watch_hub *hub); /* stopped; always NULL */
