/* foreign.h - #PBS and #BSUB lines of a script, as the options they mean here
 *
 * One thread: getopt keeps global state. */
#pragma once

#include <stddef.h>

#include "cli/job/jobopts.h"

enum foreign_kind { FOREIGN_PBS, FOREIGN_BSUB };

/* Take the words of one line (text behind #PBS or #BSUB) with source OPT_FROM_SCRIPT.  What has no
 * counterpart here is passed over, as other systems' scripts ask for many things.  Returns 0 or the
 * exit status, the message printed. */
int foreign_line(enum foreign_kind kind, const char *text, size_t len, struct jobopts *jo);
