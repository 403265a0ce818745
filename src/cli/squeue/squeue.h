/* squeue.h - what the parts of squeue share: the options as read, and the listing under way
 *
 * squeue.c reads the options; squeue_list.c lists; squeue_watch.c follows changes and explains. The
 * latter two know nothing of options, and each other only by the functions below.  One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "cli/base/fedview.h"
#include "cli/base/cli.h"
#include "cli/format/fmt_squeue.h"
#include "cli/format/json_out.h"
#include "cli/squeue/squeue_arrays.h"
#include "cli/query/out_jobfilter.h"
#include "cli/query/out_query.h"
#include "cli/query/out_stepjobs.h"

#define SQUEUE_NO_JOB (UINT32_MAX - 1) /* no job has it: what a list without ids asks for */

struct squeue {
    struct cli cli;
    struct client *client;
    struct jobfilter filter;
    struct json_option json;

    const char *format, *format_long, *sort, *clusters;
    bool all, hide, array, expand, long_format, noconvert, noheader, only_state, per_partition,
        start, steps;
    bool watch, changes_only, explain;
    const char *since;
    uint32_t *explained;
    size_t n_explained;
    bool format_given, format_long_given; /* on the command line */
    bool jobs_word_missing, steps_word_missing, jobs_given;
    struct fedview view;
    bool federated; /* several clusters are shown as one */
    uint32_t iterate_s;
    bool several; /* clusters: what one does not know is looked for in the next */
    int status;

    struct fmt fmt;
    struct fmt_sort order;
    struct fmt_lines *lines;
    struct strbuf out;
    struct json js;
    struct query_info info; /* of the last answer */
    struct job_arrays arrays;
    uint64_t n_jobs; /* that the clusters know, of those asked for */
    struct pb_fieldset fields;
    unsigned bitstr_len;
    char **hidden; /* names of hidden partitions */
    size_t n_hidden;
    struct step_jobs jobs; /* what --steps needs of the jobs */
    struct step_use *use;  /* what JSON tells of the steps of jobs */
};

/* ---- squeue_list.c --------------------------------------------------------------------------- */

/* Fill the request's filter from the options; once. */
void squeue_make_filter(struct squeue *q);
/* Learn which partitions are hidden.  Ends the program when that fails, as all of these do. */
void squeue_load_hidden(struct squeue *q);
/* Ask with the filter; fields NULL = whole records. */
void squeue_query(struct squeue *q, unsigned op, const ProtobufCMessageDescriptor *desc,
                  const struct pb_fieldset *fields, query_fn *fn, struct query_info *info);
/* Do the filters that are applied here let the job through? */
bool squeue_wanted(const struct squeue *q, const struct job_row *r);
/* Print one listing. */
void squeue_list(struct squeue *q, int argc, char **argv);
/* The same in parts, for a list of several clusters: begin and end once, squeue_begin_order() once
 * before the first squeue_add(), which takes the jobs of the cluster that is asked. */
void squeue_begin(struct squeue *q);
void squeue_begin_order(struct squeue *q);
void squeue_add(struct squeue *q);
void squeue_end(struct squeue *q, int argc, char **argv);

/* ---- squeue_watch.c -------------------------------------------------------------------------- */

/* --watch: print changes until interrupted; gives the exit status. */
int squeue_watch(struct squeue *q);
/* --explain: say why the chosen jobs wait; gives the exit status. */
int squeue_explain(struct squeue *q);
