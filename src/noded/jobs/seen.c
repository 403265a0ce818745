/* seen.c - see seen.h
 *
 * A table per kind; chains are cleaned as they are walked.  The file is a header and records of one
 * size, in the machine's own byte order, appended as they come and written anew when most of them
 * have expired. */
#include "noded/jobs/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"

#define BUCKETS 1024u
#define NO_USER UINT32_MAX
#define SLACK 1024u /* records of expired entries that are not worth a new file */
#define HEADER                                                                                     \
    "PSTKSEEN 00001\n" /* with the end of the string 16 bytes; the number is the format's */

struct record {
    uint32_t kind;
    uint32_t check; /* of the rest: a record that was cut, or never ours, ends the list */
    uint8_t key[SEEN_KEY];
    int64_t until_us;
};
_Static_assert(sizeof(struct record) == 48, "records have no holes");
_Static_assert(sizeof(HEADER) == 16, "the header has 16 bytes");

struct entry {
    struct entry *next;
    uint8_t key[SEEN_KEY];
    uint32_t uid; /* NO_USER: of a slurmd before us, or of nobody's */
    int64_t until_us;
};

struct share {
    uint32_t uid;
    size_t n;
};

struct table {
    struct entry *buckets[BUCKETS];
    size_t n;
    struct share *shares; /* of users with entries; those with none are used again */
    size_t n_shares;
};

struct seen {
    struct table tables[SEEN_KINDS];
    char *path;
    int fd;
    size_t n_records, n_kept; /* in the file; when it was written anew */
};

/* ---- tables ---------------------------------------------------------------------------------- */

/* Of a job its number and its run's, which are mostly the same: a sum of words would be none. */
static struct entry **bucket_of(struct seen *s, enum seen_kind kind, const uint8_t *key)
{
    return &s->tables[kind].buckets[fnv_bytes(key, SEEN_KEY, FNV_BEGIN) % BUCKETS];
}

/* NULL: none, and there is no memory for one. */
static struct share *share_of(struct table *t, uint32_t uid)
{
    struct share *unused = NULL, *more;

    for (size_t i = 0; i < t->n_shares; i++) {
        if (t->shares[i].n && t->shares[i].uid == uid)
            return &t->shares[i];
        if (!t->shares[i].n)
            unused = &t->shares[i];
    }
    if (!unused) {
        more = reallocarray(t->shares, t->n_shares + 1, sizeof(*more));
        if (!more)
            return NULL;
        t->shares = more;
        unused = &more[t->n_shares++];
    }
    *unused = (struct share){ .uid = uid };
    return unused;
}

static void free_entry(struct table *t, struct entry *e)
{
    struct share *share = e->uid == NO_USER ? NULL : share_of(t, e->uid);

    if (share && share->n)
        share->n--;
    t->n--;
    free(e);
}

static unsigned count_chain(struct table *t, struct entry **p, const uint8_t *key, int64_t now)
{
    unsigned n = 0;

    while (*p) {
        struct entry *e = *p;

        if (e->until_us < now) {
            *p = e->next;
            free_entry(t, e);
            continue;
        }
        n += key && memcmp(e->key, key, SEEN_KEY) == 0;
        p = &e->next;
    }
    return n;
}

unsigned seen_count(struct seen *s, enum seen_kind kind, const uint8_t key[static SEEN_KEY],
                    int64_t now)
{
    return count_chain(&s->tables[kind], bucket_of(s, kind, key), key, now);
}

static void drop_expired(struct table *t, int64_t now)
{
    for (size_t i = 0; i < BUCKETS; i++)
        (void)count_chain(t, &t->buckets[i], NULL, now); /* for its cleaning */
}

static int add_entry(struct seen *s, enum seen_kind kind, const uint8_t *key, uint32_t uid,
                     int64_t until_us)
{
    struct entry *e = malloc(sizeof(*e)), **bucket = bucket_of(s, kind, key);
    struct share *share = uid == NO_USER ? NULL : share_of(&s->tables[kind], uid);

    if (!e || (uid != NO_USER && !share)) {
        free(e);
        return -ENOMEM;
    }
    if (share)
        share->n++;
    *e = (struct entry){ .next = *bucket, .uid = uid, .until_us = until_us };
    memcpy(e->key, key, SEEN_KEY);
    *bucket = e;
    s->tables[kind].n++;
    return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static uint32_t check_of(const struct record *r)
{
    const uint8_t *p = (const uint8_t *)r->key;
    uint32_t h = 2166136261u ^ r->kind;

    for (size_t i = 0; i < SEEN_KEY + sizeof(r->until_us); i++)
        h = (h ^ p[i]) * 16777619u;
    return h;
}

static struct record record_of(enum seen_kind kind, const uint8_t *key, int64_t until_us)
{
    struct record r = { .kind = kind, .until_us = until_us };

    memcpy(r.key, key, SEEN_KEY);
    r.check = check_of(&r);
    return r;
}

static int write_whole(int fd, const void *data, size_t len)
{
    ssize_t n = write(fd, data, len);

    return n == (ssize_t)len ? 0 : n < 0 ? -errno : -ENOSPC;
}

static int write_tables(const struct seen *s, int fd, size_t *ret_n)
{
    int r = write_whole(fd, HEADER, sizeof(HEADER));
    size_t n = 0;

    for (unsigned kind = 0; kind < SEEN_KINDS; kind++) {
        for (size_t i = 0; i < BUCKETS; i++) {
            for (const struct entry *e = s->tables[kind].buckets[i]; e && r == 0; e = e->next) {
                struct record rec = record_of((enum seen_kind)kind, e->key, e->until_us);

                r = write_whole(fd, &rec, sizeof(rec));
                n++;
            }
        }
    }
    *ret_n = n;
    return r;
}

/* A reader after a kill finds the old file or the new one. */
static int rewrite_file(struct seen *s, int64_t now)
{
    _cleanup_free_ char *tmp = NULL;
    _cleanup_close_ int fd = -1;
    size_t n;
    int r;

    for (unsigned kind = 0; kind < SEEN_KINDS; kind++)
        drop_expired(&s->tables[kind], now);
    if (asprintf(&tmp, "%s.new", s->path) < 0) {
        tmp = NULL;
        return -ENOMEM;
    }
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_tables(s, fd, &n);
    if (r == 0 && rename(tmp, s->path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(tmp); /* r is the story */
        return r;
    }
    if (s->fd >= 0)
        (void)close(s->fd); /* replaced */
    s->fd = TAKE_FD(fd);
    s->n_records = s->n_kept = n;
    return 0;
}

static int read_file(struct seen *s, FILE *f, int64_t now)
{
    char header[sizeof(HEADER)];
    struct record r;

    if (fread(header, sizeof(header), 1, f) != 1 || memcmp(header, HEADER, sizeof(header)) != 0)
        return 0; /* cut at its birth, or of a later release: as good as none */
    while (fread(&r, sizeof(r), 1, f) == 1 && r.kind < SEEN_KINDS && r.check == check_of(&r)) {
        if (r.until_us < now || s->tables[r.kind].n >= SEEN_MAX)
            continue;
        if (add_entry(s, (enum seen_kind)r.kind, r.key, NO_USER, r.until_us) < 0)
            return -ENOMEM;
    }
    return ferror(f) ? -EIO : 0;
}

DEFINE_CLEANUP(struct seen *, seen_free)

int seen_open(const char *path, int64_t now, struct seen **ret, bool *ret_fresh, struct err *err)
{
    _cleanup_(seen_free) struct seen *s = calloc(1, sizeof(*s));
    _cleanup_fclose_ FILE *f = NULL;
    int r;

    if (!s)
        return err_nomem(err);
    s->fd = -1;
    s->path = strdup(path);
    if (!s->path)
        return err_nomem(err);
    f = fopen(path, "re");
    if (!f && errno != ENOENT)
        return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    r = f ? read_file(s, f, now) : 0;
    if (r < 0)
        return err_set(err, r, "cannot read %s: %s", path, strerror(-r));
    r = rewrite_file(s, now);
    if (r < 0)
        return err_set(err, r, "cannot write %s: %s", path, strerror(-r));
    *ret_fresh = f == NULL;
    *ret = TAKE_PTR(s);
    return 0;
}

int seen_note(struct seen *s, enum seen_kind kind, const uint8_t key[static SEEN_KEY],
              int64_t until_us, int64_t now)
{
    return seen_note_of(s, kind, key, NO_USER, until_us, now);
}

static bool has_room(struct table *t, uint32_t uid, int *ret_r)
{
    const struct share *share = uid == NO_USER ? NULL : share_of(t, uid);

    *ret_r = t->n >= SEEN_MAX ? -ENOSPC : share && share->n >= SEEN_USER_MAX ? -EDQUOT : 0;
    return *ret_r == 0;
}

int seen_note_of(struct seen *s, enum seen_kind kind, const uint8_t key[static SEEN_KEY],
                 uint32_t uid, int64_t until_us, int64_t now)
{
    struct record rec = record_of(kind, key, until_us);
    struct table *t = &s->tables[kind];
    int r;

    if (!has_room(t, uid, &r)) {
        drop_expired(t, now);
        if (!has_room(t, uid, &r))
            return r;
    }
    if (s->n_records > 2 * s->n_kept + SLACK)
        r = rewrite_file(s, now);
    if (r == 0)
        r = write_whole(s->fd, &rec, sizeof(rec));
    if (r < 0)
        return r;
    s->n_records++;
    return add_entry(s, kind, key, uid, until_us);
}

void seen_job_key(uint32_t job_id, uint64_t run_id, uint8_t ret[static SEEN_KEY])
{
    memset(ret, 0, SEEN_KEY);
    memcpy(ret, &job_id, sizeof(job_id));
    memcpy(ret + 8, &run_id, sizeof(run_id));
}

struct seen *seen_free(struct seen *s)
{
    if (!s)
        return NULL;
    for (unsigned kind = 0; kind < SEEN_KINDS; kind++)
        drop_expired(&s->tables[kind], INT64_MAX);
    for (unsigned kind = 0; kind < SEEN_KINDS; kind++)
        free(s->tables[kind].shares);
    if (s->fd >= 0)
        (void)close(s->fd); /* every record was written when it was made */
    free(s->path);
    free(s);
    return NULL;
}
