/* srun_arbitrary.c - srun --distribution=arbitrary: a list says where each task runs; see srun.h
 *
 * The list is that of -w, names or a file of them, else the file that SLURM_HOSTFILE names;
 * NAME*COUNT repeats one.  The controller gets it written out, a name for each task. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "cli/srun/srun.h"
#include "cli/job/jobnodes.h"
#include "cli/job/tasks.h"

static void set_option(struct srun_part *p, enum jobopt id, const char *text)
{
    struct err err = { .text = "" };

    if (jobopts_set(&p->opts, opts_find(jobopts_command(JOBOPTS_SRUN), id), text, OPT_FROM_ARGV,
                    &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
}

/* The first n names, each by itself, as the step's list. */
static void take_names(struct srun_part *p, const struct hostlist *all, uint32_t n)
{
    _cleanup_val_(strbuf_done) struct strbuf names = STRBUF_INIT;
    char count[16];

    for (uint32_t i = 0; i < n; i++)
        strbuf_addf(&names, "%s%s", i ? "," : "", hostlist_nth(all, i));
    check_mem_or_die(names.failed ? -ENOMEM : 0);
    (void)snprintf(count, sizeof(count), "%u", n);
    jobopts_clear(&p->opts, JO_NODEFILE);
    set_option(p, JO_NODELIST, strbuf_str(&names));
    set_option(p, JO_NTASKS, count);
}

void srun_arbitrary(struct srun_part *p)
{
    const char *dist = jobopts_get(&p->opts, JO_DISTRIBUTION), *file = getenv("SLURM_HOSTFILE");
    const char *nodes = jobopts_get(&p->opts, JO_NODELIST),
               *nodefile = jobopts_get(&p->opts, JO_NODEFILE);
    _cleanup_(hostlist_free) struct hostlist *all = NULL;
    _cleanup_free_ char *text = NULL;
    struct err err = { .text = "" };
    uint32_t tasks;
    int status;

    if (!dist || strncasecmp(dist, "arbitrary", 9) != 0)
        return;
    if (!nodes && !nodefile && !(file && *file)) {
        if (p->opts.from[JO_DISTRIBUTION] != 1 + OPT_FROM_ENV)
            cli_die(CLI_EXIT_FAILED, "%s",
                    !p->opts.in_allocation
                        ? "With Arbitrary distribution you need to specify a nodelist or hostfile "
                          "with the -w option"
                        : "--distribution=arbitrary needs a list of nodes: -w, or SLURM_HOSTFILE");
        /* of the step around us, whose list was its own */
        jobopts_clear(&p->opts, JO_DISTRIBUTION);
        return;
    }
    status = nodes || nodefile ? jobnodes_list(nodes ? nodes : nodefile, !nodes, &text, &err)
                               : jobnodes_hostfile(&text, &err);
    if (status != 0)
        cli_die(status > 0 ? status : CLI_EXIT_FAILED, "%s", err.text);
    if (jobnodes_expand(text, &all, &err) != 0)
        cli_die(CLI_EXIT_FAILED, "%s", err.text);
    tasks = (uint32_t)jobopts_num(&p->opts, JO_NTASKS, hostlist_count(all));
    if (p->opts.from[JO_NTASKS] == 1 + OPT_FROM_ENV) /* the job's number, which no list need have */
        tasks = MIN(tasks, (uint32_t)hostlist_count(all));
    if (tasks == 0 || tasks > hostlist_count(all))
        cli_die(CLI_EXIT_FAILED, "--distribution=arbitrary: %u tasks, and the list has %zu nodes",
                tasks, hostlist_count(all));
    take_names(p, all, tasks);
}
