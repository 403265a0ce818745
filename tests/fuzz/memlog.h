/* memlog.h - journal.h in memory: what is appended is durable when it is committed
 *
 * Defines every function of journal.h that daemons use, so that the linker takes none of journal/.
 */
#pragma once

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "journal/journal.h"

struct memrec {
    uint8_t *data;
    size_t len;
};

struct memlist {
    struct memrec *recs;
    size_t n, cap;
};

struct journal {
    struct journal_config config;
    struct memlist log;
    uint64_t durable;
    bool full; /* the disk: as the script says */
};

struct journal_snapshot {
    uint64_t lsn;
};

struct journal_reader {
    uint64_t next;
};

static struct journal memlog;
static struct memlist memsnap; /* the last one that was committed */

static void memlist_add(struct memlist *l, const uint8_t *data, size_t len)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->recs = realloc(l->recs, l->cap * sizeof(*l->recs));
        assert(l->recs);
    }
    l->recs[l->n] = (struct memrec){ .data = malloc(len + 1), .len = len };
    assert(l->recs[l->n].data);
    memcpy(l->recs[l->n++].data, data, len);
}

static void memlist_clear(struct memlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->recs[i].data);
    l->n = 0;
}

int journal_open(const struct journal_config *config, journal_record_fn *on_record,
                 void *record_ctx, struct journal **ret_journal, struct err *err)
{
    (void)err;
    memlog.config = *config;
    for (size_t i = 0; i < memlog.log.n; i++) {
        int r =
            on_record(record_ctx, i + 1, false, memlog.log.recs[i].data, memlog.log.recs[i].len);

        if (r < 0)
            return r;
    }
    *ret_journal = &memlog;
    return 0;
}

int journal_start(struct journal *j)
{
    (void)j;
    return 0;
}

struct journal *journal_close(struct journal *j)
{
    journal_commit(j);
    return NULL;
}

int journal_append(struct journal *j, const uint8_t *data, size_t len, uint64_t *ret_lsn)
{
    if (len > JOURNAL_MAX_RECORD)
        return -EMSGSIZE;
    if (j->full)
        return -ENOSPC;
    memlist_add(&j->log, data, len);
    *ret_lsn = j->log.n;
    return 0;
}

void journal_commit(struct journal *j)
{
    if (j->durable == j->log.n)
        return;
    j->durable = j->log.n;
    if (j->config.on_durable)
        j->config.on_durable(j->config.ctx, j->durable);
}

uint64_t journal_last(const struct journal *j)
{
    return j->log.n;
}

uint64_t journal_durable(const struct journal *j)
{
    return j->durable;
}

int journal_wait_durable(struct journal *j, uint64_t lsn)
{
    (void)j;
    (void)lsn;
    return 0;
}

uint64_t journal_bytes_since_snapshot(const struct journal *j)
{
    (void)j;
    return 0;
}

uint64_t journal_files_since_snapshot(const struct journal *j)
{
    (void)j;
    return 0;
}

void journal_get_stats(const struct journal *j, struct journal_stats *ret)
{
    *ret = (struct journal_stats){ .records = j->log.n };
}

const struct histogram *journal_sync_histogram(const struct journal *j)
{
    static const struct histogram none;

    (void)j;
    return &none;
}

int journal_repair(const char *dir, void (*report)(void *ctx, const char *line), void *ctx,
                   struct err *err)
{
    (void)dir;
    (void)report;
    (void)ctx;
    (void)err;
    return 0;
}

int journal_snapshot_begin(struct journal *j, uint64_t lsn, struct journal_snapshot **ret_snap)
{
    static struct journal_snapshot snap;

    (void)j;
    memlist_clear(&memsnap);
    snap.lsn = lsn;
    *ret_snap = &snap;
    return 0;
}

int journal_snapshot_put(struct journal_snapshot *s, const uint8_t *data, size_t len)
{
    (void)s;
    memlist_add(&memsnap, data, len);
    return 0;
}

int journal_snapshot_commit(struct journal_snapshot *s, uint64_t keep_lsn)
{
    (void)s;
    (void)keep_lsn;
    return 0;
}

void journal_snapshot_abort(struct journal_snapshot *s)
{
    (void)s;
    memlist_clear(&memsnap);
}

int journal_reader_open(const char *dir, uint64_t from_lsn, struct journal_reader **ret_reader,
                        struct err *err)
{
    struct journal_reader *r = calloc(1, sizeof(*r));

    (void)dir;
    (void)err;
    assert(r);
    r->next = from_lsn ? from_lsn : 1;
    *ret_reader = r;
    return 0;
}

int journal_reader_next(struct journal_reader *r, uint64_t limit_lsn, uint64_t *ret_lsn,
                        const uint8_t **ret_data, size_t *ret_len, struct err *err)
{
    (void)err;
    if (r->next > limit_lsn || r->next > memlog.log.n)
        return 0;
    *ret_lsn = r->next;
    *ret_data = memlog.log.recs[r->next - 1].data;
    *ret_len = memlog.log.recs[r->next - 1].len;
    r->next++;
    return 1;
}

struct journal_reader *journal_reader_close(struct journal_reader *r)
{
    free(r);
    return NULL;
}

/* Nothing was ever written. */
static void memlog_reset(void)
{
    memlist_clear(&memlog.log);
    memlist_clear(&memsnap);
    memlog.durable = 0;
    memlog.full = false;
}
