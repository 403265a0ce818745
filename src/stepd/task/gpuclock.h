/* gpuclock.h - the clocks of the step's GPUs, while the step runs: --gpu-freq */
#pragma once

struct step;

/* With StepFile.gpu_clocks: give the GPUs that the step has as a whole the clocks that are asked
 * for, until gpuclock_done() of step.h.  What cannot be done is told to the user; the step runs
 * all the same. */
void gpuclock_set(struct step *s);
/* The line for the first task's standard error about what became of it; NULL: there is none. */
const char *gpuclock_line(const struct step *s);
