/* joblog.c - the life of jobs in the daemon log; see joblog.h */
#include "ctld/notify/joblog.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/log.h"
#include "ctld/core/service.h"
#include "model/job.h"
#include "model/words/names.h"

static int put_id(const Pst__JobRecord *r, char *buf)
{
    if (!r->has_array_job_id || !r->has_array_task_id)
        return snprintf(buf, JOBLOG_LINE_MAX, "JobId=%u", r->job_id);
    return snprintf(buf, JOBLOG_LINE_MAX, "JobId=%u_%u(%u)", r->array_job_id, r->array_task_id,
                    r->job_id);
}

static int put_end(const Pst__JobRecord *r, char *buf, size_t room)
{
    int status = (int)r->exit_status;
    int64_t ran_us = r->has_start_us && r->end_us > r->start_us ? r->end_us - r->start_us : 0;
    const char *state = names_job_state_word(r->state, 0, false);

    if (!r->has_exit_status) /* what a cancelled job leaves is not known yet */
        return snprintf(buf, room, " ended: %s, after %" PRId64 " s", state, ran_us / 1000000);
    return snprintf(buf, room, " ended: %s, exit %d:%d, after %" PRId64 " s", state,
                    WIFSIGNALED(status) ? 0 : WEXITSTATUS(status),
                    WIFSIGNALED(status) ? WTERMSIG(status) : 0, ran_us / 1000000);
}

static bool is_told(Pst__EventKind kind)
{
    return kind == PST__EVENT_KIND__EV_JOB_SUBMIT || kind == PST__EVENT_KIND__EV_JOB_START ||
           kind == PST__EVENT_KIND__EV_JOB_END || kind == PST__EVENT_KIND__EV_JOB_REQUEUE;
}

size_t joblog_line(const Pst__JobRecord *r, Pst__EventKind kind, char buf[JOBLOG_LINE_MAX])
{
    size_t len, room;
    int n = 0;

    if (!is_told(kind))
        return 0;
    len = (size_t)put_id(r, buf);
    room = JOBLOG_LINE_MAX - len;
    if (kind == PST__EVENT_KIND__EV_JOB_SUBMIT)
        n = snprintf(buf + len, room, " submitted by %s: partition %s%s%s",
                     r->user_name ? r->user_name : "?", r->partition ? r->partition : "?",
                     r->array_tasks ? ", tasks " : "", r->array_tasks ? r->array_tasks : "");
    else if (kind == PST__EVENT_KIND__EV_JOB_START && r->alloc)
        n = snprintf(buf + len, room, " started: partition %s, %u CPUs on %s",
                     r->partition ? r->partition : "?", r->alloc->total_cpus,
                     r->alloc->nodes ? r->alloc->nodes : "?");
    else if (kind == PST__EVENT_KIND__EV_JOB_END && job_is_ended(r))
        n = put_end(r, buf + len, room);
    else if (kind == PST__EVENT_KIND__EV_JOB_REQUEUE)
        n = snprintf(buf + len, room, " is queued again");
    if (n <= 0)
        return 0;
    return (size_t)n < room ? len + (size_t)n : JOBLOG_LINE_MAX - 1;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void log_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    char line[JOBLOG_LINE_MAX];

    (void)ctld;
    if (log_get_level() >= LOG_INFO && joblog_line(j->rec, kind, line))
        log_info("%s", line);
}

const struct ctld_service joblog_service = { .name = "joblog", .on_job = log_job };
