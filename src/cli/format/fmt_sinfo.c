/* fmt_sinfo.c - fields, rows and state filter of sinfo; see fmt_sinfo.h.
 *
 * Getters of node fields print "n/a" or nothing for a row without nodes, as a partition whose nodes
 * are all filtered out is still listed. */
#include "cli/format/fmt_sinfo.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/query/out_job.h"
#include "cli/query/out_users.h"
#include "model/words/nodedevices.h"

#define NF(name) (1u << PST__NODE_FLAG__NODE_FLAG_##name)

/* ---- rows ------------------------------------------------------------------------------------ */

static void count_node(struct sinfo_row *row, const Pst__NodeRecord *n)
{
    static const uint32_t unusable = NF(DRAIN) | NF(FAIL) | NF(INVALID_REG) | NF(POWERED_DOWN) |
                                     NF(POWERING_DOWN) | NF(REBOOT_ISSUED);
    struct names_node state = names_node_of(n);
    bool usable = n->state == PST__NODE_STATE__NODE_IDLE && !(n->state_flags & unusable);
    uint32_t free_cpus = n->cpus > n->alloc_cpus ? n->cpus - n->alloc_cpus : 0;

    row->nodes = 1;
    if (names_node_allocated(&state) || names_node_mixed(&state) || (state.flags & NF(COMPLETING)))
        row->nodes_alloc = 1;
    else if (usable)
        row->nodes_idle = 1;
    else
        row->nodes_other = 1;
    row->cpus_alloc = n->alloc_cpus;
    if (usable)
        row->cpus_idle = free_cpus;
    else
        row->cpus_other = free_cpus;
    row->cpus_total = n->cpus;
    row->mem_alloc = n->alloc_mem_mib;
}

static struct sinfo_range put_one(uint64_t value)
{
    return (struct sinfo_range){ value, value };
}

void sinfo_row_init(struct sinfo_row *row, const Pst__PartitionRecord *part, unsigned part_index,
                    const Pst__NodeRecord *node)
{
    *row = (struct sinfo_row){ .part = part, .part_index = part_index, .node = node };
    if (!node)
        return;
    count_node(row, node);
    row->cpus = put_one(node->cpus);
    row->sockets = put_one(node->sockets);
    row->cores = put_one(node->cores_per_socket);
    row->threads = put_one(node->threads_per_core);
    row->disk = put_one(node->tmp_disk_mib);
    row->memory = put_one(node->real_memory_mib);
    row->weight = put_one(node->weight);
    row->has_load = node->has_cpu_load_centi;
    row->load = put_one(node->cpu_load_centi);
    row->has_free_mem = node->has_free_mem_mib;
    row->free_mem = put_one(node->free_mem_mib);
}

static void widen_column(struct sinfo_range *to, const struct sinfo_range *by)
{
    to->least = MIN(to->least, by->least);
    to->greatest = MAX(to->greatest, by->greatest);
}

static void widen_known(struct sinfo_range *to, bool *known, const struct sinfo_range *by,
                        bool by_known)
{
    if (by_known && *known)
        widen_column(to, by);
    else if (by_known)
        *to = *by;
    *known |= by_known;
}

int sinfo_row_add(struct sinfo_row *row, const struct sinfo_row *other)
{
    int r = 0;

    if (!row->names) {
        r = hostlist_new(&row->names);
        if (r >= 0 && row->node)
            r = hostlist_push(row->names, row->node->name);
    }
    if (r >= 0)
        r = hostlist_push(row->names, other->node->name);
    if (r < 0)
        return r;
    row->nodes += other->nodes;
    row->nodes_alloc += other->nodes_alloc;
    row->nodes_idle += other->nodes_idle;
    row->nodes_other += other->nodes_other;
    row->cpus_alloc += other->cpus_alloc;
    row->cpus_idle += other->cpus_idle;
    row->cpus_other += other->cpus_other;
    row->cpus_total += other->cpus_total;
    row->mem_alloc += other->mem_alloc;
    widen_column(&row->cpus, &other->cpus);
    widen_column(&row->sockets, &other->sockets);
    widen_column(&row->cores, &other->cores);
    widen_column(&row->threads, &other->threads);
    widen_column(&row->disk, &other->disk);
    widen_column(&row->memory, &other->memory);
    widen_column(&row->weight, &other->weight);
    widen_known(&row->load, &row->has_load, &other->load, other->has_load);
    widen_known(&row->free_mem, &row->has_free_mem, &other->free_mem, other->has_free_mem);
    return 0;
}

void sinfo_row_done(struct sinfo_row *row)
{
    row->names = hostlist_free(row->names);
}

void sinfo_key(const struct fmt *f, const struct sinfo_row *row, bool per_node, struct strbuf *key)
{
    if (per_node) {
        strbuf_addf(key, "%u/%s", row->part_index, row->node ? row->node->name : "");
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        const struct fmt_field *field = f->cols[i].field;

        if (field->kind == SINFO_KEY || (field->kind == SINFO_LEAST && row->exact))
            field->get(key, row);
        strbuf_addc(key, '\1');
    }
}

/* ---- state filter ---------------------------------------------------------------------------- */

int sinfo_filter_parse(struct sinfo_filter *f, const char *text, char *bad, size_t bad_size)
{
    f->n = 0;
    f->none = !*text;
    while (*text) {
        bool negate = *text == '~' || *text == '!';
        size_t len = strcspn(text + negate, ",+&");
        char word[64];

        (void)snprintf(word, sizeof(word), "%.*s", (int)len, text + negate); /* cut = unknown */
        if (f->n == SINFO_FILTER_MAX || names_node_filter_parse(word, &f->terms[f->n].filter) < 0) {
            (void)snprintf(bad, bad_size, "%s", word); /* cut is fine */
            return -EINVAL;
        }
        text += negate + len;
        f->terms[f->n].negate = negate;
        f->terms[f->n++].ends_group = *text == ',' || !*text;
        text += *text != '\0';
    }
    return 0;
}

bool sinfo_filter_match(const struct sinfo_filter *f, const struct names_node *n)
{
    bool all = true;

    if (f->none)
        return false;
    for (size_t i = 0; i < f->n; i++) {
        all = all && names_node_filter_match(f->terms[i].filter, n) != f->terms[i].negate;
        if (!f->terms[i].ends_group)
            continue;
        if (all)
            return true;
        all = true;
    }
    return f->n == 0;
}

/* ---- fields of nodes ------------------------------------------------------------------------- */

#define NODE_GETTER(name, ...)                                                                     \
    static void name(struct strbuf *sb, const void *row)                                           \
    {                                                                                              \
        const struct sinfo_row *r = row;                                                           \
        const Pst__NodeRecord *n = r->node;                                                        \
                                                                                                   \
        if (!n) {                                                                                  \
            strbuf_add(sb, "n/a");                                                                 \
            return;                                                                                \
        }                                                                                          \
        __VA_ARGS__;                                                                               \
    }
#define NODE_TEXT(name, value, unset) NODE_GETTER(name, strbuf_add(sb, (value) ? (value) : (unset)))

static void put_least(struct strbuf *sb, const struct sinfo_range *range)
{
    put_u64(sb, range->least);
    if (range->greatest > range->least)
        strbuf_addc(sb, '+');
}

#define NODE_LEAST(name, field) NODE_GETTER(name, put_least(sb, &r->field))

NODE_LEAST(get_cpus, cpus)
NODE_LEAST(get_sockets, sockets)
NODE_LEAST(get_cores, cores)
NODE_LEAST(get_threads, threads)
NODE_LEAST(get_disk, disk)
NODE_LEAST(get_memory, memory)
NODE_LEAST(get_weight, weight)
NODE_GETTER(get_sct, put_least(sb, &r->sockets); strbuf_addc(sb, ':'); put_least(sb, &r->cores);
            strbuf_addc(sb, ':'); put_least(sb, &r->threads))
NODE_TEXT(get_features, n->features, "(null)")
NODE_TEXT(get_active, n->active_features ? n->active_features : n->features, "(null)")
NODE_GETTER(get_gres,
            if (n->gres_shown ? *n->gres_shown : n->gres && *n->gres) nodedevices_put(sb, n);
            else strbuf_add(sb, "(null)"))
NODE_TEXT(get_gres_used, n->alloc_gres, "(null)")
NODE_TEXT(get_host, n->hostname ? n->hostname : n->name, "")
NODE_TEXT(get_addr, n->addr ? n->addr : n->name, "")
NODE_TEXT(get_version, n->version, "N/A")
NODE_TEXT(get_comment, n->comment, "(null)")
NODE_TEXT(get_extra, n->extra, "(null)")
NODE_TEXT(get_reason, n->reason, "none")
NODE_TEXT(get_reservation, n->reservation, "")
NODE_GETTER(get_port, put_u64(sb, n->port))
NODE_GETTER(get_user, strbuf_add(sb, n->reason ? user_name_of(n->reason_uid) : "Unknown"))
NODE_GETTER(get_user_long,
            if (n->reason) strbuf_addf(sb, "%s(%u)", user_name_of(n->reason_uid), n->reason_uid);
            else strbuf_add(sb, "Unknown"))
NODE_GETTER(get_timestamp, put_stamp(sb, n->reason ? n->reason_us : 0, "Unknown", r->now_us))

static void put_word(struct strbuf *sb, const Pst__NodeRecord *n, bool compact)
{
    struct names_node state = names_node_of(n);
    char buf[NAMES_NODE_TEXT];

    strbuf_add(sb, names_node_word(&state, compact, buf, sizeof(buf)));
}

NODE_GETTER(get_state, put_word(sb, n, false))
NODE_GETTER(get_state_compact, put_word(sb, n, true))

static void put_full(struct strbuf *sb, const Pst__NodeRecord *n)
{
    struct names_node state = names_node_of(n);
    char buf[NAMES_NODE_TEXT];

    strbuf_add(sb, names_node_full(&state, true, buf, sizeof(buf)));
}

NODE_GETTER(get_state_full, put_full(sb, n))

static void put_load(struct strbuf *sb, uint64_t centi)
{
    strbuf_addf(sb, "%llu.%02llu", (unsigned long long)(centi / 100),
                (unsigned long long)(centi % 100));
}

static void get_load(struct strbuf *sb, const void *row)
{
    const struct sinfo_row *r = row;

    if (!r->node || !r->has_load) {
        strbuf_add(sb, "N/A");
        return;
    }
    put_load(sb, r->load.least);
    if (r->load.greatest != r->load.least) {
        strbuf_addc(sb, '-');
        put_load(sb, r->load.greatest);
    }
}

static void get_free_mem(struct strbuf *sb, const void *row)
{
    const struct sinfo_row *r = row;

    if (!r->node || !r->has_free_mem) {
        strbuf_add(sb, "N/A");
        return;
    }
    put_u64(sb, r->free_mem.least);
    if (r->free_mem.greatest != r->free_mem.least) {
        strbuf_addc(sb, '-');
        put_u64(sb, r->free_mem.greatest);
    }
}

/* ---- fields of rows -------------------------------------------------------------------------- */

#define ROW_GETTER(name, ...)                                                                      \
    static void name(struct strbuf *sb, const void *row)                                           \
    {                                                                                              \
        const struct sinfo_row *r = row;                                                           \
        const Pst__PartitionRecord *p = r->part;                                                   \
                                                                                                   \
        (void)p; /* not every expression asks both */                                              \
        __VA_ARGS__;                                                                               \
    }

static void put_slashed(struct strbuf *sb, const uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(sb, '/');
        put_u64(sb, numbers[i]);
    }
}

ROW_GETTER(get_nodes, put_u64(sb, r->nodes))
ROW_GETTER(get_nodes_ai, put_slashed(sb, (const uint64_t[]){ r->nodes_alloc, r->nodes_idle }, 2))
ROW_GETTER(get_nodes_aiot, put_slashed(sb,
                                       (const uint64_t[]){ r->nodes_alloc, r->nodes_idle,
                                                           r->nodes_other, r->nodes },
                                       4))
ROW_GETTER(get_cpus_aiot, put_slashed(sb,
                                      (const uint64_t[]){ r->cpus_alloc, r->cpus_idle,
                                                          r->cpus_other, r->cpus_total },
                                      4))
ROW_GETTER(get_alloc_mem, put_u64(sb, r->mem_alloc))
ROW_GETTER(get_cluster, strbuf_add(sb, r->cluster ? r->cluster : "N/A"))

static void get_nodelist(struct strbuf *sb, const void *row)
{
    const struct sinfo_row *r = row;
    _cleanup_free_ char *text = NULL;

    if (!r->names) {
        strbuf_add(sb, r->node ? r->node->name : "");
        return;
    }
    hostlist_sort(r->names);
    if (hostlist_fold(r->names, &text) < 0)
        sb->failed = true;
    else
        strbuf_add(sb, text);
}

/* ---- fields of partitions -------------------------------------------------------------------- */

static void put_lower(struct strbuf *sb, const char *text)
{
    for (; *text; text++)
        strbuf_addc(sb, (char)tolower((unsigned char)*text));
}

static void put_minutes(struct strbuf *sb, bool set, uint32_t minutes, const char *unset)
{
    if (set && minutes == UINT32_MAX)
        strbuf_add(sb, "infinite");
    else if (set)
        put_short_time(sb, (int64_t)minutes * 60);
    else
        strbuf_add(sb, unset);
}

static void put_number_or(struct strbuf *sb, bool set, uint32_t n, const char *unset)
{
    if (set)
        put_u64(sb, n);
    else
        strbuf_add(sb, unset);
}

ROW_GETTER(get_avail, if (p->state == PST__PARTITION_STATE__PART_INACTIVE) strbuf_add(sb, "inact");
           else put_lower(sb, names_part_state((unsigned)p->state)))
ROW_GETTER(get_alloc_nodes, strbuf_add(sb, p->alloc_nodes ? p->alloc_nodes : "all"))
ROW_GETTER(get_default_time, put_minutes(sb, p->has_default_time_min, p->default_time_min, "n/a"))
ROW_GETTER(get_time, put_minutes(sb, p->has_max_time_min, p->max_time_min, "infinite"))
ROW_GETTER(get_groups, strbuf_add(sb, p->allow_groups ? p->allow_groups : "all"))
ROW_GETTER(get_max_cpus,
           put_number_or(sb, p->has_max_cpus_per_node, p->max_cpus_per_node, "UNLIMITED"))
ROW_GETTER(get_oversubscribe, strbuf_add(sb, p->oversubscribe ? p->oversubscribe : "NO"))
ROW_GETTER(get_partition, strbuf_add(sb, p->name); if (p->is_default) strbuf_addc(sb, '*'))
ROW_GETTER(get_partition_name, strbuf_add(sb, p->name))
ROW_GETTER(get_preempt_mode, strbuf_add(sb, p->preempt_mode ? p->preempt_mode : "OFF"))
ROW_GETTER(get_job_factor, put_u64(sb, p->has_priority_job_factor ? p->priority_job_factor : 1))
ROW_GETTER(get_tier, put_u64(sb, p->has_priority_tier ? p->priority_tier : 1))
ROW_GETTER(get_root, strbuf_add(sb, p->root_only ? "yes" : "no"))

static void get_size(struct strbuf *sb, const void *row)
{
    const struct sinfo_row *r = row;
    uint32_t least = r->part->min_nodes ? r->part->min_nodes : 1;

    put_u64(sb, least);
    if (!r->part->has_max_nodes) {
        strbuf_add(sb, "-infinite");
    } else if (r->part->max_nodes > least) {
        strbuf_addc(sb, '-');
        put_u64(sb, r->part->max_nodes);
    }
}

/* ---- sort keys ------------------------------------------------------------------------------- */

static int64_t num_state(const void *row)
{
    const struct sinfo_row *r = row;
    struct names_node state;

    if (!r->node)
        return -1;
    state = names_node_of(r->node);
    return names_node_rank(&state);
}

#define ROW_NUMBER(name, value)                                                                    \
    static int64_t name(const void *row)                                                           \
    {                                                                                              \
        const struct sinfo_row *r = row;                                                           \
                                                                                                   \
        return (int64_t)(value);                                                                   \
    }

ROW_NUMBER(num_partition, r->part_index)
ROW_NUMBER(num_name, r->node ? r->node_rank : SIZE_MAX / 2)
/* hosts are sorted against the sign, as programs know it */
ROW_NUMBER(num_host, r->node ? -(int64_t)r->node_rank : -(int64_t)(SIZE_MAX / 2))
ROW_NUMBER(num_nodes, r->nodes)
ROW_NUMBER(num_alloc, r->nodes_alloc)
ROW_NUMBER(num_cpus_alloc, r->cpus_alloc)
ROW_NUMBER(num_cpus, r->cpus.least)
ROW_NUMBER(num_memory, r->memory.least)
ROW_NUMBER(num_disk, r->disk.least)
ROW_NUMBER(num_weight, r->weight.least)
ROW_NUMBER(num_load, r->load.least)
ROW_NUMBER(num_free_mem, r->free_mem.least)
ROW_NUMBER(num_sockets, r->sockets.least)
ROW_NUMBER(num_cores, r->cores.least)
ROW_NUMBER(num_threads, r->threads.least)
ROW_NUMBER(num_time, r->part->has_max_time_min ? r->part->max_time_min : UINT32_MAX)
ROW_NUMBER(num_tier, r->part->priority_tier)

const struct fmt_field sinfo_partition_order = { 'P',           true,          NULL, "",
                                                 get_partition, num_partition, NULL, SINFO_KEY };

static const struct fmt_field sinfo_rows[] = {
    { 0, false, "AllocMem", "ALLOCMEM", get_alloc_mem, NULL, "alloc_mem_mib", SINFO_KEY },
    { 'S', false, "AllocNodes", "ALLOCNODES", get_alloc_nodes, NULL, NULL, SINFO_KEY },
    { 'a', false, "Available", "AVAIL", get_avail, NULL, NULL, SINFO_KEY },
    { 'V', false, "Cluster", "CLUSTER", get_cluster, NULL, NULL, SINFO_KEY },
    { 0, false, "Comment", "COMMENT", get_comment, NULL, "comment", SINFO_KEY },
    { 'Y', false, "Cores", "CORES", get_cores, num_cores, "cores_per_socket", SINFO_LEAST },
    { 'c', false, "CPUs", "CPUS", get_cpus, num_cpus, NULL, SINFO_LEAST },
    { 'O', false, "CPUsLoad", "CPU_LOAD", get_load, num_load, "cpu_load_centi", SINFO_RANGE },
    { 'C', false, "CPUsState", "CPUS(A/I/O/T)", get_cpus_aiot, num_cpus_alloc, NULL, SINFO_TOTAL },
    { 'L', false, "DefaultTime", "DEFAULTTIME", get_default_time, NULL, NULL, SINFO_KEY },
    { 'd', false, "Disk", "TMP_DISK", get_disk, num_disk, "tmp_disk_mib", SINFO_LEAST },
    { 0, false, "Extra", "EXTRA", get_extra, NULL, "extra", SINFO_KEY },
    { 'f', false, "Features", "AVAIL_FEATURES", get_features, NULL, "features", SINFO_KEY },
    { 'b', false, "features_act", "ACTIVE_FEATURES", get_active, NULL, "features active_features",
      SINFO_KEY },
    { 'e', false, "FreeMem", "FREE_MEM", get_free_mem, num_free_mem, "free_mem_mib", SINFO_RANGE },
    { 'G', false, "Gres", "GRES", get_gres, NULL, "gres gres_shown gres_topo cpus cores_per_socket",
      SINFO_KEY },
    { 0, false, "GresUsed", "GRES_USED", get_gres_used, NULL, "alloc_gres", SINFO_KEY },
    { 'g', false, "Groups", "GROUPS", get_groups, NULL, NULL, SINFO_KEY },
    { 'B', false, "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", get_max_cpus, NULL, NULL, SINFO_KEY },
    { 'm', false, "Memory", "MEMORY", get_memory, num_memory, "real_memory_mib", SINFO_LEAST },
    { 'o', false, "NodeAddr", "NODE_ADDR", get_addr, NULL, "addr", SINFO_KEY,
      .whole_header = true },
    { 'A', false, "NodeAI", "NODES(A/I)", get_nodes_ai, num_alloc, NULL, SINFO_TOTAL },
    { 'F', false, "NodeAIOT", "NODES(A/I/O/T)", get_nodes_aiot, num_alloc, NULL, SINFO_TOTAL },
    { 'n', false, "NodeHost", "HOSTNAMES", get_host, num_host, "hostname", SINFO_KEY,
      .whole_header = true },
    { 'N', false, "NodeList", "NODELIST", get_nodelist, num_name, NULL, SINFO_TOTAL,
      .whole_header = true },
    { 'D', false, "Nodes", "NODES", get_nodes, num_nodes, NULL, SINFO_TOTAL },
    { 'h', false, "OverSubscribe", "OVERSUBSCRIBE", get_oversubscribe, NULL, NULL, SINFO_KEY },
    { 'P', false, "Partition", "PARTITION", get_partition, NULL, NULL, SINFO_KEY, .starred = true },
    { 'R', false, "PartitionName", "PARTITION", get_partition_name, NULL, NULL, SINFO_KEY },
    { 0, false, "Port", "PORT", get_port, NULL, "port", SINFO_KEY },
    { 'M', false, "PreemptMode", "PREEMPT_MODE", get_preempt_mode, NULL, NULL, SINFO_KEY },
    { 'I', false, "PriorityJobFactor", "PRIO_JOB_FACTOR", get_job_factor, NULL, NULL, SINFO_KEY },
    { 'p', false, "PriorityTier", "PRIO_TIER", get_tier, num_tier, NULL, SINFO_KEY },
    { 'E', false, "Reason", "REASON", get_reason, NULL, "reason", SINFO_KEY },
    { 'i', false, "Reservation", "RESERVATION", get_reservation, NULL, "reservation", SINFO_KEY },
    { 'r', false, "Root", "ROOT", get_root, NULL, NULL, SINFO_KEY },
    { 's', false, "Size", "JOB_SIZE", get_size, NULL, NULL, SINFO_KEY },
    { 'X', false, "Sockets", "SOCKETS", get_sockets, num_sockets, "sockets", SINFO_LEAST },
    { 'z', false, "SocketCoreThread", "S:C:T", get_sct, NULL,
      "sockets cores_per_socket threads_per_core", SINFO_LEAST },
    { 't', false, "StateCompact", "STATE", get_state_compact, num_state, NULL, SINFO_KEY },
    { 0, false, "StateComplete", "STATECOMPLETE", get_state_full, num_state, NULL, SINFO_KEY },
    { 'T', false, "StateLong", "STATE", get_state, num_state, NULL, SINFO_KEY },
    { 'Z', false, "Threads", "THREADS", get_threads, num_threads, "threads_per_core", SINFO_LEAST },
    { 'l', false, "Time", "TIMELIMIT", get_time, num_time, NULL, SINFO_KEY },
    { 'H', false, "TimeStamp", "TIMESTAMP", get_timestamp, NULL, "reason reason_us", SINFO_KEY },
    { 'u', false, "User", "USER", get_user, NULL, "reason reason_uid", SINFO_KEY },
    { 'U', false, "UserLong", "USER", get_user_long, NULL, "reason reason_uid", SINFO_KEY },
    { 'v', false, "Version", "VERSION", get_version, NULL, "version", SINFO_KEY },
    { 'w', false, "Weight", "WEIGHT", get_weight, num_weight, "weight", SINFO_LEAST },
    { 0, true, "Share", "OVERSUBSCRIBE", get_oversubscribe, NULL, NULL, SINFO_KEY },
};

/* Fields of the partition itself. */
static fmt_get_fn *const partition_getters[] = {
    get_alloc_nodes,   get_avail,     get_default_time,   get_groups,       get_max_cpus,
    get_oversubscribe, get_partition, get_partition_name, get_preempt_mode, get_job_factor,
    get_tier,          get_root,      get_size,           get_time,
};

bool sinfo_shows_partition(const struct fmt *f)
{
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < ARRAY_SIZE(partition_getters); k++)
            if (f->cols[i].field->get == partition_getters[k])
                return true;
    return false;
}

const struct fmt_table sinfo_fields = { sinfo_rows, ARRAY_SIZE(sinfo_rows), "sinfo", "AllocMem",
                                        .all_blank = true };
