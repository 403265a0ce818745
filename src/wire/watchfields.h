/* watchfields.h - the record fields whose changes are told to watchers
 *
 * Constant data: what the controller compares and what a command asks for to begin with. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "watch.pb-c.h"

struct watch_fields {
    const ProtobufCMessageDescriptor *desc;
    const uint32_t *fields, *identity; /* identity is told with each change and never changes */
    size_t nfields, nidentity;
    uint32_t alloc; /* field of which only what people read counts; 0 = none */
};

/* Row of an entity (WATCH_JOB ...), or NULL. */
const struct watch_fields *watch_fields(unsigned entity);
