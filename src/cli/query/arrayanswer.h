/* arrayanswer.h - what was answered about the tasks of one array, a line for equal answers
 *
 *   29_[0]: Job/step already completing or completed
 *   29_[1-4]: No error
 *   29_[5]: Job is pending execution */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api.pb-c.h"

/* How many of the n results from the first on are about tasks that the first one's id names. */
size_t arrayanswer_run(Pst__JobActionResult *const *results, size_t n);

/* Tasks that the id of n results names and no result is about: "8-9", NULL = none.  The caller
 * frees it. */
char *arrayanswer_unknown(Pst__JobActionResult *const *results, size_t n);

/* The lines about n results of one id, in the order of their lowest tasks; tasks that the id names
 * and nobody has are unknown ones.  good: tasks without an error have a line as well, once there is
 * one with.  NULL when there is no error; else the caller frees it. */
char *arrayanswer_lines(Pst__JobActionResult *const *results, size_t n, bool good);
