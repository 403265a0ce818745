/* bindlist.h - the words of --cpu-bind and --mem-bind, and their lists: numbers or hexadecimal
 * masks, an item for each task
 *
 * Items are parted by commas; ITEM*COUNT repeats one; a mask may begin with 0x.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bitmap.h"

struct bindlist {
    char **items; /* without 0x, repetitions written out; owned */
    size_t n;
    bool masks;
};

/* Take one word of an option's value, `len` bytes; a word that begins a list sets *ret_list to
 * where that begins.  0 or -EINVAL. */
typedef int bindlist_word_fn(void *ctx, const char *word, size_t len, const char **ret_list);
/* The words of text, up to the end or to a list, whose beginning is in *ret_list (NULL: none). */
int bindlist_words(const char *text, bindlist_word_fn *fn, void *ctx, const char **ret_list);
/* Errors: -EINVAL, -E2BIG, -ENOMEM.  On failure nothing is kept. */
int bindlist_parse(const char *text, bool masks, struct bindlist *ret);
void bindlist_done(struct bindlist *l);
/* Add what the item of a task stands for to mask, `each` bits for one of its bits; tasks beyond
 * the list begin it again.  -ERANGE: it is more than mask holds. */
int bindlist_mask(const struct bindlist *l, size_t task, uint32_t each, struct bitmap *mask);
