/* sacctmgr_special.c - values of keys that are neither names nor limits */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr_keys.h"

Pst__AssocRecord *smgr_set_assoc(struct smgr_line *l)
{
    if (!l->set->assoc) {
        l->set->assoc = xmalloc_or_die(sizeof(Pst__AssocRecord));
        pst__assoc_record__init(l->set->assoc);
    }
    return l->set->assoc;
}

Pst__QosRecord *smgr_set_qos(struct smgr_line *l)
{
    if (!l->set->qos) {
        l->set->qos = xmalloc_or_die(sizeof(Pst__QosRecord));
        pst__qos_record__init(l->set->qos);
    }
    return l->set->qos;
}

/* ---- the special ones ------------------------------------------------------------------------ */

static void tell_bad_qos(struct smgr_line *l, const char *name)
{
    struct strbuf list = STRBUF_INIT;

    for (size_t i = 0; i < l->s->names.n_qos; i++)
        if (!l->s->names.qos[i]->deleted)
            strbuf_addf(&list, "%s%s", list.len ? "," : "", l->s->names.qos[i]->name);
    smgr_fail(l->s, "sacctmgr: error: You gave a bad qos '%s'. Valid QOS's are %s\n", name,
              strbuf_str(&list));
    l->failed = true;
    if (l->entity != SMGR_QOS)
        smgr_unknown_option(l);
    strbuf_done(&list);
}

static void qos_ids(struct smgr_line *l, const char *value, uint32_t **ids, size_t *n)
{
    char **names = NULL;
    size_t n_names = 0;

    smgr_add_words(&names, &n_names, value, true);
    for (size_t i = 0; i < n_names; i++) {
        uint32_t id = 0;

        if (!smgr_qos_id(l->s, names[i], &id) && !l->failed)
            tell_bad_qos(l, names[i]);
        *ids = xrealloc_or_die(*ids, *n + 1, sizeof(**ids));
        (*ids)[(*n)++] = id;
        free(names[i]);
    }
    free(names);
}

/* A list whose words carry their own sign: "+a,-b", or an operator for all. */
static void qos_delta(struct smgr_line *l, char op, const char *value, uint32_t **set,
                      size_t *n_set, uint32_t **add, size_t *n_add, uint32_t **del, size_t *n_del,
                      protobuf_c_boolean *has_clear, protobuf_c_boolean *clear)
{
    bool any_set = false, any_signed = false;

    if (!*value || strcmp(value, "-1") == 0) {
        *has_clear = *clear = 1;
        return;
    }
    for (const char *p = value; *p && !op; p += strcspn(p, ","), p += *p == ',') {
        any_signed |= *p == '+' || *p == '-';
        any_set |= *p != '+' && *p != '-';
    }
    if (any_set && any_signed) {
        smgr_fail(l->s, "sacctmgr: error: You can't set qos equal to something and then add or "
                        "subtract from it in the same line\n");
        smgr_unknown_option(l);
        return;
    }
    while (*value) {
        size_t len = strcspn(value, ",");
        char sign = op ? op : '\0';
        _cleanup_free_ char *word = NULL;

        if (len && (*value == '+' || *value == '-')) {
            sign = *value++;
            len--;
        }
        word = strndup(value, len);
        if (word && *word)
            qos_ids(l, word,
                    sign == '+'   ? add
                    : sign == '-' ? del
                                  : set,
                    sign == '+'   ? n_add
                    : sign == '-' ? n_del
                                  : n_set);
        value += len + (value[len] == ',');
    }
}

static void qos_list(struct smgr_line *l, bool cond, char op, const char *value)
{
    Pst__AssocRecord *a;

    if (cond) {
        qos_ids(l, value, &l->where->qos_ids, &l->where->n_qos_ids);
        return;
    }
    a = smgr_set_assoc(l);
    qos_delta(l, op, value, &a->qos_ids, &a->n_qos_ids, &a->qos_added, &a->n_qos_added,
              &a->qos_removed, &a->n_qos_removed, &l->set->has_clear_qos, &l->set->clear_qos);
}

static void preempt_list(struct smgr_line *l, char op, const char *value)
{
    Pst__QosRecord *q = smgr_set_qos(l);

    qos_delta(l, op, value, &q->preempt_ids, &q->n_preempt_ids, &l->set->preempt_add,
              &l->set->n_preempt_add, &l->set->preempt_remove, &l->set->n_preempt_remove,
              &l->set->has_clear_preempt, &l->set->clear_preempt);
}

static Pst__UserRecord *set_user(struct smgr_line *l)
{
    if (!l->set->user) {
        l->set->user = xmalloc_or_die(sizeof(Pst__UserRecord));
        pst__user_record__init(l->set->user);
    }
    return l->set->user;
}

static Pst__AccountRecord *set_account(struct smgr_line *l)
{
    if (!l->set->account) {
        l->set->account = xmalloc_or_die(sizeof(Pst__AccountRecord));
        pst__account_record__init(l->set->account);
    }
    return l->set->account;
}

static Pst__ResourceRecord *set_resource(struct smgr_line *l)
{
    if (!l->set->resource) {
        l->set->resource = xmalloc_or_die(sizeof(Pst__ResourceRecord));
        pst__resource_record__init(l->set->resource);
    }
    return l->set->resource;
}

static bool admin_level(const char *value, Pst__AdminLevel *ret)
{
    if (smgr_is(value, "None", 1) || strcmp(value, "-1") == 0)
        *ret = PST__ADMIN_LEVEL__ADMIN_NONE;
    else if (smgr_is(value, "Operator", 1))
        *ret = PST__ADMIN_LEVEL__ADMIN_OPERATOR;
    else if (smgr_is(value, "Administrator", 1) || smgr_is(value, "SuperUser", 1))
        *ret = PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR;
    else
        return false;
    return true;
}

static bool is_account_flag(struct smgr_line *l, const char *value)
{
    if (strcasecmp(value, "UsersAreCoords") == 0 || strcasecmp(value, "NoUsersAreCoords") == 0)
        return true;
    smgr_fail(l->s, " Unknown Flag(s)=%s\n", value);
    l->failed = true;
    return false;
}

static void tell_bad_flag(struct smgr_line *l, const char *value)
{
    struct strbuf all = STRBUF_INIT;

    smgr_put_qos_flags(&all, UINT32_MAX);
    printf(" Unknown QOS flag used in:\n  '%s'\n Valid QOS flags are\n  '%s'\n", value,
           strbuf_str(&all));
    l->s->status = CLI_EXIT_FAILED;
    l->failed = true;
    strbuf_done(&all);
}

static void take_flags(struct smgr_line *l, char op, const char *value)
{
    uint32_t bits = 0;

    if (l->entity == SMGR_ACCOUNT) {
        Pst__AccountRecord *a = set_account(l);

        if (!is_account_flag(l, value))
            return;
        a->has_users_are_coords = 1;
        a->users_are_coords = strcasecmp(value, "UsersAreCoords") == 0;
    } else if (l->entity == SMGR_RESOURCE) {
        Pst__ResourceRecord *r = set_resource(l);

        if (!smgr_is(value, "Absolute", 3) && strcmp(value, "-1") != 0) {
            smgr_bad(l, "Flags", value, "Absolute is meant");
            return;
        }
        r->has_flags = 1;
        r->flags = *value != '-' && op != '-';
    } else if (strcmp(value, "-1") == 0) {
        smgr_set_qos(l)->has_flags = 1;
        smgr_set_qos(l)->flags = CLEAR;
    } else if (!*value || !smgr_parse_qos_flags(value, &bits)) {
        tell_bad_flag(l, value);
    } else if (op == '+') {
        l->set->has_qos_flags_add = 1;
        l->set->qos_flags_add |= bits;
    } else if (op == '-') {
        l->set->has_qos_flags_remove = 1;
        l->set->qos_flags_remove |= bits;
    } else {
        smgr_set_qos(l)->has_flags = 1;
        smgr_set_qos(l)->flags = bits ? bits : CLEAR;
    }
}

/* As stored: a bit for each of the modes of PreemptMode; CLEAR = the cluster's. */
static void preempt_mode(struct smgr_line *l, bool cond, const char *value)
{
    uint32_t bits = 0;

    /* off is the word of the cluster's mode too */
    if (smgr_is(value, "CLUSTER", 3) || strcasecmp(value, "off") == 0 || strcmp(value, "-1") == 0) {
        bits = CLEAR;
    } else {
        while (*value) {
            size_t len = strcspn(value, ",");
            const char *word;
            unsigned i = 0;

            while ((word = store_preempt_word(i)) &&
                   (strlen(word) != len || strncasecmp(word, value, len) != 0))
                i++;
            if (!word) {
                smgr_fail(l->s, " Bad Preempt Mode given: %s\n", l->word);
                l->failed = true;
                return;
            }
            bits |= 1u << i;
            value += len + (value[len] == ',');
        }
    }
    if (cond) {
        l->preempt_modes = bits;
        return;
    }
    smgr_set_qos(l)->has_preempt_mode = 1;
    smgr_set_qos(l)->preempt_mode = bits;
}

#define FLAG_ON(msg, field) ((msg)->has_##field = (msg)->field = 1)

static void take_fairshare(struct smgr_line *l, const char *value)
{
    uint32_t shares;

    /* as Slurm dumps it */
    if (strcasecmp(value, "parent") == 0 || strcmp(value, "2147483647") == 0) {
        FLAG_ON(smgr_set_assoc(l), shares_parent);
    } else if (smgr_number(l, "FairShare", value, &shares)) {
        smgr_set_assoc(l)->has_shares = 1;
        smgr_set_assoc(l)->shares = shares;
    }
}

static void take_time(struct smgr_line *l, const char *key, const char *value,
                      protobuf_c_boolean *has, int64_t *us)
{
    struct err err = { .text = "" };

    if (time_when_parse(value, now_us(), false, us, &err) < 0)
        smgr_bad(l, key, value, NULL);
    *has = 1;
}

static void take_event_type(struct smgr_line *l, const char *value)
{
    bool cluster = smgr_is(value, "Cluster", 1);

    if (!cluster && !smgr_is(value, "Node", 1)) {
        smgr_fail(l->s, " Unknown event type: '%s'  Valid events are Cluster and Node.\n", value);
        l->failed = true;
        return;
    }
    l->where->has_event_type = 1;
    l->where->event_type = cluster ? 1 : 2;
}

/* What the log of changes calls each kind of change. */
static const char *const txn_verbs[] = { "Add ", "Modify ", "Remove " };
static const char *const txn_things[] = { "Account Coord", "Accounts", "Associations", "Clusters",
                                          "Federations",   "Job",      "QOS",          "Resource",
                                          "TRES",          "Users",    "WCKeys" };

static bool is_action(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(txn_verbs); i++)
        for (size_t k = 0; k < ARRAY_SIZE(txn_things); k++)
            if (strncasecmp(word, txn_verbs[i], strlen(txn_verbs[i])) == 0 &&
                strcasecmp(word + strlen(txn_verbs[i]), txn_things[k]) == 0)
                return true;
    return false;
}

static void take_actions(struct smgr_line *l, const char *value)
{
    size_t before = l->where->n_actions;

    smgr_add_words(&l->where->actions, &l->where->n_actions, value, false);
    for (size_t i = before; i < l->where->n_actions && !l->failed; i++) {
        if (!is_action(l->where->actions[i])) {
            smgr_fail(l->s, "sacctmgr: error: You gave a bad action '%s'.\n", l->where->actions[i]);
            l->failed = true;
        }
    }
}

static void take_ids(struct smgr_line *l, const char *value)
{
    const char *name = l->entity == SMGR_QOS                                 ? "QOS ID"
                       : l->entity == SMGR_WCKEY                             ? "WCKeyID"
                       : l->entity == SMGR_TXN                               ? "Transaction ID"
                       : l->entity & (SMGR_ASSOC | SMGR_ACCOUNT | SMGR_USER) ? "AssocId"
                                                                             : "Id";
    char **words = NULL;
    size_t n = 0;

    smgr_add_words(&words, &n, value, false);
    for (size_t i = 0; i < n; i++) {
        uint64_t id = 0;

        if (!l->failed && parse_u64(words[i], 0, UINT32_MAX, &id) < 0) {
            smgr_fail(l->s, "sacctmgr: error: Invalid value for %s (%s)\n", name, words[i]);
            l->failed = true;
        }
        l->where->ids = xrealloc_or_die(l->where->ids, l->where->n_ids + 1, sizeof(uint32_t));
        l->where->ids[l->where->n_ids++] = (uint32_t)id;
        free(words[i]);
    }
    free(words);
}

/* Words of no value; false: it has one. */
bool smgr_switches(struct smgr_line *l, enum special what)
{
    switch (what) {
    case S_TREE:
        l->tree = true;
        return true;
    case S_WITH_ASSOC:
        l->with_assoc = true;
        return true;
    case S_WITH_COORD:
        l->with_coord = true;
        return true;
    case S_WITH_CLUSTERS:
        l->with_clusters = true;
        return true;
    case S_WITH_DELETED:
        FLAG_ON(l->where, with_deleted);
        return true;
    case S_WITH_SUB:
        FLAG_ON(l->where, with_sub_accounts);
        return true;
    case S_ONLY_DEFAULTS:
        FLAG_ON(l->where, only_defaults);
        return true;
    case S_WOP_INFO:
        l->no_parent_info = true;
        FLAG_ON(l->where, raw_qos);
        return true;
    case S_WO_LIMITS:
    case S_WOP_LIMITS:
        l->no_limits = true;
        FLAG_ON(l->where, no_inherited_limits);
        FLAG_ON(l->where, raw_qos);
        return true;
    case S_RAW_QOS: /* the column of that name has them anyway */
        return true;
    case S_ALL_TIME:
        l->all_time = true;
        return true;
    case S_ALL_CLUSTERS:
        l->all_clusters = true;
        return true;
    case S_WITH_FED:
        l->with_fed = true;
        return true;
    default:
        return false;
    }
}

static void take_text(struct smgr_line *l, char **field, const char *value)
{
    (void)l;
    check_mem_or_die(pb_set_str(field, value));
}

static void text_lower(struct smgr_line *l, char **field, const char *value)
{
    take_text(l, field, value);
    smgr_lower(*field);
}

static void set_admin(struct smgr_line *l, bool cond, const char *value)
{
    Pst__AdminLevel level;

    if (!admin_level(value, &level)) {
        set_user(l); /* a level that there is not: nothing is set, and nothing chosen by it */
    } else if (cond) {
        l->where->has_admin_level = 1;
        l->where->admin_level = level;
    } else {
        set_user(l)->has_admin_level = 1;
        set_user(l)->admin_level = level;
    }
}

static void set_default_qos(struct smgr_line *l, bool cond, const char *value)
{
    uint32_t *list = NULL, id;
    size_t n = 0;

    if (cond) {
        qos_ids(l, value, &l->where->default_qos_ids, &l->where->n_default_qos_ids);
    } else if (strcmp(value, "-1") == 0) {
        FLAG_ON(l->set, clear_default_qos);
    } else if (!*value || !smgr_qos_id(l->s, value, &id)) {
        smgr_fail(l->s, "You gave a bad default qos '%s'.  Use 'list qos' to get complete list.\n",
                  value);
        l->failed = true;
    } else {
        qos_ids(l, value, &list, &n);
        if (n) {
            smgr_set_assoc(l)->has_default_qos_id = 1;
            smgr_set_assoc(l)->default_qos_id = list[0];
        }
        free(list);
    }
}

static void take_priority(struct smgr_line *l, const char *value)
{
    uint32_t n;

    if (!smgr_number(l, "Priority", value, &n))
        return;
    if (l->entity == SMGR_QOS)
        smgr_set_qos(l)->has_priority = 1, smgr_set_qos(l)->priority = n;
    else
        smgr_set_assoc(l)->has_priority = 1, smgr_set_assoc(l)->priority = n;
}

/* 0 is the only value there is. */
static void take_raw_usage(struct smgr_line *l, const char *value)
{
    char *end;

    if (l->mode == SMGR_ADD && l->entity != SMGR_QOS) {
        smgr_unknown_option(l);
        return;
    }
    (void)strtod(value, &end); /* nothing is 0 */
    if (*end || (*value && end == value)) {
        (void)fflush(stdout); /* in the order it was said */
        (void)fprintf(stderr, "sacctmgr: error: Invalid value for RawUsage (%s)\n", value);
        l->ignored = true;
        return;
    }
    if (l->entity != SMGR_QOS && *value && strcmp(value, "0") != 0) {
        smgr_fail(l->s, "sacctmgr: error: Raw usage can only be set to 0 (zero)\n");
        l->failed = true;
    }
    l->ignored = l->mode == SMGR_ADD; /* what is new has used nothing */
    if (!l->ignored)
        FLAG_ON(l->set, reset_usage);
}

/* As a condition of accounts. */
static void choose_account_flag(struct smgr_line *l, const char *value)
{
    if (!is_account_flag(l, value))
        return;
    l->choose_coords = strcasecmp(value, "UsersAreCoords") == 0 ? 1 : -1;
}

/* Settings of users, accounts and associations. */
static bool special_assoc(struct smgr_line *l, enum special what, bool cond, char op,
                          const char *value)
{
    switch (what) {
    case S_ADMIN:
        set_admin(l, cond, value);
        return true;
    case S_DEF_ACCOUNT:
        if (cond)
            smgr_add_words(&l->where->default_accounts, &l->where->n_default_accounts, value, true);
        else
            text_lower(l, &l->set->default_account, value);
        return true;
    case S_DEF_WCKEY:
        if (cond)
            smgr_add_words(&l->where->default_wckeys, &l->where->n_default_wckeys, value, false);
        else
            take_text(l, &set_user(l)->default_wckey, value);
        return true;
    case S_DEF_QOS:
        set_default_qos(l, cond, value);
        return true;
    case S_WCKEYS:
        if (cond)
            smgr_add_words(&l->where->wckeys, &l->where->n_wckeys, value, false);
        else
            smgr_add_words(&l->set->wckeys, &l->set->n_wckeys, value, false);
        return true;
    case S_NEW_NAME:
        text_lower(l, &l->set->new_name, value);
        return true;
    case S_FAIRSHARE:
        take_fairshare(l, value);
        return true;
    case S_PARENT:
        text_lower(l, &l->set->parent, value);
        return true;
    case S_QOS:
        qos_list(l, cond, op, value);
        return true;
    case S_PRIORITY:
        take_priority(l, value);
        return true;
    case S_ORGANIZATION:
        if (cond)
            smgr_add_words(&l->where->organizations, &l->where->n_organizations, value, true);
        else
            text_lower(l, &set_account(l)->organization, value);
        return true;
    case S_DESCRIPTION:
        if (cond)
            smgr_add_words(&l->where->descriptions, &l->where->n_descriptions, value, true);
        else if (l->entity == SMGR_QOS)
            text_lower(l, &smgr_set_qos(l)->description, value);
        else if (l->entity == SMGR_RESOURCE)
            take_text(l, &set_resource(l)->description, value);
        else
            text_lower(l, &set_account(l)->description, value);
        return true;
    case S_FLAGS:
        if (cond)
            choose_account_flag(l, value);
        else
            take_flags(l, op, value);
        return true;
    case S_COMMENT:
        take_text(l, &smgr_set_assoc(l)->comment, value);
        return true;
    case S_RAW_USAGE:
        take_raw_usage(l, value);
        return true;
    default:
        return false;
    }
}

static Pst__AcctClusterRecord *set_cluster(struct smgr_line *l)
{
    if (!l->set->cluster) {
        l->set->cluster = xmalloc_or_die(sizeof(Pst__AcctClusterRecord));
        pst__acct_cluster_record__init(l->set->cluster);
    }
    return l->set->cluster;
}

static void set_class(struct smgr_line *l, bool cond, const char *value)
{
    static const char *const words[] = { "none", "capability", "capacity", "capapacity" };
    size_t i = 0;

    while (i < ARRAY_SIZE(words) && strcasecmp(words[i], value) != 0)
        i++;
    if (i == ARRAY_SIZE(words) && cond)
        smgr_bad(l, "Classification", value, "capability, capacity or capapacity is meant");
    l->ignored = i == ARRAY_SIZE(words); /* a word that means no class sets nothing */
    if (l->ignored)
        return;
    if (cond) {
        l->has_class = true;
        l->class = (uint32_t)i;
        return;
    }
    set_cluster(l)->has_classification = 1;
    l->set->cluster->classification = (uint32_t)i;
}

#define SET_QOS(field, value) (smgr_set_qos(l)->has_##field = 1, smgr_set_qos(l)->field = (value))

static void take_grace(struct smgr_line *l, const char *value)
{
    uint32_t s;

    if (smgr_number(l, "GraceTime", value, &s))
        SET_QOS(grace_s, s);
}

/* A bare number is minutes. */
static void take_exempt_time(struct smgr_line *l, const char *value)
{
    uint32_t min, s = CLEAR;
    struct err err = { .text = "" };
    bool forever = time_limit_parse(value, &min, &err) == 0 && min == TIME_LIMIT_INFINITE;

    if (!forever && time_delay_parse(value, &s, &err) < 0)
        smgr_bad(l, "PreemptExemptTime", value, NULL);
    else
        SET_QOS(preempt_exempt_s, s);
}

static bool special_qos(struct smgr_line *l, enum special what, bool cond, char op,
                        const char *value)
{
    double real;

    switch (what) {
    case S_GRACE:
        take_grace(l, value);
        return true;
    case S_PREEMPT:
        preempt_list(l, op, value);
        return true;
    case S_PREEMPT_MODE:
        preempt_mode(l, cond, value);
        return true;
    case S_PREEMPT_EXEMPT:
        take_exempt_time(l, value);
        return true;
    case S_USAGE_FACTOR:
        if (smgr_real(l, "UsageFactor", value, &real))
            SET_QOS(usage_factor, real);
        return true;
    case S_USAGE_THRESHOLD:
        if (smgr_real(l, "UsageThreshold", value, &real))
            SET_QOS(usage_threshold, real);
        return true;
    case S_LIMIT_FACTOR:
        if (smgr_real(l, "LimitFactor", value, &real))
            SET_QOS(limit_factor, real);
        return true;
    case S_CLASS:
        set_class(l, cond, value);
        return true;
    default:
        return false;
    }
}

#define SET_RES(field, value) (set_resource(l)->has_##field = 1, set_resource(l)->field = (value))

static void take_percents(struct smgr_line *l, const char *value)
{
    char **words = NULL;
    size_t n = 0;

    smgr_add_words(&words, &n, value, false);
    for (size_t i = 0; i < n; i++) {
        uint32_t percent = 0;

        if (!l->failed)
            (void)smgr_number(l, "Allowed", words[i], &percent); /* told */
        l->where->percents =
            xrealloc_or_die(l->where->percents, l->where->n_percents + 1, sizeof(uint32_t));
        l->where->percents[l->where->n_percents++] = percent;
        free(words[i]);
    }
    free(words);
}

static bool special_resource(struct smgr_line *l, enum special what, bool cond, const char *value)
{
    uint32_t n;

    switch (what) {
    case S_SERVER:
        if (cond)
            smgr_add_words(&l->where->servers, &l->where->n_servers, value, false);
        else
            take_text(l, &set_resource(l)->server, value);
        return true;
    case S_SERVER_TYPE:
        take_text(l, &set_resource(l)->server_type, value);
        return true;
    case S_TYPE:
        if (!smgr_is(value, "License", 1)) {
            smgr_fail(l->s, " Unknown resource type: '%s'  Valid resources is License.\n", value);
            l->failed = true;
        } else if (!cond) {
            SET_RES(type, 1);
        }
        return true;
    case S_COUNT:
        if (smgr_number(l, "count", value, &n))
            SET_RES(count, n);
        return true;
    case S_LAST_CONSUMED:
        if (smgr_number(l, "LastConsumed", value, &n))
            SET_RES(last_consumed, n);
        return true;
    case S_ALLOWED:
        if (cond)
            take_percents(l, value);
        else
            l->set->has_allowed = smgr_number(l, "Allowed", value, &l->set->allowed);
        return true;
    default:
        return false;
    }
}

static void add_event_state(struct smgr_line *l, uint32_t state)
{
    l->where->states = xrealloc_or_die(l->where->states, l->where->n_states + 1, sizeof(uint32_t));
    l->where->states[l->where->n_states++] = state;
}

static void event_states(struct smgr_line *l, const char *value)
{
    enum { NEVER = 0xff }; /* no event has such a state */
    static const struct {
        const char *word;
        uint32_t state; /* a base state, or a flag where events have it */
    } rows[] = { { "unknown", PST__NODE_STATE__NODE_UNKNOWN },
                 { "down", PST__NODE_STATE__NODE_DOWN },
                 { "idle", PST__NODE_STATE__NODE_IDLE },
                 { "allocated", NEVER },
                 { "error", NEVER },
                 { "mixed", NEVER },
                 { "future", PST__NODE_STATE__NODE_FUTURE },
                 { "drain", 1u << (8 + PST__NODE_FLAG__NODE_FLAG_DRAIN) },
                 { "fail", 1u << (8 + PST__NODE_FLAG__NODE_FLAG_FAIL) } };
    char **list = NULL;
    size_t n = 0;

    smgr_add_words(&list, &n, value, true);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
            if (strncmp(rows[k].word, list[i], strlen(list[i])) == 0)
                add_event_state(l, rows[k].state);
        free(list[i]);
    }
    if (n && !l->where->n_states) {
        smgr_fail(
            l->s,
            "Invalid state: %s\nValid node states are: DRAIN FAIL UNKNOWN DOWN IDLE ALLOCATED "
            "? MIXED FUTURE \nsacctmgr: fatal: unrecognized job state value\n",
            value);
        l->failed = true;
    }
    free(list);
}

static void special_rest(struct smgr_line *l, enum special what, const char *value)
{
    switch (what) {
    case S_FORMAT:
        smgr_add_words(&l->formats, &l->n_formats, value, false);
        if (!*value)
            smgr_add_string(&l->formats, &l->n_formats, "", 0);
        return;
    case S_IDS:
        take_ids(l, value);
        return;
    case S_ACTION:
        take_actions(l, value);
        return;
    case S_START:
        take_time(l, "Start", value, &l->where->has_start_us, &l->where->start_us);
        return;
    case S_END:
        take_time(l, "End", value, &l->where->has_end_us, &l->where->end_us);
        return;
    case S_COND_FLAGS:
        if (!smgr_is(value, "Open", 1))
            smgr_bad(l, "CondFlags", value, "Open is meant");
        FLAG_ON(l->where, only_open);
        l->open_only = true;
        return;
    case S_EVENT:
        take_event_type(l, value);
        return;
    case S_STATES:
        event_states(l, value);
        return;
    case S_MIN_CPUS:
        (void)smgr_number(l, "MinCpus", value, &l->min_cpus); /* told */
        return;
    case S_MAX_CPUS:
        (void)smgr_number(l, "MaxCpus", value, &l->max_cpus); /* told */
        return;
    default:
        return;
    }
}

/* ---- clusters and federations ---------------------------------------------------------------- */

static void take_state(struct smgr_line *l, const char *value)
{
    uint32_t state;

    if (!smgr_parse_fed_state(value, &state)) {
        smgr_fail(l->s, "Invalid FedState %s.\n", value);
        l->failed = true;
        return;
    }
    set_cluster(l)->has_fed_state = 1;
    l->set->cluster->fed_state = state;
}

static void take_features(struct smgr_line *l, char op, const char *value)
{
    Pst__AcctSet *set = l->set;

    if (op == '-')
        smgr_add_words(&set->features_remove, &set->n_features_remove, value, false);
    else
        smgr_add_words(&set->features_add, &set->n_features_add, value, false);
    if (!op)
        set->has_features_replace = set->features_replace = 1;
    (void)set_cluster(l); /* the record is changed */
}

static void take_clusters(struct smgr_line *l, char op, const char *value)
{
    Pst__AcctSet *set = l->set;

    if (op == '-')
        smgr_add_words(&set->fed_remove, &set->n_fed_remove, value, true);
    else
        smgr_add_words(&set->fed_add, &set->n_fed_add, value, true);
    if (!op)
        set->has_fed_replace = set->fed_replace = 1;
}

static bool special_fed(struct smgr_line *l, enum special what, char op, const char *value)
{
    switch (what) {
    case S_FEDERATION:
        if (l->mode == SMGR_ADD && !*value) {
            smgr_fail(l->s, " The federation  doesn't exist.\n");
            l->failed = true;
            return true;
        }
        check_mem_or_die(pb_set_str(&set_cluster(l)->federation, value));
        return true;
    case S_FED_STATE:
        take_state(l, value);
        return true;
    case S_FEATURES:
        take_features(l, op, value);
        return true;
    case S_FED_CLUSTERS:
        take_clusters(l, op, value);
        return true;
    case S_FED_FLAGS: /* there are none; the words are those that scripts know */
        smgr_fail(l->s,
                  " Unknown federation flag used in:\n '%s'\n Valid federation flags are\n"
                  "  '(null)'\n",
                  value);
        l->failed = true;
        return true;
    default:
        return false;
    }
}

void smgr_special(struct smgr_line *l, enum special what, bool cond, char op, const char *value)
{
    if (!smgr_switches(l, what) && !special_assoc(l, what, cond, op, value) &&
        !special_qos(l, what, cond, op, value) && !special_resource(l, what, cond, value) &&
        !special_fed(l, what, op, value))
        special_rest(l, what, value);
}
