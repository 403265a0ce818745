/* jobcalls.h - asking the controller about jobs over a connection: ends of jobs, cancel and signal
 *
 * What commands and libpenstock do alike.  Nothing here prints, exits or connects; a caller whose
 * connection is lost makes another and asks again. */
#pragma once

#include <stdint.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "wire/client.h"

#define JOBCALLS_FOREVER INT64_MAX

/* Wait until the job has ended.  0 with its wait(2) status; -ENOENT it is not known (any more);
 * -ETIME the monotonic time has come; else the connection is lost. */
int jobcalls_wait_end(struct client *c, uint32_t job_id, int64_t deadline_mono_us,
                      uint32_t *ret_status);

/* Wait until the job has no running step and no queued one.  id: 12, 12_3 or a SLUID.  Errors:
 * -ENOTSUP the job has no step manager; -EBADR the controller refuses it, with its sentence in
 * err; -ETIME; else the connection is lost. */
int jobcalls_wait_steps(struct client *c, const char *id, int64_t deadline_mono_us,
                        struct err *err);

/* Fill verb and signal of a request whose ids, filter, signal, batch_only and full are set:  KILL
 * for whole jobs ends them as a cancel does, nothing would be left to run. */
void jobcalls_choose_kill(Pst__JobActionRequest *request);
