/* wordlist.c - is a word one of a list's?  See wordlist.h. */
#include "base/compare/order.h"
#include "base/wordlist.h"

#include <stdlib.h>

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

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

const char *wordlist_option(const char *list, const char *name, size_t *ret_len)
{
    size_t n = strlen(name);

    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ",");

        if (len >= n && strncasecmp(p, name, n) == 0 && (len == n || p[n] == '=')) {
            size_t skip = n + (len > n);

            *ret_len = len - skip;
            return p + skip;
        }
        p += len + (p[len] == ',');
    }
    return NULL;
}

char *wordlist_sorted(const char *list)
{
    _cleanup_free_ char *copy = strdup(list ? list : "");
    size_t max = 1, n = 0, at = 0;
    _cleanup_free_ char **words = NULL;
    char *save = NULL, *out;

    for (const char *p = list; p && *p; p++)
        max += *p == ',';
    words = calloc(max, sizeof(*words));
    out = copy && words ? calloc(1, strlen(copy) + 1) : NULL;
    if (!out)
        return NULL;
    for (char *w = strtok_r(copy, ", ", &save); w && n < max; w = strtok_r(NULL, ", ", &save))
        words[n++] = w;
    qsort(words, n, sizeof(*words), order_text);
    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(words[i], words[i - 1]) == 0)
            continue;
        if (at)
            out[at++] = ',';
        memcpy(out + at, words[i], strlen(words[i]));
        at += strlen(words[i]);
    }
    return out;
}

char *wordlist_profile(const char *list)
{
    static const char *const names[] = { "None", "All", "Energy", "Filesystem", "Network", "Task" };
    char *out = calloc(1, sizeof("None,All,Energy,Filesystem,Network,Task")), *end = out;

    for (size_t i = 0; out && i < sizeof(names) / sizeof(names[0]); i++) {
        if (!wordlist_has_nocase(list, names[i]))
            continue;
        if (end > out)
            *end++ = ',';
        end = stpcpy(end, names[i]);
    }
    return out;
}
