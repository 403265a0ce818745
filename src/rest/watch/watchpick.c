/* watchpick.c - see watchpick.h
 *
 * The text is our own: nothing is checked, but what is cut ends the walk. */
#include "rest/watch/watchpick.h"

#include <stdbool.h>
#include <string.h>

#include "base/wordlist.h"

/* Behind the string that begins at p. */
static const char *skip_string(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
            p++;
    return *p ? p + 1 : p;
}

/* Behind the value that begins at p. */
static const char *skip_value(const char *p)
{
    unsigned depth = 0;

    for (; *p; p++) {
        if (*p == '"')
            p = skip_string(p) - 1;
        else if (*p == '{' || *p == '[')
            depth++;
        else if ((*p == '}' || *p == ']' || *p == ',') && !depth)
            break;
        else if (*p == '}' || *p == ']')
            depth--;
    }
    return p;
}

void watchpick_add(struct strbuf *out, const char *object, const char *fields)
{
    const char *p = object + (*object == '{');
    bool first = true;

    strbuf_addc(out, '{');
    while (*p == '"') {
        const char *colon = skip_string(p);
        const char *end = *colon ? skip_value(colon + 1) : colon;

        if (colon - p > 2 && wordlist_has_n(fields, p + 1, (size_t)(colon - p) - 2)) {
            if (!first)
                strbuf_addc(out, ',');
            strbuf_addn(out, p, (size_t)(end - p));
            first = false;
        }
        p = end + (*end == ',');
    }
    strbuf_addc(out, '}');
}
