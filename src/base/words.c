/* words.c - see words.h */
#include "base/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>

int words_split(const char *text, size_t len, char *buf, char **words, size_t max_words)
{
    char quote = '\0';
    bool in_word = false;
    size_t n = 0, out = 0;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (!quote && isspace((unsigned char)c)) {
            if (in_word)
                buf[out++] = '\0';
            in_word = false;
            continue;
        }
        if (!quote && !in_word && (c == '#' || (c == '\\' && i + 1 == len)))
            break; /* a comment, or a backslash that has nothing to protect */
        if (!in_word) {
            if (n == max_words)
                return -E2BIG;
            words[n++] = buf + out;
            in_word = true;
        }
        if (quote == c) {
            quote = '\0';
        } else if (!quote && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'') {
            if (i + 1 < len) /* else it has nothing to protect */
                buf[out++] = text[++i];
        } else {
            buf[out++] = c;
        }
    }
    if (quote)
        return -EINVAL;
    if (in_word)
        buf[out] = '\0';
    return (int)n;
}

size_t words_before_comment(const char *text, size_t len)
{
    char quote = '\0';

    for (size_t i = 0; i < len; i++) {
        if (!quote && text[i] == '#')
            return i;
        if (text[i] == '\\' && quote != '\'')
            i++;
        else if (quote == text[i])
            quote = '\0';
        else if (!quote && (text[i] == '\'' || text[i] == '"'))
            quote = text[i];
    }
    return len;
}
