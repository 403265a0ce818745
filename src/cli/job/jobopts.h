/* jobopts.h - the options of sbatch, srun and salloc: what was asked, from where, and as a job
 * record
 *
 * A struct jobopts collects the texts, checked as they arrive, with precedence command line over
 * environment over #SBATCH lines whatever the order of the calls.  jobopts_fill_job() and
 * jobopts_fill_step() then write the messages for the controller.  One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "cli/base/opts.h"

enum jobopts_cmd {
    JOBOPTS_SBATCH = 1,
    JOBOPTS_SALLOC = 2,
    JOBOPTS_SRUN = 4,
};

enum jobopt {
#define O(sym, ...) JO_##sym,
#include "cli/job/jobopts.def"
#undef O
    JO_MAX_
};

struct jobopts {
    enum jobopts_cmd cmd;
    int verbose;           /* -v count, -1 = --quiet */
    bool in_allocation;    /* srun: a step of an existing job */
    bool derived_nodes;    /* --nodes follows from counts of GPUs: nobody gave it */
    bool old_separator;    /* the component was begun with the word of earlier releases */
    char *value[JO_MAX_];  /* owned; "" for a flag or an omitted argument; NULL = not given */
    uint8_t from[JO_MAX_]; /* 1 + enum opt_source, 0 = not given */
};

void jobopts_init(struct jobopts *jo, enum jobopts_cmd cmd);
void jobopts_done(struct jobopts *jo);

/* Table, names and usage status of a command, for opts_parse(). */
const struct opt_command *jobopts_command(enum jobopts_cmd cmd);
/* The same with options of plugins beside its own; `more` is borrowed, NULL: none. */
struct opt_command jobopts_command_with(enum jobopts_cmd cmd, const struct opt_more *more);

/* An opt_set_fn; ctx is the struct jobopts. */
int jobopts_set(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                struct err *err);
/* Forget an option, e.g. one inherited from an enclosing job. */
void jobopts_clear(struct jobopts *jo, enum jobopt id);

static inline bool jobopts_has(const struct jobopts *jo, enum jobopt id)
{
    return jo->from[id] != 0;
}
static inline const char *jobopts_get(const struct jobopts *jo, enum jobopt id)
{
    return jo->value[id];
}
/* Numbers of options that were checked as such; dflt when not given. */
uint64_t jobopts_num(const struct jobopts *jo, enum jobopt id, uint64_t dflt);
/* A file of a batch script's streams: "none" is /dev/null.  NULL: not given. */
const char *jobopts_file(const struct jobopts *jo, enum jobopt id);
/* --opt[=0|1]: false when not given. */
bool jobopts_true(const struct jobopts *jo, enum jobopt id);

/* Options that exclude or need each other, apart from those of devices (gresopts_check()).  Returns
 * 0 or the exit status, the message printed. */
int jobopts_check(struct jobopts *jo);

/* Request and batch fields of a submission (not: script, environment, argv, rlimits).  job must be
 * initialised; strings are allocated.  now_us: for begin and deadline.  gres_types: GresTypes of
 * slurm.conf or NULL.  Returns 0 or the exit status with the sentence in err ("" = printed). */
int jobopts_fill_job(const struct jobopts *jo, const char *gres_types, int64_t now_us,
                     Pst__JobRecord *job, struct err *err);
/* What srun asks of a step.  As above. */
int jobopts_fill_step(const struct jobopts *jo, const char *gres_types, Pst__StepSpec *spec,
                      struct err *err);

/* --nodes as numbers: 0 = not given. */
#define NODE_COUNTS_MAX 256u
/* Of a list such as --nodes=2,4-8:2: how many, ascending in counts; 0: no list was given. */
int jobopts_node_counts(const struct jobopts *jo, uint32_t counts[static NODE_COUNTS_MAX]);
void jobopts_nodes(const struct jobopts *jo, uint32_t *ret_min, uint32_t *ret_max);

/* How the value of an option is checked: an enum jobvalue_kind. */
unsigned jobopts_kind(enum jobopt id);
