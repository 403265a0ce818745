/* hostlist_impl.h - what hostlist.c and hostlist_text.c share; private to them */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hostlist.h"

enum {
    HOST_DIGITS_MAX = 18, /* digits taken as a number; more of them belong to the prefix */
};

struct hostlist {
    char *text;
    size_t used, cap, dead; /* bytes of text; dead = of removed names, within used */
    uint32_t *at;           /* offsets into text */
    size_t n, slots;
    size_t most; /* names it may hold */
};
/* Holes are at most half of the arena when it grows, and growth at most doubles it. */
_Static_assert((uint64_t)HOSTLIST_MAX_HOSTS *(HOSTLIST_MAX_NAME + 1) * 2 < UINT32_MAX,
               "offsets of a full list fit 32 bits");

/* A name cut before its trailing digits. */
struct host_parts {
    size_t len, prefix_len, width; /* width = digits, 0 without a number */
    uint64_t number;
};
struct host_parts hostlist_split(const char *name);

/* May c stand in a name?  Printable, no separator, no bracket. */
static inline bool hostlist_name_byte(char c)
{
    unsigned char u = (unsigned char)c;

    return u > ' ' && u != 0x7f && u != ',' && u != '[' && u != ']';
}

/* Append a checked name.  Errors: -E2BIG, -ENOMEM. */
int hostlist_append(struct hostlist *hl, const char *name, size_t len);
/* Drop names n and on. */
void hostlist_cut(struct hostlist *hl, size_t n);
