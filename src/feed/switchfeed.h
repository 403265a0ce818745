/* switchfeed.h - what SwitchType and --network mean for a job: channels of NVIDIA's IMEX service,
 * VNIs of Slingshot
 *
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "model/words/slingshot.h"
#include "model/job.h"

enum switch_kind { SWITCH_NONE, SWITCH_IMEX, SWITCH_SLINGSHOT };

#define IMEX_CHANNELS 2048u /* imex_channel_count without the option */
#define IMEX_CHANNELS_MAX 65535u

enum switch_kind switch_kind(const struct conf *conf);
/* Channels that jobs may hold at a time; they are numbered from 1.  0 = none are counted. */
uint32_t imex_channels(const struct conf *conf);
/* Channels that the job takes: one, or one for each of its segments.  Components of a
 * heterogeneous job share the leader's. */
uint32_t imex_wanted(const struct conf *conf, const Pst__JobRecord *r);
/* Is --network something that this SwitchType knows?  Without a SwitchType every text is taken, and
 * means nothing.  -EINVAL with a sentence. */
int switch_check(const struct conf *conf, const char *network, struct err *err);
/* What SwitchParameters and this --network say of Slingshot.  0: another SwitchType; 1 with *ret;
 * -EINVAL with a sentence. */
int switch_slingshot(const struct conf *conf, const char *network, struct slingshot *ret,
                     struct err *err);
