/* acctjobs.h - the answer to OP_QUERY_ACCT, frame by frame; for serve.c */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "api.pb-c.h"

struct jobs_stream;

/* Select; filter is not needed afterwards.  Errors: those of acct_rows_open(). */
int jobs_stream_open(const char *location, const Pst__AcctFilter *filter, uint64_t lsn,
                     const atomic_bool *cancel, struct jobs_stream **ret, struct err *err);
/* The next frame, the caller's.  1: more follow, 0: it is the last; negative: there is none. */
int jobs_stream_frame(struct jobs_stream *s, uint32_t id, uint8_t **ret_buf, size_t *ret_len,
                      struct err *err);
struct jobs_stream *jobs_stream_free(struct jobs_stream *s); /* always NULL */
