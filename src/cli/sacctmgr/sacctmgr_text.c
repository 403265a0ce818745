/* sacctmgr_text.c - TRES, QOS, flags and levels in words
 *
 * The tables of TRES and QOS are asked for once a command. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr.h"

#define TRES_MEM 2u

/* ---- the tables ------------------------------------------------------------------------------ */

static int keep_tres(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct smgr *s = ctx;
    ProtobufCMessage *copy;

    (void)info;
    check_mem_or_die(pb_dup(record, &copy));
    s->names.tres = xrealloc_or_die(s->names.tres, s->names.n_tres + 1, sizeof(*s->names.tres));
    s->names.tres[s->names.n_tres++] = (Pst__TresRecord *)copy;
    return 0;
}

void smgr_load_tres(struct smgr *s)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;

    if (!s->have_tres)
        s->have_tres = smgr_list(s, PST__ACCT_ENTITY__ACCT_TRES, &all, keep_tres, s);
}

static int keep_qos(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct smgr *s = ctx;
    ProtobufCMessage *copy;

    (void)info;
    check_mem_or_die(pb_dup(record, &copy));
    s->names.qos = xrealloc_or_die(s->names.qos, s->names.n_qos + 1, sizeof(*s->names.qos));
    s->names.qos[s->names.n_qos++] = (Pst__QosRecord *)copy;
    return 0;
}

void smgr_load_qos(struct smgr *s)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;

    if (!s->have_qos)
        s->have_qos = smgr_list(s, PST__ACCT_ENTITY__ACCT_QOS, &all, keep_qos, s);
}

const Pst__TresRecord *smgr_tres(struct smgr *s, uint32_t id)
{
    smgr_load_tres(s);
    return store_tres(&s->names, id);
}

const char *smgr_qos_name(struct smgr *s, uint32_t id)
{
    smgr_load_qos(s);
    return store_qos_name(&s->names, id);
}

bool smgr_qos_id(struct smgr *s, const char *name, uint32_t *ret_id)
{
    smgr_load_qos(s);
    for (size_t i = 0; i < s->names.n_qos; i++)
        if (strcasecmp(s->names.qos[i]->name, name) == 0) {
            *ret_id = s->names.qos[i]->qos_id;
            return true;
        }
    return false;
}

/* ---- TRES ------------------------------------------------------------------------------------ */

static void put_tres_name(struct strbuf *sb, const Pst__TresRecord *t)
{
    strbuf_add(sb, t->type);
    if (t->name && *t->name)
        strbuf_addf(sb, "/%s", t->name);
}

static void put_count(struct smgr *s, struct strbuf *sb, const Pst__TresCount *c)
{
    const Pst__TresRecord *t = smgr_tres(s, c->tres_id);
    char text[64];

    if (t)
        put_tres_name(sb, t);
    else
        strbuf_addf(sb, "%u", c->tres_id);
    if (c->op)
        strbuf_addc(sb, c->op == 1 ? '+' : '-');
    if (c->tres_id == TRES_MEM && c->count > 0) {
        size_mib_fmt((uint64_t)c->count, false, text, sizeof(text));
        strbuf_addf(sb, "=%s", text);
    } else if (c->count < 0) {
        strbuf_add(sb, "=NONE");
    } else {
        strbuf_addf(sb, "=%lld", (long long)c->count);
    }
}

void smgr_put_tres(struct smgr *s, struct strbuf *sb, Pst__TresCount *const *list, size_t n)
{
    char **words = xmalloc_or_die((n + 1) * sizeof(char *));

    for (size_t i = 0; i < n; i++) {
        struct strbuf one = STRBUF_INIT;

        put_count(s, &one, list[i]);
        check_mem_or_die(strbuf_detach(&one, &words[i]));
    }
    qsort(words, n, sizeof(*words), order_text);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(sb, "%s%s", i ? "," : "", words[i]);
        free(words[i]);
    }
    free(words);
}

/* By name, or by number. */
static bool find_tres(struct smgr *s, const char *name, size_t len, uint32_t *ret_id)
{
    uint64_t number;
    _cleanup_free_ char *word = strndup(name, len);

    smgr_load_tres(s);
    for (size_t i = 0; i < s->names.n_tres; i++) {
        struct strbuf sb = STRBUF_INIT;
        bool same;

        put_tres_name(&sb, s->names.tres[i]);
        same = sb.len == len && strncasecmp(strbuf_str(&sb), name, len) == 0;
        strbuf_done(&sb);
        if (same || (word && parse_u64(word, 1, UINT32_MAX, &number) == 0 &&
                     number == s->names.tres[i]->tres_id)) {
            *ret_id = s->names.tres[i]->tres_id;
            return true;
        }
    }
    return false;
}

/* "4.5G": the '.' stands where a unit is expected. */
static int bad_count(const char *text, struct err *err)
{
    char unit = text[strspn(text, "0123456789")];

    if (unit != '.' && !isalpha((unsigned char)unit))
        return err_set(err, -EINVAL, "\"%s\" is no count of a TRES", text);
    return err_set(err, -ERANGE, "Invalid unit type '%c'. Possible options are 'KMGTP'", unit);
}

static int parse_count(uint32_t id, const char *text, int64_t *ret, struct err *err)
{
    uint64_t count = 0;
    int r = 0;

    if (strcmp(text, "-1") == 0) {
        *ret = -1;
        return 0;
    }
    if (*text)
        r = id == TRES_MEM ? size_mib_parse(text, &count, NULL)
                           : size_count_parse(text, &count, NULL);
    if (r < 0 || count > INT64_MAX)
        return bad_count(text, err);
    *ret = (int64_t)count;
    return 0;
}

static int parse_one(struct smgr *s, char *word, Pst__TresCount *t, struct err *err)
{
    char *eq = strchr(word, '=');
    size_t len = eq ? (size_t)(eq - word) : 0;
    char op = '\0';

    if (!eq || !len)
        return err_set(err, -EINVAL, "slurmdb_format_tres_str: no TRES id found for %s", word);
    if (word[len - 1] == '+' || word[len - 1] == '-')
        op = word[--len];
    if (!find_tres(s, word, len, &t->tres_id))
        return err_set(err, -EINVAL, "slurmdb_format_tres_str: no TRES known by type %.*s",
                       (int)len, word);
    t->has_tres_id = t->has_count = 1;
    t->has_op = op != 0;
    t->op = op == '+' ? 1 : op == '-' ? 2 : 0;
    return parse_count(t->tres_id, eq + 1, &t->count, err);
}

int smgr_parse_tres(struct smgr *s, const char *text, Pst__TresCount ***list, size_t *n,
                    struct err *err)
{
    while (*text) {
        size_t len = strcspn(text, ",");
        _cleanup_free_ char *word = strndup(text, len);
        Pst__TresCount *t = xmalloc_or_die(sizeof(*t));
        int r;

        pst__tres_count__init(t);
        r = word && *word ? parse_one(s, word, t, err) : -ENODATA;
        if (r < 0) {
            free(t);
            if (r != -ENODATA)
                return r;
        } else {
            *list = xrealloc_or_die(*list, *n + 1, sizeof(**list));
            (*list)[(*n)++] = t;
        }
        text += len + (text[len] == ',');
    }
    return *n ? 0 : err_set(err, -EINVAL, "slurmdb_format_tres_str: no TRES id found for ");
}

/* ---- QOS ------------------------------------------------------------------------------------- */

void smgr_put_qos_list(struct smgr *s, struct strbuf *sb, const uint32_t *ids, size_t n)
{
    const char **names = xmalloc_or_die((n + 1) * sizeof(*names));
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        names[found] = smgr_qos_name(s, ids[i]);
        found += names[found] != NULL;
    }
    qsort(names, found, sizeof(*names), order_text);
    for (size_t i = 0; i < found; i++)
        strbuf_addf(sb, "%s%s", i ? "," : "", names[i]);
    free(names);
}

/* In the order in which they are shown. */
static const struct {
    unsigned bit;
    const char *name;
} qos_flags[] = {
    { PST__QOS_FLAG__QOS_DENY_ON_LIMIT, "DenyOnLimit" },
    { PST__QOS_FLAG__QOS_ENFORCE_USAGE_THRESHOLD, "EnforceUsageThreshold" },
    { PST__QOS_FLAG__QOS_PARTITION_MIN_NODES, "PartitionMinNodes" },
    { PST__QOS_FLAG__QOS_PARTITION_MAX_NODES, "PartitionMaxNodes" },
    { PST__QOS_FLAG__QOS_PARTITION_TIME_LIMIT, "PartitionTimeLimit" },
    { PST__QOS_FLAG__QOS_REQUIRES_RESERVATION, "RequiresReservation" },
    { PST__QOS_FLAG__QOS_OVER_PART_QOS, "OverPartQOS" },
    { PST__QOS_FLAG__QOS_NO_RESERVE, "NoReserve" },
    { PST__QOS_FLAG__QOS_NO_DECAY, "NoDecay" },
    { PST__QOS_FLAG__QOS_RELATIVE, "Relative" },
    { PST__QOS_FLAG__QOS_USAGE_FACTOR_SAFE, "UsageFactorSafe" },
};

void smgr_put_qos_flags(struct strbuf *sb, uint32_t flags)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(qos_flags); i++)
        if (flags & 1u << qos_flags[i].bit)
            strbuf_addf(sb, "%s%s", n++ ? "," : "", qos_flags[i].name);
}

static bool parse_flag(const char *word, size_t len, uint32_t *flags)
{
    for (size_t i = 0; i < ARRAY_SIZE(qos_flags); i++)
        if (len >= 4 && strncasecmp(qos_flags[i].name, word, len) == 0 &&
            len <= strlen(qos_flags[i].name)) {
            *flags |= 1u << qos_flags[i].bit;
            return true;
        }
    return false;
}

bool smgr_parse_qos_flags(const char *text, uint32_t *ret_flags)
{
    uint32_t flags = 0;

    while (*text) {
        size_t len = strcspn(text, ",");

        if (len && !parse_flag(text, len, &flags))
            return false;
        text += len + (text[len] == ',');
    }
    *ret_flags = flags;
    return true;
}
