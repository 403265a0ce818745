/* contents.h - script and environment of a submission as they are stored, and their names
 * (docs/design/0002-identity.md)
 *
 * To digest eight megabytes takes ten milliseconds, so an I/O thread does it before the core
 * hears of the request.  What depends on the cluster's state is a few lines more for an array. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/strbuf.h"

#include "api.pb-c.h"

struct contents {
    bool has_script;
    struct digest script;
    struct strbuf env; /* limits first (rlimits.h), then the submission's */
    struct digest env_name;
    struct digest_run *run; /* of an array's environment: more comes */
    struct digest entry;    /* of a crontab: all that its job is made from */
};

/* Of req, whose job is `job` now.  Errors: -ENOMEM. */
int contents_make(struct contents *c, const Pst__SubmitRequest *req, const Pst__JobRecord *job);
int contents_make_cron(struct contents *c, const Pst__CrontabJob *entry);
/* The environment of an array of so many tasks ends with these figures.  Once.  Errors: -ENOMEM. */
int contents_array(struct contents *c, const char *tasks, uint32_t count);
void contents_done(struct contents *c);
/* Of all jobs that a request brings, in its order; NULL with *ret_n 0: it brings none.  Errors:
 * -ENOMEM. */
int contents_of_request(const ProtobufCMessage *request, struct contents **ret, size_t *ret_n);
/* A submission that brings an idempotency key and no digest of what it stands for gets one, of its
 * own bytes as they came: sent again, they are the same.  -ENOMEM. */
int contents_digest(ProtobufCMessage *request, const uint8_t *bytes, size_t len);
void contents_free(struct contents *list, size_t n);
