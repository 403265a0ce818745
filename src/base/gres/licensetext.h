/* licensetext.h - the items of a list of licences as text; pure
 *
 *     item := name ["(" nodes ")"] [(":" | "=") amount]      "port(n[01-12]):30"
 *
 * Items are parted by ',', ';' or '|', which inside of parentheses part nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct license_text {
    const char *name; /* borrowed; "port(n[01-12])" is full_len bytes long, "port" name_len */
    size_t name_len, full_len;
    const char *amount; /* NULL: not given */
    size_t amount_len;
    size_t len; /* of the item */
};

/* The next item that is not empty; false at the end.  *list moves on. */
bool license_text_next(const char **list, struct license_text *ret);
/* The amount as a number; 1 when it is not given or is none. */
uint64_t license_text_count(const struct license_text *l);
/* Is it this licence, or, with a layer, this resource? */
bool license_text_named(const struct license_text *l, const char *name);
/* What the items of that name have together.  0: there is none. */
uint64_t license_text_sum(const char *list, const char *name);
/* Does '|' part items?  Then one of them is enough. */
bool license_text_any(const char *list);
