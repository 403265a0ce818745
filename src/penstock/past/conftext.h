/* conftext.h - slurm.conf as text: a copy that differs in some keys */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

/* Keys that say where a controller is and what it writes; ended by NULL. */
extern const char *const conftext_place_keys[];

/* Add the text of the file to `text`, without the lines that begin with one of the keys (in any
 * case).  Errors: with a sentence. */
int conftext_without(const char *path, const char *const *keys, struct strbuf *text,
                     struct err *err);
int conftext_write(const char *path, const struct strbuf *text, struct err *err);
/* Links in `dir` to all that stands beside the file, but for the file itself. */
int conftext_link_others(const char *path, const char *dir, struct err *err);
