/* jobbuild.c - a job's record from what is fed: one entry for each partition and reservation */
#include "sched/state/jobbuild.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

/* Skip list height: one level more for each pair of zero bits of a hash of job and partition. */
static uint32_t entry_height(uint32_t job, uint32_t part)
{
    uint32_t key[2] = { job, part }, h = strtab_hash(key, sizeof(key)), height = 1;

    while (height < QUEUE_LEVELS && !(h & 3)) {
        h >>= 2;
        height++;
    }
    return height;
}

static int add_entry(struct sched *s, const struct sched_job *in, const char *partition,
                     const struct sched_job_resv *resv, struct job *j)
{
    struct part *p;
    struct class *cls;
    struct entry *e;
    uint32_t height;
    int r = part_get(s, partition, &p);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < j->nentries; i++)
        if (j->entries[i]->part == p->id &&
            j->entries[i]->cls->shape->key.resv == (resv ? resv->id : 0))
            return 0; /* named twice */
    r = class_get(s, in, &j->want, p, resv, &cls);
    if (r < 0)
        return r;
    height = entry_height(in->id, p->id ^ (resv ? resv->id << 16 : 0));
    e = calloc(1, sizeof(*e) + height * sizeof(e->next[0]));
    if (!e) {
        class_unref(s, cls);
        return -ENOMEM;
    }
    e->job = j;
    e->cls = cls;
    e->part = p->id;
    e->rank = (uint16_t)j->nentries;
    e->first = in->expedite;
    e->ahead = resv && !resv->magnetic;
    e->magnetic = resv && resv->magnetic;
    e->height = height & 15;
    j->entries[j->nentries++] = e;
    return 0;
}

int label_id(struct sched *s, const char *label, uint32_t *ret_id)
{
    uint32_t id = 0;
    int r = label ? strtab_intern(&s->label_tab, label, &id) : 0;

    if (r == 0 && label) {
        *ret_id = id + 1;
        s->labels = true;
    }
    return r;
}

int job_build(struct sched *s, const struct sched_job *in, struct job **ret)
{
    struct job *j;
    size_t nentries;
    int r = 0;

    if (!in->npartitions || in->npartitions > SCHED_MAX_JOB_PARTS ||
        in->nresvs > SCHED_MAX_JOB_RESVS)
        return -EINVAL;
    nentries = in->npartitions * (in->nresvs + !in->resv_only);
    j = calloc(1, sizeof(*j) + nentries * sizeof(j->entries[0]));
    if (!j)
        return -ENOMEM;
    s->uids = s->uids || in->exclusive_user;
    j->id = in->id;
    j->priority = in->priority;
    j->nice = in->nice;
    j->submit_us = in->submit_us;
    j->eligible_us = in->eligible_us;
    j->accrue_us = in->accrue_us ? in->accrue_us : in->eligible_us;
    j->assoc_id = in->assoc_id;
    j->array_id = (uint32_t)in->array_id;
    j->site_factor = in->site_factor;
    j->qos = STRTAB_NONE;
    if (in->qos)
        r = strtab_intern(&s->qos_tab, in->qos, &j->qos);
    if (r == 0)
        r = label_id(s, in->label, &j->label);
    j->time_limit_min = in->time_limit_min;
    j->time_min_min = in->time_min_min;
    j->uid = in->uid;
    j->qos_id = in->qos_id;
    j->any_time = in->any_time;
    j->any_size = in->any_size;
    /* A new one has an age when accrue.c has judged it: before the pass that looks at it. */
    j->told_no_age = j->no_age = in->accrue_us == INT64_MAX;
    s->no_ages = s->no_ages || j->no_age;
    j->owned = in->exclusive_user;
    j->one_run = in->one_run;
    j->switches_wait_s = in->switches_wait_s;
    j->expedite = in->expedite;
    j->channels = in->channels;
    j->end_us = INT64_MAX;
    if (in->het_count) {
        j->het = calloc(1, sizeof(*j->het));
        if (j->het)
            *j->het = (struct het){ .id = in->het_id, .count = in->het_count };
        else
            r = -ENOMEM;
    }
    if (r == 0 && in->nnear) {
        j->near = malloc(in->nnear * sizeof(*j->near));
        if (j->near)
            memcpy(j->near, in->near_nodes, in->nnear * sizeof(*j->near));
        j->nnear = j->near ? in->nnear : 0;
        r = j->near ? 0 : -ENOMEM;
    }
    if (r == 0)
        r = lics_build(s, in->licenses, in->nlicenses, in->licenses_any, &j->want);
    if (r == 0 && hres_trees(s, &j->want) > 1)
        r = -EINVAL;
    for (size_t k = 0; r == 0 && k < in->nresvs; k++)
        for (size_t i = 0; r == 0 && i < in->npartitions; i++)
            r = add_entry(s, in, in->partitions[i], &in->resvs[k], j);
    for (size_t i = 0; r == 0 && !in->resv_only && i < in->npartitions; i++)
        r = add_entry(s, in, in->partitions[i], NULL, j);
    if (r < 0) {
        job_free(s, j);
        return r;
    }
    *ret = j;
    return 0;
}
