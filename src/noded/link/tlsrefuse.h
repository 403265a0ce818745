/* tlsrefuse.h - a refusal on a connection that was detached, over TLS */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

/* As listen_refuse_op(), on a thread of its own, since TLS needs answers of the caller.  fd is
 * taken; a caller that does not answer is closed after a few seconds. */
void tlsrefuse(int fd, ProtobufCBinaryData stream_key, unsigned op, uint32_t request_id, int code,
               const char *text);
