/* crontimes.c - when the job of a crontab runs; see crontimes.h */
#include "ctld/job/crontimes.h"

#include "base/cronspec.h"
#include "base/timefmt.h"

#define RETRY_US (60 * USEC_PER_SEC)

int64_t cron_next_us(const Pst__JobRecord *r)
{
    struct cron_times t;
    int64_t now_s = core_now() / USEC_PER_SEC, next_s;

    if (cron_parse(r->cron_spec, &t, NULL, NULL) < 0)
        return core_now() +
               RETRY_US; /* it was parsed when it was taken: only a damaged record comes here */
    next_s = cron_next(&t, now_s);
    return next_s == INT64_MAX ? INT64_MAX : next_s * USEC_PER_SEC;
}
