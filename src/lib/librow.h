/* librow.h - records as rows: fields by name, as text, number and JSON */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pb/pbutil.h"
#include "base/strbuf.h"

/* One kind of record, "jobs", "nodes", "partitions". */
struct librow_kind {
    const char *what;
    unsigned op;     /* OP_QUERY_... */
    unsigned entity; /* WATCH_JOB ... */
    const ProtobufCMessageDescriptor *desc;
    const struct librow_made *made; /* fields that are put together from others */
};

/* NULL: there is no such kind. */
const struct librow_kind *librow_kind(const char *what);
const struct librow_kind *librow_kind_of(unsigned entity);

struct penstock_row {
    const struct librow_kind *kind;
    const ProtobufCMessage *record; /* borrowed */
    bool chosen;                    /* only the fields of `wanted` and `made` */
    const struct pb_fieldset *wanted;
    uint64_t made;       /* 1 << i of kind->made */
    struct strbuf texts; /* of the last text or JSON */
};

/* Add the field to what is wanted, and to `needed` what has to be asked for.  -ENOENT. */
int librow_want(const struct librow_kind *kind, const char *name, struct pb_fieldset *wanted,
                struct pb_fieldset *needed, uint64_t *made);
