/* acctflags.h - flags of a job in accounting: which pass of the scheduler started it
 *
 * Pure data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/strbuf.h"
#include "cli/format/json_out.h"

/* A mask of flags from words of sacct --flags with commas between.  False: *ret_bad, borrowed from
 * list and ret_len long, is no flag. */
bool acctflags_parse(const char *list, uint32_t *ret_mask, const char **ret_bad, int *ret_len);
uint32_t acctflags_of(const Pst__JobRecord *j);
/* The column Flags: words with commas between. */
void acctflags_put(struct strbuf *sb, const Pst__JobRecord *j);
/* The list "flags" of a job's JSON. */
void acctflags_json(struct json *js, const Pst__JobRecord *j);
