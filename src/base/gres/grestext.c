/* grestext.c - see grestext.h */
#include "base/gres/grestext.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#define NO_CONSUME "no_consume"

static bool is_count(const char *text, uint64_t *ret)
{
    return isdigit((unsigned char)*text) && size_count_parse(text, ret, NULL) == 0;
}

static bool is_clean(const char *word)
{
    for (; *word; word++)
        if ((unsigned char)*word < ' ' || *word == 0x7f)
            return false;
    return true;
}

static char *last_separator(char *text)
{
    char *last = NULL;

    for (char *p = text; (p = strpbrk(p, ":=")); p++)
        last = p;
    return last;
}

/* "a100:no_consume" or "no_consume" */
static void take_flag(struct gres_text *g)
{
    size_t len = g->type ? strlen(g->type) : 0, flag = strlen(NO_CONSUME);

    if (len < flag || strcmp(g->type + len - flag, NO_CONSUME) != 0)
        return;
    if (len > flag && g->type[len - flag - 1] != ':')
        return;
    g->no_consume = true;
    if (len == flag)
        g->type = NULL;
    else
        g->type[len - flag - 1] = '\0';
}

bool gres_shares_gpu(const char *name)
{
    return strcmp(name, "shard") == 0 || strcmp(name, "mps") == 0;
}

bool gres_text_parse(char *word, struct gres_text *ret)
{
    char *rest, *last;

    *ret = (struct gres_text){ .name = word, .count = 1 };
    if (!is_clean(word))
        return false;
    word[strcspn(word, "(")] = '\0'; /* the sockets of a node's devices */
    if (strncmp(word, "gres/", 5) == 0)
        ret->name = word + 5;
    rest = strpbrk(ret->name, ":=");
    if (rest)
        *rest++ = '\0';
    if (!*ret->name || strchr(ret->name, '/') || (rest && !*rest))
        return false;
    if (!rest || is_count(rest, &ret->count))
        return true;
    ret->type = rest;
    last = last_separator(rest);
    if (last && is_count(last + 1, &ret->count))
        *last = '\0';
    take_flag(ret);
    return true;
}

uint64_t gres_text_count(const char *list, const char *name, const char *type, bool *ret_any)
{
    _cleanup_free_ char *copy = list ? strdup(list) : NULL;
    struct {
        const char *type;
        uint64_t count;
    } seen[16];
    char *save = NULL;
    uint64_t sum = 0;
    size_t n = 0;
    bool any = false;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text g;
        size_t i = 0;

        if (!gres_text_parse(w, &g) || strcmp(g.name, name) != 0 ||
            (type && (!g.type || strcmp(g.type, type) != 0)))
            continue;
        any = true;
        while (i < n && strcmp(seen[i].type, g.type ? g.type : "") != 0)
            i++;
        if (i == n && n == ARRAY_SIZE(seen))
            continue;
        seen[i].type = g.type ? g.type : "";
        seen[i].count = g.count;
        n += i == n;
    }
    for (size_t i = 0; i < n; i++)
        sum += seen[i].count;
    if (ret_any)
        *ret_any = any;
    return sum;
}

static size_t place_of(const char *types, const char *entry)
{
    size_t name = strcspn(entry, ":,("), place = 0;

    for (const char *p = types ? types : ""; *p; p += strspn(p, ", "), place++) {
        size_t len = strcspn(p, ", ");

        if (len == name && strncmp(p, entry, len) == 0)
            return place;
        p += len;
    }
    return SIZE_MAX;
}

static void add_place(struct strbuf *sb, const char *list, const char *types, size_t place)
{
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, ",");

        if (len && place_of(types, p) == place)
            strbuf_addf(sb, "%s%.*s", sb->len ? "," : "", (int)len, p);
        p += len + (p[len] == ',');
    }
}

char *gres_text_order(const char *list, const char *types)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;
    size_t place = 0;

    for (const char *p = types ? types : ""; *p; p += strspn(p, ", "), place++) {
        add_place(&sb, list, types, place);
        p += strcspn(p, ", ");
    }
    add_place(&sb, list, types, SIZE_MAX);
    return strbuf_detach(&sb, &text) < 0 ? NULL : text;
}
