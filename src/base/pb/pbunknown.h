/* pbunknown.h - fields that the schema does not know: what a newer peer or log has
 *
 * Pure.  Messages are those of pbutil.h. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/* Make every field absent that the schema does not know, in msg and all it holds.  Gives how many
 * there were; note (may be NULL) hears of each: its message and number. */
size_t pb_drop_unknown(ProtobufCMessage *msg,
                       void (*note)(void *ctx, const char *message, uint32_t field), void *ctx);
