/* repair.c - journal_repair(): make a damaged journal usable again, losing as little as possible
 *
 * Works by the rules of recovery: what counts is the newest complete snapshot S and the records
 * after it.
 *   - damage behind S: the log is cut there; what follows moves away; records are lost, and said
 * so.
 *   - damage at or before S: no state is lost.  The log is made to begin behind the damage.
 * Nothing is deleted: every file changed or dropped is in damaged-<time>/ as it was.  Holds the
 * journal's lock.  Each step leaves a journal that can be repaired again.  Design note 0001,
 * "Operators". */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/files.h"
#include "journal/segment.h"
#include "journal/stream.h"
#include "journal/logwalk.h"

#define LINE_BYTES 512
#define COPY_BYTES (256u << 10)
#define ROUNDS_MAX 64 /* each mends one place */

struct repair {
    const char *dir;
    int dir_fd;
    int away_fd; /* damaged-<time>/, made when first needed */
    char away[AWAY_NAME_BYTES];
    struct file_list files;
    uint64_t snapshot_lsn; /* S, 0 = none */
    uint64_t cluster_id;   /* for files made here: that of a sound one */
    unsigned changes;
    void (*report)(void *ctx, const char *line);
    void *ctx;
};

static void repair_done(struct repair *rp)
{
    file_list_done(&rp->files);
    if (rp->away_fd >= 0)
        (void)close(rp->away_fd); /* synced where it matters */
}

static void say_step(const struct repair *rp, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void say_step(const struct repair *rp, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, ap); /* cut is fine */
    va_end(ap);
    rp->report(rp->ctx, line);
}

/* Before anything is changed: the log is not what other controllers know by its id any more. */
static int forget_id(const struct repair *rp)
{
    if (unlinkat(rp->dir_fd, JOURNAL_ID_NAME, 0) < 0)
        return errno == ENOENT ? 0 : -errno;
    return fsync(rp->dir_fd) < 0 ? -errno : 0;
}

static int open_away(struct repair *rp)
{
    int r = rp->away_fd < 0 ? forget_id(rp) : 0;

    if (r < 0)
        return r;
    return journal_away_open(rp->dir_fd, "damaged", rp->away, &rp->away_fd);
}

static int sync_dirs(const struct repair *rp)
{
    if (fsync(rp->away_fd) < 0 || fsync(rp->dir_fd) < 0)
        return -errno;
    return 0;
}

static int move_away(struct repair *rp, const char *name)
{
    int r = open_away(rp);

    if (r < 0)
        return r;
    r = renameat2(rp->dir_fd, name, rp->away_fd, name, RENAME_NOREPLACE) < 0 ? -errno : 0;
    if (r == -EEXIST) /* there as it was before this repair changed it */
        r = unlinkat(rp->dir_fd, name, 0) < 0 ? -errno : 0;
    if (r < 0)
        return r;
    rp->changes++;
    say_step(rp, "moved %s to %s/", name, rp->away);
    return sync_dirs(rp);
}

/* Move segments first .. last (indexes) away, newest first when the log's end goes, oldest first
 * when its beginning does: stopped half-way, no gap is left that was not there. */
static int move_segments(struct repair *rp, size_t first, size_t end, bool newest_first)
{
    for (size_t k = first; k < end; k++) {
        char name[FILE_NAME_BYTES];
        size_t i = newest_first ? end - 1 - (k - first) : k;
        int r;

        segment_name(rp->files.segments.lsn[i], rp->files.segments.term[i], name);
        r = move_away(rp, name);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What did not count as long as the log of a later term began before it. */
static int move_stale(struct repair *rp)
{
    for (size_t i = 0; i < rp->files.stale.n; i++) {
        char name[FILE_NAME_BYTES];
        int r;

        segment_name(rp->files.stale.lsn[i], rp->files.stale.term[i], name);
        r = move_away(rp, name);
        if (r < 0)
            return r;
    }
    return 0;
}

static int write_all(int fd, const uint8_t *data, size_t n)
{
    while (n) {
        ssize_t w = write(fd, data, n);

        if (w < 0 && errno != EINTR)
            return -errno;
        if (w > 0) {
            data += w;
            n -= (size_t)w;
        }
    }
    return 0;
}

/* Copy bytes from .. to of one open file to another at its present offset. */
static int copy_range(int in, uint64_t from, uint64_t to, int out)
{
    _cleanup_free_ uint8_t *buf = malloc(COPY_BYTES);

    if (!buf)
        return -ENOMEM;
    while (from < to) {
        long n = pread_full(in, buf, MIN((uint64_t)COPY_BYTES, to - from), from);
        int r = n < 0 ? (int)n : write_all(out, buf, (size_t)n);

        if (r < 0 || n == 0)
            return r;
        from += (uint64_t)n;
    }
    return 0;
}

/* Keep a copy of a segment that is about to be cut.  An unreadable place ends the copy: the rest is
 * not to be had. */
static int copy_away(struct repair *rp, const char *name)
{
    _cleanup_close_ int in = openat(rp->dir_fd, name, O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int out = -1;
    struct stat st;
    int r = open_away(rp);

    if (r < 0)
        return r;
    if (in < 0 || fstat(in, &st) < 0)
        return -errno;
    out = openat(rp->away_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        return errno == EEXIST ? 0 : -errno; /* there as it was before this repair changed it */
    r = copy_range(in, 0, (uint64_t)st.st_size, out);
    if (r < 0 && r != -EIO)
        return r;
    if (fsync(out) < 0)
        return -errno;
    return sync_dirs(rp);
}

static int list_files_again(struct repair *rp)
{
    file_list_done(&rp->files);
    return file_list_read(rp->dir_fd, &rp->files);
}

/* Find S, moving damaged newer snapshots away. */
static int settle_snapshots(struct repair *rp)
{
    const struct walk_opts opts = { 0 };
    const struct lsn_list *snaps = &rp->files.snapshots;

    for (size_t i = snaps->n; i-- > 0;) {
        char name[FILE_NAME_BYTES], reason[WALK_REASON_BYTES] = "";
        uint64_t puts;
        int r = walk_snapshot(rp->dir_fd, snaps->lsn[i], &opts, NULL, NULL, &puts, reason);

        if (r == 0) {
            rp->snapshot_lsn = MAX(rp->snapshot_lsn, snaps->lsn[i]);
            continue;
        }
        if (r != -EBADMSG && r != -EIO)
            return r;
        snapshot_name(snaps->lsn[i], name);
        say_step(rp, "%s is damaged: %s", name, reason);
        r = move_away(rp, name);
        if (r < 0)
            return r;
    }
    return list_files_again(rp);
}

/* Could a state be rebuilt at all?  Asked before anything is touched. */
static int check_possible(const struct repair *rp, struct err *err)
{
    const struct walk_opts opts = { 0 };
    char reason[WALK_REASON_BYTES];
    uint64_t puts;

    if (!rp->files.segments.n && !rp->files.snapshots.n)
        return 0;
    if (rp->files.segments.n && rp->files.segments.lsn[0] == 1)
        return 0;
    for (size_t i = rp->files.snapshots.n; i-- > 0;)
        if (walk_snapshot(rp->dir_fd, rp->files.snapshots.lsn[i], &opts, NULL, NULL, &puts,
                          reason) == 0)
            return 0;
    return err_set(
        err, -EUCLEAN,
        "journal: %s/%s holds no complete snapshot and no log from record 1 on: restore it "
        "from a backup",
        rp->dir, JOURNAL_SUBDIR);
}

/* Make the segment of the term that begins at lsn from bytes from .. to of an open one; complete
 * or not at all. */
static int make_segment(struct repair *rp, uint64_t lsn, uint32_t term, int in, uint64_t from,
                        uint64_t to)
{
    char name[FILE_NAME_BYTES], tmp[FILE_NAME_BYTES + 4];
    uint8_t head[FILE_HEADER_BYTES];
    _cleanup_close_ int out = -1;
    int r;

    segment_name(lsn, term, name);
    (void)snprintf(tmp, sizeof(tmp), "%s.tmp", name); /* fits */
    out = openat(rp->dir_fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0)
        return -errno;
    file_header_encode(SEGMENT_MAGIC, rp->cluster_id, lsn, head);
    r = write_all(out, head, sizeof(head));
    if (r == 0)
        r = copy_range(in, from, to, out);
    if (r == 0 && fsync(out) < 0)
        r = -errno;
    if (r == 0 && renameat(rp->dir_fd, tmp, rp->dir_fd, name) < 0)
        r = -errno;
    if (r == 0 && fsync(rp->dir_fd) < 0)
        r = -errno;
    if (r == 0)
        rp->changes++;
    return r;
}

/* Start the log anew behind S: nothing of the present log can follow it. */
static int begin_after_snapshot(struct repair *rp)
{
    const struct lsn_list *segs = &rp->files.segments;
    uint32_t term = segs->n ? segs->term[segs->n - 1] : 0; /* the newest: terms ascend */
    int r = move_stale(rp);

    if (r == 0)
        r = move_segments(rp, 0, segs->n, true);
    if (r == 0)
        r = make_segment(rp, rp->snapshot_lsn + 1, term, -1, 0, 0);
    if (r < 0)
        return r;
    say_step(rp, "the log begins anew at record %" PRIu64 ", behind the snapshot",
             rp->snapshot_lsn + 1);
    return list_files_again(rp);
}

/* The header of a segment is bad but its records begin as its name says: write it again.  1 =
 * done. */
static int mend_header(struct repair *rp, const struct walk *w)
{
    _cleanup_val_(stream_done) struct stream s = { .fd = -1 };
    _cleanup_close_ int fd = -1;
    uint8_t head[FILE_HEADER_BYTES];
    char name[FILE_NAME_BYTES];
    const uint8_t *data;
    size_t len;
    int r;

    segment_name(w->segment, w->term, name);
    fd = openat(rp->dir_fd, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    stream_init(&s, fd, FILE_HEADER_BYTES);
    if (stream_next_lsn(&s, w->segment, &data, &len, NULL) != 1)
        return 0;
    r = copy_away(rp, name);
    if (r < 0)
        return r;
    file_header_encode(SEGMENT_MAGIC, rp->cluster_id, w->segment, head);
    r = write_all(fd, head, sizeof(head));
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (r < 0)
        return r;
    rp->changes++;
    say_step(rp, "%s: wrote the damaged file header again; a copy is in %s/", name, rp->away);
    return 1;
}

/* Cut the log at damage behind S. */
static int cut_segment(struct repair *rp, const struct walk *w)
{
    bool headless = w->offset < FILE_HEADER_BYTES;
    size_t i = (size_t)file_list_find(&rp->files, w->segment);
    const struct segment_policy policy = { .dir_fd = rp->dir_fd };
    struct segment seg;
    char name[FILE_NAME_BYTES];
    int r;

    segment_name(w->segment, w->term, name);
    say_step(rp, "%s is damaged at offset %" PRIu64 ": %s", name, w->offset, w->reason);
    r = move_stale(rp);
    if (r == 0)
        r = move_segments(rp, headless ? i : i + 1, rp->files.segments.n, true);
    if (r == 0 && !headless) {
        r = copy_away(rp, name);
        if (r == 0)
            r = segment_reopen(&policy, w->segment, w->term, w->offset, &seg);
        if (r == 0) {
            segment_close(&seg);
            rp->changes++;
            say_step(rp, "cut %s at offset %" PRIu64 ", a copy is in %s/", name, w->offset,
                     rp->away);
        }
    }
    if (r < 0)
        return r;
    say_step(rp, "record %" PRIu64 " and all later ones are lost", w->lsn);
    return list_files_again(rp);
}

/* In a segment damaged at w, find from where on its records are sound and go beyond S without a
 * break: their offsets from .. to, and the first lsn. */
static int find_sound(struct repair *rp, int fd, const struct walk *w, uint64_t *ret_lsn,
                      uint64_t *ret_from, uint64_t *ret_to)
{
    _cleanup_val_(stream_done) struct stream s;
    off_t end = lseek(fd, 0, SEEK_END);

    stream_init(&s, fd, w->offset + 8);
    while (end >= 0 && s.offset + RECORD_HEADER_BYTES <= (uint64_t)end) {
        uint64_t at = s.offset, next;
        struct record_header h;
        const uint8_t *data;
        size_t len;
        int r = stream_next(&s, &h, &data);

        if (r < 0 && r != -EBADMSG && r != -EIO)
            return r;
        if (r <= 0 || h.kind != RECORD_DATA || h.lsn <= w->lsn || h.lsn > rp->snapshot_lsn + 1) {
            s.offset = at + 8;
            continue;
        }
        for (next = h.lsn + 1; stream_next_lsn(&s, next, &data, &len, NULL) == 1;)
            next++;
        if (next > rp->snapshot_lsn) {
            *ret_lsn = h.lsn;
            *ret_from = at;
            *ret_to = s.offset;
            return 0;
        }
    }
    return -ENOENT;
}

/* Damage at or before S in the segment that continues S: let the log begin behind it. */
static int salvage_records(struct repair *rp, const struct walk *w)
{
    size_t i = (size_t)file_list_find(&rp->files, w->segment);
    uint64_t lsn = 0, from = 0, to = 0;
    char name[FILE_NAME_BYTES];
    _cleanup_close_ int fd = -1;
    int r = segment_open_read(rp->dir_fd, w->segment, w->term, &fd);

    if (r < 0)
        return r;
    segment_name(w->segment, w->term, name);
    say_step(rp, "%s is damaged at offset %" PRIu64 ", record %" PRIu64 ": %s", name, w->offset,
             w->lsn, w->reason);
    r = find_sound(rp, fd, w, &lsn, &from, &to);
    if (r == -ENOENT) {
        say_step(rp, "records from %" PRIu64 " on, if there were any, are lost",
                 rp->snapshot_lsn + 1);
        return begin_after_snapshot(rp);
    }
    if (r == 0)
        r = make_segment(rp, lsn, w->term, fd, from, to);
    if (r == 0)
        r = move_segments(rp, 0, i + 1, false);
    if (r < 0)
        return r;
    say_step(rp,
             "kept the records from %" PRIu64
             " on; those before stand in the snapshot, but are lost to "
             "consumers that had not read them",
             lsn);
    return list_files_again(rp);
}

/* One round over what recovery would read: 1 when something was changed, 0 when it is sound. */
static int mend_log(struct repair *rp)
{
    const struct lsn_list *snaps = &rp->files.snapshots;
    const struct walk_opts opts = { .proven_lsn = snaps->n ? snaps->lsn[snaps->n - 1] : 0 };
    struct walk w;
    int r;

    if (!rp->files.segments.n && !rp->snapshot_lsn)
        return 0;
    if (file_list_find(&rp->files, rp->snapshot_lsn + 1) < 0) {
        if (rp->files.segments.n)
            say_step(
                rp,
                "records %" PRIu64 " to %" PRIu64
                " are missing, so the log from there on cannot follow the snapshot and is lost",
                rp->snapshot_lsn + 1, rp->files.segments.lsn[0] - 1);
        r = begin_after_snapshot(rp);
        return r < 0 ? r : 1;
    }
    r = walk_log(rp->dir_fd, &rp->files, rp->snapshot_lsn + 1, &opts, NULL, NULL, &w);
    if (r < 0 || w.state != WALK_DAMAGE)
        return r;
    if (w.offset < FILE_HEADER_BYTES) {
        r = mend_header(rp, &w);
        if (r != 0)
            return r;
    }
    r = w.lsn > rp->snapshot_lsn ? cut_segment(rp, &w) : salvage_records(rp, &w);
    return r < 0 ? r : 1;
}

/* Older history, which only consumers and older snapshots need, must be sound too. */
static int mend_history(struct repair *rp)
{
    const struct walk_opts opts = { 0 };
    long newest = file_list_find(&rp->files, rp->snapshot_lsn + 1);

    for (long i = newest - 1; i >= 0; i--) {
        struct walk w = { 0 };
        int r = walk_segment(rp->dir_fd, &rp->files, (size_t)i, 0, &opts, NULL, NULL, &w);

        if (r < 0)
            return r;
        if (w.state == WALK_END)
            continue;
        say_step(
            rp,
            "history is damaged at record %" PRIu64
            ": it stands in the snapshot, but older records are lost to consumers that had not "
            "read "
            "them",
            w.lsn);
        r = move_segments(rp, 0, (size_t)i + 1, false);
        return r < 0 ? r : list_files_again(rp);
    }
    return 0;
}

/* The cluster id, from the first file whose header is sound. */
static void learn_cluster(struct repair *rp)
{
    const struct lsn_list *segs = &rp->files.segments, *snaps = &rp->files.snapshots;

    for (size_t i = 0; i < segs->n + snaps->n; i++) {
        bool seg = i < segs->n;
        _cleanup_close_ int fd = -1;
        struct file_header head;
        const char *reason;
        int r = seg ? segment_open_read(rp->dir_fd, segs->lsn[i], segs->term[i], &fd)
                    : snapshot_open_read(rp->dir_fd, snaps->lsn[i - segs->n], &fd);

        if (r < 0 ||
            stream_read_header(fd, seg ? SEGMENT_MAGIC : SNAPSHOT_MAGIC, &head, &reason) < 0)
            continue;
        rp->cluster_id = head.cluster_id;
        return;
    }
}

static int mend_files(struct repair *rp)
{
    int r;

    learn_cluster(rp);
    r = settle_snapshots(rp);
    for (int round = 0; r >= 0 && round < ROUNDS_MAX; round++) {
        r = mend_log(rp);
        if (r == 0)
            return mend_history(rp);
    }
    return r < 0 ? r : -EUCLEAN;
}

int journal_repair(const char *dir, void (*report)(void *ctx, const char *line), void *ctx,
                   struct err *err)
{
    _cleanup_val_(
        repair_done) struct repair rp = { .dir = dir, .away_fd = -1, .report = report, .ctx = ctx };
    _cleanup_close_ int dir_fd = -1, lock_fd = -1;
    int r = journal_dir_open(dir, false, &dir_fd, err);

    if (r == 0)
        r = journal_dir_lock(dir_fd, dir, &lock_fd, err);
    if (r < 0)
        return r;
    rp.dir_fd = dir_fd;
    r = file_list_read(dir_fd, &rp.files);
    if (r == 0) {
        r = check_possible(&rp, err);
        if (r < 0)
            return r;
        r = mend_files(&rp);
    }
    if (r < 0)
        return err_set(err, r, "journal: repair of %s/%s stopped: %s", dir, JOURNAL_SUBDIR,
                       r == -ENOTSUP ? "a newer release wrote this log: repair it with that release"
                                     : strerrordesc_np(-r));
    if (rp.away_fd >= 0)
        say_step(&rp, "repaired; what was changed is kept in %s/%s/%s", dir, JOURNAL_SUBDIR,
                 rp.away);
    else if (rp.changes)
        say_step(&rp, "repaired");
    else
        say_step(&rp, "nothing to repair");
    return 0;
}
