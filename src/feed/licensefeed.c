/* licensefeed.c - licences as text: slurm.conf, job requests, what a job holds; see
 * licensefeed.h. */
#include "feed/licensefeed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/gres/grestext.h"
#include "base/gres/licensetext.h"
#include "base/must.h"

/* "port(n[01-12]):30"; word is changed. */
static bool parse_layer(char *word, const struct license_text *l, struct sched_lic_req *ret)
{
    uint64_t count = 1;

    if (!l->name_len || l->full_len < l->name_len + 3 || word[l->full_len - 1] != ')' ||
        strpbrk(word, " \t\r\n\"'"))
        return false;
    if (l->amount &&
        (l->amount_len > 18 || !l->amount_len || strspn(l->amount, "0123456789") != l->amount_len))
        return false;
    if (l->amount)
        count = license_text_count(l);
    word[l->full_len] = '\0';
    *ret = (struct sched_lic_req){ .name = word, .count = count, .layer = true };
    return true;
}

/* "name", "name:2", "name=variable", a layer; word is changed. */
static bool parse_one(char *word, const struct license_text *l, struct sched_lic_req *ret)
{
    struct gres_text g;

    word[l->len] = '\0';
    if (l->full_len != l->name_len)
        return parse_layer(word, l, ret);
    if (l->amount && strpbrk(word + l->full_len + 1, ":="))
        return false; /* a name, a variable and a count */
    if (!gres_text_parse(word, &g))
        return false;
    *ret = (struct sched_lic_req){ .name = g.name, .count = g.count, .variable = g.type };
    return true;
}

int licenses_configure(struct sched *s, const char *text)
{
    _cleanup_free_ char *copy = strdup(text ? text : "");
    char *save = NULL;
    int r = copy ? 0 : -ENOMEM;

    sched_licenses_clear(s);
    for (char *w = copy ? strtok_r(copy, ",;", &save) : NULL; w && r == 0;
         w = strtok_r(NULL, ",;", &save)) {
        struct gres_text g;

        if (gres_text_parse(w, &g) && !g.type)
            r = sched_license_put(s, g.name, g.count);
    }
    return r;
}

bool licenses_parse(char *text, struct license_list *ret)
{
    bool any = license_text_any(text);
    const char *p = text;
    struct license_text l;
    size_t n = 1;

    *ret = (struct license_list){ .any = any };
    while (license_text_next(&p, &l)) {
        n++;
        if (any && *p && *p != '|')
            return false;
    }
    if (n > LICENSES_MAX)
        return false;
    ret->items = calloc(n, sizeof(*ret->items));
    if (!ret->items)
        return false;
    for (p = text; license_text_next(&p, &l);) {
        bool end = !*p;

        if (!parse_one(text + (l.name - text), &l, &ret->items[ret->n])) {
            free(ret->items);
            *ret = (struct license_list){ 0 };
            return false;
        }
        ret->n++;
        if (end)
            break;
        p++; /* the separator is gone */
    }
    return true;
}

/* ---- is it there? ---------------------------------------------------------------------------- */

/* How many of a licence there are; false for an unknown name. */
static bool total_of(const char *all, const char *name, uint64_t *ret)
{
    _cleanup_free_ char *copy = all ? strdup(all) : NULL;
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",;", &save) : NULL; w; w = strtok_r(NULL, ",;", &save)) {
        struct gres_text g;

        if (gres_text_parse(w, &g) && strcmp(g.name, name) == 0) {
            *ret = g.count;
            return true;
        }
    }
    return false;
}

/* The layer of "port(n[01-12])"; NULL: there is none. */
static const struct resource_layer *layer_of(const struct resource *res, const char *name)
{
    const char *nodes = strchr(name, '(') + 1;
    size_t len = strlen(nodes) - 1; /* the closing parenthesis */

    for (size_t i = 0; i < res->nlayers; i++)
        if (strlen(res->layers[i].nodes) == len && strncmp(res->layers[i].nodes, nodes, len) == 0)
            return &res->layers[i];
    return NULL;
}

static uint64_t amount_of(const struct resource *res, const struct sched_lic_req *item)
{
    uint32_t value = 0;

    if (!item->variable)
        return item->count;
    return resource_variable(res, item->variable, strlen(item->variable), &value) ? value
                                                                                  : UINT64_MAX;
}

/* Is there so much of a resource, with what was asked of it before in the list? */
static bool resource_holds(const struct resource *res, const struct license_list *list, size_t at)
{
    uint32_t most = resource_most(res);
    uint64_t sum = 0;

    for (size_t i = list->any ? at : 0; i <= at; i++) {
        uint64_t n =
            strcmp(list->items[i].name, res->name) == 0 ? amount_of(res, &list->items[i]) : 0;

        if (n >= UINT32_MAX)
            return false;
        sum += n;
    }
    return most == RESOURCES_INFINITE || sum <= most;
}

/* Are there so many of a licence, or of a layer, with what was asked of it before in the list? */
static bool has_room(const struct license_list *list, size_t at, uint64_t total)
{
    uint64_t sum = 0;

    for (size_t i = list->any ? at : 0; i <= at; i++)
        if (strcmp(list->items[i].name, list->items[at].name) == 0)
            sum += MIN(list->items[i].count, UINT32_MAX); /* so that no sum is too large */
    return sum <= total;
}

static bool item_valid(const struct license_world *w, const struct license_list *list, size_t at,
                       bool zero, bool layers)
{
    const struct sched_lic_req *item = &list->items[at];
    const struct resource *res = resources_find(w->resources, item->name, strcspn(item->name, "("));
    const struct resource_layer *l;
    uint64_t total;

    if (!res)
        return !item->variable && !item->layer && total_of(w->all, item->name, &total) &&
               (zero || has_room(list, at, total));
    if (!item->layer)
        return (item->variable && amount_of(res, item) == UINT64_MAX) ? false
               : zero                                                 ? true
                      : resource_holds(res, list, at);
    l = layers && !list->any ? layer_of(res, item->name) : NULL;
    return l && (l->total == RESOURCES_INFINITE || has_room(list, at, l->total));
}

/* Is more than one resource charged for each node? */
static bool several_trees(const struct license_world *w, const struct license_list *list)
{
    const struct resource *tree = NULL;

    for (size_t i = 0; i < list->n; i++) {
        const char *name = list->items[i].name;
        const struct resource *res = resources_find(w->resources, name, strcspn(name, "("));

        if (!res || res->mode != 3)
            continue;
        if (tree && tree != res)
            return true;
        tree = res;
    }
    return false;
}

static bool list_valid(const struct license_world *w, const char *text, bool layers)
{
    _cleanup_free_ char *copy = strdup(text);
    struct license_list list;
    bool zero = conf_option(w->conf, CONF_SCHEDULER_PARAMETERS, "allow_zero_lic", NULL, NULL), ok;

    if (!copy || !licenses_parse(copy, &list))
        return false;
    ok = layers || !several_trees(w, &list);
    for (size_t i = 0; ok && i < list.n; i++)
        ok = item_valid(w, &list, i, zero, layers);
    free(list.items);
    return ok;
}

bool licenses_valid(const struct license_world *w, const char *text)
{
    return list_valid(w, text, false);
}

bool licenses_valid_resv(const struct license_world *w, const char *text)
{
    return list_valid(w, text, true);
}

uint64_t licenses_asked(const struct resources *r, const char *text, const char *name)
{
    _cleanup_free_ char *copy = text ? strdup(text) : NULL;
    const struct resource *res = resources_find(r, name, strlen(name));
    struct license_list list;
    uint64_t n = 0;

    if (!copy || !licenses_parse(copy, &list))
        return 0;
    for (size_t i = 0; i < list.n; i++) {
        const struct sched_lic_req *item = &list.items[i];
        size_t len = strcspn(item->name, "(");

        if (strlen(name) == len && strncmp(item->name, name, len) == 0)
            n += res && item->variable ? amount_of(res, item) : item->count;
    }
    free(list.items);
    return n;
}

/* ---- what a job holds ------------------------------------------------------------------------ */

static char *text_or_none(struct strbuf *sb)
{
    char *text = NULL;

    must_do(strbuf_detach(sb, &text));
    if (!*text) {
        free(text);
        return NULL;
    }
    return text;
}

static void put_item(struct strbuf *sb, const struct sched_lic_req *item, const char *between)
{
    strbuf_addf(sb, "%s%s:%llu", sb->len ? between : "", item->name,
                (unsigned long long)item->count);
}

void licenses_texts(const struct sched_lic_req *list, size_t n, bool any, char **ret_alloc,
                    char **ret_layers)
{
    struct strbuf alloc = STRBUF_INIT, layers = STRBUF_INIT;

    for (size_t i = 0; i < n; i++) {
        if (!list[i].count)
            continue;
        if (list[i].layer)
            put_item(&layers, &list[i], ";");
        if (list[i].layer == (list[i].mode == 1)) /* of mode 1 users are shown the layer */
            put_item(&alloc, &list[i], any ? "|" : ";");
    }
    *ret_alloc = text_or_none(&alloc);
    *ret_layers = text_or_none(&layers);
}
