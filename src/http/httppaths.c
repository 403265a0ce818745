/* httppaths.c - tables of paths: which row, and the pages that list them; pure */
#include "http/httppaths.h"

#include <string.h>

#define METHOD_MAX 32u
#define PATH_MAX_SHOWN 1024u

const struct http_path *httppaths_find(const struct http_path *paths, const char *path)
{
    for (const struct http_path *p = paths; p->path; p++)
        if (strcmp(p->path, path) == 0)
            return p;
    return NULL;
}

void httppaths_list(const struct http_path *paths, const struct http_path *index, const char *name,
                    struct strbuf *body)
{
    strbuf_addf(body, "%s %s:\n", name, index->title);
    for (const struct http_path *p = paths; p->path; p++)
        if (p->listed && strcmp(p->listed, index->path) == 0)
            strbuf_addf(body, "  '%s': %s\n", p->shown ? p->shown : p->path, p->words);
}

static void add_printable(struct strbuf *body, const char *text, size_t most)
{
    for (size_t i = 0; text[i] && i < most; i++)
        strbuf_addc(body, text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?');
}

void httppaths_refuse(const char *name, const char *method, const char *path, const char *reason,
                      struct strbuf *body)
{
    strbuf_addf(body, "%s HTTP server request for '", name);
    add_printable(body, method, METHOD_MAX);
    strbuf_addc(body, ' ');
    add_printable(body, path, PATH_MAX_SHOWN);
    strbuf_addf(body, "':\nFailed: %s\n", reason);
}
