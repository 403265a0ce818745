/* stepvnis.c - VNIs of Slingshot for steps; see stepvnis.h
 *
 * `held` counts how many records have a VNI: the components of a heterogeneous job's step share
 * one.  What jobs hold is remembered by job, since a requeue takes the number out of the record. */
#include "ctld/step/stepvnis.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/must.h"
#include "base/logflags.h"
#include "ctld/core/observe.h"
#include "ctld/core/service.h"
#include "feed/switchfeed.h"
#include "wire/errors.h"

#define VNIS 65536u

struct stepvnis {
    uint16_t held[VNIS];
    uint32_t next;       /* the search begins here */
    struct idmap of_job; /* job id -> its VNI, as a pointer */
};

static void hold_vni(struct stepvnis *x, uint32_t vni)
{
    if (vni < VNIS && x->held[vni] < UINT16_MAX)
        x->held[vni]++;
}

static void release_vni(struct stepvnis *x, uint32_t vni)
{
    if (vni < VNIS && x->held[vni])
        x->held[vni]--;
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* The first free number from `next` on, around the end of the range; but not `other`.  0: none. */
static uint32_t find_free(const struct stepvnis *x, const struct slingshot *ss, uint32_t other)
{
    uint32_t n = ss->vni_last - ss->vni_first + 1, at = x->next;

    if (at < ss->vni_first || at > ss->vni_last)
        at = ss->vni_first;
    for (uint32_t i = 0; i < n; i++, at = at == ss->vni_last ? ss->vni_first : at + 1)
        if (!x->held[at] && at != other)
            return at;
    return 0;
}

static int none_left(const struct slingshot *ss, struct err *err)
{
    (void)err_set(err, -ENOSPC, "All VNIs from %u to %u (SwitchParameters=vnis) are in use",
                  ss->vni_first, ss->vni_last);
    return ESLURM_INTERCONNECT_FAILURE;
}

int stepvnis_choose(struct ctld *ctld, const struct job *owner, const char *network, uint32_t nodes,
                    struct stepvnis_pick *ret, struct err *err)
{
    struct stepvnis *x = ctld->stepvnis;
    struct slingshot ss;
    int r = switch_slingshot(ctld->conf, network, &ss, err);

    *ret = (struct stepvnis_pick){ .n = 0 };
    if (r <= 0)
        return r < 0 ? ESLURM_INTERCONNECT_FAILURE : 0;
    ret->n = slingshot_vnis(&ss, nodes);
    if (ret->n > 1 && owner->rec->has_vni) {
        ret->vnis[1] = owner->rec->vni;
    } else if (ret->n > 1) {
        ret->vnis[1] = find_free(x, &ss, 0);
        ret->fresh_job = true;
    }
    if (ret->n)
        ret->vnis[0] = find_free(x, &ss, ret->vnis[1]);
    if (ret->n && (!ret->vnis[0] || (ret->n > 1 && !ret->vnis[1])))
        return none_left(&ss, err);
    if (ret->n)
        x->next = MAX(ret->vnis[0], ret->fresh_job ? ret->vnis[1] : 0) + 1;
    return 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void follow_step(struct ctld *ctld, struct job *j, struct step *s, Pst__EventKind kind)
{
    if (!s->rec->n_vnis)
        return;
    if (kind != PST__EVENT_KIND__EV_STEP_START && kind != PST__EVENT_KIND__EV_STEP_END)
        return;
    log_flag(SWITCH, "StepId=%u.%u %s VNI %u", j->rec->job_id, s->rec->step_id,
             kind == PST__EVENT_KIND__EV_STEP_START ? "has" : "gives back", s->rec->vnis[0]);
    if (kind == PST__EVENT_KIND__EV_STEP_START)
        hold_vni(ctld->stepvnis, s->rec->vnis[0]);
    else
        release_vni(ctld->stepvnis, s->rec->vnis[0]);
}

static void forget_job(struct stepvnis *x, uint32_t id)
{
    release_vni(x, (uint32_t)(uintptr_t)idmap_remove(&x->of_job, id));
}

static void follow_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    struct stepvnis *x = ctld->stepvnis;
    bool holds = j->rec->has_vni && j->rec->vni && job_holds_resources(j->rec);
    bool noted = idmap_get(&x->of_job, j->rec->job_id) != NULL;

    (void)kind;
    if (noted && !holds) {
        forget_job(x, j->rec->job_id);
    } else if (holds && !noted) {
        if (idmap_put(&x->of_job, j->rec->job_id, (void *)(uintptr_t)j->rec->vni) < 0)
            must(NULL);
        hold_vni(x, j->rec->vni);
    }
}

static void follow_job_gone(struct ctld *ctld, struct job *j)
{
    forget_job(ctld->stepvnis, j->rec->job_id);
}

static void recover_vnis(struct ctld *ctld)
{
    struct job *j;

    for (size_t pos = 0; (j = observe_next_special(ctld, &pos));) {
        follow_job(ctld, j, PST__EVENT_KIND__EV_UNSPECIFIED);
        for (struct step *s = j->steps; s; s = s->next)
            if (s->rec->state == PST__STEP_STATE__STEP_RUNNING)
                follow_step(ctld, j, s, PST__EVENT_KIND__EV_STEP_START);
    }
}

static int start_vnis(struct ctld *ctld, struct err *err)
{
    ctld->stepvnis = calloc(1, sizeof(*ctld->stepvnis));
    return ctld->stepvnis ? 0 : err_nomem(err);
}

static void free_vnis(struct ctld *ctld)
{
    if (!ctld->stepvnis)
        return;
    idmap_done(&ctld->stepvnis->of_job);
    free(ctld->stepvnis);
    ctld->stepvnis = NULL;
}

const struct ctld_service stepvnis_service = {
    .name = "stepvnis",
    .start = start_vnis,
    .free = free_vnis,
    .recovered = recover_vnis,
    .on_job = follow_job,
    .on_job_gone = follow_job_gone,
    .on_step = follow_step,
};
