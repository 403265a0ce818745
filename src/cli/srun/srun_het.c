/* srun_het.c - the command line of srun as parts of a step, one for each component; see srun.h
 *
 *   srun a                         one part
 *   srun --het-group=0-1 a         the same program in two components of the job around us
 *   srun a : b                     a part each: of a job of our own, or of components 0 and 1
 *   around us
 *
 * A part's options are its words, what the parts before it carry on, and the variables of its
 * component. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/job/clifilter.h"
#include "cli/job/hetopts.h"
#include "cli/srun/srun.h"
#include "cli/job/submit.h"

/* Words of each part: from argv[base] (its ":" or our own name) up to argv[end]. */
struct words {
    int base, end, first;
};

static size_t split_line(struct srun *s, struct hetopts *h, struct words *w)
{
    const struct opt_command *cmd = jobopts_command(JOBOPTS_SRUN);
    size_t n = 0;

    for (int base = 0; base < s->argc; n++) {
        int end = base + 1;

        while (end < s->argc && strcmp(s->argv[end], ":") != 0)
            end++;
        w[n] = (struct words){ .base = base, .end = end };
        w[n].first = base + opts_parse(cmd, end - base, s->argv + base, hetopts_at(h, n));
        submit_gres_help(&s->cli, hetopts_at(h, n));
        base = end;
    }
    /* A part without a command has that of the part behind it. */
    if (w[n - 1].first >= w[n - 1].end)
        cli_fatal("No command given to execute.");
    for (size_t i = n - 1; i-- > 0;)
        if (w[i].first >= w[i].end)
            w[i] = w[i + 1];
    return n;
}

struct adding {
    struct srun *s;
    const struct jobopts *opts;
    const struct words *words;
};

void srun_take_component(const struct srun *s, const struct srun_part *p)
{
    char id[16];

    if (!s->het_size)
        return;
    hetopts_env_take(p->offset);
    (void)snprintf(id, sizeof(id), "%u", s->job_id);
    if (setenv("SLURM_JOB_ID", id, 1) < 0 || setenv("SLURM_JOBID", id, 1) < 0)
        cli_fatal("out of memory");
}

static void add_part(void *ctx, uint32_t k)
{
    struct adding *a = ctx;
    struct srun *s = a->s;
    struct srun_part *p;

    for (size_t i = 0; i < s->n_parts; i++)
        if (s->parts[i].offset == k)
            cli_die(CLI_EXIT_FAILED, "--het-group: component %u is named twice", k);
    s->parts = xrealloc_or_die(s->parts, s->n_parts + 1, sizeof(*s->parts));
    p = &s->parts[s->n_parts++];
    *p = (struct srun_part){
        .argv = s->argv, .first = a->words->first, .end = a->words->end, .offset = k
    };
    hetopts_dup(a->opts, &p->opts);
    srun_take_component(s, p);
    opts_env(jobopts_command(JOBOPTS_SRUN), &p->opts);
}

static noreturn void refuse_range(const char *groups, const char *part, size_t len)
{
    cli_error("_parse_single_range: Invalid range: `%.*s'", (int)MIN(len, 200u), part);
    cli_die(CLI_EXIT_FAILED, "Invalid --het-group value: %.200s", groups);
}

/* Why a list of components is none. */
static noreturn void refuse_groups(const char *groups, uint32_t size)
{
    for (const char *part = groups;; part++) {
        size_t len = strcspn(part, ",");
        char *end;
        unsigned long first = strtoul(part, &end, 10), last = first;

        if (!len || strspn(part, "0123456789-") < len || *part == '-')
            refuse_range(groups, part, len);
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (end != part + len || end[-1] == '-' || last < first)
            refuse_range(groups, part, len);
        if (first >= size)
            cli_die(CLI_EXIT_FAILED,
                    "Requested het-group offset exceeds highest hetjob index (%lu > %u)", first,
                    size - 1);
        if (last >= size)
            cli_die(CLI_EXIT_FAILED,
                    "Attempt to run a job step with het group value of %lu, but the job "
                    "allocation has maximum value of %u",
                    last, size - 1);
        part += len;
        if (!*part)
            break;
    }
    cli_die(CLI_EXIT_FAILED, "Invalid --het-group value: %.200s", groups);
}

/* Inside a heterogeneous allocation, unless --jobid names another job. */
static void find_allocation(struct srun *s, const struct jobopts *jo)
{
    const char *env = getenv("SLURM_JOB_ID"), *asked = jobopts_get(jo, JO_JOBID);

    if (env && (!asked || strcmp(asked, env) == 0) && hetopts_env_size()) {
        s->het_size = hetopts_env_size();
        s->job_id = (uint32_t)strtoul(env, NULL, 10);
    }
}

void srun_parts(struct srun *s)
{
    struct words *words = xmalloc_or_die(((size_t)s->argc + 1) * sizeof(*words));
    struct hetopts h;
    size_t n;

    hetopts_init(&h, JOBOPTS_SRUN);
    n = split_line(s, &h, words);
    hetopts_carry(&h);
    for (size_t i = 0; i < n; i++)
        clifilter_defaults(&s->cli, &h.list[i]);
    find_allocation(s, &h.list[0]);
    for (size_t i = 0; i < n; i++) {
        struct adding a = { .s = s, .opts = &h.list[i], .words = &words[i] };
        const char *groups = jobopts_get(&h.list[i], JO_HET_GROUP);

        if (groups && !s->het_size)
            cli_die(CLI_EXIT_FAILED, "--het-group expected to be used within an HetJob allocation");
        if (!groups)
            add_part(&a, (uint32_t)i);
        else if (hetopts_group_each(groups, s->het_size, add_part, &a) < 0)
            refuse_groups(groups, s->het_size);
    }
    if (s->het_size && s->parts[s->n_parts - 1].offset >= s->het_size)
        cli_die(CLI_EXIT_FAILED, "Job %u has %u components, not %zu", s->job_id, s->het_size,
                s->n_parts);
    for (size_t i = 0; i < h.n; i++)
        jobopts_done(&h.list[i]);
    free(h.list);
    free(words);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* A step over components of the job; the parts get their replies.  0 or the exit status. */
int srun_het_step(struct srun *s, srun_spec_fn *fill)
{
    Pst__HetStepRequest req = PST__HET_STEP_REQUEST__INIT;
    Pst__HetStepSpec *list = xmalloc_or_die(s->n_parts * sizeof(*list));
    int status;

    req.job_id = s->job_id;
    req.has_job_id = true;
    req.n_components = s->n_parts;
    req.components = xmalloc_or_die(s->n_parts * sizeof(*req.components));
    for (size_t i = 0; i < s->n_parts; i++) {
        pst__het_step_spec__init(&list[i]);
        list[i].offset = s->parts[i].offset;
        list[i].has_offset = true;
        list[i].spec = xmalloc_or_die(sizeof(*list[i].spec));
        pst__step_spec__init(list[i].spec);
        fill(s, &s->parts[i], list[i].spec);
        req.components[i] = &list[i];
    }
    status = joblink_het_step(&s->link, &req, &s->het_reply);
    for (size_t i = 0; status == 0 && i < s->n_parts; i++)
        s->parts[i].reply = s->het_reply->steps[i];
    for (size_t i = 0; i < s->n_parts; i++) {
        pb_done(&list[i].spec->base);
        free(list[i].spec);
    }
    free(list);
    free(req.components);
    return status;
}
