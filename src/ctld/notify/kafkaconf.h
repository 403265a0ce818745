/* kafkaconf.h - the file of JobCompLoc for jobcomp/kafka: lines "key=value" of librdkafka; pure */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* Take one pair, both trimmed.  0, or a negative errno with a sentence, which ends the reading. */
typedef int kafkaconf_fn(void *ctx, const char *key, const char *value, struct err *err);

/* Every pair of f, whose name is for messages.  -E2BIG a line is too long, -EINVAL one is none
 * or no line names servers, or what fn gave; the sentence names the line. */
int kafkaconf_read(FILE *f, const char *name, kafkaconf_fn *fn, void *ctx, struct err *err);
