/* jobextra.c - a job's --extra as a request about nodes; see jobextra.h */
#include "ctld/submit/jobextra.h"

#include "feed/records.h"
#include "sched/base/extra.h"
#include "wire/errors.h"

int jobextra_check(const struct conf *conf, const char *extra, struct err *err)
{
    _cleanup_(extra_free) struct extra_request *q = NULL;

    if (!extra || !*extra || !feed_extra_is_request(conf))
        return 0;
    return extra_parse(extra, &q, err) < 0 ? ESLURM_INVALID_EXTRA : 0;
}
