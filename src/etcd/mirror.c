/* mirror.c - see mirror.h: opening the copy, and the log chunk by chunk */
#include "etcd/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "etcd/chunk.h"
#include "etcd/etcdkeys.h"
#include "etcd/mirrorfiles.h"
#include "journal/files.h"
#include "journal/journal.h"

#define CHUNKS 8u                 /* of one request */
#define SEGMENT_BYTES (64u << 20) /* then a new file */
#define SNAPSHOT_TURNS 64u        /* between two looks for a newer snapshot */
#define ID_BYTES 16u

/* ---- opening --------------------------------------------------------------------------------- */

/* How far the copy goes; one that cannot be read is thrown away: etcd has it. */
static int find_last(struct mirror *m, struct err *err)
{
    struct journal_config config = { .dir = m->dir, .read_only = true };
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    struct journal *j = NULL;
    struct err why = { .text = "" };
    int r = journal_open(&config, NULL, NULL, &j, &why);

    if (r == 0)
        m->last = journal_last(j);
    (void)journal_close(j); /* always NULL */
    if (r == -EUCLEAN) {
        log_info("the copy of the log is made anew: %s", why.text);
        return mirror_wipe(m, err);
    }
    if (r == 0)
        r = file_list_read(m->dir_fd, &l);
    if (r < 0)
        return err_set(err, r, "%s", why.text[0] ? why.text : strerrordesc_np(-r));
    m->snapshot_lsn = l.snapshots.n ? l.snapshots.lsn[l.snapshots.n - 1] : 0;
    for (size_t i = 0; i < l.segments.n; i++)
        m->policy.term = MAX(m->policy.term, l.segments.term[i]);
    return 0;
}

int mirror_open(const char *dir, const struct etcd_config *config, unsigned try_ms,
                struct mirror **ret, struct err *err)
{
    struct mirror *m = calloc(1, sizeof(*m));
    int r;

    if (!m)
        return err_nomem(err);
    m->dir_fd = m->lock_fd = m->segment.fd = -1;
    m->policy = (struct segment_policy){ .term = 1, .unsynced = true };
    m->dir = strdup(dir);
    r = m->dir ? journal_dir_open(dir, true, &m->dir_fd, err) : err_nomem(err);
    m->policy.dir_fd = m->dir_fd;
    if (r == 0)
        r = journal_dir_lock(m->dir_fd, dir, &m->lock_fd, err);
    if (r == 0)
        r = find_last(m, err);
    if (r == 0)
        r = etcd_new(config, try_ms, &m->etcd, err);
    if (r < 0) {
        (void)mirror_close(m); /* always NULL */
        return r;
    }
    *ret = m;
    return 0;
}

struct mirror *mirror_close(struct mirror *m)
{
    if (!m)
        return NULL;
    (void)etcd_free(m->etcd); /* always NULL */
    segment_close(&m->segment);
    if (m->lock_fd >= 0)
        (void)close(m->lock_fd); /* releases the lock */
    if (m->dir_fd >= 0)
        (void)close(m->dir_fd); /* was only a handle */
    free(m->dir);
    free(m);
    return NULL;
}

uint64_t mirror_last(const struct mirror *m)
{
    return m->last;
}

/* ---- is it a copy of this log? --------------------------------------------------------------- */

static bool read_id(const struct mirror *m, char out[static ID_BYTES])
{
    _cleanup_close_ int fd = openat(m->dir_fd, JOURNAL_COPY_NAME, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && pread(fd, out, ID_BYTES, 0) == (ssize_t)ID_BYTES;
}

static int write_id(const struct mirror *m, const uint8_t *id, struct err *err)
{
    _cleanup_close_ int fd =
        openat(m->dir_fd, JOURNAL_COPY_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || pwrite(fd, id, ID_BYTES, 0) != (ssize_t)ID_BYTES || fsync(fd) < 0)
        return err_set(err, -EIO, "%s/%s/" JOURNAL_COPY_NAME " cannot be written", m->dir,
                       JOURNAL_SUBDIR);
    return 0;
}

/* 1: it is, or there was nothing yet; 0: etcd has no log yet. */
static int check_id(struct mirror *m, struct err *err)
{
    char ours[ID_BYTES];
    struct etcd_kv kv;
    int r = etcd_get(m->etcd, "id", &kv, err);

    if (r < 0)
        return r;
    if (r == 0)
        return !m->last ? 0
                        : err_set(err, -EEXIST,
                                  "%s/%s has a log and etcd has none below %s: move that folder "
                                  "away to begin a new one in etcd",
                                  m->dir, JOURNAL_SUBDIR, etcd_prefix(m->etcd));
    if (kv.len != ID_BYTES)
        r = err_set(err, -EUCLEAN, "etcd: %s/id is damaged", etcd_prefix(m->etcd));
    else if (m->last && (!read_id(m, ours) || memcmp(ours, kv.value, ID_BYTES) != 0))
        r = err_set(err, -EEXIST,
                    "%s/%s has another log than etcd below %s: move that folder away to go on with "
                    "etcd's",
                    m->dir, JOURNAL_SUBDIR, etcd_prefix(m->etcd));
    else
        r = m->last ? 1 : write_id(m, kv.value, err);
    free(kv.value);
    return r < 0 ? r : 1;
}

/* ---- where to go on -------------------------------------------------------------------------- */

/* The first record of the chunk that has the next one, or would: 0: there is none. */
static int find_chunk(struct mirror *m, uint64_t *ret, struct err *err)
{
    _cleanup_val_(etcd_kvs_done) struct etcd_kvs kvs = { 0 };
    char to[ETCD_NAME_BYTES];
    struct etcd_range range = {
        .from = "log/", .to = to, .limit = 1, .keys_only = true, .descending = true
    };
    int r;

    etcd_log_key(m->last + 2, to);
    r = etcd_range(m->etcd, &range, &kvs, err);
    *ret = r == 0 && kvs.n ? strtoull(kvs.v[0].key + 4, NULL, 16) : 0;
    return r;
}

/* From etcd's snapshot on; the log as far back as it goes, for those who follow it. */
static int start_anew(struct mirror *m, const struct mirror_far *far, struct err *err)
{
    int r = mirror_wipe(m, err);

    if (r == 0)
        r = mirror_fetch_snapshot(m, far, err);
    if (r < 0)
        return r;
    log_info("the log is taken from etcd's snapshot of record %" PRIu64, far->snapshot_lsn);
    m->last = far->first && far->first <= far->snapshot_lsn ? far->first - 1 : far->snapshot_lsn;
    m->from = m->last + 1;
    return mirror_roll(m, err);
}

static int begin_copy(struct mirror *m, struct err *err)
{
    struct mirror_far far;
    int r = check_id(m, err);

    if (r <= 0)
        return r;
    r = find_chunk(m, &m->from, err);
    if (r == 0)
        r = mirror_look(m, &far, err);
    if (r < 0)
        return r;
    if (!m->from && far.snapshot_lsn && m->last != far.snapshot_lsn && !far.first &&
        m->last > far.snapshot_lsn)
        return err_set(err, -EEXIST,
                       "%s/%s knows records up to %" PRIu64 " and etcd up to %" PRIu64
                       ": etcd went back; move that folder away to go on from there",
                       m->dir, JOURNAL_SUBDIR, m->last, far.snapshot_lsn);
    if (!m->from && far.snapshot_lsn && (m->last < far.snapshot_lsn || far.first))
        r = start_anew(m, &far, err);
    if (!m->from)
        m->from = m->last + 1;
    m->begun = r == 0;
    return r;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int fetch_big(struct mirror *m, struct chunk *c, struct err *err)
{
    for (uint32_t i = 0; i < c->parts; i++) {
        char key[ETCD_NAME_BYTES];
        struct etcd_kv kv;
        int r;

        etcd_part_key("big", c->first, i, key);
        r = etcd_get(m->etcd, key, &kv, err);
        if (r > 0) {
            r = chunk_add(c, kv.value, kv.len);
            free(kv.value);
        } else if (r == 0) {
            return err_set(err, -EAGAIN, "etcd: %s is gone", key);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int write_chunk(struct mirror *m, const struct chunk *c, struct err *err)
{
    uint64_t us;
    size_t skip = 0;
    int r = 0;

    if (c->first > m->last + 1) {
        m->begun = false; /* what is between was let go: from the snapshot on */
        return err_set(err, -EAGAIN, "etcd: record %" PRIu64 " is gone", m->last + 1);
    }
    if (c->last <= m->last)
        return 0;
    if (c->first <= m->last)
        skip = chunk_offset(c, m->last + 1);
    if (m->segment.fd < 0 || m->segment.suspect || m->segment.offset > SEGMENT_BYTES)
        r = mirror_roll(m, err);
    if (r == 0)
        r = segment_write(&m->segment, &m->policy, c->data + skip, c->len - skip, &us);
    if (r < 0)
        return err && err->text[0]
                   ? r
                   : err_set(err, r, "%s/%s: %s", m->dir, JOURNAL_SUBDIR, strerrordesc_np(-r));
    m->last = c->last;
    return 0;
}

static int take_chunk(struct mirror *m, struct etcd_kv *kv, struct err *err)
{
    _cleanup_val_(chunk_done) struct chunk c = { 0 };
    int r = chunk_begin(&c, kv->key, kv->value, kv->len);

    if (r == 0 && c.parts)
        r = fetch_big(m, &c, err);
    if (r == 0)
        r = chunk_check(&c);
    if (r == -EBADMSG)
        return err_set(err, -EUCLEAN, "etcd: %s/%s is damaged", etcd_prefix(m->etcd), kv->key);
    if (r == 0)
        r = write_chunk(m, &c, err);
    if (r == 0)
        m->from = c.last + 1;
    return r;
}

static int take_chunks(struct mirror *m, struct err *err)
{
    _cleanup_val_(etcd_kvs_done) struct etcd_kvs kvs = { 0 };
    char from[ETCD_NAME_BYTES];
    struct etcd_range range = { .from = from, .to = "log0", .limit = CHUNKS };
    int r;

    etcd_log_key(m->from, from);
    r = etcd_range(m->etcd, &range, &kvs, err);
    for (size_t i = 0; i < kvs.n && r == 0; i++)
        r = take_chunk(m, &kvs.v[i], err);
    if (r == 0 && kvs.n < CHUNKS && m->from <= m->last)
        return err_set(err, -EEXIST,
                       "%s/%s knows records up to %" PRIu64 " and etcd up to %" PRIu64
                       ": etcd went back; move that folder away to go on from there",
                       m->dir, JOURNAL_SUBDIR, m->last, m->from - 1);
    return r < 0 ? r : kvs.n == CHUNKS;
}

/* The copy gets etcd's newer snapshot, so that it does not grow without end. */
static int follow_snapshot(struct mirror *m, struct err *err)
{
    struct mirror_far far;
    int r = mirror_look(m, &far, err);

    if (r < 0 || far.snapshot_lsn <= m->snapshot_lsn || far.snapshot_lsn > m->last)
        return r;
    r = mirror_fetch_snapshot(m, &far, err);
    if (r == 0)
        r = mirror_roll(m, err);
    if (r == 0)
        mirror_let_go(m, &far);
    return r;
}

int mirror_pull(struct mirror *m, struct err *err)
{
    int r = m->begun ? 0 : begin_copy(m, err);

    if (r < 0 || !m->begun)
        return r;
    r = take_chunks(m, err);
    if (r == 0 && ++m->turns % SNAPSHOT_TURNS == 0)
        r = follow_snapshot(m, err);
    return r;
}
