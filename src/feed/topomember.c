/* topomember.c - what a node says of its place in the topologies; see toposet.h
 *
 * A membership is looked at as a whole before anything changes: plan_item() finds for each item
 * where the node would go, and place_item() puts it there. */
#include "feed/topomember.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "conf/topo/conf_topo.h"
#include "feed/toposet_impl.h"

enum { ITEMS_MAX = 64, WORDS_MAX = CONF_TOPO_LEVELS + 1 };

struct item {
    struct set_topo *topo;
    const char *words[WORDS_MAX]; /* behind the topology's name */
    size_t lens[WORDS_MAX];
    size_t nwords;
    size_t unit;    /* the unit that is there; tree: the lowest switch of the path that is */
    size_t missing; /* tree: words from this one on name switches to make; ring: 0 = make it */
    size_t at;      /* ring: position; torus: cell */
};

static int refuse_item(struct err *err, const char *text, const char *what, size_t len)
{
    return err_set(err, -EINVAL, "%s %.*s", text, (int)MIN(len, (size_t)CONF_TOPO_NAME), what);
}

static size_t find_unit(const struct set_topo *t, const char *name, size_t len)
{
    for (size_t i = 0; i < t->nunits; i++)
        if (strncmp(t->units[i].name, name, len) == 0 && t->units[i].name[len] == '\0')
            return i;
    return SIZE_MAX;
}

static bool is_unit_name(const char *name, size_t len)
{
    if (len == 0 || len > CONF_TOPO_NAME)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f || strchr(",:[]{}\"'", name[i]))
            return false;
    return true;
}

/* "name:unit:..." of len bytes. */
static int split_item(struct toposet *ts, const char *text, size_t len, struct item *it,
                      struct err *err)
{
    size_t name = MIN(strcspn(text, ":,"), len);

    *it = (struct item){ .topo = NULL };
    for (size_t i = 0; i < ts->n; i++)
        if (strncmp(ts->topos[i].name, text, name) == 0 && ts->topos[i].name[name] == '\0')
            it->topo = &ts->topos[i];
    if (!it->topo)
        return refuse_item(err, "there is no topology", text, name);
    if (name == len)
        return refuse_item(err, "the unit is missing:", text, name);
    for (size_t p = name + 1; p <= len;) {
        size_t word = 0;

        while (p + word < len && text[p + word] != ':')
            word++;
        if (it->nwords == WORDS_MAX || !is_unit_name(text + p, word))
            return refuse_item(err, "the unit is no name:", text, len);
        it->words[it->nwords] = text + p;
        it->lens[it->nwords++] = word;
        p += word + 1;
    }
    return 0;
}

static int number_of(const struct item *it, size_t word, uint32_t *ret)
{
    char text[8];
    uint64_t v;

    if (word >= it->nwords || it->lens[word] >= sizeof(text))
        return -EINVAL;
    memcpy(text, it->words[word], it->lens[word]);
    text[it->lens[word]] = '\0';
    if (parse_u64(text, 0, UINT16_MAX, &v) < 0)
        return -EINVAL;
    *ret = (uint32_t)v;
    return 0;
}

static bool is_child(const struct set_unit *u, size_t child)
{
    for (size_t i = 0; i < u->nchildren; i++)
        if (u->children[i] == child)
            return true;
    return false;
}

/* The switch that has this one below it, SIZE_MAX: a root. */
static size_t parent_of(const struct set_topo *t, size_t unit)
{
    for (size_t i = 0; i < t->nunits; i++)
        if (is_child(&t->units[i], unit))
            return i;
    return SIZE_MAX;
}

static size_t depth_of(const struct set_topo *t, size_t unit)
{
    size_t depth = 1;

    while (depth <= CONF_TOPO_LEVELS && (unit = parent_of(t, unit)) != SIZE_MAX)
        depth++;
    return depth;
}

static size_t other_nodes(const struct set_unit *u, uint32_t node)
{
    size_t n = 0;

    for (size_t i = 0; i < u->nnodes; i++)
        n += u->nodes[i] != node && u->nodes[i] != TOPO_NONE;
    return n;
}

static int plan_tree(struct item *it, uint32_t node, struct err *err)
{
    const struct set_topo *t = it->topo;

    it->unit = find_unit(t, it->words[0], it->lens[0]);
    if (it->unit == SIZE_MAX)
        return refuse_item(err, "there is no switch", it->words[0], it->lens[0]);
    for (it->missing = 1; it->missing < it->nwords; it->missing++) {
        size_t next = find_unit(t, it->words[it->missing], it->lens[it->missing]);

        if (next == SIZE_MAX)
            break;
        if (!is_child(&t->units[it->unit], next))
            return refuse_item(err,
                               "the switch is not below the one before it:", it->words[it->missing],
                               it->lens[it->missing]);
        it->unit = next;
    }
    for (size_t i = it->missing; i < it->nwords; i++) {
        if (find_unit(t, it->words[i], it->lens[i]) != SIZE_MAX)
            return refuse_item(err, "the switch is somewhere else:", it->words[i], it->lens[i]);
        for (size_t k = it->missing; k < i; k++)
            if (it->lens[k] == it->lens[i] && strncmp(it->words[k], it->words[i], it->lens[i]) == 0)
                return refuse_item(err, "the switch is named twice:", it->words[i], it->lens[i]);
    }
    if (it->missing == it->nwords && t->units[it->unit].nchildren)
        return err_set(err, -EINVAL, "switch %s is no leaf", t->units[it->unit].name);
    if (it->missing < it->nwords && other_nodes(&t->units[it->unit], node))
        return err_set(err, -EINVAL, "switch %s has nodes, and no switches below it",
                       t->units[it->unit].name);
    if (depth_of(t, it->unit) + it->nwords - it->missing > CONF_TOPO_LEVELS ||
        t->nunits + it->nwords - it->missing > CONF_TOPO_UNITS)
        return err_set(err, -EINVAL, "topology %s has too many switches", t->name);
    return 0;
}

static int plan_block(struct item *it, struct err *err)
{
    it->unit = find_unit(it->topo, it->words[0], it->lens[0]);
    if (it->unit == SIZE_MAX || it->nwords > 1)
        return refuse_item(err, "there is no block", it->words[0], it->lens[0]);
    return 0;
}

static int plan_ring(struct item *it, uint32_t node, struct err *err)
{
    uint32_t at;

    if (it->nwords != 2 || number_of(it, 1, &at) < 0 || at >= TOPO_RING_MAX)
        return refuse_item(err, "the position in the ring is not 0 to 15:", it->words[0],
                           it->lens[0]);
    it->unit = find_unit(it->topo, it->words[0], it->lens[0]);
    it->at = at;
    if (it->unit == SIZE_MAX) {
        if (at || it->topo->nunits >= CONF_TOPO_UNITS)
            return refuse_item(err, "there is no ring", it->words[0], it->lens[0]);
        return 0;
    }
    if (other_nodes(&it->topo->units[it->unit], node) >= TOPO_RING_MAX)
        return refuse_item(err, "the ring is full:", it->words[0], it->lens[0]);
    if (at > other_nodes(&it->topo->units[it->unit], node))
        it->at = 0; /* as documented: a place behind the end is the first */
    return 0;
}

static int plan_torus(struct item *it, uint32_t node, struct err *err)
{
    const struct set_unit *u;
    uint32_t xyz[3], held;

    it->unit = find_unit(it->topo, it->words[0], it->lens[0]);
    if (it->unit == SIZE_MAX)
        return refuse_item(err, "there is no torus", it->words[0], it->lens[0]);
    u = &it->topo->units[it->unit];
    for (size_t i = 0; i < 3; i++)
        if (it->nwords != 4 || number_of(it, i + 1, &xyz[i]) < 0 || xyz[i] >= u->dims[i])
            return refuse_item(err, "x:y:z is no cell of torus", it->words[0], it->lens[0]);
    it->at = xyz[0] + (size_t)u->dims[0] * (xyz[1] + (size_t)u->dims[1] * xyz[2]);
    held = u->nodes[it->at];
    if (held != TOPO_NONE && held != node)
        return refuse_item(err, "another node is at the cell of torus", it->words[0], it->lens[0]);
    return 0;
}

static int plan_item(struct item *it, uint32_t node, struct err *err)
{
    switch (it->topo->kind) {
    case TOPO_TREE:
        return plan_tree(it, node, err);
    case TOPO_BLOCK:
        return plan_block(it, err);
    case TOPO_RING:
        return plan_ring(it, node, err);
    case TOPO_TORUS:
        return plan_torus(it, node, err);
    default:
        return err_set(err, -EINVAL, "topology %s is flat and has no units", it->topo->name);
    }
}

/* Make the switches of a path that are missing; gives the leaf. */
static size_t make_switches(const struct item *it)
{
    struct set_topo *t = it->topo;
    size_t at = it->unit;

    for (size_t i = it->missing; i < it->nwords; i++) {
        (void)toposet_add_unit(t, it->words[i], it->lens[i]);
        toposet_add_child(&t->units[at], (uint32_t)(t->nunits - 1));
        at = t->nunits - 1;
    }
    return at;
}

static void add_path(const struct set_topo *t, size_t unit, struct strbuf *sb)
{
    size_t path[CONF_TOPO_LEVELS + 1], n = 0;

    for (; unit != SIZE_MAX && n < ARRAY_SIZE(path); unit = parent_of(t, unit))
        path[n++] = unit;
    while (n)
        strbuf_addf(sb, ":%s", t->units[path[--n]].name);
}

static void place_item(const struct item *it, uint32_t node, struct strbuf *sb)
{
    struct set_topo *t = it->topo;
    size_t unit = it->unit;

    strbuf_addf(sb, "%s%s", sb->len ? "," : "", t->name);
    if (t->kind == TOPO_TREE) {
        unit = make_switches(it);
        add_path(t, unit, sb);
    } else {
        strbuf_addf(sb, ":%.*s", (int)it->lens[0], it->words[0]);
    }
    if (t->kind == TOPO_TORUS) {
        struct set_unit *u = &t->units[unit];

        strbuf_addf(sb, ":%zu:%zu:%zu", it->at % u->dims[0], it->at / u->dims[0] % u->dims[1],
                    it->at / u->dims[0] / u->dims[1]);
        u->nodes[it->at] = node;
        return;
    }
    if (t->kind == TOPO_RING) {
        strbuf_addf(sb, ":%zu", it->at);
        if (unit == SIZE_MAX) {
            (void)toposet_add_unit(t, it->words[0], it->lens[0]);
            unit = t->nunits - 1;
        }
        toposet_add_node(&t->units[unit], node, it->at);
        return;
    }
    toposet_sort_in(&t->units[unit], node);
}

void toposet_leave(struct toposet *ts, uint32_t node)
{
    for (size_t i = 0; i < ts->n; i++)
        for (size_t k = 0; k < ts->topos[i].nunits; k++) {
            struct set_unit *u = &ts->topos[i].units[k];
            size_t kept = 0;

            for (size_t m = 0; m < u->nnodes; m++) {
                if (u->nodes[m] != node)
                    u->nodes[kept++] = u->nodes[m];
                else if (ts->topos[i].kind == TOPO_TORUS)
                    u->nodes[kept++] = TOPO_NONE;
            }
            u->nnodes = kept;
        }
}

static int plan_all(struct toposet *ts, uint32_t node, const char *membership, struct item *items,
                    size_t *ret_n, struct err *err)
{
    size_t n = 0;

    for (const char *p = membership; *p;) {
        size_t len = strcspn(p, ",");
        int r;

        if (len) {
            if (n == ITEMS_MAX)
                return err_set(err, -EINVAL, "more than %u topologies", ITEMS_MAX);
            r = split_item(ts, p, len, &items[n], err);
            if (r == 0)
                r = plan_item(&items[n], node, err);
            for (size_t i = 0; r == 0 && i < n; i++)
                if (items[i].topo == items[n].topo)
                    r = err_set(err, -EINVAL, "topology %s is named twice", items[n].topo->name);
            if (r < 0)
                return r;
            n++;
        }
        p += len + (p[len] == ',');
    }
    *ret_n = n;
    return 0;
}

int toposet_join(struct toposet *ts, uint32_t node, const char *membership, char **ret_text,
                 struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct item items[ITEMS_MAX];
    size_t n = 0;
    int r = plan_all(ts, node, membership, items, &n, err);

    if (r < 0)
        return r;
    toposet_leave(ts, node);
    for (size_t i = 0; i < n; i++)
        place_item(&items[i], node, &sb);
    if (sb.failed)
        must(NULL);
    if (ret_text)
        *ret_text = must(strdup(strbuf_str(&sb)));
    return 0;
}
