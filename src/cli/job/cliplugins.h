/* cliplugins.h - plugins of the site in srun, salloc, sbatch and scrontab (plugstack.conf)
 *
 * The stack is in struct cli; a process has one.  Every function does nothing when there is none; a
 * required plugin that fails ends the command with a sentence. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "cli/base/cli.h"
#include "cli/base/opts.h"
#include "cli/job/jobenvlist.h"

/* Before the options are parsed, which may be theirs.  local: this is srun.  Without a slurm.conf
 * to read there are none: the command says so itself when it needs it. */
void plugins_load(struct cli *c, bool local);
/* Their options, for the parser of the command's own; good until plugins_end().  NULL: none. */
const struct opt_more *plugins_options(const struct cli *c);
/* All options are known.  words: of the command to run, NULL-terminated. */
void plugins_options_done(struct cli *c, char **words, int n_words);
/* The same for one entry of a crontab, whose options were noted: they are handed over, become part
 * of env and job, and are forgotten.  -EINVAL with a sentence: refused. */
int plugins_take_entry(struct cli *c, struct envlist *env, Pst__JobRecord *job, struct err *err);
/* All entries were taken. */
void plugins_entries_done(struct cli *c);
/* The variables by which options reach the step daemons. */
void plugins_add_env(const struct cli *c, struct envlist *env);
/* What Prolog and Epilog are told; pb_done() frees it. */
void plugins_fill_job(const struct cli *c, Pst__JobRecord *job);
/* srun: the step is there and its tasks are not.  0, or the exit status with the sentence
 * printed. */
int plugins_step_made(struct cli *c, uint32_t job_id, uint32_t step_id, uint32_t nodes,
                      uint32_t tasks);
void plugins_end(struct cli *c);
