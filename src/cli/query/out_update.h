/* out_update.h - what scontrol update KEY=VALUE means, as tables
 *
 * A row names a key, the record field it sets and how its text is read.  Used for jobs, nodes and
 * partitions.  Pure: no I/O; the clock is an argument. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/err.h"

#define UPDATE_CLEAR_MAX 64u

/* What was asked for.  Strings in the records are owned; free with update_done(). */
struct update {
    Pst__JobRecord job;
    Pst__NodeRecord node;
    Pst__PartitionRecord part;
    Pst__NodeAction node_action; /* NODE_ACT_NONE = no state change */
    uint32_t clear[UPDATE_CLEAR_MAX];
    size_t n_clear;
    bool any;     /* something is to be changed */
    bool has_uid; /* UserID=, which chooses among jobs of a name */
    uint32_t uid;
    bool reset_accrue;        /* ResetAccrueTime */
    bool resume_given;        /* ResumeAfter of a node */
    int refused;              /* an error of each job, for keys that no controller here has */
    int64_t limit_change_min; /* TimeLimit given as a change; 0 = not */
    bool has_limit_change;
};

enum update_kind {
    UPDATE_JOB,
    UPDATE_NODE,
    UPDATE_PART,
};

void update_init(struct update *u);
void update_done(struct update *u);

/* Take one KEY=VALUE (also KEY+=VALUE, KEY-=VALUE, and some keys alone).  Key names in any case,
 * many by their first letters.
 * Errors, with what is to be printed in err: -ENOENT unknown key; -EBADMSG no value, or a state
 * of a node that is none: the request ends; -EINVAL a bad value, told completely; -EAGAIN
 * likewise, but the other words are taken. */
int update_set(struct update *u, enum update_kind kind, const char *word, int64_t now_us,
               struct err *err);
/* What update_set() told, without scontrol's name in front: for callers that are not scontrol. */
const char *update_said(const struct err *err);

/* Is word KEY=...?  Any case.  *ret_value (may be NULL) is the text after the sign. */
bool update_word_is(const char *word, const char *key, const char **ret_value);
/* Likewise, or the first letters of KEY, `shortest` at least. */
bool update_names(const char *word, const char *key, size_t shortest, const char **ret_value);

/* DOWN, DRAIN and FAIL need a reason: false when it is missing. */
bool update_reason_given(const struct update *u);

/* Rows, for tests and documentation: the i-th key of a kind, NULL past the end. */
const char *update_key(enum update_kind kind, size_t i, bool *ret_supported);
