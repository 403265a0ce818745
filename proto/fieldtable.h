/* fieldtable.h - who may set and clear each field of a record
 *
 * The rows are proto/fields.def; tools/gen-fields makes C of them, and of who sees the fields the
 * lists of fieldlists.h.  docs/design/0004-field-table.md says what they drive.  Constant data and pure functions.  A field that has no row is nobody's to
 * set: field_row() gives NULL for it, and so it does for numbers that the schema does not know. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/* Whose submission may carry the field. */
enum field_submit { FIELD_SUBMIT_NEVER, FIELD_SUBMIT_ADMIN, FIELD_SUBMIT_USER };

/* In which state of its job the field may be set and cleared. */
enum field_update {
    FIELD_UPDATE_NEVER,
    FIELD_UPDATE_PENDING,
    FIELD_UPDATE_UNENDED,
    FIELD_UPDATE_ALWAYS
};

/* By whom. */
enum field_by {
    FIELD_BY_OWNER,     /* and those who manage the job */
    FIELD_BY_OPERATOR,  /* never the owner */
    FIELD_BY_SAME_USER, /* those who may act as the owner: not every operator */
    FIELD_BY_ADMIN      /* nodes and partitions */
};

/* Whether a request that may set the field may also make it absent. */
enum field_clear { FIELD_CLEAR_AS_UPDATE, FIELD_CLEAR_OPERATOR, FIELD_CLEAR_NEVER };

struct field_row {
    uint32_t number;
    enum field_submit submit;
    enum field_update update;
    enum field_by by; /* means nothing with FIELD_UPDATE_NEVER */
    enum field_clear clear;
};

struct fieldtable {
    const ProtobufCMessageDescriptor *desc;
    const struct field_row *rows; /* one a field, by ascending number */
    size_t n;
};

extern const struct fieldtable job_record_fields, step_record_fields, node_record_fields,
    partition_record_fields, reservation_record_fields;

/* The row of a field, or NULL.  O(log n). */
const struct field_row *field_row(const struct fieldtable *t, uint32_t number);
