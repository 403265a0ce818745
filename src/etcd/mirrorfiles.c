/* mirrorfiles.c - the copy's snapshots and files; see mirrorfiles.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "etcd/etcdkeys.h"
#include "etcd/mirrorfiles.h"
#include "journal/files.h"
#include "journal/logwalk.h"

static int read_snapshot_key(struct mirror *m, struct mirror_far *far, struct err *err)
{
    unsigned long long bytes;
    char text[64] = "";
    struct etcd_kv kv;
    int end = 0, r = etcd_get(m->etcd, "snapshot", &kv, err);

    if (r <= 0)
        return r;
    memcpy(text, kv.value, MIN(kv.len, sizeof(text) - 1));
    free(kv.value);
    if (sscanf(text, "%16" SCNx64 " %" SCNu32 " %llu%n", &far->snapshot_lsn, &far->parts, &bytes,
               &end) != 3 ||
        text[end] || !far->snapshot_lsn || !far->parts || far->parts > ETCD_PARTS_MAX)
        return err_set(err, -EUCLEAN, "etcd: %s/snapshot is damaged", etcd_prefix(m->etcd));
    far->bytes = bytes;
    return 0;
}

int mirror_look(struct mirror *m, struct mirror_far *ret, struct err *err)
{
    _cleanup_val_(etcd_kvs_done) struct etcd_kvs kvs = { 0 };
    struct etcd_range range = { .from = "log/", .to = "log0", .limit = 1, .keys_only = true };
    int r;

    *ret = (struct mirror_far){ 0 };
    r = etcd_range(m->etcd, &range, &kvs, err);
    if (r == 0 && kvs.n)
        ret->first = strtoull(kvs.v[0].key + 4, NULL, 16);
    return r < 0 ? r : read_snapshot_key(m, ret, err);
}

int mirror_roll(struct mirror *m, struct err *err)
{
    struct segment next;
    int r;

    if (m->segment.fd >= 0 && m->segment.first_lsn == m->last + 1)
        return 0;
    r = segment_create(&m->policy, m->last + 1, &next);
    if (r < 0)
        return err_set(err, r, "%s/%s: %s", m->dir, JOURNAL_SUBDIR, strerrordesc_np(-r));
    segment_close(&m->segment);
    m->segment = next;
    return 0;
}

int mirror_wipe(struct mirror *m, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    int r = file_list_read(m->dir_fd, &l);
    char name[FILE_NAME_BYTES];

    if (r < 0)
        return err_set(err, r, "%s/%s: %s", m->dir, JOURNAL_SUBDIR, strerrordesc_np(-r));
    segment_close(&m->segment);
    for (size_t i = 0; i < l.snapshots.n; i++) {
        snapshot_name(l.snapshots.lsn[i], name);
        (void)unlinkat(m->dir_fd, name, 0); /* what stays is found damaged, and told */
    }
    for (size_t i = 0; i < l.segments.n + l.stale.n; i++) {
        bool stale = i >= l.segments.n;
        const struct lsn_list *list = stale ? &l.stale : &l.segments;
        size_t k = stale ? i - l.segments.n : i;

        segment_name(list->lsn[k], list->term[k], name);
        (void)unlinkat(m->dir_fd, name, 0);
    }
    m->last = m->snapshot_lsn = 0;
    return 0;
}

static int fetch_part(struct mirror *m, const struct mirror_far *far, uint32_t part, int fd,
                      uint64_t *offset, struct err *err)
{
    char key[ETCD_NAME_BYTES];
    struct etcd_kv kv;
    ssize_t n;
    int r;

    etcd_part_key("snap", far->snapshot_lsn, part, key);
    r = etcd_get(m->etcd, key, &kv, err);
    if (r <= 0)
        return r < 0 ? r : err_set(err, -EAGAIN, "etcd: the snapshot was replaced meanwhile");
    n = pwrite(fd, kv.value, kv.len, (off_t)*offset);
    r = n == (ssize_t)kv.len ? 0 : n < 0 ? -errno : -ENOSPC;
    free(kv.value);
    *offset += n > 0 ? (uint64_t)n : 0;
    return r == 0 ? 0 : err_set(err, r, "%s/%s: %s", m->dir, JOURNAL_SUBDIR, strerrordesc_np(-r));
}

static int fetch_file(struct mirror *m, const struct mirror_far *far, int fd, struct err *err)
{
    char reason[WALK_REASON_BYTES] = "";
    struct walk_opts opts = { 0 };
    uint64_t offset = 0, puts;
    int r = 0;

    for (uint32_t i = 0; i < far->parts && r == 0; i++)
        r = fetch_part(m, far, i, fd, &offset, err);
    if (r < 0)
        return r;
    if (offset != far->bytes ||
        walk_snapshot_fd(fd, far->snapshot_lsn, &opts, NULL, NULL, &puts, reason) < 0)
        return err_set(err, -EUCLEAN, "the snapshot in etcd is damaged: %s",
                       reason[0] ? reason : "its length is wrong");
    return fsync(fd) < 0 ? err_set(err, -errno, "%s: %s", m->dir, strerrordesc_np(errno)) : 0;
}

int mirror_fetch_snapshot(struct mirror *m, const struct mirror_far *far, struct err *err)
{
    char name[FILE_NAME_BYTES], tmp[FILE_NAME_BYTES + 4];
    _cleanup_close_ int fd = -1;
    int r;

    snapshot_name(far->snapshot_lsn, name);
    (void)snprintf(tmp, sizeof(tmp), "%s.tmp", name); /* fits */
    fd = openat(m->dir_fd, tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, -errno, "%s/%s/%s: %s", m->dir, JOURNAL_SUBDIR, tmp,
                       strerrordesc_np(errno));
    r = fetch_file(m, far, fd, err);
    if (r == 0 && (renameat(m->dir_fd, tmp, m->dir_fd, name) < 0 || fsync(m->dir_fd) < 0))
        r = err_set(err, -errno, "%s/%s/%s: %s", m->dir, JOURNAL_SUBDIR, name,
                    strerrordesc_np(errno));
    if (r < 0)
        (void)unlinkat(m->dir_fd, tmp, 0); /* recovery removes it otherwise */
    else
        m->snapshot_lsn = far->snapshot_lsn;
    return r;
}

void mirror_let_go(struct mirror *m, const struct mirror_far *far)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    uint64_t need = MIN(m->snapshot_lsn + 1, far->first ? far->first : UINT64_MAX);
    char name[FILE_NAME_BYTES];

    if (file_list_read(m->dir_fd, &l) < 0)
        return; /* costs space until the next time */
    for (size_t i = 0; i < l.snapshots.n && l.snapshots.lsn[i] < m->snapshot_lsn; i++) {
        snapshot_name(l.snapshots.lsn[i], name);
        (void)unlinkat(m->dir_fd, name, 0);
    }
    for (size_t i = 0; i + 1 < l.segments.n && l.segments.lsn[i + 1] <= need; i++) {
        segment_name(l.segments.lsn[i], l.segments.term[i], name);
        (void)unlinkat(m->dir_fd, name, 0);
    }
}
