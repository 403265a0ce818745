/* out_nodes.c - tables of nodes and partitions; see out_nodes.h.
 *
 * Membership is resolved once, by binary search of the names of each partition's list. */
#include "cli/query/out_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/compare/order.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/argwords.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "wire/ops.h"

struct loading {
    void **records;
    size_t n, cap;
    int64_t now_us;
};

static int keep_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct loading *l = ctx;
    ProtobufCMessage *copy;
    int r;

    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        void **grown = reallocarray(l->records, cap, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        l->records = grown;
        l->cap = cap;
    }
    r = pb_dup(record, &copy);
    if (r < 0)
        return r;
    l->records[l->n++] = copy;
    l->now_us = info->now_us;
    return 0;
}

struct newer {
    uint64_t unless_version;
    int64_t changed_since_us;
};

static int load_records(struct client *c, unsigned op, const struct pb_fieldset *fields,
                        const ProtobufCMessageDescriptor *desc, struct loading *l)
{
    Pst__QueryRequest request = query_to_print();
    int r = fields ? query_fields(fields, &request.fields, &request.n_fields) : 0;

    if (r >= 0)
        r = query_run(c, op, &request.base, desc, keep_record, l, NULL);
    free(request.fields);
    return r;
}

/* The partitions, which are asked for first: the nodes are as new or newer, so that their version
 * is never older than what it stands for. */
static int load_partitions(struct client *c, const struct newer *newer, struct loading *l,
                           struct query_info *ret)
{
    Pst__QueryRequest request = query_to_print();

    request.unless_version = newer->unless_version;
    request.has_unless_version = newer->unless_version != 0;
    request.changed_since_us = newer->changed_since_us;
    request.has_changed_since_us = newer->changed_since_us > 0;
    return query_run(c, OP_QUERY_PARTITIONS, &request.base, &pst__partition_record__descriptor,
                     keep_record, l, ret);
}

static void drop_record(struct loading *l)
{
    for (size_t i = 0; i < l->n; i++)
        protobuf_c_message_free_unpacked(l->records[i], NULL);
    free(l->records);
}

static int load_cluster(struct client *c, const struct pb_fieldset *fields,
                        const struct newer *newer, struct cluster_nodes *ret)
{
    struct loading nodes = { 0 }, parts = { 0 };
    struct query_info info = { 0 };
    int r = load_partitions(c, newer, &parts, &info);

    if (r >= 0 && info.unchanged) {
        *ret = (struct cluster_nodes){ .version = info.version, .now_us = info.now_us };
        return 1;
    }
    if (r >= 0)
        r = load_records(c, OP_QUERY_NODES, fields, &pst__node_record__descriptor, &nodes);
    if (r < 0) {
        drop_record(&nodes);
        drop_record(&parts);
        return r;
    }
    r = cluster_nodes_make((Pst__NodeRecord **)nodes.records, nodes.n,
                           (Pst__PartitionRecord **)parts.records, parts.n,
                           nodes.n ? nodes.now_us : now_us(), ret);
    free(nodes.records);
    free(parts.records);
    if (r >= 0) {
        ret->version = info.version;
        ret->sees_hidden = info.sees_hidden || geteuid() == 0;
    }
    return r;
}

int cluster_nodes_load(struct client *c, const struct pb_fieldset *fields,
                       struct cluster_nodes *ret)
{
    struct pb_fieldset set;

    if (fields) {
        set = *fields;
        query_need_names(
            "name state state_flags cpus alloc_cpus jobs_running jobs_completing hostname addr "
            "sockets cores_per_socket threads_per_core real_memory_mib",
            &pst__node_record__descriptor, &set);
    }
    return load_cluster(c, fields ? &set : NULL, &(struct newer){ 0, 0 }, ret);
}

int cluster_nodes_load_newer(struct client *c, uint64_t unless_version, int64_t changed_since_us,
                             struct cluster_nodes *ret)
{
    return load_cluster(c, NULL, &(struct newer){ unless_version, changed_since_us }, ret);
}

static int compare_names(const void *pa, const void *pb)
{
    const struct cluster_node *a = pa, *b = pb;

    return strverscmp(a->record->name, b->record->name);
}

long cluster_nodes_find(const struct cluster_nodes *t, const char *name)
{
    Pst__NodeRecord record = { .name = (char *)name };
    struct cluster_node key = { &record };
    const struct cluster_node *found =
        t->n_nodes ? bsearch(&key, t->nodes, t->n_nodes, sizeof(*t->nodes), compare_names) : NULL;

    return found ? found - t->nodes : -1;
}

static int resolve_members(const struct cluster_nodes *t, struct cluster_part *part)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r = hostlist_parse(part->record->nodes, &hl, NULL);

    if (r < 0)
        return r;
    part->nodes = calloc(hostlist_count(hl) + 1, sizeof(*part->nodes));
    if (!part->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        long at = cluster_nodes_find(t, hostlist_nth(hl, i));

        if (at >= 0)
            part->nodes[part->n_nodes++] = (uint32_t)at;
    }
    if (part->n_nodes)
        qsort(part->nodes, part->n_nodes, sizeof(*part->nodes), order_u32);
    return 0;
}

int cluster_nodes_make(Pst__NodeRecord **nodes, size_t n_nodes, Pst__PartitionRecord **parts,
                       size_t n_parts, int64_t now_us, struct cluster_nodes *ret)
{
    struct cluster_nodes t = { .now_us = now_us };
    int r = 0;

    t.nodes = calloc(n_nodes + 1, sizeof(*t.nodes));
    t.parts = calloc(n_parts + 1, sizeof(*t.parts));
    if (!t.nodes || !t.parts)
        r = -ENOMEM;
    for (size_t i = 0; i < n_nodes; i++) {
        if (r < 0 || !nodes[i]->name)
            pst__node_record__free_unpacked(nodes[i], NULL);
        else
            t.nodes[t.n_nodes++].record = nodes[i];
    }
    if (t.n_nodes)
        qsort(t.nodes, t.n_nodes, sizeof(*t.nodes), compare_names);
    for (size_t i = 0; i < n_parts; i++) {
        if (r < 0 || !parts[i]->name) {
            pst__partition_record__free_unpacked(parts[i], NULL);
            continue;
        }
        t.parts[t.n_parts].record = parts[i];
        r = resolve_members(&t, &t.parts[t.n_parts++]);
    }
    if (r < 0) {
        cluster_nodes_done(&t);
        return r;
    }
    *ret = t;
    return 0;
}

void cluster_nodes_done(struct cluster_nodes *t)
{
    for (size_t i = 0; i < t->n_nodes; i++)
        pst__node_record__free_unpacked(t->nodes[i].record, NULL);
    for (size_t i = 0; i < t->n_parts; i++) {
        pst__partition_record__free_unpacked(t->parts[i].record, NULL);
        free(t->parts[i].nodes);
    }
    free(t->nodes);
    free(t->parts);
    memset(t, 0, sizeof(*t));
}

bool cluster_part_has(const struct cluster_part *part, size_t node)
{
    uint32_t key = (uint32_t)node;

    return part->n_nodes &&
           bsearch(&key, part->nodes, part->n_nodes, sizeof(*part->nodes), order_u32);
}

bool cluster_nodes_shows(const struct cluster_nodes *t, const Pst__PartitionRecord *p, bool all)
{
    return all || t->sees_hidden || !filter_partition_hidden(p);
}

int cluster_nodes_partitions(const struct cluster_nodes *t, size_t node, bool all, char **ret_text)
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t p = 0; p < t->n_parts; p++)
        if (cluster_part_has(&t->parts[p], node) && cluster_nodes_shows(t, t->parts[p].record, all))
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", t->parts[p].record->name);
    return strbuf_detach(&sb, ret_text);
}

struct hidden_names {
    char **names;
    size_t n;
};

static int note_hidden(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct hidden_names *h = ctx;
    const Pst__PartitionRecord *p = (const Pst__PartitionRecord *)record;

    if (p->name && !info->sees_hidden && geteuid() != 0 && filter_partition_hidden(p))
        argwords_add(&h->names, &h->n, p->name);
    return 0;
}

int hidden_partitions_load(struct client *c, char ***ret_names, size_t *ret_n)
{
    Pst__QueryRequest request = query_to_print();
    struct pb_fieldset set = { 0 };
    struct hidden_names h = { 0 };
    int r;

    query_need_names("name hidden allow_groups", &pst__partition_record__descriptor, &set);
    r = query_fields(&set, &request.fields, &request.n_fields);
    if (r >= 0)
        r = query_run(c, OP_QUERY_PARTITIONS, &request.base, &pst__partition_record__descriptor,
                      note_hidden, &h, NULL);
    free(request.fields);
    if (r < 0) {
        argwords_free(h.names, h.n);
        return r;
    }
    *ret_names = h.names;
    *ret_n = h.n;
    return r;
}
