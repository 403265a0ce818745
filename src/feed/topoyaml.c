/* topoyaml.c - topologies as topology.yaml; see topoyaml.h
 *
 * The order of keys and the empty kinds are those of Slurm's answer, which programs compare. */
#include <string.h>

#include "base/hostlist.h"
#include "base/must.h"
#include "feed/topoyaml.h"

/* A plain scalar where that reads back as the same text. */
static void add_text(struct strbuf *sb, const char *text)
{
    bool plain = strcmp(text, "null") != 0 && !strpbrk(text, "#'") &&
                 ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                  (*text >= '0' && *text <= '9') || *text == '_');

    if (plain) {
        strbuf_add(sb, text);
        return;
    }
    strbuf_addc(sb, '\'');
    for (; *text; text++)
        strbuf_addf(sb, *text == '\'' ? "''" : "%c", *text);
    strbuf_addc(sb, '\'');
}

/* "KEY: text", or "KEY:" for none. */
static void add_pair(struct strbuf *sb, const char *key, const char *text)
{
    strbuf_addf(sb, text && *text ? "%s: " : "%s:", key);
    if (text && *text)
        add_text(sb, text);
    strbuf_addc(sb, '\n');
}

/* The nodes of n places in their order, without the empty ones; "" for none. */
static char *fold_places(const struct topologies *t, const uint32_t *nodes, size_t n)
{
    const char **names = must(calloc(n + 1, sizeof(*names)));
    size_t found = 0;
    char *text;

    for (size_t i = 0; i < n; i++)
        if (nodes[i] != TOPO_NONE && topologies_node(t, nodes[i]))
            names[found++] = topologies_node(t, nodes[i]);
    if (hostlist_fold_names(names, found, &text) < 0)
        must(NULL);
    free(names);
    return text;
}

static void write_nodes(const struct topologies *t, const struct topo_unit_spec *u,
                        struct strbuf *sb)
{
    char *text = fold_places(t, u->nodes, u->nnodes);

    add_pair(sb, "      nodes", text);
    free(text);
}

static void write_block(const struct topologies *t, const struct topo_spec *s, struct strbuf *sb)
{
    strbuf_add(sb, "    block_sizes:\n");
    for (size_t i = 0; i < s->nblock_sizes; i++)
        strbuf_addf(sb, "    - %u\n", s->block_sizes[i]);
    strbuf_add(sb, "    blocks:\n");
    for (size_t i = 0; i < s->nunits; i++) {
        add_pair(sb, "    - block", s->units[i].name);
        write_nodes(t, &s->units[i], sb);
    }
}

static void write_flat(const struct topologies *t, const struct topo_spec *s, struct strbuf *sb)
{
    (void)t;
    (void)s;
    strbuf_add(sb, "    alpha_step_rank: true\n");
}

static void write_ring(const struct topologies *t, const struct topo_spec *s, struct strbuf *sb)
{
    strbuf_add(sb, "    rings:\n");
    for (size_t i = 0; i < s->nunits; i++) {
        add_pair(sb, "    - ring", s->units[i].name);
        write_nodes(t, &s->units[i], sb);
    }
}

static void write_tree(const struct topologies *t, const struct topo_spec *s, struct strbuf *sb)
{
    strbuf_add(sb, "    switches:\n");
    for (size_t i = 0; i < s->nunits; i++) {
        const struct topo_unit_spec *u = &s->units[i];
        const char **names = must(calloc(u->nchildren + 1, sizeof(*names)));
        char *children;

        for (size_t k = 0; k < u->nchildren; k++)
            names[k] = s->units[u->children[k]].name;
        if (hostlist_fold_names(names, u->nchildren, &children) < 0)
            must(NULL);
        add_pair(sb, "    - switch", u->name);
        add_pair(sb, "      children", children);
        write_nodes(t, u, sb);
        free(children);
        free(names);
    }
}

static void write_xyz(const char *indent, const char *key, const uint32_t xyz[3], struct strbuf *sb)
{
    strbuf_addf(sb, "%s%s:\n", indent, key);
    for (unsigned i = 0; i < 3; i++)
        strbuf_addf(sb, "%*s  %c: %u\n", (int)strspn(indent, " -"), "", "xyz"[i], xyz[i]);
}

static void write_placements(const struct topo_spec *s, uint32_t unit, struct strbuf *sb)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nplacements; i++)
        n += s->placements[i].unit == unit;
    strbuf_add(sb, n ? "      placements:\n" : "      placements: []\n");
    for (size_t i = 0; i < s->nplacements; i++) {
        if (s->placements[i].unit != unit)
            continue;
        write_xyz("      - ", "dims", s->placements[i].dims, sb);
        write_xyz("        ", "anchor_seed", s->placements[i].seed, sb);
        write_xyz("        ", "anchor_spacing", s->placements[i].spacing, sb);
    }
}

static bool is_held(const struct topologies *t, const struct topo_unit_spec *u, size_t cell)
{
    return u->nodes[cell] != TOPO_NONE && topologies_node(t, u->nodes[cell]);
}

/* Each run of nodes along x is a region: cells between them may be empty. */
static void write_regions(const struct topologies *t, const struct topo_unit_spec *u,
                          struct strbuf *sb)
{
    strbuf_add(sb, "      regions:\n");
    for (size_t cell = 0; cell < u->nnodes;) {
        size_t x = cell % u->dims[0], n = 0;
        char *text;

        while (x + n < u->dims[0] && is_held(t, u, cell + n))
            n++;
        if (n) {
            text = fold_places(t, u->nodes + cell, n);
            write_xyz("      - ", "anchor",
                      (const uint32_t[3]){ (uint32_t)x, (uint32_t)(cell / u->dims[0] % u->dims[1]),
                                           (uint32_t)(cell / u->dims[0] / u->dims[1]) },
                      sb);
            write_xyz("        ", "dims", (const uint32_t[3]){ (uint32_t)n, 1, 1 }, sb);
            add_pair(sb, "        nodes", text);
            free(text);
        }
        cell += n ? n : 1;
    }
}

static void write_torus(const struct topologies *t, const struct topo_spec *s, struct strbuf *sb)
{
    strbuf_add(sb, "    toruses:\n");
    for (uint32_t i = 0; i < s->nunits; i++) {
        const struct topo_unit_spec *u = &s->units[i];
        size_t held = 0;

        for (size_t k = 0; k < u->nnodes; k++)
            held += is_held(t, u, k);
        add_pair(sb, "    - name", u->name);
        if (held == u->nnodes)
            write_nodes(t, u, sb);
        else
            add_pair(sb, "      nodes", NULL);
        write_xyz("      ", "dims", u->dims, sb);
        write_placements(s, i, sb);
        if (held && held < u->nnodes)
            write_regions(t, u, sb);
        else
            strbuf_add(sb, "      regions: []\n");
    }
}

static const struct {
    enum topo_kind kind;
    const char *key;
    void (*write)(const struct topologies *t, const struct topo_spec *s, struct strbuf *sb);
} kinds[] = { /* in the order of the keys */
              { TOPO_BLOCK, "block", write_block },
              { TOPO_FLAT, "flat", write_flat },
              { TOPO_RING, "ring", write_ring },
              { TOPO_TORUS, "torus3d", write_torus },
              { TOPO_TREE, "tree", write_tree }
};

static void write_topology(const struct topologies *t, size_t at, struct strbuf *sb)
{
    const struct topo_spec *s = topo_get_spec(topologies_nth(t, at));

    strbuf_add(sb, "- topology: ");
    add_text(sb, s->name);
    strbuf_addf(sb, "\n  cluster_default: %s\n",
                topologies_source(t, topologies_nth(t, at))->is_default ? "true" : "false");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        bool given = topologies_yaml(t) && kinds[i].kind == s->kind;

        if (given && s->kind == TOPO_FLAT && !(s->flags & TOPO_ALPHA_RANK)) {
            strbuf_add(sb, "  flat: true\n");
            continue;
        }
        strbuf_addf(sb, given ? "  %s:\n" : "  %s: {}\n", kinds[i].key);
        if (given)
            kinds[i].write(t, s, sb);
    }
}

void topoyaml_write(const struct topologies *t, struct strbuf *sb)
{
    strbuf_add(sb, "%YAML 1.1\n---\n");
    for (size_t i = 0; i < topologies_count(t); i++)
        write_topology(t, i, sb);
    strbuf_add(sb, "...\n");
}
