/* tgengine.h - the second half of a run: parameters of the engine, and its text */
#pragma once

#include "topograph/run/tgrun.h"

/* Errors: -EINVAL. */
int tgengine_check(const struct tgrequest *q, struct err *err);
/* Of run->graph make run->topologies and run->text.  Errors: -EINVAL, -ENOMEM. */
int tgengine_make(const struct tgrequest *q, const struct tgrun_io *io, struct tgrun *run,
                  struct err *err);
