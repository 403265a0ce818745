/* params.c - what slurm.conf says to the scheduler, as parameters of the library */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "feed/params.h"
#include "feed/preemptfeed.h"
#include "feed/switchfeed.h"

/* Jobs planned; without the option the others are still started where they delay no planned job. */
#define DEFAULT_BF_MAX_JOB_TEST 500
#define DEFAULT_BF_MAX_JOB_ARRAY_RESV 20
#define DEFAULT_BATCH_SCHED_DELAY 3 /* seconds */

static enum sched_select select_of(const struct conf *conf)
{
    const char *type = conf_str(conf, CONF_SELECT_TYPE);
    const char *params = conf_str(conf, CONF_SELECT_TYPE_PARAMETERS);

    if (type && strcasecmp(type, "select/linear") == 0)
        return SCHED_SELECT_LINEAR;
    if (params && strncasecmp(params, "CR_Socket", 9) == 0)
        return SCHED_SELECT_SOCKET;
    if (params && strncasecmp(params, "CR_CPU", 6) == 0)
        return SCHED_SELECT_CPU;
    return SCHED_SELECT_CORE;
}

bool feed_part_select(const char *text, enum sched_select *ret_select, bool *ret_memory)
{
    static const struct {
        const char *word;
        enum sched_select select;
        bool memory;
    } words[] = {
        { "CR_Core", SCHED_SELECT_CORE, false },
        { "CR_Core_Memory", SCHED_SELECT_CORE, true },
        { "CR_Socket", SCHED_SELECT_SOCKET, false },
        { "CR_Socket_Memory", SCHED_SELECT_SOCKET, true },
    };

    for (size_t i = 0; text && i < ARRAY_SIZE(words); i++)
        if (wordlist_has_nocase(text, words[i].word)) {
            *ret_select = words[i].select;
            *ret_memory = words[i].memory;
            return true;
        }
    return false;
}

bool feed_memory_counts(const struct conf *conf, const char *part_text)
{
    const char *params = conf_str(conf, CONF_SELECT_TYPE_PARAMETERS);
    enum sched_select cluster = select_of(conf), own;
    bool memory;

    if ((cluster == SCHED_SELECT_CORE || cluster == SCHED_SELECT_SOCKET) &&
        feed_part_select(part_text, &own, &memory))
        return memory;
    return params && strcasestr(params, "Memory");
}

static uint32_t option_u32(const struct conf *conf, const char *name, uint32_t fallback)
{
    uint64_t v;

    return conf_option_u64(conf, CONF_SCHEDULER_PARAMETERS, name, &v) && v <= UINT32_MAX
               ? (uint32_t)v
               : fallback;
}

static bool find_option(const struct conf *conf, const char *name)
{
    return conf_option(conf, CONF_SCHEDULER_PARAMETERS, name, NULL, NULL);
}

static unsigned prio_flags(const struct conf *conf)
{
    static const struct {
        const char *word;
        unsigned flags;
    } words[] = {
        { "ACCRUE_ALWAYS", SCHED_PRIO_ACCRUE_ALWAYS },
        { "DEPTH_OBLIVIOUS", SCHED_PRIO_DEPTH_OBLIVIOUS },
        { "NO_FAIR_TREE", SCHED_PRIO_NO_FAIR_TREE },
        { "INCR_ONLY", SCHED_PRIO_INCR_ONLY },
        { "NO_NORMAL_ALL", SCHED_PRIO_NO_NORMAL_ASSOC | SCHED_PRIO_NO_NORMAL_PART |
                               SCHED_PRIO_NO_NORMAL_QOS | SCHED_PRIO_NO_NORMAL_TRES },
        { "NO_NORMAL_ASSOC", SCHED_PRIO_NO_NORMAL_ASSOC },
        { "NO_NORMAL_PART", SCHED_PRIO_NO_NORMAL_PART },
        { "NO_NORMAL_QOS", SCHED_PRIO_NO_NORMAL_QOS },
        { "NO_NORMAL_TRES", SCHED_PRIO_NO_NORMAL_TRES },
        { "SMALL_RELATIVE_TO_TIME", SCHED_PRIO_SMALL_RELATIVE_TO_TIME },
    };
    unsigned flags = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (conf_option(conf, CONF_PRIORITY_FLAGS, words[i].word, NULL, NULL))
            flags |= words[i].flags;
    return flags;
}

/* "CPU=1000,Mem=2000,GRES/gpu=3000"; names are kept in lower case.  What is not understood
 * counts nothing. */
static void tres_weights(const struct conf *conf, struct sched_params *p)
{
    const char *text = conf_str(conf, CONF_PRIORITY_WEIGHT_TRES);
    _cleanup_free_ char *copy = text ? strdup(text) : NULL;
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct sched_tres_weight *t = &p->tres_weights[p->ntres_weights];
        char *value = strchr(w, '='), *end = NULL;
        size_t slash;

        if (!value || (size_t)(value - w) >= sizeof(t->name) ||
            p->ntres_weights == SCHED_TRES_WEIGHTS_MAX)
            continue;
        *value++ = '\0';
        t->weight = strtod(value, &end);
        if (end == value || *end || t->weight < 0)
            continue;
        slash = strcspn(w, "/");
        memcpy(t->name, w, strlen(w) + 1);
        for (size_t i = 0; t->name[i] && i < slash; i++)
            t->name[i] = (char)tolower((unsigned char)t->name[i]);
        p->ntres_weights++;
    }
}

/* How often backfill begins a new plan; -1: there is no backfill. */
static void backfill_interval(const struct conf *conf, struct sched_params *p)
{
    int64_t s;

    if (!conf_option_i64(conf, CONF_SCHEDULER_PARAMETERS, "bf_interval", &s))
        return;
    if (s < 0)
        p->backfill = false;
    else
        p->bf_interval_s = (uint32_t)MIN(s, (int64_t)UINT32_MAX);
}

/* Without batch_sched_delay new jobs wait for others where they are deferred alone. */
static uint32_t batch_delay(const struct conf *conf)
{
    bool deferred = find_option(conf, "defer") || find_option(conf, "defer_batch");

    return option_u32(conf, "batch_sched_delay", deferred ? DEFAULT_BATCH_SCHED_DELAY : 0);
}

/* TopoMaxSizeUnroll=N; -1 and none = off. */
static uint32_t unrolled_sizes(const struct conf *conf)
{
    int64_t n;

    return conf_option_i64(conf, CONF_TOPOLOGY_PARAM, "TopoMaxSizeUnroll", &n) && n > 0 &&
                   n <= UINT32_MAX
               ? (uint32_t)n
               : 0;
}

/* SlurmctldParameters=max_powered_nodes; 0 and none = no limit. */
static uint32_t most_powered(const struct conf *conf)
{
    uint64_t n = 0;

    (void)conf_option_u64(conf, CONF_SLURMCTLD_PARAMETERS, "max_powered_nodes", &n);
    return (uint32_t)MIN(n, (uint64_t)UINT32_MAX);
}

/* SchedulerParameters=bf_hetjob_prio */
static enum sched_het_prio het_prio(const struct conf *conf)
{
    static const char *const words[] = {
        [SCHED_HET_MIN] = "min", [SCHED_HET_AVG] = "avg", [SCHED_HET_MAX] = "max"
    };
    const char *text = NULL;
    size_t len = 0;

    if (!conf_option(conf, CONF_SCHEDULER_PARAMETERS, "bf_hetjob_prio", &text, &len))
        return SCHED_HET_OWN;
    for (unsigned i = SCHED_HET_MIN; i < ARRAY_SIZE(words); i++)
        if (text && len == strlen(words[i]) && strncasecmp(text, words[i], len) == 0)
            return (enum sched_het_prio)i;
    return SCHED_HET_OWN;
}

void feed_fill_params(const struct conf *conf, struct sched_params *ret)
{
    const char *select = conf_str(conf, CONF_SELECT_TYPE_PARAMETERS);
    const char *type = conf_str(conf, CONF_SCHEDULER_TYPE);
    const char *priority = conf_str(conf, CONF_PRIORITY_TYPE);

    *ret = (struct sched_params){
        .select = select_of(conf),
        .select_memory = feed_memory_counts(conf, NULL),
        .backfill = !type || strcasecmp(type, "sched/builtin") != 0,
        .conservative = true,
        .bf_max_job_plan = option_u32(conf, "bf_max_job_test", DEFAULT_BF_MAX_JOB_TEST),
        .bf_max_job_array_resv =
            option_u32(conf, "bf_max_job_array_resv", DEFAULT_BF_MAX_JOB_ARRAY_RESV),
        .min_interval_us = option_u32(conf, "sched_min_interval", 0),
        .assoc_limit_stop = find_option(conf, "assoc_limit_stop"),
        .defer = find_option(conf, "defer"),
        .defer_batch = find_option(conf, "defer_batch"),
        .batch_delay_s = batch_delay(conf),
        .topo_unroll = unrolled_sizes(conf),
        .max_powered = most_powered(conf),
        .bf_window_min = option_u32(conf, "bf_window", 1440),
        .bf_resolution_s = option_u32(conf, "bf_resolution", 60),
        .bf_max_job_test = option_u32(conf, "bf_max_job_test", 0),
        .bf_max_job_user = option_u32(conf, "bf_max_job_user", 0),
        .bf_max_job_part = option_u32(conf, "bf_max_job_part", 0),
        .bf_max_job_user_part = option_u32(conf, "bf_max_job_user_part", 0),
        .bf_max_job_assoc = option_u32(conf, "bf_max_job_assoc", 0),
        .bf_max_job_start = option_u32(conf, "bf_max_job_start", 0),
        .bf_min_age_reserve_s = option_u32(conf, "bf_min_age_reserve", 0),
        .bf_min_prio_reserve = option_u32(conf, "bf_min_prio_reserve", 0),
        .bf_job_part_count_reserve = option_u32(conf, "bf_job_part_count_reserve", 0),
        .bf_one_resv_per_job = find_option(conf, "bf_one_resv_per_job"),
        .bf_yield_interval_us = option_u32(conf, "bf_yield_interval", 2000000),
        .bf_licenses = find_option(conf, "bf_licenses"),
        .channels = imex_channels(conf),
        .spare_nodes = option_u32(conf, "expedite_spares", 0),
        .keep_segments = option_u32(conf, "keep_segments", 0),
        .default_queue_depth = option_u32(conf, "default_queue_depth", 0),
        .partition_job_depth = option_u32(conf, "partition_job_depth", 0),
        .sched_max_job_start = option_u32(conf, "sched_max_job_start", 0),
        .lln = select && strcasestr(select, "CR_LLN"),
        .dist_block = select && strcasestr(select, "CR_CORE_DEFAULT_DIST_BLOCK"),
        .pack_nodes = select && strcasestr(select, "CR_Pack_Nodes"),
        .serial_last = find_option(conf, "pack_serial_at_end"),
        .several_shared = select && strcasestr(select, "MULTIPLE_SHARING_GRES_PJ"),
        .least_shared = select && strcasestr(select, "LL_SHARED_GRES"),
        .multifactor = priority && strcasecmp(priority, "priority/multifactor") == 0,
        .weight_age = (uint32_t)conf_num(conf, CONF_PRIORITY_WEIGHT_AGE),
        .weight_assoc = (uint32_t)conf_num(conf, CONF_PRIORITY_WEIGHT_ASSOC),
        .weight_fairshare = (uint32_t)conf_num(conf, CONF_PRIORITY_WEIGHT_FAIRSHARE),
        .weight_job_size = (uint32_t)conf_num(conf, CONF_PRIORITY_WEIGHT_JOB_SIZE),
        .weight_partition = (uint32_t)conf_num(conf, CONF_PRIORITY_WEIGHT_PARTITION),
        .weight_qos = (uint32_t)conf_num(conf, CONF_PRIORITY_WEIGHT_QOS),
        .max_age_s = (uint32_t)conf_num(conf, CONF_PRIORITY_MAX_AGE),
        .favor_small = conf_bool(conf, CONF_PRIORITY_FAVOR_SMALL),
        .prio_flags = prio_flags(conf),
        .het_prio = het_prio(conf),
        .prio_period_s = (uint32_t)conf_num(conf, CONF_PRIORITY_CALC_PERIOD),
        .fairshare_dampening = (uint32_t)conf_num(conf, CONF_FAIR_SHARE_DAMPENING_FACTOR),
    };
    tres_weights(conf, ret);
    backfill_interval(conf, ret);
    preempt_fill_params(conf, &ret->preempt);
}
