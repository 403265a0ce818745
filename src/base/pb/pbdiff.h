/* pbdiff.h - what changed between two messages of one type
 *
 * Pure functions over descriptors.  Messages filled here borrow from their sources: they are for
 * packing, and are never freed or changed otherwise. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>
#include <stdint.h>

/* Put the listed fields that src has into dst, as they lie; absent ones leave dst alone. */
void pb_borrow(ProtobufCMessage *dst, const ProtobufCMessage *src, const uint32_t *numbers,
               size_t n);
/* Make borrowed fields absent; numbers that the message does not know are passed over. */
void pb_forget(ProtobufCMessage *dst, const uint32_t *numbers, size_t n);
/* The listed fields in which a and b differ: before borrows a's, after b's.  Gives their count. */
size_t pb_diff(const ProtobufCMessage *a, const ProtobufCMessage *b, const uint32_t *numbers,
               size_t n, ProtobufCMessage *before, ProtobufCMessage *after);
