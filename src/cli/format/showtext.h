/* showtext.h - pieces of the text blocks of scontrol show; for out_show.c and out_shownode.c */
#pragma once

#include "cli/format/out_show.h"

static inline void next_line(struct strbuf *sb, const struct show_opts *o)
{
    strbuf_add(sb, o->oneliner ? " " : "\n   ");
}

static inline void end_record(struct strbuf *sb, const struct show_opts *o)
{
    strbuf_add(sb, o->oneliner ? "\n" : "\n\n");
}

static inline const char *text_or(const char *text, const char *unset)
{
    return text ? text : unset;
}

/* `key`, then the time. */
static inline void put_time(struct strbuf *sb, const char *key, int64_t us, const char *none,
                            int64_t now_us)
{
    strbuf_add(sb, key);
    put_stamp(sb, us, none, now_us);
}

static inline void optional_line(struct strbuf *sb, const struct show_opts *o, const char *key,
                                 const char *value)
{
    if (!value)
        return;
    next_line(sb, o);
    strbuf_addf(sb, "%s=%s", key, value);
}
