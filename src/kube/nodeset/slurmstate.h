/* slurmstate.h - what the words of a node's state in Slurm mean for its pod
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

bool slurmstate_has_word(const json_t *state, const char *word);
bool slurmstate_is_busy(const json_t *state); /* jobs run there, or end */
/* Is a node with these words of state drained, so that no job is there and none will be? */
bool slurmstate_is_drained(const json_t *state);
/* Is it down and without jobs, and silent, or told so by its pod when that ended (OPKEY_ENDED)? */
bool slurmstate_is_dead(const json_t *node);
