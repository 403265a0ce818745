/* json_job.h - jobs, steps, nodes and partitions as objects of the REST schema
 *
 * Each function writes one object, with the fields in the order of Slurm's output.  Fields that
 * records do not carry have the schema's empty value. */
#pragma once

#include "cli/format/fmt_squeue.h"
#include "cli/format/json_out.h"
#include "cli/format/out_show.h"
#include "cli/query/out_job.h"
#include "node.pb-c.h"
#include "api.pb-c.h"

/* "select_type": the words of SelectTypeParameters in upper case; NULL or empty: NONE.  Before
 * v0.0.45 there is a word for each thing that is counted out, and none for NONE. */
void json_select_type(struct json *js, const char *words);
/* The i-th of those older words; NULL: no more. */
const char *json_select_word_before_45(size_t i);
void json_job(struct json *js, const struct job_row *r);
/* Its id as squeue shows it, and its state: --only-job-state. */
void json_job_state(struct json *js, const struct job_row *r);
void json_step(struct json *js, const struct step_row *r);
void json_node(struct json *js, const Pst__NodeRecord *n, const struct show_node_of *of);
/* key is NULL in a list, cluster outside of a federation. */
void json_partition(struct json *js, const char *key, const Pst__PartitionRecord *p,
                    const char *tres, const char *cluster);
struct sinfo_row;
/* part_tres: what the partition has, as out_part_tres() tells it. */
void json_sinfo(struct json *js, const struct sinfo_row *row, const char *part_tres);
/* script: NULL when it was not asked for */
void json_acct_job(struct json *js, const Pst__AcctJob *a, int64_t now_us, const char *cluster,
                   const char *script);
