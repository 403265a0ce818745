/* texts.h - texts that many records have in common, each kept once and counted
 *
 * A million jobs have a handful of users, partitions and folders.  What is kept ends with a NUL
 * that its length does not count, so that a text is a string too.  One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct text; /* private to texts.c */
struct texts {
    struct text **slots; /* a power of two of them; NULL = free */
    size_t cap, count;
};

/* Keep these bytes once more.  They are the pool's: nobody frees or changes them.  NULL: no
 * memory.  O(len). */
char *texts_keep(struct texts *t, const void *bytes, size_t len);
/* The other way.  `text` came from texts_keep() of this pool; NULL is a no-op. */
void texts_drop(struct texts *t, const char *text);
void texts_done(struct texts *t); /* whatever is still kept goes as well */
