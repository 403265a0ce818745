/* srun_het.c - the command line of srun as parts of a step, one for each component; see srun.h
 *
 *   srun a                         one part
 *   srun --het-group=0-1 a         the same program in two components of the job around us
 *   srun a : b                     a part each: of a job of our own, or of components 0 and 1
 *   around us, or each in nodes of its own when that job has no components
 *
 * A part's options are its words, what the parts before it carry on, and the variables of its
 * component. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "cli/base/ids.h"
#include "cli/job/clifilter.h"
#include "cli/job/cliplugins.h"
#include "cli/job/hetopts.h"
#include "cli/job/joblink.h"
#include "cli/query/out_query.h"
#include "cli/srun/srun.h"
#include "cli/job/submit.h"
#include "wire/errors.h"

/* Words of each part: from argv[base] (its ":" or our own name) up to argv[end]. */
struct words {
    int base, end, first;
};

static size_t split_line(struct srun *s, struct hetopts *h, struct words *w)
{
    struct opt_command cmd = jobopts_command_with(JOBOPTS_SRUN, plugins_options(&s->cli));
    size_t n = 0;

    for (int base = 0; base < s->argc; n++) {
        int end = base + 1;

        while (end < s->argc && strcmp(s->argv[end], ":") != 0)
            end++;
        w[n] = (struct words){ .base = base, .end = end };
        w[n].first = base + opts_parse(&cmd, end - base, s->argv + base, hetopts_at(h, n));
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

void srun_take_component(const struct srun *s, const struct srun_part *p)
{
    char id[16];

    if (!s->het_size)
        return;
    if (!s->het_joined) /* else those of another job, if any */
        hetopts_env_take(p->offset);
    (void)snprintf(id, sizeof(id), "%u", s->job_id);
    if (setenv("SLURM_JOB_ID", id, 1) < 0 || setenv("SLURM_JOBID", id, 1) < 0)
        cli_fatal(ERR_NOMEM);
}

static void add_part(struct srun *s, const struct jobopts *opts, const struct words *w, uint32_t k)
{
    struct srun_part *p;

    s->parts = xrealloc_or_die(s->parts, s->n_parts + 1, sizeof(*s->parts));
    p = &s->parts[s->n_parts++];
    *p = (struct srun_part){ .argv = s->argv, .first = w->first, .end = w->end, .offset = k };
    hetopts_dup(opts, &p->opts);
    srun_take_component(s, p);
    opts_env(jobopts_command(JOBOPTS_SRUN), &p->opts);
}

/* The job that --jobid names. */
struct named_job {
    struct srun *s;
    uint32_t id;
};

static int on_leader(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const struct named_job *named = ctx;
    struct srun *s = named->s;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    (void)info;
    if (j->has_het_job_id && j->het_job_id == j->job_id && j->het_count <= HETOPTS_MAX) {
        s->het_size = j->het_count;
        s->job_id = j->job_id;
        s->het_joined = true;
    } else if (j->has_het_job_id && j->het_job_id != j->job_id && j->job_id == named->id &&
               j->state <= PST__JOB_STATE__JOB_SUSPENDED) {
        joblink_unconfirmed(j->state == PST__JOB_STATE__JOB_PENDING ? ESLURM_JOB_PENDING
                                                                    : ESLURM_NOT_HET_JOB_LEADER,
                            j->job_id);
        exit(CLI_EXIT_FAILED);
    }
    return 0;
}

/* --jobid may name a heterogeneous job by its first component, and by no other.  That the job
 * cannot be told of is an error when its step is asked for. */
static void join_het_job(struct srun *s, const char *asked)
{
    struct client *client;
    struct ids ids = { 0 };
    struct named_job named = { .s = s };

    if (ids_parse(asked, &ids, NULL) < 0 || ids.has_het || ids.sluid[0] ||
        ids.array != IDS_NO_TASK || !ids.job_id)
        return;
    named.id = ids.job_id;
    client = cli_connect_or_die(&s->cli, "Unable to confirm allocation");
    (void)query_job(client, ids.job_id, "job_id het_job_id het_count state", on_leader, &named);
    client_free(client);
}

/* Inside a heterogeneous allocation, or --jobid names one. */
static void find_allocation(struct srun *s, const struct jobopts *jo)
{
    const char *env = getenv("SLURM_JOB_ID"), *asked = jobopts_get(jo, JO_JOBID);

    if (jobopts_has(jo, JO_NO_ALLOCATE))
        return;
    if (env && (!asked || strcmp(asked, env) == 0) && hetopts_env_size()) {
        s->het_size = hetopts_env_size();
        s->job_id = (uint32_t)strtoul(env, NULL, 10);
    } else if (asked) {
        join_het_job(s, asked);
    }
}

/* Inside any allocation. */
static bool in_allocation(const struct jobopts *jo)
{
    return jobopts_get(jo, JO_JOBID) || getenv("SLURM_JOB_ID");
}

/* Several parts in a job without components share its nodes: how many nodes the job has is not what
 * each of them asks for. */
static void forget_job_size(const struct srun *s, const struct jobopts *jo, size_t n)
{
    if (n < 2 || s->het_size || !in_allocation(jo))
        return;
    (void)unsetenv("SLURM_NNODES");
    (void)unsetenv("SLURM_JOB_NUM_NODES");
}

/* The components that --het-group of one part names. */
struct groups {
    bool chosen[HETOPTS_MAX];
};

static noreturn void refuse_range(const char *groups, const char *part, size_t len)
{
    cli_error("_parse_single_range: Invalid range: `%.*s'", (int)MIN(len, 200u), part);
    cli_die(CLI_EXIT_FAILED, "Invalid --het-group value: %.200s", groups);
}

/* Why a list of components is none. */
static noreturn void refuse_groups(const char *groups, const char *list)
{
    for (const char *part = list;; part++) {
        size_t len = strcspn(part, ",");
        char *end;
        unsigned long first = strtoul(part, &end, 10), last = first;

        if (!len || strspn(part, "0123456789-") < len || *part == '-')
            refuse_range(groups, part, len);
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (end != part + len || end[-1] == '-' || last < first)
            refuse_range(groups, part, len);
        part += len;
        if (!*part)
            break;
    }
    cli_die(CLI_EXIT_FAILED, "Invalid --het-group value: %.200s", groups);
}

static void choose_group(void *ctx, uint32_t k)
{
    ((struct groups *)ctx)->chosen[k] = true;
}

/* "0-2,4", also within brackets; a number that stands twice counts once. */
static void read_groups(const char *text, struct groups *g)
{
    size_t len = strlen(text);
    bool brackets = len > 1 && text[0] == '[' && text[len - 1] == ']';
    _cleanup_free_ char *list = xasprintf_or_die("%.*s", (int)len - 2 * brackets, text + brackets);

    if (hetopts_group_each(list, HETOPTS_MAX, choose_group, g) < 0)
        refuse_groups(text, list);
}

/* No component has two parts of the line, and the job has all of them. */
static void check_groups(const struct srun *s, const struct groups *g, size_t n)
{
    uint32_t first = HETOPTS_MAX, last = 0, highest = s->het_size ? s->het_size - 1 : 0;

    for (uint32_t k = 0; k < HETOPTS_MAX; k++) {
        size_t times = 0;

        for (size_t i = 0; i < n; i++)
            times += g[i].chosen[k];
        if (times > 1) {
            cli_print_fatal("Duplicate het groups in single srun not supported");
            exit(CLI_EXIT_FAILED);
        }
        first = times ? MIN(first, k) : first;
        last = times ? k : last;
    }
    if (first > highest)
        cli_die(CLI_EXIT_FAILED,
                "Requested het-group offset exceeds highest hetjob index (%u > %u)", first,
                highest);
    if (!s->het_size)
        cli_die(CLI_EXIT_FAILED,
                "No directives to start application on any available hetjob components");
    if (last > highest)
        cli_die(CLI_EXIT_FAILED,
                "Attempt to run a job step with het group value of %u, but the job allocation has "
                "maximum value of %u",
                last, highest);
}

/* What part goes to which components, and whether any part says so. */
static struct groups *assign_groups(const struct srun *s, const struct hetopts *h, size_t n)
{
    struct groups *g = xmalloc_or_die(n * sizeof(*g));
    bool named = false;

    for (size_t i = 0; i < n; i++) {
        const char *text = jobopts_get(&h->list[i], JO_HET_GROUP);

        if (text && !s->het_size && !in_allocation(&h->list[i]))
            cli_die(CLI_EXIT_FAILED, "--het-group expected to be used within an HetJob allocation");
        if (text)
            read_groups(text, &g[i]);
        else if (i < HETOPTS_MAX)
            g[i].chosen[i] = true;
        named |= text != NULL;
    }
    if (named)
        check_groups(s, g, n);
    return g;
}

void srun_parts(struct srun *s)
{
    struct words *words = xmalloc_or_die(((size_t)s->argc + 1) * sizeof(*words));
    struct groups *groups;
    struct hetopts h;
    size_t n;

    hetopts_init(&h, JOBOPTS_SRUN);
    n = split_line(s, &h, words);
    hetopts_carry(&h);
    for (size_t i = 0; i < n; i++)
        clifilter_defaults(&s->cli, &h.list[i]);
    find_allocation(s, &h.list[0]);
    forget_job_size(s, &h.list[0], n);
    groups = assign_groups(s, &h, n);
    for (uint32_t k = 0; k < HETOPTS_MAX; k++) /* ranks go by components */
        for (size_t i = 0; i < n; i++)
            if (groups[i].chosen[k])
                add_part(s, &h.list[i], &words[i], k);
    if (s->het_size && s->parts[s->n_parts - 1].offset >= s->het_size)
        cli_die(CLI_EXIT_FAILED, "Job %u has %u components, not %zu", s->job_id, s->het_size,
                s->n_parts);
    for (size_t i = 0; i < h.n; i++)
        jobopts_done(&h.list[i]);
    free(h.list);
    free(groups);
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

/* ---- parts in the nodes of a job that has no components -------------------------------------- */

static void push_nodes(struct hostlist *to, const char *names)
{
    if (names && hostlist_push_list(to, names, NULL) < 0)
        cli_die(cli_error_status(), "Invalid node list: %.200s", names);
}

/* Nodes of the job that no part before p has, n of them; the caller frees.  NULL: there are fewer.
 */
static char *nodes_left(const struct srun *s, const struct srun_part *p, uint32_t n)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL, *used = NULL;
    _cleanup_val_(strbuf_done) struct strbuf names = STRBUF_INIT;
    const Pst__Alloc *alloc = s->parts[0].reply->job ? s->parts[0].reply->job->alloc : NULL;
    uint32_t taken = 0;

    check_mem_or_die(hostlist_new(&all));
    check_mem_or_die(hostlist_new(&used));
    push_nodes(all, alloc ? alloc->nodes : NULL);
    for (const struct srun_part *q = s->parts; q < p; q++)
        for (size_t i = 0; i < q->reply->n_nodes; i++)
            push_nodes(used, q->reply->nodes[i]->name);
    for (size_t i = 0; i < hostlist_count(all) && taken < n; i++)
        if (hostlist_find(used, hostlist_nth(all, i)) < 0)
            strbuf_addf(&names, "%s%s", taken++ ? "," : "", hostlist_nth(all, i));
    check_mem_or_die(names.failed ? -ENOMEM : 0);
    if (taken == n)
        return xstrdup_or_die(strbuf_str(&names));
    cli_error("Allocation failure of %u nodes: job size of %zu, already allocated %zu nodes to "
              "previous components.",
              n, hostlist_count(all), hostlist_count(used));
    return NULL;
}

static int create_part(struct srun *s, struct srun_part *p, srun_spec_fn *fill)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    int status = 0;

    fill(s, p, &spec);
    if (!spec.min_nodes)
        spec.min_nodes = 1;
    spec.max_nodes = spec.min_nodes;
    spec.has_min_nodes = spec.has_max_nodes = true;
    if (p > s->parts && !spec.nodelist) {
        spec.nodelist = nodes_left(s, p, spec.min_nodes);
        status = spec.nodelist ? 0 : CLI_EXIT_FAILED;
    }
    if (status == 0)
        status = joblink_step(&s->link, s->job_id, &spec, &p->reply);
    pb_done(&spec.base);
    return status;
}

/* The parts take nodes of the job one after the other, as many as they ask for, and one if they do
 * not say.  Each part is a step of its own; ranks go through all parts. */
int srun_shared_step(struct srun *s, srun_spec_fn *fill)
{
    int status = 0;

    for (size_t i = 0; i < s->n_parts && status == 0; i++)
        status = create_part(s, &s->parts[i], fill);
    return status;
}
