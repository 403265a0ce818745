/* bootfeatures.c - nodes that boot for features; see bootfeatures.h */
#include "ctld/policy/bootfeatures.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "fields.h"
#include "sched/base/constraint.h"

/* Of so many features that can be changed an expression may name combinations: 2^10 are tried. */
#define NAMES_MAX 10

struct name {
    const char *p; /* in the expression */
    size_t len;
};
struct names {
    struct name at[NAMES_MAX];
    size_t n;
};

/* ---- lists ----------------------------------------------------------------------------------- */

static void add_word(struct strbuf *sb, const char *p, size_t len)
{
    if (len && !wordlist_has_n(strbuf_str(sb), p, len))
        strbuf_addf(sb, "%s%.*s", sb->len ? "," : "", (int)len, p);
}

/* The words of list that are not in `but`, behind those of sb. */
static void add_words(struct strbuf *sb, const char *list, const char *but)
{
    for (const char *p = list ? list : ""; *p;) {
        size_t len = strcspn(p, ",");

        if (!wordlist_has_n(but, p, len))
            add_word(sb, p, len);
        p += len + (p[len] == ',');
    }
}

static const char *active_of(const Pst__NodeRecord *r)
{
    return r->active_features ? r->active_features : r->features;
}

/* ---- one node -------------------------------------------------------------------------------- */

struct view { /* of a node: what is active, but for what the chosen names exclude, and these */
    const struct conf *conf;
    const char *active;
    const struct names *names;
    unsigned chosen; /* of names */
    struct bitmap *one;
};

static bool view_has(const struct view *v, const char *p, size_t len)
{
    bool has = wordlist_has_n(v->active, p, len);

    for (size_t i = 0; i < v->names->n; i++) {
        const struct name *n = &v->names->at[i];

        if (!(v->chosen & 1u << i))
            continue;
        if (n->len == len && memcmp(n->p, p, len) == 0)
            return true;
        if (has && conf_features_exclude(v->conf, n->p, n->len, p, len))
            has = false;
    }
    return has;
}

static const struct bitmap *view_lookup(void *arg, const char *name, size_t len)
{
    struct view *v = arg;

    bitmap_zero(v->one);
    if (view_has(v, name, len))
        bitmap_set(v->one, 0);
    return v->one;
}

/* Does the view satisfy the alternative? */
static bool view_suits(struct view *v, const struct constraint *f, uint32_t alt)
{
    _cleanup_(bitmap_free) struct bitmap *mask = NULL, *one = NULL;

    if (bitmap_new(1, &mask) < 0 || bitmap_new(1, &one) < 0)
        return false;
    v->one = one;
    bitmap_set(mask, 0);
    return constraint_mask(f, alt, view_lookup, v, mask) == 0 && bitmap_test(mask, 0);
}

static bool excludes_itself(const struct conf *conf, const struct names *names, unsigned chosen)
{
    for (size_t i = 0; i < names->n; i++)
        for (size_t k = 0; k < i; k++)
            if (chosen & 1u << i && chosen & 1u << k &&
                conf_features_exclude(conf, names->at[i].p, names->at[i].len, names->at[k].p,
                                      names->at[k].len))
                return true;
    return false;
}

/* The fewest names with which the view satisfies the alternative, in v->chosen. */
static bool choose_names(struct view *v, const struct constraint *f, uint32_t alt)
{
    unsigned end = 1u << v->names->n;

    for (int size = 0; size <= (int)v->names->n; size++)
        for (unsigned set = 0; set < end; set++) {
            v->chosen = set;
            if (__builtin_popcount(set) == size && !excludes_itself(v->conf, v->names, set) &&
                view_suits(v, f, alt))
                return true;
        }
    return false;
}

/* The names of the expression that are in changeable; NULL: all of them. */
static void find_names(const char *expr, const char *changeable, struct names *ret)
{
    ret->n = 0;
    for (const char *p = expr; *p && ret->n < NAMES_MAX;) {
        size_t len = strcspn(p, "&|[](),*!: ");
        bool count = p > expr && p[-1] == '*', known = false;

        for (size_t i = 0; i < ret->n; i++)
            known |= ret->at[i].len == len && memcmp(ret->at[i].p, p, len) == 0;
        if (len && !count && !known && (!changeable || wordlist_has_n(changeable, p, len)))
            ret->at[ret->n++] = (struct name){ p, len };
        p += len;
        p += *p != '\0';
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool has_counts(const struct constraint *f)
{
    for (uint32_t alt = 0; alt < constraint_alts(f); alt++)
        if (constraint_counts(f, alt))
            return true;
    return false;
}

bool bootfeatures_may(const struct ctld *ctld, const Pst__JobRecord *r)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;
    const char *program = conf_str(ctld->conf, CONF_REBOOT_PROGRAM);
    const char *users = conf_helpers_users(ctld->conf);

    return conf_helpers_on(ctld->conf) && program && *program && r->features && *r->features &&
           !r->external && (!users || (r->user_name && wordlist_has(users, r->user_name))) &&
           constraint_parse(r->features, &f, NULL) == 0 && !has_counts(f);
}

uint32_t bootfeatures_delay_s(const struct ctld *ctld)
{
    const char *value;
    size_t len;
    char text[32];
    uint32_t s = 0;

    if (!conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS, "delay_boot", &value, &len) || !value ||
        len >= sizeof(text))
        return 0;
    (void)snprintf(text, sizeof(text), "%.*s", (int)len, value);
    return time_delay_parse(text, &s, NULL) == 0 ? s : 0;
}

int64_t bootfeatures_from(const struct ctld *ctld, const Pst__JobRecord *r, int64_t eligible_us)
{
    uint32_t s = r->has_delay_boot_s ? r->delay_boot_s : bootfeatures_delay_s(ctld);

    return MAX(eligible_us, r->has_eligible_us ? r->eligible_us : r->submit_us) +
           (int64_t)s * USEC_PER_SEC;
}

bool bootfeatures_contradict(const struct ctld *ctld, const Pst__JobRecord *r)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;
    struct names names;
    struct view v = { .conf = ctld->conf, .names = &names };

    if (!conf_helpers_on(ctld->conf) || !r->features || !*r->features ||
        constraint_parse(r->features, &f, NULL) < 0 || has_counts(f))
        return false;
    find_names(r->features, NULL, &names);
    if (names.n == NAMES_MAX)
        return false;
    for (uint32_t alt = 0; alt < constraint_alts(f); alt++)
        if (choose_names(&v, f, alt))
            return false;
    return true;
}

void bootfeatures_free(char **list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        free(list[i]);
    free(list);
}

/* What node has to boot with for the alternative; NULL: it has no way to satisfy that. */
static char *plan_node(const struct ctld *ctld, const Pst__JobRecord *r, const struct constraint *f,
                       uint32_t alt, const struct node *node)
{
    struct strbuf sb = STRBUF_INIT;
    struct names names = { .n = 0 };
    struct view v = { .conf = ctld->conf, .active = active_of(node->rec), .names = &names };
    char *text = NULL;

    if (node->rec->changeable_features)
        find_names(r->features, node->rec->changeable_features, &names);
    if (!choose_names(&v, f, alt))
        return NULL;
    for (size_t i = 0; i < names.n; i++)
        if (v.chosen & 1u << i)
            add_word(&sb, names.at[i].p, names.at[i].len);
    if (sb.len)
        return strbuf_detach(&sb, &text) < 0 ? must(NULL) : text;
    return must(strdup(""));
}

static bool plan_alternative(const struct ctld *ctld, const Pst__JobRecord *r,
                             const struct constraint *f, uint32_t alt, const uint32_t *node_ids,
                             size_t n, char **list)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        const struct node *node = cluster_node(ctld->cluster, node_ids[i]);

        list[i] = node ? plan_node(ctld, r, f, alt, node) : NULL;
        ok = list[i] != NULL;
    }
    for (size_t i = 0; !ok && i < n; i++) {
        free(list[i]);
        list[i] = NULL;
    }
    return ok;
}

bool bootfeatures_plan(const struct ctld *ctld, const Pst__JobRecord *r, const uint32_t *node_ids,
                       size_t n, char ***ret_list)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;
    char **list = must(calloc(n + 1, sizeof(*list)));

    if (constraint_parse(r->features, &f, NULL) == 0)
        for (uint32_t alt = 0; alt < constraint_alts(f); alt++)
            if (plan_alternative(ctld, r, f, alt, node_ids, n, list)) {
                *ret_list = list;
                return true;
            }
    free(list);
    return false;
}

/* ---- registrations --------------------------------------------------------------------------- */

static bool is_for(const struct conf_helper *h, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    return !h->nodes || (hostlist_parse(h->nodes, &hl, NULL) == 0 && hostlist_find(hl, node) >= 0);
}

/* Those of list that helpers.conf gives to the node and that are in `within`, NULL: anything. */
static void add_known(struct strbuf *sb, const struct ctld *ctld, const char *node,
                      const char *list, const char *within)
{
    struct conf_helper h;

    for (size_t i = 0; conf_helper(ctld->conf, i, &h); i++)
        for (const char *p = h.features; list && is_for(&h, node) && *p;) {
            size_t len = strcspn(p, ",");

            if (wordlist_has_n(list, p, len) && (!within || wordlist_has_n(within, p, len)))
                add_word(sb, p, len);
            p += len + (p[len] == ',');
        }
}

static void put_text(char **field, const char *old, const struct strbuf *now)
{
    if (!old || strcmp(old, strbuf_str(now)) != 0)
        (void)pb_set_str(field, strbuf_str(now)); /* -ENOMEM: with the next registration */
}

static bool all_in(const char *list, const char *of)
{
    struct strbuf missing = STRBUF_INIT;
    bool all;

    add_words(&missing, list, of);
    all = !missing.len;
    strbuf_done(&missing);
    return all;
}

void bootfeatures_register(const struct ctld *ctld, Pst__Transaction *tx,
                           const Pst__NodeRecord *old, const Pst__NodeRecord *reg,
                           Pst__NodeRecord *set, bool *ret_lacks)
{
    struct strbuf can = STRBUF_INIT, all = STRBUF_INIT, on = STRBUF_INIT;

    *ret_lacks = false;
    if (old->boot_features)
        tx_clear(tx, NODE_F_BOOT_FEATURES);
    if (!old->changeable_features && !reg->changeable_features)
        return;
    if (conf_helpers_on(ctld->conf))
        add_known(&can, ctld, old->name, reg->changeable_features, NULL);
    add_words(&all, old->features, old->changeable_features);
    add_words(&all, strbuf_str(&can), NULL);
    add_words(&on, active_of(old), old->changeable_features);
    add_known(&on, ctld, old->name, reg->active_features, strbuf_str(&can));
    put_text(&set->features, old->features, &all);
    put_text(&set->active_features, old->active_features, &on);
    if (can.len)
        put_text(&set->changeable_features, old->changeable_features, &can);
    else
        tx_clear(tx, NODE_F_CHANGEABLE_FEATURES);
    *ret_lacks = old->boot_features && !all_in(old->boot_features, strbuf_str(&on));
    strbuf_done(&can);
    strbuf_done(&all);
    strbuf_done(&on);
}
