/* hooks.c - PrologSlurmctld and EpilogSlurmctld; see hooks.h
 *
 * They run at least once: a controller that dies in between runs them again when it is back, since
 * it cannot know how far they came. */
#include "ctld/notify/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/notify/programs.h"
#include "ctld/core/service.h"
#include "model/jobenv.h"
#include "fields.h"

struct hooks {
    struct idmap epilogs; /* id of a job whose EpilogSlurmctld runs -> anything */
};

int hooks_new(struct hooks **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct hooks *hooks_free(struct hooks *h)
{
    if (!h)
        return NULL;
    idmap_done(&h->epilogs);
    free(h);
    return NULL;
}

bool hooks_epilog_runs(const struct ctld *ctld, const struct job *j)
{
    return idmap_get(&ctld->hooks->epilogs, j->rec->job_id) != NULL;
}

void hooks_forget(struct ctld *ctld, const struct job *j)
{
    (void)idmap_remove(&ctld->hooks->epilogs, j->rec->job_id); /* most have none */
}

static bool has_program(const struct ctld *ctld, enum conf_key key)
{
    const char *first = conf_str_nth(ctld->conf, key, 0);

    return first && *first;
}

bool hooks_prolog_wanted(const struct ctld *ctld)
{
    return has_program(ctld, CONF_PROLOG_SLURMCTLD);
}

bool hooks_epilog_wanted(const struct ctld *ctld)
{
    return has_program(ctld, CONF_EPILOG_SLURMCTLD);
}

static void put_variable(void *ctx, const char *name, const char *value)
{
    program_env(ctx, name, value);
}

/* COUNT, MAX, MIN and STEP were put into the submission's environment: its first variables. */
static void array_env(const struct ctld *ctld, const Pst__JobRecord *r, struct program *p)
{
    const struct blob *env = cluster_env(ctld->cluster, r);
    const char *at = env ? (const char *)env->data : NULL, *end = at ? at + env->len : NULL;
    char num[16];

    if (!r->has_array_task_id)
        return;
    (void)snprintf(num, sizeof(num), "%u", r->has_array_job_id ? r->array_job_id : r->job_id);
    program_env(p, "SLURM_ARRAY_JOB_ID", num);
    (void)snprintf(num, sizeof(num), "%u", r->array_task_id);
    program_env(p, "SLURM_ARRAY_TASK_ID", num);
    for (; at && at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
        const char *eq = memchr(at, '=', strnlen(at, (size_t)(end - at)));
        char name[64];

        if (!eq || strncmp(at, "SLURM_ARRAY_TASK_", 17) != 0 || (size_t)(eq - at) >= sizeof(name))
            continue;
        (void)snprintf(name, sizeof(name), "%.*s", (int)(eq - at), at);
        program_env(p, name, eq + 1);
    }
}

void hooks_env(const struct ctld *ctld, const struct job *j, struct program *p)
{
    const Pst__JobRecord *r = j->rec;

    jobenv_job(r, ctld->cluster->rec->name, NULL, put_variable, p);
    if (!r->account)
        program_env(p, "SLURM_JOB_ACCOUNT", "(null)");
    if (!r->alloc)
        program_env(p, "SLURM_JOB_NODELIST", "(null)");
    if (r->name)
        program_env_line(p, "SLURM_JOB_NAME", r->name);
    if (r->group_name)
        program_env(p, "SLURM_JOB_GROUP", r->group_name);
    if (r->wckey)
        program_env_line(p, "SLURM_WCKEY", r->wckey);
    array_env(ctld, r, p);
}

static struct program *make_program(struct ctld *ctld, const struct job *j, uint64_t lsn,
                                    bool epilog)
{
    enum conf_key key = epilog ? CONF_EPILOG_SLURMCTLD : CONF_PROLOG_SLURMCTLD;
    uint64_t limit_s = MIN(conf_num(ctld->conf, epilog ? CONF_EPILOG_TIMEOUT : CONF_PROLOG_TIMEOUT),
                           conf_num(ctld->conf, CONF_PROLOG_EPILOG_TIMEOUT));
    struct program *p = program_new(ctld, epilog ? "EpilogSlurmctld" : "PrologSlurmctld");

    p->lsn = lsn;
    p->job_id = j->rec->job_id;
    p->run_id = j->rec->db_id;
    p->limit_us = limit_s < 65534 ? (int64_t)limit_s * USEC_PER_SEC : 0;
    for (size_t i = 0; conf_str_nth(ctld->conf, key, i); i++)
        program_path(p, conf_str_nth(ctld->conf, key, i));
    hooks_env(ctld, j, p);
    program_env(p, "SLURM_SCRIPT_CONTEXT", epilog ? "epilog_slurmctld" : "prolog_slurmctld");
    return p;
}

static void prolog_done(struct ctld *ctld, const struct program *p)
{
    struct job *j = cluster_job(ctld->cluster, p->job_id);

    if (!j || j->rec->db_id != p->run_id || !job_waits_for_prolog(j->rec) || job_is_ended(j->rec))
        return; /* ended meanwhile */
    services_site_prolog_over(ctld, j, p->status == 0);
}

void hooks_prolog(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    struct program *p = make_program(ctld, j, lsn, false);

    p->done = prolog_done;
    programs_add_take(ctld->programs, p);
}

static void epilog_done(struct ctld *ctld, const struct program *p)
{
    struct job *j = cluster_job(ctld->cluster, p->job_id);

    if (!j || j->rec->db_id != p->run_id || !hooks_epilog_runs(ctld, j))
        return;
    hooks_forget(ctld, j); /* how it ended is in the log, and changes nothing */
    services_site_epilog_over(ctld, j);
}

void hooks_epilog(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    struct program *p = make_program(ctld, j, lsn, true);

    jobenv_end(j->rec->exit_status, j->rec->derived_exit_status, put_variable, p);
    p->done = epilog_done;
    if (idmap_put(&ctld->hooks->epilogs, j->rec->job_id, p) < 0)
        must(NULL);
    programs_add_take(ctld->programs, p);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_programs(struct ctld *ctld, struct err *err)
{
    (void)err;
    return programs_new(ctld, &ctld->programs);
}

static void stop_programs(struct ctld *ctld)
{
    ctld->programs = programs_free(ctld->programs);
}

static void release_durable(struct ctld *ctld, uint64_t lsn)
{
    programs_release(ctld->programs, lsn);
}

const struct ctld_service programs_service = {
    .name = "programs",
    .start = start_programs,
    .stop = stop_programs,
    .durable = release_durable,
};

static int start_hooks(struct ctld *ctld, struct err *err)
{
    (void)err;
    return hooks_new(&ctld->hooks);
}

static void free_hooks(struct ctld *ctld)
{
    ctld->hooks = hooks_free(ctld->hooks);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    hooks_forget(ctld, j);
}

const struct ctld_service hooks_service = {
    .name = "hooks",
    .start = start_hooks,
    .free = free_hooks,
    .on_job_gone = forget_job,
};
