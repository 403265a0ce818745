/* explain_text.h - op query-explain: why a job waits, in sentences.  Core thread.
 *
 * The scheduler's thread does the thinking (sched_explain.h); the core only hands the job over and
 * words the answer. */
#pragma once

#include "ctld/schedlink/schedthread.h"

#include "explain.pb-c.h"

/* The scheduler's answer has come. */
void explain_answer(struct ctld *ctld, const struct decisions_msg *m);

/* explain_text.c: what is known of a job, to be worded. */
struct explain_text {
    struct ctld *ctld;
    const struct job *job;
    const struct sched_explanation *x; /* NULL: the scheduler was not asked */
    int64_t now_us;
    const struct cmd
        *asker;   /* PrivateData hides jobs of others from this user; NULL: from nobody */
    bool planned; /* the job is a question: it is not there, and nothing of it runs */
};
/* Fill reply (initialised); its strings and messages live in the arena that explain_done()
 * frees. */
struct explain_made;
struct explain_made *explain_make(const struct explain_text *t);
const Pst__ExplainReply *explain_reply(const struct explain_made *m);
void explain_done(struct explain_made *m);
