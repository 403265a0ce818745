/* earliest.h - how far back a journal reaches */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* The first record whose state can still be shown (journal_config.limit_lsn): 1, or that of the
 * oldest complete snapshot from which the log goes on; *ret_first: the first record that can be
 * read.  -ENOENT: there is no log. */
int journal_earliest(const char *dir, uint64_t *ret_lsn, uint64_t *ret_first, struct err *err);
