/* grestext.h - one GRES or licence of a list as text; pure */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "gpu:a100:2", "gres/gpu=2", "gpu:a100", "bb:no_consume:100G", "gpu:a100:2(S:0-1)": name, type
 * (NULL = none) and count, pointing into `word`, which is changed.  Count suffixes k m g are powers
 * of 1024.  What stands where a count is expected and is none belongs to the type: nothing has such
 * a type.  False: no GRES. */
struct gres_text {
    char *name, *type;
    uint64_t count;
    bool no_consume; /* never runs out */
};
bool gres_text_parse(char *word, struct gres_text *ret);

/* Does a GRES of this name hand out parts of a GPU: "shard", "mps"? */
bool gres_shares_gpu(const char *name);

/* Of a list such as "gres/gpu:a100:2,gres/shard:1" what is said of a name; type NULL = of any type.
 * Of two entries of one name and type the later counts.  Returns the count; *ret_any (may be NULL)
 * whether there is one. */
uint64_t gres_text_count(const char *list, const char *name, const char *type, bool *ret_any);

/* The entries of a node's list in the order in which their names stand in types, those of one name
 * as they stood; names that are not there come last.  Caller frees; NULL: out of memory. */
char *gres_text_order(const char *list, const char *types);
