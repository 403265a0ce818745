/* conf_topoline.c - topology.conf: a line for each switch, block or ring.
 *
 * Of each kind a line has one key that opens it.  A file of another kind than TopologyPlugin's is
 * refused: an administrator who writes BlockName lines expects blocks. */
#include "conf/topo/conf_topoline.h"

#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"
#include "conf/lex/conf_lex.h"
#include "conf/topo/conf_topobuild.h"
#include "conf/topo/conf_topocheck.h"

struct reading {
    struct topo_loader *tl;
    struct conf_topo *t;
    const char **below; /* of each switch the list of its children, or NULL; room doubles */
    size_t nbelow;
};

static const struct {
    int key;
    enum conf_topo_kind kind;
    const char *plugin;
} openers[] = {
    { TK_SWITCH_NAME, CONF_TOPO_TREE, "topology/tree" },
    { TK_BLOCK_NAME, CONF_TOPO_BLOCK, "topology/block" },
    { TK_BLOCK_SIZES, CONF_TOPO_BLOCK, "topology/block" },
    { TK_RING_NAME, CONF_TOPO_RING_KIND, "topology/ring" },
};

static void report_line(struct reading *rd, unsigned line, const char *text)
{
    conf_error(&rd->tl->l, rd->tl->file, line, "%s", text);
}

static bool note_below(struct reading *rd, const char *list)
{
    size_t at = rd->t->nunits - 1;

    if ((at & (at - 1)) == 0 || at == 0) {
        const char **grown = conf_topo_alloc(rd->tl, at ? 2 * at : 1, sizeof(*grown));

        if (!grown)
            return false;
        if (rd->nbelow)
            memcpy(grown, rd->below, rd->nbelow * sizeof(*grown));
        rd->below = grown;
    }
    rd->below[at] = list;
    rd->nbelow = at + 1;
    return true;
}

static void read_switch(struct reading *rd, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;
    struct conf_topo_unit *u = conf_topo_add_unit(rd->tl, rd->t, v[TK_SWITCH_NAME].text, row->line);

    if (!u)
        return;
    if (v[TK_NODES].set && v[TK_SWITCHES].set)
        report_line(rd, row->line, "a switch has Nodes or Switches, not both");
    u->link_speed = v[TK_LINK_SPEED].set ? (uint32_t)v[TK_LINK_SPEED].num : 1;
    if (v[TK_NODES].set)
        (void)conf_topo_nodes(rd->tl, v[TK_NODES].text, row->line, &u->nodes, &u->nnodes);
    (void)note_below(rd, v[TK_SWITCHES].set ? v[TK_SWITCHES].text : NULL);
}

static void read_sizes(struct reading *rd, const char *text, unsigned line)
{
    struct conf_topo *t = rd->t;
    size_t n = 1;

    if (t->nblock_sizes)
        conf_warn(&rd->tl->l, rd->tl->file, line,
                  "BlockSizes is given more than once; the last value is used");
    for (const char *p = text; *p; p++)
        n += *p == ',';
    if (n > 4 * CONF_TOPO_POWERS) {
        report_line(rd, line, "Invalid BlockSizes value: too many sizes");
        return;
    }
    t->block_sizes = conf_topo_alloc(rd->tl, n, sizeof(*t->block_sizes));
    t->nblock_sizes = 0;
    for (const char *p = text; t->block_sizes && t->nblock_sizes < n;) {
        size_t len = strcspn(p, ",");
        char word[16];
        uint64_t size = 0;

        (void)snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), p);
        if (parse_u64(word, 1, UINT32_MAX, &size) < 0)
            conf_error(&rd->tl->l, rd->tl->file, line,
                       "Invalid BlockSizes value: \"%.15s\" is no number of nodes", word);
        t->block_sizes[t->nblock_sizes++] = (uint32_t)size;
        p += len + (p[len] == ',');
    }
}

static void read_block(struct reading *rd, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;
    struct conf_topo_unit *u;

    if (v[TK_BLOCK_SIZES].set)
        read_sizes(rd, v[TK_BLOCK_SIZES].text, row->line);
    if (!v[TK_BLOCK_NAME].set) {
        if (v[TK_NODES].set)
            report_line(rd, row->line, "Nodes without a BlockName");
        return;
    }
    u = conf_topo_add_unit(rd->tl, rd->t, v[TK_BLOCK_NAME].text, row->line);
    if (u && v[TK_NODES].set)
        (void)conf_topo_nodes(rd->tl, v[TK_NODES].text, row->line, &u->nodes, &u->nnodes);
}

static void read_ring(struct reading *rd, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;
    struct conf_topo_unit *u = conf_topo_add_unit(rd->tl, rd->t, v[TK_RING_NAME].text, row->line);

    if (!u)
        return;
    if (v[TK_NODES].set)
        (void)conf_topo_nodes(rd->tl, v[TK_NODES].text, row->line, &u->nodes, &u->nnodes);
    else
        report_line(rd, row->line, "a ring needs Nodes");
}

/* A key that lines of this kind do not have. */
static bool refuse_strange(struct reading *rd, const struct conf_row *row)
{
    static const int switch_only[] = { TK_SWITCHES, TK_LINK_SPEED };

    for (size_t i = 0; i < ARRAY_SIZE(openers); i++) {
        if (!row->vals[openers[i].key].set || openers[i].kind == rd->t->kind)
            continue;
        conf_error(&rd->tl->l, rd->tl->file, row->line, "%s is for TopologyPlugin=%s, and it is %s",
                   conf_tables[CONF_TBL_TOPO].rows[openers[i].key].name, openers[i].plugin,
                   conf_str(rd->tl->conf, CONF_TOPOLOGY_PLUGIN));
        return true;
    }
    for (size_t i = 0; rd->t->kind != CONF_TOPO_TREE && i < ARRAY_SIZE(switch_only); i++)
        if (row->vals[switch_only[i]].set) {
            conf_error(&rd->tl->l, rd->tl->file, row->line, "%s is for lines of switches",
                       conf_tables[CONF_TBL_TOPO].rows[switch_only[i]].name);
            return true;
        }
    return false;
}

static void read_line(struct reading *rd, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;

    if (refuse_strange(rd, row))
        return;
    switch (rd->t->kind) {
    case CONF_TOPO_TREE:
        if (v[TK_SWITCH_NAME].set)
            read_switch(rd, row);
        else
            report_line(rd, row->line, "the line has no SwitchName");
        break;
    case CONF_TOPO_BLOCK:
        read_block(rd, row);
        break;
    default:
        if (v[TK_RING_NAME].set)
            read_ring(rd, row);
        else
            report_line(rd, row->line, "the line has no RingName");
    }
}

int conf_topoline_read(struct topo_loader *tl, const char *path, struct conf_topo *t)
{
    struct reading rd = { .tl = tl, .t = t };
    struct conf_source src;
    struct conf_lex lx;
    unsigned number;
    char *line;
    int r = conf_source_optional(&tl->l, path, &src);

    if (r == 0 && !tl->l.nerrors)
        conf_error(&tl->l, path, 0, "the file is missing, and TopologyPlugin=%s needs it",
                   conf_str(tl->conf, CONF_TOPOLOGY_PLUGIN));
    if (r <= 0)
        return r;
    tl->file = src.name;
    conf_lex_init(&lx, src.text, src.len);
    while (!tl->no_memory && conf_lex_line(&lx, &line, &number)) {
        struct conf_val vals[TK_MAX_] = { 0 };
        struct conf_row row = { .file = src.name, .line = number, .vals = vals };
        size_t before = tl->l.nerrors;

        if (strnlen(line, CONF_MAX_LINE + 1) > CONF_MAX_LINE) {
            conf_error(&tl->l, src.name, number, "the line is longer than %u bytes", CONF_MAX_LINE);
            continue;
        }
        conf_row_parse(&tl->l, CONF_TBL_TOPO, &row, line);
        if (tl->l.nerrors == before)
            read_line(&rd, &row);
    }
    if (!tl->no_memory && !tl->l.nerrors)
        conf_topocheck(tl, t, t->kind == CONF_TOPO_TREE ? rd.below : NULL);
    return 0;
}
