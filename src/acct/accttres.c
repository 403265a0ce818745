/* accttres.c - TRES as text; see accttres.h. */
#include "acct/accttres.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A number and its unit.  Memory counts MiB without one, else K M G T P; others count thousands of
 * 1024. */
static uint64_t parse_number(const char *text, size_t len, bool memory)
{
    static const char units[] = "KMGTP";
    char copy[32], *end;
    double value;
    const char *unit;

    if (len >= sizeof(copy))
        return 0;
    memcpy(copy, text, len);
    copy[len] = '\0';
    value = strtod(copy, &end);
    if (value < 0 || !(value < 1e18))
        return 0;
    unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit && memory && unit == units)
        return (uint64_t)(value / 1024); /* KiB */
    for (const char *u = units + memory; unit && u <= unit; u++)
        value *= 1024;
    if (unit && memory)
        value /= 1024; /* M is what is counted */
    return (uint64_t)value;
}

bool tres_next(const char **text, struct tres_item *ret)
{
    while (*text && **text) {
        size_t len = strcspn(*text, ",");
        const char *eq = memchr(*text, '=', len), *item = *text;

        *text += len + (item[len] == ',');
        if (!eq || eq == item || (size_t)(eq - item) >= sizeof(ret->name))
            continue;
        memcpy(ret->name, item, (size_t)(eq - item));
        ret->name[eq - item] = '\0';
        ret->count =
            parse_number(eq + 1, len - (size_t)(eq + 1 - item), strcmp(ret->name, "mem") == 0);
        return true;
    }
    return false;
}

static size_t add_item(struct tres_item *items, size_t n, size_t max, const char *name, size_t len,
                       uint64_t count)
{
    char full[TRES_NAME_MAX];

    (void)snprintf(full, sizeof(full), "gres/%.*s", (int)len, name); /* cut: no such TRES then */
    for (size_t i = 0; i < n; i++) {
        if (strcmp(items[i].name, full) == 0) {
            items[i].count += count;
            return n;
        }
    }
    if (n == max)
        return n;
    memcpy(items[n].name, full, sizeof(full));
    items[n].count = count;
    return n + 1;
}

size_t tres_of_gres(const char *gres, struct tres_item *items, size_t max)
{
    size_t n = 0;

    while (gres && *gres) {
        size_t len = strcspn(gres, ",("), name = strcspn(gres, ":,("), last = name;
        uint64_t count = 1;

        for (size_t i = name; i < len; i++) /* behind the last colon, when a number stands there */
            if (gres[i] == ':')
                last = i;
        if (last < len && last > 0 && isdigit((unsigned char)gres[last + 1]))
            count = parse_number(gres + last + 1, len - last - 1, false);
        else
            last = len;
        n = add_item(items, n, max, gres, name, count);
        if (last > name) /* a type between */
            n = add_item(items, n, max, gres, last, count);
        gres += strcspn(gres, ",");
        gres += *gres == ',';
    }
    return n;
}
