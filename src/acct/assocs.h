/* assocs.h - associations as their table has them, for code that does not keep the tree; acct/
 * only */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "acct/sql/sql.h"

struct assoc_row {
    uint32_t id, parent;
    char *cluster, *account;
    char *user; /* NULL: the account's own */
};

/* All that are not deleted; none when no account was ever added.  Freed by assocs_free(), after an
 * error too. */
int assocs_load(struct sql *db, struct assoc_row **ret, size_t *ret_n);
void assocs_free(struct assoc_row *rows, size_t n);
