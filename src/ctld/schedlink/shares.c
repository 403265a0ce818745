/* shares.c - usage and shares of associations; see shares.h. */
#include "ctld/schedlink/shares.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/core/service.h"
#include "feed/sharefeed.h"
#include "model/use/usage.h"
#include "sched/rules/fairshare.h"

/* Usage of jobs that ended is told as soon as that costs no more than a hundredth of the time:
 * telling takes the core about a microsecond for each association, and the scheduler computes the
 * priority of each job anew, which takes a twentieth of that. */
#define USAGE_US_PER_ASSOC 100
#define USAGE_US_PER_JOB 5
#define USAGE_LEAST_US 100000

struct shares { /* what the scheduler was told last */
    int64_t told_us;
    uint64_t generation; /* of the accounting records then */
    bool usage_moved;    /* a job that had run has ended since then */
};

static enum fairshare_reset period_of(const struct conf *conf)
{
    static const char *const words[] = {
        [FAIRSHARE_RESET_NONE] = "NONE",       [FAIRSHARE_RESET_NOW] = "NOW",
        [FAIRSHARE_RESET_DAILY] = "DAILY",     [FAIRSHARE_RESET_WEEKLY] = "WEEKLY",
        [FAIRSHARE_RESET_MONTHLY] = "MONTHLY", [FAIRSHARE_RESET_QUARTERLY] = "QUARTERLY",
        [FAIRSHARE_RESET_YEARLY] = "YEARLY",
    };
    const char *word = conf_str(conf, CONF_PRIORITY_USAGE_RESET_PERIOD);

    for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
        if (strcasecmp(word, words[i]) == 0)
            return (enum fairshare_reset)i;
    return FAIRSHARE_RESET_NONE; /* the words are checked at load */
}

static void tell_shares(struct ctld *ctld, int64_t now)
{
    feed_shares(ctld, feed_of_shares(ctld->cluster, conf_str(ctld->conf, CONF_CLUSTER_NAME), now));
    ctld->shares->told_us = now;
    ctld->shares->generation = am_generation(ctld->cluster->am);
    ctld->shares->usage_moved = false;
}

static bool records_moved(const struct ctld *ctld)
{
    return am_generation(ctld->cluster->am) != ctld->shares->generation;
}

uint64_t shares_reset(struct ctld *ctld, uint32_t assoc_id, uint32_t qos_id)
{
    Pst__Transaction *tx = tx_new(core_now());
    uint64_t lsn;

    tx_usage_reset(tx, assoc_id, qos_id);
    if (!assoc_id && !qos_id)
        SET(tx_cluster(tx), usage_reset_us, core_now());
    lsn = core_commit(ctld, tx);
    if (lsn)
        tell_shares(ctld, core_now());
    return lsn;
}

void shares_configure(struct ctld *ctld)
{
    const Pst__ClusterRecord *now = ctld->cluster->rec;
    uint32_t half_life = (uint32_t)conf_num(ctld->conf, CONF_PRIORITY_DECAY_HALF_LIFE);

    if (!now->has_usage_half_life_s || now->usage_half_life_s != half_life) {
        Pst__Transaction *tx = tx_new(core_now());

        SET(tx_cluster(tx), usage_half_life_s, half_life);
        (void)core_commit(ctld, tx); /* refused: tried again at the next start */
    }
    if (period_of(ctld->conf) == FAIRSHARE_RESET_NOW) {
        log_info("usage is set back: PriorityUsageResetPeriod=NOW");
        (void)shares_reset(ctld, 0, 0); /* likewise */
    }
    tell_shares(ctld, core_now());
}

static int32_t utc_offset_s(int64_t us)
{
    time_t s = (time_t)(us / USEC_PER_SEC);
    struct tm tm;

    return localtime_r(&s, &tm) ? (int32_t)tm.tm_gmtoff : 0;
}

static void check_period(struct ctld *ctld, int64_t now)
{
    enum fairshare_reset period = period_of(ctld->conf);
    const Pst__ClusterRecord *rec = ctld->cluster->rec;
    Pst__Transaction *tx;

    if (period == FAIRSHARE_RESET_NONE || period == FAIRSHARE_RESET_NOW)
        return;
    if (!rec->has_usage_reset_us) { /* the first period begins */
        tx = tx_new(now);
        SET(tx_cluster(tx), usage_reset_us, now);
        (void)core_commit(ctld, tx); /* refused: tried again in a second */
    } else if (fairshare_reset_due(period, rec->usage_reset_us, now, utc_offset_s(now))) {
        log_info("usage is set back: a period of PriorityUsageResetPeriod=%s ended",
                 conf_str(ctld->conf, CONF_PRIORITY_USAGE_RESET_PERIOD));
        (void)shares_reset(ctld, 0, 0); /* likewise */
    }
}

/* How long the scheduler may go on with the usage that it was told. */
static int64_t usage_is_good_for(const struct ctld *ctld)
{
    int64_t period_us = (int64_t)conf_num(ctld->conf, CONF_PRIORITY_CALC_PERIOD) * USEC_PER_SEC;
    int64_t bearable_us = (int64_t)am_count(ctld->cluster->am, AM_ASSOC) * USAGE_US_PER_ASSOC +
                          (int64_t)ctld->cluster->jobs.count * USAGE_US_PER_JOB;

    return ctld->shares->usage_moved ? MIN(period_us, MAX(bearable_us, USAGE_LEAST_US)) : period_us;
}

static bool must_tell(const struct ctld *ctld, int64_t now)
{
    return records_moved(ctld) || now - ctld->shares->told_us >= usage_is_good_for(ctld);
}

void shares_tick(struct ctld *ctld, int64_t now)
{
    check_period(ctld, now);
    if (must_tell(ctld, now))
        tell_shares(ctld, now);
}

/* Changes of accounts, QOS and usage are told once a second, and at once when a job comes: its
 * first priority is by what stood when it was submitted. */
static void tell_in_time(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    if (kind == PST__EVENT_KIND__EV_JOB_END && j->rec->alloc)
        ctld->shares->usage_moved = true;
    if (ctld->shares->told_us && job_is_pending(j->rec) && must_tell(ctld, core_now()))
        tell_shares(ctld, core_now());
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_shares(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->shares = calloc(1, sizeof(*ctld->shares));
    return ctld->shares ? 0 : -ENOMEM;
}

static void free_shares(struct ctld *ctld)
{
    free(ctld->shares);
    ctld->shares = NULL;
}

const struct ctld_service shares_service = {
    .name = "shares",
    .start = start_shares,
    .free = free_shares,
    .recovered = shares_configure,
    .reconfigured = shares_configure,
    .tick_writing = shares_tick,
    .on_job = tell_in_time,
};
