/* out_tres.h - the TRES of nodes and partitions as AccountingStorageTRES counts them; pure
 *
 * Texts are the caller's to free. */
#pragma once

#include "base/gres/billweights.h"
#include "cli/query/out_nodes.h"

struct tres_rules {
    const char *tracked; /* AccountingStorageTRES; NULL: what always counts */
    enum billing_sum how;
    const char *licenses; /* Licenses= */
};

struct conf;
struct tres_rules tres_rules_of(const struct conf *conf); /* as long as it is there */

/* "cpu=64,mem=62.50G,node=4,billing=64,gres/gpu=4,license/matlab=10" of a partition's nodes, and of
 * the licences of the cluster. */
int out_part_tres(const struct cluster_nodes *t, const struct cluster_part *part,
                  const struct tres_rules *rules, char **ret_text);
/* What node i has, "cpu=16,mem=16000M,billing=16": billed as the dearest of its partitions does. */
int out_node_tres(const struct cluster_nodes *t, size_t i, const struct tres_rules *rules,
                  char **ret_text);
/* What jobs hold of n, "cpu=4,mem=400M,gres/gpu=2"; "" when they hold nothing. */
int out_node_used(const Pst__NodeRecord *n, const struct tres_rules *rules, char **ret_text);
