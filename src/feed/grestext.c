/* grestext.c - see grestext.h */
#include "feed/grestext.h"

#include <ctype.h>
#include <string.h>

#include "base/timefmt.h"

bool gres_text_parse(char *word, struct gres_text *ret)
{
    char *first, *second;

    *ret = (struct gres_text){ .name = word, .count = 1 };
    if (strncmp(word, "gres/", 5) == 0)
        ret->name = word + 5;
    first = strpbrk(ret->name, ":=");
    if (!first)
        return *ret->name != '\0' && !strchr(ret->name, '/');
    *first++ = '\0';
    second = strpbrk(first, ":=");
    if (second) {
        *second++ = '\0';
        ret->type = first;
        if (strncmp(second, "no_consume", 10) == 0)
            return false; /* never runs out */
        first = second;
    }
    if (ret->type && !*ret->type)
        return false;
    if (isdigit((unsigned char)*first))
        return size_count_parse(first, &ret->count, NULL) == 0 && *ret->name;
    if (ret->type || !*first)
        return false;
    ret->type = first; /* "gpu:a100" */
    return *ret->name != '\0';
}
