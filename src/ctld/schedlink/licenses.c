/* licenses.c - see licenses.h */
#include "ctld/schedlink/licenses.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gres/licensetext.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/core/idlist.h"
#include "ctld/core/service.h"
#include "ctld/job/allocrecord.h"
#include "feed/layerhold.h"
#include "ctld/core/resourcefile.h"
#include "feed/licensefeed.h"
#include "fields.h"
#include "model/account/assoc.h"
#include "model/kept.h"

enum { RESOURCE_ABSOLUTE = 1 }; /* ResourceRecord.flags */

/* What jobs hold of it now. */
static uint64_t in_use(const struct ctld *ctld, const char *name)
{
    uint64_t sum = 0;

    for (const struct job *j = ctld->cluster->active; j; j = j->next_active)
        sum += license_text_sum(j->rec->licenses_alloc, name);
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
        log_nomem("licences stay as they were");
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

static struct license_world world_of(const struct ctld *ctld)
{
    return (struct license_world){ ctld->conf, licenses_all(ctld), ctld->resources };
}

bool licenses_exist(const struct ctld *ctld, const char *text)
{
    const struct license_world w = world_of(ctld);

    return licenses_valid(&w, text);
}

bool licenses_exist_resv(const struct ctld *ctld, const char *text)
{
    const struct license_world w = world_of(ctld);

    return licenses_valid_resv(&w, text);
}

/* The only remote licence of that name, without its server; false: there is none, or several. */
static bool find_remote(const struct ctld *ctld, const char *name, size_t len,
                        struct remote_license *ret)
{
    struct remote_license l;
    unsigned found = 0;

    for (size_t pos = 0; licenses_next_remote(ctld, &pos, &l);)
        if (strncmp(l.name, name, len) == 0 && l.name[len] == '@') {
            *ret = l;
            found++;
        }
    return found == 1;
}

/* Does it stand for a remote licence?  What this cluster has of that name itself comes first. */
static bool is_shortened(const struct ctld *ctld, const struct license_text *l,
                         struct remote_license *ret)
{
    _cleanup_free_ char *name = must(strndup(l->name, l->full_len));

    return !strpbrk(name, "@(") && !resources_find(ctld->resources, l->name, l->name_len) &&
           license_text_sum(conf_str(ctld->conf, CONF_LICENSES), name) == 0 &&
           find_remote(ctld, l->name, l->name_len, ret);
}

char *licenses_complete(const struct ctld *ctld, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const char *rest = text, *done = text;
    struct remote_license remote;
    struct license_text l;
    bool changed = false;
    char *ret = NULL;

    if (!text || !conf_option(ctld->conf, CONF_LICENSE_PARAMETERS, "RemoteFuzzyMatch", NULL, NULL))
        return NULL;
    while (license_text_next(&rest, &l)) {
        if (!is_shortened(ctld, &l, &remote))
            continue;
        strbuf_addf(&sb, "%.*s%s", (int)(l.name - done), done, remote.name);
        done = l.name + l.name_len;
        changed = true;
    }
    strbuf_add(&sb, done);
    return changed && strbuf_detach(&sb, &ret) == 0 ? ret : NULL;
}

static const struct resource_layer *default_layer(const struct resource *r)
{
    return &r->layers[r->mode == 3 ? r->nlayers - 1 : 0];
}

char *licenses_layer(const struct ctld *ctld, const struct license_text *l)
{
    const struct resource *r = resources_find(ctld->resources, l->name, l->name_len);
    char *name = NULL;

    if (!r || l->full_len != l->name_len)
        return must(strndup(l->name, l->full_len));
    if (asprintf(&name, "%s(%s)", r->name, default_layer(r)->nodes) < 0)
        must(NULL);
    return name;
}

uint64_t licenses_total(const struct ctld *ctld, const char *name)
{
    size_t len = strcspn(name, "(");
    const struct resource *r = resources_find(ctld->resources, name, len);
    size_t nodes = r && name[len] ? strlen(name + len + 1) - 1 : 0;

    for (size_t i = 0; r && i < r->nlayers; i++)
        if (strlen(r->layers[i].nodes) == nodes &&
            strncmp(r->layers[i].nodes, name + len + 1, nodes) == 0)
            return r->layers[i].total;
    return r ? 0 : license_text_sum(licenses_all(ctld), name);
}

void licenses_hold(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                   const char *request, Pst__JobRecord *set)
{
    free(set->licenses_alloc);
    free(set->layers_alloc);
    layers_held(ctld->cluster, ctld->resources, request, false, r->alloc, r->layers_alloc,
                &set->licenses_alloc, &set->layers_alloc);
    if (!set->licenses_alloc)
        tx_clear(tx, JOB_F_LICENSES_ALLOC);
    if (!set->layers_alloc && r->layers_alloc)
        tx_clear(tx, JOB_F_LAYERS_ALLOC);
    set->alloc = r->alloc; /* lent: AllocTRES counts licences */
    alloc_bill(ctld, r->partition, set->licenses_alloc, set);
    set->alloc = NULL;
}

/* ---- licences that are gone ------------------------------------------------------------------ */

/* Is there a resource or licence of that name?  A running job keeps what it holds, also where there
 * are fewer by now. */
static bool is_known(const struct ctld *ctld, const struct license_text *l)
{
    _cleanup_free_ char *one = strndup(l->name, l->name_len);

    return resources_find(ctld->resources, l->name, l->name_len) ||
           (one && licenses_exist(ctld, one));
}

/* Does the text name nothing that is gone?  What a job holds of resources is not compared with what
 * there is now. */
static bool all_known(const struct ctld *ctld, const char *text)
{
    struct license_text l;

    while (license_text_next(&text, &l))
        if (!is_known(ctld, &l))
            return false;
    return true;
}

/* A running job loses them; the caller frees what it has left, NULL for nothing. */
static char *known_part(const struct ctld *ctld, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf left = STRBUF_INIT;
    struct license_text l;
    char *ret = NULL;

    while (text && license_text_next(&text, &l))
        if (is_known(ctld, &l))
            strbuf_addf(&left, "%s%.*s", left.len ? "," : "", (int)l.len, l.name);
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
    const Pst__JobRecord *r = j->rec;

    if (job_is_pending(r))
        return !job_is_held(r) && r->licenses && *r->licenses && !licenses_exist(ctld, r->licenses);
    return !job_is_ended(r) && r->licenses_alloc && !all_known(ctld, r->licenses_alloc);
}

static bool asks_for_layers(const struct ctld *ctld, const char *text)
{
    struct license_text l;

    while (license_text_next(&text, &l))
        if (resources_find(ctld->resources, l.name, l.name_len))
            return true;
    return false;
}

static bool is_layered(const struct ctld *ctld)
{
    return ctld->resources && ctld->resources->n;
}

/* Jobs and reservations that ask for layers ask for those that are now.  Other jobs are not told
 * again: their age would count anew. */
static void feed_again(struct ctld *ctld)
{
    const Pst__ReservationRecord *r;
    void *v;

    feed_resources(ctld);
    for (size_t pos = 0; (r = cluster_next_resv(ctld->cluster, &pos));) {
        if (!r->licenses || !*r->licenses)
            continue;
        if (!licenses_exist_resv(ctld, r->licenses))
            log_error("Reservation %s has invalid licenses (%s)", r->name, r->licenses);
        feed_resv(ctld, r);
    }
    for (size_t pos = 0; is_layered(ctld) && (v = cluster_next_job(ctld->cluster, &pos));) {
        struct job *j = v;

        if (job_is_pending(j->rec) && j->rec->licenses && asks_for_layers(ctld, j->rec->licenses))
            feed_job(ctld, j);
    }
}

/* The configuration changed: jobs whose licences are gone wait, or run on without. */
static void licenses_reconfigured(struct ctld *ctld)
{
    Pst__Transaction *tx = tx_new(core_now());
    struct idlist lost = { 0 };
    size_t pos = 0;
    void *v;

    resourcefile_follow(ctld);
    licenses_refresh(ctld);
    feed_again(ctld);
    while ((v = cluster_next_job(ctld->cluster, &pos))) {
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
    resourcefile_forget(ctld);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int open_licenses(struct ctld *ctld, struct err *err)
{
    (void)err;
    licenses_refresh(ctld);
    return 0;
}

/* Before jobs are told of: they are to ask for resources. */
static int observe_licenses(struct ctld *ctld, struct err *err)
{
    (void)err;
    feed_resources(ctld);
    return 0;
}

/* Nodes of the configuration that the journal did not know are there now. */
static void licenses_recovered(struct ctld *ctld)
{
    if (is_layered(ctld))
        feed_again(ctld);
}

const struct ctld_service licenses_service = {
    .name = "licenses",
    .check = resourcefile_check,
    .open = open_licenses,
    .observe = observe_licenses,
    .recovered = licenses_recovered,
    .reconfigured = licenses_reconfigured,
    .acct_changed = licenses_refresh,
    .free = licenses_forget,
};
