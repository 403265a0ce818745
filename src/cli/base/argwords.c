/* argwords.c - see argwords.h. */
#include "cli/base/argwords.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/cli.h"

void argwords_add(char ***words, size_t *n, const char *list)
{
    while (*list) {
        size_t len = strcspn(list, ",");

        if (len) {
            *words = xrealloc_or_die(*words, *n + 1, sizeof(**words));
            (*words)[(*n)++] = xasprintf_or_die("%.*s", (int)len, list);
        }
        list += len + (list[len] == ',');
    }
}

void argwords_set(char ***words, size_t *n, const char *word)
{
    argwords_free(*words, *n);
    *words = xrealloc_or_die(NULL, 1, sizeof(**words));
    (*words)[0] = xstrdup_or_die(word);
    *n = 1;
}

void argwords_free(char **words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(words[i]);
    free(words);
}
