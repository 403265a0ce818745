/* recover.c - journal_open(): from files to a state and a place to append
 *
 * Owns the order of recovery: lock, choose a snapshot, replay it, replay the log after it, cut a
 * torn tail, open the last segment.  Nothing is changed on disk before the whole log was read and
 * found sound. Caller's thread; the writer does not run yet.  Design note 0001, "Recovery". */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "journal/files.h"
#include "journal/format.h"
#include "journal/impl.h"
#include "journal/logwalk.h"

struct recovery {
    const struct journal_config *config;
    int dir_fd;
    struct file_list files;
    struct walk_opts opts;
    uint64_t snapshot_lsn; /* 0: none, the log begins with record 1 */
    size_t n_bad;          /* so many newest snapshots are damaged */
    struct walk walk;
    struct err *err;
};

static void recovery_done(struct recovery *rc)
{
    file_list_done(&rc->files);
}

static int report_damage(struct recovery *rc, const char *file, uint64_t offset, uint64_t lsn,
                         const char *reason)
{
    return err_set(rc->err, -EUCLEAN,
                   "journal: %s/%s/%s is damaged at offset %" PRIu64 ", record %" PRIu64
                   ": %s; see what is left with `penstock journal verify %s`, then run `penstock "
                   "journal repair %s`",
                   rc->config->dir, JOURNAL_SUBDIR, file, offset, lsn, reason, rc->config->dir,
                   rc->config->dir);
}

/* Can the log be replayed from record `start` on, as far as file names tell? */
static bool log_reaches(const struct recovery *rc, uint64_t start)
{
    return file_list_find(&rc->files, start) >= 0;
}

/* Find the newest complete snapshot, reading each candidate whole, so that no record of a damaged
 * one is ever given out. */
static int choose_snapshot(struct recovery *rc)
{
    const struct lsn_list *snaps = &rc->files.snapshots;
    char reason[WALK_REASON_BYTES] = "", name[FILE_NAME_BYTES] = "";

    for (size_t i = snaps->n; i-- > 0;) {
        uint64_t puts;
        int r;

        if (rc->config->limit_lsn && snaps->lsn[i] > rc->config->limit_lsn)
            continue; /* of what came later */
        r = walk_snapshot(rc->dir_fd, snaps->lsn[i], &rc->opts, NULL, NULL, &puts, reason);
        if (r == 0) {
            rc->snapshot_lsn = snaps->lsn[i];
            break;
        }
        if (r != -EBADMSG && r != -EIO)
            return err_set(rc->err, r, "journal: cannot read snapshot %016" PRIx64 ".snap: %s",
                           snaps->lsn[i], reason);
        snapshot_name(snaps->lsn[i], name);
        log_error("journal: snapshot %s/%s/%s is damaged: %s; using what came before it",
                  rc->config->dir, JOURNAL_SUBDIR, name, reason);
        rc->n_bad++;
    }
    if (log_reaches(rc, rc->snapshot_lsn + 1) || (!rc->files.segments.n && !snaps->n))
        return 0;
    if (rc->n_bad)
        return report_damage(rc, name, 0, rc->snapshot_lsn + 1,
                             "the log no longer reaches back before it");
    if (!rc->files.segments.n) {
        snapshot_name(rc->snapshot_lsn, name);
        return report_damage(rc, name, 0, rc->snapshot_lsn + 1,
                             "the log files after it are missing");
    }
    segment_name(rc->files.segments.lsn[0], rc->files.segments.term[0], name);
    return report_damage(rc, name, 0, rc->snapshot_lsn + 1, "the log files before it are missing");
}

/* The caller has the state of known_lsn: that stands for a snapshot. */
static int begin_at_known(struct recovery *rc)
{
    const struct lsn_list *snaps = &rc->files.snapshots;

    rc->snapshot_lsn = rc->config->known_lsn;
    if (log_reaches(rc, rc->snapshot_lsn + 1))
        return 0;
    return err_set(rc->err, -ENOENT,
                   "journal: record %" PRIu64
                   " is no longer kept in %s, whose newest snapshot is of "
                   "record %" PRIu64,
                   rc->snapshot_lsn + 1, rc->config->dir, snaps->n ? snaps->lsn[snaps->n - 1] : 0);
}

static int replay_snapshot(struct recovery *rc, journal_record_fn *fn, void *ctx)
{
    char reason[WALK_REASON_BYTES] = "";
    uint64_t puts;
    int r;

    if (!rc->snapshot_lsn || rc->config->known_lsn)
        return 0;
    r = walk_snapshot(rc->dir_fd, rc->snapshot_lsn, &rc->opts, fn, ctx, &puts, reason);
    if (r < 0 && reason[0])
        return err_set(rc->err, r, "journal: cannot read snapshot %016" PRIx64 ".snap: %s",
                       rc->snapshot_lsn, reason);
    return r;
}

static int replay_log(struct recovery *rc, journal_record_fn *fn, void *ctx)
{
    const struct lsn_list *snaps = &rc->files.snapshots;
    char name[FILE_NAME_BYTES];
    int r;

    if (!rc->files.segments.n) {
        rc->walk = (struct walk){ .lsn = 1 };
        return 0;
    }
    /* A snapshot is renamed only when its lsn is on disk, whatever became of the file since. */
    rc->opts.proven_lsn = MAX(snaps->n ? snaps->lsn[snaps->n - 1] : 0, rc->config->known_lsn);
    r = walk_log(rc->dir_fd, &rc->files, rc->snapshot_lsn + 1, &rc->opts, fn, ctx, &rc->walk);
    segment_name(rc->walk.segment, rc->walk.term, name);
    if (r < 0 && rc->walk.failed == 0)
        return err_set(rc->err, r, "journal: cannot read %s/%s/%s: %s", rc->config->dir,
                       JOURNAL_SUBDIR, name,
                       rc->walk.reason[0] ? rc->walk.reason : strerrordesc_np(-r));
    if (r < 0)
        return r;
    if (rc->walk.state == WALK_DAMAGE)
        return report_damage(rc, name, rc->walk.offset, rc->walk.lsn, rc->walk.reason);
    if (rc->walk.state == WALK_TORN)
        log_info("journal: %s/%s/%s ends in an unfinished write: %s %" PRIu64
                 " bytes at offset %" PRIu64 ", record %" PRIu64 " was never acknowledged",
                 rc->config->dir, JOURNAL_SUBDIR, name,
                 rc->config->read_only ? "ignored"
                 : rc->config->term    ? "left out"
                                       : "cut off",
                 rc->walk.torn, rc->walk.offset, rc->walk.lsn);
    return 0;
}

/* A damaged snapshot must not be counted among the two newest ever again. */
static int set_bad_aside(const struct recovery *rc)
{
    const struct lsn_list *snaps = &rc->files.snapshots;

    for (size_t i = snaps->n - rc->n_bad; i < snaps->n; i++) {
        char name[FILE_NAME_BYTES], bad[FILE_NAME_BYTES + 4];

        snapshot_name(snaps->lsn[i], name);
        (void)snprintf(bad, sizeof(bad), "%s.bad", name); /* fits */
        if (renameat(rc->dir_fd, name, rc->dir_fd, bad) < 0)
            return -errno;
    }
    return 0;
}

/* A new term: what was read counts from now on, so it must be on the disk; the old file is left as
 * it is, since its writer may not know yet that it is over. */
static int begin_term(struct recovery *rc, struct journal *j)
{
    _cleanup_close_ int fd = -1;
    char name[FILE_NAME_BYTES];

    if (rc->files.segments.n) {
        segment_name(rc->walk.segment, rc->walk.term, name);
        fd = openat(rc->dir_fd, name, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0)
            return -errno;
    }
    return segment_create(&j->policy, rc->walk.lsn, &j->segment);
}

/* The records of this release go to a file that says so: one of an older release ends here. */
static int begin_level(struct recovery *rc, struct journal *j)
{
    struct segment old;
    int r = segment_reopen(&j->policy, rc->walk.segment, 0, rc->walk.offset, &old);

    if (r < 0)
        return r;
    segment_close(&old);
    return segment_create(&j->policy, rc->walk.lsn, &j->segment);
}

/* The log is sound: make the disk agree with what was read, and find the place to append. */
static int open_end(struct recovery *rc, struct journal *j)
{
    int r = set_bad_aside(rc);

    if (r < 0)
        return err_set(rc->err, r, "journal: cannot rename a damaged snapshot in %s/%s: %s",
                       rc->config->dir, JOURNAL_SUBDIR, strerrordesc_np(-r));
    file_list_remove_temporary(rc->dir_fd, &rc->files);
    if (j->config.term)
        r = begin_term(rc, j);
    else if (!rc->files.segments.n)
        r = segment_create(&j->policy, 1, &j->segment);
    else if (rc->walk.level < LOG_LEVEL)
        r = begin_level(rc, j);
    else
        r = segment_reopen(&j->policy, rc->walk.segment, 0, rc->walk.offset, &j->segment);
    if (r == 0 && fsync(rc->dir_fd) < 0)
        r = -errno;
    if (r < 0)
        return err_set(rc->err, r, "journal: cannot open the log in %s/%s for writing: %s",
                       rc->config->dir, JOURNAL_SUBDIR, strerrordesc_np(-r));
    return 0;
}

static int init_threads(struct journal *j)
{
    pthread_condattr_t attr;
    int r = pthread_condattr_init(&attr);

    if (r)
        return -r;
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* cannot fail: valid arguments */
    r = pthread_mutex_init(&j->lock, NULL);
    if (r == 0)
        r = pthread_cond_init(&j->wake, &attr);
    if (r == 0)
        r = pthread_cond_init(&j->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    return -r;
}

static int journal_new(const struct journal_config *config, struct journal **ret_journal)
{
    struct journal *j = calloc(1, sizeof(*j));
    char *dir = j ? strdup(config->dir) : NULL;
    int r = dir ? init_threads(j) : -ENOMEM;

    if (r < 0) {
        free(dir);
        free(j);
        return r;
    }
    j->config = *config;
    j->config.dir = dir;
    if (!j->config.segment_bytes)
        j->config.segment_bytes = SEGMENT_BYTES_DEFAULT;
    if (!j->config.batch_bytes)
        j->config.batch_bytes = BATCH_BYTES_DEFAULT;
    j->config.batch_bytes = MIN(j->config.batch_bytes, (size_t)BATCH_BYTES_MAX);
    j->dir_fd = j->lock_fd = j->segment.fd = -1;
    j->filling = &j->batches[0];
    *ret_journal = j;
    return 0;
}

/* What is behind the newest snapshot and was not read, since the caller knew it: sizes of files,
 * which may be a little more than what is in them. */
static uint64_t unread_bytes(const struct recovery *rc, uint64_t newest)
{
    const struct lsn_list *segs = &rc->files.segments;
    long first = file_list_find(&rc->files, rc->snapshot_lsn + 1);
    uint64_t bytes = 0;

    for (long i = 0; rc->config->known_lsn && i < first; i++) {
        char name[FILE_NAME_BYTES];
        struct stat st;

        segment_name(segs->lsn[i], segs->term[i], name);
        if (segs->lsn[i] > newest && fstatat(rc->dir_fd, name, &st, 0) == 0)
            bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

static void count_log(struct journal *j, const struct recovery *rc)
{
    const struct lsn_list *snaps = &rc->files.snapshots;
    const struct lsn_list *lists[] = { &rc->files.segments, &rc->files.stale };
    size_t good = snaps->n - rc->n_bad;
    uint64_t newest = good ? snaps->lsn[good - 1] : 0, files = 1;

    for (size_t k = 0; k < ARRAY_SIZE(lists); k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            files += lists[k]->lsn[i] > newest;
    atomic_store(&j->log_files, files);
    atomic_store(&j->log_bytes, rc->walk.bytes + unread_bytes(rc, newest));
}

static void journal_publish(struct journal *j, const struct recovery *rc)
{
    j->marked = rc->walk.marked;
    atomic_store(&j->last, rc->walk.lsn - 1);
    atomic_store(&j->durable, rc->walk.lsn - 1);
    count_log(j, rc);
    atomic_store(&j->segments, MAX(rc->files.segments.n, (size_t)1));
}

/* Without a term the log cannot go on behind one with terms: it would not count. */
static int check_term(const struct recovery *rc)
{
    const struct lsn_list *segs = &rc->files.segments;

    if (!segs->n || !segs->term[segs->n - 1])
        return 0;
    return err_set(rc->err, -EINVAL,
                   "journal: the log in %s is that of term %" PRIu32
                   " and goes on only in a later one",
                   rc->config->dir, segs->term[segs->n - 1]);
}

static int recover_log(struct journal *j, journal_record_fn *fn, void *ctx, struct err *err)
{
    _cleanup_val_(recovery_done) struct recovery rc = {
        .config = &j->config,
        .dir_fd = j->dir_fd,
        .err = err,
        .opts = { .cluster_id = j->config.cluster_id, .any_level = j->config.any_level },
    };
    int r = file_list_read(j->dir_fd, &rc.files);

    if (r < 0)
        return err_set(err, r, "journal: cannot list %s/%s: %s", j->config.dir, JOURNAL_SUBDIR,
                       strerrordesc_np(-r));
    r = j->config.known_lsn ? begin_at_known(&rc) : choose_snapshot(&rc);
    if (r == 0 && !j->config.term && !j->config.read_only)
        r = check_term(&rc);
    if (r == 0)
        r = replay_snapshot(&rc, fn, ctx);
    if (r == 0)
        r = replay_log(&rc, fn, ctx);
    if (r == 0 && j->config.on_last)
        r = j->config.on_last(ctx);
    if (r == 0 && !j->config.read_only)
        r = open_end(&rc, j);
    if (r == 0)
        journal_publish(j, &rc);
    return r;
}

int journal_open(const struct journal_config *config, journal_record_fn *on_record,
                 void *record_ctx, struct journal **ret_journal, struct err *err)
{
    struct journal *j = NULL;
    int r = journal_new(config, &j);

    if (r < 0)
        return err_set(err, r, "journal: %s", strerrordesc_np(-r));
    r = journal_dir_open(config->dir, !config->read_only, &j->dir_fd, err);
    if (r == 0 && !config->read_only)
        r = config->term ? journal_dir_relock(j->dir_fd, config->dir, &j->lock_fd, err)
                         : journal_dir_lock(j->dir_fd, config->dir, &j->lock_fd, err);
    if (r == 0) {
        j->policy = (struct segment_policy){
            .dir_fd = j->dir_fd,
            .term = config->term,
            .cluster_id = config->cluster_id,
            .segment_bytes = j->config.segment_bytes,
            .reserve_bytes = config->reserve_bytes,
            .unsynced = config->remote && config->remote->append,
        };
        r = recover_log(j, on_record, record_ctx, err);
    }
    if (r < 0) {
        (void)journal_close(j);
        return r;
    }
    *ret_journal = j;
    return 0;
}
