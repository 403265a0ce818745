/* crontimes.h - when the job of a crontab runs.  Core thread. */
#pragma once

#include "ctld/ctld.h"

static inline bool cron_is(const Pst__JobRecord *r)
{
    return r->cron_spec != NULL;
}
/* When the job runs next, from now on; INT64_MAX = never. */
int64_t cron_next_us(const Pst__JobRecord *r);
