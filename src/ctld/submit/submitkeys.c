/* submitkeys.c - idempotency keys of submissions; see submitkeys.h
 *
 * The records are the cluster's (model/kept.h), thus in the journal and in snapshots.  The index
 * beside them follows the changes, whoever makes them. */
#include "ctld/submit/submitkeys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/submit/keyindex.h"
#include "model/kept.h"

#define GONE_AT_ONCE 1000u /* keys that one tick forgets */
#define TELL_US (60 * USEC_PER_SEC)

struct submitkeys {
    struct keyindex *index;
    int64_t told_us; /* when the log said that there are too many */
};

/* ---- what a request says --------------------------------------------------------------------- */

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

/* Another user's equal key is another key. */
static int digest_key(const char *text, uid_t uid, struct digest *ret)
{
    struct digest_run *run = NULL;
    uint32_t id = uid;
    int r = digest_begin(&run);

    if (r == 0)
        r = digest_add(run, &id, sizeof(id));
    if (r == 0)
        r = digest_add(run, text, strlen(text));
    if (r < 0) {
        (void)digest_drop(run); /* always NULL */
        return r;
    }
    return digest_end(run, ret);
}

int submitkeys_read(const Pst__SubmitRequest *req, uid_t uid, struct submitkey *ret,
                    struct err *err)
{
    const char *text = req->idempotency_key;

    ret->used = false;
    if (!text || (req->has_test_only && req->test_only))
        return 0;
    if (!*text || strlen(text) > SUBMITKEY_MAX || !is_printable(text))
        return err_set(err, -EINVAL, "an idempotency key is 1 to 255 printable characters");
    if (req->has_wait_alloc && req->wait_alloc)
        return err_set(err, -EINVAL, "who waits for an allocation cannot use an idempotency key");
    if (!digest_read(&ret->content, req->content_digest.data, req->content_digest.len))
        return err_set(err, -EINVAL, "the digest of an idempotency key's contents has 32 bytes");
    if (digest_key(text, uid, &ret->key) < 0)
        return err_nomem(err);
    ret->used = true;
    return 0;
}

/* ---- which are remembered -------------------------------------------------------------------- */

static bool is_too_old(const struct keyindex_entry *e)
{
    return e->time_us + SUBMITKEY_AGE_S * USEC_PER_SEC <= core_now();
}

const Pst__SubmitKeyRecord *submitkeys_find(struct ctld *ctld, const struct submitkey *key)
{
    const struct keyindex_entry *e = keyindex_find(ctld->submitkeys->index, &key->key);

    return e && !is_too_old(e) ? cluster_submit_key(ctld->cluster, e->number) : NULL;
}

/* The administrator hears of it, once a minute. */
static void tell_too_many(struct submitkeys *keys, const struct keyindex_entry *e)
{
    int64_t now = now_mono_us();

    if (keys->told_us && now - keys->told_us < TELL_US)
        return;
    keys->told_us = now;
    log_info("too many idempotency keys: the oldest are forgotten before their time uid=%u",
             e->uid);
}

static void make_room(struct ctld *ctld, Pst__Transaction *tx, const struct digest *key, uid_t uid)
{
    struct submitkeys *keys = ctld->submitkeys;
    const struct keyindex_entry *e = keyindex_find(keys->index, key); /* too old, and the same */

    if (!e) {
        e = keyindex_in_the_way(keys->index, uid);
        if (e && !is_too_old(e))
            tell_too_many(keys, e);
    }
    if (e)
        tx_submit_key_remove(tx, e->number);
}

void submitkeys_put(struct ctld *ctld, Pst__Transaction *tx, const struct submitkey *key, uid_t uid,
                    uint32_t job_id, const char *message)
{
    Pst__SubmitKeyRecord rec = PST__SUBMIT_KEY_RECORD__INIT;
    struct digest name = key->key, content = key->content;

    make_room(ctld, tx, &name, uid);
    SET(&rec, number, keyindex_next(ctld->submitkeys->index));
    SET(&rec, uid, uid);
    SET(&rec, job_id, job_id);
    SET(&rec, time_us, core_now());
    SET(&rec, key, ((ProtobufCBinaryData){ DIGEST_SIZE, name.bytes }));
    SET(&rec, content, ((ProtobufCBinaryData){ DIGEST_SIZE, content.bytes }));
    rec.message = (char *)(uintptr_t)message; /* only read */
    tx_submit_key_put(tx, &rec);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_submitkeys(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->submitkeys = calloc(1, sizeof(*ctld->submitkeys));
    return ctld->submitkeys
               ? keyindex_new(SUBMITKEYS_PER_USER, SUBMITKEYS_ALL, &ctld->submitkeys->index)
               : -ENOMEM;
}

static void free_submitkeys(struct ctld *ctld)
{
    if (ctld->submitkeys)
        keyindex_free(ctld->submitkeys->index);
    free(ctld->submitkeys);
    ctld->submitkeys = NULL;
}

static void follow_kept(struct ctld *ctld, struct kept *k)
{
    struct keyindex_entry e;
    const Pst__SubmitKeyRecord *rec;

    if (k->kind != KEPT_KEY)
        return;
    rec = (const Pst__SubmitKeyRecord *)k->rec;
    e = (struct keyindex_entry){ .number = rec->number, .uid = rec->uid, .time_us = rec->time_us };
    memcpy(e.key.bytes, rec->key.data, DIGEST_SIZE); /* as long as that: the model looks */
    keyindex_put(ctld->submitkeys->index, &e);
}

static void follow_kept_gone(struct ctld *ctld, struct kept *k)
{
    if (k->kind == KEPT_KEY)
        keyindex_remove(ctld->submitkeys->index, k->id);
}

/* Keys of yesterday, the oldest first. */
static void forget_old(struct ctld *ctld, int64_t now)
{
    const struct keyindex_entry *e;

    (void)now;
    for (unsigned n = 0; n < GONE_AT_ONCE; n++) {
        Pst__Transaction *tx;

        e = keyindex_oldest(ctld->submitkeys->index);
        if (!e || !is_too_old(e))
            return;
        tx = tx_new(core_now());
        tx_submit_key_remove(tx, e->number);
        if (!core_commit(ctld, tx))
            return; /* the disk is full: at another tick */
    }
}

const struct ctld_service submitkeys_service = {
    .name = "submitkeys",
    .start = start_submitkeys,
    .free = free_submitkeys,
    .on_kept = follow_kept,
    .on_kept_gone = follow_kept_gone,
    .tick_slow = forget_old,
};
