/* fuzz_vouch.c - what a user of the host sends to sack.socket
 *
 * The first byte says whether the daemon vouches with the cluster's key or a node's.  A request
 * that is answered with proofs is proved for the caller's uid alone, whatever the request says. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/auth/idkey.h"
#include "wire/auth/vouch.h"

#define UID 4242u
#define IDENTITY "of the daemon's host"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int identify(uid_t uid, gid_t gid, uint8_t **ret, size_t *ret_len, struct err *err)
{
    (void)uid;
    (void)gid;
    (void)err;
    *ret = (uint8_t *)strdup(IDENTITY);
    *ret_len = sizeof(IDENTITY) - 1;
    return *ret ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t node_key[IDKEY_SIZE] = { 7 };
    struct vouch_secret with = { .secret = { 1 }, .identify = identify };
    Pst__VouchReply *reply;
    uint8_t *buf = NULL;
    size_t len = 0;

    if (size == 0)
        return 0;
    with.key_id = data[0] & 1 ? "k1" : NULL;
    with.node_key = data[0] & 1 ? NULL : node_key;
    if (vouch_answer(&with, UID, UID, data + 1, size - 1, &buf, &len) < 0)
        return 0;
    assert(len >= 4 && len <= 4 + VOUCH_BYTES_MAX);
    reply = pst__vouch_reply__unpack(NULL, len - 4, buf + 4);
    assert(reply && (reply->refused || (reply->uid == UID && reply->gid == UID)));
    assert(!reply->refused == (reply->proofs.len == VOUCH_PROOFS_SIZE));
    assert(reply->identity.len == 0 ||
           (with.key_id && memcmp(reply->identity.data, IDENTITY, reply->identity.len) == 0));
    assert(!memmem(buf, len, with.secret, sizeof(with.secret)));
    pst__vouch_reply__free_unpacked(reply, NULL);
    free(buf);
    return 0;
}
