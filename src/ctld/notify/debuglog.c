/* debuglog.c - what changed in the cluster, by subject; see debuglog.h */
#include "ctld/notify/debuglog.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "model/words/names.h"

#define KIND(x) PST__EVENT_KIND__EV_##x

static const char *text_or(const char *text, const char *other)
{
    return text && *text ? text : other;
}

/* Nothing has happened when a controller begins and is told of all that there is, which may be a
 * million jobs, or when a record changes for no reason of its own. */
static bool is_event(Pst__EventKind kind)
{
    return kind != KIND(UNSPECIFIED) && names_event(kind);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* "FAILED+COMPLETING": what a job came to, and what is still done about that. */
#define STATE_MAX 64
static const char *state_text(const Pst__JobRecord *r, char *buf)
{
    const char *state = names_job_state(r->state);
    const char *shown = names_job_state_word(r->state, r->state_flags, false);

    (void)snprintf(buf, STATE_MAX, strcmp(state, shown) == 0 ? "%s" : "%s+%s", state, shown);
    return buf;
}

static void put_trace(const Pst__JobRecord *r, Pst__EventKind kind, char *buf)
{
    char state[STATE_MAX];

    (void)snprintf(buf, DEBUGLOG_LINE_MAX, "JobId=%u %s: %s, reason %s", r->job_id,
                   names_event(kind), state_text(r, state),
                   names_reason(r->has_reason ? r->reason : r->pend_reason));
}

static bool put_selection(const Pst__JobRecord *r, Pst__EventKind kind, char *buf)
{
    if (kind != KIND(JOB_START) || !r->alloc)
        return false;
    (void)snprintf(buf, DEBUGLOG_LINE_MAX, "JobId=%u gets %s: %s", r->job_id,
                   text_or(r->alloc->nodes, "no node"), text_or(r->alloc_tres, "nothing"));
    return true;
}

static bool put_licenses(const Pst__JobRecord *r, Pst__EventKind kind, char *buf)
{
    const char *verb = kind == KIND(JOB_START) ? "takes" : "gives back";

    if ((kind != KIND(JOB_START) && kind != KIND(JOB_END)) || !r->alloc ||
        !*text_or(r->licenses_alloc, text_or(r->licenses, "")))
        return false; /* without an allocation nothing was taken */
    (void)snprintf(buf, DEBUGLOG_LINE_MAX, "JobId=%u %s %s", r->job_id, verb,
                   text_or(r->licenses_alloc, r->licenses));
    return true;
}

static bool put_component(const Pst__JobRecord *r, Pst__EventKind kind, char *buf)
{
    char state[STATE_MAX];

    if (!r->has_het_job_id || !r->het_job_id ||
        (kind != KIND(JOB_SUBMIT) && kind != KIND(JOB_START) && kind != KIND(JOB_END)))
        return false;
    (void)snprintf(buf, DEBUGLOG_LINE_MAX, "JobId=%u+%u(%u) %s: %s", r->het_job_id,
                   r->job_id - r->het_job_id, r->job_id, names_event(kind), state_text(r, state));
    return true;
}

static bool put_turn(const Pst__JobRecord *r, Pst__EventKind kind, char *buf)
{
    if (kind != KIND(JOB_TURN) && kind != KIND(JOB_TURN_OVER))
        return false;
    (void)snprintf(buf, DEBUGLOG_LINE_MAX, "JobId=%u %s", r->job_id,
                   kind == KIND(JOB_TURN) ? "runs: its turn begins"
                                          : "stands still until its turn");
    return true;
}

bool debuglog_job(enum log_subject subject, const Pst__JobRecord *r, Pst__EventKind kind,
                  char buf[DEBUGLOG_LINE_MAX])
{
    if (!is_event(kind))
        return false;
    switch (subject) {
    case LOG_SUBJECT_TRACE_JOBS:
        put_trace(r, kind, buf);
        return true;
    case LOG_SUBJECT_SELECT_TYPE:
        return put_selection(r, kind, buf);
    case LOG_SUBJECT_LICENSE:
        return put_licenses(r, kind, buf);
    case LOG_SUBJECT_HETJOB:
        return put_component(r, kind, buf);
    case LOG_SUBJECT_GANG:
        return put_turn(r, kind, buf);
    default:
        return false;
    }
}

/* ---- steps, nodes, reservations -------------------------------------------------------------- */

bool debuglog_step(uint32_t job_id, const Pst__StepRecord *r, Pst__EventKind kind,
                   char buf[DEBUGLOG_LINE_MAX])
{
    const char *special = names_step_special(r->step_id);
    char id[16], status[32] = "";

    if (!is_event(kind))
        return false;
    (void)snprintf(id, sizeof(id), "%u", r->step_id);
    if (r->has_exit_status)
        (void)snprintf(status, sizeof(status), ", exit status %u", r->exit_status);
    (void)snprintf(buf, DEBUGLOG_LINE_MAX, "StepId=%u.%s %s: %s on %s%s", job_id,
                   text_or(special, id), names_event(kind), names_step_state(r->state),
                   text_or(r->alloc ? r->alloc->nodes : NULL, "no node"), status);
    return true;
}

bool debuglog_node(enum log_subject subject, const Pst__NodeRecord *r, Pst__EventKind kind,
                   char buf[DEBUGLOG_LINE_MAX])
{
    const struct names_node n = names_node_of(r);
    char state[NAMES_NODE_TEXT];

    if (subject == LOG_SUBJECT_POWER && kind == KIND(NODE_POWER))
        (void)snprintf(buf, DEBUGLOG_LINE_MAX, "node %s: %s", r->name,
                       names_node_full(&n, false, state, sizeof(state)));
    else if (subject == LOG_SUBJECT_NODE_FEATURES && kind == KIND(NODE_REGISTER))
        (void)snprintf(buf, DEBUGLOG_LINE_MAX, "node %s: %s are active of %s", r->name,
                       text_or(r->active_features, "none"), text_or(r->features, "none"));
    else if (subject == LOG_SUBJECT_GRES && kind == KIND(NODE_REGISTER))
        (void)snprintf(buf, DEBUGLOG_LINE_MAX, "node %s registered with %s", r->name,
                       text_or(r->gres, "no devices"));
    else
        return false;
    return true;
}

void debuglog_resv(const Pst__ReservationRecord *r, char buf[DEBUGLOG_LINE_MAX])
{
    int64_t now = now_us();
    char start[64], end[64];

    time_fmt_stamp(r->start_us, "None", now, start, sizeof(start));
    time_fmt_stamp(r->end_us, "None", now, end, sizeof(end));
    (void)snprintf(buf, DEBUGLOG_LINE_MAX, "%s is from %s to %s on %s", text_or(r->name, "?"),
                   start, end, text_or(r->nodes, "no node"));
}

/* ---- the service ----------------------------------------------------------------------------- */

static void log_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    static const enum log_subject subjects[] = { LOG_SUBJECT_TRACE_JOBS, LOG_SUBJECT_SELECT_TYPE,
                                                 LOG_SUBJECT_LICENSE, LOG_SUBJECT_HETJOB,
                                                 LOG_SUBJECT_GANG };
    char line[DEBUGLOG_LINE_MAX];

    (void)ctld;
    for (size_t i = 0; log_subjects() && i < ARRAY_SIZE(subjects); i++)
        if (log_has_flag(subjects[i]) && debuglog_job(subjects[i], j->rec, kind, line))
            log_info("%s: %s", logflags_word(subjects[i]), line);
}

static void log_step(struct ctld *ctld, struct job *j, struct step *s, Pst__EventKind kind)
{
    char line[DEBUGLOG_LINE_MAX];

    (void)ctld;
    if (log_has_flag(LOG_SUBJECT_STEPS) && debuglog_step(j->rec->job_id, s->rec, kind, line))
        log_flag(STEPS, "%s", line);
}

static void log_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    static const enum log_subject subjects[] = { LOG_SUBJECT_POWER, LOG_SUBJECT_NODE_FEATURES,
                                                 LOG_SUBJECT_GRES };
    char line[DEBUGLOG_LINE_MAX];

    (void)ctld;
    for (size_t i = 0; log_subjects() && i < ARRAY_SIZE(subjects); i++)
        if (log_has_flag(subjects[i]) && debuglog_node(subjects[i], n->rec, kind, line))
            log_info("%s: %s", logflags_word(subjects[i]), line);
}

static void log_kept(struct ctld *ctld, struct kept *k)
{
    char line[DEBUGLOG_LINE_MAX];

    (void)ctld;
    if (k->kind != KEPT_RESV || !log_has_flag(LOG_SUBJECT_RESERVATION))
        return;
    debuglog_resv((const Pst__ReservationRecord *)k->rec, line);
    log_flag(RESERVATION, "%s", line);
}

static void log_kept_gone(struct ctld *ctld, struct kept *k)
{
    (void)ctld;
    if (k->kind == KEPT_RESV)
        log_flag(RESERVATION, "%s is gone",
                 text_or(((const Pst__ReservationRecord *)k->rec)->name, "?"));
}

const struct ctld_service debuglog_service = {
    .name = "debuglog",
    .on_job = log_job,
    .on_step = log_step,
    .on_node = log_node,
    .on_kept = log_kept,
    .on_kept_gone = log_kept_gone,
};
