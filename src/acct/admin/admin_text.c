/* admin_text.c - the log of transactions: who changed what, in words
 *
 * The words are those that people know from the database's columns; the values come from walking
 * the record that was set. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "base/pb/pbutil.h"

static bool is_list_of_tres(const ProtobufCFieldDescriptor *f)
{
    return f->label == PROTOBUF_C_LABEL_REPEATED && f->type == PROTOBUF_C_TYPE_MESSAGE &&
           f->descriptor == &pst__tres_count__descriptor;
}

static void put_tres(struct strbuf *sb, const char *base, const ProtobufCFieldDescriptor *f)
{
    Pst__TresCount *const *list = *(Pst__TresCount *const *const *)(base + f->offset);
    size_t n = *(const size_t *)(base + f->quantifier_offset);

    strbuf_addc(sb, '\'');
    for (size_t i = 0; i < n; i++)
        strbuf_addf(sb, "%s%u=%lld", i ? "," : "", list[i]->tres_id, (long long)list[i]->count);
    strbuf_addc(sb, '\'');
}

static void put_ids(struct strbuf *sb, const char *base, const ProtobufCFieldDescriptor *f)
{
    const uint32_t *list = *(const uint32_t *const *)(base + f->offset);
    size_t n = *(const size_t *)(base + f->quantifier_offset);

    strbuf_add(sb, "',");
    for (size_t i = 0; i < n; i++)
        strbuf_addf(sb, "%u,", list[i]);
    strbuf_addc(sb, '\'');
}

static void put_scalar(struct strbuf *sb, const char *at, const ProtobufCFieldDescriptor *f)
{
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        strbuf_addf(sb, "'%s'", *(const char *const *)at);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        strbuf_addf(sb, "%f", *(const double *)at);
        break;
    case PROTOBUF_C_TYPE_UINT32:
        strbuf_addf(sb, "%u", *(const uint32_t *)at);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        strbuf_addf(sb, "%d", *(const protobuf_c_boolean *)at);
        break;
    default:
        strbuf_addf(sb, "%d", *(const int32_t *)at);
    }
}

/* Who it is, and when it changed, stand elsewhere. */
static bool is_identity(const ProtobufCFieldDescriptor *f)
{
    static const char *const names[] = { "name",     "created_us",   "modified_us", "deleted",
                                         "qos_id",   "assoc_id",     "parent_id",   "cluster",
                                         "account",  "user",         "is_default",  "lineage",
                                         "wckey_id", "coordinators", "resource_id" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(f->name, names[i]) == 0)
            return true;
    return false;
}

static bool is_there(const char *base, const ProtobufCFieldDescriptor *f)
{
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)(base + f->quantifier_offset) > 0;
    if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE)
        return *(void *const *)(base + f->offset) != NULL;
    return *(const protobuf_c_boolean *)(base + f->quantifier_offset);
}

/* As people know it from the database. */
static const char *column_of(const char *field)
{
    static const struct {
        const char *field, *column;
    } other[] = { { "qos_ids", "qos" },
                  { "qos_added", "delta_qos+" },
                  { "qos_removed", "delta_qos-" },
                  { "default_qos_id", "def_qos_id" },
                  { "grace_s", "grace_time" },
                  { "preempt_ids", "preempt" } };

    for (size_t i = 0; i < ARRAY_SIZE(other); i++)
        if (strcmp(other[i].field, field) == 0)
            return other[i].column;
    return field;
}

void text_fields(struct strbuf *sb, const ProtobufCMessage *msg)
{
    const char *base = (const char *)msg;

    for (unsigned i = 0; msg && i < msg->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &msg->descriptor->fields[i];

        if (!is_there(base, f) || is_identity(f))
            continue;
        if (f->type == PROTOBUF_C_TYPE_MESSAGE && f->label != PROTOBUF_C_LABEL_REPEATED) {
            text_fields(sb, *(ProtobufCMessage *const *)(base + f->offset));
            continue;
        }
        if (sb->len)
            strbuf_add(sb, ", ");
        strbuf_addf(sb, "%s=", column_of(f->name));
        if (is_list_of_tres(f))
            put_tres(sb, base, f);
        else if (f->label == PROTOBUF_C_LABEL_REPEATED && f->type == PROTOBUF_C_TYPE_UINT32)
            put_ids(sb, base, f);
        else if (f->label == PROTOBUF_C_LABEL_REPEATED)
            strbuf_addf(sb, "(%zu)", *(const size_t *)(base + f->quantifier_offset));
        else
            put_scalar(sb, base + f->offset, f);
    }
}

static char *own_text(struct admin_run *run, const char *text)
{
    char *copy = text && *text ? strdup(text) : NULL;

    if (text && *text && !copy && run->r == 0)
        run->r = -ENOMEM;
    return copy;
}

static void add_one(struct admin_run *run, char ***list, size_t *n, const char *text)
{
    if (!text || !*text)
        return;
    *list = malloc(sizeof(char *));
    if (!*list) {
        run->r = run->r ? run->r : -ENOMEM;
        return;
    }
    (*list)[0] = own_text(run, text);
    *n = (*list)[0] ? 1 : 0;
}

void run_txn(struct admin_run *run, const char *action, const char *cluster, const char *account,
             const char *user, const char *where, const char *info)
{
    Pst__AcctTxnRecord *t;

    if (!run_ok(run))
        return;
    if (run->n_txns == run->cap_txns) {
        size_t cap = run->cap_txns ? run->cap_txns * 2 : 16;
        Pst__AcctTxnRecord **more = reallocarray(run->txns, cap, sizeof(*more));

        if (!more) {
            run->r = -ENOMEM;
            return;
        }
        run->txns = more;
        run->cap_txns = cap;
    }
    t = malloc(sizeof(*t));
    if (!t) {
        run->r = -ENOMEM;
        return;
    }
    pst__acct_txn_record__init(t);
    t->has_txn_id = t->has_time_us = 1;
    t->txn_id = run->a->next_txn + run->n_txns;
    t->time_us = run->now_us;
    t->action = own_text(run, action);
    t->actor = own_text(run, run->who->user && run->who->user[0] ? run->who->user : "root");
    t->cluster = own_text(run, cluster);
    t->where = own_text(run, where);
    t->info = own_text(run, info);
    add_one(run, &t->accounts, &t->n_accounts, account);
    add_one(run, &t->users, &t->n_users, user);
    run->txns[run->n_txns++] = t;
}
