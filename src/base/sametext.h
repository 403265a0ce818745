/* sametext.h - do two texts of records say the same, either of which may be missing?
 *
 * Both are one comparison; they differ in what a missing text (NULL) is. */
#pragma once

#include <stdbool.h>
#include <string.h>

/* A missing text is an empty one. */
static inline bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* A missing text is like another missing one alone. */
static inline bool same_or_missing(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}
