/* mail.h - mail to users about their jobs
 *
 * Core thread.  MailProg runs beside the core (programs.h), once the event is durable. */
#pragma once

#include "ctld/ctld.h"

/* Bits of JobRecord.mail_type, as the commands set them. */
enum mail_type {
    MAIL_BEGIN = 0x1,
    MAIL_END = 0x2,
    MAIL_FAIL = 0x4,
    MAIL_REQUEUE = 0x8,
    MAIL_TIME_100 = 0x10,
    MAIL_TIME_90 = 0x20,
    MAIL_TIME_80 = 0x40,
    MAIL_TIME_50 = 0x80,
    MAIL_STAGE_OUT = 0x100,
    MAIL_ARRAY_TASKS = 0x200,
    MAIL_INVALID_DEPEND = 0x400,
};

struct mails; /* which marks of a time limit were mailed about */

int mails_new(struct mails **ret);         /* -ENOMEM */
struct mails *mails_free(struct mails *m); /* always NULL */

/* What happened to j, by the kind of its event: started, ended, is queued again. */
void mail_job(struct ctld *ctld, struct job *j, Pst__EventKind kind);
/* j runs: did it pass one of the marks of its time limit? */
void mail_time(struct ctld *ctld, struct job *j, int64_t now_us);
void mail_invalid_depend(struct ctld *ctld, struct job *j);
/* After recovery: marks passed already were mailed about. */
void mail_recover(struct ctld *ctld, const struct job *j, int64_t now_us);
/* j is about to be forgotten. */
void mail_forget(struct ctld *ctld, const struct job *j);
