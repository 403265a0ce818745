/* licensetext.c - see licensetext.h */
#include "base/gres/licensetext.h"

#include <string.h>

/* How far it is to one of the letters, or the end, outside of parentheses. */
static size_t span_to(const char *p, const char *letters)
{
    size_t i = 0, depth = 0;

    for (; p[i]; i++) {
        if (p[i] == '(')
            depth++;
        else if (p[i] == ')' && depth)
            depth--;
        else if (!depth && strchr(letters, p[i]))
            break;
    }
    return i;
}

bool license_text_next(const char **list, struct license_text *ret)
{
    const char *p = *list + strspn(*list, ",;|");

    *list = p;
    if (!*p)
        return false;
    *ret = (struct license_text){ .name = p, .len = span_to(p, ",;|") };
    ret->full_len = span_to(p, ":=,;|");
    ret->name_len = strcspn(p, "(:=,;|");
    if (ret->full_len < ret->len) {
        ret->amount = p + ret->full_len + 1;
        ret->amount_len = ret->len - ret->full_len - 1;
    }
    *list = p + ret->len;
    return true;
}

uint64_t license_text_count(const struct license_text *l)
{
    uint64_t n = 0;
    size_t i = 0;

    for (; i < l->amount_len && l->amount[i] >= '0' && l->amount[i] <= '9'; i++)
        n = n < UINT64_MAX / 16 ? n * 10 + (uint64_t)(l->amount[i] - '0') : n;
    return l->amount && i && i == l->amount_len ? n : 1;
}

bool license_text_named(const struct license_text *l, const char *name)
{
    return strlen(name) == l->name_len && strncmp(l->name, name, l->name_len) == 0;
}

uint64_t license_text_sum(const char *list, const char *name)
{
    struct license_text l;
    uint64_t sum = 0;

    while (list && license_text_next(&list, &l))
        if (license_text_named(&l, name))
            sum += license_text_count(&l);
    return sum;
}

bool license_text_any(const char *list)
{
    return list && list[span_to(list, "|")] == '|';
}
