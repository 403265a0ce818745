/* fmt_sacct.h - the columns of sacct, and of sstat, which has those of running steps
 *
 * A row is a job (an allocation) or one of its steps.  Columns have fixed widths, cut values end in
 * '+'; or values stand between delimiters.  Pure; one thread per object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "base/strbuf.h"

#define SACCT_WIDTH_MAX 10000

struct sacct_row {
    const Pst__AcctJob *acct;
    const Pst__StepRecord *step; /* NULL: the allocation */
    int64_t now_us;
    const char *cluster;
    char unit;      /* K M G T P; 0 = as stored */
    bool noconvert; /* plain numbers */
    bool expand;    /* patterns in file names */
    unsigned bitstr_len;
    bool live; /* sstat: step and usage are of this moment */
    const uint32_t *pids;
    size_t n_pids;
};

/* What becomes of a value that is wider than its column. */
enum sacct_wide {
    SACCT_PLUS,  /* cut, with a plus at the end */
    SACCT_CUT,   /* cut: dates */
    SACCT_WHOLE, /* shown whole: numbers, seconds */
};

struct sacct_field {
    const char *name;
    int width;                                                 /* negative: left-justified */
    void (*put)(struct strbuf *sb, const struct sacct_row *r); /* NULL: always empty */
    enum sacct_wide wide;
};
extern const struct sacct_field sacct_fields[];
extern const size_t sacct_n_fields;
struct sacct_table {
    const struct sacct_field *fields;
    size_t n;
};
extern const struct sacct_table sacct_table, sstat_fields;

#define SACCT_DEFAULT "jobid,jobname,partition,account,alloccpus,state,exitcode"
#define SACCT_BRIEF "jobid,state,exitcode"
#define SACCT_LONG                                                                                 \
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,"     \
    "maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,"  \
    "mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,reqcpufreqmin,"          \
    "reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,"               \
    "maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,"     \
    "reqtres,alloctres,tresusageinave,tresusageinmax,tresusageinmaxn,tresusageinmaxt,"             \
    "tresusageinmin,tresusageinminn,tresusageinmint,tresusageintot,tresusageoutmax,"               \
    "tresusageoutmaxn,tresusageoutmaxt,tresusageoutave,tresusageouttot"
#define SSTAT_DEFAULT                                                                              \
    "jobid,alloctres,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,"           \
    "maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,"  \
    "avecpu,ntasks,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,consumedenergy,"           \
    "maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,"       \
    "maxdiskwritetask,avediskwrite,tresusageinave,tresusageinmax,tresusageinmaxnode,"              \
    "tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,"      \
    "tresusageoutave,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutmin,"     \
    "tresusageoutminnode,tresusageoutmintask,tresusageouttot"
#define SSTAT_PIDS "jobid,nodelist,pids"

struct sacct_col {
    const struct sacct_field *field;
    int width;
};

enum sacct_style {
    SACCT_FIXED,
    SACCT_PARSABLE,  /* delimiter after every value */
    SACCT_PARSABLE2, /* between values only */
};

struct sacct_fmt {
    struct sacct_col *cols;
    size_t n;
    enum sacct_style style;
    const char *delimiter;           /* "|" */
    const struct sacct_table *table; /* NULL: sacct's */
};

/* "name[%[-]width],..." or ALL, added to the columns.  Names in any case; the beginning of one is
 * enough. Errors: -EINVAL with the sentence, -ENOMEM. */
int sacct_fmt_parse(struct sacct_fmt *f, const char *spec, struct err *err);
void sacct_fmt_done(struct sacct_fmt *f);
/* Heading and, for fixed columns, the line below it. */
void sacct_fmt_header(const struct sacct_fmt *f, struct strbuf *out);
void sacct_fmt_row(const struct sacct_fmt *f, const struct sacct_row *r, struct strbuf *out);
/* The names in four columns. */
void sacct_fmt_help(const struct sacct_table *t, struct strbuf *out);

/* Words and values that JSON shows too. */
uint32_t sacct_exit_status(const struct sacct_row *r);
/* Of a step: how long its job was suspended while it ran. */
int64_t sacct_suspended_s(const struct sacct_row *r);
int64_t sacct_elapsed_s(const struct sacct_row *r);
/* From when the job could have started until it did, or was cancelled instead. */
int64_t sacct_planned_s(const struct sacct_row *r);
uint32_t sacct_cpus(const struct sacct_row *r);
/* CPU time of a step, or of all steps. */
void sacct_cpu_us(const struct sacct_row *r, uint64_t *ret_user_us, uint64_t *ret_sys_us);
const char *sacct_job_state(const Pst__JobRecord *j);
/* The SLUID of the record: that of the run until the job changes its size.  NULL: none. */
static inline const char *sacct_job_sluid(const Pst__JobRecord *j)
{
    return j->part_sluid ? j->part_sluid : j->sluid;
}
