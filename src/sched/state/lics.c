/* lics.c - licences: counts that belong to no node.
 *
 * A job wants all of a list or any one of the list.  What a job holds is decided at its start and
 * released with its nodes. */
#include "sched/state/lics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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

/* ---- resources with layers ------------------------------------------------------------------- */

static void free_resource(struct hres *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        free(h->layers[i].words);
    for (uint32_t i = 0; i < h->nvalues; i++)
        free(h->values[i].name);
    free(h->layers);
    free(h->values);
    for (uint32_t i = 0; i < HRES_MASKS; i++)
        free(h->masks[i].words);
    free(h->deepest);
    free(h->first);
    free(h->of);
    free(h->topology);
}

void hres_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->nhres; i++)
        free_resource(&s->hres[i]);
    free(s->hres);
    s->hres = NULL;
    s->nhres = 0;
    for (uint32_t i = 0; i < s->nlics; i++) {
        if (s->lics[i].hres || s->lics[i].layer_of)
            s->lics[i].total = 0;
        s->lics[i].hres = s->lics[i].layer_of = 0;
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

const struct hres *hres_of(const struct sched *s, uint32_t lic)
{
    return lic < s->nlics && s->lics[lic].hres ? &s->hres[s->lics[lic].hres - 1] : NULL;
}

/* The count that a request asks for, or the value of the variable that it names.  An unknown
 * variable counts as more than any resource has. */
static uint64_t hres_count(const struct sched *s, uint32_t lic, const struct sched_lic_req *req)
{
    const struct hres *h = req->variable ? hres_of(s, lic) : NULL;

    if (!req->variable)
        return MIN(req->count, HRES_ENDLESS);
    for (uint32_t i = 0; h && i < h->nvalues; i++)
        if (strcmp(h->values[i].name, req->variable) == 0)
            return h->values[i].value;
    return HRES_ENDLESS;
}

uint32_t hres_trees(const struct sched *s, const struct job_lics *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; l->layered && i < l->n; i++) {
        const struct hres *h = hres_of(s, l->v[i].id);

        n += h && h->mode == 3;
    }
    return n;
}

uint32_t hres_default(const struct sched *s, uint32_t lic)
{
    const struct hres *h = hres_of(s, lic);

    return h ? h->layers[h->mode == 3 ? h->n - 1 : 0].lic : lic;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* The count in use of layer `lic` has changed, from used_before: mark the masks that this
 * changes. */
static void hres_moved(struct sched *s, uint32_t lic, uint64_t used_before)
{
    const struct license *l = &s->lics[lic];
    uint64_t had = l->total - MIN(l->total, used_before), has = license_unused(&s->lics[lic]);
    struct hres *h = &s->hres[l->layer_of - 1];

    for (uint32_t i = 0; i < HRES_MASKS; i++)
        if ((had >= h->masks[i].each) != (has >= h->masks[i].each))
            h->masks[i].stale = true;
}

static void or_words(uint64_t *to, uint32_t nwords, const struct hres_layer *l)
{
    for (uint32_t w = 0; w < l->nwords && l->from + w < nwords; w++)
        to[l->from + w] |= l->words[w];
}

static void and_not_words(uint64_t *to, uint32_t nwords, const struct hres_layer *l)
{
    for (uint32_t w = 0; w < l->nwords && l->from + w < nwords; w++)
        to[l->from + w] &= ~l->words[w];
}

/* Nodes of layers with enough; but in mode 1 none that lies in another too. */
static void fill_mask(const struct sched *s, const struct hres *h, struct hres_mask *m)
{
    memset(m->words, 0, m->nwords * sizeof(*m->words));
    for (uint32_t i = 0; i < h->n; i++)
        if (license_unused(&s->lics[h->layers[i].lic]) >= m->each)
            or_words(m->words, m->nwords, &h->layers[i]);
    for (uint32_t i = 0; h->mode != 1 && i < h->n; i++)
        if (license_unused(&s->lics[h->layers[i].lic]) < m->each)
            and_not_words(m->words, m->nwords, &h->layers[i]);
    m->stale = false;
}

/* The mask for this count, or the one that was not asked for longest. */
static struct hres_mask *find_mask(struct hres *h, uint64_t each)
{
    struct hres_mask *oldest = &h->masks[0];

    for (uint32_t i = 0; i < HRES_MASKS; i++) {
        if (h->masks[i].each == each)
            return &h->masks[i];
        if (h->masks[i].used < oldest->used)
            oldest = &h->masks[i];
    }
    oldest->each = each;
    oldest->stale = true;
    return oldest;
}

const uint64_t *hres_nodes_with(struct sched *s, struct hres *h, uint64_t each, uint32_t nwords)
{
    struct hres_mask *m = find_mask(h, each);

    if (m->nwords != nwords) {
        uint64_t *grown = reallocarray(m->words, nwords, sizeof(*grown));

        if (!grown)
            return NULL;
        m->words = grown;
        m->nwords = nwords;
        m->stale = true;
    }
    m->used = ++h->mask_clock;
    if (m->stale)
        fill_mask(s, h, m);
    return m->words;
}

/* The licence as a decision tells it; the name is borrowed from the scheduler. */
static struct sched_lic_req hres_request(const struct sched *s, const struct job_lic *l)
{
    const struct license *lic = &s->lics[l->id];
    uint32_t of = lic->hres ? lic->hres : lic->layer_of;

    return (struct sched_lic_req){ .name = s->lic_tab.names[l->id],
                                   .count = l->count,
                                   .mode = of ? s->hres[of - 1].mode : 0,
                                   .layer = lic->layer_of != 0 };
}

/* ---- licences -------------------------------------------------------------------------------- */

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
        if (!s->lics[i].hres && !s->lics[i].layer_of)
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
        uint64_t count = r == 0 ? hres_count(s, id, &req[i]) : 0;

        if (r < 0) {
            free(l.v);
            return r;
        }
        if (!count && !any)
            continue; /* nothing of it is there at any time */
        while (!any && k < l.n && l.v[k].id != id)
            k++;
        if (!any && k < l.n) {
            l.v[k].count = MIN(l.v[k].count + count, HRES_ENDLESS); /* named twice */
            continue;
        }
        l.v[l.n].id = id;
        l.v[l.n++].count = count;
        l.layered = l.layered || s->lics[id].hres;
    }
    *ret = l;
    return 0;
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

static void change_used(struct sched *s, uint32_t id, uint64_t by)
{
    uint64_t before = s->lics[id].used;

    s->lics[id].used += by;
    if (s->lics[id].layer_of)
        hres_moved(s, id, before);
}

void lics_take(struct sched *s, const struct job_lics *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        change_used(s, l->v[i].id, l->v[i].count);
}

void lics_release(struct sched *s, const struct job_lics *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        change_used(s, l->v[i].id, -l->v[i].count);
    if (l->n && !s->travelling)
        s->lic_grow++;
}

uint64_t *lics_spare(const struct sched *s)
{
    uint64_t *spare = calloc(s->nlics + 1, sizeof(*spare));

    for (uint32_t i = 0; spare && i < s->nlics; i++)
        spare[i] = license_unused(&s->lics[i]);
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
        list[i] = hres_request(s, &l->v[i]);
    *ret = list;
    *ret_n = l->n;
    return 0;
}
