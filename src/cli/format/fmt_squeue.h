/* fmt_squeue.h - the fields of squeue: jobs (rows are struct job_row) and steps (struct
 * step_row) */
#pragma once

#include "cli/format/fmt_core.h"
#include "cli/query/out_job.h"

extern const struct fmt_table squeue_job_fields;
extern const struct fmt_table squeue_step_fields;
/* Both, for --help-interface. */
void squeue_print_names(FILE *f);

#define SQUEUE_JOBS "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
#define SQUEUE_JOBS_LONG "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
#define SQUEUE_STEPS "%.15i %.8j %.9P %.8u %.9M %N"
#define SQUEUE_START "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
#define SQUEUE_STATE_ONLY "%.18i %.2t"

/* A step and what its job adds to it. */
struct step_row {
    const Pst__StepRecord *step;
    int64_t now_us;
    const char *cluster;
    uint32_t array_job_id; /* 0 = not of an array */
    uint32_t array_task_id;
    const char *user; /* may be NULL */
    const char *partition;
    const char *sluid; /* of the run that it is part of; may be NULL */
    bool noconvert;
};

/* 12.batch, 12_3.0 */
void step_put_id(struct strbuf *sb, const struct step_row *r);
/* The same of a step that is there: a component's has the number of its own job. */
void step_put_own_id(struct strbuf *sb, const struct step_row *r);
int64_t step_elapsed_s(const Pst__StepRecord *s, int64_t now_us);
uint32_t step_nodes(const Pst__StepRecord *s);
uint32_t step_tasks(const Pst__StepRecord *s);
/* "Block", "Cyclic": how tasks were spread; NULL for steps without srun. */
const char *step_distribution(const Pst__StepRecord *s);
const char *step_nodelist(const Pst__StepRecord *s);
const char *step_display_name(const Pst__StepRecord *s);
/* "cpu=2,mem=200M,node=1" of what the step holds. */
void step_put_tres(struct strbuf *sb, const Pst__StepRecord *s);
/* What it took of the job for itself; an extern step nothing. */
uint32_t step_own_cpus(const Pst__StepRecord *s);
