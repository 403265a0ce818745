/* lics.c - licences: counts that belong to no node.
 *
 * A job wants all of a list or any one of the list.  What a job holds is decided at its start and
 * released with its nodes. */
#include "sched/state/lics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/planlog.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

int lic_id(struct sched *s, const char *name, uint32_t *ret_id)
{
    int r = strtab_intern(&s->lic_tab, name, ret_id);
    struct license *grown;

    if (r < 0 || *ret_id < s->nlics)
        return r;
    if (*ret_id >= SCHED_MAX_LICENSES)
        return -ERANGE;
    grown = realloc(s->lics, (*ret_id + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->lics = grown;
    while (s->nlics <= *ret_id)
        s->lics[s->nlics++] = (struct license){ 0 };
    return 0;
}

int sched_license_put(struct sched *s, const char *name, uint64_t total)
{
    uint32_t id;
    int r = lic_id(s, name, &id);

    if (r < 0)
        return r;
    s->lics[id].total = total;
    s->lic_grow++;
    planlog_other(s);
    s->change++;
    return 0;
}

void sched_licenses_clear(struct sched *s)
{
    for (uint32_t i = 0; i < s->nlics; i++)
        s->lics[i].total = 0;
    planlog_other(s);
    s->change++;
}

uint64_t sched_license_used(const struct sched *s, const char *name)
{
    uint32_t id = strtab_find(&s->lic_tab, name, strlen(name));

    return id < s->nlics ? s->lics[id].used : 0;
}

void lics_free(struct job_lics *l)
{
    free(l->v);
    *l = (struct job_lics){ 0 };
}

int lics_build(struct sched *s, const struct sched_lic_req *req, size_t n, bool any,
               struct job_lics *ret)
{
    struct job_lics l = { .any = any };

    if (!n)
        return 0;
    if (n > SCHED_MAX_LICENSES)
        return -EINVAL;
    l.v = calloc(n, sizeof(*l.v));
    if (!l.v)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t id, k = 0;
        int r = lic_id(s, req[i].name, &id);

        if (r < 0) {
            free(l.v);
            return r;
        }
        while (!any && k < l.n && l.v[k].id != id)
            k++;
        if (!any && k < l.n) {
            l.v[k].count += req[i].count; /* named twice */
            continue;
        }
        l.v[l.n].id = id;
        l.v[l.n++].count = req[i].count;
    }
    *ret = l;
    return 0;
}

uint64_t lic_unused(const struct sched *s, uint32_t id)
{
    const struct license *l = &s->lics[id];

    return l->total > l->used ? l->total - l->used : 0;
}

int lics_choose(const struct job_lics *want, uint32_t which, struct job_lics *ret)
{
    uint32_t n = want->any ? 1 : want->n;
    struct job_lic *v;

    if (!want->n) {
        *ret = (struct job_lics){ 0 };
        return 0;
    }
    v = malloc(n * sizeof(*v));
    if (!v)
        return -ENOMEM;
    memcpy(v, want->any ? want->v + which : want->v, n * sizeof(*v));
    *ret = (struct job_lics){ .v = v, .n = n };
    return 0;
}

void lics_take(struct sched *s, const struct job_lics *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        s->lics[l->v[i].id].used += l->v[i].count;
}

void lics_release(struct sched *s, const struct job_lics *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        s->lics[l->v[i].id].used -= l->v[i].count;
    if (l->n && !s->travelling)
        s->lic_grow++;
}

uint64_t *lics_spare(const struct sched *s)
{
    uint64_t *spare = calloc(s->nlics + 1, sizeof(*spare));

    for (uint32_t i = 0; spare && i < s->nlics; i++)
        spare[i] = lic_unused(s, i);
    return spare;
}

int lics_tell(const struct sched *s, const struct job_lics *l, struct sched_lic_req **ret,
              size_t *ret_n)
{
    struct sched_lic_req *list;

    *ret = NULL;
    *ret_n = 0;
    if (!l->n)
        return 0;
    list = calloc(l->n, sizeof(*list));
    if (!list)
        return -ENOMEM;
    for (uint32_t i = 0; i < l->n; i++)
        list[i] =
            (struct sched_lic_req){ .name = s->lic_tab.names[l->v[i].id], .count = l->v[i].count };
    *ret = list;
    *ret_n = l->n;
    return 0;
}
