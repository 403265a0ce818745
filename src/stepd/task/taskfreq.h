/* taskfreq.h - the frequency of the step's CPUs, while the step runs */
#pragma once

struct step;

/* Give the CPUs of the step the frequency and the governor that are asked for, until
 * taskfreq_done() of step.h.  What the CPUs cannot do is told to the user; the step runs all the
 * same. */
void taskfreq_set(struct step *s);
