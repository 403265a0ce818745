/* schedlog.c - the log of scheduling; see schedlog.h
 *
 * Lines gather while a batch of commands is carried out and leave in one write(2) behind it.  What
 * cannot be written is lost, as lines of the daemon log are. */
#include "ctld/notify/schedlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "model/words/names.h"

#define KIND(x) PST__EVENT_KIND__EV_##x
#define TEXT_MOST (1u << 20) /* of one batch: what is beyond is lost */

struct schedlog {
    int fd; /* -1: it is off, or could not be opened */
    bool on;
    struct strbuf text;
    int64_t looked_us;
};

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *pass_word(const Pst__JobRecord *r)
{
    switch (r->started_on) {
    case PST__JOB_STARTED_ON__STARTED_ON_SUBMIT:
        return "submission";
    case PST__JOB_STARTED_ON__STARTED_ON_BACKFILL:
        return "backfill";
    default:
        return "main";
    }
}

bool schedlog_line(const Pst__JobRecord *r, Pst__EventKind kind, char buf[SCHEDLOG_LINE_MAX])
{
    const char *what;

    switch (kind) {
    case KIND(JOB_START):
        (void)snprintf(buf, SCHEDLOG_LINE_MAX, "JobId=%u starts on %s: partition %s, %s, by %s",
                       r->job_id, r->alloc && r->alloc->nodes ? r->alloc->nodes : "no node",
                       r->partition ? r->partition : "(null)", r->alloc_tres ? r->alloc_tres : "-",
                       pass_word(r));
        return true;
    case KIND(JOB_END):
        (void)snprintf(buf, SCHEDLOG_LINE_MAX, "JobId=%u ends: %s", r->job_id,
                       names_job_state(r->state));
        return true;
    case KIND(JOB_SUBMIT):
        what = "waits";
        break;
    case KIND(JOB_REQUEUE):
        what = "waits again";
        break;
    case KIND(JOB_PREEMPT):
        what = "is preempted";
        break;
    case KIND(JOB_SUSPEND):
    case KIND(JOB_TURN_OVER):
        what = "is suspended";
        break;
    case KIND(JOB_RESUME):
    case KIND(JOB_TURN):
        what = "goes on";
        break;
    default:
        return false;
    }
    (void)snprintf(buf, SCHEDLOG_LINE_MAX, "JobId=%u %s", r->job_id, what);
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

static const char *log_path(const struct ctld *ctld)
{
    const char *path = conf_str(ctld->conf, CONF_SLURM_SCHED_LOG_FILE);

    return path && *path ? path : NULL;
}

static void close_file(struct schedlog *s)
{
    if (s->fd >= 0)
        (void)close(s->fd); /* what was written is written */
    s->fd = -1;
}

static void open_file(struct ctld *ctld)
{
    struct schedlog *s = ctld->schedlog;
    const char *path = log_path(ctld);

    close_file(s);
    if (!s->on || !path)
        return;
    s->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (s->fd < 0)
        log_limited(LOG_ERROR, "SlurmSchedLogFile=%s: %s", path, strerror(errno));
}

/* Is the file that we write to the one of that name? */
static bool is_in_place(const struct schedlog *s, const char *path)
{
    struct stat ours, named;

    return s->fd >= 0 && fstat(s->fd, &ours) == 0 && stat(path, &named) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

bool schedlog_is_on(const struct ctld *ctld)
{
    return ctld->schedlog && ctld->schedlog->on && log_path(ctld);
}

int schedlog_set(struct ctld *ctld, bool on)
{
    if (!log_path(ctld))
        return ESLURM_DISABLED;
    ctld->schedlog->on = on;
    open_file(ctld);
    return 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void add_line(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    struct schedlog *s = ctld->schedlog;
    char line[SCHEDLOG_LINE_MAX], stamp[64];
    int64_t now = core_now();

    if (!s || s->fd < 0 || s->text.len > TEXT_MOST || !schedlog_line(j->rec, kind, line))
        return;
    time_fmt_stamp(now, "", now, stamp, sizeof(stamp));
    strbuf_addf(&s->text, "[%s] sched: %s\n", stamp, line);
}

static void write_lines(struct ctld *ctld)
{
    struct schedlog *s = ctld->schedlog;
    ssize_t n;

    if (!s->text.len)
        return;
    n = s->fd < 0 ? 0 : write(s->fd, s->text.buf, s->text.len);
    if (n < 0)
        log_limited(LOG_ERROR, "SlurmSchedLogFile: %s", strerror(errno));
    strbuf_reset(&s->text);
}

static void look_at_file(struct ctld *ctld, int64_t now_us)
{
    struct schedlog *s = ctld->schedlog;

    if (!schedlog_is_on(ctld) || now_us - s->looked_us < USEC_PER_SEC)
        return;
    s->looked_us = now_us;
    if (!is_in_place(s, log_path(ctld)))
        open_file(ctld);
}

static void read_conf(struct ctld *ctld)
{
    ctld->schedlog->on = conf_num(ctld->conf, CONF_SLURM_SCHED_LOG_LEVEL) != 0;
    open_file(ctld);
}

static int start_schedlog(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->schedlog = calloc(1, sizeof(*ctld->schedlog));
    if (!ctld->schedlog)
        return -ENOMEM;
    ctld->schedlog->fd = -1;
    read_conf(ctld);
    return 0;
}

static void free_schedlog(struct ctld *ctld)
{
    if (!ctld->schedlog)
        return;
    close_file(ctld->schedlog);
    strbuf_done(&ctld->schedlog->text);
    free(ctld->schedlog);
    ctld->schedlog = NULL;
}

const struct ctld_service schedlog_service = {
    .name = "schedlog",
    .start = start_schedlog,
    .reconfigured = read_conf,
    .free = free_schedlog,
    .tick = look_at_file,
    .batch_end = write_lines,
    .on_job = add_line,
};
