/* srun_sender.h - who sent srun a signal */
#pragma once

#include <stdbool.h>
#include <sys/signalfd.h>

/* It comes from the step daemon of the batch script around srun, which signals all processes of the
 * script: the steps get such a signal by themselves.  False also of one that is meant for the
 * script's first process alone, which is srun after `exec srun`; the daemon queues that one. */
bool srun_sent_to_script(const struct signalfd_siginfo *info);
