/* restschema.h - the schema of the REST API: what paths exist, what bodies hold, /openapi/v3
 *
 * The tables are generated at build time from schema/v0.0.45.txt, whose facts are those of the
 * published OpenAPI document; older versions have the same shapes and fewer paths. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "rest/restcall.h"

/* Is there such a path, for this method?  method as in HTTP, path as struct rest_row has it. */
bool restschema_has(enum rest_plugin plugin, const char *method, const char *path);

/* Check call->body against the schema of the row's request body, and change it: fields that the
 * schema lacks are taken away with a warning each ("Ignoring unknown field ..."), as the incumbent
 * does; texts that are numbers become numbers and the like where a schema's type asks for it.  What
 * cannot be understood is an error with the place as a JSON pointer ("#/job/tasks/").  false: an
 * error was noted, the handler must not run. */
bool restschema_check(struct rest_call *call);
/* The same of the query words and their values (enums). */
bool restschema_check_query(struct rest_call *call);
