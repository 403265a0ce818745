/* licenses.c - see licenses.h */
#include "ctld/job/licenses.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/core/service.h"
#include "feed/licensefeed.h"
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
    .reconfigured = licenses_refresh,
    .acct_changed = licenses_refresh,
    .free = licenses_forget,
};
