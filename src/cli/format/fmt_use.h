/* fmt_use.h - what a step used, as columns of sacct and sstat
 *
 * Every column is empty for a job, and for a step that was not measured. */
#pragma once

#include "cli/format/fmt_sacct.h"

/* Bytes in the unit asked for, else in the usual one: 'K', 'M', 0 = as they are. */
void use_put_bytes(struct strbuf *sb, const struct sacct_row *r, uint64_t bytes, char usual);
/* Joules, in thousands of them and more: "1.50K". */
void use_put_energy(struct strbuf *sb, uint64_t joule);

/* clang-format would put some on lines of their own and nest the rest. */
/* clang-format off */
#define USE_COLUMNS(X) \
    X(use_ave_cpu) X(use_ave_freq) X(use_ave_read) X(use_ave_written) X(use_ave_pages) \
    X(use_ave_rss) X(use_ave_vm) X(use_max_read) X(use_max_read_node) X(use_max_read_task) \
    X(use_max_written) X(use_max_written_node) X(use_max_written_task) X(use_max_pages) \
    X(use_max_pages_node) X(use_max_pages_task) X(use_max_rss) X(use_max_rss_node) \
    X(use_max_rss_task) X(use_max_vm) X(use_max_vm_node) X(use_max_vm_task) X(use_min_cpu) \
    X(use_min_cpu_node) X(use_min_cpu_task) X(use_in_ave) X(use_in_max) X(use_in_max_node) \
    X(use_in_max_task) X(use_in_min) X(use_in_min_node) X(use_in_min_task) X(use_in_tot) \
    X(use_out_ave) X(use_out_max) X(use_out_max_node) X(use_out_max_task) X(use_out_min) \
    X(use_out_min_node) X(use_out_min_task) X(use_out_tot)
/* clang-format on */
#define X(name) void name(struct strbuf *sb, const struct sacct_row *r);
USE_COLUMNS(X)
#undef X
