/* wordlist.c - is a word one of a list's?  See wordlist.h. */
#include "base/wordlist.h"

#include <string.h>
#include <strings.h>

typedef int compare_fn(const char *a, const char *b, size_t len);

static bool find_word(const char *list, const char *between, const char *word, size_t len,
                      compare_fn *compare)
{
    for (const char *p = list; len && p && *p;) {
        size_t n = strcspn(p, between);

        if (n == len && compare(p, word, n) == 0)
            return true;
        p += n + (p[n] != '\0');
    }
    return false;
}

bool wordlist_has(const char *list, const char *word)
{
    return word && find_word(list, ",", word, strlen(word), strncmp);
}

bool wordlist_has_nocase(const char *list, const char *word)
{
    return word && find_word(list, ",", word, strlen(word), strncasecmp);
}

bool wordlist_has_n(const char *list, const char *word, size_t len)
{
    return find_word(list, ",", word, len, strncmp);
}

bool wordlist_has_n_nocase(const char *list, const char *word, size_t len)
{
    return find_word(list, ",", word, len, strncasecmp);
}

bool wordlist_has_between(const char *list, const char *between, const char *word, size_t len)
{
    return find_word(list, between, word, len, strncmp);
}
