/* debug.h - DebugFlags of slurmdbd.conf */
#pragma once

#include "base/err.h"

/* Is each word of the list, with commas and in any case, one that slurmdbd takes?  NULL: yes.
 * -EINVAL, with a sentence that names the word. */
int debug_check(const char *list, struct err *err);
