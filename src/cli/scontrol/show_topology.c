/* show_topology.c - scontrol show topology and show topoconf
 *
 * One unit a line.  As Slurm has it, a topology or unit that is not there is told on standard error
 * and the exit status stays 0. */
#include "cli/scontrol/show_topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/query/unitnodes.h"
#include "cli/scontrol/topology_map.h"
#include "wire/errors.h"
#include "wire/ops.h"

struct wish { /* what is to be shown */
    const char *topology, *unit, *nodes;
    bool map;
};

/* "unit=x", "nodes=n[1-2]", a topology's name.  False: what it is nobody knows. */
static bool take_word(struct wish *w, const char *word)
{
    static const char *const units[] = { "unit", "switch", "block", "ring", "torus" };
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : 0;

    if (!equals) {
        w->topology = word;
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (len == strlen(units[i]) && strncasecmp(word, units[i], len) == 0) {
            w->unit = equals + 1;
            return true;
        }
    if ((len == 4 && strncasecmp(word, "node", len) == 0) ||
        (len == 5 && strncasecmp(word, "nodes", len) == 0)) {
        w->nodes = equals + 1;
        return true;
    }
    return false;
}

static Pst__TopologyReply *ask_topology(struct scontrol *s, const char *name)
{
    Pst__TopologyRequest request = PST__TOPOLOGY_REQUEST__INIT;
    Pst__TopologyReply *reply = NULL;
    int r;

    request.name = (char *)name; /* not changed by packing */
    r = client_call(scontrol_client(s, "slurm_load_topo"), OP_QUERY_TOPOLOGY, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r == 0)
        return reply;
    (void)fprintf(stderr, "slurm_load_topo error: %s\n", client_strerror(s->client, r));
    if (r != -EREMOTEIO ||
        client_error(s->client, NULL) != ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE)
        s->status = 1;
    return NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void add_dims(struct strbuf *sb, const uint32_t *dims, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strbuf_addf(sb, i ? "x%u" : "%u", dims[i]);
}

static void add_value(struct strbuf *sb, const char *key, const char *value)
{
    if (value)
        strbuf_addf(sb, " %s=%s", key, value);
}

static void add_unit(struct strbuf *sb, const char *kind, const Pst__TopologyUnit *u)
{
    if (strcmp(kind, "tree") == 0) {
        strbuf_addf(sb, "SwitchName=%s Level=%u LinkSpeed=%u", u->name, u->level, u->link_speed);
        add_value(sb, "Nodes", u->nodes);
        add_value(sb, "Switches", u->children);
    } else if (strcmp(kind, "block") == 0) {
        strbuf_addf(sb, "%s=%s BlockIndex=%u", u->aggregated ? "AggregatedBlock" : "BlockName",
                    u->name, u->index);
        add_value(sb, "Nodes", u->nodes);
        strbuf_addf(sb, " BlockSize=%u", u->size);
    } else if (strcmp(kind, "ring") == 0) {
        strbuf_addf(sb, "RingName=%s", u->name);
        add_value(sb, "Nodes", u->nodes);
        strbuf_addf(sb, " RingSize=%u", u->size);
    } else {
        strbuf_addf(sb, "TorusName=%s Dims=", u->name);
        add_dims(sb, u->dims, u->n_dims);
        add_value(sb, "Nodes", u->nodes);
    }
}

static void add_placement(struct strbuf *sb, const char *torus, const Pst__TopologyPlacement *p)
{
    uint64_t size = 1;

    for (size_t i = 0; i < p->n_dims; i++)
        size *= p->dims[i];
    strbuf_addf(sb, "  TorusName=%s PlacementDims=", torus);
    add_dims(sb, p->dims, p->n_dims);
    strbuf_addf(sb, "(%llu) Anchors=%u", (unsigned long long)size, p->anchors);
}

/* A line, cut as SLURM_TOPO_LEN says. */
static void print_line(struct strbuf *sb, uint64_t most)
{
    (void)printf("%.*s\n", (int)MIN(most, (uint64_t)INT32_MAX), strbuf_str(sb));
    strbuf_reset(sb);
}

static uint64_t line_length(void)
{
    const char *text = getenv("SLURM_TOPO_LEN");
    uint64_t most = 0;

    if (!text || parse_u64(text, 1, INT32_MAX, &most) < 0)
        return INT32_MAX;
    return most;
}

static void print_unit(const char *kind, const Pst__TopologyUnit *u, uint64_t most)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    add_unit(&sb, kind, u);
    print_line(&sb, most);
    for (size_t i = 0; i < u->n_placements; i++) {
        add_placement(&sb, u->name, u->placements[i]);
        print_line(&sb, most);
    }
}

/* ---- which of them --------------------------------------------------------------------------- */

/* Has the unit all nodes of the list? */
static bool holds_nodes(const Pst__TopologyUnit *u, const struct hostlist *wanted)
{
    _cleanup_(hostlist_free) struct hostlist *own = NULL;

    if (!wanted)
        return true;
    if (!u->nodes || hostlist_parse(u->nodes, &own, NULL) < 0)
        return false;
    for (size_t i = 0; i < hostlist_count(wanted); i++)
        if (hostlist_find(own, hostlist_nth(wanted, i)) < 0)
            return false;
    return hostlist_count(wanted) > 0;
}

static void tell_none(struct scontrol *s, const char *kind, const struct wish *w)
{
    const char *word = strcmp(kind, "tree") == 0 ? "switch" : kind;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    if (s->quiet)
        return;
    strbuf_addf(&sb, "Topology information contains no %s", word);
    if (w->unit)
        strbuf_addf(&sb, " named %s", w->unit);
    if (w->nodes)
        strbuf_addf(&sb, " with nodes %s", w->nodes);
    cli_error("%s", strbuf_str(&sb));
}

static void print_units(struct scontrol *s, const Pst__TopologyReply *t, const struct wish *w)
{
    _cleanup_(hostlist_free) struct hostlist *wanted = NULL;
    struct err err = { .text = "" };
    uint64_t most = line_length();
    size_t shown = 0;

    if (w->nodes && hostlist_parse_most(w->nodes, HOSTLIST_MAX_NODES, &wanted, &err) < 0) {
        scontrol_fail(s, "scontrol: error: %s", err.text);
        return;
    }
    for (size_t i = 0; i < t->n_units; i++) {
        const Pst__TopologyUnit *u = t->units[i];

        if ((w->unit && strcmp(u->name, w->unit) != 0) || !holds_nodes(u, wanted))
            continue;
        print_unit(t->kind, u, most);
        shown++;
    }
    if (!shown && (w->unit || w->nodes) && strcmp(t->kind, "flat") != 0)
        tell_none(s, t->kind, w);
}

void scontrol_show_topology(struct scontrol *s, int argc, char **argv)
{
    struct wish w = { .map = s->map };
    Pst__TopologyReply *reply;

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--map") == 0) {
            w.map = true;
        } else if (!take_word(&w, argv[i])) {
            (void)fprintf(stderr, "Unknown argument %s\n", argv[i]);
            return;
        }
    }
    reply = ask_topology(s, w.topology);
    if (!reply)
        return;
    if (w.map)
        topology_map(s, reply);
    else
        print_units(s, reply, &w);
    pst__topology_reply__free_unpacked(reply, NULL);
}

void scontrol_show_topoconf(struct scontrol *s, const char *name)
{
    Pst__TopologyReply *reply = ask_topology(s, NULL);

    (void)name; /* shows everything */
    if (!reply)
        return;
    (void)fputs(reply->yaml, stdout);
    pst__topology_reply__free_unpacked(reply, NULL);
}

/* ---- functions in lists of nodes ------------------------------------------------------------- */

void scontrol_expand_units(struct scontrol *s, struct hostlist **names)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    Pst__TopologyReply *t = NULL;
    bool asked = false;
    int r = hostlist_new(&all);

    for (size_t i = 0; r == 0 && i < hostlist_count(*names); i++) {
        const char *item = hostlist_nth(*names, i), *nodes = NULL;

        if (strchr(item, '{') && !asked)
            t = ask_topology(s, NULL);
        asked = asked || strchr(item, '{');
        nodes = t ? unit_nodes_of(t, item) : NULL;
        r = nodes ? hostlist_push_list(all, nodes, NULL) : hostlist_push(all, item);
    }
    if (t)
        pst__topology_reply__free_unpacked(t, NULL);
    if (r < 0 || !asked)
        return; /* the list stays as it was given */
    hostlist_free(*names);
    *names = TAKE_PTR(all);
}
