/* restidem.h - the header Idempotency-Key of a submission
 *
 * A submission that is sent again with its key makes no second job: slurmctld keeps the key with a
 * digest of what it stands for.  That is the path and the body as JSON with sorted keys, so that
 * blanks, the order of members, and JSON or YAML do not matter. */
#pragma once

#include "rest/restcall.h"

#include "api.pb-c.h"

#define RESTIDEM_MAX 255u
#define RESTIDEM_LIST_MAX 248u /* of a list: "#9999" stands behind it */

struct restidem {
    char key[RESTIDEM_MAX + 1]; /* "": none */
    uint8_t digest[32];
};

/* The key of the request, at most `max` characters.  False: it is none, an error was noted. */
bool restidem_read(struct rest_call *call, size_t max, struct restidem *ret);
/* The key of job i of a request that submits a list.  Without a key *ret has none. */
void restidem_number(const struct restidem *of, size_t i, struct restidem *ret);
/* Key and digest of `body` into the request, which borrows them.  False: out of memory, noted. */
bool restidem_fill(struct rest_call *call, struct restidem *k, const char *path, const json_t *body,
                   Pst__SubmitRequest *req);
