/* tailfiles.c - see tailfiles.h.
 *
 * The log is cut without touching it: a file of a later term that begins at a record makes older
 * files end there (design note 0017, "Fencing").  So a crash at any moment leaves either log. */
#include "stream/tailfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "journal/files.h"
#include "journal/journal.h"
#include "journal/letgo.h"
#include "journal/logwalk.h"

#define SEGMENT_BYTES (64u << 20) /* then a new file */
#define RESERVE_BYTES (16u << 20)
#define PART_NAME "stream.part"

static int tell_files(const struct tailfiles *f, int r, struct err *err)
{
    return r < 0 ? err_set(err, r, "%s/" JOURNAL_SUBDIR ": %s", f->dir, strerrordesc_np(-r)) : r;
}

static struct segment_policy policy_of(const struct tailfiles *f, uint32_t term)
{
    return (struct segment_policy){ .dir_fd = f->dir_fd,
                                    .term = term,
                                    .segment_bytes = SEGMENT_BYTES,
                                    .reserve_bytes = RESERVE_BYTES };
}

/* Which terms the log's records have, by the names of its files. */
static int read_history(struct tailfiles *f, const struct file_list *l)
{
    const struct lsn_list *s = &l->segments;
    int r = 0;

    f->history.n = 0;
    f->newest_term = 0;
    for (size_t i = 0; i < s->n && r == 0; i++) {
        f->newest_term = MAX(f->newest_term, s->term[i]);
        if (s->lsn[i] <= f->last)
            r = pact_history_add(&f->history, s->term[i], s->lsn[i]);
    }
    for (size_t i = 0; i < l->stale.n; i++)
        f->newest_term = MAX(f->newest_term, l->stale.term[i]);
    f->snapshot_lsn = l->snapshots.n ? l->snapshots.lsn[l->snapshots.n - 1] : 0;
    return r;
}

/* ---- put aside ------------------------------------------------------------------------------- */

static int move_file(const struct tailfiles *f, const char *name, const char *prefix,
                     char away[static AWAY_NAME_BYTES], int *fd)
{
    int r = journal_away_open(f->dir_fd, prefix, away, fd);

    if (r == 0 && renameat(f->dir_fd, name, *fd, name) < 0)
        r = -errno;
    return r;
}

/* Everything of the log goes to a folder of its own: the newest files first, so that a crash in
 * between leaves a log that ends earlier. */
static int put_all_aside(struct tailfiles *f, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    _cleanup_close_ int fd = -1;
    char name[FILE_NAME_BYTES], away[AWAY_NAME_BYTES] = "";
    int r = file_list_read(f->dir_fd, &l);

    segment_close(&f->segment);
    for (size_t i = l.stale.n; i-- > 0 && r == 0;) {
        segment_name(l.stale.lsn[i], l.stale.term[i], name);
        r = move_file(f, name, ASIDE_REPLACED, away, &fd);
    }
    for (size_t i = l.segments.n; i-- > 0 && r == 0;) {
        segment_name(l.segments.lsn[i], l.segments.term[i], name);
        r = move_file(f, name, ASIDE_REPLACED, away, &fd);
    }
    for (size_t i = l.snapshots.n; i-- > 0 && r == 0;) {
        snapshot_name(l.snapshots.lsn[i], name);
        r = move_file(f, name, ASIDE_REPLACED, away, &fd);
    }
    if (r == 0 && fsync(f->dir_fd) < 0)
        r = -errno;
    if (r == 0 && away[0])
        log_info("the log that was here is now in %s/" JOURNAL_SUBDIR "/%s", f->dir, away);
    f->last = f->snapshot_lsn = 0;
    f->history.n = 0;
    aside_trim(f->dir_fd, &f->aside);
    return tell_files(f, r, err);
}

/* The files that have records behind lsn get a second name in a folder aside. */
static int link_aside(struct tailfiles *f, uint64_t lsn)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    _cleanup_close_ int fd = -1;
    char name[FILE_NAME_BYTES], away[AWAY_NAME_BYTES] = "";
    int r = file_list_read(f->dir_fd, &l);

    for (size_t i = 0; i < l.segments.n && r == 0; i++) {
        if (i + 1 < l.segments.n && l.segments.lsn[i + 1] <= lsn + 1)
            continue;
        r = journal_away_open(f->dir_fd, ASIDE_CUT, away, &fd);
        segment_name(l.segments.lsn[i], l.segments.term[i], name);
        if (r == 0 && linkat(f->dir_fd, name, fd, name, 0) < 0)
            r = -errno;
    }
    if (r == 0 && away[0])
        log_info("records from %" PRIu64 " on, which nobody has acknowledged, are kept in "
                 "%s/" JOURNAL_SUBDIR "/%s",
                 lsn + 1, f->dir, away);
    aside_trim(f->dir_fd, &f->aside);
    return r;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Another log, whatever the id of the one before was. */
static int make_new_id(struct tailfiles *f, struct err *err)
{
    struct streamid id = { .log = f->id.log, .promised = f->id.promised };
    int r = streamid_random(&id.own, err);

    if (r == 0)
        r = streamid_store(f->dir_fd, &id, err);
    if (r == 0)
        f->id = id;
    return r;
}

/* Read the log to its end: what is damaged cannot be trusted to have everything. */
static int read_log(struct tailfiles *f, struct err *err)
{
    struct journal_config config = { .dir = f->dir, .read_only = true };
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    struct journal *j = NULL;
    struct err why = { .text = "" };
    int r = journal_open(&config, NULL, NULL, &j, &why);

    if (r == 0)
        f->last = journal_last(j);
    (void)journal_close(j); /* always NULL */
    if (r == -EUCLEAN) {
        log_error("%s; the log is copied anew from the active controller", why.text);
        r = make_new_id(f, err);
        return r < 0 ? r : put_all_aside(f, err);
    }
    if (r < 0)
        return err_set(err, r, "%s", why.text);
    r = file_list_read(f->dir_fd, &l);
    if (r == 0)
        r = read_history(f, &l);
    return tell_files(f, r, err);
}

int tailfiles_open(const char *dir, struct tailfiles *f, struct err *err)
{
    int r;

    memset(f, 0, sizeof(*f));
    f->dir_fd = f->lock_fd = f->segment.fd = f->part_fd = -1;
    f->dir = strdup(dir);
    r = f->dir ? journal_dir_open(dir, true, &f->dir_fd, err) : err_nomem(err);
    if (r == 0)
        r = journal_dir_lock(f->dir_fd, dir, &f->lock_fd, err);
    if (r == 0)
        r = streamid_load(f->dir_fd, &f->id, err);
    if (r == 0)
        aside_trim(f->dir_fd, &f->aside);
    if (r == 0)
        r = read_log(f, err);
    if (r < 0)
        tailfiles_close(f);
    return r;
}

void tailfiles_close(struct tailfiles *f)
{
    segment_close(&f->segment);
    if (f->part_fd >= 0)
        (void)close(f->part_fd); /* it comes again */
    if (f->lock_fd >= 0)
        (void)close(f->lock_fd); /* releases the lock */
    if (f->dir_fd >= 0)
        (void)close(f->dir_fd); /* was only a handle */
    free(f->dir);
    memset(f, 0, sizeof(*f));
    f->dir_fd = f->lock_fd = f->segment.fd = f->part_fd = -1;
}

/* ---- the log --------------------------------------------------------------------------------- */

static int begin_segment(struct tailfiles *f, uint64_t lsn, uint32_t term)
{
    struct segment_policy p = policy_of(f, term);
    struct segment next;
    int r = segment_create(&p, lsn, &next);

    if (r < 0)
        return r;
    segment_close(&f->segment);
    f->segment = next;
    f->segment_term = term;
    f->newest_term = MAX(f->newest_term, term);
    return 0;
}

int tailfiles_append(struct tailfiles *f, uint32_t term, const uint8_t *data, size_t n,
                     uint64_t last, struct err *err)
{
    struct segment_policy p = policy_of(f, term);
    struct segment *s = &f->segment;
    uint64_t us;
    int r = 0;

    if (term < f->newest_term)
        return err_set(err, -EBADMSG, "records of term %u come behind those of term %u", term,
                       f->newest_term);
    if (s->fd < 0 || s->suspect || f->segment_term != term || s->offset > SEGMENT_BYTES)
        r = begin_segment(f, f->last + 1, term);
    if (r == 0)
        r = pact_history_add(&f->history, term, f->last + 1);
    if (r == 0)
        r = segment_write(s, &p, data, n, &us);
    if (r < 0)
        return tell_files(f, r, err);
    f->last = last;
    return 0;
}

int tailfiles_cut(struct tailfiles *f, uint64_t lsn, uint32_t term, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    int r = file_list_read(f->dir_fd, &l);

    if (r < 0)
        return tell_files(f, r, err);
    for (size_t i = 0; i < l.segments.n; i++)
        if (l.segments.term[i] >= term &&
            (i + 1 == l.segments.n || l.segments.lsn[i + 1] > lsn + 1))
            return err_set(err, -EUCLEAN,
                           "records of term %u would have to make way for those of term %u",
                           l.segments.term[i], term);
    segment_close(&f->segment);
    r = link_aside(f, lsn);
    if (r == 0)
        r = begin_segment(f, lsn + 1, term);
    file_list_done(&l);
    l = (struct file_list){ 0 };
    if (r == 0)
        r = file_list_read(f->dir_fd, &l);
    if (r == 0) {
        f->last = lsn;
        r = read_history(f, &l);
    }
    return tell_files(f, r, err);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void drop_part(struct tailfiles *f)
{
    if (f->part_fd >= 0)
        (void)close(f->part_fd); /* of no use any more */
    f->part_fd = -1;
    (void)unlinkat(f->dir_fd, PART_NAME, 0); /* made anew */
}

static int check_part(struct tailfiles *f, struct err *err)
{
    char reason[WALK_REASON_BYTES] = "";
    struct walk_opts opts = { 0 };
    uint64_t puts;

    if (walk_snapshot_fd(f->part_fd, f->part_lsn, &opts, NULL, NULL, &puts, reason) < 0)
        return err_set(err, -EBADMSG, "the snapshot that came is damaged: %s", reason);
    return fsync(f->part_fd) < 0 ? tell_files(f, -errno, err) : 0;
}

static int begin_part(struct tailfiles *f, uint64_t lsn)
{
    drop_part(f);
    f->part_fd = openat(f->dir_fd, PART_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    f->part_lsn = lsn;
    f->part_end = 0;
    return f->part_fd < 0 ? -errno : 0;
}

int tailfiles_part(struct tailfiles *f, uint64_t lsn, uint64_t offset, uint64_t total,
                   const uint8_t *data, size_t n, struct err *err)
{
    int r = offset == 0 ? begin_part(f, lsn) : 0;
    ssize_t put;

    if (r < 0)
        return tell_files(f, r, err);
    if (f->part_fd < 0 || f->part_lsn != lsn || f->part_end != offset || !n || total < offset ||
        n > total - offset)
        return err_set(err, -EBADMSG, "a part of a snapshot is not the next one");
    put = pwrite(f->part_fd, data, n, (off_t)offset);
    if (put != (ssize_t)n) {
        r = put < 0 ? -errno : -ENOSPC;
        drop_part(f);
        return tell_files(f, r, err);
    }
    f->part_end += n;
    if (f->part_end < total)
        return 0;
    r = check_part(f, err);
    if (r < 0)
        drop_part(f);
    return r < 0 ? r : 1;
}

/* The part that is whole gets the snapshot's name. */
static int name_part(struct tailfiles *f)
{
    char name[FILE_NAME_BYTES];

    snapshot_name(f->part_lsn, name);
    if (renameat(f->dir_fd, PART_NAME, f->dir_fd, name) < 0 || fsync(f->dir_fd) < 0)
        return -errno;
    (void)close(f->part_fd); /* synced */
    f->part_fd = -1;
    f->snapshot_lsn = f->part_lsn;
    return 0;
}

int tailfiles_publish(struct tailfiles *f, uint64_t keep_lsn, struct err *err)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    size_t gone;
    int r = name_part(f);

    if (r < 0)
        return tell_files(f, r, err);
    (void)journal_dir_let_go(f->dir_fd, keep_lsn, &gone); /* costs space until the next time */
    r = file_list_read(f->dir_fd, &l);
    if (r == 0)
        r = read_history(f, &l);
    return tell_files(f, r, err);
}

int tailfiles_replace(struct tailfiles *f, bool has_snapshot, uint32_t term, struct err *err)
{
    int r = make_new_id(f, err); /* first: what comes is not what the witness may know us by */

    if (r == 0)
        r = put_all_aside(f, err);
    if (r < 0)
        return r;
    f->newest_term = 0;
    if (has_snapshot) {
        r = name_part(f);
        f->last = r == 0 ? f->snapshot_lsn : 0;
    }
    if (r == 0)
        r = begin_segment(f, f->last + 1, term);
    return tell_files(f, r, err);
}
