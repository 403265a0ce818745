/* restfresh.h - what has not changed is not sent again: ETag, If-None-Match, update_time
 *
 * A version is a number: of a list, what slurmctld says of it (RecordBatch.version); of anything
 * else, a digest of the answer.  The tag W/"0123456789abcdef" is that number: weak, because an
 * answer also tells the time at which it was made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rest_call;

#define RESTFRESH_TAG sizeof("W/\"0123456789abcdef\"") /* bytes of a tag, with its end */

void restfresh_tag(uint64_t version, char ret[RESTFRESH_TAG]);
/* The first version that a header If-None-Match names, 0: none of ours. */
uint64_t restfresh_first(const char *header);
/* Does it name this version? */
bool restfresh_names(const char *header, uint64_t version);
/* A digest of what the handler has written so far; never 0. */
uint64_t restfresh_digest(const struct rest_call *call);
