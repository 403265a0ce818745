/* strbuf.h - a growing string, always NUL-terminated
 *
 * For libraries: a failed allocation sets `failed`, later calls do nothing, and strbuf_detach()
 * reports -ENOMEM; so long builders need one check. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
    char *buf; /* NULL until first use; read through strbuf_str() */
    size_t len;
    size_t cap;
    bool failed;
};
#define STRBUF_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

void strbuf_add(struct strbuf *sb, const char *text);
void strbuf_addn(struct strbuf *sb, const void *data, size_t n);
void strbuf_addc(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_addv(struct strbuf *sb, const char *fmt, va_list ap);
void strbuf_pad(struct strbuf *sb, char c, size_t n);
/* Room for n more bytes, which the caller fills and then counts with strbuf_grew(sb, at most n):
 * for builders of many small pieces.  NULL when it failed. */
char *strbuf_more(struct strbuf *sb, size_t n); /* the same where there is no room yet */
static inline char *strbuf_room(struct strbuf *sb, size_t n)
{
    return n < sb->cap - sb->len && !sb->failed ? sb->buf + sb->len : strbuf_more(sb, n);
}
static inline void strbuf_grew(struct strbuf *sb, size_t n)
{
    sb->len += n;
    sb->buf[sb->len] = '\0';
}
void strbuf_reset(struct strbuf *sb);             /* keeps the memory */
const char *strbuf_str(const struct strbuf *sb);  /* "" when empty; borrowed */
int strbuf_detach(struct strbuf *sb, char **ret); /* caller frees; sb is empty again; -ENOMEM */
void strbuf_done(struct strbuf *sb);
