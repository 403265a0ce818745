/* clifilter.h - what the site and the user have to say about options: CliFilterPlugins
 *
 * lua: cli_filter.lua beside slurm.conf (or CliFilterParameters=cli_filter_lua_path=FILE) with
 * slurm_cli_setup_defaults(), slurm_cli_pre_submit() and slurm_cli_post_submit().
 * user_defaults: lines `[command:][cluster:]option=value` of ~/.slurm/defaults.
 *
 * Nothing is opened when the key is not set.  These are conveniences: whoever runs a command owns
 * its process, so what must hold belongs into job_submit.lua. */
#pragma once

#include <stdint.h>

#include "cli/base/cli.h"
#include "cli/job/jobopts.h"

/* Values for options that were not given.  Exits with a sentence when a filter refuses or is
 * unknown. */
void clifilter_defaults(struct cli *c, struct jobopts *jo);
/* All options of component `offset` are known; the filters may change any.  0, or the exit status
 * when the options contradict each other now (printed).  Exits when a filter refuses. */
int clifilter_pre_submit(struct cli *c, struct jobopts *jo, unsigned offset);
#define CLIFILTER_NO_STEP UINT32_C(0xfffffffe)
/* The job is accepted; srun: the step is made. */
void clifilter_post_submit(struct cli *c, unsigned offset, uint32_t job_id, uint32_t step_id);

/* The last call of the command was made. */
void clifilter_end(struct cli *c);

/* clifilter_lua.c: the same for the script. */
void clifilter_lua_defaults(struct cli *c, struct jobopts *jo);
void clifilter_lua_pre_submit(struct cli *c, struct jobopts *jo, unsigned offset);
void clifilter_lua_post_submit(struct cli *c, unsigned offset, uint32_t job_id, uint32_t step_id);

/* clifilter_defaults.c: ~/.slurm/defaults.  A line that is wrong gets a warning. */
void clifilter_user_defaults(struct cli *c, struct jobopts *jo);
/* One file's text, for tests: `path` is for messages. */
void clifilter_read_defaults(const char *path, char *text, const char *program, const char *cluster,
                             struct jobopts *jo);
