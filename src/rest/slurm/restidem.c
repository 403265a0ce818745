/* restidem.c - the header Idempotency-Key of a submission; see restidem.h */
#include "rest/slurm/restidem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "wire/errors.h"

#define SOURCE "Idempotency-Key"

_Static_assert(sizeof(((struct restidem *)0)->digest) == DIGEST_SIZE, "a digest of contents");

bool restidem_read(struct rest_call *call, size_t max, struct restidem *ret)
{
    const char *text = rest_header(call, SOURCE);
    size_t len = text ? strlen(text) : 0;

    ret->key[0] = '\0';
    if (!text)
        return true;
    for (const char *p = text; *p; p++)
        if (*p < ' ' || *p > '~')
            len = 0;
    if (!len || len > max) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, SOURCE,
                   "An idempotency key is 1 to %zu printable characters", max);
        return false;
    }
    memcpy(ret->key, text, len + 1);
    return true;
}

void restidem_number(const struct restidem *of, size_t i, struct restidem *ret)
{
    ret->key[0] = '\0';
    if (of->key[0])
        (void)snprintf(ret->key, sizeof(ret->key), "%.*s#%zu", (int)RESTIDEM_LIST_MAX, of->key,
                       i); /* fits */
}

static int digest_body(const char *path, const char *text, struct digest *ret)
{
    struct digest_run *run = NULL;
    int r = digest_begin(&run);

    if (r == 0)
        r = digest_add(run, path, strlen(path) + 1);
    if (r == 0)
        r = digest_add(run, text, strlen(text));
    if (r < 0) {
        (void)digest_drop(run); /* always NULL */
        return r;
    }
    return digest_end(run, ret);
}

bool restidem_fill(struct rest_call *call, struct restidem *k, const char *path, const json_t *body,
                   Pst__SubmitRequest *req)
{
    _cleanup_free_ char *text = NULL;
    struct digest d;

    if (!k->key[0])
        return true;
    text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text || digest_body(path, text, &d) < 0) {
        rest_error(call, EPST_BUSY, SOURCE, ERR_NOMEM);
        return false;
    }
    memcpy(k->digest, d.bytes, sizeof(k->digest));
    req->idempotency_key = k->key;
    req->has_content_digest = true;
    req->content_digest = (ProtobufCBinaryData){ sizeof(k->digest), k->digest };
    return true;
}
