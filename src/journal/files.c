/* files.c - names, listing and lock of the journal's directory; see files.h.
 *
 * Owns nothing between calls.  Any thread.  Design note 0001, "Files". */
#include "journal/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LSN_DIGITS 16
#define TERM_DIGITS 8
#define RELOCK_TRIES 8

void segment_name(uint64_t lsn, uint32_t term, char out[static FILE_NAME_BYTES])
{
    if (term)
        (void)snprintf(out, FILE_NAME_BYTES, "%016" PRIx64 "-%08" PRIx32 ".log", lsn, term);
    else
        (void)snprintf(out, FILE_NAME_BYTES, "%016" PRIx64 ".log", lsn); /* always fit */
}

void snapshot_name(uint64_t lsn, char out[static FILE_NAME_BYTES])
{
    (void)snprintf(out, FILE_NAME_BYTES, "%016" PRIx64 ".snap", lsn); /* always fits */
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(const char *text, int digits, uint64_t *ret)
{
    uint64_t n = 0;

    for (int i = 0; i < digits; i++) {
        int d = hex_digit(text[i]);

        if (d < 0)
            return false;
        n = n << 4 | (uint64_t)d;
    }
    *ret = n;
    return true;
}

enum file_kind file_name_parse(const char *name, uint64_t *ret_lsn, uint32_t *ret_term)
{
    static const struct {
        const char *suffix;
        enum file_kind kind;
    } suffixes[] = {
        { ".log", FILE_SEGMENT },        { ".snap", FILE_SNAPSHOT }, { ".log.tmp", FILE_TEMPORARY },
        { ".snap.tmp", FILE_TEMPORARY }, { ".snap.bad", FILE_BAD },
    };
    const char *suffix = name + LSN_DIGITS;
    uint64_t lsn, term = 0;

    if (!parse_hex(name, LSN_DIGITS, &lsn))
        return FILE_KIND_MAX;
    if (*suffix == '-') {
        if (!parse_hex(suffix + 1, TERM_DIGITS, &term) || !term)
            return FILE_KIND_MAX;
        suffix += 1 + TERM_DIGITS;
        if (strncmp(suffix, ".log", 4) != 0)
            return FILE_KIND_MAX; /* snapshots belong to no term */
    }
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        if (strcmp(suffix, suffixes[i].suffix) == 0) {
            *ret_lsn = lsn;
            *ret_term = (uint32_t)term;
            return suffixes[i].kind;
        }
    }
    return FILE_KIND_MAX;
}

int journal_dir_open(const char *dir, bool create, int *ret_fd, struct err *err)
{
    _cleanup_close_ int parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd;

    if (parent < 0)
        return err_set(err, -errno, "journal: cannot open %s: %m", dir);
    if (create) {
        if (mkdirat(parent, JOURNAL_SUBDIR, 0700) == 0) {
            if (fsync(parent) < 0)
                return err_set(err, -errno, "journal: cannot sync %s: %m", dir);
        } else if (errno != EEXIST) {
            return err_set(err, -errno, "journal: cannot create %s/%s: %m", dir, JOURNAL_SUBDIR);
        }
    }
    fd = openat(parent, JOURNAL_SUBDIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, -errno, "journal: cannot open %s/%s: %m", dir, JOURNAL_SUBDIR);
    *ret_fd = fd;
    return 0;
}

int journal_dir_lock(int dir_fd, const char *dir, int *ret_fd, struct err *err)
{
    _cleanup_close_ int fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fd < 0)
        return err_set(err, -errno, "journal: cannot open %s/%s/lock: %m", dir, JOURNAL_SUBDIR);
    if (fcntl(fd, F_OFD_SETLK, &fl) < 0) {
        if (errno == EAGAIN || errno == EACCES)
            return err_set(err, -EBUSY, "journal: %s/%s is in use by another process", dir,
                           JOURNAL_SUBDIR);
        return err_set(err, -errno, "journal: cannot lock %s/%s/lock: %m", dir, JOURNAL_SUBDIR);
    }
    *ret_fd = TAKE_FD(fd);
    return 0;
}

bool journal_dir_is_free(int dir_fd)
{
    _cleanup_close_ int fd = openat(dir_fd, "lock", O_RDWR | O_CLOEXEC);
    struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fd < 0)
        return errno == ENOENT;
    return fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type == F_UNLCK;
}

int journal_dir_relock(int dir_fd, const char *dir, int *ret_fd, struct err *err)
{
    int r = -EBUSY;

    for (int i = 0; i < RELOCK_TRIES && r == -EBUSY; i++) {
        if (unlinkat(dir_fd, "lock", 0) < 0 && errno != ENOENT)
            return err_set(err, -errno, "journal: cannot replace %s/%s/lock: %m", dir,
                           JOURNAL_SUBDIR);
        r = journal_dir_lock(dir_fd, dir, ret_fd, err);
    }
    if (r == 0 && err)
        err->text[0] = '\0'; /* of a try before */
    return r;
}

static int lsn_list_add(struct lsn_list *l, uint64_t lsn, uint32_t term)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        uint64_t *p = reallocarray(l->lsn, cap, sizeof(*p));
        uint32_t *t = reallocarray(l->term, cap, sizeof(*t));

        l->lsn = p ? p : l->lsn;
        l->term = t ? t : l->term;
        if (!p || !t)
            return -ENOMEM;
        l->cap = cap;
    }
    l->lsn[l->n] = lsn;
    l->term[l->n++] = term;
    return 0;
}

static void lsn_list_done(struct lsn_list *l)
{
    free(l->lsn);
    free(l->term);
}

static int add_other(struct file_list *l, const char *name)
{
    if (l->n_others == l->cap_others) {
        size_t cap = l->cap_others ? 2 * l->cap_others : 8;
        void *p = reallocarray(l->others, cap, sizeof(*l->others));

        if (!p)
            return -ENOMEM;
        l->others = p;
        l->cap_others = cap;
    }
    (void)snprintf(l->others[l->n_others++], FILE_NAME_BYTES, "%s", name); /* parsed: fits */
    return 0;
}

struct place {
    uint64_t lsn;
    uint32_t term;
};

/* Ascending, of one lsn the newest term first. */
static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->lsn != y->lsn)
        return x->lsn > y->lsn ? 1 : -1;
    return (x->term < y->term) - (x->term > y->term);
}

static int lsn_list_sort(struct lsn_list *l)
{
    _cleanup_free_ struct place *places = l->n ? calloc(l->n, sizeof(*places)) : NULL;

    if (!l->n)
        return 0;
    if (!places)
        return -ENOMEM;
    for (size_t i = 0; i < l->n; i++)
        places[i] = (struct place){ l->lsn[i], l->term[i] };
    qsort(places, l->n, sizeof(*places), by_place);
    for (size_t i = 0; i < l->n; i++) {
        l->lsn[i] = places[i].lsn;
        l->term[i] = places[i].term;
    }
    return 0;
}

/* Whoever begins a term reads the log to its end first, and begins there: what writers of earlier
 * terms put at or behind that place was never acknowledged. */
static int set_stale_apart(struct file_list *l)
{
    struct lsn_list *segs = &l->segments;
    uint32_t newest = 0;
    size_t kept = 0;

    for (size_t i = 0; i < segs->n; i++) {
        int r = 0;

        if (segs->term[i] < newest) {
            r = lsn_list_add(&l->stale, segs->lsn[i], segs->term[i]);
        } else {
            newest = segs->term[i];
            segs->lsn[kept] = segs->lsn[i];
            segs->term[kept++] = segs->term[i];
        }
        if (r < 0)
            return r;
    }
    segs->n = kept;
    return 0;
}

static int add_name(struct file_list *l, const char *name)
{
    uint64_t lsn = 0;
    uint32_t term = 0;

    switch (file_name_parse(name, &lsn, &term)) {
    case FILE_SEGMENT:
        return lsn_list_add(&l->segments, lsn, term);
    case FILE_SNAPSHOT:
        return lsn_list_add(&l->snapshots, lsn, 0);
    case FILE_TEMPORARY:
    case FILE_BAD:
        return add_other(l, name);
    case FILE_KIND_MAX:
        break;
    }
    return 0;
}

int file_list_read(int dir_fd, struct file_list *ret_list)
{
    _cleanup_val_(file_list_done) struct file_list l = { 0 };
    _cleanup_close_ int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    int r = d ? 0 : -errno;
    struct dirent *e;

    if (!d)
        return r;
    (void)TAKE_FD(fd); /* closedir() closes it */
    errno = 0;
    for (size_t seen = 0; r == 0 && (e = readdir(d)); seen++)
        r = seen == FILES_MAX ? -E2BIG : add_name(&l, e->d_name);
    if (r == 0 && errno)
        r = -errno;
    (void)closedir(d); /* was only read */
    if (r < 0)
        return r;
    r = lsn_list_sort(&l.segments);
    if (r == 0)
        r = lsn_list_sort(&l.snapshots);
    if (r == 0)
        r = set_stale_apart(&l);
    if (r < 0)
        return r;
    *ret_list = l;
    l = (struct file_list){ 0 };
    return 0;
}

void file_list_done(struct file_list *l)
{
    lsn_list_done(&l->segments);
    lsn_list_done(&l->snapshots);
    lsn_list_done(&l->stale);
    free(l->others);
    *l = (struct file_list){ 0 };
}

long file_list_find(const struct file_list *l, uint64_t lsn)
{
    size_t lo = 0, hi = l->segments.n; /* segments below lo start at or below lsn */

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (l->segments.lsn[mid] <= lsn)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (long)lo - 1;
}

void file_list_remove_temporary(int dir_fd, const struct file_list *l)
{
    for (size_t i = 0; i < l->n_others; i++) {
        uint64_t lsn;
        uint32_t term;

        if (file_name_parse(l->others[i], &lsn, &term) == FILE_TEMPORARY)
            (void)unlinkat(dir_fd, l->others[i], 0); /* only costs space when it stays */
    }
}

int segment_open_read(int dir_fd, uint64_t lsn, uint32_t term, int *ret_fd)
{
    char name[FILE_NAME_BYTES];
    int fd;

    segment_name(lsn, term, name);
    fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_fd = fd;
    return 0;
}

int snapshot_open_read(int dir_fd, uint64_t lsn, int *ret_fd)
{
    char name[FILE_NAME_BYTES];
    int fd;

    snapshot_name(lsn, name);
    fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_fd = fd;
    return 0;
}

/* ---- files that are put aside ---------------------------------------------------------------- */

int journal_away_open(int dir_fd, const char *prefix, char name[static AWAY_NAME_BYTES], int *fd)
{
    time_t now = time(NULL);
    char stamp[20] = "";
    struct tm tm;

    if (*fd >= 0)
        return 0;
    if (!gmtime_r(&now, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm))
        return -EOVERFLOW;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, AWAY_NAME_BYTES, i ? "%s-%s-%d" : "%s-%s", prefix, stamp, i);
        if (mkdirat(dir_fd, name, 0700) == 0) {
            *fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            return *fd < 0 ? -errno : 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}
