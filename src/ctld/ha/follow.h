/* follow.h - the log that another controller writes, applied to a model of our own
 *
 * What is applied is what the active controller's term record calls durable, never more: what lies
 * behind may not be in the log that counts in the end.  One thread. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct cluster;
struct follow;

int follow_new(const char *dir, struct follow **ret); /* dir: StateSaveLocation */
/* Bring *cluster to record `limit` of the term.  *cluster is replaced when the log has to be read
 * from a snapshot on.  0, also when the end was not reached (the file system may be behind: call
 * again); negative errno: nothing more can be applied, err says why. */
int follow_to(struct follow *f, struct cluster **cluster, uint32_t term, uint64_t limit,
              struct err *err);
/* Read everything from a snapshot up to record `limit`, once.  *cluster is replaced.  On failure
 * err has the sentence. */
int follow_read(struct follow *f, struct cluster **cluster, uint64_t limit, struct err *err);
uint64_t follow_applied(const struct follow *f); /* 0: nothing usable */
struct follow *follow_free(struct follow *f);    /* always NULL */
