/* sacctmgr_cells.c - the values of columns; see sacctmgr_cells.h
 *
 * A row of output holds the records that are at hand.  A column takes its value from the first of
 * them that has one. */
#include "cli/sacctmgr/sacctmgr_cells.h"

#include <ctype.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "model/words/names.h"
#include "model/words/resvwords.h"

static const Pst__Limits *limits_of(const struct smgr_row *r)
{
    return r->qos ? r->qos->limits : r->assoc ? r->assoc->limits : NULL;
}

static void put_limit(struct strbuf *sb, const struct smgr_row *r, const struct smgr_field *field)
{
    const char *base = (const char *)limits_of(r);
    const char *name = field->field + (field->col == C_LIMIT_ONE);
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(&pst__limits__descriptor, name);
    char text[64];

    if (!base)
        return;
    if (field->col == C_LIMIT_TRES || field->col == C_LIMIT_ONE) {
        Pst__TresCount *const *list = *(Pst__TresCount *const *const *)(base + f->offset);
        size_t n = *(const size_t *)(base + f->quantifier_offset);

        if (field->col == C_LIMIT_TRES)
            smgr_put_tres(r->s, sb, list, n);
        for (size_t i = 0; field->col == C_LIMIT_ONE && i < n; i++)
            if (list[i]->tres_id == (uint32_t)(field->field[0] - '0'))
                strbuf_addf(sb, "%lld", (long long)list[i]->count);
    } else if (*(const protobuf_c_boolean *)(base + f->quantifier_offset)) {
        int32_t n = *(const int32_t *)(base + f->offset);

        if (field->col == C_LIMIT_TIME) {
            time_fmt_hms((int64_t)n * 60, text, sizeof(text));
            strbuf_add(sb, text);
        } else if (n >= 0) {
            strbuf_addf(sb, "%d", n);
        }
    }
}

static void put_text(struct strbuf *sb, const char *text)
{
    strbuf_add(sb, text ? text : "");
}

static void put_account(struct strbuf *sb, const struct smgr_row *r)
{
    if (r->tree && r->assoc)
        strbuf_pad(sb, ' ', r->depth);
    put_text(sb, r->assoc ? r->assoc->account : r->account ? r->account->name : NULL);
}

static void put_cluster(struct strbuf *sb, const struct smgr_row *r)
{
    put_text(sb, r->cluster    ? r->cluster->name
                 : r->assoc    ? r->assoc->cluster
                 : r->share    ? r->share->cluster
                 : r->wckey    ? r->wckey->cluster
                 : r->event    ? r->event->cluster
                 : r->instance ? r->instance->cluster
                 : r->resv     ? r->resv->cluster
                 : r->txn      ? r->txn->cluster
                               : NULL);
}

static void put_user(struct strbuf *sb, const struct smgr_row *r)
{
    if (r->event && r->event->has_uid) {
        const struct passwd *pw = getpwuid(r->event->uid);

        strbuf_addf(sb, "%s(%u)", pw ? pw->pw_name : "", r->event->uid);
        return;
    }
    put_text(sb, r->user    ? r->user->name
                 : r->assoc ? r->assoc->user
                 : r->wckey ? r->wckey->user
                            : NULL);
}

static void put_name(struct strbuf *sb, const struct smgr_row *r)
{
    put_text(sb, r->qos        ? r->qos->name
                 : r->tres     ? r->tres->name
                 : r->resource ? r->resource->name
                 : r->wckey    ? r->wckey->name
                 : r->cluster  ? r->cluster->name
                 : r->account  ? r->account->name
                 : r->user     ? r->user->name
                 : r->resv     ? r->resv->name
                               : NULL);
}

static void put_id(struct strbuf *sb, const struct smgr_row *r)
{
    uint64_t id = r->qos        ? r->qos->qos_id
                  : r->tres     ? r->tres->tres_id
                  : r->resource ? r->resource->resource_id
                  : r->wckey    ? r->wckey->wckey_id
                  : r->assoc    ? r->assoc->assoc_id
                  : r->resv     ? r->resv->resv_id
                  : r->txn      ? r->txn->txn_id
                                : 0;

    strbuf_addf(sb, "%llu", (unsigned long long)id);
}

static void put_share(struct strbuf *sb, const struct smgr_row *r)
{
    if (r->assoc && r->assoc->shares_parent)
        strbuf_add(sb, "parent");
    else if (r->assoc && (r->assoc->has_shares || !r->as_written))
        strbuf_addf(sb, "%u", r->assoc->has_shares ? r->assoc->shares : 1);
}

static void put_resv_flags(struct strbuf *sb, const Pst__AcctResvRecord *v)
{
    Pst__ReservationRecord rec = PST__RESERVATION_RECORD__INIT;
    char flags[512];

    rec.has_flags = true;
    rec.flags = v->flags;
    resv_flags_text(&rec, flags, sizeof(flags));
    put_text(sb, flags);
}

static void put_flags(struct strbuf *sb, const struct smgr_row *r)
{
    if (r->qos)
        smgr_put_qos_flags(sb, r->qos->flags);
    else if (r->resv)
        put_resv_flags(sb, r->resv);
    else if (r->resource && r->resource->flags & 1)
        strbuf_add(sb, "Absolute");
    else if (r->account && r->account->users_are_coords)
        strbuf_add(sb, "UsersAreCoords");
    else if (!(r->assoc && r->assoc->deleted) && !(r->user && r->user->deleted) &&
             !(r->account && r->account->deleted) && (r->account || r->assoc || r->cluster))
        strbuf_add(sb, "None");
    else if ((r->assoc && r->assoc->deleted) || (r->user && r->user->deleted) ||
             (r->account && r->account->deleted))
        strbuf_add(sb, "DELETED");
}

static void put_preempt_mode(struct strbuf *sb, const Pst__QosRecord *q)
{
    size_t n = 0;

    if (!q->has_preempt_mode || q->preempt_mode == UINT32_MAX) {
        strbuf_add(sb, "cluster");
        return;
    }
    if (q->preempt_mode & 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_WITHIN)
        strbuf_add(sb, n++ ? "" : "within"); /* before the others */
    for (unsigned i = 0; store_preempt_word(i); i++) {
        if (!(q->preempt_mode & 1u << i) || i == PST__QOS_PREEMPT_MODE__QOS_PREEMPT_WITHIN)
            continue;
        strbuf_add(sb, n++ ? "," : "");
        for (const char *c = store_preempt_word(i); *c; c++)
            strbuf_addc(sb, (char)tolower((unsigned char)*c));
    }
}

static void put_seconds(struct strbuf *sb, uint32_t seconds)
{
    char text[64];

    time_fmt_hms(seconds, text, sizeof(text));
    strbuf_add(sb, text);
}

static void put_time(struct strbuf *sb, const struct smgr_row *r, int64_t us)
{
    char text[64];

    time_fmt_stamp(us, "Unknown", r->now_us, text, sizeof(text));
    strbuf_add(sb, text);
}

static void put_priority(struct strbuf *sb, const struct smgr_row *r)
{
    if (r->qos)
        strbuf_addf(sb, "%u", r->qos->priority);
    else if (r->assoc && r->assoc->has_priority)
        strbuf_addf(sb, "%u", r->assoc->priority);
}

static void put_qos_column(struct strbuf *sb, const struct smgr_row *r, bool raw)
{
    const Pst__AssocRecord *a = r->assoc;

    if (!a)
        return;
    if (!raw)
        smgr_put_qos_list(r->s, sb, a->qos_ids, a->n_qos_ids);
    for (size_t i = 0; raw && i < a->n_qos_ids; i++)
        strbuf_addf(sb, "%s%u", i ? "," : "", a->qos_ids[i]);
    for (int sign = 0; sign < 2; sign++) { /* set at this level alone */
        const uint32_t *ids = sign ? a->qos_removed : a->qos_added;
        size_t n = sign ? a->n_qos_removed : a->n_qos_added;

        for (size_t i = 0; i < n; i++) {
            const char *name = smgr_qos_name(r->s, ids[i]);

            strbuf_addf(sb, "%s%c", sb->len && sb->buf[sb->len - 1] != ' ' ? "," : "",
                        sign ? '-' : '+');
            if (raw || !name)
                strbuf_addf(sb, "%u", ids[i]);
            else
                strbuf_add(sb, name);
        }
    }
}

static void put_event_state(struct strbuf *sb, const Pst__AcctEventRecord *e, bool raw)
{
    char text[128];

    if (raw) {
        strbuf_addf(sb, "%u", e->state);
    } else if (e->node && *e->node) {
        Pst__NodeRecord node = PST__NODE_RECORD__INIT;
        struct names_node n;

        node.has_state = node.has_state_flags = 1;
        node.state = e->state & 0xff;
        node.state_flags = e->state >> 8;
        n = names_node_of(&node);
        for (const char *c = names_node_word(&n, true, text, sizeof(text)); *c; c++)
            strbuf_addc(sb, (char)toupper((unsigned char)*c));
    }
}

static uint64_t tres_of(const char *tres, const char *id)
{
    for (const char *at = tres; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, id, strlen(id)) == 0)
            return strtoull(at + strlen(id), NULL, 10);
    return 0;
}

uint64_t smgr_event_cpus(const Pst__AcctEventRecord *e)
{
    return tres_of(e->tres, "1=");
}

/* "1=32,2=64000" in names. */
static void put_tres_text(struct strbuf *sb, const struct smgr_row *r, const char *tres)
{
    bool first = true;

    while (tres && *tres) {
        char *end;
        uint32_t id = (uint32_t)strtoul(tres, &end, 10);
        Pst__TresCount t = PST__TRES_COUNT__INIT;
        Pst__TresCount *list[] = { &t };

        if (*end != '=')
            return;
        t.tres_id = id;
        t.count = strtoll(end + 1, &end, 10);
        if (!first)
            strbuf_addc(sb, ',');
        smgr_put_tres(r->s, sb, list, 1);
        first = false;
        tres = *end == ',' ? end + 1 : end + strlen(end);
    }
}

static uint64_t put_allocated(const Pst__ResourceRecord *res)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < res->n_shares; i++)
        sum += res->shares[i]->allowed;
    return sum;
}

static void put_event(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    const Pst__AcctEventRecord *e = r->event;
    bool node = e->node && *e->node;

    switch (col) {
    case C_DURATION:
        put_seconds(
            sb, (uint32_t)(((e->has_end_us ? e->end_us : r->now_us) - e->start_us) / USEC_PER_SEC));
        break;
    case C_EVENT:
        strbuf_add(sb, node ? "Node" : "Cluster");
        break;
    case C_EVENT_RAW:
        strbuf_addf(sb, "%d", node ? 2 : 1);
        break;
    case C_NODE_NAME:
        put_text(sb, e->node);
        break;
    case C_REASON:
        put_text(sb, e->reason);
        break;
    case C_STATE:
    case C_STATE_RAW:
        put_event_state(sb, e, col == C_STATE_RAW);
        break;
    case C_CPU:
        strbuf_addf(sb, "%llu", (unsigned long long)smgr_event_cpus(e));
        break;
    case C_NODE_COUNT:
        strbuf_addf(sb, "%llu", (unsigned long long)tres_of(e->tres, "4="));
        break;
    case C_TRES:
        put_tres_text(sb, r, e->tres);
        break;
    case C_CLUSTER_NODES:
        put_text(sb, e->nodes);
        break;
    case C_TIME_START:
        put_time(sb, r, e->start_us);
        break;
    default:
        put_time(sb, r, e->has_end_us ? e->end_us : 0);
    }
}

static void put_instance(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    const Pst__AcctInstanceRecord *i = r->instance;

    switch (col) {
    case C_NODE_NAME:
        put_text(sb, i->node);
        break;
    case C_INSTANCE_ID:
        put_text(sb, i->instance_id);
        break;
    case C_INSTANCE_TYPE:
        put_text(sb, i->instance_type);
        break;
    case C_EXTRA:
        put_text(sb, i->extra);
        break;
    case C_TIME_START:
        put_time(sb, r, i->start_us);
        break;
    default:
        put_time(sb, r, i->has_end_us ? i->end_us : 0);
    }
}

static void put_resv(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    const Pst__AcctResvRecord *v = r->resv;

    switch (col) {
    case C_ASSOCS:
        for (size_t i = 0; i < v->n_assoc_ids; i++)
            strbuf_addf(sb, "%s%u", i ? "," : "", v->assoc_ids[i]);
        break;
    case C_NODE_NAME:
        put_text(sb, v->nodes);
        break;
    case C_TRES:
        put_text(sb, v->tres);
        break;
    case C_COMMENT:
        put_text(sb, v->comment);
        break;
    case C_TIME_START:
        put_time(sb, r, v->start_us);
        break;
    case C_TIME_END:
        put_time(sb, r, v->end_us);
        break;
    case C_DURATION:
        put_seconds(sb, (uint32_t)((v->end_us - v->start_us) / USEC_PER_SEC));
        break;
    case C_UNUSED_WALL:
        strbuf_addf(sb, "%f", v->unused_wall_s);
        break;
    default: /* of other lists */
        break;
    }
}

static void put_cluster_fact(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    static const char *const classes[] = { "None", "Capability", "Capacity", "Capapacity" };
    const Pst__AcctClusterRecord *c = r->cluster;

    switch (col) {
    case C_CLASS:
        if (c->classification < ARRAY_SIZE(classes) && c->classification)
            strbuf_add(sb, classes[c->classification]);
        break;
    case C_CLUSTER_NODES:
        put_text(sb, c->nodes);
        break;
    case C_CONTROL_HOST:
        put_text(sb, c->control_host);
        break;
    case C_CONTROL_PORT:
        strbuf_addf(sb, "%u", c->control_port);
        break;
    case C_RPC:
        strbuf_addf(sb, "%u", c->protocol);
        break;
    case C_CPU:
        strbuf_addf(sb, "%llu", (unsigned long long)tres_of(c->tres, "1="));
        break;
    case C_NODE_COUNT:
        strbuf_addf(sb, "%llu", (unsigned long long)tres_of(c->tres, "4="));
        break;
    default:
        put_tres_text(sb, r, c->tres);
    }
}

static void put_qos_fact(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    const Pst__QosRecord *q = r->qos;

    switch (col) {
    case C_GRACE:
        put_seconds(sb, q->grace_s);
        break;
    case C_PREEMPT:
        smgr_put_qos_list(r->s, sb, q->preempt_ids, q->n_preempt_ids);
        break;
    case C_PREEMPT_EXEMPT:
        if (q->has_preempt_exempt_s)
            put_seconds(sb, q->preempt_exempt_s);
        break;
    case C_PREEMPT_MODE:
        put_preempt_mode(sb, q);
        break;
    case C_USAGE_FACTOR:
        strbuf_addf(sb, "%f", q->has_usage_factor ? q->usage_factor : 1.0);
        break;
    case C_USAGE_THRESHOLD:
        if (q->has_usage_threshold)
            strbuf_addf(sb, "%f", q->usage_threshold);
        break;
    default:
        if (q->has_limit_factor)
            strbuf_addf(sb, "%f", q->limit_factor);
    }
}

static void put_txn(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    const Pst__AcctTxnRecord *t = r->txn;

    if (col == C_TIME)
        put_time(sb, r, t->time_us);
    else
        put_text(sb, col == C_ACTION  ? t->action
                     : col == C_ACTOR ? t->actor
                     : col == C_INFO  ? t->info
                                      : t->where);
}

static void put_resource(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    const Pst__ResourceRecord *res = r->resource;

    switch (col) {
    case C_ALLOCATED:
        strbuf_addf(sb, "%llu", (unsigned long long)put_allocated(res));
        break;
    case C_ALLOWED:
        if (r->share)
            strbuf_addf(sb, "%u", r->share->allowed);
        break;
    case C_COUNT:
        strbuf_addf(sb, "%u", res->count);
        break;
    case C_LAST_CONSUMED:
        strbuf_addf(sb, "%u", res->last_consumed);
        break;
    case C_SERVER:
        put_text(sb, res->server);
        break;
    case C_SERVER_TYPE:
        put_text(sb, res->server_type);
        break;
    default:
        strbuf_add(sb, "License");
    }
}

static void put_rest(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    switch (col) {
    case C_COMMENT:
        put_text(sb, r->assoc ? r->assoc->comment : NULL);
        break;
    case C_COORD:
        put_text(sb, r->coordinated);
        break;
    case C_DEF_ACCOUNT:
        put_text(sb, r->default_account);
        break;
    case C_DEF_QOS:
        if (r->assoc && r->assoc->has_default_qos_id)
            put_text(sb, smgr_qos_name(r->s, r->assoc->default_qos_id));
        break;
    case C_DEF_WCKEY:
        put_text(sb, r->user ? r->user->default_wckey : NULL);
        break;
    case C_DESCR:
        put_text(sb, r->account    ? r->account->description
                     : r->qos      ? r->qos->description
                     : r->resource ? r->resource->description
                                   : NULL);
        break;
    case C_LINEAGE:
        put_text(sb, r->assoc ? r->assoc->lineage : NULL);
        break;
    case C_ORG:
        put_text(sb, r->account ? r->account->organization : NULL);
        break;
    case C_PARENT_ID:
        if (r->assoc)
            strbuf_addf(sb, "%u", r->assoc->has_parent_id ? r->assoc->parent_id : 0);
        break;
    case C_PARENT_NAME:
        put_text(sb, r->assoc ? r->assoc->parent_account : NULL);
        break;
    case C_PARTITION:
        put_text(sb, r->assoc ? r->assoc->partition : NULL);
        break;
    case C_PROBLEM:
        put_text(sb, r->problem);
        break;
    case C_WCKEYS:
        put_text(sb, r->wckeys);
        break;
    default:
        if (r->user)
            strbuf_add(sb, store_admin_word(r->user->admin_level));
    }
}

static void put_fed_fact(struct strbuf *sb, const struct smgr_row *r, enum col col)
{
    const Pst__AcctClusterRecord *c = r->cluster;

    if (col == C_FEDERATION && r->federation && !(r->tree && c))
        put_text(sb, r->federation->name);
    if (!c)
        return;
    if (col == C_FEDERATION && !r->federation)
        put_text(sb, c->federation);
    else if (col == C_FED_ID)
        strbuf_addf(sb, "%u", c->fed_id);
    else if (col == C_FED_STATE)
        strbuf_add(sb, smgr_fed_state(c));
    else if (col == C_FED_STATE_RAW)
        strbuf_addf(sb, "%u", c->fed_state);
    for (size_t i = 0; col == C_FEATURES && i < c->n_features; i++)
        strbuf_addf(sb, "%s%s", i ? "," : "", c->features[i]);
}

void smgr_put_cell(struct strbuf *sb, const struct smgr_row *r, const struct smgr_field *f)
{
    switch (f->col) {
    case C_EXTRA:
    case C_INSTANCE_ID:
    case C_INSTANCE_TYPE:
        if (r->instance)
            put_instance(sb, r, f->col);
        break;
    case C_EMPTY:
        break;
    case C_FEATURES:
    case C_FEDERATION:
    case C_FED_ID:
    case C_FED_STATE:
    case C_FED_STATE_RAW:
        put_fed_fact(sb, r, f->col);
        break;
    case C_LIMIT:
    case C_LIMIT_TIME:
    case C_LIMIT_TRES:
    case C_LIMIT_ONE:
        put_limit(sb, r, f);
        break;
    case C_ACCOUNT:
        put_account(sb, r);
        break;
    case C_CLUSTER:
        put_cluster(sb, r);
        break;
    case C_USER:
        put_user(sb, r);
        break;
    case C_NAME:
        put_name(sb, r);
        break;
    case C_ID:
        if (r->cluster)
            put_fed_fact(sb, r, C_FED_ID); /* a cluster has no other number */
        else
            put_id(sb, r);
        break;
    case C_FAIRSHARE:
        put_share(sb, r);
        break;
    case C_FLAGS:
        if (!r->federation) /* those have none */
            put_flags(sb, r);
        break;
    case C_PRIORITY:
        put_priority(sb, r);
        break;
    case C_QOS:
    case C_QOS_RAW:
        put_qos_column(sb, r, f->col == C_QOS_RAW);
        break;
    case C_TYPE:
        put_text(sb, r->tres ? r->tres->type : r->resource ? "License" : NULL);
        break;
    default:
        if (r->txn)
            put_txn(sb, r, f->col);
        else if (r->event)
            put_event(sb, r, f->col);
        else if (r->instance)
            put_instance(sb, r, f->col);
        else if (r->resv)
            put_resv(sb, r, f->col);
        else if (r->resource && f->col != C_DESCR)
            put_resource(sb, r, f->col);
        else if (r->qos && f->col != C_DESCR)
            put_qos_fact(sb, r, f->col);
        else if (r->cluster && f->col != C_DEF_QOS && f->col != C_COMMENT)
            put_cluster_fact(sb, r, f->col);
        else
            put_rest(sb, r, f->col);
    }
}
