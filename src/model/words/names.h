/* names.h - the words people and programs read for states, reasons and events
 *
 * Pure tables and functions of their arguments: no allocation, no I/O, any thread.  States and
 * flags are the numbers of job.proto and node.proto (flags: 1 << bit).  Returned strings are
 * static. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.pb-c.h"
#include "job.pb-c.h"
#include "node.pb-c.h"

/* ---- jobs ------------------------------------------------------------------------------------ */

#define NAMES_JOB_STATES 12u /* base states 0 .. 11 */
#define NAMES_JOB_FLAGS 13u  /* flag bits 0 .. 12 */

const char *names_job_state(unsigned state);      /* "PENDING"; "UNKNOWN" for other numbers */
const char *names_job_state_code(unsigned state); /* "PD"; "?" */
const char *names_job_flag(unsigned bit);         /* "COMPLETING"; NULL for other numbers */

/* The one word squeue and scontrol print: a displayable flag hides the base state. */
const char *names_job_state_word(unsigned state, uint32_t flags, bool compact);

/* Ended: no more state changes but the loss of flags (a requeue makes it PENDING again). */
static inline bool names_job_state_terminal(unsigned state)
{
    return state >= PST__JOB_STATE__JOB_COMPLETED;
}

/* What a word of `squeue -t` selects: one base state or one flag. */
struct names_job_match {
    bool is_flag;
    unsigned number; /* base state, or flag bit */
};
/* Long name or code, any case.  Errors: -EINVAL unknown. */
int names_job_state_parse(const char *word, struct names_job_match *ret);

/* "JobHeldUser"; for the reasons that are sentences, the sentence (scontrol writes underscores for
 * its spaces).  "None" for other numbers. */
const char *names_reason(unsigned reason);

const char *names_step_state(unsigned state); /* "RUNNING"; "UNKNOWN" for other numbers */
/* ".batch", ".extern", ".interactive", ".TBD" without the dot; NULL for ordinary steps. */
#define NAMES_STEP_PENDING 4294967293u
#define NAMES_STEP_EXTERN 4294967292u
#define NAMES_STEP_BATCH 4294967291u
#define NAMES_STEP_INTERACTIVE 4294967290u
const char *names_step_special(uint32_t step_id);
/* The number for "batch", "extern", "interactive".  Errors: -EINVAL. */
int names_step_special_parse(const char *word, uint32_t *ret);

/* "job-submit" ...; NULL for other numbers. */
const char *names_event(unsigned kind);

/* ---- nodes ----------------------------------------------------------------------------------- */

#define NAMES_NODE_FLAGS 19u
#define NAMES_NODE_TEXT 256u /* enough for every form below */

/* All that the words depend on. */
struct names_node {
    unsigned state; /* Pst__NodeState */
    uint32_t flags; /* 1 << NodeFlag */
    uint32_t cpus;  /* jobs could have */
    uint32_t alloc_cpus;
};
struct names_node names_node_of(const Pst__NodeRecord *node);

bool names_node_allocated(const struct names_node *n); /* every CPU is held by jobs */
bool names_node_mixed(const struct names_node *n);     /* some are */

/* "IDLE", "ALLOCATED", "MIXED", "DOWN", "UNKNOWN", "FUTURE". */
const char *names_node_base(const struct names_node *n);
const char *names_node_flag(unsigned bit); /* "DRAIN"; NULL for other numbers */
/* Flag bits in the order in which they are printed; i < NAMES_NODE_FLAGS. */
unsigned names_node_flag_order(unsigned i);

/* sinfo's single word with its suffix: "drained*", compact "drain*".  Gives back buf. */
const char *names_node_word(const struct names_node *n, bool compact, char *buf, size_t size);
/* "IDLE+DRAIN"; lower: "idle+drain" (sinfo's StateComplete).  Gives back buf. */
const char *names_node_full(const struct names_node *n, bool lower, char *buf, size_t size);
/* For sorting by state: greater sorts later in ascending order. */
unsigned names_node_rank(const struct names_node *n);

/* A word of `sinfo -t`, any case ("idle", "drain", "no_respond").  Errors: -EINVAL unknown. */
int names_node_filter_parse(const char *word, unsigned *ret_filter);
bool names_node_filter_match(unsigned filter, const struct names_node *n);
/* The words to offer when one is unknown, comma separated. */
const char *names_node_filter_list(void);

const char *names_part_state(unsigned state); /* "UP", "DOWN", "DRAIN", "INACTIVE" */
/* Any case.  Errors: -EINVAL. */
int names_part_state_parse(const char *word, unsigned *ret_state);
