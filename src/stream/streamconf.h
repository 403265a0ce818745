/* streamconf.h - what JournalParameters says when JournalType is stream */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define STREAM_HOST_MAX 256u
#define STREAM_WITNESS_PORT 6822u

struct stream_config {
    char witness[STREAM_HOST_MAX];
    uint16_t port;
    uint32_t patience_ms; /* so long a batch waits for a standby that does not answer */
};

/* text: witness=HOST[:PORT],patience=MILLISECONDS.  -EINVAL: err has the sentence. */
int stream_config_parse(const char *text, struct stream_config *ret, struct err *err);
