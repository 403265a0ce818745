/* extern.c - the extern step: no tasks, but a place for processes that others start; see step.h
 *
 * The loop takes the step as running one task until slurmd says that the rest of the job is over
 * (release).  Those who were given to the step are not our children: nothing tells of their ends,
 * so that after the release they are looked for, in growing pauses. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/step.h"

#define LOOK_FIRST_US 5000
#define LOOK_MAX_US 500000

struct extstep {
    bool released, used;
    int64_t look_mono_us; /* 0: nothing to look for */
    int64_t pause_us;
};

int extern_begin(struct step *s)
{
    s->ext = calloc(1, sizeof(*s->ext));
    if (!s->ext)
        return -ENOMEM;
    s->n_running = 1;
    return 0;
}

void extern_done(struct step *s)
{
    free(s->ext);
    s->ext = NULL;
}

void extern_terminate(struct step *s, bool now, uint32_t kill_wait_s)
{
    s->suspend_mono_us = 0;
    if (now) {
        s->stage = KILL_ALL;
        s->deadline_mono_us = now_mono_us();
    } else if (s->stage == KILL_NONE) {
        s->stage = KILL_TERM_SENT;
        s->deadline_mono_us = now_mono_us() + (int64_t)kill_wait_s * USEC_PER_SEC;
        (void)proctrack_signal(&s->track, SIGCONT); /* none is fine */
        (void)proctrack_signal(&s->track, SIGTERM);
    }
}

void extern_release(struct step *s)
{
    s->ext->released = true;
    s->ext->pause_us = LOOK_FIRST_US;
    s->ext->look_mono_us = now_mono_us();
}

bool extern_used(const struct step *s)
{
    return s->ext->used;
}

int64_t extern_deadline(const struct step *s)
{
    return s->swept ? 0 : s->ext->look_mono_us;
}

void extern_look(struct step *s, int64_t now_mono)
{
    struct extstep *e = s->ext;

    if (!e->released && s->stage == KILL_ALL && proctrack_signal(&s->track, 0) == 0) {
        s->stage = KILL_NONE; /* others of the job may take longer */
        s->kill_mono_us = 0;
    }
    if (!e->released || s->n_running == 0 || now_mono < e->look_mono_us)
        return;
    if (proctrack_signal(&s->track, 0) == 0) {
        s->n_running = 0;
        e->look_mono_us = 0;
        return;
    }
    e->look_mono_us = now_mono + e->pause_us;
    e->pause_us = MIN(e->pause_us * 2, (int64_t)LOOK_MAX_US);
}
