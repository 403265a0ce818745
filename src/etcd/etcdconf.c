/* etcdconf.c - see etcdconf.h */
#include "etcd/etcdconf.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Copy n bytes of text; -EINVAL: too long, or a character that no URL, path or key of ours has. */
static int copy_text(char out[static ETCD_TEXT_MAX], const char *text, size_t n)
{
    if (n >= ETCD_TEXT_MAX)
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            return -EINVAL;
    memcpy(out, text, n);
    while (n > 1 && out[n - 1] == '/')
        n--;
    out[n] = '\0';
    return 0;
}

static int add_endpoint(struct etcd_config *c, const char *url, size_t n, struct err *err)
{
    bool known =
        (n > 7 && strncmp(url, "http://", 7) == 0) || (n > 8 && strncmp(url, "https://", 8) == 0);

    if (c->n_endpoints == ETCD_ENDPOINTS_MAX)
        return err_set(err, -EINVAL, "JournalParameters: more than %u endpoints",
                       ETCD_ENDPOINTS_MAX);
    if (!known || copy_text(c->endpoints[c->n_endpoints], url, n) < 0)
        return err_set(err, -EINVAL,
                       "JournalParameters: endpoints=%.*s: an endpoint is http://HOST:PORT or "
                       "https://HOST:PORT",
                       (int)MIN(n, (size_t)128), url);
    c->n_endpoints++;
    return 0;
}

static int add_endpoints(struct etcd_config *c, const char *list, size_t n, struct err *err)
{
    int r = 0;

    while (n && r == 0) {
        const char *end = memchr(list, ';', n);
        size_t len = end ? (size_t)(end - list) : n;

        r = add_endpoint(c, list, len, err);
        n -= MIN(n, len + 1);
        list += len + (end != NULL);
    }
    return r;
}

static int take_word(struct etcd_config *c, const char *word, size_t n, struct err *err)
{
    const struct {
        const char *name;
        char *to;
    } texts[] = {
        { "prefix=", c->prefix },     { "cacert=", c->cacert },
        { "cert=", c->cert },         { "key=", c->key },
        { "user=", c->user },         { "passwordfile=", c->password_file },
        { "identity=", c->identity },
    };

    if (n > 10 && strncmp(word, "endpoints=", 10) == 0)
        return add_endpoints(c, word + 10, n - 10, err);
    if (n == 9 && strncmp(word, "nocompact", 9) == 0) {
        c->no_compact = true;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        size_t len = strlen(texts[i].name);

        if (n > len && strncmp(word, texts[i].name, len) == 0 &&
            copy_text(texts[i].to, word + len, n - len) == 0)
            return 0;
    }
    return err_set(err, -EINVAL,
                   "JournalParameters: %.*s: known are endpoints=URL;URL, prefix=, cacert=, cert=, "
                   "key=, user=, passwordfile=, identity= and nocompact",
                   (int)MIN(n, (size_t)128), word);
}

int etcd_config_parse(const char *text, const char *cluster, struct etcd_config *ret,
                      struct err *err)
{
    struct etcd_config c = { .n_endpoints = 0 };
    int r = 0;

    while (text && *text && r == 0) {
        size_t n = strcspn(text, ",");

        if (n)
            r = take_word(&c, text, n, err);
        text += n + (text[n] == ',');
    }
    if (r < 0)
        return r;
    if (!c.n_endpoints)
        return err_set(err, -EINVAL,
                       "JournalType=etcd needs JournalParameters=endpoints=http://HOST:2379");
    if (!c.cert[0] != !c.key[0])
        return err_set(err, -EINVAL, "JournalParameters: cert= and key= go together");
    if (!c.user[0] != !c.password_file[0])
        return err_set(err, -EINVAL, "JournalParameters: user= and passwordfile= go together");
    if (c.identity[0] && c.identity[0] != '/')
        return err_set(err, -EINVAL, "JournalParameters: identity=%s: a path from / on is wanted",
                       c.identity);
    if (!c.prefix[0])
        (void)snprintf(c.prefix, sizeof(c.prefix), "penstock/%.128s", cluster);
    *ret = c;
    return 0;
}
