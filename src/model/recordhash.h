/* recordhash.h - a number for what a record holds, to compare two clusters */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

/* A hash of the record's durable fields (not: field_is_volatile()), with `kind` mixed in, so that
 * equal records of two kinds differ.  Ends the process when there is no memory: only tests and
 * operators ask for it. */
uint64_t model_record_hash(const ProtobufCMessage *msg, uint64_t kind);
