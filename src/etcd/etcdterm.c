/* etcdterm.c - see etcdterm.h */
#include "etcd/etcdterm.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "etcd/etcdkeys.h"
#include "etcd/etcdkv.h"

#define HOLDER_DIGITS 8u

struct etcdterm {
    struct etcd *etcd;
    struct err why;
    atomic_uint newest; /* that is known of; any thread */
};

int etcdterm_new(const struct etcd_config *config, unsigned try_ms, struct etcdterm **ret,
                 struct err *err)
{
    struct etcdterm *t = calloc(1, sizeof(*t));
    int r = t ? etcd_new(config, try_ms, &t->etcd, err) : err_nomem(err);

    if (r < 0) {
        free(t);
        return r;
    }
    *ret = t;
    return 0;
}

struct etcdterm *etcdterm_free(struct etcdterm *t)
{
    if (t) {
        (void)etcd_free(t->etcd); /* always NULL */
        free(t);
    }
    return NULL;
}

const char *etcdterm_why(const struct etcdterm *t)
{
    return t->why.text;
}

static void note_newest(struct etcdterm *t, uint32_t term)
{
    if (term > atomic_load(&t->newest)) /* one thread at a time writes */
        atomic_store(&t->newest, term);
}

/* 1 with the record as it stands, 0: there is none. */
static int read_record(struct etcdterm *t, struct term_record *ret)
{
    struct etcd_kv kv;
    int r = etcd_get(t->etcd, "term", &kv, &t->why);

    if (r <= 0)
        return r;
    r = kv.len == TERM_BYTES ? term_decode(kv.value, ret) : -EBADMSG;
    free(kv.value);
    return r < 0 ? r : 1;
}

/* The term's number alone, of a record that cannot be read. */
static uint32_t read_holder(struct etcdterm *t)
{
    char text[HOLDER_DIGITS + 1] = "";
    struct etcd_kv kv;

    if (etcd_get(t->etcd, "holder", &kv, &t->why) <= 0)
        return 0;
    memcpy(text, kv.value, MIN(kv.len, (size_t)HOLDER_DIGITS));
    free(kv.value);
    return (uint32_t)strtoul(text, NULL, 16);
}

static int store_newest(void *ctx, struct term_record *ret)
{
    struct etcdterm *t = ctx;
    int r;

    t->why.text[0] = '\0';
    *ret = (struct term_record){ .term = 0 };
    r = read_record(t, ret);
    if (r == 0)
        return -ENOENT;
    if (r == -EBADMSG || r == -EPROTONOSUPPORT) {
        *ret = (struct term_record){ .term = read_holder(t) };
        return ret->term ? r : -EHOSTUNREACH;
    }
    if (r < 0)
        return -EHOSTUNREACH;
    note_newest(t, ret->term);
    return 0;
}

/* Of a log that begins. */
static int put_id(struct etcdterm *t)
{
    char text[17];
    uint64_t id;

    if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
        return -EIO;
    (void)snprintf(text, sizeof(text), "%016" PRIx64, id); /* fits */
    etcd_if_absent(t->etcd, "holder");
    etcd_put(t->etcd, "id", text, 16);
    return 0;
}

static int store_claim(void *ctx, const struct term_record *rec)
{
    struct etcdterm *t = ctx;
    char before[HOLDER_DIGITS + 1], ours[HOLDER_DIGITS + 1];
    uint8_t bytes[TERM_BYTES], found[TERM_BYTES];
    struct term_record now;
    int r = 0;

    t->why.text[0] = '\0';
    term_encode(rec, bytes);
    etcd_holder_text(rec->term - 1, before);
    etcd_holder_text(rec->term, ours);
    if (rec->term == 1)
        r = put_id(t);
    else
        etcd_if_value(t->etcd, "holder", before, HOLDER_DIGITS);
    etcd_put(t->etcd, "holder", ours, HOLDER_DIGITS);
    etcd_put(t->etcd, "term", bytes, sizeof(bytes));
    if (r == 0)
        r = etcd_txn(t->etcd, NULL, &t->why);
    if (r == 0 && read_record(t, &now) == 1) { /* an answer may have been lost: is it done? */
        term_encode(&now, found);
        r = memcmp(found, bytes, sizeof(bytes)) == 0;
    }
    if (r == 1)
        note_newest(t, rec->term);
    return r == 1 ? 0 : r == 0 ? -EEXIST : -EHOSTUNREACH;
}

static int store_renew(void *ctx, const struct term_record *rec)
{
    struct etcdterm *t = ctx;
    char ours[HOLDER_DIGITS + 1];
    uint8_t bytes[TERM_BYTES];
    int r;

    t->why.text[0] = '\0';
    term_encode(rec, bytes);
    etcd_holder_text(rec->term, ours);
    etcd_if_value(t->etcd, "holder", ours, HOLDER_DIGITS);
    etcd_put(t->etcd, "term", bytes, sizeof(bytes));
    r = etcd_txn(t->etcd, NULL, &t->why);
    if (r == 0)
        note_newest(t, rec->term + 1);
    if (r < 0)
        log_limited(LOG_ERROR, "term %u: %s", rec->term, t->why.text);
    return r == 1 ? 0 : r == 0 ? -EOWNERDEAD : -EHOSTUNREACH;
}

static bool store_is_over(void *ctx, uint32_t term)
{
    const struct etcdterm *t = ctx;

    return atomic_load(&t->newest) > term;
}

static void store_forget(void *ctx, uint32_t newest)
{
    (void)ctx; /* there is one record, the newest */
    (void)newest;
}

struct term_store etcdterm_store(struct etcdterm *t)
{
    return (struct term_store){ store_newest,  store_claim,  store_renew,
                                store_is_over, store_forget, t };
}
