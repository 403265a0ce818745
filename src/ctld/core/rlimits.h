/* rlimits.h - resource limits of a submission, kept with its environment
 *
 * Ten limits would cost a kilobyte a job as messages; within the shared environment they cost
 * nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#include "job.pb-c.h"

/* SLURM_RLIMIT_<name>=<value> and a NUL for each of rec's limits: an environment begins with
 * them. */
void limits_add(const Pst__JobRecord *rec, struct strbuf *env);
/* The other way: fills rec's limits (free with limits_done()), *ret_env points at the rest
 * within data. */
void limits_split(const uint8_t *data, size_t len, Pst__JobRecord *rec,
                  ProtobufCBinaryData *ret_env);
void limits_done(Pst__JobRecord *rec); /* rec has none then */
