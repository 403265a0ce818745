/* cliques.c - see cliques.h */
#include "topograph/read/cliques.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 1024u

/* Without blanks at both ends; the text is changed. */
static char *trim_text(char *text)
{
    size_t len;

    text += strspn(text, " \t");
    len = strlen(text);
    while (len && strchr(" \t\r", text[len - 1]))
        text[--len] = '\0';
    return text;
}

static bool is_value(const char *text)
{
    return *text && strcmp(text, "N/A") != 0 && strcmp(text, "[N/A]") != 0;
}

static int put_clique(const char *node, const char *uuid, const char *clique,
                      const struct graph_wanted *wanted, struct graph *g, struct err *err)
{
    const char *id = graph_wanted_id(wanted, node);
    char domain[LINE_MAX_BYTES + 8];
    uint32_t i;
    int r;

    if (!id)
        return 0;
    r = graph_add_node(g, id, node, &i, err);
    if (r < 0 || !is_value(uuid) || !is_value(clique))
        return r;
    (void)snprintf(domain, sizeof(domain), "%s.%s", uuid, clique); /* of one line: it fits */
    return graph_set_domain(g, i, domain, NULL, err);
}

static int read_line(char *line, const struct graph_wanted *wanted, struct graph *g,
                     struct err *err)
{
    char *colon, *comma;

    line = trim_text(line);
    if (!*line || *line == '#')
        return 0;
    colon = strchr(line, ':');
    comma = colon ? strchr(colon, ',') : NULL;
    if (!colon || !comma)
        return err_set(err, -EINVAL, "%.64s is not NODE: UUID, CLIQUE", line);
    *colon = *comma = '\0';
    return put_clique(trim_text(line), trim_text(colon + 1), trim_text(comma + 1), wanted, g, err);
}

int cliques_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
                 struct err *err)
{
    unsigned number = 0;
    int r = 0;

    for (const char *at = text, *end = text + len; r == 0 && at < end;) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((eol ? eol : end) - at);
        char line[LINE_MAX_BYTES];

        number++;
        if (n >= sizeof(line) || memchr(at, '\0', n))
            return err_set(err, -EINVAL, "line %u: a line has at most %u bytes, and no NUL", number,
                           LINE_MAX_BYTES - 1);
        memcpy(line, at, n);
        line[n] = '\0';
        r = read_line(line, wanted, g, err);
        if (r < 0)
            err_prefix(err, "line %u", number);
        at += n + (eol != NULL);
    }
    return r;
}
