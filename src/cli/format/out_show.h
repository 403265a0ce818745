/* out_show.h - the text blocks of scontrol show
 *
 * Each function appends one record, on several lines or, with oneliner, on one. */
#pragma once

#include <stdbool.h>

#include "cli/format/fmt_squeue.h"
#include "cli/query/out_nodes.h"

struct show_opts {
    bool oneliner;
    bool details;
    bool power_saving; /* partitions have what they say of it */
    bool wckeys;       /* they are tracked: jobs have them */
};

void show_job(struct strbuf *sb, const struct job_row *r, const struct show_opts *o);
void show_step(struct strbuf *sb, const struct step_row *r, const struct show_opts *o);
struct show_node_of {
    const char *partitions, *tres, *tres_used; /* of the node, as text */
    const char *cluster;                       /* of a federation, for JSON; may be NULL */
    int64_t now_us;
};
void show_node(struct strbuf *sb, const Pst__NodeRecord *n, const struct show_node_of *of,
               const struct show_opts *o);
void show_partition(struct strbuf *sb, const Pst__PartitionRecord *p, const char *tres,
                    const struct show_opts *o);
