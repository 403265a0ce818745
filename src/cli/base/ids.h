/* ids.h - the forms in which people name jobs and steps
 *
 *   123   123_4   123_[1-3,7]   123+1   123.0   123_4.0   123.batch   123.extern   123.interactive
 *   123_*  (every task of the array)   s + 13 characters: a SLUID, also with a step */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sluid.h"

#define STEP_ID_PENDING 4294967293u
#define STEP_ID_EXTERN 4294967292u
#define STEP_ID_BATCH 4294967291u
#define STEP_ID_INTERACTIVE 4294967290u
#define STEP_ID_MAX_NORMAL 4294967040u /* numbered steps are below */
#define ARRAY_SET_MAX 4096u            /* bytes of a bracket */

enum ids_array {
    IDS_NO_TASK,  /* 123 */
    IDS_ONE_TASK, /* 123_4 */
    IDS_TASK_SET, /* 123_[1-3,7], task_set holds "1-3,7" */
    IDS_ALL_TASKS /* 123_* */
};

struct ids {
    uint32_t job_id;
    enum ids_array array;
    uint32_t task_id;
    char *task_set; /* owned; free with ids_done() */
    bool has_step;
    uint32_t step_id;
    bool has_het;
    uint32_t het_offset;
    char sluid[SLUID_TEXT_SIZE]; /* "" unless it is named so; then at most a step is set besides */
};

/* Errors: -EINVAL with the sentence `Invalid job id: TEXT`, -ENOMEM. */
int ids_parse(const char *text, struct ids *ret_ids, struct err *err);
void ids_done(struct ids *ids);

/* What is wrong with a text that ids_parse() refused, as the submission commands say it. */
const char *ids_mistake(const char *text);

/* Is task in a set such as "1-3,7-11:2"?  The set must have passed ids_parse() or
 * ids_check_set(). */
bool ids_set_has(const char *set, uint32_t task);
/* Syntax of an index set: numbers, ranges, a-b:step; commas between. */
bool ids_check_set(const char *set);

/* "batch", "extern", "interactive", "TBD", or the number. */
const char *step_name(uint32_t step_id, char *buf, unsigned size);
/* The reverse of step_name().  -EINVAL. */
int step_parse(const char *text, uint32_t *ret_step_id);
