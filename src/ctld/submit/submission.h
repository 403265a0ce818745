/* submission.h - a job on its way into the cluster; what op_submit.c and its checks share
 *
 * op_submit.c takes the request.  submission.c checks what the request asks for, and fills in
 * defaults.  submitparts.c checks its partitions.  submitrecord.c writes the record of the job.
 * Core thread. */
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
    Pst__SubmitRequest *req;   /* for a crontab: one entry of it; cmd->msg is the whole crontab */
    struct contents *contents; /* scripts and environments of the command */
    struct submitkey key;
    bool hold;
    Pst__JobRecord *rec; /* owned until handed over */
    struct partition *first;
    bool replaces; /* the job replaces a record with the same number, and its script with it */
    bool later;    /* the job asks for more than a partition has now, and may wait */
    bool numbered; /* the job had its number already when it was refused: the number is used up */
    uint32_t array_count;
    uint32_t het_offset,
        het_count; /* which component of how many; het_count 0: not heterogeneous */
    int code;
    const char *hint;        /* sentence that comes before the code's text */
    struct strbuf messages;  /* what the site's filters say to the user */
    char text[ERR_TEXT_MAX]; /* replaces the code's text when set */
};

/* The submission is refused with this code.  Always false. */
static inline bool submission_fail(struct submission *s, int code)
{
    s->code = code;
    return false;
}
/* Check the whole request and fill in defaults.  False: refused; see code, hint and text. */
bool submission_check(struct submission *s);
/* Remove the fields that this sender may not set.  Fields that our schema does not know are removed
 * too: a later release would believe that its own controller had set them. */
void submission_keep_fields(Pst__JobRecord *r, bool admin);
void submission_done(struct submission *s);
/* submitparts.c: check that every partition of the list exists, remove those that do not let the
 * user in, and check that the job could run in one of the others. */
bool submission_check_partitions(struct submission *s);
/* submitrecord.c: put the record, the script and the environment of a job, or of one component of a
 * heterogeneous job, into tx.  first: the id of the job, or of the first component. */
void submission_put(struct submission *s, Pst__Transaction *tx, uint32_t first);

/* submitrecord.c: which scripts and environments were logged for accounting, and when. */
struct bloblog;
int bloblog_new(struct bloblog **ret);           /* -ENOMEM */
struct bloblog *bloblog_free(struct bloblog *b); /* always NULL */
