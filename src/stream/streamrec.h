/* streamrec.h - bytes of records on their way: checking them, cutting them into pieces.  Pure */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "journal/journal.h"

#define STREAM_PIECE (1u << 20)                            /* bytes of data in one request */
#define STREAM_BATCH_MAX (JOURNAL_MAX_RECORD + (4u << 20)) /* of what is written at once */

/* Are these sound records, `first` and those behind it, with no gap and nothing else?  *ret_last is
 * the last one.  -EBADMSG. */
int streamrec_check(const uint8_t *data, size_t len, uint64_t first, uint64_t *ret_last);
/* The bytes, at most `max` of them unless one record has more, of the records from the beginning of
 * data; their number in *ret_records.  data has sound records. */
size_t streamrec_cut(const uint8_t *data, size_t len, size_t max, uint64_t *ret_records);
/* Where record lsn of data, whose first record is `first`, begins. */
size_t streamrec_offset(const uint8_t *data, size_t len, uint64_t first, uint64_t lsn);
