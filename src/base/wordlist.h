/* wordlist.h - is a word one of a list's?
 *
 * A list is words with commas between them, as in slurm.conf and on command lines: "a,b,c".  NULL
 * and "" hold nothing; an empty word is in no list.  Pure functions; O(length of the list). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool wordlist_has(const char *list, const char *word);
/* Letter case does not matter (ASCII). */
bool wordlist_has_nocase(const char *list, const char *word);
/* The word is len bytes long; no NUL needs to follow. */
bool wordlist_has_n(const char *list, const char *word, size_t len);
bool wordlist_has_n_nocase(const char *list, const char *word, size_t len);
/* As wordlist_has_n(), and any byte of `between` ends a word of the list. */
bool wordlist_has_between(const char *list, const char *between, const char *word, size_t len);

/* The value of the first NAME or NAME=VALUE of a list of options, in any case of letters: borrowed,
 * *ret_len bytes, none for a word alone.  NULL: it is not there. */
const char *wordlist_option(const char *list, const char *name, size_t *ret_len);

/* The words in the order of their bytes, each once, with commas between.  Caller frees; NULL: out
 * of memory. */
char *wordlist_sorted(const char *list);

/* The words of --profile as Slurm writes them, in its order: "task,energy" is "Energy,Task".
 * Caller frees; NULL: out of memory. */
char *wordlist_profile(const char *list);
