/* out_filter.h - lists that people give on command lines, as filters of requests
 *
 * For commands only: out of memory exits.  filter_done() frees what a filter
 * holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "cli/base/ids.h"
#include "cli/base/opts.h"
#include "cli/base/argwords.h"

void filter_add_number(uint32_t **numbers, size_t *n, uint32_t number);
void filter_done(Pst__JobFilter *f);

/* Users by name or id.  An unknown user is reported to bad() and replaced by FILTER_NO_UID, which
 * no user has. */
#define FILTER_NO_UID (UINT32_MAX - 1)
void filter_add_users(uint32_t **uids, size_t *n, const char *list, void (*bad)(const char *word));

/* Job states: bits of base states and of flags. */
struct filter_states {
    uint32_t base;
    uint32_t flags;
    bool all;
};
/* Words are long names or codes, "all" selects everything.  Errors: -EINVAL; *ret_bad (caller
 * frees) is the word. */
int filter_parse_states(const char *list, struct filter_states *ret, char **ret_bad);
bool filter_state_match(const struct filter_states *s, unsigned state, uint32_t flags);
/* The words in lower case, to offer: "pending,running,...". */
const char *filter_state_words(void);

/* Is the partition shown to nobody who does not ask for all: hidden, or for groups that whoever
 * runs the command is in none of? */
bool filter_partition_hidden(const Pst__PartitionRecord *p);

/* Ids as given: jobs, tasks, steps. */
struct filter_ids {
    struct ids *ids;
    size_t n;
};
/* Errors: -EINVAL with the sentence of ids_parse(). */
int filter_parse_ids(const char *list, struct filter_ids *ret, struct err *err);
/* Option rows take lists of ids with this, each behind those before; a bad one ends the command. */
opt_take_fn filter_take_ids;
void filter_ids_done(struct filter_ids *f);
/* Move the ids of more behind those of f; more is empty afterwards. */
void filter_ids_join(struct filter_ids *f, struct filter_ids *more);
/* The ids of a list, one word each (commas in brackets belong to a word), added to an array that
 * grows. */
void filter_add_ids(char ***words, size_t *n, const char *list);
/* Does any of the ids name this job (its own number or its array's) and task?  Steps are not looked
 * at. With no ids: yes. */
bool filter_ids_match(const struct filter_ids *f, uint32_t job_id, uint32_t array_job_id,
                      bool has_task, uint32_t task);
/* The same for one that holds many tasks: is the record named as a whole? */
bool filter_ids_match_whole(const struct filter_ids *f, uint32_t job_id, uint32_t array_job_id);
bool filter_ids_match_step(const struct filter_ids *f, uint32_t job_id, uint32_t array_job_id,
                           bool has_task, uint32_t task, uint32_t step_id);
/* Does the filter choose by ids and states alone? */
bool filter_by_ids_only(const Pst__JobFilter *f);
/* Job numbers for a request. */
void filter_ids_numbers(const struct filter_ids *f, uint32_t **numbers, size_t *n);

/* Call fn for each index of a set such as "1-3,7-11:2%4", lowest first as written.  fn < 0
 * stops. */
int filter_each_task(const char *set, int (*fn)(void *ctx, uint32_t task), void *ctx);
