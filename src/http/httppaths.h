/* httppaths.h - tables of paths: which row, and the pages that list them; pure */
#pragma once

#include "http/http.h"

/* The row of a path, NULL: not served.  An exact comparison: what is served has no other names. */
const struct http_path *httppaths_find(const struct http_path *paths, const char *path);
/* The page of an index: a line for each row that `index` lists. */
void httppaths_list(const struct http_path *paths, const struct http_path *index, const char *name,
                    struct strbuf *body);
/* The body of a refusal.  method and path are the caller's: what is no printable ASCII shows as
 * '?', and both are cut. */
void httppaths_refuse(const char *name, const char *method, const char *path, const char *reason,
                      struct strbuf *body);
