/* submission.h - a job on its way into the cluster; what op_submit.c and its checks share
 *
 * op_submit.c takes the request, submission.c checks what it asks for and fills in what it leaves
 * open, submitparts.c looks at its partitions, submitrecord.c writes the record.  Core thread. */
#pragma once

#include "base/strbuf.h"
#include "ctld/ctld.h"
#include "ctld/core/contents.h"

/* The idempotency key that a submission came with. */
struct submitkey {
    bool used;
    struct digest key, content;
};

struct submission {
    struct ctld *ctld;
    struct cmd *cmd;
    Pst__SubmitRequest *req;   /* of a crontab: one of its entries, cmd->msg is the crontab's */
    struct contents *contents; /* the command's */
    struct submitkey key;
    bool hold;
    Pst__JobRecord *rec; /* owned until handed over */
    struct partition *first;
    bool replaces; /* another record of the same number goes: with it what it names */
    bool later;    /* it asks for more than a partition has now */
    bool numbered; /* refused when it had its number, which is used up */
    uint32_t array_count;
    uint32_t het_offset, het_count; /* component; het_count 0 = not heterogeneous */
    int code;
    const char *hint;        /* sentence that comes before the code's text */
    struct strbuf messages;  /* of the site's filters, for the user */
    char text[ERR_TEXT_MAX]; /* replaces the code's text when set */
};

/* The submission is refused with this code.  Always false. */
static inline bool submission_fail(struct submission *s, int code)
{
    s->code = code;
    return false;
}
/* Look at everything that is asked for, and fill in defaults.  False: refused, see code, hint and
 * text. */
bool submission_check(struct submission *s);
/* Drop what is not this sender's to say.  Fields that the schema does not know go too: a later
 * release would take them for its controller's word. */
void submission_keep_fields(Pst__JobRecord *r, bool admin);
void submission_done(struct submission *s);
/* submitparts.c: every partition named exists, and the job could run in at least one; those that do
 * not let the user in are taken off the list. */
bool submission_check_partitions(struct submission *s);
/* submitrecord.c: record, script and environment of one component, or of a job that is none; first
 * is the id of the job, or of the first component. */
void submission_put(struct submission *s, Pst__Transaction *tx, uint32_t first);

/* submitrecord.c: which scripts and environments were logged for accounting, and when. */
struct bloblog;
int bloblog_new(struct bloblog **ret);           /* -ENOMEM */
struct bloblog *bloblog_free(struct bloblog *b); /* always NULL */
