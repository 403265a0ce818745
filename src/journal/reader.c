/* reader.c - cursors over the log, beside a live writer or without one
 *
 * Owns one open segment and a read window; takes no lock and writes nothing.  The log may grow,
 * roll over and lose its old segments while it is read, in this process or another, so no verdict
 * is given on what was read ahead: before "damage" is said the directory is listed and the place is
 * read again. One thread at a time per reader.  Design note 0001, "Reading". */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "journal/files.h"
#include "journal/stream.h"
#include "journal/logwalk.h"

struct journal_reader {
    char *dir;
    int dir_fd, fd;
    uint64_t segment; /* first lsn of the open file */
    uint32_t term;    /* of the open file */
    uint64_t until;   /* the next file begins here, UINT64_MAX: there was none when it was opened */
    uint64_t from;    /* first lsn wanted */
    uint64_t lsn;     /* next record at stream.offset */
    bool tail_judged; /* what lies behind the end was looked at once */
    struct stream stream;
};

static int report_damage(struct journal_reader *r, const char *reason, struct err *err)
{
    char name[FILE_NAME_BYTES];

    segment_name(r->segment, r->term, name);
    return err_set(err, -EUCLEAN,
                   "journal: %s/%s/%s is damaged at offset %" PRIu64 ", record %" PRIu64
                   ": %s; see `penstock journal verify %s`",
                   r->dir, JOURNAL_SUBDIR, name, r->stream.offset, r->lsn, reason, r->dir);
}

static int no_longer_kept(struct journal_reader *r, uint64_t oldest, struct err *err)
{
    return err_set(err, -ENOENT,
                   "journal: record %" PRIu64 " is no longer kept in %s: the oldest is %" PRIu64,
                   MAX(r->from, r->lsn), r->dir, oldest);
}

/* Go on in the segment that begins at `first`, of the term; the next one begins at `until`. */
static int switch_to(struct journal_reader *r, uint64_t first, uint32_t term, uint64_t until,
                     struct err *err)
{
    _cleanup_close_ int fd = -1;
    const char *reason = "";
    struct file_header head = { 0 };
    int rc = segment_open_read(r->dir_fd, first, term, &fd);

    if (rc < 0) /* let go between the listing and now */
        return rc == -ENOENT ? no_longer_kept(r, first, err)
                             : err_set(err, rc, "journal: cannot open a segment in %s: %s", r->dir,
                                       strerrordesc_np(-rc));
    stream_done(&r->stream);
    if (r->fd >= 0)
        (void)close(r->fd); /* was only read */
    r->fd = TAKE_FD(fd);
    r->segment = first;
    r->term = term;
    r->until = until;
    r->lsn = first;
    stream_init(&r->stream, r->fd, FILE_HEADER_BYTES);
    rc = stream_read_header(r->fd, SEGMENT_MAGIC, &head, &reason);
    if (rc == 0 && head.lsn != first) {
        rc = -EBADMSG;
        reason = "the file header names a different record number";
    }
    if (rc == -ENOTSUP || rc == -EPROTONOSUPPORT)
        return err_set(err, rc, "journal: cannot read the log in %s: %s", r->dir, reason);
    return rc == -EBADMSG ? report_damage(r, reason, err) : rc;
}

/* Where the segment behind number i begins. */
static uint64_t begin_after(const struct file_list *l, long i)
{
    return (size_t)i + 1 < l->segments.n ? l->segments.lsn[i + 1] : UINT64_MAX;
}

/* Find the segment that holds the first record wanted. */
static int find_start(struct journal_reader *r, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    int rc = file_list_read(r->dir_fd, &l);
    long i;

    if (rc < 0)
        return err_set(err, rc, "journal: cannot list %s/%s: %s", r->dir, JOURNAL_SUBDIR,
                       strerrordesc_np(-rc));
    if (!l.segments.n)
        return err_set(err, -ENOENT, "journal: %s/%s holds no log", r->dir, JOURNAL_SUBDIR);
    i = r->from ? file_list_find(&l, r->from) : 0;
    if (i < 0)
        return no_longer_kept(r, l.segments.lsn[0], err);
    return switch_to(r, l.segments.lsn[i], l.segments.term[i], begin_after(&l, i), err);
}

struct journal_reader *journal_reader_close(struct journal_reader *r)
{
    int saved = errno;

    if (!r)
        return NULL;
    stream_done(&r->stream);
    if (r->fd >= 0)
        (void)close(r->fd); /* was only read */
    if (r->dir_fd >= 0)
        (void)close(r->dir_fd);
    free(r->dir);
    free(r);
    errno = saved;
    return NULL;
}

DEFINE_CLEANUP(struct journal_reader *, journal_reader_close)

int journal_reader_open(const char *dir, uint64_t from_lsn, struct journal_reader **ret_reader,
                        struct err *err)
{
    _cleanup_(journal_reader_close) struct journal_reader *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return -ENOMEM;
    r->fd = r->dir_fd = -1;
    r->from = from_lsn;
    r->dir = strdup(dir);
    if (!r->dir)
        return -ENOMEM;
    rc = journal_dir_open(dir, false, &r->dir_fd, err);
    if (rc == 0)
        rc = find_start(r, err);
    if (rc < 0)
        return rc;
    *ret_reader = TAKE_PTR(r);
    return 0;
}

/* The segments as they are now, seen from record r->lsn. */
struct outlook {
    bool here;     /* our own is still listed */
    bool later;    /* one begins after our own */
    uint64_t next; /* the one to go on in, 0 = none; its term and its end */
    uint32_t next_term;
    uint64_t next_until;
    uint64_t oldest;
};

static int look_around(struct journal_reader *r, struct outlook *o, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    int rc = file_list_read(r->dir_fd, &l);
    long i;

    if (rc < 0)
        return err_set(err, rc, "journal: cannot list %s/%s: %s", r->dir, JOURNAL_SUBDIR,
                       strerrordesc_np(-rc));
    *o = (struct outlook){ .oldest = l.segments.n ? l.segments.lsn[0] : 0 };
    i = file_list_find(&l, r->lsn);
    if (i >= 0 && l.segments.lsn[i] > r->segment) {
        o->next = l.segments.lsn[i];
        o->next_term = l.segments.term[i];
        o->next_until = begin_after(&l, i);
    }
    i = file_list_find(&l, r->segment);
    o->here = i >= 0 && l.segments.lsn[i] == r->segment;
    o->later = l.segments.n && l.segments.lsn[l.segments.n - 1] > r->segment;
    return 0;
}

/* Is the file we have open still the one of that name?  A failed sync of a segment's first batch
 * puts another in its place. */
static int reopen_if_replaced(struct journal_reader *r, struct err *err)
{
    uint64_t offset = r->stream.offset, lsn = r->lsn;
    int rc = switch_to(r, r->segment, r->term, r->until, err);

    if (rc < 0)
        return rc;
    if (offset >
        FILE_HEADER_BYTES) { /* same records at the same places: both began with this batch */
        r->stream.offset = offset;
        r->lsn = lsn;
    }
    return 0;
}

/* Nothing sound at the place, and no other file to go on in: the end for now, or damage? */
static int judge_record(struct journal_reader *r, int got, const struct outlook *o,
                        bool must_be_there, struct err *err)
{
    struct tail tail = { 0 };
    int rc;

    if (o->later)
        return o->here ? report_damage(r, "the record is damaged or missing, and later files exist",
                                       err)
                       : no_longer_kept(r, o->oldest, err);
    if (!o->here)
        return no_longer_kept(r, o->oldest, err);
    if (must_be_there)
        return report_damage(r, "the record was on disk and is not readable", err);
    if (got == 0 && r->tail_judged)
        return 0;
    r->tail_judged = true;
    rc = stream_judge_tail(r->fd, r->stream.offset, r->lsn, &tail);
    if (rc < 0)
        return err_set(err, rc, "journal: cannot read %s: %s", r->dir, strerrordesc_np(-rc));
    return tail.synced ? report_damage(r, "the record is damaged, and later ones follow it", err)
                       : 0;
}

/* Not a record at the place.  Find out why: 1 = try again, 0 = the present end, negative errno.
 * What was read ahead proves nothing, nor does what was read before the listing: only the third
 * round judges. */
static int find_more(struct journal_reader *r, int got, int round, bool must_be_there,
                     struct err *err)
{
    uint64_t was = r->lsn;
    struct outlook o;
    int rc;

    if (round == 0) {
        stream_refresh(&r->stream);
        return 1;
    }
    rc = look_around(r, &o, err);
    if (rc < 0)
        return rc;
    if (o.next) {
        rc = switch_to(r, o.next, o.next_term, o.next_until, err);
        if (r->lsn < was) /* written again here after a failed sync: skip what we gave */
            r->from = MAX(r->from, was);
        return rc < 0 ? rc : 1;
    }
    if (got == 0 && !o.later && o.here && !must_be_there && r->tail_judged)
        return 0;
    if (round > 2)
        return judge_record(r, got, &o, must_be_there, err);
    if (round == 2 && o.here)
        rc = reopen_if_replaced(r, err);
    stream_refresh(&r->stream);
    return rc < 0 ? rc : 1;
}

/* One record, wherever it lies: 1, 0 at the present end, negative errno. */
static int advance_reader(struct journal_reader *r, uint64_t limit, const uint8_t **ret_data,
                          size_t *ret_len, struct err *err)
{
    for (int round = 0;; round++) {
        uint64_t segment = r->segment;
        int got =
            r->lsn < r->until ? stream_next_lsn(&r->stream, r->lsn, ret_data, ret_len, NULL) : 0;
        int rc;

        if (got == 1)
            return 1;
        if (got != 0 && got != -EBADMSG && got != -EIO)
            return err_set(err, got, "journal: cannot read %s: %s", r->dir, strerrordesc_np(-got));
        rc = find_more(r, got, round, limit != UINT64_MAX, err);
        if (rc <= 0)
            return rc;
        if (r->segment != segment)
            round = 0;
    }
}

int journal_reader_next(struct journal_reader *r, uint64_t limit_lsn, uint64_t *ret_lsn,
                        const uint8_t **ret_data, size_t *ret_len, struct err *err)
{
    while (MAX(r->lsn, r->from) <= limit_lsn) {
        int rc = advance_reader(r, limit_lsn, ret_data, ret_len, err);

        if (rc <= 0)
            return rc;
        r->lsn++;
        if (r->lsn - 1 < r->from)
            continue;
        *ret_lsn = r->lsn - 1;
        return 1;
    }
    return 0;
}

int journal_dump(const char *dir, uint64_t from_lsn, uint64_t to_lsn, journal_record_fn *fn,
                 void *ctx, struct err *err)
{
    _cleanup_(journal_reader_close) struct journal_reader *r = NULL;
    int rc = journal_reader_open(dir, from_lsn, &r, err);

    while (rc >= 0) {
        const uint8_t *data;
        uint64_t lsn;
        size_t len;

        rc = journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, err);
        if (rc <= 0 || lsn > to_lsn)
            return rc < 0 ? rc : 0;
        rc = fn(ctx, lsn, false, data, len);
    }
    return rc;
}
