/* words.h - a line as words, quoted as in a shell */
#pragma once

#include <stddef.h>

/* Split text: blanks separate, '...' "..." and \ protect, # starts a comment.  The words point into
 * buf (len + 1 bytes).  Returns the count, -E2BIG: more than max_words, -EINVAL: a quote is open.
 */
int words_split(const char *text, size_t len, char *buf, char **words, size_t max_words);
/* How much of a line of options counts: up to a # that nothing protects, also one within a word. */
size_t words_before_comment(const char *text, size_t len);
