/* submitkeys.h - idempotency keys: a submission that is sent again makes no second job
 *
 * A request may bring a key.  The transaction of its jobs then holds a record of user, key and
 * contents, as digests, and the job's id; a later request of the same user with that key is
 * answered from the record, whatever has become of the job.  A key is remembered for
 * SUBMITKEY_AGE_S; of a user's and of all the newest so many are, the oldest are forgotten first,
 * which the log tells. What was refused is not remembered.  Core thread. */
#pragma once

#include "ctld/ctld.h"
#include "ctld/submit/submission.h"

#define SUBMITKEY_AGE_S 86400
#define SUBMITKEYS_PER_USER 20000u
#define SUBMITKEYS_ALL 200000u
#define SUBMITKEY_MAX 255u /* characters */

/* What the request says of a key; ret->used false: nothing.  -EINVAL with a sentence. */
int submitkeys_read(const Pst__SubmitRequest *req, uid_t uid, struct submitkey *ret,
                    struct err *err);
/* The submission that came with this key, NULL: none; borrowed until the next commit. */
const Pst__SubmitKeyRecord *submitkeys_find(struct ctld *ctld, const struct submitkey *key);
/* Into the transaction that makes the job; an older key may have to go. */
void submitkeys_put(struct ctld *ctld, Pst__Transaction *tx, const struct submitkey *key, uid_t uid,
                    uint32_t job_id, const char *message);
