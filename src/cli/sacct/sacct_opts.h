/* sacct_opts.h - the options of sacct */
#pragma once

#include "cli/base/opts.h"

/* Its rows fill a struct sacct (sacct.h); what is wrong ends the process, in Slurm's words. */
extern const struct opt_command sacct_command;
