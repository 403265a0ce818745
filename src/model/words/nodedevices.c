/* nodedevices.c - see nodedevices.h.  Without memory: as slurm.conf says it. */
#include "model/words/nodedevices.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/gres/grestext.h"

char *nodedevices_gpu_type(const char *gres)
{
    _cleanup_free_ char *copy = gres ? strdup(gres) : NULL;
    char *save = NULL;
    const char *type = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text g;

        if (!gres_text_parse(w, &g) || strcmp(g.name, "gpu") != 0)
            continue;
        if (!g.type || (type && strcmp(type, g.type) != 0))
            return NULL;
        type = g.type;
    }
    return type ? strdup(type) : NULL;
}

/* The sockets of the cores that gres.conf names for these devices: "0-1"; NULL: it names none. */
static char *sockets_of(const Pst__NodeRecord *n, const char *name, const char *type)
{
    uint32_t cores = n->cores_per_socket ? n->cores_per_socket : 1;
    _cleanup_(bitmap_free) struct bitmap *near = NULL, *sockets = NULL;
    char *text = NULL;

    if (bitmap_new(n->cpus + 1, &near) < 0 || bitmap_new(n->cpus + 1, &sockets) < 0)
        return NULL;
    for (size_t i = 0; i < n->n_gres_topo; i++) {
        const Pst__GresTopo *t = n->gres_topo[i];

        if (!t->name || !t->cores || strcmp(t->name, name) != 0 ||
            (type && t->type && strcmp(t->type, type) != 0))
            continue;
        bitmap_zero(near);
        if (bitmap_parse(near, t->cores, NULL) < 0)
            continue;
        BITMAP_FOREACH (near, core)
            bitmap_set(sockets, core / cores);
    }
    return bitmap_empty(sockets) || bitmap_format(sockets, &text) < 0 ? NULL : text;
}

static void put_word(struct strbuf *sb, const Pst__NodeRecord *n, const char *word, size_t len,
                     const char *gpu_type)
{
    _cleanup_free_ char *copy = strndup(word, len), *sockets = NULL;
    size_t bare = strcspn(word, "(");
    struct gres_text g;

    bare = bare < len ? bare : len;
    strbuf_add(sb, sb->len ? "," : "");
    if (!copy || !gres_text_parse(copy, &g)) {
        strbuf_addf(sb, "%.*s", (int)len, word);
        return;
    }
    if (gres_shares_gpu(g.name) && !g.type && gpu_type)
        strbuf_addf(sb, "%s:%s:%llu", g.name, gpu_type, (unsigned long long)g.count);
    else
        strbuf_addf(sb, "%.*s", (int)bare, word);
    sockets = gres_shares_gpu(g.name) ? sockets_of(n, "gpu", NULL) : sockets_of(n, g.name, g.type);
    if (sockets)
        strbuf_addf(sb, "(S:%s)", sockets);
    else
        strbuf_addf(sb, "%.*s", (int)(len - bare), word + bare);
}

void nodedevices_put(struct strbuf *sb, const Pst__NodeRecord *n)
{
    _cleanup_free_ char *type = nodedevices_gpu_type(n->gres);
    struct strbuf own = STRBUF_INIT;

    if (n->gres_shown) {
        strbuf_add(sb, n->gres_shown);
        return;
    }
    for (const char *p = n->gres; p && *p; p += *p == ',') {
        size_t len = strcspn(p, ",");

        put_word(&own, n, p, len, type);
        p += len;
    }
    strbuf_add(sb, own.len ? strbuf_str(&own) : "");
    strbuf_done(&own);
}
