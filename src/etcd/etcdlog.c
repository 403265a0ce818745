/* etcdlog.c - see etcdlog.h
 *
 * Two clients: the journal's writer and the thread that writes a snapshot do not wait for each
 * other.  Invariant: everything up to `appended` is in etcd, in this term or one before. */
#include "etcd/etcdlog.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "etcd/etcdkeys.h"
#include "etcd/etcdkv.h"
#include "journal/format.h"
#include "journal/lebytes.h"

struct etcdlog {
    struct etcd *writer, *snapshots;
    struct journal_remote remote;
    char holder[9];
    bool compacts;
    uint64_t appended; /* the writer's */
    uint8_t *chunk;    /* the writer's, ETCD_VALUE_MAX bytes */
    atomic_uint_fast64_t chunks, errors, snapshot_lsn, snapshot_bytes, log_bytes;
};

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Is the value of the key, which is there, the one that we wanted to put?  Then an answer of etcd
 * was lost.  Else somebody else's term has begun. */
static int judge_refusal(struct etcdlog *l, const char *key, const uint8_t *value, size_t n,
                         struct err *err)
{
    struct etcd_kv kv;
    bool same;
    int r = etcd_get(l->writer, key, &kv, err);

    if (r < 0)
        return r;
    if (r == 0)
        return err_set(err, -EOWNERDEAD, "etcd: the term is over");
    same = kv.len == n && memcmp(kv.value, value, n) == 0;
    free(kv.value);
    return same ? 0 : err_set(err, -EOWNERDEAD, "etcd: %s is another controller's", key);
}

static int put_chunk(struct etcdlog *l, uint64_t lsn, const uint8_t *value, size_t n,
                     struct err *err)
{
    char key[ETCD_NAME_BYTES];
    int r;

    etcd_log_key(lsn, key);
    etcd_if_value(l->writer, "holder", l->holder, 8);
    etcd_if_absent(l->writer, key);
    etcd_put(l->writer, key, value, n);
    r = etcd_txn(l->writer, NULL, err);
    if (r == 0)
        r = judge_refusal(l, key, value, n, err);
    if (r < 0)
        return r;
    atomic_fetch_add(&l->chunks, 1);
    atomic_fetch_add(&l->log_bytes, n);
    return 0;
}

/* One part of something longer than a request; what a former try left is written over. */
static int put_part(struct etcd *e, const char *holder, const char *key, const uint8_t *data,
                    size_t n, struct err *err)
{
    int r;

    etcd_if_value(e, "holder", holder, 8);
    etcd_put(e, key, data, n);
    r = etcd_txn(e, NULL, err);
    return r == 0 ? err_set(err, -EOWNERDEAD, "etcd: the term is over") : MIN(r, 0);
}

/* A record that is longer than a chunk: its parts first, then the chunk that makes them count. */
static int put_big(struct etcdlog *l, uint64_t lsn, const uint8_t *data, size_t len,
                   struct err *err)
{
    uint32_t parts = (uint32_t)((len + ETCD_VALUE_MAX - 1) / ETCD_VALUE_MAX);
    char key[ETCD_NAME_BYTES];
    uint8_t head[ETCD_CHUNK_HEAD];
    int r = 0;

    for (uint32_t i = 0; i < parts && r == 0; i++) {
        size_t at = (size_t)i * ETCD_VALUE_MAX;

        etcd_part_key("big", lsn, i, key);
        r = put_part(l->writer, l->holder, key, data + at, MIN(len - at, (size_t)ETCD_VALUE_MAX),
                     err);
    }
    put_u32(head, ETCD_CHUNK_MAGIC);
    put_u32(head + 4, parts);
    return r < 0 ? r : put_chunk(l, lsn, head, sizeof(head), err);
}

/* How many whole records fit a chunk, in bytes; 0: not even the first. */
static size_t fit_records(const uint8_t *data, size_t len, uint64_t *ret_records)
{
    size_t fit = 0;

    *ret_records = 0;
    while (fit < len) {
        struct record_header h;
        size_t n;

        if (!record_header_decode(data + fit, &h))
            break; /* the caller's own bytes: cannot be */
        n = record_bytes(h.len);
        if (fit + n > ETCD_VALUE_MAX - ETCD_CHUNK_HEAD)
            break;
        fit += n;
        ++*ret_records;
    }
    return fit;
}

/* The first records of data, as many as one chunk takes. */
static int put_some(struct etcdlog *l, uint64_t lsn, const uint8_t *data, size_t len,
                    size_t *ret_taken, uint64_t *ret_records, struct err *err)
{
    struct record_header h;

    *ret_taken = fit_records(data, len, ret_records);
    if (*ret_taken) {
        if (lsn + *ret_records - 1 <= l->appended)
            return 0;
        put_u32(l->chunk, ETCD_CHUNK_MAGIC);
        put_u32(l->chunk + 4, 0);
        memcpy(l->chunk + ETCD_CHUNK_HEAD, data, *ret_taken);
        return put_chunk(l, lsn, l->chunk, ETCD_CHUNK_HEAD + *ret_taken, err);
    }
    if (!record_header_decode(data, &h))
        return err_set(err, -EINVAL, "etcd: no record");
    *ret_taken = record_bytes(h.len);
    *ret_records = 1;
    return lsn <= l->appended ? 0 : put_big(l, lsn, data, *ret_taken, err);
}

static int append_batch(void *ctx, uint64_t first_lsn, const uint8_t *data, size_t len)
{
    struct etcdlog *l = ctx;
    struct err err = { .text = "" };
    uint64_t lsn = first_lsn;
    int r = 0;

    for (size_t at = 0; at < len && r == 0;) {
        uint64_t records = 0;
        size_t taken = 0;

        r = put_some(l, lsn, data + at, len - at, &taken, &records, &err);
        if (r < 0)
            break;
        at += taken;
        lsn += records;
        l->appended = MAX(l->appended, lsn - 1);
    }
    if (r < 0) {
        atomic_fetch_add(&l->errors, 1);
        log_limited(LOG_ERROR, "journal: %s", err.text);
    }
    return r;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static int send_file(struct etcdlog *l, uint64_t lsn, int fd, uint32_t *ret_parts,
                     uint64_t *ret_bytes, struct err *err)
{
    _cleanup_free_ uint8_t *buf = malloc(ETCD_VALUE_MAX);
    uint64_t bytes = 0;
    uint32_t part = 0;

    if (!buf)
        return err_nomem(err);
    for (;;) {
        char key[ETCD_NAME_BYTES];
        ssize_t n = pread(fd, buf, ETCD_VALUE_MAX, (off_t)bytes);
        int r;

        if (n < 0)
            return err_set(err, -errno, "the snapshot cannot be read: %s", strerrordesc_np(errno));
        if (n == 0)
            break;
        if (part == ETCD_PARTS_MAX)
            return err_set(err, -EFBIG, "the snapshot is too long for etcd");
        etcd_part_key("snap", lsn, part++, key);
        r = put_part(l->snapshots, l->holder, key, buf, (size_t)n, err);
        if (r < 0)
            return r;
        bytes += (uint64_t)n;
    }
    *ret_parts = part;
    *ret_bytes = bytes;
    return 0;
}

/* The chunk that holds record `need`, or the last one before it: everything before goes. */
static int find_cut(struct etcdlog *l, uint64_t need, char key[static ETCD_NAME_BYTES],
                    struct err *err)
{
    _cleanup_val_(etcd_kvs_done) struct etcd_kvs kvs = { 0 };
    char to[ETCD_NAME_BYTES];
    struct etcd_range range = {
        .from = "log/", .to = to, .limit = 1, .keys_only = true, .descending = true
    };
    int r;

    etcd_log_key(need == UINT64_MAX ? need : need + 1, to);
    r = etcd_range(l->snapshots, &range, &kvs, err);
    (void)snprintf(key, ETCD_NAME_BYTES, "%.40s", r == 0 && kvs.n ? kvs.v[0].key : "log/");
    return r;
}

/* Make the snapshot count, and let go what it replaces. */
static int publish_snapshot(struct etcdlog *l, uint64_t lsn, uint32_t parts, uint64_t bytes,
                            uint64_t need, struct err *err)
{
    char text[64], first[ETCD_NAME_BYTES], cut[ETCD_NAME_BYTES], big[ETCD_NAME_BYTES];
    int64_t revision = 0;
    int r = find_cut(l, need, cut, err);

    if (r < 0)
        return r;
    (void)snprintf(text, sizeof(text), "%016" PRIx64 " %" PRIu32 " %" PRIu64, lsn, parts, bytes);
    etcd_part_key("snap", lsn, 0, first);
    (void)snprintf(big, sizeof(big), "big/%.40s", cut + 4);
    etcd_if_value(l->snapshots, "holder", l->holder, 8);
    etcd_put(l->snapshots, "snapshot", text, strlen(text));
    etcd_delete(l->snapshots, "snap/", first);
    if (cut[4]) {
        etcd_delete(l->snapshots, "log/", cut);
        etcd_delete(l->snapshots, "big/", big);
    }
    r = etcd_txn(l->snapshots, &revision, err);
    if (r <= 0)
        return r < 0 ? r : err_set(err, -EOWNERDEAD, "etcd: the term is over");
    if (l->compacts && etcd_compact(l->snapshots, revision, err) < 0)
        log_limited(LOG_ERROR, "etcd keeps its history: %s", err->text);
    return 0;
}

static int keep_snapshot(void *ctx, uint64_t lsn, int fd, uint64_t keep_lsn)
{
    struct etcdlog *l = ctx;
    struct err err = { .text = "" };
    uint64_t bytes = 0, before = atomic_load(&l->log_bytes);
    uint32_t parts = 0;
    int r = send_file(l, lsn, fd, &parts, &bytes, &err);

    if (r == 0)
        r = publish_snapshot(l, lsn, parts, bytes, MIN(lsn + 1, keep_lsn), &err);
    if (r < 0) {
        atomic_fetch_add(&l->errors, 1);
        log_error("snapshot: %s", err.text);
        return r;
    }
    atomic_store(&l->snapshot_lsn, lsn);
    atomic_store(&l->snapshot_bytes, bytes);
    atomic_fetch_sub(&l->log_bytes, before);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

int etcdlog_new(const struct etcd_config *config, uint32_t term, unsigned try_ms,
                struct etcdlog **ret, struct err *err)
{
    struct etcdlog *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return err_nomem(err);
    etcd_holder_text(term, l->holder);
    l->compacts = !config->no_compact;
    l->remote =
        (struct journal_remote){ .append = append_batch, .snapshot = keep_snapshot, .ctx = l };
    l->chunk = malloc(ETCD_VALUE_MAX);
    r = l->chunk ? etcd_new(config, try_ms, &l->writer, err) : err_nomem(err);
    if (r == 0)
        r = etcd_new(config, MAX(try_ms, 5000u), &l->snapshots, err);
    if (r < 0) {
        (void)etcdlog_free(l); /* always NULL */
        return r;
    }
    *ret = l;
    return 0;
}

struct etcdlog *etcdlog_free(struct etcdlog *l)
{
    if (!l)
        return NULL;
    (void)etcd_free(l->writer); /* these give NULL */
    (void)etcd_free(l->snapshots);
    free(l->chunk);
    free(l);
    return NULL;
}

int etcdlog_check_identity(struct etcdlog *l, const char *public_hex, struct err *err)
{
    size_t n = strlen(public_hex);
    struct etcd_kv kv;
    bool same;
    int r = etcd_get(l->writer, "identity", &kv, err);

    if (r == 0)
        return put_part(l->writer, l->holder, "identity", (const uint8_t *)public_hex, n, err);
    if (r < 0)
        return r;
    same = kv.len == n && memcmp(kv.value, public_hex, n) == 0;
    free(kv.value);
    return same ? 0
                : err_set(err, -EKEYREJECTED,
                          "slurmctld.key in StateSaveLocation (or JournalParameters=identity=) is "
                          "not that of the controllers before: copy it from one of them");
}

const struct journal_remote *etcdlog_remote(const struct etcdlog *l)
{
    return &l->remote;
}

void etcdlog_get_stats(const struct etcdlog *l, struct etcdlog_stats *ret)
{
    *ret = (struct etcdlog_stats){
        .chunks = atomic_load(&l->chunks),
        .errors = atomic_load(&l->errors),
        .snapshot_lsn = atomic_load(&l->snapshot_lsn),
        .snapshot_bytes = atomic_load(&l->snapshot_bytes),
        .log_bytes = atomic_load(&l->log_bytes),
    };
}
