/* startwaits.h - how long jobs waited for their start, by partition */
#pragma once

#include <stdint.h>

#include "base/histogram.h"

struct startwaits;

int startwaits_new(struct startwaits **ret);              /* -ENOMEM */
struct startwaits *startwaits_free(struct startwaits *w); /* always NULL */
/* One more start in a partition.  Beyond STARTWAITS_MAX partitions it is not noted.  Any
 * thread. */
#define STARTWAITS_MAX 4096u
void startwaits_note(struct startwaits *w, const char *partition, uint64_t wait_us);
/* fn for each partition, in the order of their first starts; any thread. */
void startwaits_each(struct startwaits *w,
                     void (*fn)(void *ctx, const char *partition, const struct histogram *h),
                     void *ctx);
