/* grestext.h - one GRES or licence of a list as text; pure */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* "gpu:a100:2", "gres/gpu:2", "gpu": name, type (NULL = none) and count, pointing into `word`,
 * which is changed.  Count suffixes k m g are powers of 1024.  False: no GRES. */
struct gres_text {
    char *name, *type;
    uint64_t count;
};
bool gres_text_parse(char *word, struct gres_text *ret);
