/* gatherconf.c - what the configuration says of measuring tasks; see gatherconf.h */
#include "noded/hw/gatherconf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "stepd/use/gather.h"
#include "stepd/use/stepprof.h"

int64_t gather_interval(const char *text, const char *kind)
{
    int64_t found = -1;

    while (text && *text) {
        size_t len = strcspn(text, ","), name = strcspn(text, "=,");
        bool plain = name == len,
             ours = plain ? strcmp(kind, "task") == 0
                          : strlen(kind) == name && strncasecmp(text, kind, name) == 0;
        char value[24] = "";
        uint64_t n;

        if (ours && len - name < sizeof(value) && (plain ? len < sizeof(value) : true)) {
            memcpy(value, plain ? text : text + name + 1, plain ? len : len - name - 1);
            if (parse_u64(value, 0, UINT32_MAX, &n) == 0)
                found = (int64_t)n;
        }
        text += len + (text[len] == ',');
    }
    return found;
}

enum energy_kind gather_energy(const struct conf *conf)
{
    const char *type = conf_str(conf, CONF_ACCT_GATHER_ENERGY_TYPE);

    if (!type || strcasecmp(type, "acct_gather_energy/none") == 0)
        return ENERGY_NONE;
    return strcasecmp(type, "acct_gather_energy/rapl") == 0 ? ENERGY_RAPL : ENERGY_PM_COUNTERS;
}

/* As the job asks, else as configured. */
static uint32_t interval_of(const struct conf *conf, const Pst__JobRecord *job, const char *kind,
                            uint32_t without)
{
    int64_t every = gather_interval(job->acctg_freq, kind);

    if (every < 0)
        every = gather_interval(conf_str(conf, CONF_JOB_ACCT_GATHER_FREQUENCY), kind);
    return every < 0 ? without : (uint32_t)every;
}

/* They come with gres/gpu. */
bool gather_gpus(const struct conf *conf)
{
    static const char *const names[] = { "gres/gpu", "gres/gpumem", "gres/gpuutil" };
    bool named = false;
    const char *value;
    size_t len;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        named = named || conf_option(conf, CONF_ACCOUNTING_STORAGE_TRES, names[i], &value, &len);
    return named && !conf_option(conf, CONF_JOB_ACCT_GATHER_PARAMS, "DisableGPUAcct", &value, &len);
}

/* Is it configured, and is there a TRES to record it as? */
static bool type_counts(const struct conf *conf, enum conf_key key, const char *type,
                        const char *tres)
{
    const char *text = conf_str(conf, key), *value;
    size_t len;

    return text && strcasecmp(text, type) == 0 &&
           conf_option(conf, CONF_ACCOUNTING_STORAGE_TRES, tres, &value, &len);
}

/* As the job asks, else as configured. */
static unsigned profile_of(const struct conf *conf, const Pst__JobRecord *job)
{
    const char *usual = conf_gather_usual(conf);

    return usual ? stepprof_kinds(job->profile ? job->profile : usual) : 0;
}

Pst__Gather *gather_of(const struct conf *conf, const Pst__JobRecord *job, const char *spool)
{
    static const struct {
        const char *option;
        uint32_t flag;
    } flags[] = { { "UsePss", GATHER_PSS },
                  { "NoShared", GATHER_UNSHARED },
                  { "OverMemoryKill", GATHER_LIMIT },
                  { "no_file_cache", GATHER_NO_CACHE } };
    const char *type = conf_str(conf, CONF_JOB_ACCT_GATHER_TYPE), *value;
    Pst__Gather *g;
    size_t len;

    if (!type || strcmp(type, "jobacct_gather/none") == 0)
        return NULL;
    g = malloc(sizeof(*g));
    if (!g)
        return NULL;
    pst__gather__init(g);
    g->has_task_s = g->has_energy_s = true;
    g->task_s = interval_of(conf, job, "task", 30);
    g->energy_s = interval_of(conf, job, "energy", 0);
    g->has_flags = true;
    g->flags = strcasecmp(type, "jobacct_gather/cgroup") == 0 ? GATHER_CGROUP : 0;
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (conf_option(conf, CONF_JOB_ACCT_GATHER_PARAMS, flags[i].option, &value, &len))
            g->flags |= flags[i].flag;
    g->vsize_percent = (uint32_t)conf_num(conf, CONF_V_SIZE_FACTOR);
    g->has_vsize_percent = g->vsize_percent != 0;
    g->has_profile = true;
    g->profile = profile_of(conf, job);
    if (g->profile)
        (void)pb_set_str(&g->profile_dir, spool); /* without memory: no samples */
    if (gather_gpus(conf))
        g->flags |= GATHER_GPU;
    if (type_counts(conf, CONF_ACCT_GATHER_INTERCONNECT_TYPE, "acct_gather_interconnect/sysfs",
                    "ic/sysfs"))
        /* without memory: not counted */
        (void)pb_set_str(&g->interfaces, conf_gather_interfaces(conf));
    g->has_lustre = true;
    g->lustre = type_counts(conf, CONF_ACCT_GATHER_FILESYSTEM_TYPE, "acct_gather_filesystem/lustre",
                            "fs/lustre");
    return g;
}
