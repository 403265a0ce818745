/* hetopts.h - the options of heterogeneous jobs: one set for each component
 *
 * Components are separated by ":" on the command line and by "#SBATCH hetjob" in a script.  What
 * belongs to the whole job rather than to one component's resources is carried on from a
 * component to those behind it. One thread; running out of memory ends the command. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/job/jobopts.h"

#define HETOPTS_MAX 128u /* components */

struct hetopts {
    enum jobopts_cmd cmd;
    struct jobopts *list;
    size_t n;
    bool alone;                  /* the command line had one set of options */
    const struct opt_more *more; /* options of plugins, borrowed; NULL: none */
};

void hetopts_init(struct hetopts *h, enum jobopts_cmd cmd); /* one component, nothing given */
/* Options of component k, made when needed; ends the command when there are too many.  The
 * address is good until the next one is made. */
struct jobopts *hetopts_at(struct hetopts *h, size_t k);
/* Parse `opts : opts : ... words`.  Gives the index of the first word behind the last
 * component's options. */
int hetopts_parse(struct hetopts *h, int argc, char **argv);
/* Environment, what is carried, checks.  Gives 0 or the exit status, the message printed. */
int hetopts_finish(struct hetopts *h);
/* A copy with texts of its own. */
void hetopts_dup(const struct jobopts *from, struct jobopts *ret);
/* Carry alone, for options read one by one. */
void hetopts_carry(struct hetopts *h);

/* Inside a heterogeneous allocation: how many components it has, 0 = it is none. */
uint32_t hetopts_env_size(void);
/* Make the variables of component k those of this process: NAME_HET_GROUP_k becomes NAME; a NAME
 * that other components have and this one has not goes. */
void hetopts_env_take(uint32_t k);
/* "0,2-3": calls fn for each in order.  -EINVAL: no such list, or a number of `max` and above. */
int hetopts_group_each(const char *text, uint32_t max, void (*fn)(void *ctx, uint32_t k),
                       void *ctx);
