/* multiprog.c - the map of srun --multi-prog: which program each rank runs; see step.h
 *
 * `ranks program args`, ranks as "0,2-3" or "*"; %t becomes the rank, %o its offset within the
 * line's ranks; single quotes keep text as it is; a backslash ends a line that goes on, elsewhere
 * what follows is kept as it is; # in column 1 comments.  Pure: text in, words out.  The text comes
 * from a user by way of srun: everything is bounded. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "stepd/step.h"

#define LINE_MAX_BYTES (256u * 1024u)
#define ARGS_MAX 4096u

char **multiprog_free(char **argv)
{
    for (char **p = argv; p && *p; p++)
        free(*p);
    free(argv);
    return NULL;
}
DEFINE_CLEANUP(char **, multiprog_free)

/* The next logical line into sb; false at the end. */
static bool next_line(const char **text, struct strbuf *sb)
{
    const char *p = *text;

    strbuf_reset(sb);
    if (!*p)
        return false;
    while (*p) {
        if (p[0] == '\\' && p[1] == '\n') {
            p += 2;
            continue;
        }
        if (p[0] == '\\' && p[1] && sb->len < LINE_MAX_BYTES) /* also of one that ends a line */
            strbuf_addc(sb, *p++);
        if (*p == '\n') {
            p++;
            break;
        }
        if (sb->len < LINE_MAX_BYTES)
            strbuf_addc(sb, *p);
        p++;
    }
    *text = p;
    return true;
}

/* The number at p, before end; gives back what follows, NULL when there is none of 32 bits.  Not
 * sscanf(3), which looks for the end of the whole list at every call. */
static const char *read_number(const char *p, const char *end, uint32_t *ret)
{
    const char *begin = p;
    uint64_t n = 0;

    for (; p < end && isdigit((unsigned char)*p) && n <= UINT32_MAX; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    if (p == begin || n > UINT32_MAX)
        return NULL;
    *ret = (uint32_t)n;
    return p;
}

/* Is rank in the list?  *ret_offset: its place in it.  -1: not a list. */
static int find_rank(const char *list, size_t len, uint32_t rank, uint32_t *ret_offset)
{
    const char *p = list, *end = list + len;
    uint32_t before = 0;

    if (len == 1 && *p == '*') {
        *ret_offset = rank;
        return 1;
    }
    while (p < end) {
        uint32_t lo, hi;

        p = read_number(p, end, &lo);
        hi = lo;
        if (p && p < end && *p == '-')
            p = read_number(p + 1, end, &hi);
        if (!p || hi < lo || (p < end && *p != ','))
            return -1;
        if (rank >= lo && rank <= hi) {
            *ret_offset = before + rank - lo;
            return 1;
        }
        before += hi - lo + 1;
        p++;
    }
    return 0;
}

/* One word with quotes and % taken care of; gives back where to go on, NULL when a quote stays
 * open. */
static const char *next_word(const char *p, uint32_t rank, uint32_t offset, struct strbuf *sb)
{
    bool quoted = false;

    strbuf_reset(sb);
    for (; *p && (quoted || !isspace((unsigned char)*p)); p++) {
        if (*p == '\'')
            quoted = !quoted;
        else if (!quoted && p[0] == '\\' && !p[1])
            continue;
        else if (!quoted && p[0] == '\\')
            strbuf_addc(sb, *++p);
        else if (!quoted && p[0] == '%' && p[1] == 't')
            strbuf_addf(sb, "%u", rank), p++;
        else if (!quoted && p[0] == '%' && p[1] == 'o')
            strbuf_addf(sb, "%u", offset), p++;
        else
            strbuf_addc(sb, *p);
    }
    return quoted ? NULL : p;
}

static int split_line(const char *p, uint32_t rank, uint32_t offset, char *const *extra,
                      size_t n_extra, char ***ret_argv)
{
    _cleanup_(multiprog_free) char **argv = calloc(ARGS_MAX + n_extra + 1, sizeof(*argv));
    _cleanup_val_(strbuf_done) struct strbuf word = STRBUF_INIT;
    size_t n = 0;

    if (!argv)
        return -ENOMEM;
    for (;;) {
        const char *blanks = p;

        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            break;
        for (; n > 0 && blanks + 1 < p; blanks++) { /* each blank more is an empty argument */
            if (n >= ARGS_MAX)
                return -EINVAL;
            argv[n] = strdup("");
            if (!argv[n++])
                return -ENOMEM;
        }
        p = next_word(p, rank, offset, &word);
        if (!p || n >= ARGS_MAX)
            return -EINVAL;
        argv[n] = strdup(strbuf_str(&word));
        if (!argv[n++])
            return -ENOMEM;
    }
    if (n == 0)
        return -ENOENT;
    for (size_t i = 0; i < n_extra; i++) {
        argv[n] = strdup(extra[i]);
        if (!argv[n++])
            return -ENOMEM;
    }
    *ret_argv = TAKE_PTR(argv);
    return 0;
}

int multiprog_argv(const char *map, uint32_t rank, char *const *extra, size_t n_extra,
                   char ***ret_argv)
{
    _cleanup_val_(strbuf_done) struct strbuf line = STRBUF_INIT;

    while (next_line(&map, &line)) {
        const char *p = strbuf_str(&line);
        size_t len;
        uint32_t offset;
        int r;

        if (*p == '#')
            continue;
        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            continue;
        len = strcspn(p, " \t\r\v\f");
        r = find_rank(p, len, rank, &offset);
        if (r < 0)
            return -EINVAL;
        if (r > 0)
            return split_line(p + len, rank, offset, extra, n_extra, ret_argv);
    }
    return -ENOENT;
}
