/* resv_use.c - access to reservations; see resv_use.h. */
#include "model/use/resv_use.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/account/assoc.h"
#include "model/kept.h"

/* By uid: the list's names were looked up before. */
static bool user_allowed(const Pst__ReservationRecord *r, uint32_t uid)
{
    const char *list = r->users ? r->users : r->groups;

    if (!list || !*list)
        return true;
    for (size_t i = 0; i < r->n_uids; i++)
        if (r->uids[i] == uid)
            return !resv_list_denies(list);
    return resv_list_denies(list);
}

static bool any_partition_allowed(const Pst__ReservationRecord *r, const char *partitions)
{
    for (const char *p = partitions; p && *p; p += strcspn(p, ","), p += *p == ',') {
        char name[256];
        size_t n = strcspn(p, ",");

        if (n >= sizeof(name))
            continue;
        memcpy(name, p, n);
        name[n] = '\0';
        if (resv_list_match(r->allowed_partitions, name) != RESV_DENIED)
            return true;
    }
    return !partitions;
}

/* An account named stands for those below it too. */
static bool account_allowed(const struct cluster *c, const char *list, const char *account)
{
    bool denies = resv_list_denies(list);
    const struct assoc *a;

    if (!list || !*list)
        return true;
    if (account && resv_list_match(list, account) == (denies ? RESV_DENIED : RESV_ALLOWED))
        return !denies;
    a = account && c->am && c->rec->name ? am_find(c->am, c->rec->name, account, NULL, NULL) : NULL;
    for (a = a ? a->parent : NULL; a; a = a->parent)
        if (a->rec->account &&
            resv_list_match(list, a->rec->account) == (denies ? RESV_DENIED : RESV_ALLOWED))
            return !denies;
    return denies;
}

bool resv_lets_in(const struct cluster *c, const Pst__ReservationRecord *r,
                  const Pst__JobRecord *job, uint32_t admin_uid, bool scheduling)
{
    if (resv_has(r, RESV_FLAG(TIME_FLOAT)))
        return false;
    if (job->uid == 0 || job->uid == admin_uid)
        return true;
    if (!user_allowed(r, job->uid) || !account_allowed(c, r->accounts, job->account))
        return false;
    return !scheduling || (resv_list_match(r->qos, job->qos) != RESV_DENIED &&
                           (!r->allowed_partitions || any_partition_allowed(r, job->partition)));
}

const char *resv_asked(const Pst__JobRecord *job)
{
    const char *list = job->req_reservation ? job->req_reservation : job->reservation;

    return list && *list ? list : NULL;
}

const Pst__ReservationRecord *resv_next_named(const struct cluster *c, const char **p,
                                              bool *ret_unknown)
{
    while (**p) {
        size_t n = strcspn(*p, ",");
        const Pst__ReservationRecord *r = n ? cluster_resv_named(c, *p, n) : NULL;

        *p += n;
        *p += **p == ',';
        if (r)
            return r;
        *ret_unknown = *ret_unknown || n > 0;
    }
    return NULL;
}

bool resv_is_named(const Pst__JobRecord *job, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = resv_asked(job); p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == len && strncasecmp(p, name, len) == 0)
            return true;
    return false;
}

static int by_ref(const void *a, const void *b)
{
    const struct resv_ref *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/* Root's and SlurmUser's jobs are attracted by those that name them, not by all. */
static bool attracts_job(const struct cluster *c, const Pst__ReservationRecord *r,
                         const Pst__JobRecord *job)
{
    return resv_has(r, RESV_FLAG(MAGNETIC)) &&
           resv_lets_in(c, r, job, job->uid ? UINT32_MAX : 0, true) &&
           (job->uid || user_allowed(r, 0));
}

size_t resv_refs(const struct cluster *c, const Pst__JobRecord *job, uint32_t admin_uid,
                 struct resv_ref *ret, bool *ret_only)
{
    const char *p = resv_asked(job);
    const Pst__ReservationRecord *r;
    bool unknown = false;
    size_t n = 0;

    *ret_only = p != NULL;
    if (!c->kept[KEPT_RESV].count)
        return 0;
    if (p) {
        while (n < RESV_REFS_MAX && (r = resv_next_named(c, &p, &unknown)))
            if (resv_lets_in(c, r, job, admin_uid, true))
                ret[n++] = (struct resv_ref){ r->resv_id, false };
        return n;
    }
    if (job->has_het_job_id)
        return 0; /* components must ask */
    for (size_t pos = 0; n < RESV_REFS_MAX && (r = cluster_next_resv(c, &pos));)
        if (attracts_job(c, r, job))
            ret[n++] = (struct resv_ref){ r->resv_id, true };
    if (n > 1)
        qsort(ret, n, sizeof(*ret), by_ref);
    return n;
}
