/* podnear.c - see podnear.h
 *
 * The words of all pods of a gang become rules, each once however many pods say it.  A rule is a
 * JSON object, so that two can be compared; what is there is counted beside it, by domain: a label
 * of nodes and a value, "zone=a". */
#include "kube/claim/podnear.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"
#include "kube/api/kubematch.h"
#include "kube/claim/podread.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define AFFINITY "spec.affinity.podAffinity." REQUIRED
#define ANTI "spec.affinity.podAntiAffinity." REQUIRED
#define SPREAD "spec.topologySpreadConstraints"
#define HOST "kubernetes.io/hostname"
#define RULES_MOST 32u

enum rule_kind { RULE_AWAY, RULE_NEAR, RULE_SPREAD };

struct rule {
    enum rule_kind kind;
    json_t *word;         /* {terms: [{key, selector, spaces}]}, of a spread more */
    const json_t *owner;  /* a pod that says it */
    size_t owners;        /* so many say it */
    const json_t *inside; /* a pod of the gang that it means; NULL: none */
    size_t insides;
    struct kubemap domains; /* "KEY=VALUE" -> size_t: pods there that are meant */
    size_t found;           /* all of them */
    size_t least;           /* of a spread: in the emptiest domain */
};

struct rules {
    const struct podnear_facts *f;
    const json_t *pods;
    struct rule list[RULES_MOST];
    size_t n;
    struct kubemap barred; /* "KEY=VALUE" that pods which are there keep others away from */
    bool failed;           /* no memory */
};

static void free_rules(struct rules **at)
{
    struct rules *r = *at;

    for (size_t i = 0; r && i < r->n; i++) {
        json_decref(r->list[i].word);
        kubemap_done(&r->list[i].domains, free);
    }
    if (r)
        kubemap_done(&r->barred, free);
    free(r);
}

bool podnear_repels(const json_t *pod)
{
    return json_array_size(kubejson_at(pod, ANTI)) > 0;
}

bool podnear_wants(const json_t *pod)
{
    return podnear_repels(pod) || json_array_size(kubejson_at(pod, AFFINITY)) ||
           json_array_size(kubejson_at(pod, SPREAD));
}

/* ---- words ----------------------------------------------------------------------------------- */

/* what: where the object stands, for the sentence.  words: all that is known of it, each with a
 * blank behind it. */
static int check_words(const json_t *object, const char *words, const char *what, struct err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return err_set(err, -EINVAL, "%s is not what it should be", what);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t n = strlen(key);
        const char *at = words;

        while (*at && !(strncmp(at, key, n) == 0 && at[n] == ' '))
            at += strcspn(at, " ") + 1;
        if (!*at)
            return err_set(err, -EINVAL, "%s: %.60s is not supported", what, key);
    }
    return 0;
}

static int check_selector(const json_t *selector, const char *what, struct err *err)
{
    static const char *const known[] = { "In", "NotIn", "Exists", "DoesNotExist" };
    size_t i, k;
    json_t *one;

    if (!selector || json_is_null(selector))
        return 0;
    if (check_words(selector, "matchLabels matchExpressions ", what, err) < 0)
        return -EINVAL;
    json_array_foreach(json_object_get(selector, "matchExpressions"), i, one)
    {
        const char *op = kubejson_text(one, "operator");

        for (k = 0; k < ARRAY_SIZE(known) && strcmp(op, known[k]) != 0;)
            k++;
        if (k == ARRAY_SIZE(known))
            return err_set(err, -EINVAL, "%s: the operator %.60s is not supported", what, op);
    }
    return 0;
}

/* matchLabelKeys: what a selector chooses has the pod's own values of these labels, or has not. */
static int add_keys(json_t *selector, const json_t *keys, const json_t *pod, const char *op)
{
    json_t *list = json_object_get(selector, "matchExpressions"), *key;
    size_t i;

    if (!json_array_size(keys) || !selector)
        return 0;
    if (!json_is_array(list) &&
        json_object_set_new(selector, "matchExpressions", list = json_array()) < 0)
        return -ENOMEM;
    json_array_foreach(keys, i, key)
    {
        const char *name = json_string_value(key);
        const char *value = name ? kubejson_label(pod, name) : NULL;

        if (value && json_array_append_new(list, json_pack("{s:s, s:s, s:[s]}", "key", name,
                                                           "operator", op, "values", value)) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* The namespaces that a term means: an array, or true for all of them; NULL: it cannot be said. */
static json_t *read_spaces(const json_t *term, const json_t *pod, const char *what, struct err *err)
{
    const json_t *named = json_object_get(term, "namespaces");
    const json_t *chosen = json_object_get(term, "namespaceSelector");
    json_t *list;

    if (json_is_object(chosen) && !json_object_size(chosen))
        return json_true();
    if (json_is_object(chosen)) {
        (void)err_set(err, -EINVAL, "%s: a namespaceSelector with labels is not supported", what);
        return NULL;
    }
    list =
        json_array_size(named) ? json_deep_copy(named) : json_pack("[s]", kubejson_namespace(pod));
    if (!list)
        (void)err_nomem(err);
    return list;
}

/* A term as it is compared and matched: {key, selector, spaces}. */
static int read_term(const json_t *term, const json_t *pod, const char *what, json_t **ret,
                     struct err *err)
{
    const char *key = kubejson_text(term, "topologyKey");
    const json_t *selector = json_object_get(term, "labelSelector");
    _cleanup_json_ json_t *copy = NULL, *spaces = NULL;

    if (!*key)
        return err_set(err, -EINVAL, "%s: a term has no topologyKey", what);
    if (check_selector(selector, what, err) < 0)
        return -EINVAL;
    spaces = read_spaces(term, pod, what, err);
    if (!spaces)
        return -EINVAL;
    copy = json_is_object(selector) ? json_deep_copy(selector) : json_null();
    if (!copy ||
        add_keys(json_is_object(copy) ? copy : NULL, json_object_get(term, "matchLabelKeys"), pod,
                 "In") < 0 ||
        add_keys(json_is_object(copy) ? copy : NULL, json_object_get(term, "mismatchLabelKeys"),
                 pod, "NotIn") < 0)
        return err_nomem(err);
    *ret = json_pack("{s:s, s:O, s:O}", "key", key, "selector", copy, "spaces", spaces);
    return *ret ? 0 : err_nomem(err);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int add_rule(struct rules *r, enum rule_kind kind, const json_t *pod, json_t *word_taken,
                    struct err *err)
{
    _cleanup_json_ json_t *word = word_taken;
    size_t i = 0;

    if (!word)
        return err_nomem(err);
    while (i < r->n && !(r->list[i].kind == kind && json_equal(r->list[i].word, word)))
        i++;
    if (i == RULES_MOST)
        return err_set(err, -EINVAL, "the pods say more than %u things of other pods", RULES_MOST);
    if (i == r->n)
        r->list[r->n++] = (struct rule){ .kind = kind, .word = TAKE_PTR(word) };
    r->list[i].owner = pod;
    r->list[i].owners++;
    return 0;
}

static int read_affinity(struct rules *r, const json_t *pod, bool anti, struct err *err)
{
    const char *what = anti ? "podAntiAffinity" : "podAffinity";
    const json_t *list = kubejson_at(pod, anti ? ANTI : AFFINITY);
    _cleanup_json_ json_t *all = json_array();
    size_t i;
    json_t *one;

    if (!all)
        return err_nomem(err);
    json_array_foreach(list, i, one)
    {
        json_t *term = NULL;
        int rc = check_words(one,
                             "labelSelector namespaces namespaceSelector topologyKey "
                             "matchLabelKeys mismatchLabelKeys ",
                             what, err);

        if (rc == 0)
            rc = read_term(one, pod, what, &term, err);
        if (rc == 0 && anti)
            rc = add_rule(r, RULE_AWAY, pod, json_pack("{s:[o]}", "terms", term), err);
        else if (rc == 0 && json_array_append_new(all, term) < 0)
            rc = err_nomem(err);
        if (rc < 0)
            return rc;
    }
    if (!json_array_size(all))
        return 0;
    return add_rule(r, RULE_NEAR, pod, json_pack("{s:O}", "terms", all), err);
}

/* "Honor" and "Ignore"; "": the default. */
static int read_policy(const json_t *one, const char *field, bool dflt, bool *ret, struct err *err)
{
    const char *text = kubejson_text(one, field);

    *ret = *text ? strcmp(text, "Honor") == 0 : dflt;
    if (!*text || *ret || strcmp(text, "Ignore") == 0)
        return 0;
    return err_set(err, -EINVAL, "topologySpreadConstraints: %s: %.60s is not supported", field,
                   text);
}

static int add_spread(struct rules *r, const json_t *pod, const json_t *one, json_t *keys,
                      struct err *err)
{
    const json_t *affinity = kubejson_at(pod, "spec.affinity.nodeAffinity." REQUIRED);
    json_t *term = NULL;
    bool places, taints;
    int64_t skew = kubejson_int(one, "maxSkew", 0);
    int rc;

    if (skew < 1)
        return err_set(err, -EINVAL, "topologySpreadConstraints: maxSkew is at least 1");
    if (read_policy(one, "nodeAffinityPolicy", true, &places, err) < 0 ||
        read_policy(one, "nodeTaintsPolicy", false, &taints, err) < 0)
        return -EINVAL;
    rc = read_term(one, pod, "topologySpreadConstraints", &term, err);
    if (rc < 0)
        return rc;
    return add_rule(r, RULE_SPREAD, pod,
                    json_pack("{s:[o], s:I, s:I, s:b, s:b, s:O, s:O?, s:O?, s:O?}", "terms", term,
                              "skew", (json_int_t)skew, "domains",
                              (json_int_t)kubejson_int(one, "minDomains", 1), "places", places,
                              "taints", taints, "keys", keys, "selector",
                              kubejson_at(pod, "spec.nodeSelector"), "affinity", affinity,
                              "tolerations", kubejson_at(pod, "spec.tolerations")),
                    err);
}

static int read_spread(struct rules *r, const json_t *pod, struct err *err)
{
    const json_t *list = kubejson_at(pod, SPREAD);
    _cleanup_json_ json_t *keys = json_array();
    size_t i;
    json_t *one;
    int rc = keys ? 0 : err_nomem(err);

    json_array_foreach(list, i, one)
    {
        const char *when = kubejson_text(one, "whenUnsatisfiable");

        if (rc == 0 && strcmp(when, "ScheduleAnyway") == 0)
            continue;
        if (rc == 0 && *when && strcmp(when, "DoNotSchedule") != 0)
            rc = err_set(err, -EINVAL,
                         "topologySpreadConstraints: whenUnsatisfiable: %.60s is not supported",
                         when);
        if (rc == 0)
            rc = check_words(one,
                             "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains "
                             "nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys ",
                             "topologySpreadConstraints", err);
        if (rc == 0 &&
            json_array_append_new(keys, json_string(kubejson_text(one, "topologyKey"))) < 0)
            rc = err_nomem(err);
    }
    json_array_foreach(list, i, one)
    {
        if (rc == 0 && strcmp(kubejson_text(one, "whenUnsatisfiable"), "ScheduleAnyway") != 0)
            rc = add_spread(r, pod, one, keys, err);
    }
    return rc;
}

static bool matches_term(const json_t *term, const json_t *pod)
{
    const json_t *spaces = json_object_get(term, "spaces");

    return (json_is_true(spaces) || kubejson_has_text(spaces, kubejson_namespace(pod))) &&
           kubematch_labels(json_object_get(term, "selector"), pod);
}

/* Affinity means pods that every one of its terms means. */
static bool matches_rule(const struct rule *rule, const json_t *pod)
{
    size_t i;
    json_t *term;

    if (rule->kind == RULE_SPREAD && kubejson_is_deleted(pod))
        return false;
    json_array_foreach(json_object_get(rule->word, "terms"), i, term)
    {
        if (!matches_term(term, pod))
            return false;
    }
    return true;
}

/* Pods of a gang that stand one behind the other mostly say the same. */
static bool says_same(const json_t *a, const json_t *b)
{
    static const char *const parts[] = { "spec.affinity",     SPREAD,
                                         "spec.nodeSelector", "spec.tolerations",
                                         "metadata.labels",   "metadata.namespace" };

    for (size_t i = 0; a && i < ARRAY_SIZE(parts); i++) {
        const json_t *x = kubejson_at(a, parts[i]), *y = kubejson_at(b, parts[i]);

        if (x != y && !(x && y && json_equal(x, y)))
            return false;
    }
    return a != NULL;
}

static int read_rules(const json_t *pods, struct rules **ret, struct err *err)
{
    __attribute__((cleanup(free_rules))) struct rules *r = calloc(1, sizeof(*r));
    const json_t *last = NULL;
    size_t i;
    json_t *pod;
    int rc = r ? 0 : err_nomem(err);

    json_array_foreach(pods, i, pod)
    {
        if (rc < 0)
            return rc;
        if (says_same(last, pod)) {
            for (size_t k = 0; k < r->n; k++)
                r->list[k].owners += r->list[k].owner == last;
            continue;
        }
        last = pod;
        rc = read_affinity(r, pod, true, err);
        if (rc == 0)
            rc = read_affinity(r, pod, false, err);
        if (rc == 0)
            rc = read_spread(r, pod, err);
    }
    if (rc < 0)
        return rc;
    r->pods = pods;
    json_array_foreach(pods, i, pod)
    {
        for (size_t k = 0; k < r->n; k++)
            if (matches_rule(&r->list[k], pod)) {
                r->list[k].inside = pod;
                r->list[k].insides++;
            }
    }
    *ret = TAKE_PTR(r);
    return 0;
}

static const char *key_of(const struct rule *rule)
{
    return kubejson_text(json_array_get(json_object_get(rule->word, "terms"), 0), "key");
}

/* Does a pod of the gang mean another one of it? */
static bool means_mate(const struct rule *rule)
{
    return rule->insides &&
           !(rule->owners == 1 && rule->insides == 1 && rule->owner == rule->inside);
}

int podnear_check(const json_t *pods, struct err *err)
{
    __attribute__((cleanup(free_rules))) struct rules *r = NULL;
    int rc = read_rules(pods, &r, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < r->n && json_array_size(pods) > 1; i++) {
        const struct rule *rule = &r->list[i];
        bool host = strcmp(key_of(rule), HOST) == 0;

        if (rule->kind == RULE_AWAY && !host && means_mate(rule))
            return err_set(err, -EINVAL,
                           "podAntiAffinity between pods of a gang by %.100s is not supported: "
                           "each has a node of its own",
                           key_of(rule));
        if (rule->kind == RULE_SPREAD && !host && rule->insides)
            return err_set(err, -EINVAL,
                           "topologySpreadConstraints of a gang by %.100s are not supported: "
                           "each pod has a node of its own",
                           key_of(rule));
    }
    return 0;
}

/* ---- what is there --------------------------------------------------------------------------- */

static bool write_domain(const char *key, const json_t *node, struct strbuf *out)
{
    const char *value = kubejson_label(node, key);

    if (value)
        strbuf_addf(out, "%s=%s", key, value);
    return value && !out->failed;
}

/* So many more pods in the domain of the node; 0: it is one. */
static void count_domain(struct rules *r, struct kubemap *domains, const char *key,
                         const json_t *node, size_t more)
{
    _cleanup_val_(strbuf_done) struct strbuf at = STRBUF_INIT;
    size_t *have;

    if (!write_domain(key, node, &at))
        return;
    have = kubemap_get(domains, strbuf_str(&at));
    if (!have) {
        have = calloc(1, sizeof(*have));
        if (!have || kubemap_put(domains, strbuf_str(&at), have) < 0) {
            free(have);
            r->failed = true;
            return;
        }
    }
    *have += more;
}

/* Does the spread look at the node? */
static bool is_eligible(const struct rule *rule, const json_t *node)
{
    const json_t *tolerations = json_object_get(rule->word, "tolerations");
    const json_t *affinity = json_object_get(rule->word, "affinity");
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(rule->word, "keys"), i, one)
    {
        if (!kubejson_label(node, json_string_value(one)))
            return false;
    }
    if (kubejson_true(rule->word, "places")) {
        _cleanup_json_ json_t *spec = json_pack("{s:O?, s:{s:{s:O?}}}", "nodeSelector",
                                                json_object_get(rule->word, "selector"), "affinity",
                                                "nodeAffinity", REQUIRED, affinity);

        if (!spec || !kubematch_selects(spec, node))
            return false;
    }
    json_array_foreach(kubejson_at(node, "spec.taints"), i, one)
    {
        if (kubejson_true(rule->word, "taints") &&
            strcmp(kubejson_text(one, "effect"), "PreferNoSchedule") != 0 &&
            !kubematch_tolerates(tolerations, one))
            return false;
    }
    return true;
}

static void note_node(void *arg, const json_t *node)
{
    struct rules *r = arg;

    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].kind == RULE_SPREAD && is_eligible(&r->list[i], node))
            count_domain(r, &r->list[i].domains, key_of(&r->list[i]), node, 0);
}

static bool is_of_gang(const struct rules *r, const json_t *pod)
{
    size_t i;
    json_t *one;

    json_array_foreach(r->pods, i, one)
    {
        if (one == pod || strcmp(kubejson_uid(one), kubejson_uid(pod)) == 0)
            return true;
    }
    return false;
}

static void note_pod(void *arg, const json_t *pod, const char *name)
{
    struct rules *r = arg;
    const json_t *node = r->f->node(r->f->ctx, name), *term;

    for (size_t i = 0; node && i < r->n; i++) {
        struct rule *rule = &r->list[i];
        const json_t *terms = json_object_get(rule->word, "terms");

        if (!matches_rule(rule, pod) || is_of_gang(r, pod) ||
            (rule->kind == RULE_SPREAD && !is_eligible(rule, node)))
            continue;
        rule->found++;
        for (size_t k = 0; (term = json_array_get(terms, k)); k++)
            count_domain(r, &rule->domains, kubejson_text(term, "key"), node, 1);
    }
}

/* A pod that is there and keeps one of the gang away. */
static void note_repeller(void *arg, const json_t *pod, const char *name)
{
    struct rules *r = arg;
    const json_t *node = r->f->node(r->f->ctx, name);
    size_t i, k;
    json_t *one, *mate;

    if (!node || is_of_gang(r, pod))
        return;
    json_array_foreach(kubejson_at(pod, ANTI), i, one)
    {
        _cleanup_json_ json_t *term = NULL;
        struct err err = { .text = "" };

        /* One that cannot be read keeps nobody away here: kube-scheduler has placed its pod. */
        if (read_term(one, pod, "podAntiAffinity", &term, &err) < 0)
            continue;
        json_array_foreach(r->pods, k, mate)
        {
            if (matches_term(term, mate)) {
                count_domain(r, &r->barred, kubejson_text(term, "key"), node, 1);
                break;
            }
        }
    }
}

static void note_least(void *ctx, const char *key, void *value)
{
    struct rule *rule = ctx;

    (void)key;
    rule->least = MIN(rule->least, *(const size_t *)value);
}

static void look_around(struct rules *r, const struct podnear_facts *f)
{
    bool spread = false;

    r->f = f;
    for (size_t i = 0; i < r->n; i++)
        spread = spread || r->list[i].kind == RULE_SPREAD;
    if (spread)
        f->nodes(f->ctx, note_node, r);
    if (r->n)
        f->pods(f->ctx, note_pod, r);
    f->repellers(f->ctx, note_repeller, r);
    for (size_t i = 0; i < r->n; i++) {
        struct rule *rule = &r->list[i];

        rule->least = SIZE_MAX;
        kubemap_walk(&rule->domains, note_least, rule);
        if ((int64_t)rule->domains.n < kubejson_int(rule->word, "domains", 1) || !rule->domains.n)
            rule->least = 0;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static size_t count_at(const struct kubemap *domains, const char *key, const json_t *node)
{
    _cleanup_val_(strbuf_done) struct strbuf at = STRBUF_INIT;
    const size_t *have =
        write_domain(key, node, &at) ? kubemap_get(domains, strbuf_str(&at)) : NULL;

    return have ? *have : 0;
}

/* The gang's own pods are the first of those that they want to be near. */
static bool is_first(const struct rule *rule)
{
    return rule->kind == RULE_NEAR && !rule->found && rule->insides;
}

static bool allows_near(const struct rule *rule, const json_t *node)
{
    size_t i;
    json_t *term;

    json_array_foreach(json_object_get(rule->word, "terms"), i, term)
    {
        const char *key = kubejson_text(term, "key");

        if (!kubejson_label(node, key) || (!is_first(rule) && !count_at(&rule->domains, key, node)))
            return false;
    }
    return true;
}

static bool allows_rule(const struct rule *rule, const json_t *node)
{
    const char *key = key_of(rule);
    size_t there;

    if (rule->kind == RULE_NEAR)
        return allows_near(rule, node);
    there = count_at(&rule->domains, key, node);
    if (rule->kind == RULE_AWAY)
        return there == 0;
    there += rule->insides > 0;
    return kubejson_label(node, key) &&
           (there <= rule->least ||
            (int64_t)(there - rule->least) <= kubejson_int(rule->word, "skew", 1));
}

struct bar {
    const json_t *node;
    bool found;
};

static void note_barred(void *ctx, const char *key, void *value)
{
    struct bar *bar = ctx;
    const char *split = strchr(key, '=');
    _cleanup_free_ char *name = split ? strndup(key, (size_t)(split - key)) : NULL;
    const char *have = name ? kubejson_label(bar->node, name) : NULL;

    (void)value;
    bar->found = bar->found || (have && strcmp(have, split + 1) == 0);
}

static bool allows_node(const struct rules *r, const json_t *node)
{
    struct bar bar = { node, false };

    for (size_t i = 0; i < r->n; i++)
        if (!allows_rule(&r->list[i], node))
            return false;
    kubemap_walk(&r->barred, note_barred, &bar);
    return !bar.found;
}

/* ---- a pod that wants its like elsewhere ----------------------------------------------------- */

/* Each has a domain of its own, or as many in it as in others. */
static bool parts_pod(const struct rules *r, const struct rule *rule)
{
    return json_array_size(r->pods) == 1 && rule->kind != RULE_NEAR && rule->insides &&
           (r->f->hosts || strcmp(key_of(rule), HOST) != 0);
}

struct choice {
    const struct rules *r;
    bool (*may)(void *ctx, const json_t *node);
    void *ctx;
    const char *best;
    size_t least, load;
};

static void weigh_node(void *arg, const json_t *node)
{
    struct choice *c = arg;
    const struct podnear_facts *f = c->r->f;
    size_t there = 0, load;

    for (size_t i = 0; i < c->r->n; i++) {
        const struct rule *rule = &c->r->list[i];

        if (!parts_pod(c->r, rule))
            continue;
        if (!kubejson_label(node, key_of(rule)))
            return; /* in no domain */
        there += count_at(&rule->domains, key_of(rule), node);
    }
    load = f->load ? f->load(f->ctx, node) : 0;
    if ((!c->best || there < c->least || (there == c->least && load < c->load)) &&
        allows_node(c->r, node) &&
        podread_fits(json_array_get(c->r->pods, 0), node, f->scheduler) && c->may(c->ctx, node)) {
        c->best = kubejson_name(node);
        c->least = there;
        c->load = load;
    }
}

const char *podnear_choose(const struct podnear_facts *f, const json_t *pods,
                           bool (*may)(void *ctx, const json_t *node), void *ctx)
{
    __attribute__((cleanup(free_rules))) struct rules *r = NULL;
    struct err err = { .text = "" };
    struct choice c = { NULL, may, ctx, NULL, 0, 0 };
    bool parts = false;

    if (read_rules(pods, &r, &err) < 0)
        return NULL;
    r->f = f;
    for (size_t i = 0; i < r->n; i++)
        parts = parts || parts_pod(r, &r->list[i]);
    if (!parts)
        return NULL;
    look_around(r, f);
    c.r = r;
    f->nodes(f->ctx, weigh_node, &c);
    return c.best;
}

/* Is the node where the pod is planned to be?  plan NULL: anywhere. */
static bool meets_plan(const struct rules *r, const json_t *plan, const json_t *node)
{
    for (size_t i = 0; plan && i < r->n; i++) {
        const char *a = kubejson_label(plan, key_of(&r->list[i]));
        const char *b = kubejson_label(node, key_of(&r->list[i]));

        if (parts_pod(r, &r->list[i]) && !(a && b && strcmp(a, b) == 0))
            return false;
    }
    return true;
}

/* ---- a gang that wants to be together -------------------------------------------------------- */

/* Where the node is, by the keys of all rules that bring the gang together; "": there is none. */
static void write_place(const struct rules *r, const json_t *node, struct strbuf *out)
{
    size_t k;
    json_t *term;

    for (size_t i = 0; i < r->n && json_array_size(r->pods) > 1; i++) {
        if (!is_first(&r->list[i]))
            continue;
        json_array_foreach(json_object_get(r->list[i].word, "terms"), k, term)
        {
            const char *value = kubejson_label(node, kubejson_text(term, "key"));

            strbuf_addf(out, "%s\n", value ? value : "");
        }
    }
}

struct pass {
    struct rules *r;
    struct kubemap places; /* where -> size_t: nodes that would do */
    const char *best;
    size_t most, left;
    const json_t *plan; /* NULL: none */
    json_t *names;      /* NULL: only count */
    bool failed;
};

static bool fits_all(const struct rules *r, const json_t *node)
{
    const json_t *pod;

    for (size_t i = 0; (pod = json_array_get(r->pods, i)); i++)
        if (!podread_fits(pod, node, r->f->scheduler))
            return false;
    return true;
}

static void count_place(void *arg, const json_t *node)
{
    struct pass *p = arg;
    _cleanup_val_(strbuf_done) struct strbuf at = STRBUF_INIT;
    size_t *have;

    write_place(p->r, node, &at);
    if (!at.len || !allows_node(p->r, node) || !fits_all(p->r, node))
        return;
    have = kubemap_get(&p->places, strbuf_str(&at));
    if (!have) {
        have = calloc(1, sizeof(*have));
        if (!have || kubemap_put(&p->places, strbuf_str(&at), have) < 0) {
            free(have);
            p->failed = true;
            return;
        }
    }
    ++*have;
}

static void note_best(void *ctx, const char *key, void *value)
{
    struct pass *p = ctx;

    if (*(const size_t *)value > p->most) {
        p->most = *(const size_t *)value;
        p->best = key;
    }
}

static void note_misfit(void *arg, const json_t *node)
{
    struct pass *p = arg;
    _cleanup_val_(strbuf_done) struct strbuf at = STRBUF_INIT;

    write_place(p->r, node, &at);
    if (allows_node(p->r, node) && meets_plan(p->r, p->plan, node) &&
        (!at.len || (p->best && strcmp(p->best, strbuf_str(&at)) == 0)))
        p->left++;
    else if (json_array_append_new(p->names, json_string(kubejson_name(node))) < 0)
        p->failed = true;
}

int podnear_exclude(const struct podnear_facts *f, const json_t *pods, json_t *names, bool *ret_all)
{
    __attribute__((cleanup(free_rules))) struct rules *r = NULL;
    struct err err = { .text = "" };
    struct pass p = { .names = names };

    if (read_rules(pods, &r, &err) < 0)
        return -ENOMEM; /* they were checked before */
    look_around(r, f);
    p.r = r;
    p.plan = f->plan ? f->node(f->ctx, f->plan) : NULL;
    if (p.plan && !allows_node(r, p.plan))
        p.plan = NULL;
    f->nodes(f->ctx, count_place, &p);
    kubemap_walk(&p.places, note_best, &p);
    f->nodes(f->ctx, note_misfit, &p);
    kubemap_done(&p.places, free);
    *ret_all = !p.left;
    return p.failed || r->failed ? -ENOMEM : 0;
}

bool podnear_holds(const struct podnear_facts *f, const json_t *pods, const json_t *places)
{
    __attribute__((cleanup(free_rules))) struct rules *r = NULL;
    _cleanup_val_(strbuf_done) struct strbuf first = STRBUF_INIT;
    struct err err = { .text = "" };
    size_t i;
    json_t *one;

    if (read_rules(pods, &r, &err) < 0)
        return true;
    look_around(r, f);
    json_array_foreach(places, i, one)
    {
        const json_t *node = f->node(f->ctx, kubejson_text(one, "node"));
        _cleanup_val_(strbuf_done) struct strbuf at = STRBUF_INIT;

        if (!node)
            continue; /* told by whoever binds */
        write_place(r, node, i ? &at : &first);
        if (!allows_node(r, node) || (i && strcmp(strbuf_str(&at), strbuf_str(&first)) != 0))
            return false;
    }
    return true;
}
