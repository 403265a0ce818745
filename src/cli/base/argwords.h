/* argwords.h - the words of lists that people give on command lines
 *
 * For commands only: out of memory exits. */
#pragma once

#include <stddef.h>

/* Words of a list at commas (empty ones left out) added to an array that grows. */
void argwords_add(char ***words, size_t *n, const char *list);
/* The argument as it is, commas too, instead of what there was. */
void argwords_set(char ***words, size_t *n, const char *word);
void argwords_free(char **words, size_t n);
