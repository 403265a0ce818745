/* jobcalls.c - see jobcalls.h */
#include "session/jobcalls.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define WAIT_MAX_MS INT64_C(3600000)

/* The next frame of this answer: 1, 0 another frame came or none, -ETIME. */
static int next_answer(struct client *c, uint32_t id, int64_t deadline_mono_us,
                       struct frame *ret_frame)
{
    int64_t left_us = deadline_mono_us == JOBCALLS_FOREVER ? -1 : deadline_mono_us - now_mono_us();
    int r;

    if (deadline_mono_us != JOBCALLS_FOREVER && left_us <= 0)
        return -ETIME;
    r = client_recv(c, left_us < 0 ? -1 : (int)MIN(left_us / 1000 + 1, WAIT_MAX_MS), ret_frame);
    return r > 0 ? ret_frame->id == id : r;
}

/* The job is no longer known, or the controller has no time: it is asked again. */
static int unknown_or_away(const struct frame *frame)
{
    Pst__Error *e;
    int r = FRAME_UNPACK(error, frame, &e, NULL);

    if (r < 0)
        return r;
    r = e->code == EPST_SHUTTING_DOWN || e->code == EPST_BUSY ? -ECONNRESET : -ENOENT;
    pst__error__free_unpacked(e, NULL);
    return r;
}

int jobcalls_wait_end(struct client *c, uint32_t job_id, int64_t deadline_mono_us,
                      uint32_t *ret_status)
{
    Pst__JobWaitRequest req = PST__JOB_WAIT_REQUEST__INIT;
    uint32_t id = client_next_id(c);
    int r;

    req.job_id = job_id;
    req.has_job_id = true;
    r = client_send(c, OP_JOB_WAIT, 0, id, &req.base);
    while (r >= 0) {
        struct frame frame;
        Pst__JobStatus *status;

        r = next_answer(c, id, deadline_mono_us, &frame);
        if (r <= 0)
            continue;
        if (frame.flags & FRAME_ERROR)
            return unknown_or_away(&frame);
        r = FRAME_UNPACK(job_status, &frame, &status, NULL);
        if (r < 0)
            return r;
        *ret_status = status->exit_status;
        pst__job_status__free_unpacked(status, NULL);
        if (!(frame.flags & FRAME_MORE))
            return 0;
    }
    return r;
}

static int take_refusal(const struct frame *frame, struct err *err)
{
    Pst__Error *e;
    int r;

    if (FRAME_UNPACK(error, frame, &e, NULL) < 0)
        return -EPROTO;
    r = e->code == ESLURM_NOT_SUPPORTED ? -ENOTSUP : -EBADR;
    (void)err_set(err, r, "%s", e->text ? e->text : slurm_err_text(e->code));
    pst__error__free_unpacked(e, NULL);
    return r;
}

int jobcalls_wait_steps(struct client *c, const char *id, int64_t deadline_mono_us, struct err *err)
{
    Pst__StepsWaitRequest req = PST__STEPS_WAIT_REQUEST__INIT;
    uint32_t request = client_next_id(c);
    int r;

    req.id = (char *)(uintptr_t)id; /* only read */
    r = client_send(c, OP_STEPS_WAIT, 0, request, &req.base);
    while (r >= 0) {
        struct frame frame;

        r = next_answer(c, request, deadline_mono_us, &frame);
        if (r > 0)
            return frame.flags & FRAME_ERROR ? take_refusal(&frame, err) : 0;
    }
    return r;
}

void jobcalls_choose_kill(Pst__JobActionRequest *request)
{
    bool whole = !request->batch_only;
    bool cancels;

    for (size_t i = 0; i < request->n_ids; i++)
        whole = whole && !strchr(request->ids[i], '.');
    cancels =
        !request->batch_only && (!request->has_signal || (whole && request->signal == SIGKILL));
    request->has_verb = true;
    request->verb = cancels ? PST__JOB_VERB__VERB_CANCEL : PST__JOB_VERB__VERB_SIGNAL;
    if (!cancels && !request->has_signal) {
        request->has_signal = true;
        request->signal = SIGKILL;
    }
}
