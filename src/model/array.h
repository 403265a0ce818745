/* array.h - index sets of job arrays: "0-31:2,40%4"
 *
 * The stored form is canonical: ascending ranges "0-7,9", then "%N" when a throttle is set.
 * Many indexes at one distance are "0-98:2", so that the text stays short while tasks leave it.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Check and canonicalise an --array argument.  Caller frees *ret_tasks.  Errors: -EINVAL syntax
 * or index above max_index. */
int array_parse(const char *text, uint32_t max_index, char **ret_tasks, uint32_t *ret_throttle,
                uint32_t *ret_count, struct err *err);
/* Of a stored form (NULL = empty): */
uint32_t array_count(const char *tasks);
uint32_t array_first(const char *tasks); /* tasks must not be empty */
bool array_contains(const char *tasks, uint32_t index);
/* The ends, and the distance of neighbours where it is the same everywhere, else 1; not empty. */
void array_bounds(const char *tasks, uint32_t *ret_first, uint32_t *ret_last, uint32_t *ret_step);
/* The form without index; *ret_tasks NULL when it was the last.  Errors: -ENOENT, -ENOMEM. */
int array_without(const char *tasks, uint32_t index, char **ret_tasks);
/* tasks without those of `taken`; *ret_tasks NULL when none is left.  Linear in both texts.
 * -ENOMEM. */
int array_minus(const char *tasks, const char *taken, char **ret_tasks);
/* Tasks that leave: *tasks becomes what is left, NULL when nothing is.  Those that are not in it
 * do not matter. */
int array_take(char **tasks, const char *taken);
/* Those in both, without a throttle; *ret_tasks NULL when there is none.  Linear in both texts.
 * -ENOMEM. */
int array_and(const char *tasks, const char *others, char **ret_tasks);
uint32_t array_throttle(const char *tasks); /* 0 = none */
