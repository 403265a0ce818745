/* fmt_sinfo.h - the fields of sinfo, and how nodes gather into its rows
 *
 * A row stands for nodes of one partition that are equal in every shown field of kind SINFO_KEY;
 * the other fields add up, or show the smallest value with a plus.  One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "cli/format/fmt_core.h"
#include "model/words/names.h"
#include "node.pb-c.h"

enum sinfo_kind {
    SINFO_KEY,   /* nodes that differ here are in different rows */
    SINFO_TOTAL, /* counts and lists */
    SINFO_LEAST, /* smallest value, "+" when others are larger; a key with --exact */
    SINFO_RANGE, /* least and greatest */
};

extern const struct fmt_table sinfo_fields;
/* "#P" of the sort order: partitions in the order of the configuration. */
extern const struct fmt_field sinfo_partition_order;

struct sinfo_range {
    uint64_t least, greatest;
};

/* One row.  Partition and node are borrowed and outlive it; node is the first of them, NULL when
 * the partition has none to show. */
struct sinfo_row {
    const Pst__PartitionRecord *part;
    unsigned part_index;
    const Pst__NodeRecord *node;
    size_t node_rank; /* of the first node among all by name */
    const char *cluster;
    int64_t now_us;
    bool exact, noconvert;

    struct hostlist *names; /* owned; NULL while the row stands for one node */
    uint32_t nodes, nodes_alloc, nodes_idle, nodes_other;
    uint64_t cpus_alloc, cpus_idle, cpus_other, cpus_total, mem_alloc;
    struct sinfo_range cpus, sockets, cores, threads, disk, memory, weight, load, free_mem;
    bool has_load, has_free_mem;
};

/* A row of one node, or of none (node NULL). */
void sinfo_row_init(struct sinfo_row *row, const Pst__PartitionRecord *part, unsigned part_index,
                    const Pst__NodeRecord *node);
/* Add another one.  -ENOMEM. */
int sinfo_row_add(struct sinfo_row *row, const struct sinfo_row *other);
void sinfo_row_done(struct sinfo_row *row);
/* Is a field of the partition shown?  Without one, a partition of whose nodes none matches has no
 * row: it would say nothing. */
bool sinfo_shows_partition(const struct fmt *f);
/* Text that is equal for nodes of one row, by the columns shown. */
void sinfo_key(const struct fmt *f, const struct sinfo_row *row, bool per_node, struct strbuf *key);

/* "idle,drain+~down": , is OR, + and & are AND, ~ and ! are NOT. */
#define SINFO_FILTER_MAX 64u
struct sinfo_filter {
    struct {
        unsigned filter;
        bool negate;
        bool ends_group; /* last of a conjunction */
    } terms[SINFO_FILTER_MAX];
    size_t n;
    bool none; /* an empty list selects no node */
};
/* Errors: -EINVAL, *ret_bad (static buffer inside f's caller, size given) is the word. */
int sinfo_filter_parse(struct sinfo_filter *f, const char *text, char *bad, size_t bad_size);
bool sinfo_filter_match(const struct sinfo_filter *f, const struct names_node *n);
