/* restopenapi.h - the OpenAPI document of what is served
 *
 * It is made of restschema.h: an operation is in it when a row answers it.  Sentences about fields
 * are not there; names, types and shapes are those of the published document. */
#pragma once

#include <stdbool.h>

#include "rest/rest.h"
#include "rest/restschema.h"

/* Is this path one of the document's ("/openapi", "/openapi/v3" ...)?  *ret_yaml: it asks for YAML
 * by its name. */
bool restopenapi_is(const char *path, bool *ret_yaml);
/* The document; caller frees.  -ENOMEM. */
int restopenapi_make(const struct rest_config *config, const struct restschema *schema, bool yaml,
                     char **ret);
