/* jobshow.h - the block of `defined options` that -v prints */
#pragma once

#include "cli/job/jobopts.h"

/* Print it on stderr, one option a line, values as the options are understood. */
void jobshow_defined(const struct jobopts *jo);
