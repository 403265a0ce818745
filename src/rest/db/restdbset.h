/* restdbset.h - changes of the accounting store: one request of many operations, done whole or not
 * at all, and what became of it */
#pragma once

#include "acctop.pb-c.h"
#include "rest/restcall.h"

enum { RESTDB_OPS_MAX = 20000 }; /* of one request */

/* Who an operation is in errors: "slurmdb_accounts_add() failed" of "_foreach_update_acct". */
struct restdb_label {
    const char *what, *source;
};

struct restdb_changes {
    struct rest_call *call;
    Pst__AcctAdminRequest request;
    struct restdb_label *labels; /* one for each operation */
    Pst__AcctAdminReply *reply;  /* of restdb_send() */
    bool failed;                 /* noted; nothing will be sent */
};

void restdb_changes_init(struct restdb_changes *ch, struct rest_call *call);
void restdb_changes_done(struct restdb_changes *ch);

/* One more operation, with empty conditions and settings.  NULL: noted. */
Pst__AcctOp *restdb_op(struct restdb_changes *ch, Pst__AcctVerb verb, Pst__AcctEntity entity,
                       const char *what, const char *source);
/* The last one is not wanted after all. */
void restdb_op_drop(struct restdb_changes *ch);
/* Add a name to a list of the operation; text NULL or "" adds none. */
void restdb_name(struct restdb_changes *ch, char ***list, size_t *n, const char *text);
/* ... also an empty one: what has no partition. */
void restdb_name_or_none(struct restdb_changes *ch, char ***list, size_t *n, const char *text);
/* Add those of a list of texts, or of a comma list. */
void restdb_names(struct restdb_changes *ch, char ***list, size_t *n, const json_t *value);
void restdb_number(struct restdb_changes *ch, uint32_t **list, size_t *n, uint32_t number);
void restdb_text(struct restdb_changes *ch, char **field, const char *text);
/* A record of the settings: *field, made when it is NULL. */
void *restdb_record(struct restdb_changes *ch, void *field, const ProtobufCMessageDescriptor *type);
/* A reader returned r < 0 (restdbread.h): note it. */
void restdb_unread(struct restdb_changes *ch, int r, const struct err *err, const char *source,
                   const char *name);

/* Send what there is.  True: done, or there was nothing to do; else it was noted.  The reply is
 * kept until the next call. */
bool restdb_send(struct restdb_changes *ch);
