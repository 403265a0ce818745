/* acctchoice.c - which jobs of accounting are shown; see acctchoice.h */
#include "cli/query/acctchoice.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "model/words/names.h"

/* --whole-hetjob=no: the leader's id is that of the first component. */
static bool component_named(const struct filter_ids *ids, const Pst__JobRecord *j)
{
    bool named = !j->het_job_id || !ids->n;

    for (size_t i = 0; i < ids->n && !named; i++)
        named = ids->ids[i].has_het || ids->ids[i].job_id == j->job_id;
    return named;
}

static bool assoc_wanted(const char *list, const Pst__JobRecord *j)
{
    char number[16];

    (void)snprintf(number, sizeof(number), "%u", j->assoc_id); /* fits */
    return j->has_assoc_id && wordlist_has(list, number);
}

static bool never_eligible(const Pst__JobRecord *j)
{
    return names_job_state_terminal((unsigned)j->state) && j->start_us <= 0 &&
           (j->eligible_us <= 0 || j->eligible_us > j->end_us);
}

bool acct_wanted(const struct acct_choice *c, const Pst__JobRecord *j)
{
    const struct jobfilter *f = c->filter;
    const struct job_row row = { .job = j };
    bool held = j->state == PST__JOB_STATE__JOB_PENDING && j->has_priority && j->priority == 0;

    if (c->whole_het == WHOLE_NO && !component_named(&f->ids, j))
        return false;
    if (c->assocs && !assoc_wanted(c->assocs, j))
        return false;
    if (f->have_states && !jobfilter_match_state(f, j) &&
        !(f->states.base & 1u << PST__JOB_STATE__JOB_RUNNING))
        return false;
    /* Not eligible yet: shown only when asked for by number. */
    if (!f->ids.n && held && j->eligible_us <= 0)
        return false;
    /* Ended before it was eligible: its state must be asked for. */
    if (!f->ids.n && !f->have_states && never_eligible(j))
        return false;
    return jobfilter_match(f, &row);
}

bool acct_ended_with(const Pst__JobRecord *j, uint32_t code)
{
    int status = (int)j->exit_status;

    return names_job_state_terminal((unsigned)j->state) && WIFEXITED(status) &&
           (uint32_t)WEXITSTATUS(status) == code;
}

/* batch, extern, interactive, then the numbered ones. */
static int compare_steps(const void *pa, const void *pb)
{
    const Pst__StepRecord *a = *(Pst__StepRecord *const *)pa, *b = *(Pst__StepRecord *const *)pb;
    bool special_a = names_step_special(a->step_id), special_b = names_step_special(b->step_id);

    if (special_a != special_b)
        return special_a ? -1 : 1;
    return a->step_id < b->step_id ? -1 : a->step_id > b->step_id;
}

void acct_sort_steps(Pst__AcctJob *a)
{
    if (a->n_steps > 1)
        qsort(a->steps, a->n_steps, sizeof(*a->steps), compare_steps);
}

static int64_t clamp_time(int64_t us, int64_t least, int64_t most)
{
    return us <= 0 ? us : MIN(MAX(us, least), most);
}

void acct_truncate(Pst__AcctJob *a, int64_t start_us, int64_t end_us)
{
    a->job->start_us = clamp_time(a->job->start_us, start_us, end_us);
    a->job->end_us = clamp_time(a->job->end_us, start_us, end_us);
    for (size_t i = 0; i < a->n_steps; i++) {
        a->steps[i]->start_us = clamp_time(a->steps[i]->start_us, start_us, end_us);
        a->steps[i]->end_us = clamp_time(a->steps[i]->end_us, start_us, end_us);
    }
}
