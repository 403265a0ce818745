/* jobs.c - small questions about jobs and nodes; see jobs.h. */
#include "ctld/jobs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/sluid.h"
#include "base/timefmt.h"
#include "ctld/het.h"
#include "model/array.h"
#include "model/names.h"

uint32_t jobs_array_running(struct ctld *ctld, uint32_t array_job_id)
{
    return cluster_array_tally(ctld->cluster, array_job_id).running;
}

/* Is `word` one of the comma list? */
static bool in_list(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0'))
            return true;
    return false;
}

bool jobs_in_partition(const Pst__JobRecord *r, const char *partition)
{
    return r->partition && in_list(r->partition, partition);
}

/* ---- ids ---------------------------------------------------------------------------------------- */

static bool take_u32(const char **p, uint32_t *ret)
{
    char *end;
    unsigned long v;

    if (!isdigit((unsigned char)**p))
        return false;
    v = strtoul(*p, &end, 10);
    if (v >= UINT32_MAX)
        return false;
    *p = end;
    *ret = (uint32_t)v;
    return true;
}

/* The step part behind the dot. */
static bool parse_step(const char *text, uint32_t *ret)
{
    const char *p = text;

    if (take_u32(&p, ret) && !*p)
        return true;
    return names_step_special_parse(text, ret) == 0;
}

/* Tasks that are still inside an array record: one call for all of them. */
static size_t resolve_inside(struct job *j, const char *want, struct job_ref ref, job_ref_fn *fn, void *ctx)
{
    _cleanup_free_ char *tasks = NULL;

    if (array_and(j->rec->array_tasks, want, &tasks) < 0 || !tasks)
        return 0;
    ref.job = j;
    ref.tasks = tasks;
    fn(ctx, &ref);
    return 1;
}

/* Tasks "[1-3,7]" or "4" of array job_id. */
static int resolve_tasks(struct ctld *ctld, uint32_t job_id, const char *tasks, struct job_ref ref,
                         job_ref_fn *fn, void *ctx)
{
    const uint32_t *ids;
    size_t n = cluster_array_jobs(ctld->cluster, job_id, &ids), found = 0, narrays = 0;
    _cleanup_free_ char *want = NULL;
    _cleanup_free_ uint32_t *copy = NULL;
    uint32_t throttle, count;

    if (array_parse(tasks, 4000000, &want, &throttle, &count, NULL) < 0)
        return ESLURM_INVALID_JOB_ID;
    copy = malloc((n ? n : 1) * sizeof(*copy)); /* fn may change the set */
    if (!copy)
        return SLURM_ERROR;
    if (n)
        memcpy(copy, ids, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        struct job *j = cluster_job(ctld->cluster, copy[i]);

        if (j && job_is_array(j->rec))
            copy[narrays++] = copy[i]; /* later: what is split off now is no target of its own */
        if (!j || !j->rec->has_array_task_id || !array_contains(want, j->rec->array_task_id))
            continue;
        ref.job = j;
        found++;
        fn(ctx, &ref);
        if (found == count)
            return 0;
    }
    for (size_t i = 0; i < narrays; i++) {
        struct job *j = cluster_job(ctld->cluster, copy[i]);

        if (j && job_is_array(j->rec))
            found += resolve_inside(j, want, ref, fn, ctx);
    }
    return found ? 0 : ESLURM_INVALID_JOB_ID;
}

static int resolve_whole(struct ctld *ctld, uint32_t job_id, struct job_ref ref, job_ref_fn *fn, void *ctx)
{
    const uint32_t *ids;
    size_t n = cluster_array_jobs(ctld->cluster, job_id, &ids);
    _cleanup_free_ uint32_t *copy = NULL;

    if (!n) {
        ref.job = cluster_job(ctld->cluster, job_id);
        if (!ref.job)
            return ESLURM_INVALID_JOB_ID;
        fn(ctx, &ref);
        return 0;
    }
    copy = malloc(n * sizeof(*copy));
    if (!copy)
        return SLURM_ERROR;
    memcpy(copy, ids, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        ref.job = cluster_job(ctld->cluster, copy[i]);
        if (ref.job)
            fn(ctx, &ref);
    }
    return 0;
}

/* "12+1" */
static int resolve_component(struct ctld *ctld, uint32_t leader, const char *offset, struct job_ref ref,
                             job_ref_fn *fn, void *ctx)
{
    const Pst__JobRecord name = { .has_het_job_id = 1, .het_job_id = leader, .het_count = UINT32_MAX };
    uint32_t k;

    if (!take_u32(&offset, &k) || *offset)
        return ESLURM_INVALID_JOB_ID;
    ref.job = het_component(ctld->cluster, &name, k);
    if (!ref.job)
        return ESLURM_INVALID_JOB_ID;
    ref.component = true;
    fn(ctx, &ref);
    return 0;
}

/* A walk over all jobs, since who types a SLUID does it once: some milliseconds at a million jobs. */
static struct job *job_by_sluid(struct ctld *ctld, uint64_t sluid)
{
    char text[SLUID_TEXT_SIZE];
    struct job *j;
    size_t pos = 0;

    (void)sluid_text(sluid, text);
    while ((j = idmap_next(&ctld->cluster->jobs, &pos)))
        if (j->rec->sluid && strcmp(j->rec->sluid, text) == 0)
            break;
    return j;
}

int jobs_resolve(struct ctld *ctld, const char *id, job_ref_fn *fn, void *ctx)
{
    struct job_ref ref = { 0 };
    char text[256], *dot, *bracket;
    const char *p = text;
    uint32_t job_id;

    if (strlen(id) >= sizeof(text))
        return ESLURM_INVALID_JOB_ID;
    memcpy(text, id, strlen(id) + 1);
    dot = strchr(text, '.');
    if (dot) {
        *dot = '\0';
        ref.has_step = true;
        if (!parse_step(dot + 1, &ref.step))
            return ESLURM_INVALID_JOB_ID;
    }
    if (sluid_parse(text)) {
        ref.job = job_by_sluid(ctld, sluid_parse(text));
        if (!ref.job)
            return ESLURM_INVALID_JOB_ID;
        fn(ctx, &ref);
        return 0;
    }
    if (!take_u32(&p, &job_id) || !job_id)
        return ESLURM_INVALID_JOB_ID;
    if (!*p || strcmp(p, "_*") == 0)
        return resolve_whole(ctld, job_id, ref, fn, ctx);
    if (*p == '+')
        return resolve_component(ctld, job_id, p + 1, ref, fn, ctx);
    if (*p != '_')
        return ESLURM_INVALID_JOB_ID;
    p++;
    if (*p == '[') {
        p++;
        bracket = strchr(p, ']');
        if (!bracket || bracket[1])
            return ESLURM_INVALID_JOB_ID;
        *bracket = '\0';
    }
    return resolve_tasks(ctld, job_id, p, ref, fn, ctx);
}

/* ---- filters ------------------------------------------------------------------------------------ */

static bool has_u32(const uint32_t *list, size_t n, uint32_t v)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return n == 0;
}

static bool has_word(char *const *list, size_t n, const char *v)
{
    for (size_t i = 0; i < n; i++)
        if (v && strcmp(list[i], v) == 0)
            return true;
    return n == 0;
}

static bool on_nodes(const Pst__JobRecord *r, const char *nodes)
{
    struct hostlist *want = NULL, *have = NULL;
    bool hit = false;

    if (!r->alloc || hostlist_parse(nodes, &want, NULL) < 0)
        return false;
    if (hostlist_parse(r->alloc->nodes, &have, NULL) == 0)
        for (size_t i = 0; !hit && i < hostlist_count(want); i++)
            hit = hostlist_find(have, hostlist_nth(want, i)) >= 0;
    hostlist_free(want);
    hostlist_free(have);
    return hit;
}

bool jobs_match(const struct ctld *ctld, const struct job *j, const Pst__JobFilter *f)
{
    const Pst__JobRecord *r = j->rec;
    bool part = f->n_partitions == 0;

    (void)ctld;
    for (size_t i = 0; i < f->n_partitions && !part; i++)
        part = jobs_in_partition(r, f->partitions[i]);
    return part &&
           (has_u32(f->states, f->n_states, job_state(r)) ||
            (f->has_include_completing && f->include_completing && job_has_flag(r, JOB_FLAG(COMPLETING)))) &&
           has_u32(f->uids, f->n_uids, r->uid) &&
           (has_u32(f->job_ids, f->n_job_ids, r->job_id) ||
            (het_group_id(r) && has_u32(f->job_ids, f->n_job_ids, het_group_id(r)))) &&
           has_word(f->names, f->n_names, r->name) && has_word(f->accounts, f->n_accounts, r->account) &&
           has_word(f->qos, f->n_qos, r->qos) && has_word(f->sluids, f->n_sluids, r->sluid) &&
           has_word(f->reservations, f->n_reservations, r->reservation) &&
           (!f->nodes || on_nodes(r, f->nodes));
}

uint32_t jobs_next_id(struct ctld *ctld, uint32_t id)
{
    uint32_t first = (uint32_t)conf_num(ctld->conf, CONF_FIRST_JOB_ID);
    uint32_t max = (uint32_t)conf_num(ctld->conf, CONF_MAX_JOB_ID);

    do {
        id = id >= max ? first : id + 1;
    } while (cluster_job(ctld->cluster, id));
    return id;
}
