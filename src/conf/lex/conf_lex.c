/* conf_lex.c - the slurm.conf dialect, lexical part; declared in conf_lex.h.
 *
 * Owns nothing; rewrites the caller's text in place, always to something not longer.  Blank lines,
 * comments and lines that a command skips cost one memchr each: commands stay fast on big files. */
#include "conf/lex/conf_lex.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static char *skip_blanks(char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

void conf_lex_init(struct conf_lex *lx, char *text, size_t len)
{
    static const char bom[] = "\xef\xbb\xbf";

    *lx = (struct conf_lex){ .pos = text, .end = text + len, .line = 1 };
    if (len >= sizeof(bom) - 1 && memcmp(text, bom, sizeof(bom) - 1) == 0)
        lx->pos += sizeof(bom) - 1;
}

static char *line_end(const struct conf_lex *lx, char *from)
{
    char *nl = memchr(from, '\n', (size_t)(lx->end - from));

    return nl ? nl : lx->end;
}

/* Leave blank lines and comment lines behind; false at the end. */
static bool find_line(struct conf_lex *lx)
{
    for (;;) {
        char *p = skip_blanks(lx->pos);

        if (p >= lx->end)
            return false;
        if (*p == '#')
            p = line_end(lx, p);
        else if (*p != '\n') {
            lx->pos = p;
            return true;
        }
        if (p >= lx->end)
            return false;
        lx->pos = p + 1;
        lx->line++;
    }
}

/* Walks over a line to tell whether its end lies in a comment; kept while lines are joined. */
struct scan {
    char *at;
    char before; /* last character that is not blank */
    bool quoted, comment;
};

static void scan_to(struct scan *s, const char *end)
{
    for (; s->at < end && !s->comment; s->at++) {
        char c = *s->at;

        if (c == '\\' && s->at + 1 < end && s->at[1] == '#')
            s->at++;
        else if (c == '"' && s->quoted)
            s->quoted = false;
        else if (c == '"' && s->before == '=')
            s->quoted = true;
        else if (c == '#' && !s->quoted)
            s->comment = true;
        if (!is_blank(c))
            s->before = c;
    }
}

/* The backslash that continues the line [from, end), or NULL. */
static char *find_continuation(char *from, char *end)
{
    char *p = end;
    size_t count = 0;

    while (p > from && is_blank(p[-1]))
        p--;
    for (char *q = p; q > from && q[-1] == '\\'; q--)
        count++;
    return count % 2 == 1 ? p - 1 : NULL;
}

bool conf_lex_line(struct conf_lex *lx, char **ret_text, unsigned *ret_line)
{
    struct scan scan = { 0 };
    char *text, *out, *end;

    if (!find_line(lx))
        return false;
    text = lx->pos;
    *ret_line = lx->line;
    scan.at = text;
    out = end = line_end(lx, text);
    for (;;) {
        char *slash = find_continuation(text, out), *next;

        lx->pos = end < lx->end ? end + 1 : end;
        lx->line += end < lx->end;
        if (slash)
            scan_to(&scan, slash);
        if (!slash || scan.comment || end >= lx->end)
            break;
        next = end + 1;
        end = line_end(lx, next);
        memmove(slash, next, (size_t)(end - next));
        out = slash + (end - next);
    }
    *out = '\0';
    *ret_text = text;
    return true;
}

bool conf_lex_peek(struct conf_lex *lx, const char *const *words, size_t n)
{
    if (!find_line(lx))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *w = words[i];
        char *p = lx->pos;

        while (*w && (*p | 0x20) == *w) {
            w++;
            p++;
        }
        if (*w == '\0' && *skip_blanks(p) == '=')
            return true;
    }
    return false;
}

void conf_lex_skip(struct conf_lex *lx)
{
    struct scan scan = { .at = lx->pos };

    for (char *from = lx->pos; from < lx->end;) {
        char *end = line_end(lx, from), *slash = find_continuation(from, end);

        lx->pos = end < lx->end ? end + 1 : end;
        lx->line += end < lx->end;
        if (!slash)
            return;
        scan_to(&scan, slash);
        if (scan.comment)
            return;
        scan.at = from = lx->pos;
    }
}

static int take_quoted(char *open, char **ret_end, char **ret_value, struct err *err)
{
    char *out = open + 1, *p = open + 1;

    for (; *p != '"'; p++) {
        if (*p == '\0')
            return err_set(err, -EINVAL, "a quote is not closed: %.40s", open);
        if (p[0] == '\\' && p[1] == '#')
            p++;
        *out++ = *p;
    }
    if (p[1] && !is_blank(p[1]) && p[1] != '#')
        return err_set(err, -EINVAL, "text follows a closing quote: %.40s", p + 1);
    *ret_value = open + 1;
    *ret_end = p + 1;
    *out = '\0';
    return 0;
}

/* A value without quotes.  Terminates it; *ret_end is where reading goes on. */
static void take_plain(char *value, char **ret_end)
{
    char *out = value, *p = value;
    char stop;

    for (; *p && !is_blank(*p) && *p != '#'; p++) {
        if (p[0] == '\\' && p[1] == '#')
            p++;
        *out++ = *p;
    }
    stop = *p;
    *ret_end = stop == '\0' || stop == '#' ? p : p + 1;
    if (stop == '#') {
        p[0] = '\0'; /* the comment ends the line */
        *ret_end = p;
    }
    *out = '\0';
}

int conf_lex_pair(char **cursor, char **ret_key, char **ret_value, struct err *err)
{
    char *key = skip_blanks(*cursor), *p = key, *end = key, *key_end, *value;
    int r;

    if (*key == '\0' || *key == '#')
        return 0;
    while (isalnum((unsigned char)*p) || *p == '_' || *p == '.')
        p++;
    key_end = p;
    p = skip_blanks(p);
    if (p == key || *p != '=') {
        size_t len = strcspn(key, " \t\r=#");

        return err_set(err, -EINVAL, "expected Key=Value at \"%.*s\"",
                       (int)(len == 0 ? 1 : MIN(len, 40)), key);
    }
    value = skip_blanks(p + 1);
    *key_end = '\0';
    if (*value == '"') {
        r = take_quoted(value, &end, &value, err);
        if (r < 0)
            return r;
    } else if (*value == '\0' || *value == '#') {
        return err_set(err, -EINVAL, "key %.64s has no value", key);
    } else {
        take_plain(value, &end);
    }
    *cursor = end;
    *ret_key = key;
    *ret_value = value;
    return 1;
}
