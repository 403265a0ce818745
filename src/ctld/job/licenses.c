/* licenses.c - see licenses.h */
#include "ctld/job/licenses.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/core/idlist.h"
#include "ctld/core/service.h"
#include "ctld/job/allocrecord.h"
#include "feed/licensefeed.h"
#include "fields.h"
#include "model/account/assoc.h"

enum { RESOURCE_ABSOLUTE = 1 }; /* ResourceRecord.flags */

/* What jobs hold of it now. */
static uint64_t in_use(const struct ctld *ctld, const char *name)
{
    uint64_t sum = 0;

    for (const struct job *j = ctld->cluster->active; j; j = j->next_active) {
        _cleanup_free_ char *copy = j->rec->licenses_alloc ? strdup(j->rec->licenses_alloc) : NULL;
        struct license_list list;

        if (!copy || !licenses_parse(copy, &list))
            continue;
        for (size_t i = 0; i < list.n; i++)
            if (strcmp(list.items[i].name, name) == 0)
                sum += list.items[i].count;
        free(list.items);
    }
    return sum;
}

/* This cluster's part of a resource. */
static bool part_of(const struct ctld *ctld, const Pst__ResourceRecord *r, uint64_t *ret)
{
    const char *cluster = conf_str(ctld->conf, CONF_CLUSTER_NAME);

    for (size_t i = 0; i < r->n_shares; i++) {
        if (!r->shares[i]->cluster || strcmp(r->shares[i]->cluster, cluster) != 0)
            continue;
        *ret = r->flags & RESOURCE_ABSOLUTE ? r->shares[i]->allowed
                                            : (uint64_t)r->count * r->shares[i]->allowed / 100;
        return true;
    }
    return false;
}

bool licenses_next_remote(const struct ctld *ctld, size_t *pos, struct remote_license *ret)
{
    const ProtobufCMessage *m;

    while ((m = am_next(ctld->cluster->am, AM_RESOURCE, pos))) {
        const Pst__ResourceRecord *r = (const Pst__ResourceRecord *)m;
        uint64_t total, others, elsewhere;

        if (!r->name || !r->server || !part_of(ctld, r, &total))
            continue;
        *ret =
            (struct remote_license){ .total = total,
                                     .last_consumed = r->last_consumed,
                                     .update_us = r->modified_us ? r->modified_us : r->created_us };
        (void)snprintf(ret->name, sizeof(ret->name), "%s@%s", r->name, r->server);
        elsewhere =
            r->count - MIN(total, r->count); /* what is not ours may be in use without harm */
        others = r->last_consumed - MIN(in_use(ctld, ret->name), r->last_consumed);
        ret->deficit = others - MIN(elsewhere, others);
        return true;
    }
    return false;
}

void licenses_refresh(struct ctld *ctld)
{
    const char *local = conf_str(ctld->conf, CONF_LICENSES);
    struct strbuf all = STRBUF_INIT;
    struct remote_license l;
    char *text;

    strbuf_add(&all, local ? local : "");
    for (size_t pos = 0; licenses_next_remote(ctld, &pos, &l);)
        strbuf_addf(&all, "%s%s:%llu", all.len ? "," : "", l.name,
                    (unsigned long long)(l.total - MIN(l.deficit, l.total)));
    if (strbuf_detach(&all, &text) < 0) {
        log_error("out of memory: licences stay as they were");
        return;
    }
    if (ctld->licenses && strcmp(text, ctld->licenses) == 0) {
        free(text);
        return;
    }
    free(ctld->licenses);
    ctld->licenses = text;
    feed_licenses(ctld, text);
}

void licenses_hold(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                   const char *request, Pst__JobRecord *set)
{
    char *granted = request ? licenses_granted(request) : NULL;

    free(set->licenses_alloc);
    set->licenses_alloc = granted;
    if (!granted)
        tx_clear(tx, JOB_F_LICENSES_ALLOC);
    set->alloc = r->alloc; /* lent: AllocTRES counts licences */
    alloc_bill(ctld, r->partition, granted, set);
    set->alloc = NULL;
}

/* ---- licences that are gone ------------------------------------------------------------------ */

/* A running job loses them; the caller frees what it has left, NULL for nothing. */
static char *known_part(const struct ctld *ctld, const char *text)
{
    _cleanup_free_ char *copy = strdup(text);
    _cleanup_val_(strbuf_done) struct strbuf left = STRBUF_INIT;
    char *save = NULL, *ret = NULL;

    for (char *w = copy ? strtok_r(copy, ",;|", &save) : NULL; w; w = strtok_r(NULL, ",;|", &save))
        if (licenses_valid(ctld->conf, licenses_all(ctld), w))
            strbuf_addf(&left, "%s%s", left.len ? "," : "", w);
    return left.len && strbuf_detach(&left, &ret) == 0 ? ret : NULL;
}

static void take_away(struct ctld *ctld, Pst__Transaction *tx, const struct job *j)
{
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);

    set->licenses = known_part(ctld, j->rec->licenses_alloc);
    if (!set->licenses)
        tx_clear(tx, JOB_F_LICENSES);
    licenses_hold(ctld, tx, j->rec, set->licenses, set);
}

/* A waiting job is held until somebody asks for others. */
static void hold_back(Pst__Transaction *tx, const struct job *j)
{
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "License request '%s' is no longer valid, holding job", j->rec->licenses);
    SET(set, priority, 0);
    SET(set, held_by_user, false);
    SET(set, reason, PST__JOB_REASON__REASON_JOB_HELD_ADMIN);
    (void)pb_set_str(&set->reason_text, strbuf_str(&text)); /* -ENOMEM: the word alone */
}

/* Does the job wait for, or hold, what is not there any more? */
static bool misses_any(const struct ctld *ctld, const struct job *j)
{
    const char *text = job_is_pending(j->rec) ? (job_is_held(j->rec) ? NULL : j->rec->licenses)
                       : job_is_ended(j->rec) ? NULL
                                              : j->rec->licenses_alloc;

    return text && *text && !licenses_valid(ctld->conf, licenses_all(ctld), text);
}

/* The configuration changed: jobs whose licences are gone wait, or run on without. */
static void licenses_reconfigured(struct ctld *ctld)
{
    Pst__Transaction *tx = tx_new(core_now());
    struct idlist lost = { 0 };
    size_t pos = 0;
    void *v;

    licenses_refresh(ctld);
    while ((v = idmap_next(&ctld->cluster->jobs, &pos))) {
        const struct job *j = v;

        if (!misses_any(ctld, j))
            continue;
        idlist_push(&lost, j->rec->job_id);
        if (job_is_pending(j->rec))
            hold_back(tx, j);
        else
            take_away(ctld, tx, j);
    }
    if (!lost.n)
        tx_free(tx);
    else if (!core_commit(ctld, tx))
        log_error("the journal is full: jobs keep licences that are gone");
    for (size_t i = 0; i < lost.n; i++) {
        const struct job *j = cluster_job(ctld->cluster, lost.ids[i]);

        if (j && !job_is_pending(j->rec) && !job_is_ended(j->rec))
            feed_held_licenses(ctld, j);
    }
    free(lost.ids);
}

void licenses_forget(struct ctld *ctld)
{
    free(ctld->licenses);
    ctld->licenses = NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int open_licenses(struct ctld *ctld, struct err *err)
{
    (void)err;
    licenses_refresh(ctld);
    return 0;
}

const struct ctld_service licenses_service = {
    .name = "licenses",
    .open = open_licenses,
    .reconfigured = licenses_reconfigured,
    .acct_changed = licenses_refresh,
    .free = licenses_forget,
};
