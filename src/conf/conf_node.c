/* conf_node.c - NodeName and DownNodes lines.
 *
 * A line makes as many nodes as its NodeName lists; NodeHostname, NodeAddr and Port pair with them
 * one to one or hold for all.  Nodes keep the order of the file.  The port of nodes without one is
 * filled in at the end, since SlurmdPort may follow. */
#include "conf/conf_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bind/cpubind.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

/* The lists of a line that pair with its nodes. */
struct pairing {
    struct hostlist *names, *hosts, *addrs, *bcasts, *ports;
};

static void pairing_done(struct pairing *p)
{
    p->names = hostlist_free(p->names);
    p->hosts = hostlist_free(p->hosts);
    p->addrs = hostlist_free(p->addrs);
    p->bcasts = hostlist_free(p->bcasts);
    p->ports = hostlist_free(p->ports);
}

/* Ports are written 6821, [6821-6825] or, which no host list is, 6821-6825. */
static int parse_ports(const char *text, struct hostlist **ret, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    if (strchr(text, '[') || !strpbrk(text, "-,"))
        return hostlist_parse(text, ret, err);
    strbuf_addf(&sb, "[%s]", text);
    return sb.failed ? -ENOMEM : hostlist_parse(strbuf_str(&sb), ret, err);
}

/* Parse one of the lists; counts must be 1 or that of the names. */
static int pair_list(struct conf_loader *l, const struct conf_row *row, enum conf_node_key key,
                     const struct hostlist *names, struct hostlist **ret)
{
    const struct conf_val *v = &row->vals[key];
    const char *key_name = conf_tables[CONF_TBL_NODE].rows[key].name;
    struct err err = { .text = "" };
    size_t n, want;
    int r;

    if (!v->set)
        return 0;
    r = key == NK_PORT ? parse_ports(v->text, ret, &err) : hostlist_parse(v->text, ret, &err);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        conf_error(l, row->file, row->line, "%s=%.64s: %s", key_name, v->text, err.text);
        return r;
    }
    n = hostlist_count(*ret);
    want = names ? hostlist_count(names) : n;
    if (n == 0 || (n != 1 && n != want)) {
        conf_error(l, row->file, row->line, "%s=%.64s has %zu entries for %zu nodes", key_name,
                   v->text, n, want);
        return -EINVAL;
    }
    return 0;
}

static int pairing_parse(struct conf_loader *l, const struct conf_row *row, struct pairing *p)
{
    int r = pair_list(l, row, NK_NODE_NAME, NULL, &p->names);

    if (r == 0)
        r = pair_list(l, row, NK_NODE_HOSTNAME, p->names, &p->hosts);
    if (r == 0)
        r = pair_list(l, row, NK_NODE_ADDR, p->names, &p->addrs);
    if (r == 0)
        r = pair_list(l, row, NK_BCAST_ADDR, p->names, &p->bcasts);
    if (r == 0)
        r = pair_list(l, row, NK_PORT, p->names, &p->ports);
    return r;
}

static const char *pick_paired(const struct hostlist *hl, size_t i)
{
    return hl ? hostlist_nth(hl, hostlist_count(hl) == 1 ? 0 : i) : NULL;
}

static bool is_host_name(const char *name)
{
    if (!isalnum((unsigned char)name[0]))
        return false;
    for (const char *p = name; *p; p++) {
        if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_' && *p != '.')
            return false;
    }
    return true;
}

static uint32_t get_num32(const struct conf_row *row, enum conf_node_key key)
{
    return (uint32_t)conf_val_num(CONF_TBL_NODE, (int)key, &row->vals[key]);
}

/* Sockets, cores and threads; a count that is not given follows from the others. */
static void set_geometry(struct conf_loader *l, const struct conf_row *row, struct conf_node *n)
{
    const struct conf_val *v = row->vals;
    uint64_t product;

    n->boards = get_num32(row, NK_BOARDS);
    n->cores_per_socket = get_num32(row, NK_CORES_PER_SOCKET);
    n->threads_per_core = get_num32(row, NK_THREADS_PER_CORE);
    n->cpus = get_num32(row, NK_CPUS);
    product = (uint64_t)n->cores_per_socket * n->threads_per_core;
    if (v[NK_SOCKETS_PER_BOARD].set)
        n->sockets = (uint32_t)MIN(v[NK_SOCKETS_PER_BOARD].num * n->boards, 65533);
    else if (v[NK_SOCKETS].set)
        n->sockets = get_num32(row, NK_SOCKETS);
    else
        n->sockets =
            v[NK_CPUS].set && n->cpus > product ? (uint32_t)(n->cpus / product) : n->boards;
    product *= n->sockets;
    if (product > conf_tables[CONF_TBL_NODE].rows[NK_CPUS].max)
        conf_error(l, row->file, row->line, "sockets, cores and threads make %ju CPUs, too many",
                   (uintmax_t)product);
    else if (!v[NK_CPUS].set)
        n->cpus = (uint32_t)product;
    else if (n->cpus != product && n->cpus != n->sockets &&
             n->cpus != (uint64_t)n->sockets * n->cores_per_socket) {
        conf_warn(l, row->file, row->line,
                  "CPUs=%u fits neither sockets, cores nor threads; %ju is used", n->cpus,
                  (uintmax_t)product);
        n->cpus = (uint32_t)product;
    }
    if (n->core_spec && n->core_spec >= (uint64_t)n->sockets * n->cores_per_socket)
        conf_error(l, row->file, row->line, "CoreSpecCount=%u leaves no core for jobs",
                   n->core_spec);
}

/* The state word as struct conf_node has it. */
static char *state_word(struct conf_loader *l, const struct conf_row *row, const struct conf_val *v,
                        const char *def)
{
    const char *word = v->set ? v->text : def;

    if (strcasecmp(word, "IDLE") == 0) {
        conf_warn(l, row->file, row->line, "State=IDLE is not for a file; UNKNOWN is used");
        word = "UNKNOWN";
    } else if (strcasecmp(word, "FAILING") == 0) {
        word = "FAIL";
    } else {
        word = conf_word_find(CONF_TBL_NODE, NK_STATE, word, strlen(word));
        if (!word) /* refused already, and said so */
            word = def;
    }
    return conf_pool_strdup(&l->c->pool, word);
}

/* name[:type][:no_consume]:count items; each name must be in GresTypes once all is read. */
#define GRES_SHARES_MAX 4096u /* of GPUs; each share has an index */

static bool is_shared(const char *item)
{
    return strncasecmp(item, "shard:", 6) == 0 || strncasecmp(item, "mps:", 4) == 0;
}

static void check_gres(struct conf_loader *l, const struct conf_row *row, const char *gres)
{
    for (const char *p = gres; *p;) {
        size_t len = strcspn(p, ",");
        _cleanup_free_ char *item = strndup(p, len);
        char *colon = item ? strrchr(item, ':') : NULL;
        uint64_t count;

        if (len == 0 || p[0] == ':')
            conf_error(l, row->file, row->line, "Gres=%.64s has an empty name", gres);
        else if (strcspn(p, "(") < len)
            conf_error(l, row->file, row->line, "Gres=%.64s: %.32s is not sockets, as (S:0-1)",
                       gres, p + strcspn(p, "("));
        else if (colon && isdigit((unsigned char)colon[1]) &&
                 size_count_parse(colon + 1, &count, NULL) < 0)
            conf_error(l, row->file, row->line, "Gres=%.64s: %.32s is not a count", gres,
                       colon + 1);
        else if (colon && colon[1] == '\0')
            conf_error(l, row->file, row->line, "Gres=%.64s has no count after ':'", gres);
        else if (is_shared(p) && colon && size_count_parse(colon + 1, &count, NULL) == 0 &&
                 count > GRES_SHARES_MAX)
            conf_error(l, row->file, row->line, "Gres=%.64s: more than %u shares on a node", gres,
                       GRES_SHARES_MAX);
        p += len;
        p += *p == ',';
    }
}

static char *pool_text(struct conf_loader *l, const struct conf_val *v)
{
    return v->set && v->text[0] ? conf_pool_strdup(&l->c->pool, v->text) : NULL;
}

/* Gres= as `scontrol show node` shows it, gpu:kepler:2(S:0-1), without the sockets: gres.conf and
 * the node know them. */
static char *text_without_sockets(struct conf_loader *l, const struct conf_val *v)
{
    char *text = pool_text(l, v);

    for (char *p = text; p && (p = strstr(p, "(S:"));) {
        char *end = p + 3 + strspn(p + 3, "0123456789-,");

        if (end > p + 3 && end[0] == ')' && (end[1] == ',' || !end[1]))
            memmove(p, end + 1, strlen(end + 1) + 1);
        else
            p += 3;
    }
    return text;
}

/* Fill n with the values that all nodes of the line share. */
static int node_template(struct conf_loader *l, const struct conf_row *row, struct conf_node *n)
{
    const struct conf_val *v = row->vals;

    *n = (struct conf_node){ .file = row->file, .line = row->line };
    n->real_memory_mib = conf_val_num(CONF_TBL_NODE, NK_REAL_MEMORY, &v[NK_REAL_MEMORY]);
    n->tmp_disk_mib = conf_val_num(CONF_TBL_NODE, NK_TMP_DISK, &v[NK_TMP_DISK]);
    n->mem_spec_mib = conf_val_num(CONF_TBL_NODE, NK_MEM_SPEC_LIMIT, &v[NK_MEM_SPEC_LIMIT]);
    n->core_spec = get_num32(row, NK_CORE_SPEC_COUNT);
    n->weight = get_num32(row, NK_WEIGHT);
    n->restricted_cores_per_gpu = get_num32(row, NK_RESTRICTED_CORES_PER_GPU);
    n->has_suspend_time = v[NK_SUSPEND_TIME].set;
    n->suspend_time_s = n->has_suspend_time ? get_num32(row, NK_SUSPEND_TIME) : CONF_UNLIMITED;
    set_geometry(l, row, n);
    if (n->mem_spec_mib && n->mem_spec_mib >= n->real_memory_mib)
        conf_error(l, row->file, row->line, "MemSpecLimit=%ju leaves no memory for jobs",
                   (uintmax_t)n->mem_spec_mib);
    n->cpu_spec_list = pool_text(l, &v[NK_CPU_SPEC_LIST]);
    n->features = pool_text(l, &v[NK_FEATURES]);
    n->gres = text_without_sockets(l, &v[NK_GRES]);
    n->reason = pool_text(l, &v[NK_REASON]);
    n->cpu_bind = v[NK_CPU_BIND].set ? cpubind_of_key(v[NK_CPU_BIND].text) : NULL;
    n->topology = pool_text(l, &v[NK_TOPOLOGY]);
    n->parameters = pool_text(l, &v[NK_PARAMETERS]);
    n->state = state_word(l, row, &v[NK_STATE], "UNKNOWN");
    if (n->gres)
        check_gres(l, row, n->gres);
    return n->state ? 0 : -ENOMEM;
}

static int add_node(struct conf_loader *l, const struct conf_row *row, const struct conf_node *like,
                    const struct pairing *p, size_t i)
{
    struct conf *c = l->c;
    const char *name = hostlist_nth(p->names, i), *host = pick_paired(p->hosts, i);
    const char *addr = pick_paired(p->addrs, i), *port = pick_paired(p->ports, i);
    const char *bcast = pick_paired(p->bcasts, i);
    uint32_t twin = conf_node_index(c, name);
    struct conf_node n = *like;
    uint64_t num = 0;

    if (twin != UINT32_MAX) {
        conf_error(l, row->file, row->line, "node %.64s is defined already in line %u", name,
                   c->nodes[twin].line);
        return 0;
    }
    if (!is_host_name(name) || strcasecmp(name, "ALL") == 0) {
        conf_error(l, row->file, row->line, "\"%.64s\" is not a node name", name);
        return 0;
    }
    if (port && parse_u64(port, 1, UINT16_MAX, &num) < 0) {
        conf_error(l, row->file, row->line, "Port=%.32s is not a port (1 to 65535)", port);
        return 0;
    }
    n.port = (uint16_t)num;
    n.name = conf_pool_strdup(&c->pool, name);
    n.hostname = host ? conf_pool_strdup(&c->pool, host) : n.name;
    n.addr = addr ? conf_pool_strdup(&c->pool, addr) : n.hostname;
    n.bcast_addr = bcast ? conf_pool_strdup(&c->pool, bcast) : NULL;
    if (!n.name || !n.hostname || !n.addr || (bcast && !n.bcast_addr) ||
        conf_grow(&c->nodes, &c->nodes_cap, c->nnodes, sizeof(*c->nodes)) < 0)
        return -ENOMEM;
    c->nodes[c->nnodes] = n;
    conf_node_insert(c, (uint32_t)c->nnodes++);
    return 0;
}

static int add_nodes(struct conf_loader *l, const struct conf_row *row)
{
    _cleanup_val_(pairing_done) struct pairing p = { 0 };
    struct conf_node like;
    size_t n;
    int r = pairing_parse(l, row, &p);

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    n = hostlist_count(p.names);
    if (l->c->nnodes + n > CONF_MAX_NODES) {
        conf_error(l, row->file, row->line, "more than %u nodes", CONF_MAX_NODES);
        return 0;
    }
    r = node_template(l, row, &like);
    if (r == 0)
        r = conf_node_reserve(l->c, l->c->nnodes + n);
    for (size_t i = 0; i < n && r == 0; i++)
        r = add_node(l, row, &like, &p, i);
    if (n > 1 && p.hosts && hostlist_count(p.hosts) == 1 && strcmp(like.state, "CLOUD") != 0 &&
        strcmp(like.state, "FUTURE") != 0 && (!p.ports || hostlist_count(p.ports) == 1))
        conf_warn(l, row->file, row->line,
                  "%zu nodes share one host and one port; give them a range of ports", n);
    return r;
}

int conf_node_line(struct conf_loader *l, const struct conf_row *line)
{
    struct conf_row row = *line;
    bool is_default =
        row.vals[NK_NODE_NAME].set && strcasecmp(row.vals[NK_NODE_NAME].text, "DEFAULT") == 0;

    conf_row_alias(&row, NK_PROCS, NK_CPUS);
    conf_row_alias(&row, NK_FEATURE, NK_FEATURES);
    if (row.vals[NK_SOCKETS].set && row.vals[NK_SOCKETS_PER_BOARD].set)
        conf_warn(l, row.file, row.line,
                  "Sockets and SocketsPerBoard are both given; the latter is used");
    if (!is_default) {
        struct conf_val defaults[NK_MAX_];

        memcpy(defaults, l->node_default, sizeof(defaults));
        conf_row_exclude(&row, defaults, NK_SOCKETS, NK_SOCKETS_PER_BOARD);
        conf_row_audit(l, CONF_TBL_NODE, row.vals);
        conf_row_merge(&row, CONF_TBL_NODE, defaults);
        return row.vals[NK_NODE_NAME].set ? add_nodes(l, &row) : 0;
    }
    if (row.vals[NK_NODE_ADDR].set || row.vals[NK_NODE_HOSTNAME].set) {
        conf_error(l, row.file, row.line, "%s not allowed with NodeName=DEFAULT",
                   row.vals[NK_NODE_ADDR].set ? "NodeAddr" : "NodeHostname");
        return 0;
    }
    row.vals[NK_NODE_NAME] = (struct conf_val){ 0 };
    conf_row_exclude(&row, l->node_default, NK_SOCKETS, NK_SOCKETS_PER_BOARD);
    conf_row_audit(l, CONF_TBL_NODE, row.vals);
    conf_row_merge(&row, CONF_TBL_NODE, l->node_default);
    memcpy(l->node_default, row.vals, sizeof(l->node_default));
    return 0;
}

int conf_down_apply(struct conf_loader *l)
{
    for (size_t i = 0; i < l->downs.n; i++) {
        const struct conf_row *row = &l->downs.items[i];
        _cleanup_(bitmap_free) struct bitmap *bm = NULL;
        char *state = state_word(l, row, &row->vals[DK_STATE], "DOWN");
        char *reason = pool_text(l, &row->vals[DK_REASON]);
        int r = conf_nodeexpr(l, &row->vals[DK_DOWN_NODES], "DownNodes", &bm);

        if (r == -ENOMEM || !state)
            return -ENOMEM;
        if (r < 0)
            continue;
        BITMAP_FOREACH (bm, j) {
            l->c->nodes[j].state = state;
            l->c->nodes[j].reason = reason ? reason : l->c->nodes[j].reason;
        }
    }
    return 0;
}
