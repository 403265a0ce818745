/* fedset.c - the clusters of this controller's federation; see fedset.h */
#include "ctld/policy/fedset.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/wordlist.h"

static bool is_member(const Pst__AcctClusterRecord *c)
{
    return c && !c->deleted && c->federation && c->has_fed_id && c->fed_id &&
           c->fed_id <= FED_CLUSTERS_MAX;
}

static const Pst__AcctClusterRecord *own_record(const struct ctld *ctld)
{
    const char *name = conf_str(ctld->conf, CONF_CLUSTER_NAME);

    return name ? am_cluster(ctld->cluster->am, name) : NULL;
}

uint32_t fedset_own_number(const struct ctld *ctld)
{
    const Pst__AcctClusterRecord *own = own_record(ctld);

    return is_member(own) ? own->fed_id : 0;
}

void fedset_read(const struct ctld *ctld, struct fedset *ret)
{
    const Pst__AcctClusterRecord *own = own_record(ctld), *c;
    size_t pos = 0;

    *ret = (struct fedset){ .name = NULL };
    if (!is_member(own))
        return;
    ret->name = own->federation;
    ret->self = own->fed_id;
    while ((c = (const Pst__AcctClusterRecord *)am_next(ctld->cluster->am, AM_CLUSTER, &pos)))
        if (is_member(c) && strcasecmp(c->federation, own->federation) == 0)
            ret->of[c->fed_id] = c;
}

char *fedset_text(const struct fedset *set)
{
    struct strbuf sb = STRBUF_INIT;
    char *text;

    strbuf_addf(&sb, "%s %u", set->name ? set->name : "", set->self);
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++) {
        const Pst__AcctClusterRecord *c = set->of[i];

        if (!c)
            continue;
        strbuf_addf(&sb, "\n%u %s %s %s %u %u", i, c->name,
                    c->control_addrs ? c->control_addrs : "",
                    c->control_host ? c->control_host : "", c->control_port, c->fed_state);
        for (size_t k = 0; k < c->n_features; k++)
            strbuf_addf(&sb, " %s", c->features[k]);
    }
    if (strbuf_detach(&sb, &text) < 0)
        must(NULL);
    return text;
}

uint32_t fedset_number(const struct fedset *set, const char *name)
{
    for (uint32_t i = 1; name && i <= FED_CLUSTERS_MAX; i++)
        if (set->of[i] && strcasecmp(set->of[i]->name, name) == 0)
            return i;
    return 0;
}

bool fedset_is_origin(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const char *own = conf_str(ctld->conf, CONF_CLUSTER_NAME);

    return r->fed_origin && own && strcasecmp(r->fed_origin, own) == 0;
}

bool fedset_is_orphan(const struct ctld *ctld, const struct fedset *set, const Pst__JobRecord *r)
{
    uint32_t number = fed_number_of(r->job_id);
    const Pst__AcctClusterRecord *c = set && number <= FED_CLUSTERS_MAX ? set->of[number] : NULL;

    return fed_is_job(r) && job_is_pending(r) && !r->has_fed_owner && !fedset_is_origin(ctld, r) &&
           !(c && r->fed_origin && strcasecmp(c->name, r->fed_origin) == 0);
}

bool fedset_decides(const struct ctld *ctld, const Pst__JobRecord *r, const char **ret_cluster)
{
    const Pst__AcctClusterRecord *runner;

    if (!fed_is_job(r) || job_is_ended(r))
        return true;
    if (!fedset_is_origin(ctld, r)) {
        *ret_cluster = r->fed_origin;
        return r->has_fed_owner; /* of a sibling: the right to it is this cluster's */
    }
    runner = fedset_runner(ctld, r); /* NULL when it left: nobody else can say anything */
    if (runner)
        *ret_cluster = runner->name;
    return !runner;
}

bool fedset_has_started(const struct ctld *ctld, const Pst__JobRecord *r)
{
    return fed_is_job(r) && r->has_fed_owner && job_is_pending(r) && fedset_is_origin(ctld, r) &&
           ((r->has_fed_started && r->fed_started) ||
            (job_has_flag(r, JOB_FLAG(REVOKED)) &&
             r->fed_viable & fed_bit(fed_number_of(r->job_id))));
}

const Pst__AcctClusterRecord *fedset_runner(const struct ctld *ctld, const Pst__JobRecord *r)
{
    struct fedset set;

    if (!fedset_has_started(ctld, r))
        return NULL;
    fedset_read(ctld, &set);
    return r->fed_owner <= FED_CLUSTERS_MAX ? set.of[r->fed_owner] : NULL;
}

const char *fedset_giver(const struct ctld *ctld, const char *id)
{
    struct fedset set;
    char *end;
    unsigned long number = id && *id >= '1' && *id <= '9' ? strtoul(id, &end, 10) : 0;

    fedset_read(ctld, &set);
    number = set.name && number <= UINT32_MAX ? fed_number_of((uint32_t)number) : 0;
    return number && number <= FED_CLUSTERS_MAX && number != set.self && set.of[number]
               ? set.of[number]->name
               : NULL;
}

void fedset_refer(Pst__JobActionResult *res, const char *cluster)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "Cluster %s of the federation has this job: ask that cluster", cluster);
    free(res->text);
    res->text = tx_strdup(strbuf_str(&text));
    res->cluster = tx_strdup(cluster);
}

static bool has_feature(const Pst__AcctClusterRecord *c, const char *list)
{
    for (size_t i = 0; i < c->n_features; i++)
        if (wordlist_has_nocase(list, c->features[i]))
            return true;
    return false;
}

static bool takes_jobs(const Pst__AcctClusterRecord *c)
{
    return !c->has_fed_state || c->fed_state == FED_STATE_ACTIVE;
}

uint64_t fedset_viable(const struct fedset *set, const char *clusters, const char *features)
{
    bool none = features && *features == '!';
    bool any = !clusters || !*clusters || wordlist_has_nocase(clusters, "all");
    uint64_t mask = 0;

    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++) {
        const Pst__AcctClusterRecord *c = set->of[i];

        if (!c || !takes_jobs(c) || (!any && !wordlist_has_nocase(clusters, c->name)))
            continue;
        if (features && *features && has_feature(c, features + none) == none)
            continue;
        mask |= fed_bit(i);
    }
    return mask;
}

char *fedset_names(const struct fedset *set, uint64_t mask)
{
    struct strbuf sb = STRBUF_INIT;
    char *text;

    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++)
        if (mask & fed_bit(i) && set->of[i])
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", set->of[i]->name);
    if (strbuf_detach(&sb, &text) < 0)
        must(NULL);
    return text;
}

/* Each cluster that will be told counts as having the job, before it is told. */
static void expect_copies(const struct fedset *set, Pst__JobRecord *r, uint64_t viable)
{
    r->fed_copies = must(calloc(FED_CLUSTERS_MAX, sizeof(Pst__FedCopy *)));
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++) {
        Pst__FedCopy *c;

        if (i == set->self || !(viable & fed_bit(i)))
            continue;
        c = must(malloc(sizeof(*c)));
        pst__fed_copy__init(c);
        SET(c, cluster, i);
        SET(c, present, true);
        r->fed_copies[r->n_fed_copies++] = c;
    }
}

int fedset_keep(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const char *features = r->cluster_features;
    bool none = features && *features == '!';
    struct fedset set;

    if (!features || !*features)
        return 0;
    fedset_read(ctld, &set);
    return set.name && has_feature(set.of[set.self], features + none) == none
               ? ESLURM_INVALID_CLUSTER_FEATURE
               : 0;
}

int fedset_fill(const struct ctld *ctld, Pst__JobRecord *r)
{
    struct fedset set;
    uint64_t viable;

    fedset_read(ctld, &set);
    if (!set.name)
        return 0;
    viable = fedset_viable(&set, r->clusters, r->cluster_features);
    if (!viable)
        return r->cluster_features ? ESLURM_INVALID_CLUSTER_FEATURE : ESLURM_INVALID_CLUSTER_NAME;
    SET(r, fed_viable, viable);
    SET(r, fed_version, 1);
    expect_copies(&set, r, viable);
    r->fed_origin = tx_strdup(set.of[set.self]->name);
    r->fed_siblings_viable = fedset_names(&set, viable);
    if (viable & fed_bit(set.self))
        r->fed_siblings_active = tx_strdup(set.of[set.self]->name);
    else
        SET(r, state_flags, JOB_FLAG(REVOKED));
    return 0;
}
