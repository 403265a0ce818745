/* limitfeed.h - the limits of a cluster of our own, told to a scheduler as the controller tells its
 * own; pure
 *
 * What the records of associations, QOS and TRES say, and what of limits by minutes has been used.
 * Each change is handed to `tell`, which takes it. */
#pragma once

#include "conf/conf.h"
#include "feed/records.h"
#include "model/cluster.h"

struct limitfeed {
    struct cluster *cluster;
    const struct conf *conf;
    void (*tell)(void *ctx, struct feed *f);
    void *ctx;
};

void limitfeed_all(const struct limitfeed *l, int64_t now_us);
void limitfeed_assocs(const struct limitfeed *l, int64_t now_us);
/* What levels with limits by minutes have used until then. */
void limitfeed_minutes(const struct limitfeed *l, int64_t now_us);
/* A record of TRES, QOS or partitions' QOS is there or is another.  Associations hand their limits
 * down, so that one is said for all by limitfeed_assocs(): true when that is to be done. */
bool limitfeed_changed(const struct limitfeed *l, const Pst__AcctChange *put, int64_t now_us);
void limitfeed_gone(const struct limitfeed *l, const Pst__AcctChange *put);
