/* jobfilter.c - filters over jobs; see jobfilter.h. */
#include "ctld/front/jobfilter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/compare/order.h"
#include "model/hetjob.h"
#include "model/tables/idmap.h"
#include "model/job.h"

#define FEW_IDS 16u

struct words {
    struct namemap set; /* its keys are borrowed from the request */
    bool any;           /* no list: everything */
    bool any_case;      /* its keys are lowered */
};

struct jobfilter {
    const Pst__JobFilter *req;
    struct idmap ids, uids;
    uint32_t *sorted; /* the ids */
    uint32_t states;  /* bits */
    struct words partitions, names, accounts, qos, reservations, sluids, nodes;
    struct hostlist *node_names; /* what the keys of `nodes` are borrowed from */
};

static int add_numbers(struct idmap *m, const uint32_t *list, size_t n)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n; i++)
        r = idmap_put(m, (uint64_t)list[i] + 1, m);
    return r;
}

static int sort_ids(struct jobfilter *f, const uint32_t *list, size_t n)
{
    if (!n)
        return 0;
    f->sorted = malloc(n * sizeof(*f->sorted));
    if (!f->sorted)
        return -ENOMEM;
    memcpy(f->sorted, list, n * sizeof(*f->sorted));
    qsort(f->sorted, n, sizeof(*f->sorted), order_u32);
    return 0;
}

static int add_words(struct words *w, char *const *list, size_t n)
{
    int r = 0;

    w->any = n == 0;
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = namemap_put(&w->set, list[i], w);
    return r;
}

static char *to_lower(char *text)
{
    for (char *p = text; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return text;
}

/* The request's words, which it owns, are lowered where case does not matter. */
static int add_names(struct words *w, const Pst__JobFilter *req, char **list, size_t n)
{
    w->any_case = req->has_names_any_case && req->names_any_case;
    for (size_t i = 0; w->any_case && i < n; i++)
        (void)to_lower(list[i]);
    return add_words(w, list, n);
}

static int add_nodes(struct jobfilter *f, const char *list, struct err *err)
{
    int r = list ? hostlist_parse_most(list, HOSTLIST_MAX_NODES, &f->node_names, err) : 0;

    f->nodes.any = !list;
    for (size_t i = 0; r >= 0 && list && i < hostlist_count(f->node_names); i++)
        r = namemap_put(&f->nodes.set, hostlist_nth(f->node_names, i), f);
    return r < 0 ? r : 0;
}

struct jobfilter *jobfilter_free(struct jobfilter *f)
{
    struct words *const words[] = { f ? &f->partitions : NULL,   f ? &f->names : NULL,
                                    f ? &f->accounts : NULL,     f ? &f->qos : NULL,
                                    f ? &f->reservations : NULL, f ? &f->sluids : NULL,
                                    f ? &f->nodes : NULL };

    if (!f)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        namemap_done(&words[i]->set);
    idmap_done(&f->ids);
    idmap_done(&f->uids);
    (void)hostlist_free(f->node_names); /* always NULL */
    free(f->sorted);
    free(f);
    return NULL;
}

static int fill_filter(struct jobfilter *f, const Pst__JobFilter *req, struct err *err)
{
    int r = add_numbers(&f->ids, req->job_ids, req->n_job_ids);

    if (r >= 0)
        r = sort_ids(f, req->job_ids, req->n_job_ids);
    for (size_t i = 0; i < req->n_states; i++)
        f->states |= req->states[i] < 32 ? 1u << req->states[i] : 0;
    if (r >= 0)
        r = add_numbers(&f->uids, req->uids, req->n_uids);
    if (r >= 0)
        r = add_words(&f->partitions, req->partitions, req->n_partitions);
    if (r >= 0)
        r = add_names(&f->names, req, req->names, req->n_names);
    if (r >= 0)
        r = add_names(&f->accounts, req, req->accounts, req->n_accounts);
    if (r >= 0)
        r = add_names(&f->qos, req, req->qos, req->n_qos);
    if (r >= 0)
        r = add_words(&f->reservations, req->reservations, req->n_reservations);
    if (r >= 0)
        r = add_words(&f->sluids, req->sluids, req->n_sluids);
    return r >= 0 ? add_nodes(f, req->nodes, err) : r;
}

int jobfilter_new(const Pst__JobFilter *req, struct jobfilter **ret, struct err *err)
{
    struct jobfilter *f = calloc(1, sizeof(*f));
    int r = f ? 0 : -ENOMEM;

    if (f) {
        f->req = req;
        r = fill_filter(f, req, err);
    }
    if (r < 0) {
        (void)jobfilter_free(f); /* always NULL */
        return r;
    }
    *ret = f;
    return 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool has_word(const struct words *w, const char *word)
{
    _cleanup_free_ char *lower = w->any_case && !w->any && word ? strdup(word) : NULL;

    return w->any || (word && namemap_get(&w->set, lower ? to_lower(lower) : word));
}

/* Is any word of a comma list wanted? */
static bool has_any_of(const struct words *w, const char *list)
{
    char word[1024]; /* longer ones are no name that a filter may hold */

    while (!w->any && list && *list) {
        size_t len = strcspn(list, ",");

        if (len < sizeof(word)) {
            memcpy(word, list, len);
            word[len] = '\0';
            if (namemap_get(&w->set, word))
                return true;
        }
        list += len + (list[len] == ',');
    }
    return w->any;
}

static bool on_nodes(const struct jobfilter *f, const Pst__JobRecord *r)
{
    _cleanup_(hostlist_free) struct hostlist *have = NULL;
    bool hit = false;

    if (f->nodes.any)
        return true;
    if (!r->alloc || hostlist_parse(r->alloc->nodes, &have, NULL) < 0)
        return false;
    for (size_t i = 0; !hit && i < hostlist_count(have); i++)
        hit = namemap_get(&f->nodes.set, hostlist_nth(have, i));
    return hit;
}

bool jobfilter_id(const struct jobfilter *f, uint32_t job_id, uint32_t group_id)
{
    if (!f || !f->req->n_job_ids)
        return true;
    if (f->req->n_job_ids == 1) /* most requests; asked for each record of a chunk */
        return f->sorted[0] == job_id || (group_id && f->sorted[0] == group_id);
    return idmap_get(&f->ids, (uint64_t)job_id + 1) ||
           (group_id && idmap_get(&f->ids, (uint64_t)group_id + 1));
}

bool jobfilter_range(const struct jobfilter *f, uint32_t low, uint32_t high)
{
    size_t from = 0, to = f ? f->req->n_job_ids : 0;

    if (!to)
        return true;
    if (f->sorted[0] > high || f->sorted[to - 1] < low)
        return false;
    while (from < to) { /* the first id that is not below low */
        size_t mid = from + (to - from) / 2;

        if (f->sorted[mid] < low)
            from = mid + 1;
        else
            to = mid;
    }
    return from < f->req->n_job_ids && f->sorted[from] <= high;
}

bool jobfilter_few(const struct jobfilter *f)
{
    return f && f->req->n_job_ids && f->req->n_job_ids <= FEW_IDS;
}

bool jobfilter_uid(const struct jobfilter *f, uint32_t uid)
{
    return !f || !f->req->n_uids || idmap_get(&f->uids, (uint64_t)uid + 1);
}

bool jobfilter_state(const struct jobfilter *f, uint32_t state, uint32_t flags)
{
    return !f || !f->req->n_states || (state < 32 && f->states & 1u << state) ||
           (f->req->has_include_completing && f->req->include_completing &&
            flags & JOB_FLAG(COMPLETING));
}

bool jobfilter_by_record(const struct jobfilter *f)
{
    const Pst__JobFilter *req = f ? f->req : NULL;

    return req && (req->n_partitions || req->n_names || req->n_accounts || req->n_qos ||
                   req->n_reservations || req->nodes || req->n_sluids);
}

unsigned jobfilter_cost(const struct jobfilter *f)
{
    return f && !f->nodes.any ? 10 : 1;
}

bool jobfilter_match(const struct jobfilter *f, const Pst__JobRecord *r)
{
    return !f || (jobfilter_state(f, job_state(r), r->state_flags) && jobfilter_uid(f, r->uid) &&
                  jobfilter_id(f, r->job_id, het_group_id(r)) &&
                  has_any_of(&f->partitions, r->partition) && has_word(&f->names, r->name) &&
                  has_word(&f->accounts, r->account) && has_word(&f->qos, r->qos) &&
                  has_word(&f->sluids, r->sluid) && has_word(&f->reservations, r->reservation) &&
                  on_nodes(f, r));
}
