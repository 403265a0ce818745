/* jobsubmit.c - the list of filters, and the small ones; see jobsubmit.h */
#include "ctld/submit/jobsubmit.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "ctld/job/jobfacts.h"
#include "ctld/core/service.h"

/* ---- the small ones -------------------------------------------------------------------------- */

/* A job that names no partition may start in any that lets it in. */
static int all_partitions(struct jobsubmit_request *r)
{
    struct strbuf list = STRBUF_INIT;
    const struct cluster *c = r->ctld->cluster;
    int code;

    if (!r->req || (r->desc->partition && *r->desc->partition))
        return 0;
    for (size_t i = 0; i < c->nparts; i++)
        if (submit_lets_in(r->ctld, r->cmd, c->parts[i], r->desc) == 0)
            strbuf_addf(&list, "%s%s", list.len ? "," : "", c->parts[i]->rec->name);
    code = !list.failed && (!list.len || pb_set_str(&r->desc->partition, list.buf) == 0)
               ? 0
               : SLURM_ERROR;
    strbuf_done(&list);
    return code;
}

static int require_timelimit(struct jobsubmit_request *r)
{
    if (!r->req || r->desc->has_time_limit_min ||
        (r->desc->has_time_unlimited && r->desc->time_unlimited))
        return 0;
    strbuf_add(r->messages, "a time limit is required: give --time");
    return ESLURM_MISSING_TIME_LIMIT;
}

static int log_request(struct jobsubmit_request *r)
{
    char name[128];

    log_info("%s by uid %u: name=%s nodes=%u tasks=%u partition=%s",
             r->req ? "submission" : "change", r->cmd->uid,
             log_quote(r->desc->name ? r->desc->name : "", name, sizeof(name)), r->desc->min_nodes,
             r->desc->num_tasks, r->desc->partition ? r->desc->partition : "");
    return 0;
}

/* Could so many nodes for so long be had there? */
static bool fits_partition(const Pst__PartitionRecord *p, const Pst__JobRecord *r)
{
    return !(p->has_max_nodes && r->has_min_nodes && r->min_nodes > p->max_nodes) &&
           !(p->has_min_nodes && r->has_max_nodes && r->max_nodes && r->max_nodes < p->min_nodes) &&
           !(p->has_max_time_min && r->has_time_limit_min && r->time_limit_min > p->max_time_min);
}

/* A job that names no partition goes to the one of the highest tier whose limits it meets. */
static int by_limits(struct jobsubmit_request *r)
{
    const struct cluster *c = r->ctld->cluster;
    const Pst__PartitionRecord *best = NULL;

    if (!r->req || (r->desc->partition && *r->desc->partition))
        return 0;
    for (size_t i = 0; i < c->nparts; i++) {
        const Pst__PartitionRecord *p = c->parts[i]->rec;

        if (fits_partition(p, r->desc) &&
            submit_lets_in(r->ctld, r->cmd, c->parts[i], r->desc) == 0 &&
            (!best || p->priority_tier > best->priority_tier))
            best = p;
    }
    return !best || pb_set_str(&r->desc->partition, best->name) == 0 ? 0 : SLURM_ERROR;
}

/* ---- the list -------------------------------------------------------------------------------- */

static const struct filter {
    const char *name;
    int (*run)(struct jobsubmit_request *r);
    /* both may be NULL */
    int (*check)(struct ctld *ctld, const struct conf *conf, struct err *err);
    void (*load)(struct ctld *ctld);
} filters[] = {
    { .name = "all_partitions", .run = all_partitions },
    { .name = "logging", .run = log_request },
    { "lua", jobsubmit_lua, jobsubmit_lua_check, jobsubmit_lua_load },
    { .name = "partition", .run = by_limits },
    { .name = "require_timelimit", .run = require_timelimit },
};

/* The word at p, up to a comma, with or without "job_submit/". */
static const struct filter *filter_at(const char *p, size_t len)
{
    static const char prefix[] = "job_submit/";

    if (len > sizeof(prefix) - 1 && strncasecmp(p, prefix, sizeof(prefix) - 1) == 0) {
        p += sizeof(prefix) - 1;
        len -= sizeof(prefix) - 1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
        if (strlen(filters[i].name) == len && strncasecmp(filters[i].name, p, len) == 0)
            return &filters[i];
    return NULL;
}

bool jobsubmit_any(const struct conf *conf)
{
    const char *list = conf_str(conf, CONF_JOB_SUBMIT_PLUGINS);

    return list && *list && strcasecmp(list, "(null)") != 0;
}

int jobsubmit_check(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    jobsubmit_lua_drop(ctld);
    for (const char *p = jobsubmit_any(conf) ? conf_str(conf, CONF_JOB_SUBMIT_PLUGINS) : ""; *p;) {
        size_t len = strcspn(p, ",");
        const struct filter *f = filter_at(p, len);
        int r = f && f->check ? f->check(ctld, conf, err) : 0;

        if (r < 0)
            return r;
        if (len && !f)
            return err_set(err, -EINVAL,
                           "JobSubmitPlugins: there is no %.*s; there are all_partitions, logging, "
                           "lua, partition "
                           "and require_timelimit",
                           (int)MIN(len, 64), p);
        p += len + (p[len] == ',');
    }
    return 0;
}

int jobsubmit_run(struct jobsubmit_request *r)
{
    int code = 0;

    for (const char *p = conf_str(r->ctld->conf, CONF_JOB_SUBMIT_PLUGINS); code == 0 && *p;) {
        size_t len = strcspn(p, ",");
        const struct filter *f = filter_at(p, len); /* known: jobsubmit_check() */

        if (f)
            code = f->run(r);
        p += len + (p[len] == ',');
    }
    return code;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void load_filters(struct ctld *ctld)
{
    const struct conf *conf = ctld->conf;

    for (const char *p = jobsubmit_any(conf) ? conf_str(conf, CONF_JOB_SUBMIT_PLUGINS) : ""; *p;) {
        size_t len = strcspn(p, ",");
        const struct filter *f = filter_at(p, len); /* known: jobsubmit_check() */

        if (f && f->load)
            f->load(ctld);
        p += len + (p[len] == ',');
    }
}

static void reload_filters(struct ctld *ctld)
{
    jobsubmit_lua_forget(ctld);
    load_filters(ctld);
}

static void free_scripts(struct ctld *ctld)
{
    jobsubmit_lua_drop(ctld);
    jobsubmit_lua_forget(ctld);
}

const struct ctld_service jobsubmit_service = {
    .name = "jobsubmit",
    .check = jobsubmit_check,
    .recovered = load_filters,
    .reconfigured = reload_filters,
    .free = free_scripts,
};
