/* op_resv.c - making, changing and deleting reservations
 *
 * A request becomes a whole record, which is checked and given its nodes before anything is
 * written: a refused one changes nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/policy/policy.h"
#include "ctld/job/jobfacts.h"
#include "ctld/resv/resv.h"
#include "ctld/topology/topoexpand.h"
#include "feed/limitrecords.h"
#include "ctld/core/service.h"
#include "model/account/assoc.h"
#include "sched/base/constraint.h"

#define PAST_GRACE_US (600 * USEC_PER_SEC) /* a start may lie so far back */
#define UNLIMITED_MIN (365u * 24 * 60)
#define MAX_RESV_ID 9999u
#define LAST_US (INT64_C(253402300799) * USEC_PER_SEC) /* the end of the year 9999 */

struct change { /* a request on its way to a record */
    struct ctld *ctld;
    const Pst__ResvRequest *req;
    const Pst__ReservationRecord *old; /* NULL when it is made */
    Pst__ReservationRecord *rec;       /* owned */
    int64_t now_us;
    struct err err;
    bool nodes_asked; /* choose anew */
    bool keep;        /* of the nodes it has what may stay */
    bool counted;     /* another number of nodes for one that exists */
};

static bool edits_access(const Pst__ResvRequest *q)
{
    return q->set && (q->set->users || q->set->groups || q->set->accounts || q->set->qos ||
                      q->set->allowed_partitions);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* "alice_3": of the first account, user or group. */
static char *make_name(const Pst__ReservationRecord *r)
{
    const char *list = r->accounts ? r->accounts : r->users ? r->users : r->groups;
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    if (list && *list == '-')
        list++;
    if (list)
        strbuf_addf(&sb, "%.*s_%u", (int)strcspn(list, ","), list, r->resv_id);
    else
        strbuf_addf(&sb, "resv_%u", r->resv_id);
    if (strbuf_detach(&sb, &text) < 0)
        text = NULL;
    return text;
}

static uint32_t next_id(const struct ctld *ctld)
{
    uint32_t first = ctld->cluster->rec->next_resv_id, id;

    id = first = first ? first : 1;
    while (cluster_resv(ctld->cluster, id)) {
        id = id >= MAX_RESV_ID ? 1 : id + 1;
        if (id == first)
            return 0;
    }
    return id;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* From 1970 to 9999: no sum of two overflows, and few steps lead from one occurrence to today's. */
static bool time_is_good(int64_t us)
{
    return us >= 0 && us <= LAST_US;
}

static int set_times(struct change *c)
{
    const Pst__ResvRequest *q = c->req;
    Pst__ReservationRecord *r = c->rec;
    int64_t length = c->old ? c->old->end_us - c->old->start_us : 0;
    bool has_start = q->set && q->set->has_start_us, has_end = q->set && q->set->has_end_us;

    if (c->old && has_start && resv_is_active(c->old, c->now_us))
        return ESLURM_RSV_ALREADY_STARTED;
    if (!c->old && !has_start)
        return ESLURM_INVALID_TIME_VALUE;
    if ((has_start && !time_is_good(q->set->start_us)) ||
        (has_end && !time_is_good(q->set->end_us)))
        return ESLURM_INVALID_TIME_VALUE;
    if (has_start)
        SET(r, start_us, q->set->start_us);
    if (q->has_duration_min)
        length = (int64_t)(q->duration_min == UINT32_MAX ? UNLIMITED_MIN : q->duration_min) * 60 *
                 USEC_PER_SEC;
    if (q->has_duration_change_min)
        length += (int64_t)q->duration_change_min * 60 * USEC_PER_SEC;
    if (has_end)
        SET(r, end_us, q->set->end_us);
    if (q->has_duration_min || q->has_duration_change_min || (c->old && has_start && !has_end))
        SET(r, end_us, r->start_us + length);
    if (!r->has_end_us || r->end_us <= r->start_us || !time_is_good(r->end_us))
        return ESLURM_INVALID_TIME_VALUE;
    if (c->old && r->end_us <= c->now_us && !resv_has(r, RESV_RECURS))
        return ESLURM_INVALID_TIME_VALUE;
    if (resv_has(r, RESV_FLAG(TIME_FLOAT))) {
        int64_t float_s = MAX(r->start_us - c->now_us, 0) / USEC_PER_SEC;

        if (float_s > UINT32_MAX)
            return ESLURM_INVALID_TIME_VALUE;
        if (has_start)
            SET(r, float_s, (uint32_t)float_s);
        return 0;
    }
    if (has_start && resv_has(r, RESV_FLAG(FORCE_START)) && resv_has(r, RESV_RECURS))
        return r->end_us < c->now_us - PAST_GRACE_US ? ESLURM_INVALID_TIME_VALUE : 0;
    return has_start && r->start_us < c->now_us - PAST_GRACE_US ? ESLURM_INVALID_TIME_VALUE : 0;
}

/* ---- flags ----------------------------------------------------------------------------------- */

static int set_flags(struct change *c)
{
    const uint64_t known = (UINT64_C(1) << (PST__RESV_FLAG__RESV_FLAG_FORCE_START + 1)) - 1;
    const Pst__ResvRequest *q = c->req;
    uint64_t add = q->has_flags_set ? q->flags_set & known : 0,
             cut = q->has_flags_clear ? q->flags_clear & known : 0;
    uint64_t flags = c->rec->has_flags ? c->rec->flags : 0, recurs;

    if (c->old && ((add ^ flags) & add & RESV_FLAG(TIME_FLOAT)))
        return err_set(&c->err, ESLURM_NOT_SUPPORTED,
                       "TIME_FLOAT cannot be given to a reservation that exists");
    for (unsigned i = 0; i < 64; i++)
        if ((cut >> i & 1) && !resv_flag_removable(UINT64_C(1) << i))
            return err_set(&c->err, ESLURM_NOT_SUPPORTED, "the flag %s cannot be taken away",
                           resv_flag_name(i) ? resv_flag_name(i) : "?");
    add &= ~(RESV_FLAG(SPEC_NODES) | RESV_FLAG(ALL_NODES)); /* made from Nodes= */
    if (add & RESV_RECURS)
        flags &= c->old ? ~RESV_RECURS : flags; /* another recurrence in place of the old one */
    flags = (flags & ~cut) | add;
    recurs = flags & RESV_RECURS;
    if (recurs & (recurs - 1))
        return err_set(
            &c->err, ESLURM_NOT_SUPPORTED,
            "Reservation has multiple reoccurring flags. Please specify only one reoccurring flag");
    if (recurs && (flags & RESV_FLAG(TIME_FLOAT)))
        return err_set(&c->err, ESLURM_NOT_SUPPORTED, "a reservation that floats cannot recur");
    if ((flags & RESV_FLAG(FORCE_START)) && !recurs)
        return err_set(&c->err, ESLURM_NOT_SUPPORTED, "FORCE_START is for reservations that recur");
    if ((flags & (RESV_FLAG(REPLACE) | RESV_FLAG(REPLACE_DOWN))) &&
        ((flags & (RESV_FLAG(STATIC) | RESV_FLAG(MAINT))) || (c->req->set && c->req->set->nodes) ||
         (c->req->set && c->req->set->has_want_cores)))
        return err_set(&c->err, ESLURM_INVALID_NODE_NAME,
                       "REPLACE or REPLACE_DOWN flags should be used with the NodeCnt reservation "
                       "option; do not specify Nodes");
    if (flags)
        SET(c->rec, flags, flags);
    else
        c->rec->has_flags = false;
    if ((flags & RESV_FLAG(PURGE_COMP)) && !c->rec->has_purge_comp_s)
        SET(c->rec, purge_comp_s, RESV_PURGE_DEFAULT_S);
    return 0;
}

/* ---- access ---------------------------------------------------------------------------------- */

/* unknown: the code when a name is taken away that is not in the list, and of mixed signs; a list
 * that is new with mixed signs is no error of a name. */
static int edit_list(char **field, const char *text, bool has_how, Pst__ListEdit how, int unknown)
{
    char *edited = NULL;

    if (!has_how)
        how = PST__LIST_EDIT__LIST_SET;
    if (!text)
        return 0;
    if (resv_list_edit(*field, text, how, &edited, NULL) < 0)
        return how == PST__LIST_EDIT__LIST_REMOVE || *field ? unknown : SLURM_ERROR;
    free(*field);
    *field = edited;
    return 0;
}

struct account_check {
    const struct ctld *ctld;
    const char *users; /* each must be of the account; NULL = none is named */
};

static bool account_is_known(void *ctx, const char *account)
{
    const struct account_check *k = ctx;
    const char *cluster = conf_str(k->ctld->conf, CONF_CLUSTER_NAME);
    bool known = am_find(k->ctld->cluster->am, cluster, account, NULL, NULL) != NULL;

    for (const char *p = k->users; known && p && *p; p += strcspn(p, ","), p += *p == ',') {
        _cleanup_free_ char *user = strndup(p, strcspn(p, ","));

        known = user && am_find(k->ctld->cluster->am, cluster, account, user, NULL);
    }
    return known;
}

/* Accounts that accounting does not know would shut everybody out, and so would accounts that the
 * users named beside them have not. */
static int check_accounts(const struct change *c)
{
    const Pst__ReservationRecord *r = c->rec;
    struct account_check k = { c->ctld, r->users && *r->users != '-' ? r->users : NULL };

    if (!r->accounts || !policy_has_records(c->ctld))
        return 0;
    for (const char *p = r->accounts; *p; p += strcspn(p, ","), p += *p == ',') {
        bool deny = *p == '-';
        _cleanup_free_ char *account = strndup(p + deny, strcspn(p, ",") - deny);
        struct account_check one = { k.ctld, deny ? NULL : k.users };

        if (!account || !account_is_known(&one, account))
            return ESLURM_INVALID_ACCOUNT;
    }
    return 0;
}

/* Where jobs need an association, a user without one could not use it. */
static int check_associations(const struct change *c)
{
    const char *cluster = conf_str(c->ctld->conf, CONF_CLUSTER_NAME);

    if (!(limits_enforced(c->ctld->conf) & ENFORCE_ASSOCS))
        return 0;
    for (const char *p = c->rec->users; p && *p; p += strcspn(p, ","), p += *p == ',') {
        _cleanup_free_ char *user = strndup(p + (*p == '-'), strcspn(p, ",") - (*p == '-'));
        const struct assoc *a = user ? am_of_user(c->ctld->cluster->am, user) : NULL;

        while (a && a->rec->cluster && strcmp(a->rec->cluster, cluster) != 0)
            a = a->next_of_user;
        if (!a)
            return ESLURM_INVALID_ACCOUNT;
    }
    return 0;
}

static int set_access(struct change *c)
{
    const Pst__ResvRequest *q = c->req;
    const Pst__ReservationRecord *s = q->set;
    Pst__ReservationRecord *r = c->rec;
    int code = 0;

    if (!s)
        return 0;
    if (!(code = edit_list(&r->users, s->users, q->has_users_edit, q->users_edit,
                           ESLURM_USER_ID_MISSING)) &&
        !(code = edit_list(&r->groups, s->groups, q->has_groups_edit, q->groups_edit,
                           ESLURM_GROUP_ID_MISSING)) &&
        !(code = edit_list(&r->accounts, s->accounts, q->has_accounts_edit, q->accounts_edit,
                           ESLURM_INVALID_ACCOUNT)) &&
        !(code = edit_list(&r->qos, s->qos, q->has_qos_edit, q->qos_edit, ESLURM_INVALID_QOS)))
        code = edit_list(&r->allowed_partitions, s->allowed_partitions, q->has_partitions_edit,
                         q->partitions_edit, ESLURM_INVALID_PARTITION_NAME);
    if (code != 0)
        return code;
    if (r->users && r->groups)
        return ESLURM_RESERVATION_USER_GROUP;
    if (!r->users && !r->groups && !r->accounts && !r->qos && !r->allowed_partitions)
        return ESLURM_RESERVATION_EMPTY;
    for (const char *p = r->allowed_partitions; p && *p; p += strcspn(p, ","), p += *p == ',') {
        _cleanup_free_ char *name = strndup(p + (*p == '-'), strcspn(p, ",") - (*p == '-'));

        if (!name || !cluster_partition(c->ctld->cluster, name))
            return ESLURM_INVALID_PARTITION_NAME;
    }
    if ((s->users || s->groups) && !resv_resolve(r))
        return SLURM_ERROR;
    code = check_associations(c); /* also of those who were named before, and are gone */
    return code ? code : check_accounts(c);
}

/* Refuse a change by which a job that uses the reservation would lose access to it. */
static int check_users(struct change *c)
{
    uint32_t first = 0;
    void *v;

    if (!c->old || !edits_access(c->req))
        return 0;
    for (size_t pos = 0; (v = cluster_next_job(c->ctld->cluster, &pos));) {
        const struct job *j = v;
        bool runs = !job_is_pending(j->rec) && !job_is_ended(j->rec) && j->rec->has_resv_id &&
                    j->rec->resv_id == c->old->resv_id;

        if (!runs && !(job_is_pending(j->rec) && resv_is_named(j->rec, c->old->name)))
            continue;
        if ((!first || j->rec->job_id < first) && resv_access(c->ctld, c->old, j->rec, true) == 0 &&
            resv_access(c->ctld, c->rec, j->rec, true) != 0)
            first = j->rec->job_id;
    }
    return first ? err_set(&c->err, ESLURM_RESERVATION_BUSY,
                           "Reservation update rejected because of JobId=%u", first)
                 : 0;
}

/* ---- resources ------------------------------------------------------------------------------- */

/* "2,4" -> 6; the parts are of no concern where the network is flat. */
static bool sum_counts(const char *text, uint32_t *ret)
{
    uint64_t sum = 0;

    for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',') {
        char word[32];
        size_t n = strcspn(p, ",");
        uint64_t one;

        if (n == 0 || n >= sizeof(word))
            return false;
        memcpy(word, p, n);
        word[n] = '\0';
        if (size_count_parse(word, &one, NULL) < 0)
            return false;
        sum += one;
        if (sum > UINT32_MAX - 1)
            return false;
    }
    *ret = (uint32_t)sum;
    return true;
}

/* Nodes= of an update may take from or add to what there is. */
static int edit_nodes(struct change *c, const char *text, Pst__ListEdit how)
{
    _cleanup_(hostlist_free) struct hostlist *now = NULL, *list = NULL;
    _cleanup_free_ char *expanded = NULL;
    char *folded = NULL;

    if (topology_expand(c->ctld, text, &expanded) < 0 ||
        hostlist_parse(how != PST__LIST_EDIT__LIST_SET ? c->rec->nodes : "", &now, NULL) < 0 ||
        hostlist_parse_most(expanded, HOSTLIST_MAX_NODES, &list, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    for (size_t i = 0; i < hostlist_count(list); i++) {
        const char *name = hostlist_nth(list, i);

        if (!cluster_node_named(c->ctld->cluster, name))
            return ESLURM_INVALID_NODE_NAME;
        if (how == PST__LIST_EDIT__LIST_REMOVE)
            (void)hostlist_remove(now, name); /* one it does not have is no loss */
        else if (hostlist_push(now, name) < 0)
            return SLURM_ERROR;
    }
    if (!hostlist_count(now))
        return ESLURM_INVALID_NODE_NAME;
    hostlist_uniq(now);
    if (hostlist_fold(now, &folded) < 0)
        return SLURM_ERROR;
    free(c->rec->nodes);
    c->rec->nodes = folded;
    return 0;
}

/* The words of "+a,-b[1-2]" with the sign `how`; a word without one has that of the word before. */
static int edit_words(struct change *c, const char *text, Pst__ListEdit how)
{
    Pst__ListEdit sign = PST__LIST_EDIT__LIST_ADD;
    int code = 0;

    for (const char *p = text; *p && code == 0; p += *p == ',') {
        const char *start = p + (*p == '+' || *p == '-');
        _cleanup_free_ char *word = NULL;
        unsigned depth = 0;

        if (start > p)
            sign = *p == '+' ? PST__LIST_EDIT__LIST_ADD : PST__LIST_EDIT__LIST_REMOVE;
        for (p = start; *p && (*p != ',' || depth); p++) {
            if (*p == '[')
                depth++;
            else if (*p == ']' && depth)
                depth--;
        }
        word = strndup(start, (size_t)(p - start));
        if (!word)
            code = SLURM_ERROR;
        else if (sign == how)
            code = edit_nodes(c, word, how);
    }
    return code;
}

static int set_nodes(struct change *c, const char *text)
{
    Pst__ReservationRecord *r = c->rec;
    uint64_t flags =
        (r->has_flags ? r->flags : 0) & ~(RESV_FLAG(SPEC_NODES) | RESV_FLAG(ALL_NODES));
    Pst__ListEdit how = c->req->has_nodes_edit ? c->req->nodes_edit : PST__LIST_EDIT__LIST_SET;
    int code = 0;

    c->nodes_asked = true;
    r->has_want_nodes = r->has_want_nodes && c->req->set->has_want_nodes;
    if (!*text) { /* let go of the list: others may come */
        if (!r->has_want_nodes && r->has_node_cnt)
            SET(r, want_nodes, r->node_cnt);
        c->keep = true;
    } else if (strcasecmp(text, "ALL") == 0) {
        flags |= RESV_FLAG(SPEC_NODES) | (flags & RESV_FLAG(PART_NODES) ? 0 : RESV_FLAG(ALL_NODES));
    } else {
        bool words = how == PST__LIST_EDIT__LIST_SET && (*text == '+' || *text == '-');

        /* what comes first: the last node may be the one that goes */
        code = words ? edit_words(c, text, PST__LIST_EDIT__LIST_ADD) : edit_nodes(c, text, how);
        if (words && code == 0)
            code = edit_words(c, text, PST__LIST_EDIT__LIST_REMOVE);
        flags |= RESV_FLAG(SPEC_NODES);
    }
    if (flags)
        SET(r, flags, flags);
    else
        r->has_flags = false;
    return code;
}

/* TRES= overrides the keys for single kinds; licences and burst buffers go to their own fields. */
static int set_tres(struct change *c, const char *text)
{
    _cleanup_free_ char *copy = strdup(text);
    struct strbuf rest = STRBUF_INIT, lic = STRBUF_INIT;
    char *save = NULL;
    int code = 0;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w && code == 0;
         w = strtok_r(NULL, ",", &save)) {
        char *value = strchr(w, '=');
        uint64_t n;

        if (!value || size_count_parse(value + 1, &n, NULL) < 0 || n > UINT32_MAX)
            code = ESLURM_INVALID_TRES;
        else if (strncmp(w, "cpu=", 4) == 0 && c->old && c->old->n_cores)
            code = ESLURM_CORE_RESERVATION_UPDATE; /* it is CoreCnt= */
        else if (strncmp(w, "license/", 8) == 0)
            strbuf_addf(&lic, "%s%.*s:%llu", lic.len ? "," : "", (int)(value - w - 8), w + 8,
                        (unsigned long long)n);
        else if (strncmp(w, "cpu=", 4) == 0 || strncmp(w, "node=", 5) == 0 ||
                 strncmp(w, "gres/", 5) == 0)
            strbuf_addf(&rest, "%s%s", rest.len ? "," : "", w);
        else
            code = ESLURM_INVALID_TRES;
    }
    if (code == 0 && c->req->has_tres_per_node && c->req->tres_per_node && !c->rec->has_want_nodes)
        code = ESLURM_INVALID_TRES;
    if (code == 0 && lic.len && !rest.len && !resv_has(c->rec, RESV_FLAG(ANY_NODES)) &&
        !c->rec->nodes && !(c->req->set->nodes && *c->req->set->nodes) && !c->rec->has_want_nodes)
        code = ESLURM_INVALID_NODE_NAME; /* of which nodes? */
    if (code == 0) {
        free(c->rec->want_tres);
        c->rec->want_tres = NULL;
        c->rec->has_want_cores = false;
        if ((rest.len && strbuf_detach(&rest, &c->rec->want_tres) < 0) ||
            (lic.len && pb_set_str(&c->rec->licenses, strbuf_str(&lic)) < 0))
            code = SLURM_ERROR;
        c->nodes_asked = true;
    }
    strbuf_done(&rest);
    strbuf_done(&lic);
    return code;
}

/* TRESPerNode=: so much of each. */
static int multiply_tres(struct change *c)
{
    Pst__ReservationRecord *r = c->rec;
    _cleanup_free_ char *copy = r->want_tres ? strdup(r->want_tres) : NULL;
    struct strbuf sb = STRBUF_INIT;
    char *save = NULL, *text = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        char *value = strchr(w, '=');
        uint64_t n = 0;

        if (!value || size_count_parse(value + 1, &n, NULL) < 0)
            continue;
        strbuf_addf(&sb, "%s%.*s=%llu", sb.len ? "," : "", (int)(value - w), w,
                    (unsigned long long)n * r->want_nodes);
    }
    if (strbuf_detach(&sb, &text) < 0)
        return SLURM_ERROR;
    free(r->want_tres);
    r->want_tres = text;
    return 0;
}

static bool features_parse(const char *text)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;

    return constraint_parse(text, &f, NULL) == 0;
}

static int set_resources(struct change *c)
{
    const Pst__ReservationRecord *s = c->req->set;
    Pst__ReservationRecord *r = c->rec;
    int code = 0;

    if (!s)
        return 0;
    if (s->partition) {
        if (!cluster_partition(c->ctld->cluster, s->partition))
            return ESLURM_INVALID_PARTITION_NAME;
        (void)pb_set_str(&r->partition, s->partition);
    }
    if (s->features && *s->features && !features_parse(s->features))
        return ESLURM_INVALID_FEATURE;
    if (s->features)
        (void)pb_set_str(&r->features, *s->features ? s->features : NULL);
    if (s->features)
        c->nodes_asked = true;
    if (s->licenses)
        (void)pb_set_str(&r->licenses, *s->licenses ? s->licenses : NULL);
    if (s->burst_buffer) /* a word that is shown: nothing holds burst buffers back */
        (void)pb_set_str(&r->burst_buffer, *s->burst_buffer ? s->burst_buffer : NULL);
    if (s->want_node_cnts) {
        uint32_t n;

        if (!sum_counts(s->want_node_cnts, &n))
            return ESLURM_INVALID_NODE_COUNT;
        SET(r, want_nodes, n);
        (void)pb_set_str(&r->want_node_cnts, s->want_node_cnts);
        c->nodes_asked = c->keep = true;
        c->counted = c->old != NULL;
    }
    if (s->has_want_cores) {
        if (c->old && c->old->n_cores)
            return ESLURM_CORE_RESERVATION_UPDATE;
        SET(r, want_cores, s->want_cores);
        c->nodes_asked = true;
    }
    if (s->want_tres)
        code = set_tres(c, s->want_tres);
    if (code == 0 && c->req->has_tres_per_node && c->req->tres_per_node)
        code = multiply_tres(c);
    if (code == 0 && s->nodes && !(c->old && s->want_node_cnts))
        code = set_nodes(c, s->nodes);
    if (code == 0 && resv_has(r, RESV_FLAG(PART_NODES)) &&
        (!r->partition || !resv_has(r, RESV_FLAG(SPEC_NODES) | RESV_FLAG(ALL_NODES))))
        return err_set(&c->err, ESLURM_NOT_SUPPORTED,
                       "PART_NODES needs PartitionName= and Nodes=ALL");
    return code;
}

/* Is there anything to reserve? */
static bool asks_for_something(const Pst__ReservationRecord *r)
{
    return r->licenses || r->has_want_nodes || r->has_want_cores || r->want_tres ||
           resv_has(r, RESV_FLAG(SPEC_NODES) | RESV_FLAG(ALL_NODES) | RESV_FLAG(PART_NODES));
}

/* Nodes for what is asked, or a look whether those it has still do. */
static int place_resv(struct change *c)
{
    Pst__ReservationRecord *r = c->rec;
    bool moved = c->old && (r->start_us != c->old->start_us || r->end_us != c->old->end_us ||
                            r->flags != c->old->flags);
    int code = resv_licenses_fit(c->ctld, r, c->now_us);

    if (code != 0)
        return code;
    if (!c->old && !c->nodes_asked && !r->licenses && !resv_has(r, RESV_FLAG(PART_NODES)))
        return ESLURM_NODES_BUSY;
    if (!c->old && !c->nodes_asked && !resv_has(r, RESV_FLAG(PART_NODES)))
        SET(r, flags, (r->has_flags ? r->flags : 0) | RESV_FLAG(ANY_NODES));
    if (c->counted) { /* another number of nodes, though the flag tells of the list it began with */
        uint64_t named = r->flags & (RESV_FLAG(SPEC_NODES) | RESV_FLAG(ALL_NODES));

        r->flags &= ~named;
        code = resv_pick(c->ctld, r, c->keep, c->now_us);
        r->flags |= named;
        return code;
    }
    if (c->nodes_asked || !c->old)
        return resv_pick(c->ctld, r, c->keep, c->now_us);
    if (moved &&
        (r->start_us < c->old->start_us || r->end_us > c->old->end_us ||
         resv_has(r, RESV_RECURS)) &&
        !r->n_cores)
        return resv_pick(c->ctld, r, true, c->now_us);
    return c->req->set && c->req->set->licenses ? resv_pick(c->ctld, r, true, c->now_us) : 0;
}

/* ---- putting it together --------------------------------------------------------------------- */

static int set_texts(struct change *c)
{
    const Pst__ReservationRecord *s = c->req->set;
    Pst__ReservationRecord *r = c->rec;

    if (!s)
        return 0;
    if (s->comment)
        (void)pb_set_str(&r->comment, *s->comment ? s->comment : NULL);
    if (s->has_max_start_delay_s && s->max_start_delay_s)
        SET(r, max_start_delay_s, s->max_start_delay_s);
    else if (s->has_max_start_delay_s)
        r->has_max_start_delay_s = false;
    if (s->has_purge_comp_s)
        SET(r, purge_comp_s, s->purge_comp_s);
    return 0;
}

/* ANY_NODES holds no nodes back but those that are named: a number of them chooses none. */
static int drop_counts(struct change *c)
{
    Pst__ReservationRecord *r = c->rec;
    const char *tres = r->want_tres ? r->want_tres : "";

    if (c->old || !resv_has(r, RESV_FLAG(ANY_NODES)) ||
        resv_has(r, RESV_FLAG(SPEC_NODES) | RESV_FLAG(ALL_NODES) | RESV_FLAG(PART_NODES)))
        return 0;
    if (r->has_want_cores || strstr(tres, "cpu="))
        return ESLURM_INVALID_CPU_COUNT;
    r->has_want_nodes = false;
    free(r->want_node_cnts);
    r->want_node_cnts = NULL;
    if (strncmp(tres, "node=", 5) == 0 && !strchr(tres, ',')) {
        free(r->want_tres);
        r->want_tres = NULL;
    }
    return 0;
}

static int build_record(struct change *c)
{
    int code;

    if ((code = set_texts(c)) || (code = set_flags(c)) || (code = set_times(c)) ||
        (code = set_access(c)) || (code = set_resources(c)) || (code = drop_counts(c)))
        return code;
    if (!c->old && !c->rec->users && !c->rec->groups && !c->rec->accounts && !c->rec->qos &&
        !c->rec->allowed_partitions)
        return ESLURM_RESERVATION_EMPTY;
    if (!asks_for_something(c->rec))
        return resv_has(c->rec, RESV_FLAG(ANY_NODES)) ? ESLURM_RESERVATION_INVALID
                                                      : ESLURM_NODES_BUSY;
    code = check_users(c);
    return code ? code : place_resv(c);
}

static void reply_resv(struct ctld *ctld, struct cmd *cmd, uint64_t lsn, const char *name)
{
    Pst__ResvReply r = PST__RESV_REPLY__INIT;

    if (!lsn) {
        core_disk_full(ctld, cmd);
        return;
    }
    r.name = (char *)name; /* not changed by packing */
    core_reply(ctld, cmd, lsn, 0, &r.base);
    resv_tick(ctld, core_now());
}

static bool name_is_good(const char *name)
{
    for (const char *p = name; *p; p++)
        if (*p <= ' ' || *p == ',' || *p == '\'' || *p == '"' || *p == 127)
            return false;
    return *name && strlen(name) < 256;
}

static void create_resv(struct ctld *ctld, struct cmd *cmd, const Pst__ResvRequest *req)
{
    struct change c = { .ctld = ctld, .req = req, .now_us = core_now() };
    Pst__ReservationRecord rec = PST__RESERVATION_RECORD__INIT;
    Pst__Transaction *tx;
    uint32_t id = next_id(ctld);
    int code = 0;

    c.rec = &rec;
    SET(&rec, resv_id, id);
    SET(&rec, created_us, c.now_us);
    code = id ? build_record(&c) : ESLURM_RESERVATION_INVALID;
    if (code == 0 && req->name && !name_is_good(req->name))
        code = ESLURM_RESERVATION_INVALID;
    if (code == 0) {
        rec.name = req->name ? tx_strdup(req->name) : make_name(&rec);
        if (!rec.name || cluster_resv_named(ctld->cluster, rec.name, strlen(rec.name)))
            code = ESLURM_RESERVATION_NAME_DUP;
    }
    tx = tx_new(c.now_us);
    SET(tx_cluster(tx), next_resv_id, id >= MAX_RESV_ID ? 1 : id + 1);
    if (code != 0) {
        if (code == ESLURM_RESERVATION_NAME_DUP)
            (void)core_commit(ctld, tx); /* a name that is taken uses up a number */
        else
            tx_free(tx);
        core_error(ctld, cmd, code, c.err.text[0] ? c.err.text : NULL);
        pb_done(&rec.base);
        return;
    }
    tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_CREATE, &rec);
    reply_resv(ctld, cmd, core_commit(ctld, tx), rec.name);
    if (resv_has(&rec, RESV_FLAG(MAGNETIC)))
        resv_refeed(ctld, &rec);
    pb_done(&rec.base);
}

/* Does accounting begin a new period? */
static bool new_period(const Pst__ReservationRecord *a, const Pst__ReservationRecord *b)
{
    return a->start_us != b->start_us || a->end_us != b->end_us ||
           strcmp(a->tres ? a->tres : "", b->tres ? b->tres : "") ||
           strcmp(a->nodes ? a->nodes : "", b->nodes ? b->nodes : "");
}

static void update_resv(struct ctld *ctld, struct cmd *cmd, const Pst__ResvRequest *req,
                        const Pst__ReservationRecord *old)
{
    struct change c = { .ctld = ctld, .req = req, .old = old, .now_us = core_now() };
    ProtobufCMessage *copy = NULL;
    Pst__Transaction *tx;
    bool magnetic = resv_has(old, RESV_FLAG(MAGNETIC));
    uint64_t lsn;
    int code = pb_dup(&old->base, &copy) < 0 ? SLURM_ERROR : 0;

    c.rec = (Pst__ReservationRecord *)copy;
    if (code == 0)
        code = build_record(&c);
    if (code != 0) {
        core_error(ctld, cmd, code, c.err.text[0] ? c.err.text : NULL);
        if (copy)
            protobuf_c_message_free_unpacked(copy, NULL);
        return;
    }
    tx = tx_new(c.now_us);
    if (old->has_started && old->started && new_period(old, c.rec)) {
        resv_put_end(tx, old, c.now_us);
        SET(c.rec, period_us, c.now_us);
    }
    tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_UPDATE, c.rec);
    lsn = core_commit(ctld, tx);
    if (lsn) {
        if (magnetic && !resv_has(c.rec, RESV_FLAG(MAGNETIC)))
            c.rec->flags |= RESV_FLAG(MAGNETIC); /* those it attracted are told too */
        resv_refeed(ctld, c.rec);
    }
    reply_resv(ctld, cmd, lsn, c.rec->name);
    protobuf_c_message_free_unpacked(copy, NULL);
}

static void drop_resv(struct ctld *ctld, struct cmd *cmd, const Pst__ReservationRecord *r,
                      bool skip)
{
    _cleanup_free_ char *name = tx_strdup(r->name);
    const uint32_t job = resv_running_job(ctld, r);

    if (job) {
        core_error(ctld, cmd, ESLURM_RESERVATION_BUSY, NULL);
        return;
    }
    if (skip && !resv_has(r, RESV_RECURS)) {
        core_error(ctld, cmd, ESLURM_RESERVATION_NO_SKIP, NULL);
        return;
    }
    reply_resv(ctld, cmd, skip ? resv_skip(ctld, r, core_now()) : resv_delete(ctld, r, core_now()),
               name);
}

/* USER_DELETE, or user_resv_delete for all: users that may use the reservation may delete it. */
static bool may_delete(const struct ctld *ctld, const struct cmd *cmd,
                       const Pst__ReservationRecord *r)
{
    Pst__JobRecord as = PST__JOB_RECORD__INIT;

    if ((!resv_has(r, RESV_FLAG(USER_DELETE)) &&
         !conf_option(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "user_resv_delete", NULL, NULL)) ||
        resv_has(r, RESV_FLAG(TIME_FLOAT)))
        return false;
    SET(&as, uid, conn_peer(cmd->conn)->uid);
    return (r->users || r->groups) && resv_access(ctld, r, &as, false) == 0;
}

void op_resv_update(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__ResvRequest *req = PB_AS(resv_request, cmd->msg);
    const Pst__ReservationRecord *r =
        req->name ? cluster_resv_named(ctld->cluster, req->name, strlen(req->name)) : NULL;
    bool drops = (req->has_remove && req->remove) || (req->has_skip && req->skip);

    if (!policy_is_operator(ctld, cmd) && !(drops && r && may_delete(ctld, cmd, r)))
        core_error(ctld, cmd, ESLURM_USER_ID_MISSING, NULL);
    else if (req->has_create && req->create)
        create_resv(ctld, cmd, req);
    else if (!r)
        core_error(ctld, cmd, ESLURM_RESERVATION_INVALID, NULL);
    else if (drops)
        drop_resv(ctld, cmd, r, req->has_skip && req->skip);
    else
        update_resv(ctld, cmd, req, r);
}

static int by_id(const void *a, const void *b)
{
    const Pst__ReservationRecord *x = *(Pst__ReservationRecord *const *)a,
                                 *y = *(Pst__ReservationRecord *const *)b;

    if (x->created_us != y->created_us)
        return x->created_us < y->created_us ? -1 : 1;
    return x->resv_id < y->resv_id ? -1 : x->resv_id > y->resv_id;
}

/* PrivateData: could a job of his use it, with any of his accounts?  QOS and partitions do not
 * count. */
static bool may_see(const struct ctld *ctld, const struct cmd *cmd, const Pst__ReservationRecord *r)
{
    struct assoc_mgr *am = ctld->cluster->am;
    Pst__JobRecord as = PST__JOB_RECORD__INIT;

    as.uid = conn_peer(cmd->conn)->uid;
    if (resv_access(ctld, r, &as, false) == 0)
        return true;
    for (const struct assoc *a = cmd->caller ? am_of_user(am, cmd->caller) : NULL; a;
         a = a->next_of_user) {
        as.account = a->rec->account;
        if (resv_access(ctld, r, &as, false) == 0)
            return true;
    }
    return false;
}

void op_query_resvs(struct ctld *ctld, struct cmd *cmd)
{
    bool private =
        policy_hidden(ctld, conn_peer(cmd->conn)->uid, cmd->caller) & PRIVATE_RESERVATIONS;
    Pst__ResvSet set = PST__RESV_SET__INIT;
    const Pst__ReservationRecord *r;

    set.items = calloc(ctld->cluster->kept[KEPT_RESV].count + 1, sizeof(*set.items));
    for (size_t pos = 0; set.items && (r = cluster_next_resv(ctld->cluster, &pos));)
        if (!private || may_see(ctld, cmd, r))
            set.items[set.n_items++] = (Pst__ReservationRecord *)r; /* not changed by packing */
    if (set.n_items > 1)
        qsort(set.items, set.n_items, sizeof(*set.items), by_id);
    SET(&set, now_us, core_shown_now(ctld));
    SET(&set, changed_us, ctld->cluster->rec->booted_us);
    core_reply(ctld, cmd, 0, 0, &set.base);
    free(set.items);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op resv_ops[] = {
    { OP_RESV_UPDATE, .fn = op_resv_update, .flags = OPF_WRITES },
    { OP_QUERY_RESVS, .fn = op_query_resvs, .flags = OPF_SHOWS },
    { 0 }
};

const struct ctld_service resvops_service = { .name = "resvops", .ops = resv_ops };
