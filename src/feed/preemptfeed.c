/* preemptfeed.c - what the configuration says of preemption; see preemptfeed.h */
#include "feed/preemptfeed.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

bool preempt_wanted(const struct conf *conf)
{
    const char *type = conf_str(conf, CONF_PREEMPT_TYPE);

    return type && (strcasecmp(type, "preempt/partition_prio") == 0 ||
                    strcasecmp(type, "preempt/qos") == 0);
}

bool preempt_by_qos(const struct conf *conf)
{
    const char *type = conf_str(conf, CONF_PREEMPT_TYPE);

    return type && strcasecmp(type, "preempt/qos") == 0;
}

enum sched_preempt_mode preempt_mode_of(const char *text)
{
    if (!text || !*text)
        return SCHED_MODE_DEFAULT;
    if (strcasestr(text, "CANCEL"))
        return SCHED_MODE_CANCEL;
    if (strcasestr(text, "REQUEUE"))
        return SCHED_MODE_REQUEUE;
    if (strcasestr(text, "SUSPEND"))
        return SCHED_MODE_SUSPEND;
    return SCHED_MODE_OFF;
}

const char *preempt_mode_text(const struct conf *conf, const char *own)
{
    const char *all = conf_str(conf, CONF_PREEMPT_MODE);
    bool gang;

    if (own && *own)
        return own;
    gang = all && strcasestr(all, "GANG");
    switch (preempt_mode_of(all)) {
    case SCHED_MODE_CANCEL:
        return gang ? "GANG,CANCEL" : "CANCEL";
    case SCHED_MODE_REQUEUE:
        return gang ? "GANG,REQUEUE" : "REQUEUE";
    case SCHED_MODE_SUSPEND:
        return gang ? "GANG,SUSPEND" : "SUSPEND";
    default:
        return gang ? "GANG" : NULL;
    }
}

int64_t preempt_slice_us(const struct conf *conf)
{
    return conf_option(conf, CONF_PREEMPT_MODE, "GANG", NULL, NULL)
               ? (int64_t)conf_num(conf, CONF_SCHEDULER_TIME_SLICE) * USEC_PER_SEC
               : 0;
}

int64_t preempt_exempt_us(const struct conf *conf)
{
    return preempt_wanted(conf) ? (int64_t)conf_num(conf, CONF_PREEMPT_EXEMPT_TIME) * USEC_PER_SEC
                                : 0;
}

static bool preempt_option(const struct conf *conf, const char *name)
{
    return conf_option(conf, CONF_PREEMPT_PARAMETERS, name, NULL, NULL);
}

void preempt_fill_params(const struct conf *conf, struct sched_preempt *ret)
{
    const char *mode = conf_str(conf, CONF_PREEMPT_MODE);
    uint64_t v;

    *ret = (struct sched_preempt){
        .type = preempt_by_qos(conf)   ? SCHED_PREEMPT_QOS
                : preempt_wanted(conf) ? SCHED_PREEMPT_PART
                                       : SCHED_PREEMPT_NONE,
        .mode = preempt_mode_of(mode),
        .exempt_s = (uint32_t)conf_num(conf, CONF_PREEMPT_EXEMPT_TIME),
        .youngest_first = preempt_option(conf, "youngest_first"),
        .strict_order = preempt_option(conf, "strict_order"),
        .reorder_count = 1,
        .within = mode && strcasestr(mode, "WITHIN"),
        .by_priority = mode && strcasestr(mode, "PRIORITY"),
        .reclaim_licenses = preempt_option(conf, "reclaim_licenses"),
    };
    if (conf_option_u64(conf, CONF_PREEMPT_PARAMETERS, "min_exempt_priority", &v)) {
        ret->has_min_exempt_priority = true;
        ret->min_exempt_priority = (uint32_t)MIN(v, UINT32_MAX);
    }
    if (conf_option_u64(conf, CONF_PREEMPT_PARAMETERS, "reorder_count", &v))
        ret->reorder_count = (uint32_t)MIN(v, UINT32_MAX);
}
