/* sacctmgr_settings.c - what a request sets, shown before it is done */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr_keys.h"

static void put_setting(struct strbuf *sb, bool qos, const char *name, const char *value)
{
    if (!qos && strcmp(name, "GrpJobsAccrue") != 0)
        strbuf_addf(sb, "  %-14s= %s\n", name, value);
    else /* the names of some are shorter columns: as people have seen them */
        strbuf_addf(sb, "  %-*s = %s\n", strcmp(name, "MaxJobsPerUser") == 0 ? 14 : 24, name,
                    value);
}

static const char *limit_label(const struct key *k, bool qos)
{
    static const struct {
        const char *field, *name;
    } names[] = { { "max_tres_per_job", "MaxTRES" },
                  { "max_jobs_accrue", "MaxJobsPrioAcc" },
                  { "max_tres_mins_per_job", "MaxTRESMins" } };

    for (size_t i = 0; i < ARRAY_SIZE(names) && !qos; i++)
        if (strcmp(k->field, names[i].field) == 0)
            return names[i].name;
    return strcmp(k->field, "max_wall_min") == 0 ? "MaxWall" : k->name;
}

/* Is this the row whose name stands for the field? */
static bool is_first_of_field(const struct key *k)
{
    const struct key *first = smgr_keys;

    while (!first->field || first->kind == WORDS || first->kind == WORDS_LOWER ||
           strcmp(first->field, k->field) != 0)
        first++;
    return first == k;
}

static void put_limits(struct smgr *s, struct strbuf *sb, const Pst__Limits *limits, bool qos)
{
    const char *base = (const char *)limits;

    for (size_t i = 0; limits && i < smgr_n_keys; i++) {
        const struct key *k = &smgr_keys[i];
        const ProtobufCFieldDescriptor *f;
        struct strbuf value = STRBUF_INIT;
        char time[64];

        if (k->kind == SPECIAL || k->kind == WORDS || k->kind == WORDS_LOWER ||
            !is_first_of_field(k))
            continue;
        f = smgr_field_of(&pst__limits__descriptor, k->field);
        if (k->kind == LIMIT_TRES || k->kind == LIMIT_ONE) {
            smgr_put_tres(s, &value, *(Pst__TresCount *const *const *)(base + f->offset),
                          *(const size_t *)(base + f->quantifier_offset));
        } else if (*(const protobuf_c_boolean *)(base + f->quantifier_offset)) {
            int32_t n = *(const int32_t *)(base + f->offset);

            if (n < 0) {
                strbuf_add(&value, "NONE");
            } else if (k->kind == LIMIT_TIME) {
                time_fmt_hms((int64_t)n * 60, time, sizeof(time));
                strbuf_add(&value, time);
            } else {
                strbuf_addf(&value, "%d", n);
            }
        }
        if (value.len)
            put_setting(sb, qos, limit_label(k, qos), strbuf_str(&value));
        strbuf_done(&value);
    }
}

static void put_number(struct strbuf *sb, bool qos, const char *name, bool has, uint32_t value)
{
    char text_value[32];

    (void)snprintf(text_value, sizeof(text_value), "%u", value);
    if (has)
        put_setting(sb, qos, name, value == CLEAR ? "NONE" : text_value);
}

static void put_real(struct strbuf *sb, const char *name, bool has, double value)
{
    char text_value[64];

    (void)snprintf(text_value, sizeof(text_value), "%.4f", value);
    if (has)
        put_setting(sb, true, name, value < 0 ? "NONE" : text_value);
}

static void put_qos_settings(struct smgr *s, struct strbuf *sb, const Pst__AcctSet *set)
{
    const Pst__QosRecord *q = set->qos;
    struct strbuf value = STRBUF_INIT;

    if (!q)
        return;
    if (q->has_flags) {
        smgr_put_qos_flags(&value, q->flags == CLEAR ? 0 : q->flags);
        put_setting(sb, true, "Flags", value.len ? strbuf_str(&value) : "NONE");
        strbuf_reset(&value);
    }
    put_number(sb, true, "GraceTime", q->has_grace_s, q->grace_s);
    put_limits(s, sb, q->limits, true);
    if (q->n_preempt_ids) {
        smgr_put_qos_list(s, &value, q->preempt_ids, q->n_preempt_ids);
        put_setting(sb, true, "Preempt", strbuf_str(&value));
    }
    if (q->has_preempt_mode && q->preempt_mode != CLEAR) {
        strbuf_reset(&value);
        for (unsigned i = 0; store_preempt_word(i); i++)
            if (q->preempt_mode & 1u << i)
                strbuf_addf(&value, "%s%s", value.len ? "," : "", store_preempt_word(i));
        put_setting(sb, true, "PreemptMode", strbuf_str(&value));
    }
    if (q->has_preempt_exempt_s) {
        char time[64] = "NONE";

        if (q->preempt_exempt_s != CLEAR)
            time_fmt_hms(q->preempt_exempt_s, time, sizeof(time));
        put_setting(sb, true, "PreemptExemptTime", time);
    }
    put_number(sb, true, "Priority", q->has_priority, q->priority);
    put_real(sb, "LimitFactor", q->has_limit_factor, q->limit_factor);
    put_real(sb, "UsageFactor", q->has_usage_factor, q->usage_factor);
    put_real(sb, "UsageThreshold", q->has_usage_threshold, q->usage_threshold);
    strbuf_done(&value);
}

/* The alphabet, but for a few names that have another place. */
static const char *place_of(const char *line)
{
    static const struct {
        const char *name, *place;
    } places[] = { { "  DefQOS ", "  ~" },
                   { "  LimitFactor ", "  ~" },
                   { "  MaxTRESMins ", "  MaxTRESPf" },
                   { "  MaxWall ", "  MinTRESPz" },
                   { "  PreemptExemptTime ", "  PreemptN" } };

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strncmp(line, places[i].name, strlen(places[i].name)) == 0)
            return places[i].place;
    return line;
}

static int compare_lines(const void *a, const void *b)
{
    return strcasecmp(place_of(*(char *const *)a), place_of(*(char *const *)b));
}

/* In the order of the alphabet, as people find them. */
static void put_sorted(struct strbuf *sb, char *text)
{
    char *lines[256];
    size_t n = 0;
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line && n < ARRAY_SIZE(lines);
         line = strtok_r(NULL, "\n", &save))
        lines[n++] = line;
    qsort(lines, n, sizeof(*lines), compare_lines);
    for (size_t k = 0; k < n; k++)
        strbuf_addf(sb, "%s\n", lines[k]);
}

static void put_signed(struct smgr *s, struct strbuf *sb, char sign, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = smgr_qos_name(s, ids[i]);

        if (name)
            strbuf_addf(sb, "%s%c%s", sb->len ? "," : "", sign, name);
    }
}

static void put_assoc_settings(struct smgr *s, struct strbuf *sb, const Pst__AcctSet *set)
{
    const Pst__AssocRecord *a = set->assoc;
    struct strbuf value = STRBUF_INIT;

    if (a && a->has_default_qos_id)
        put_setting(sb, false, "DefQOS", smgr_qos_name(s, a->default_qos_id));
    if (a && a->has_shares_parent)
        put_setting(sb, false, "Fairshare", "parent");
    else
        put_number(sb, false, "Fairshare", a && a->has_shares, a ? a->shares : 0);
    if (a)
        put_limits(s, sb, a->limits, false);
    if (set->parent)
        put_setting(sb, false, "Parent", set->parent);
    put_number(sb, false, "Priority", a && a->has_priority, a ? a->priority : 0);
    if (a && a->n_qos_ids + a->n_qos_added + a->n_qos_removed) {
        smgr_put_qos_list(s, &value, a->qos_ids, a->n_qos_ids);
        put_signed(s, &value, '+', a->qos_added, a->n_qos_added);
        put_signed(s, &value, '-', a->qos_removed, a->n_qos_removed);
        put_setting(sb, false, "QOS", strbuf_str(&value));
    }
    strbuf_done(&value);
}

void smgr_put_settings(struct smgr *s, struct strbuf *sb, const Pst__AcctSet *set, bool qos)
{
    struct strbuf lines = STRBUF_INIT;

    if (qos)
        put_qos_settings(s, &lines, set);
    else
        put_assoc_settings(s, &lines, set);
    if (lines.len)
        put_sorted(sb, lines.buf);
    strbuf_done(&lines);
}

/* ---- clusters ------------------------------------------------------------------------------- */

#define FED_ACTIVE 1u
#define FED_INACTIVE 2u
#define FED_DRAIN 16u
#define FED_REMOVE 32u

static const struct {
    const char *word;
    uint32_t state;
} states[] = {
    { "ACTIVE", FED_ACTIVE },
    { "INACTIVE", FED_INACTIVE },
    { "DRAIN", FED_ACTIVE | FED_DRAIN },
    { "DRAIN+REMOVE", FED_ACTIVE | FED_DRAIN | FED_REMOVE },
};

const char *smgr_fed_state(const Pst__AcctClusterRecord *c)
{
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (c->fed_state == states[i].state)
            return states[i].word;
    return "NA";
}

bool smgr_parse_fed_state(const char *word, uint32_t *ret_state)
{
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strcasecmp(word, states[i].word) == 0) {
            *ret_state = states[i].state;
            return true;
        }
    return false;
}

void smgr_put_cluster_settings(struct strbuf *sb, const Pst__AcctSet *set)
{
    static const char *const classes[] = { "None", "Capability", "Capacity", "Capapacity" };
    const Pst__AcctClusterRecord *c = set->cluster;

    if (c && c->has_classification && c->classification < ARRAY_SIZE(classes))
        strbuf_addf(sb, "  Classification = %s\n", classes[c->classification]);
    if (c && c->federation)
        strbuf_addf(sb, "  Federation     = %s\n", c->federation);
    if (c && c->has_fed_state)
        strbuf_addf(sb, "  FedState       = %s\n", smgr_fed_state(c));
    for (size_t i = 0; i < set->n_features_add; i++)
        strbuf_addf(sb, "  Feature     %s= %s\n", set->features_replace ? "  " : "+",
                    set->features_add[i]);
    for (size_t i = 0; i < set->n_features_remove; i++)
        strbuf_addf(sb, "  Feature     -= %s\n", set->features_remove[i]);
}
