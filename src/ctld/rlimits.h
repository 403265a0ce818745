/* rlimits.h - resource limits of a submission, kept with its environment
 *
 * Ten limits would cost a kilobyte a job as messages; within the shared environment they cost nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "job.pb-c.h"

/* env (NUL-separated) preceded by SLURM_RLIMIT_<name>=<value> for each of rec's limits, which are removed from rec.
 * The caller frees ret_all->data.  Errors: -ENOMEM (rec unchanged). */
int limits_join(Pst__JobRecord *rec, const ProtobufCBinaryData *env, ProtobufCBinaryData *ret_all);
/* The other way: fills rec's limits (free with limits_done()), *ret_env points at the rest within data. */
void limits_split(const uint8_t *data, size_t len, Pst__JobRecord *rec, ProtobufCBinaryData *ret_env);
void limits_done(Pst__JobRecord *rec);
