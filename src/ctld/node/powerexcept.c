/* powerexcept.c - see powerexcept.h */
#include "ctld/node/powerexcept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/compare/order.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
#define ITEMS_MAX 4096u /* of a list */

static const struct {
    const char *word;
    uint32_t flags;
} state_words[] = {
    { "CLOUD", FLAG(CLOUD) },
    { "DOWN", 0 },
    { "DRAIN", FLAG(DRAIN) },
    { "DYNAMIC_FUTURE", 0 },
    { "DYNAMIC_NORM", FLAG(DYNAMIC_NORM) },
    { "FAIL", FLAG(FAIL) },
    { "INVALID_REG", FLAG(INVALID_REG) },
    { "MAINTENANCE", FLAG(MAINTENANCE) },
    { "NOT_RESPONDING", FLAG(NOT_RESPONDING) },
    { "PERFCTRS", 0 },
    { "PLANNED", FLAG(PLANNED) },
    { "RESERVED", FLAG(RESERVED) },
};

/* ---- items of a list ------------------------------------------------------------------------- */

/* "node[1-8]:2" -> its nodes and 2.  *ret_counted: it has a count. */
static int read_item(const char *text, size_t len, struct hostlist **ret_hl, bool *ret_counted,
                     uint32_t *ret_count, struct err *err)
{
    _cleanup_free_ char *item = strndup(text, len);
    char *colon = item ? strrchr(item, ':') : NULL;
    uint64_t count = 0;
    int r;

    if (!item)
        return -ENOMEM;
    if (colon) {
        *colon = '\0';
        if (parse_u64(colon + 1, 1, HOSTLIST_MAX_NODES, &count) < 0)
            return err_set(err, -EINVAL,
                           "SuspendExcNodes: %.64s is not a number of nodes that stay up",
                           colon + 1);
    }
    r = hostlist_parse_most(item, HOSTLIST_MAX_NODES, ret_hl, NULL);
    if (r < 0)
        return r == -ENOMEM
                   ? r
                   : err_set(err, -EINVAL, "SuspendExcNodes: %.64s is not a list of nodes", item);
    *ret_counted = colon != NULL;
    *ret_count = (uint32_t)count;
    return 0;
}

/* ---- the object ------------------------------------------------------------------------------ */

struct power_except *power_except_free(struct power_except *e)
{
    if (!e)
        return NULL;
    for (size_t i = 0; i < e->nkeeps; i++)
        bitmap_free(e->keeps[i].nodes);
    free(e->keeps);
    bitmap_free(e->never);
    free(e);
    return NULL;
}

static void mark_nodes(const struct cluster *c, struct power_except *e, const struct hostlist *hl,
                       struct bitmap *set)
{
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(c, hostlist_nth(hl, i));

        if (n)
            bitmap_set(set, n->rec->node_id);
        else
            e->unknown++;
    }
}

static int add_item(const struct cluster *c, struct power_except *e, const struct hostlist *hl,
                    bool counted, uint32_t count)
{
    struct power_keep *more;

    if (!counted) {
        mark_nodes(c, e, hl, e->never);
        return 0;
    }
    more = realloc(e->keeps, (e->nkeeps + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    e->keeps = more;
    more[e->nkeeps] = (struct power_keep){ .count = count };
    if (bitmap_new(c->nnodes + 1, &more[e->nkeeps].nodes) < 0)
        return -ENOMEM;
    mark_nodes(c, e, hl, more[e->nkeeps++].nodes);
    return 0;
}

static int except_nodes(const struct cluster *c, struct power_except *e, const char *text,
                        struct err *err)
{
    size_t items = 0;

    for (const char *p = text ? text : ""; *p; p += *p == ',') {
        _cleanup_(hostlist_free) struct hostlist *hl = NULL;
        size_t len = hostlist_item_length(p);
        bool counted = false;
        uint32_t count = 0;
        int r = read_item(p, len, &hl, &counted, &count, err);

        if (r == 0 && ++items > ITEMS_MAX)
            return err_set(err, -EINVAL, "SuspendExcNodes: more than %u items", ITEMS_MAX);
        if (r == 0 && e)
            r = add_item(c, e, hl, counted, count);
        if (r < 0)
            return r;
        p += len;
    }
    return 0;
}

static void except_parts(const struct cluster *c, struct power_except *e, const char *text)
{
    _cleanup_free_ char *copy = text ? strdup(text) : NULL;
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        const struct partition *p = cluster_partition(c, w);

        if (p) {
            BITMAP_FOREACH (p->nodes, i)
                if (i < e->never->nbits)
                    bitmap_set(e->never, i);
        }
    }
}

/* e NULL: only checked. */
static int except_states(struct power_except *e, const char *text, struct err *err)
{
    for (const char *p = text ? text : ""; *p; p += *p == ',') {
        size_t len = strcspn(p, ","), i = 0;

        while (i < ARRAY_SIZE(state_words) && (strlen(state_words[i].word) != len ||
                                               strncasecmp(state_words[i].word, p, len) != 0))
            i++;
        if (i == ARRAY_SIZE(state_words))
            return err_set(err, -EINVAL,
                           "SuspendExcStates: %.*s is not CLOUD, DOWN, DRAIN, DYNAMIC_FUTURE, "
                           "DYNAMIC_NORM, FAIL, INVALID_REG, MAINTENANCE, NOT_RESPONDING, "
                           "PERFCTRS, PLANNED or RESERVED",
                           (int)MIN(len, (size_t)64), p);
        if (e) {
            e->flags |= state_words[i].flags;
            e->down = e->down || strcmp(state_words[i].word, "DOWN") == 0;
        }
        p += len;
    }
    return 0;
}

int power_except_check(const char *nodes, const char *states, struct err *err)
{
    int r = except_nodes(NULL, NULL, nodes, err);

    return r < 0 ? r : except_states(NULL, states, err);
}

int power_except_parse(const struct cluster *c, const char *nodes, const char *parts,
                       const char *states, struct power_except **ret, struct err *err)
{
    _cleanup_(power_except_free) struct power_except *e = calloc(1, sizeof(*e));
    int r = e ? bitmap_new(c->nnodes + 1, &e->never) : -ENOMEM;

    if (r == 0)
        r = except_nodes(c, e, nodes, err);
    if (r == 0)
        r = except_states(e, states, err);
    if (r < 0)
        return r;
    except_parts(c, e, parts);
    *ret = TAKE_PTR(e);
    return 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool has_word(const char *list, const char *word, size_t len)
{
    for (const char *p = list ? list : ""; *p; p += *p == ',') {
        size_t n = hostlist_item_length(p);

        if (n == len && strncasecmp(p, word, len) == 0)
            return true;
        p += n;
    }
    return false;
}

/* The words of a that are (not) in b, behind what out has. */
static void add_words(struct strbuf *out, const char *a, const char *b, bool without)
{
    for (const char *p = a ? a : ""; *p; p += *p == ',') {
        size_t n = hostlist_item_length(p);

        if (!without || !has_word(b, p, n))
            strbuf_addf(out, "%s%.*s", out->len ? "," : "", (int)n, p);
        p += n;
    }
}

/* Parse the items of a list into those without a count and those with one; of these, none of
 * `without` and none twice. */
static void part_items(const char *list, const char *without, struct strbuf *plain,
                       struct strbuf *counted)
{
    for (const char *p = list ? list : ""; *p; p += *p == ',') {
        size_t len = hostlist_item_length(p);

        if (!memchr(p, ':', len))
            strbuf_addf(plain, "%s%.*s", plain->len ? "," : "", (int)len, p);
        else if (!has_word(without, p, len) && !has_word(strbuf_str(counted), p, len))
            strbuf_addf(counted, "%s%.*s", counted->len ? "," : "", (int)len, p);
        p += len;
    }
}

/* The names of all that are not in gone, folded into out. */
static int add_remaining(struct strbuf *out, struct hostlist *all, const struct hostlist *gone)
{
    size_t n = 0, ngone = hostlist_count(gone);
    _cleanup_free_ const char **names = calloc(hostlist_count(all) + 1, sizeof(*names));
    _cleanup_free_ const char **off = calloc(ngone + 1, sizeof(*off));
    _cleanup_free_ char *folded = NULL;

    if (!names || !off)
        return -ENOMEM;
    for (size_t i = 0; i < ngone; i++)
        off[i] = hostlist_nth(gone, i);
    qsort(off, ngone, sizeof(*off), order_text);
    hostlist_uniq(all);
    for (size_t i = 0; i < hostlist_count(all); i++) {
        const char *name = hostlist_nth(all, i);

        if (!bsearch(&name, off, ngone, sizeof(*off), order_text))
            names[n++] = name;
    }
    if (n && hostlist_fold_names(names, n, &folded) < 0)
        return -ENOMEM;
    strbuf_add(out, folded ? folded : "");
    return 0;
}

static int parse_nodes(const struct strbuf *text, struct hostlist **ret, struct err *err)
{
    if (text->failed)
        return -ENOMEM;
    if (hostlist_parse_most(strbuf_str(text), HOSTLIST_MAX_NODES, ret, NULL) < 0)
        return err_set(err, -EINVAL, "SuspendExcNodes: %.64s is not a list of nodes",
                       strbuf_str(text));
    return 0;
}

/* Nodes without a count become one list; items with counts stay as they are. */
static int change_nodes(const char *list, const char *word, bool take_off, struct strbuf *out,
                        struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf plain = STRBUF_INIT, counted = STRBUF_INIT,
                                             off = STRBUF_INIT, ignored = STRBUF_INIT;
    _cleanup_(hostlist_free) struct hostlist *gone = NULL, *all = NULL;
    int r;

    part_items(list, take_off ? word : NULL, &plain, &counted);
    part_items(word, NULL, take_off ? &off : &plain, take_off ? &ignored : &counted);
    r = parse_nodes(&plain, &all, err);
    if (r == 0)
        r = parse_nodes(&off, &gone, err);
    if (r == 0)
        r = add_remaining(out, all, gone);
    if (r == 0 && counted.len)
        strbuf_addf(out, "%s%s", out->len ? "," : "", strbuf_str(&counted));
    return r < 0 ? r : counted.failed || out->failed ? -ENOMEM : 0;
}

int power_except_change(const char *list, const char *word, bool take_off, bool is_nodes,
                        char **ret, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    char *text = NULL;
    int r = 0;

    if (is_nodes) {
        r = change_nodes(list, word, take_off, &out, err);
    } else {
        add_words(&out, list, word, take_off);
        if (!take_off)
            add_words(&out, word, list, true);
    }
    if (r < 0)
        return r;
    if (out.len && strbuf_detach(&out, &text) < 0)
        return -ENOMEM;
    *ret = text;
    return 0;
}
