/* conf_nodeexpr.c - places where configured nodes are listed: host lists, node sets, ALL,
 * functions.
 *
 * The result is a bitmap over the configured nodes, so order of writing and repetition do not
 * matter. Reads the loader, changes nothing but the list of problems. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/wordlist.h"

enum { MISSING_SHOWN = 3 }; /* missing nodes named per list; the rest is counted */

struct expr {
    struct conf_loader *l;
    const struct conf_val *at;
    const char *what;
    size_t missing;
    bool may_come; /* nodes that no line defines may be made later */
    bool bad;
};

static void note_problem(struct expr *e, const char *fmt, const char *item)
{
    char text[128];

    (void)snprintf(text, sizeof(text), fmt, item); /* cut when too long */
    conf_error(e->l, e->at->file, e->at->line, "%s: %s", e->what, text);
    e->bad = true;
}

static int add_hosts(struct expr *e, const char *text, struct bitmap *bm)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    int r = hostlist_parse(text, &hl, &err);

    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        note_problem(e, "%.100s", err.text);
        return 0;
    }
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const char *name = hostlist_nth(hl, i);
        uint32_t index = conf_node_index(e->l->c, name);

        if (index != UINT32_MAX)
            bitmap_set(bm, index);
        else if (!e->may_come && e->missing++ < MISSING_SHOWN)
            note_problem(e, "no NodeName line defines %.64s", name);
    }
    return 0;
}

static void add_feature(const struct conf *c, const char *feature, struct bitmap *bm)
{
    const char *last = NULL; /* nodes of a line share the string */
    bool match = false;

    for (size_t i = 0; i < c->nnodes; i++) {
        if (c->nodes[i].features != last) {
            last = c->nodes[i].features;
            match = wordlist_has(last, feature);
        }
        if (last && match)
            bitmap_set(bm, (uint32_t)i);
    }
}

static int add_nodeset(struct expr *e, const char *name, struct bitmap *bm, bool *ret_found)
{
    const struct conf_rows *sets = &e->l->nodesets;

    *ret_found = false;
    for (size_t i = 0; i < sets->n; i++) {
        const struct conf_val *v = sets->items[i].vals;
        int r = 0;

        if (strcmp(v[SK_NODE_SET].text, name) != 0)
            continue;
        *ret_found = true;
        if (v[SK_FEATURE].set)
            add_feature(e->l->c, v[SK_FEATURE].text, bm);
        if (v[SK_NODES].set && strcasecmp(v[SK_NODES].text, "ALL") == 0)
            bitmap_fill(bm);
        else if (v[SK_NODES].set)
            r = add_hosts(e, v[SK_NODES].text, bm);
        return r;
    }
    return 0;
}

/* name{argument}; the item is writable. */
static int add_function(struct expr *e, char *item, char *brace, struct bitmap *bm)
{
    size_t len = strlen(brace);

    if (brace[len - 1] != '}') {
        note_problem(e, "\"%.64s\" lacks a closing brace", item);
        return 0;
    }
    brace[len - 1] = '\0';
    *brace = '\0';
    if (strcasecmp(item, "feature") == 0)
        add_feature(e->l->c, brace + 1, bm);
    else if (strcasecmp(item, "node") == 0)
        return add_hosts(e, brace + 1, bm);
    else
        note_problem(e, "function %.64s{} cannot be used here; feature{} and node{} can", item);
    return 0;
}

static int add_item(struct expr *e, char *item, struct bitmap *bm)
{
    char *brace = strchr(item, '{');
    bool found;
    int r;

    if (strcasecmp(item, "ALL") == 0) {
        bitmap_fill(bm);
        return 0;
    }
    if (brace)
        return add_function(e, item, brace, bm);
    r = add_nodeset(e, item, bm, &found);
    return r < 0 || found ? r : add_hosts(e, item, bm);
}

static int apply_item(struct expr *e, const char *p, size_t len, struct bitmap *bm)
{
    _cleanup_(bitmap_free) struct bitmap *one = NULL;
    _cleanup_free_ char *item = NULL;
    bool remove = len > 1 && p[0] == '-';
    int r;

    item = strndup(remove ? p + 1 : p, remove ? len - 1 : len);
    if (!item)
        return -ENOMEM;
    if (!remove)
        return add_item(e, item, bm);
    r = bitmap_new(bm->nbits, &one);
    if (r == 0)
        r = add_item(e, item, one);
    if (r == 0)
        bitmap_andnot(bm, one);
    return r;
}

int conf_nodeexpr(struct conf_loader *l, const struct conf_val *at, const char *what,
                  struct bitmap **ret_bm)
{
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    struct expr e = {
        .l = l, .at = at, .what = what, .may_come = l->c->vals[CONF_MAX_NODE_COUNT].num > 0
    };
    int r = bitmap_new((uint32_t)l->c->nnodes, &bm);

    for (const char *p = at->text; r == 0 && *p;) {
        size_t len = hostlist_item_length(p);

        if (len)
            r = apply_item(&e, p, len, bm);
        p += len;
        p += *p == ',';
    }
    if (r < 0)
        return r;
    if (e.missing > MISSING_SHOWN)
        conf_error(l, at->file, at->line, "%s: %zu more nodes are not defined", what,
                   e.missing - MISSING_SHOWN);
    if (e.bad)
        return -EINVAL;
    *ret_bm = TAKE_PTR(bm);
    return 0;
}
