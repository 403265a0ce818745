/* extra.h - requests about the Extra data of nodes: --extra with extra_constraints
 *
 *     expr  := item { op item }         op: '&' or ',' (all), '|' (one); a level has one kind
 *     item  := '(' expr ')' | key sign value
 *     sign  := '=' | '!=' | '<' | '<=' | '>' | '>='
 *
 * A key and a value have at least one character, and none of , & | < > = ! ( ).  Spaces and quotes
 * are characters like others.  Source: Slurm's page "Extra Constraints".
 *
 * The node's data is a JSON object of strings, numbers and truth values.  The kind of the node's
 * value decides how the request's value is read: as a number (two are equal when they differ by
 * less than EXTRA_SAME), as a truth value (a number that is not 0 is true), else as text.  A value
 * that cannot be read so is unlike the node's and neither less nor greater; a key that the node
 * does not have satisfies nothing.  Pure data. */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"

#define EXTRA_TEXT_MAX 4096
#define EXTRA_ITEMS_MAX 512
#define EXTRA_DEPTH_MAX 32
#define EXTRA_DATA_MAX 65536 /* bytes of a node's text */
#define EXTRA_SAME 0.00001

struct extra_request;
struct json_t;

/* Errors: -EINVAL syntax, -E2BIG a limit above, -ENOMEM. */
int extra_parse(const char *text, struct extra_request **ret, struct err *err);
struct extra_request *extra_free(struct extra_request *q); /* always NULL */
DEFINE_CLEANUP(struct extra_request *, extra_free)

/* The Extra of a node as an object, json_decref(); NULL when the text (NULL: none) is not one, or
 * longer than EXTRA_DATA_MAX. */
struct json_t *extra_data(const char *text);
/* Does a node with such data (NULL: none) satisfy the request? */
bool extra_admits(const struct extra_request *q, const struct json_t *data);
