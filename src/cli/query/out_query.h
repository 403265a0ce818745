/* out_query.h - record streams: ask, and get each record as it arrives
 *
 * Records are unpacked into an arena that is reset after each, so memory stays constant however
 * many there are; what a caller wants to keep it copies.  Control characters are cleaned away,
 * unless client_keeps_text(). */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/pb/pbutil.h"
#include "wire/client.h"
#include "api.pb-c.h"

struct cli;

struct query_info {
    int64_t now_us; /* controller's clock; ours when it did not say */
    uint64_t lsn;
    uint64_t records;
    uint64_t version;   /* another one when what the caller sees may differ; 0: cannot be told */
    bool unchanged;     /* the request has a version or a time, and there is nothing new */
    uint64_t next_at;   /* where the next page begins; 0: there is none */
    int64_t planned_us; /* of jobs: when the scheduler last planned; 0: not yet */
    bool sees_hidden;   /* of partitions: hidden ones are shown to the caller unasked */
};

/* record is borrowed for the call.  < 0 ends the query with that value. */
typedef int query_fn(void *ctx, const ProtobufCMessage *record, const struct query_info *info);

/* A request of a command that prints what it gets and ends.  Until its connection closes other long
 * walks of the controller wait, for a moment at most. */
Pst__QueryRequest query_to_print(void);

/* Send request, give each record (of type desc) to fn.  Returns 0, what fn returned, or as
 * client_stream(). */
int query_run(struct client *c, unsigned op, const ProtobufCMessage *request,
              const ProtobufCMessageDescriptor *desc, query_fn *fn, void *ctx,
              struct query_info *ret_info);

/* The same when the answer is whole, which is in memory then: fn may ask more of c. */
int query_run_later(struct client *c, unsigned op, const ProtobufCMessage *request,
                    const ProtobufCMessageDescriptor *desc, query_fn *fn, void *ctx,
                    struct query_info *ret_info);

/* Add the fields of desc that a text names ("job_id state"; words between blanks, known ones) to
 * set. */
void query_need_names(const char *names, const ProtobufCMessageDescriptor *desc,
                      struct pb_fieldset *set);
/* The numbers of a set, for QueryRequest.fields.  Caller frees *ret_fields. */
int query_fields(const struct pb_fieldset *set, uint32_t **ret_fields, size_t *ret_n);

/* query_run() for one job, or all tasks of an array, with the fields that `names` has as above
 * (NULL: all). */
int query_job(struct client *c, uint32_t job_id, const char *names, query_fn *fn, void *ctx);

/* Unpack one record from bytes into an arena, with its control characters; NULL when malformed. */
ProtobufCMessage *query_unpack(struct pb_arena *arena, const ProtobufCMessageDescriptor *desc,
                               const uint8_t *data, size_t len);
