/* outpattern.h - names of output files: slurm-%j.out, a.%A_%3a.txt
 *
 * Pure data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PATTERN_MAX 4096u            /* bytes of an expanded name */
#define PATTERN_NO_ARRAY 4294967294u /* what %a shows for a job that is no array task */

struct pattern_vars {
    uint32_t job_id;
    uint32_t array_job_id;  /* the job id itself when no array */
    uint32_t array_task_id; /* PATTERN_NO_ARRAY when none */
    uint32_t step_id;
    const char *step_name; /* "0", "batch" */
    bool batch;            /* %J is the job id alone */
    const char *node_name; /* %N */
    uint32_t node_index;   /* %n */
    uint32_t task_id;      /* %t */
    uint32_t restarts;     /* %r */
    const char *user, *job_name, *sluid;
};

/* Expand into a string the caller frees.  An unknown letter stays as it is; a leading backslash
 * turns substitution off.  Errors: -ENAMETOOLONG, -ENOMEM. */
int pattern_expand(const char *pattern, const struct pattern_vars *vars, char **ret_name);

/* The pattern of a batch script's output: what was asked for, NULL: the usual one. */
const char *pattern_of_batch(const char *std_out, bool is_array_task);
/* Does the name differ per task (%t), per node (%n, %N)? */
bool pattern_per_task(const char *pattern);
