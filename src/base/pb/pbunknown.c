/* pbunknown.c - fields that the schema does not know; see pbunknown.h.
 *
 * Recursion is as deep as messages lie in messages, which protobuf-c bounds when it unpacks. */
#include "base/pb/pbunknown.h"

#include <stdlib.h>

#include "base/pb/pbutil_impl.h"

struct dropping {
    void (*note)(void *ctx, const char *message, uint32_t field);
    void *ctx;
    size_t n;
};

static void drop_own(ProtobufCMessage *msg, struct dropping *d)
{
    for (unsigned i = 0; i < msg->n_unknown_fields; i++) {
        if (d->note)
            d->note(d->ctx, msg->descriptor->name, msg->unknown_fields[i].tag);
        free(msg->unknown_fields[i].data);
    }
    d->n += msg->n_unknown_fields;
    free(msg->unknown_fields);
    msg->unknown_fields = NULL;
    msg->n_unknown_fields = 0;
}

static void drop_below(ProtobufCMessage *msg, struct dropping *d)
{
    drop_own(msg, d);
    for (unsigned i = 0; i < msg->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &msg->descriptor->fields[i];
        void *member = pb_member(msg, f);

        if (f->type != PROTOBUF_C_TYPE_MESSAGE || !pb_present(msg, f))
            continue;
        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
            drop_below(*(ProtobufCMessage **)member, d);
            continue;
        }
        for (size_t k = 0; k < *pb_count(msg, f); k++)
            drop_below((*(ProtobufCMessage ***)member)[k], d);
    }
}

size_t pb_drop_unknown(ProtobufCMessage *msg,
                       void (*note)(void *ctx, const char *message, uint32_t field), void *ctx)
{
    struct dropping d = { .note = note, .ctx = ctx };

    drop_below(msg, &d);
    return d.n;
}
