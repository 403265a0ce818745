/* restschema.h - the schema of the REST API: what paths exist, and what bodies hold
 *
 * v0.0.45.json has the facts of the published OpenAPI document in few bytes, and is part of the
 * program.  "operations": method, path (the star is the version), words of the query and the path,
 * schemas of body and answer.  "schemas": of each field its type: s text, b truth, i32 i64 n nd
 * numbers, @x another schema, []x a list of x, a list of words one or more of these words, an
 * object its fields.  In front of a type or of words ! is deprecated, in front of a name * is
 * required.  Behind a name of an answer's field @43 is since v0.0.43, @-44 until v0.0.44.  Older
 * versions have the same shapes otherwise, and fewer paths. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "rest/restcall.h"

struct restschema;

int restschema_new(struct restschema **ret);                   /* -ENOMEM */
struct restschema *restschema_free(struct restschema *schema); /* always NULL */

/* The operations and the schemas as they stand in the file; borrowed. */
const json_t *restschema_operations(const struct restschema *schema);
const json_t *restschema_types(const struct restschema *schema);
/* The operation that a row answers; NULL: one of our own. */
const json_t *restschema_find(const struct restschema *schema, const struct rest_row *row);

/* Check the query of the call: a flag that the published document lacks is an error, a word that it
 * lacks and that is none of ours a warning.  False: there was an error. */
bool restschema_check_query(const struct restschema *schema, struct rest_call *call);
/* Check call->body against the schema of the row's request, and change it: fields that the schema
 * lacks are taken away with a warning each, numbers become texts where a text belongs, texts become
 * the numbers and truths that they say, truths numbers and numbers truths, and words, in a list or
 * a text with commas and in any case, become a list of the schema's words.  What cannot be
 * understood is an error whose source is the place ("#/job/tasks/").  False: there was one. */
bool restschema_check(const struct restschema *schema, struct rest_call *call);
/* The same for the i-th member of a list of a request of ours, of a schema by name; place:
 * "#/jobs/7/". */
bool restschema_check_item(const struct restschema *schema, struct rest_call *call,
                           const char *type, const char *place, json_t *list, size_t i);
