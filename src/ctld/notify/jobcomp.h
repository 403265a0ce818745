/* jobcomp.h - a record of each run that ended, for others: JobCompType
 *
 * The core puts a note with the whole record into the log beside the end of a run (and its
 * start, when asked); a follower of the log (logfollow.h) takes the notes to a file, a program,
 * Elasticsearch or Kafka.  A receiver that is away delays no job, and gets every note once it is
 * back: at least once, in order. */
#pragma once

#include <stdatomic.h>

#include "base/strbuf.h"
#include "ctld/ctld.h"

struct jobcomp;

/* Nothing is started without a JobCompType; *ret is NULL then.  err has a sentence when the
 * configuration cannot work (a missing JobCompLoc, a file that cannot be written ...). */
int jobcomp_start(struct ctld *ctld, struct jobcomp **ret, struct err *err);
struct jobcomp *jobcomp_stop(struct jobcomp *jc);       /* always NULL */
void jobcomp_durable(struct jobcomp *jc, uint64_t lsn); /* any thread; NULL is a no-op */
uint64_t
jobcomp_keep(const struct jobcomp *jc); /* first record the log should keep; NULL: UINT64_MAX */
uint64_t jobcomp_lag(const struct jobcomp *jc); /* records it has yet to look at */
/* Core thread, before tx is applied: what is to be appended to its encoding.  NULL is a no-op. */
void jobcomp_notes(const struct jobcomp *jc, const struct cluster *c, const Pst__Transaction *tx,
                   struct strbuf *out);

/* ---- where notes go: one row a type, in jobcomp.c -------------------------------------------- */

struct jobcomp_sink {
    const char *type; /* "jobcomp/filetxt" */
    unsigned batch;
    int retry_ms, idle_ms;
    bool json; /* send_script and send_comment have a meaning */
    int (*open)(const struct conf *conf, void **ret, struct err *err);
    /* Take one note; what it points to lives until the next flush. */
    int (*put)(void *sink, uint64_t lsn, const Pst__JobNote *note, struct err *err);
    /* As follow_ops.flush. */
    int (*flush)(void *sink, const atomic_bool *stop, uint64_t *ret_done, struct err *err);
    void (*idle)(void *sink);
    void (*close)(void *sink);
};
extern const struct jobcomp_sink jobcomp_filetxt, jobcomp_script, jobcomp_elastic, jobcomp_kafka;

/* ---- texts: jobcomp_text.c ------------------------------------------------------------------- */

/* One line of jobcomp/filetxt with its newline.  Errors: -ENOMEM. */
int jobcomp_line(const Pst__JobNote *note, const char *cluster, struct strbuf *out);
/* One JSON object, no newline.  *ret is the caller's. */
int jobcomp_json(const Pst__JobNote *note, const char *cluster, char **ret, size_t *ret_len);
/* "0:9" of a wait(2) status. */
#define JOBCOMP_EXIT_MAX 24
const char *jobcomp_exit(bool has, uint32_t status, char *buf);
const char *jobcomp_state(const Pst__JobRecord *r);
/* What it ran on, or asked for when it never ran. */
uint32_t jobcomp_cpus(const Pst__JobRecord *r);
uint32_t jobcomp_nodes(const Pst__JobRecord *r);
int64_t jobcomp_start_us(const Pst__JobRecord *r); /* the end, when it never started */
