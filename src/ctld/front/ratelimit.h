/* ratelimit.h - SlurmctldParameters=rl_enable: how often a user may ask
 *
 * A bucket of tokens for each user, by number, in a table of fixed size: a request takes a
 * token, time refills the bucket. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf/conf.h"

struct ratelimit;

int ratelimit_new(struct ratelimit **ret);              /* lets everything through; -ENOMEM */
struct ratelimit *ratelimit_free(struct ratelimit *rl); /* always NULL */
/* What the configuration says now; full buckets, when anything of it is new.  The
 * configuration's own thread. */
void ratelimit_configure(struct ratelimit *rl, const struct conf *conf);
/* May uid ask now?  O(1).  False: *ret_log says whether a line in the log is due. */
bool ratelimit_admit(struct ratelimit *rl, uid_t uid, int64_t now_mono_us, bool *ret_log);
