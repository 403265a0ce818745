/* follow.c - applying the log of another controller; see follow.h.
 *
 * Owns a reader of the journal and knows what of it is in the cluster.  With a new term the reader
 * is opened anew: only a fresh listing shows where the log of the old term ends. */
#include "ctld/ha/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "journal/journal.h"
#include "model/cluster.h"

#include "event.pb-c.h"

#define BATCH_RECORDS 20000 /* then the caller looks at the lease again */

struct follow {
    char *dir;
    struct journal_reader *reader;
    uint32_t term;    /* for which the reader was opened */
    uint64_t applied; /* everything up to here is in the cluster */
    bool loaded;
};

int follow_new(const char *dir, struct follow **ret)
{
    struct follow *f = calloc(1, sizeof(*f));

    if (f)
        f->dir = strdup(dir);
    if (!f || !f->dir) {
        free(f);
        return -ENOMEM;
    }
    *ret = f;
    return 0;
}

struct follow *follow_free(struct follow *f)
{
    if (f) {
        (void)journal_reader_close(f->reader); /* always NULL */
        free(f->dir);
        free(f);
    }
    return NULL;
}

uint64_t follow_applied(const struct follow *f)
{
    return f && f->loaded ? f->applied : 0;
}

static int apply_record(struct cluster *cluster, const uint8_t *data, size_t len, struct err *err)
{
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    int r;

    if (!tx)
        return err_set(err, -EUCLEAN, "the record cannot be decoded");
    r = cluster_replay(cluster, tx, len, err);
    pst__transaction__free_unpacked(tx, NULL);
    return r;
}

/* ---- from a snapshot on ---------------------------------------------------------------------- */

struct loading {
    struct cluster *cluster;
    uint64_t limit, applied;
    struct err err; /* of a record that cannot be applied */
};

static int load_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct loading *l = ctx;
    int r;

    if (!snapshot && lsn > l->limit)
        return -ECANCELED; /* enough */
    r = apply_record(l->cluster, data, len, &l->err);
    l->applied = lsn;
    return r;
}

/* Read everything there is up to limit.  -EAGAIN: the folder, which another process changes, cannot
 * be read now; `why` has the reason. */
static int load_all(struct follow *f, struct cluster **cluster, uint64_t limit, struct err *why,
                    struct err *err)
{
    struct journal_config config = { .dir = f->dir, .read_only = true, .limit_lsn = limit };
    struct loading l = { .limit = limit };
    struct journal *journal = NULL;
    int r = cluster_new(&l.cluster);

    if (r < 0)
        return err_nomem(err);
    r = journal_open(&config, load_record, &l, &journal, why);
    (void)journal_close(journal); /* always NULL */
    if (r < 0 && r != -ECANCELED) {
        (void)cluster_free(l.cluster); /* always NULL */
        if (l.err.text[0])
            return err_set(err, -EUCLEAN, "the log cannot be applied: %s", l.err.text);
        return -EAGAIN;
    }
    (void)cluster_free(*cluster);
    *cluster = l.cluster;
    f->applied = l.applied;
    f->loaded = true;
    return 0;
}

int follow_read(struct follow *f, struct cluster **cluster, uint64_t limit, struct err *err)
{
    struct err why = { .text = "" };
    int r = load_all(f, cluster, limit, &why, err);

    return r == -EAGAIN ? err_set(err, r, "%s", why.text) : r;
}

/* ---- record by record ------------------------------------------------------------------------ */

static int open_reader(struct follow *f, uint32_t term)
{
    struct err why = { .text = "" };
    int r;

    f->reader = journal_reader_close(f->reader);
    r = journal_reader_open(f->dir, f->applied + 1, &f->reader, &why);
    f->term = term;
    if (r == -ENOENT)
        f->loaded = false; /* let go before we had it: from the snapshot that made it superfluous */
    else if (r < 0)
        log_debug("standing by: %s", why.text);
    return r;
}

/* 1: one more is applied, 0: there is none to be seen now. */
static int take_next(struct follow *f, struct cluster *cluster, uint64_t limit, struct err *err)
{
    struct err why = { .text = "" };
    const uint8_t *data;
    uint64_t lsn;
    size_t len;
    int r = journal_reader_next(f->reader, limit, &lsn, &data, &len, &why);

    if (r < 0) {
        log_debug("standing by: %s", why.text); /* this host may not see it yet */
        if (r == -ENOENT)
            f->loaded = false;
        return -EAGAIN;
    }
    if (r == 0)
        return 0;
    r = apply_record(cluster, data, len, err);
    if (r < 0) {
        err_prefix(err, "the log cannot be applied: lsn %llu", (unsigned long long)lsn);
        return r;
    }
    f->applied = lsn;
    return 1;
}

static int read_on(struct follow *f, struct cluster *cluster, uint64_t limit, struct err *err)
{
    int r = 1;

    for (int n = 0; r > 0 && n < BATCH_RECORDS && f->applied < limit; n++)
        r = take_next(f, cluster, limit, err);
    return MIN(r, 0);
}

int follow_to(struct follow *f, struct cluster **cluster, uint32_t term, uint64_t limit,
              struct err *err)
{
    struct err why = { .text = "" };
    int r = 0;

    if (!f->loaded)
        r = load_all(f, cluster, limit, &why, err);
    if (r == -EAGAIN)
        log_debug("standing by: the log cannot be read now: %s", why.text);
    if (r == 0 && f->applied < limit && (!f->reader || f->term != term))
        r = open_reader(f, term);
    if (r == 0 && f->applied < limit)
        r = read_on(f, *cluster, limit, err);
    if (r < 0)
        f->reader = journal_reader_close(f->reader);
    if (r < 0 && err->text[0])
        f->loaded = false;
    return r < 0 && err->text[0] ? r : 0;
}
