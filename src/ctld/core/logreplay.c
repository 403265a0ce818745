/* logreplay.c - reading the log into a cluster, with two threads; see logreplay.h
 *
 * Batches of decoded transactions go from the reader to the applier through a ring under `lock`.
 * The cluster is the applier's until it was joined, which is before the journal changes anything
 * on the disk.  Records of new jobs are made by the reader in memory of their own: the applier
 * gives them to the cluster as they are. */
#include "ctld/core/logreplay.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pb/pbcodec.h"
#include "base/pb/pbutil.h"
#include "base/process/threadname.h"
#include "model/cluster.h"

#include "event.pb-c.h"

#define BATCH 256u
#define RING 8u /* batches; so much is decoded ahead at most */

struct batch {
    size_t n;
    struct pb_arena *arena; /* of the transactions */
    uint64_t lsn[BATCH];
    size_t len[BATCH]; /* of the record */
    Pst__Transaction *tx[BATCH];
    bool owned[BATCH]; /* records of new jobs in it are malloc's */
};

struct replay {
    struct cluster *cluster;
    uint64_t records;
    struct batch ring[RING];
    struct pb_codec *codec;   /* the reader's; the applier only frees by it */
    struct err unread, unfit; /* of the reader; of the applier, to be read when it was joined */
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock: batches that the reader has filled, and the applier has done with */
    uint64_t filled, done;
    bool ended;  /* nothing comes any more */
    int failed;  /* of the applier; nothing is applied any more */
    size_t fill; /* the reader's: records in the batch that is being filled */
};

/* ---- the applier ----------------------------------------------------------------------------- */

/* Records of new jobs that the cluster has not taken. */
static void drop_owned(const struct replay *rp, const struct batch *b, size_t i)
{
    Pst__Transaction *tx = b->tx[i];

    for (size_t k = 0; b->owned[i] && k < tx->n_events; k++)
        if (tx->events[k]->body_case == PST__EVENT__BODY_JOB_PUT)
            pb_codec_disown(rp->codec, &tx->events[k]->job_put->base);
}

static int apply_one(struct replay *rp, const struct batch *b, size_t i)
{
    struct err err = { .text = "" };
    int r = b->owned[i] ? cluster_replay_taking(rp->cluster, b->tx[i], b->len[i], &err)
                        : cluster_replay(rp->cluster, b->tx[i], b->len[i], &err);

    if (r < 0)
        (void)err_set(&rp->unfit, r, "the journal does not replay: lsn %llu: %s",
                      (unsigned long long)b->lsn[i], err.text);
    return r;
}

static int apply_batch(struct replay *rp, const struct batch *b, int failed)
{
    for (size_t i = 0; i < b->n; i++) {
        if (failed == 0)
            failed = apply_one(rp, b, i);
        drop_owned(rp, b, i);
    }
    return failed;
}

static void *run_applier(void *arg)
{
    struct replay *rp = arg;
    int failed = 0;

    threadname_set(pthread_self(), "replay");
    (void)pthread_mutex_lock(&rp->lock);
    for (;;) {
        while (rp->done == rp->filled && !rp->ended)
            (void)pthread_cond_wait(&rp->changed, &rp->lock);
        if (rp->done == rp->filled)
            break;
        (void)pthread_mutex_unlock(&rp->lock);
        failed = apply_batch(rp, &rp->ring[rp->done % RING], failed);
        (void)pthread_mutex_lock(&rp->lock);
        rp->done++;
        rp->failed = failed;
        (void)pthread_cond_signal(&rp->changed);
    }
    (void)pthread_mutex_unlock(&rp->lock);
    return NULL;
}

/* ---- the reader ------------------------------------------------------------------------------ */

/* The batch goes to the applier, and the next place of the ring is free.  Gives what failed. */
static int pass_batch(struct replay *rp)
{
    int failed;

    rp->ring[rp->filled % RING].n = rp->fill;
    rp->fill = 0;
    (void)pthread_mutex_lock(&rp->lock);
    rp->filled++;
    (void)pthread_cond_signal(&rp->changed);
    while (rp->filled - rp->done == RING)
        (void)pthread_cond_wait(&rp->changed, &rp->lock);
    failed = rp->failed;
    (void)pthread_mutex_unlock(&rp->lock);
    pb_arena_reset(rp->ring[rp->filled % RING].arena);
    return failed;
}

static int on_record(void *arg, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct replay *rp = arg;
    struct batch *b = &rp->ring[rp->filled % RING];
    bool owned = false;
    Pst__Transaction *tx = (Pst__Transaction *)pb_codec_unpack(
        rp->codec, pb_arena_allocator(b->arena), data, len, &owned);

    (void)snapshot;
    if (!tx)
        return err_set(&rp->unread, -EUCLEAN,
                       "the journal does not replay: lsn %llu: the record cannot be decoded",
                       (unsigned long long)lsn);
    b->lsn[rp->fill] = lsn;
    b->len[rp->fill] = len;
    b->owned[rp->fill] = owned;
    b->tx[rp->fill++] = tx;
    rp->records++;
    return rp->fill == BATCH ? pass_batch(rp) : 0;
}

/* Everything that was read is applied. */
static int join_applier(void *arg)
{
    struct replay *rp = arg;

    if (!rp->runs)
        return rp->failed;
    if (rp->fill)
        (void)pass_batch(rp); /* told below */
    (void)pthread_mutex_lock(&rp->lock);
    rp->ended = true;
    (void)pthread_cond_signal(&rp->changed);
    (void)pthread_mutex_unlock(&rp->lock);
    (void)pthread_join(rp->thread, NULL);
    rp->runs = false;
    return rp->failed;
}

static int replay_journal(struct replay *rp, const struct journal_config *base,
                          struct journal **ret_journal, struct err *err)
{
    struct journal_config config = *base;
    int r = -pthread_create(&rp->thread, NULL, run_applier, rp);

    rp->runs = r == 0;
    if (r < 0)
        return err_set(err, r, "the journal cannot be read: no thread can be made");
    config.on_last = join_applier;
    r = journal_open(&config, on_record, rp, ret_journal, err);
    if (join_applier(rp) < 0) { /* the first that was wrong, however far was read meanwhile */
        *err = rp->unfit;
        return rp->failed;
    }
    if (r < 0 && rp->unread.text[0])
        *err = rp->unread;
    return r;
}

static int make_codec(struct pb_codec **ret)
{
    uint32_t common[COMMON_FIELDS_MAX];
    int r = pb_codec_new(&pst__transaction__descriptor, ret);

    if (r < 0)
        return r;
    pb_codec_own(*ret, &pst__event__descriptor, PST__EVENT__BODY_JOB_PUT);
    pb_codec_lend(*ret, &pst__job_record__descriptor, common, cluster_common_fields(common));
    return 0;
}

static int make_memory(struct replay *rp)
{
    int r = make_codec(&rp->codec);

    for (size_t i = 0; r >= 0 && i < RING; i++)
        r = pb_arena_new(&rp->ring[i].arena);
    return r;
}

int logreplay_open(const struct journal_config *config, struct cluster *cluster,
                   struct journal **ret_journal, uint64_t *ret_records, struct err *err)
{
    struct replay *rp = calloc(1, sizeof(*rp));
    int r;

    if (!rp)
        return err_nomem(err);
    rp->cluster = cluster;
    (void)pthread_mutex_init(&rp->lock, NULL); /* cannot fail with default attributes */
    (void)pthread_cond_init(&rp->changed, NULL);
    r = make_memory(rp);
    r = r < 0 ? err_nomem(err) : replay_journal(rp, config, ret_journal, err);
    *ret_records = rp->records;
    for (size_t i = 0; i < RING; i++)
        pb_arena_free(rp->ring[i].arena);
    (void)pb_codec_free(rp->codec); /* always NULL */
    (void)pthread_cond_destroy(&rp->changed);
    (void)pthread_mutex_destroy(&rp->lock);
    free(rp);
    return r;
}
