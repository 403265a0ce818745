/* fuzz_restwatch.c - the words of a watch over HTTP: NAME=VALUE, one a line */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rest/restcall.h"
#include "rest/watch/watchwords.h"

#define WORDS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = strndup((const char *)data, size);
    struct rest_pair query[WORDS_MAX];
    struct err err = { .text = "" };
    struct watch_facts facts = { .entity = 1, .id = 7, .name = "n1", .partition = "a,b" };
    struct watch_words words;
    char *at = text, *line;
    size_t n = 0;

    while (at && n < WORDS_MAX && (line = strsep(&at, "\n"))) {
        char *value = strchr(line, '=');

        if (!value)
            continue;
        *value++ = '\0';
        query[n++] = (struct rest_pair){ line, value };
    }
    if (watchwords_read(query, n, NULL, &words, &err) < 0)
        return 0;
    for (facts.entity = 1; facts.entity <= 3; facts.entity++)
        (void)watchwords_match(&words, &facts);
    watchwords_done(&words);
    return 0;
}
