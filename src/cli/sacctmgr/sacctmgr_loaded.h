/* sacctmgr_loaded.h - what a file of accounts adds, as tables; for sacctmgr_load.c */
#pragma once

#include "cli/sacctmgr/sacctmgr.h"

enum smgr_loaded_kind { SMGR_LOADED_CLUSTER, SMGR_LOADED_ACCOUNT, SMGR_LOADED_USER };

/* A thing that the file adds.  Owns nothing. */
struct smgr_loaded {
    enum smgr_loaded_kind kind;
    const Pst__AcctOp *op;       /* that makes it; its where has the names */
    bool unknown;                /* no cluster of the store has an account or user of this name */
    const char *default_account; /* of the user; NULL = not said */
    const char *default_wckey;
};

/* Append the tables: the cluster's root, changes (lines of text), accounts, their associations,
 * users, theirs.  A table without rows is left out; so is what the file does not say. */
void smgr_put_loaded(struct smgr *s, const struct smgr_loaded *rows, size_t n, const char *changes,
                     struct strbuf *out);
