/* ibnet.c - see ibnet.h
 *
 * Sections of switches hold the cables; sections of adapters only say to whom an adapter belongs,
 * and may come behind the switches that name them.  So lines are read once for names and cables,
 * and cables find their ends afterwards. */
#include "topograph/read/ibnet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/fabric.h"

struct cable {
    uint32_t from;    /* switch of the fabric */
    const char *to;   /* guid */
    const char *name; /* description of its owner behind the `#`, NULL: none */
    unsigned line;
};

struct ibnet {
    const struct graph_wanted *wanted;
    struct fabric *fabric;
    struct graphpool pool;
    struct graphindex adapters; /* guid -> host of the fabric, or NOT_OURS */
    struct graphindex switches; /* guid -> switch of the fabric */
    struct cable *cables;
    size_t ncables, cap_cables;
    uint32_t current; /* switch whose section this is, GRAPH_NONE */
    bool seen;        /* `Topology file:` */
    unsigned line;
    struct err *err;
};

#define NOT_OURS (UINT32_MAX - 1)

static int report_line(struct ibnet *ib, const char *what)
{
    return err_set(ib->err, -EINVAL, "line %u: %s", ib->line, what);
}

/* The text in the next quotes at *at, which moves behind them; NULL: none. */
static const char *take_quoted(struct ibnet *ib, const char **at)
{
    const char *from = strchr(*at, '"'), *to = from ? strchr(from + 1, '"') : NULL;

    if (!to)
        return NULL;
    *at = to + 1;
    return graphpool_add(&ib->pool, from + 1, (size_t)(to - from - 1));
}

/* The description behind `#`, NULL: none. */
static const char *take_description(struct ibnet *ib, const char *at)
{
    at = strchr(at, '#');
    return at ? take_quoted(ib, &at) : NULL;
}

/* `node01 mlx5_0`: the length of the node's name; 0: something else */
static size_t host_length(const char *description)
{
    size_t len = strcspn(description, " ");
    const char *rest = description + len;

    rest += strspn(rest, " ");
    return len && *rest && !rest[strcspn(rest, " ")] ? len : 0;
}

/* `MF0;sw-7:MQM8700/U1` -> sw-7; `leaf1` -> leaf1; NULL: no name in it */
static const char *switch_name(struct ibnet *ib, const char *description)
{
    const char *from = strchr(description, ';'), *to = from ? strchr(from, ':') : NULL;

    if (to && to > from + 1)
        return graphpool_add(&ib->pool, from + 1, (size_t)(to - from - 1));
    return description[0] && !strpbrk(description, " ;:") ? description : NULL;
}

static int put_adapter(struct ibnet *ib, const char *guid, const char *description)
{
    size_t len = description ? host_length(description) : 0;
    const char *name = len ? graphpool_add(&ib->pool, description, len) : NULL;
    const char *id = name ? graph_wanted_id(ib->wanted, name) : NULL;
    uint32_t host = NOT_OURS;
    int r = 0;

    if (len && !name)
        return err_nomem(ib->err);
    if (graphindex_find(&ib->adapters, guid) != GRAPH_NONE)
        return 0; /* another output has it too */
    if (id)
        r = fabric_add_host(ib->fabric, id, name, &host, ib->err);
    if (r == 0 && graphindex_put(&ib->adapters, guid, host) < 0)
        r = err_nomem(ib->err);
    return r;
}

static int begin_adapter(struct ibnet *ib, const char *line)
{
    const char *guid = take_quoted(ib, &line);

    ib->current = GRAPH_NONE;
    if (!guid || !*guid)
        return report_line(ib, "Ca without its guid in quotes");
    return put_adapter(ib, guid, take_description(ib, line));
}

static int begin_switch(struct ibnet *ib, const char *line)
{
    const char *guid = take_quoted(ib, &line), *description;
    int r;

    if (!guid || !*guid)
        return report_line(ib, "Switch without its guid in quotes");
    description = take_description(ib, line);
    r = fabric_add_switch(ib->fabric, guid, description ? switch_name(ib, description) : NULL,
                          &ib->current, ib->err);
    if (r == 0 && graphindex_find(&ib->switches, guid) == GRAPH_NONE &&
        graphindex_put(&ib->switches, guid, ib->current) < 0)
        r = err_nomem(ib->err);
    return r;
}

/* `[7]  "H-0002c9"[1](2c9)  # "node01 mlx5_0" lid 10` */
static int read_port(struct ibnet *ib, const char *line)
{
    const char *guid;

    if (ib->current == GRAPH_NONE)
        return 0; /* an adapter's: the switch tells the same cable */
    guid = take_quoted(ib, &line);
    if (!guid || !*guid)
        return report_line(ib, "a port without the guid in quotes of what it leads to");
    if (ib->ncables == ib->cap_cables) {
        size_t cap = ib->cap_cables ? ib->cap_cables * 2 : 1024;
        struct cable *cables = reallocarray(ib->cables, cap, sizeof(*cables));

        if (!cables)
            return err_nomem(ib->err);
        ib->cables = cables;
        ib->cap_cables = cap;
    }
    if (ib->ncables >= FABRIC_CABLES_MAX)
        return report_line(ib, "more ports than can be taken");
    ib->cables[ib->ncables++] =
        (struct cable){ ib->current, guid, take_description(ib, line), ib->line };
    return 0;
}

static int read_line(struct ibnet *ib, const char *line)
{
    ib->seen = ib->seen || strstr(line, "Topology file:");
    line += strspn(line, " \t");
    if (*line == '#')
        return 0;
    if (!*line) {
        ib->current = GRAPH_NONE;
        return 0;
    }
    if (strncmp(line, "Switch", 6) == 0 && (line[6] == '\t' || line[6] == ' '))
        return begin_switch(ib, line);
    if (strncmp(line, "Ca", 2) == 0 && (line[2] == '\t' || line[2] == ' '))
        return begin_adapter(ib, line);
    return *line == '[' ? read_port(ib, line) : 0;
}

/* pdsh puts `node01: ` before each line; that of `Topology file:` tells whether it did. */
static bool has_prefix(const char *text, size_t len)
{
    const char *at = memmem(text, len, "Topology file:", 14), *line = at;

    while (line && line > text && line[-1] != '\n')
        line--;
    return at && line < at && line[0] != '#' && memmem(line, (size_t)(at - line), ": ", 2);
}

static int read_lines(struct ibnet *ib, const char *text, size_t len)
{
    bool prefix = has_prefix(text, len);
    char line[IBNET_LINE_MAX + 1];
    int r = 0;

    for (const char *at = text, *end = text + len; r == 0 && at < end;) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        const char *from = line, *colon;

        ib->line++;
        if (n > IBNET_LINE_MAX)
            return report_line(ib, "the line is longer than 4096 bytes");
        if (memchr(at, '\0', n))
            return report_line(ib, "a NUL: this is no text");
        memcpy(line, at, n);
        line[n && line[n - 1] == '\r' ? n - 1 : n] = '\0';
        colon = prefix ? strchr(line, ':') : NULL;
        if (colon && colon > line && !memchr(line, ' ', (size_t)(colon - line)))
            from = colon + 1;
        r = read_line(ib, from);
        at += n + (eol != NULL);
    }
    return r;
}

/* Cables find what they lead to. */
static int join_cables(struct ibnet *ib)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ib->ncables; i++) {
        const struct cable *c = &ib->cables[i];
        uint32_t sw = graphindex_find(&ib->switches, c->to), host;

        ib->line = c->line;
        if (sw != GRAPH_NONE) {
            r = fabric_link(ib->fabric, c->from, sw, ib->err);
            continue;
        }
        if (c->to[0] == 'S')
            continue;                        /* a switch that is not described */
        r = put_adapter(ib, c->to, c->name); /* the switch alone tells of it */
        host = graphindex_find(&ib->adapters, c->to);
        if (r == 0 && host != NOT_OURS && host != GRAPH_NONE)
            r = fabric_plug(ib->fabric, host, c->from, ib->err);
    }
    return r;
}

int ibnet_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
               struct err *err)
{
    struct ibnet ib = { .wanted = wanted, .current = GRAPH_NONE, .err = err };
    int r = fabric_new(&ib.fabric) < 0 ? err_nomem(err) : read_lines(&ib, text, len);

    if (r == 0 && !ib.seen)
        r = err_set(err, -EINVAL,
                    "no line `Topology file:`: this is not what ibnetdiscover prints");
    if (r == 0)
        r = join_cables(&ib);
    if (r == 0)
        r = fabric_build(ib.fabric, g, err);
    fabric_free(ib.fabric);
    graphindex_done(&ib.adapters);
    graphindex_done(&ib.switches);
    graphpool_done(&ib.pool);
    free(ib.cables);
    return r;
}
