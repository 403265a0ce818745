/* sched.c - the object: making and releasing it, parameters, topologies, questions; see sched.h.
 *
 * Passes only propose: a proposed job holds its allocation here until sched_job_running() confirms,
 * or a refusal or removal releases it. */
#include "sched/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/keptplan.h"
#include "sched/plan/plan.h"
#include "sched/plan/preempt_feed.h"
#include "sched/rules/advset.h"
#include "sched/rules/assoctree.h"
#include "sched/rules/jobhold.h"
#include "sched/rules/limit_levels.h"
#include "sched/select/hrespick.h"
#include "sched/select/pick.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/jobbuild.h"
#include "sched/state/lics.h"
#include "sched/hresput.h"
#include "sched/state/jobs.h"
#include "sched/state/kinds.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/rules/spares.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/state/topoclose.h"
#include "sched/state/topos.h"
#include "sched/topo/topo.h"
#include "sched/base/strtab.h"
#include "sched/base/tally.h"

int sched_new(const struct sched_params *params, struct sched **ret_sched)
{
    struct sched *s = calloc(1, sizeof(*s));
    int r = 0;

    if (!s)
        return -ENOMEM;
    s->params = *params;
    s->bf_change = UINT64_MAX;
    s->cpu_words = calloc(SCHED_MAX_CPUS / 64, sizeof(*s->cpu_words));
    s->dev_words = calloc(SCHED_MAX_DEVICES / 64, sizeof(*s->dev_words));
    struct bitmap **const maps[] = {
        &s->up, &s->idle, &s->external, &s->cand, &s->withheld, &s->dup
    };

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(maps); i++)
        r = bitmap_new(0, maps[i]);
    for (uint32_t k = 0; r == 0 && k < SCHED_SPANS; k++)
        r = bitmap_new(0, &s->free_ge[k]);
    if (!s->cpu_words || !s->dev_words)
        r = -ENOMEM;
    if (r < 0) {
        sched_free(s);
        return r;
    }
    *ret_sched = s;
    return 0;
}

struct sched *sched_free(struct sched *s)
{
    if (!s)
        return NULL;
    plan_drop(s); /* while there are nodes and jobs */
    kept_drop(s);
    jobs_done(s);
    classes_done(s);
    kinds_done(s);
    nodes_done(s);
    for (uint32_t i = 0; i < s->nparts; i++)
        part_free(s->parts[i]);
    free(s->parts);
    resvs_clear(s);
    free(s->resvs);
    free(s->line);
    free(s->fits.v);
    free(s->sorted.v);
    free(s->chosen.v);
    free(s->cpu_words);
    free(s->dev_words);
    topo_space_done(&s->topo_space);
    free(s->topo_caps);
    free(s->topo_weight);
    strtab_done(&s->parts_tab);
    strtab_done(&s->feature_tab);
    strtab_done(&s->gres_tab);
    tally_done(&s->tally);
    hres_room_free(s->room);
    hres_done(s);
    strtab_done(&s->lic_tab);
    free(s->lics);
    strtab_done(&s->label_tab);
    assocs_done(s);
    levels_done(s);
    advs_done(s);
    preempt_done(s);
    topos_done(s);
    spares_done(s);
    free(s);
    return NULL;
}

void sched_params_set(struct sched *s, const struct sched_params *params)
{
    struct sched_params p = *params;

    p.select = s->params.select;
    p.select_memory = s->params.select_memory;
    s->params = p;
    kept_drop(s);
    s->prio_done = false;
    spares_changed(s);
    planlog_other(s);
    s->run_gen++;
    s->tres_gen = 0;
    s->change++;
    for (uint32_t i = 0; i < s->nparts; i++) {
        struct part *part = s->parts[i];

        for (struct entry *e = part->head[0]; e; e = e->next[0])
            job_set_fresh(s, e->job);
    }
}

/* ---- topologies ------------------------------------------------------------------------------ */

static bool is_named_twice(const struct topo_spec *const *specs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(specs[i]->name, specs[k]->name) == 0)
                return true;
    return false;
}

/* Jobs that close units close those of the new topology. */
static int close_units_again(struct sched *s)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < s->job_slots; i++) {
        struct job *j = s->jobs[i];

        if (j && j->state >= JOB_PROPOSED && j->closes)
            r = job_close_units(s, j, topo_can_close(s->parts[j->part]->topo));
    }
    return r;
}

bool sched_blocks(const struct sched *s, struct sched_blocks *ret)
{
    return topos_blocks(s, &ret->score, &ret->blocks, &ret->whole);
}

int sched_topologies_put(struct sched *s, const struct topo_spec *const *specs, size_t n)
{
    struct topo **set = calloc(n + 1, sizeof(struct topo *));
    int r = set ? 0 : -ENOMEM;

    if (r == 0 && is_named_twice(specs, n))
        r = -EINVAL;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = topo_new(specs[i], &set[i], NULL);
    if (r < 0) {
        for (size_t i = 0; set && i < n; i++)
            topo_free(set[i]);
        free(set);
        return r;
    }
    topos_done(s);
    s->topos = set;
    s->ntopos = (uint32_t)n;
    s->config_gen++;
    s->up_gen++;
    planlog_other(s);
    s->change++;
    for (uint32_t i = 0; i < s->nparts; i++) {
        topo_of_part(s, s->parts[i]);
        part_look_again(s, s->parts[i]);
    }
    return close_units_again(s);
}

int sched_resources_put(struct sched *s, const struct sched_resource *list, size_t n)
{
    return hres_put(s, list, n);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

uint32_t sched_pending(const struct sched *s)
{
    return s->npending;
}

bool sched_feasible(const struct sched *s, const struct sched_job *job, enum sched_why *ret_why)
{
    /* Looks up a class and uses the scratch arrays; nothing a caller can see changes. */
    struct sched *m = (struct sched *)s;
    bool ok = false;
    struct job *j;

    *ret_why = SCHED_WHY_BAD_CONSTRAINTS;
    if (job_build(m, job, &j) < 0)
        return false;
    for (uint32_t i = 0; i < j->nentries && !ok; i++) {
        struct pick p = { .s = m,
                          .cls = j->entries[i]->cls,
                          .part = m->parts[j->entries[i]->part],
                          .idle = true,
                          .any_state = true,
                          .no_part_limit = true };

        ok = pick_nodes(&p) == 1;
        if (p.topo == TOPO_WHY_NEVER)
            *ret_why = SCHED_WHY_TOPOLOGY;
    }
    job_free(m, j);
    if (ok)
        *ret_why = SCHED_WHY_NONE;
    return ok;
}
