/* logwalk.c - reading whole segments and snapshots, judging how they end; see logwalk.h.
 *
 * Invariants used: lsns are consecutive; a segment is made only after everything before it was
 * synced, so whatever is missing before a later segment is damage; in the last segment the rule of
 * stream_judge_tail() decides.  Records a segment holds at or beyond the first lsn of the next one
 * are the leavings of a failed sync, written again there, and are not read.  Design note 0001,
 * "Recovery". */
#include "journal/logwalk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "journal/stream.h"

static void say_reason(char *reason, const char *text)
{
    (void)snprintf(reason, WALK_REASON_BYTES, "%s", text); /* cut is fine */
}

/* A failed read of the disk is damage of the place, not of the program. */
static bool is_damage(int r)
{
    return r == -EBADMSG || r == -EIO;
}

static int check_header(int fd, uint32_t magic, uint64_t lsn, const struct walk_opts *opts,
                        uint16_t *ret_level, char *reason)
{
    const char *why = "";
    struct file_header head = { 0 };
    int r = stream_read_header(fd, magic, &head, &why);

    if (r == -ENOTSUP && opts->any_level)
        r = 0;
    *ret_level = head.level;
    if (r == 0 && head.lsn != lsn) {
        why = "the file header is another file's: it names a different record number";
        r = -EBADMSG;
    }
    if (r == 0 && opts->cluster_id && head.cluster_id != opts->cluster_id) {
        why = "the file belongs to another cluster";
        r = -EBADMSG;
    }
    if (r < 0)
        say_reason(reason, why);
    return r;
}

/* The record w->lsn is not to be had at w->offset: decide why.  r is what the stream said. */
static int judge_end(int fd, int r, uint64_t next_first, const struct walk_opts *opts,
                     struct walk *w)
{
    struct tail tail = { 0 };

    if (r == -EIO) {
        w->state = WALK_DAMAGE;
        say_reason(w->reason, "the disk cannot read this place");
        return 0;
    }
    if (next_first != UINT64_MAX) {
        w->state = WALK_DAMAGE;
        (void)snprintf(w->reason, sizeof(w->reason),
                       "%s, and the next file begins at record %" PRIu64,
                       r == 0 ? "the records end here" : "the record is damaged", next_first);
        return 0;
    }
    r = stream_judge_tail(fd, w->offset, w->lsn, &tail);
    if (r < 0 && !is_damage(r))
        return r;
    if (r < 0 || tail.synced) {
        w->state = WALK_DAMAGE;
        (void)snprintf(w->reason, sizeof(w->reason),
                       "the record is damaged, and later ones (%" PRIu64 ") follow it",
                       tail.proof_lsn);
    } else if (w->lsn <= opts->proven_lsn) {
        w->state = WALK_DAMAGE;
        (void)snprintf(w->reason, sizeof(w->reason),
                       "the log ends here, but a snapshot stands for record %" PRIu64,
                       opts->proven_lsn);
    } else {
        w->state = tail.dirty ? WALK_TORN : WALK_END;
        w->torn = tail.dirty;
    }
    return 0;
}

/* After a failed sync the page cache may hold what the disk does not: from here on the disk is
 * asked. */
static void ask_disk(struct stream *s)
{
    enum { PAGE_BYTES_MAX = 64 << 10 };

    (void)posix_fadvise(s->fd, (off_t)(s->offset & ~(uint64_t)(PAGE_BYTES_MAX - 1)), 0,
                        POSIX_FADV_DONTNEED);
    stream_refresh(s);
}

static int walk_records(struct stream *s, uint64_t next_first, uint64_t start,
                        const struct walk_opts *opts, journal_record_fn *fn, void *ctx,
                        struct walk *w)
{
    bool unproven = next_first == UINT64_MAX; /* before a later file all was synced */

    while (w->lsn < next_first) {
        const uint8_t *data = NULL;
        size_t len = 0;
        int r;

        if (unproven && w->lsn > opts->proven_lsn) {
            ask_disk(s);
            unproven = false;
        }
        r = stream_next_lsn(s, w->lsn, &data, &len, &w->marked);
        w->offset = s->offset;
        if (r <= 0)
            return r;
        if (w->lsn >= start) {
            w->failed = fn ? fn(ctx, w->lsn, false, data, len) : 0;
            if (w->failed < 0)
                return w->failed;
            w->bytes += record_bytes(len);
            w->records++;
        }
        w->lsn++;
    }
    return 1;
}

int walk_segment_fd(int fd, uint64_t first_lsn, uint64_t next_first, uint64_t start,
                    const struct walk_opts *opts, journal_record_fn *fn, void *ctx, struct walk *w)
{
    _cleanup_val_(stream_done) struct stream s;
    int r;

    stream_init(&s, fd, FILE_HEADER_BYTES);
    *w = (struct walk){
        .segment = first_lsn, .lsn = first_lsn, .bytes = w->bytes, .records = w->records
    };
    r = check_header(fd, SEGMENT_MAGIC, first_lsn, opts, &w->level, w->reason);
    if (is_damage(r)) {
        w->state = WALK_DAMAGE;
        return 0;
    }
    if (r < 0)
        return r;
    r = walk_records(&s, next_first, start, opts, fn, ctx, w);
    if (r < 0 && (w->failed < 0 || !is_damage(r)))
        return r;
    if (r <= 0)
        return judge_end(fd, r, next_first, opts, w);
    w->state = WALK_END;
    return 0;
}

int walk_segment(int dir_fd, const struct file_list *l, size_t index, uint64_t start,
                 const struct walk_opts *opts, journal_record_fn *fn, void *ctx, struct walk *w)
{
    _cleanup_close_ int fd = -1;
    bool last = index + 1 == l->segments.n;
    int r = segment_open_read(dir_fd, l->segments.lsn[index], l->segments.term[index], &fd);

    if (r < 0)
        return r;
    r = walk_segment_fd(fd, l->segments.lsn[index], last ? UINT64_MAX : l->segments.lsn[index + 1],
                        start, opts, fn, ctx, w);
    w->term = l->segments.term[index];
    return r;
}

int walk_log(int dir_fd, const struct file_list *l, uint64_t start, const struct walk_opts *opts,
             journal_record_fn *fn, void *ctx, struct walk *w)
{
    long first = file_list_find(l, start);

    *w = (struct walk){ 0 };
    for (size_t i = (size_t)first; i < l->segments.n; i++) {
        int r = walk_segment(dir_fd, l, i, start, opts, fn, ctx, w);

        if (r < 0 || w->state != WALK_END)
            return r;
    }
    return 0;
}

/* The puts, up to the trailer, which must be the end of the file. */
static int walk_puts(struct stream *s, uint64_t lsn, journal_record_fn *fn, void *ctx,
                     uint64_t *ret_puts, char *reason)
{
    for (uint64_t n = 0;; n++) {
        const uint8_t *data = NULL;
        struct record_header h;
        int r = stream_next(s, &h, &data);

        if (r < 0) {
            say_reason(reason, r == -EBADMSG ? "a record is damaged" : strerrordesc_np(-r));
            return r;
        }
        if (r == 0 || h.lsn != n + 1 || (h.kind != RECORD_PUT && h.kind != RECORD_TRAILER)) {
            say_reason(reason, r == 0 ? "it is not complete" : "a record is out of place");
            return -EBADMSG;
        }
        if (h.kind == RECORD_TRAILER) {
            *ret_puts = n;
            return 0;
        }
        r = fn ? fn(ctx, lsn, true, data, h.len) : 0;
        if (r < 0)
            return r;
    }
}

int walk_snapshot_fd(int fd, uint64_t lsn, const struct walk_opts *opts, journal_record_fn *fn,
                     void *ctx, uint64_t *ret_puts, char *reason)
{
    _cleanup_val_(stream_done) struct stream s;
    uint16_t level;
    int r = check_header(fd, SNAPSHOT_MAGIC, lsn, opts, &level, reason);

    stream_init(&s, fd, FILE_HEADER_BYTES);
    if (r == 0)
        r = walk_puts(&s, lsn, fn, ctx, ret_puts, reason);
    return r;
}

int walk_snapshot(int dir_fd, uint64_t lsn, const struct walk_opts *opts, journal_record_fn *fn,
                  void *ctx, uint64_t *ret_puts, char *reason)
{
    _cleanup_close_ int fd = -1;
    int r = snapshot_open_read(dir_fd, lsn, &fd);

    if (r < 0) {
        say_reason(reason, strerrordesc_np(-r));
        return r;
    }
    return walk_snapshot_fd(fd, lsn, opts, fn, ctx, ret_puts, reason);
}
