/* etcdkv.c - see etcdkv.h
 *
 * Owns the bodies of requests.  The transport is etcdhttp.c. */
#include "etcd/etcdkv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "etcd/etcdhttp.h"

struct etcd {
    struct etcd_config config;
    struct etcd_http *http;
    struct strbuf conditions, changes, body;
};

int etcd_new(const struct etcd_config *config, unsigned try_ms, struct etcd **ret, struct err *err)
{
    struct etcd *e = calloc(1, sizeof(*e));
    int r;

    if (!e)
        return err_nomem(err);
    e->config = *config;
    r = etcd_http_new(&e->config, try_ms, &e->http, err);
    if (r < 0)
        return etcd_free(e) ? r : r;
    *ret = e;
    return 0;
}

struct etcd *etcd_free(struct etcd *e)
{
    if (!e)
        return NULL;
    (void)etcd_http_free(e->http); /* always NULL */
    strbuf_done(&e->conditions);
    strbuf_done(&e->changes);
    strbuf_done(&e->body);
    free(e);
    return NULL;
}

const char *etcd_prefix(const struct etcd *e)
{
    return e->config.prefix;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* ,"NAME":"base64 of the whole key" */
static void add_key(const struct etcd *e, struct strbuf *sb, const char *name, const char *key)
{
    char whole[ETCD_KEY_MAX];
    int n = snprintf(whole, sizeof(whole), "%s/%s", e->config.prefix, key);

    strbuf_addf(sb, "\"%s\":\"", name);
    etcd_add_base64(sb, whole, MIN((size_t)n, sizeof(whole) - 1)); /* our keys are short */
    strbuf_addc(sb, '"');
}

static void add_value(struct strbuf *sb, const void *value, size_t n)
{
    strbuf_add(sb, ",\"value\":\"");
    etcd_add_base64(sb, value, n);
    strbuf_addc(sb, '"');
}

static void begin_item(struct strbuf *list)
{
    if (list->len)
        strbuf_addc(list, ',');
    strbuf_addc(list, '{');
}

void etcd_if_value(struct etcd *e, const char *key, const void *value, size_t n)
{
    begin_item(&e->conditions);
    add_key(e, &e->conditions, "key", key);
    strbuf_add(&e->conditions, ",\"target\":\"VALUE\",\"result\":\"EQUAL\"");
    add_value(&e->conditions, value, n);
    strbuf_addc(&e->conditions, '}');
}

void etcd_if_absent(struct etcd *e, const char *key)
{
    begin_item(&e->conditions);
    add_key(e, &e->conditions, "key", key);
    strbuf_add(&e->conditions,
               ",\"target\":\"CREATE\",\"result\":\"EQUAL\",\"create_revision\":\"0\"}");
}

void etcd_put(struct etcd *e, const char *key, const void *value, size_t n)
{
    begin_item(&e->changes);
    strbuf_add(&e->changes, "\"request_put\":{");
    add_key(e, &e->changes, "key", key);
    add_value(&e->changes, value, n);
    strbuf_add(&e->changes, "}}");
}

void etcd_delete(struct etcd *e, const char *from, const char *to)
{
    begin_item(&e->changes);
    strbuf_add(&e->changes, "\"request_delete_range\":{");
    add_key(e, &e->changes, "key", from);
    strbuf_addc(&e->changes, ',');
    add_key(e, &e->changes, "range_end", to);
    strbuf_add(&e->changes, "}}");
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int call_gateway(struct etcd *e, const char *path, struct etcd_answer *ret, struct err *err)
{
    const char *text;
    size_t n;
    int r;

    *ret = (struct etcd_answer){ 0 };
    if (e->body.failed)
        return err_nomem(err);
    r = etcd_http_post(e->http, path, strbuf_str(&e->body), e->body.len, &text, &n, err);
    return r < 0 ? r : etcd_read_answer(text, n, ret, err);
}

int etcd_txn(struct etcd *e, int64_t *ret_revision, struct err *err)
{
    bool failed = e->conditions.failed || e->changes.failed;
    struct etcd_answer a;
    int r;

    strbuf_reset(&e->body);
    strbuf_addf(&e->body, "{\"compare\":[%s],\"success\":[", strbuf_str(&e->conditions));
    strbuf_addn(&e->body, strbuf_str(&e->changes), e->changes.len);
    strbuf_add(&e->body, "]}");
    strbuf_reset(&e->conditions);
    strbuf_reset(&e->changes);
    r = failed ? err_nomem(err) : call_gateway(e, "/v3/kv/txn", &a, err);
    if (r < 0)
        return r;
    r = a.succeeded;
    if (ret_revision)
        *ret_revision = a.revision;
    etcd_answer_done(&a);
    return r;
}

/* Take the prefix off; -EBADMSG: a key that was not asked for. */
static int strip_prefix(const struct etcd *e, struct etcd_kvs *kvs)
{
    size_t len = strlen(e->config.prefix);

    for (size_t i = 0; i < kvs->n; i++) {
        char *key = kvs->v[i].key;

        if (strncmp(key, e->config.prefix, len) != 0 || key[len] != '/')
            return -EBADMSG;
        memmove(key, key + len + 1, strlen(key + len + 1) + 1);
    }
    return 0;
}

int etcd_range(struct etcd *e, const struct etcd_range *range, struct etcd_kvs *ret,
               struct err *err)
{
    struct etcd_answer a;
    int r;

    *ret = (struct etcd_kvs){ 0 };
    strbuf_reset(&e->body);
    strbuf_addc(&e->body, '{');
    add_key(e, &e->body, "key", range->from);
    if (range->to) {
        strbuf_addc(&e->body, ',');
        add_key(e, &e->body, "range_end", range->to);
    }
    strbuf_addf(&e->body, ",\"limit\":\"%u\",\"sort_target\":\"KEY\",\"sort_order\":\"%s\"%s}",
                range->limit ? range->limit : ETCD_KVS_MAX,
                range->descending ? "DESCEND" : "ASCEND",
                range->keys_only ? ",\"keys_only\":true" : "");
    r = call_gateway(e, "/v3/kv/range", &a, err);
    if (r < 0)
        return r;
    if (strip_prefix(e, &a.kvs) < 0) {
        etcd_answer_done(&a);
        return err_set(err, -EBADMSG, "etcd answers with keys that were not asked for");
    }
    *ret = a.kvs;
    return 0;
}

int etcd_get(struct etcd *e, const char *key, struct etcd_kv *ret, struct err *err)
{
    _cleanup_val_(etcd_kvs_done) struct etcd_kvs kvs = { 0 };
    struct etcd_range range = { .from = key, .limit = 1 };
    int r = etcd_range(e, &range, &kvs, err);

    if (r < 0 || !kvs.n)
        return r;
    *ret = kvs.v[0];
    kvs.v[0].value = NULL; /* the caller's now */
    return 1;
}

int etcd_compact(struct etcd *e, int64_t revision, struct err *err)
{
    struct etcd_answer a;
    int r;

    strbuf_reset(&e->body);
    strbuf_addf(&e->body, "{\"revision\":\"%lld\"}", (long long)revision);
    r = call_gateway(e, "/v3/kv/compaction", &a, err);
    if (r == 0)
        etcd_answer_done(&a);
    return r;
}
