/* srun_launch.c - from a created step to requests on its nodes; see srun.h
 *
 * The credential goes along unread: the node trusts nothing else we say about identity and layout.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/bind/cpubind.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "cli/job/allocenv.h"
#include "cli/job/gresopts.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/jobtext.h"
#include "cli/job/cliplugins.h"
#include "cli/srun/srun.h"
#include "cli/job/submit.h"
#include "cli/job/tasks.h"

#define SRUN_DEBUG_BASE 3
#define TREE_FROM 4u    /* times TreeWidth: nodes beyond are launched through relays */
#define SPARE_FILES 64u /* descriptors beside the nodes' */

extern char **environ;

/* Tasks of each node by the step's groups.  The caller frees. */
static uint32_t *task_counts(const Pst__Alloc *alloc, size_t n_nodes, uint32_t *ret_total)
{
    uint32_t *counts = xmalloc_or_die((n_nodes + 1) * sizeof(*counts)), total = 0;
    size_t at = 0;

    for (size_t i = 0; alloc && i < alloc->n_groups; i++) {
        for (uint32_t k = 0; k < alloc->groups[i]->nodes && at < n_nodes; k++) {
            counts[at] = alloc->groups[i]->tasks;
            total += counts[at++];
        }
    }
    *ret_total = total;
    return counts;
}

/* Ranks and nodes of one part behind those of the parts before it. */
static void layout_part(struct srun *s, struct srun_part *p, const uint32_t *counts)
{
    const Pst__StepRecord *step = p->reply->step;
    const char *dist =
        step->distribution ? step->distribution : jobopts_get(&p->opts, JO_DISTRIBUTION);
    uint32_t at = p->first_rank;

    tasks_layout(dist, counts, p->reply->n_nodes, s->ranks + p->first_rank);
    for (uint32_t i = 0; i < p->n_tasks; i++)
        s->ranks[p->first_rank + i] += p->first_rank;
    for (size_t i = 0; i < p->reply->n_nodes; i++) {
        struct srun_node *n = &s->nodes[p->first_node + i];

        *n = (struct srun_node){
            .name = p->reply->nodes[i]->name ? p->reply->nodes[i]->name : "",
            .part = p,
            .index = (uint32_t)i,
            .first = at,
            .n_tasks = counts[i],
        };
        at += counts[i];
        if (counts[i] == 0) {
            n->done = true;
            s->n_done++;
        }
    }
}

void srun_layout(struct srun *s)
{
    uint32_t **counts = xmalloc_or_die(s->n_parts * sizeof(*counts));

    for (size_t i = 0; i < s->n_parts; i++) {
        struct srun_part *p = &s->parts[i];

        counts[i] = task_counts(p->reply->step->alloc, p->reply->n_nodes, &p->n_tasks);
        if (p->n_tasks == 0 || p->n_tasks > TASKS_MAX - s->n_tasks)
            cli_die(cli_error_status(),
                    "StepId=%u.%u has %u tasks on %zu nodes, which cannot be launched", s->job_id,
                    s->step_id, p->n_tasks, p->reply->n_nodes);
        p->first_rank = s->n_tasks;
        p->first_node = (uint32_t)s->n_nodes;
        s->n_tasks += p->n_tasks;
        s->n_nodes += p->reply->n_nodes;
    }
    s->ranks = xmalloc_or_die(s->n_tasks * sizeof(*s->ranks));
    s->task_state = xmalloc_or_die(s->n_tasks);
    s->nodes = xmalloc_or_die(s->n_nodes * sizeof(*s->nodes));
    for (size_t i = 0; i < s->n_parts; i++) {
        layout_part(s, &s->parts[i], counts[i]);
        free(counts[i]);
    }
    free(counts);
}

/* ---- environment ----------------------------------------------------------------------------- */

/* Binding as it was asked for.  A node that binds tasks says what came of it instead. */
static void add_cpu_bind(struct envlist *env, const char *text)
{
    struct cpubind b = { 0 };
    _cleanup_val_(strbuf_done) struct strbuf list = STRBUF_INIT;
    const char *how, *word;

    if (cpubind_parse(text, &b, NULL) < 0)
        return; /* it was checked when it was given */
    how = b.verbose ? "verbose" : "quiet";
    word = b.kind == CPUBIND_AUTO ? "" : cpubind_word(b.kind);
    for (size_t i = 0; i < b.list.n; i++)
        strbuf_addf(&list, "%s%s%s", i ? "," : "", b.list.masks ? "0x" : "", b.list.items[i]);
    check_mem_or_die(list.failed ? -ENOMEM : 0);
    envlist_setf(env, "SLURM_CPU_BIND", "%s%s%s%s", how, *word ? "," : "", word, strbuf_str(&list));
    envlist_set(env, "SLURM_CPU_BIND_VERBOSE", how);
    envlist_set(env, "SLURM_CPU_BIND_TYPE", word);
    envlist_set(env, "SLURM_CPU_BIND_LIST", strbuf_str(&list));
    cpubind_done(&b);
}

/* What this command adds to an environment that it had or passes on. */
void srun_add_settings(struct srun *s, const struct srun_part *p, struct envlist *env)
{
    mode_t mask = umask(0);

    (void)umask(mask); /* reading it means setting it */
    envlist_add_options(env, &p->opts);
    if (jobopts_has(&s->opts, JO_PRESERVE_ENV) && getenv("SLURM_NTASKS")) /* -n has replaced it */
        envlist_set(env, "SLURM_NTASKS", getenv("SLURM_NTASKS"));
    if (s->own_job)
        submit_env(&s->cli, env);
    if ((s->own_job || s->het_joined) && s->het_reply)
        allocenv_add_het(env, s->het_reply->het_jobs, s->het_reply->n_het_jobs);
    if (!envlist_get(env, "SLURM_UMASK"))
        envlist_setf(env, "SLURM_UMASK", "%04o", (unsigned)mask);
    if (!envlist_get(env, "SLURM_PRIO_PROCESS"))
        envlist_setf(env, "SLURM_PRIO_PROCESS", "%d", getpriority(PRIO_PROCESS, 0));
    if (envlist_exports_all(jobopts_get(&p->opts, JO_EXPORT))) { /* srun's own are among all */
        envlist_setf(env, "SRUN_DEBUG", "%d", SRUN_DEBUG_BASE + s->cli.verbose);
        allocenv_add_launchers(env, cli_conf(&s->cli));
    }
    if (jobopts_has(&s->opts, JO_LABEL))
        envlist_set(env, "SLURM_LABELIO", "1");
    if (jobopts_has(&p->opts, JO_CPU_BIND))
        add_cpu_bind(env, jobopts_get(&p->opts, JO_CPU_BIND));
}

static void pack_environment(struct srun *s, struct srun_part *p, ProtobufCBinaryData *ret)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;

    srun_take_component(s, p);
    envlist_export(&env, environ, jobopts_get(&p->opts, JO_EXPORT));
    srun_add_settings(s, p, &env);
    plugins_add_env(&s->cli, &env);
    envlist_pack(&env, ret);
}

/* ---- the request ----------------------------------------------------------------------------- */

static char *node_pattern(const struct io_spec *io)
{
    switch (io->mode) {
    case IO_NONE:
        return (char *)"/dev/null";
    case IO_PATTERN:
        return io->path;
    case IO_STREAM:
    case IO_TASK:
    case IO_FILE:
        break;
    }
    return NULL;
}

static void fill_streams(struct srun *s, Pst__LaunchStep *req)
{
    req->std_in = s->in.mode == IO_PATTERN ? s->in.path : NULL;
    req->std_out = node_pattern(&s->out);
    req->std_err = node_pattern(&s->err);
    if (s->in.mode == IO_NONE || s->in.mode == IO_TASK) {
        req->stdin_task = s->in.mode == IO_NONE ? UINT32_MAX : s->in.task;
        req->has_stdin_task = true;
    }
    if (jobopts_has(&s->opts, JO_OPEN_MODE))
        req->open_mode =
            strchr("aA", jobopts_get(&s->opts, JO_OPEN_MODE)[0]) ? (char *)"a" : (char *)"t";
    req->label = req->has_label = jobopts_has(&s->opts, JO_LABEL);
    req->unbuffered = req->has_unbuffered = jobopts_has(&s->opts, JO_UNBUFFERED);
    if (s->pty) {
        struct winsize ws;

        req->pty = req->has_pty = true;
        req->stdin_task = 0;
        req->has_stdin_task = true;
        if (ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) == 0) {
            req->pty_rows = ws.ws_row;
            req->pty_cols = ws.ws_col;
            req->has_pty_rows = req->has_pty_cols = true;
        }
    }
}

static char *task_script(const struct srun_part *p, enum jobopt id)
{
    const char *path = jobopts_get(&p->opts, id);

    return path && strcasecmp(path, "none") != 0 ? (char *)path : NULL;
}

/* Binding as asked for, with the level that a hint or a limit of tasks means, or the nodes and the
 * partition have. */
static void fill_binding(const struct srun_part *p, Pst__LaunchStep *req)
{
    const char *text = jobopts_get(&p->opts, JO_CPU_BIND), *hint = jobopts_get(&p->opts, JO_HINT),
               *level = NULL;
    struct cpubind b = { 0 };

    if (text && cpubind_parse(text, &b, NULL) < 0)
        return; /* it was checked when it was given */
    if (jobopts_has(&p->opts, JO_NTASKS_PER_SOCKET))
        level = "sockets";
    else if (hint && (strstr(hint, "compute_bound") || strstr(hint, "memory_bound")))
        level = "cores";
    else if (p->reply)
        level = p->reply->cpu_bind;
    if (b.kind == CPUBIND_AUTO && level)
        check_mem_or_die(
            asprintf(&req->cpu_bind, "%s%s%s", text ? text : "", text ? "," : "", level) < 0
                ? -ENOMEM
                : 0);
    else if (text)
        req->cpu_bind = xstrdup_or_die(text);
    cpubind_done(&b);
    req->has_one_thread = true;
    req->one_thread = (hint && strstr(hint, "nomultithread")) ||
                      jobopts_num(&p->opts, JO_THREADS_PER_CORE, 0) == 1;
}

/* What each task sees of the devices: as said, or as many as it asks for. */
static void fill_devices(const struct srun_part *p, Pst__LaunchStep *req)
{
    req->tres_bind = gresopts_step_bind(&p->opts);
}

/* An octal number, as a job's environment tells it to its steps. */
static int parse_umask(const char *text, mode_t *ret)
{
    char *end;
    unsigned long n = strtoul(text, &end, 8);

    if (end == text || *end || n > 0777)
        return -EINVAL;
    *ret = (mode_t)n;
    return 0;
}

bool srun_debug_level(const struct jobopts *jo, uint32_t *ret)
{
    enum log_level level;

    if (!jobopts_has(jo, JO_SLURMD_DEBUG) ||
        log_level_parse(jobopts_get(jo, JO_SLURMD_DEBUG), &level) < 0) /* was checked */
        return false;
    *ret = (uint32_t)level;
    return true;
}

/* What is equal for all nodes of a part. */
void srun_fill_request(struct srun *s, struct srun_part *p, Pst__LaunchStep *req)
{
    const char *mask_text = getenv("SLURM_UMASK");
    mode_t mask = umask(0);
    int skip = p->multi_prog ? 1 : 0; /* the map file's name is not an argument */

    (void)umask(mask);
    if (mask_text && parse_umask(mask_text, &mask) < 0)
        cli_warning("SLURM_UMASK is no mask of files: %s", mask_text);
    req->credential = p->reply ? p->reply->credential : NULL;
    req->argv = submit_argv(p->argv, p->first + skip, p->end, &req->n_argv);
    pack_environment(s, p, &req->environment);
    req->has_environment = true;
    req->work_dir = submit_work_dir(&p->opts);
    req->umask = mask;
    req->has_umask = true;
    req->rlimits = submit_rlimits(&s->cli, &p->opts, &req->n_rlimits);
    fill_streams(s, req);
    if (s->n_parts > 1) {
        req->het_nodelist = srun_all_nodes(s);
        req->het_nodes = (uint32_t)s->n_nodes;
        req->het_tasks = s->n_tasks;
        req->het_node_offset = p->first_node;
        req->has_het_nodes = req->has_het_tasks = req->has_het_node_offset = true;
    }
    if (s->kill_on_bad_exit)
        req->kill_on_bad_exit = req->has_kill_on_bad_exit = true;
    req->has_wait_for_children = req->wait_for_children =
        jobopts_has(&s->opts, JO_WAIT_FOR_CHILDREN);
    req->has_oom_kill_step = jobopts_has(&s->opts, JO_OOM_KILL_STEP);
    req->oom_kill_step = jobopts_true(&s->opts, JO_OOM_KILL_STEP);
    req->has_bcast_libs = req->bcast_libs = s->bcast_libs;
    req->mem_bind = (char *)jobopts_get(&p->opts, JO_MEM_BIND);
    req->has_preserve_env = req->preserve_env = jobopts_has(&s->opts, JO_PRESERVE_ENV);
    req->cpu_freq = (char *)jobopts_get(&p->opts, JO_CPU_FREQ);
    req->has_slurmd_debug = srun_debug_level(&p->opts, &req->slurmd_debug);
    req->multi_prog = p->multi_prog;
    req->container = (char *)jobopts_get(&p->opts, JO_CONTAINER);
    req->container_id = (char *)jobopts_get(&p->opts, JO_CONTAINER_ID);
    req->runtime = (char *)jobopts_get(&p->opts, JO_RUNTIME);
    req->task_prolog = task_script(p, JO_TASK_PROLOG);
    req->task_epilog = task_script(p, JO_TASK_EPILOG);
    fill_binding(p, req);
    fill_devices(p, req);
    srun_mpi_fill(s, req);
}

void srun_free_request(Pst__LaunchStep *req)
{
    for (size_t i = 0; i < req->n_argv; i++)
        free(req->argv[i]);
    free(req->argv);
    free(req->cpu_bind);
    free(req->tres_bind);
    free(req->het_nodelist);
    srun_mpi_free(req);
    free(req->environment.data);
    free(req->work_dir);
    submit_free_rlimits(req->rlimits, req->n_rlimits);
}

/* ---- to the nodes ---------------------------------------------------------------------------- */

static void tell_launching(void *ctx, const Pst__RelayNode *node)
{
    struct srun *s = ctx;
    _cleanup_free_ char *list = tasks_list(node->task_ids, node->n_task_ids);

    bool several = strpbrk(list, "-,") != NULL;

    cli_verbose(1, "launching StepId=%u.%u on host %s, %zu tasks: %s%s%s", s->job_id, s->step_id,
                node->name, node->n_task_ids, several ? "[" : "", list, several ? "]" : "");
}

static void fill_node(struct srun *s, const struct srun_part *p, uint32_t number,
                      Pst__RelayNode *ret)
{
    const struct srun_node *n = &s->nodes[number];
    const Pst__NodeAddr *addr = p->reply->nodes[n->index];

    pst__relay_node__init(ret);
    ret->has_number = ret->has_port = ret->has_node_index = true;
    ret->number = number;
    ret->name = (char *)n->name;
    ret->addr = addr->addr;
    ret->port = addr->port;
    ret->has_launch_key = addr->has_launch_key;
    ret->launch_key = addr->launch_key;
    ret->node_index = n->index;
    ret->task_ids = s->ranks + n->first;
    ret->n_task_ids = n->n_tasks;
    ret->program = s->bcast_target ? srun_bcast_path(s, n->name) : NULL;
}

/* Small launches go to each node directly, which is quicker.  So do those that are to survive
 * the loss of nodes, since a relay that goes takes the nodes behind it along.  A width that the
 * command names needs no more nodes than that; --threads is one, too. */
static uint32_t width_for(struct srun *s, size_t n_nodes)
{
    const char *asked = jobopts_has(&s->opts, JO_TREEWIDTH) ? jobopts_get(&s->opts, JO_TREEWIDTH)
                                                            : jobopts_get(&s->opts, JO_THREADS);
    size_t width = MAX((size_t)conf_num(cli_conf(&s->cli), CONF_TREE_WIDTH), FANOUT_WIDTH_MIN);

    if (jobopts_has(&s->opts, JO_NO_KILL) || (asked && strcasecmp(asked, "off") == 0))
        return UINT32_MAX;
    if (asked) {
        width = MAX((size_t)strtoul(asked, NULL, 10), FANOUT_WIDTH_MIN);
        return n_nodes <= width ? UINT32_MAX : (uint32_t)width;
    }
    return n_nodes <= TREE_FROM * width ? UINT32_MAX : (uint32_t)width;
}

static void launch_part(struct srun *s, struct srun_part *p, struct fanout *fan,
                        Pst__LaunchStep *req)
{
    Pst__RelayOpen open = PST__RELAY_OPEN__INIT;
    Pst__RelayNode *nodes = xmalloc_or_die((p->reply->n_nodes + 1) * sizeof(*nodes));

    open.nodes = xmalloc_or_die((p->reply->n_nodes + 1) * sizeof(*open.nodes));
    for (size_t i = 0; i < p->reply->n_nodes; i++) {
        if (s->nodes[p->first_node + i].done)
            continue;
        open.nodes[open.n_nodes] = &nodes[open.n_nodes];
        fill_node(s, p, (uint32_t)(p->first_node + i), &nodes[open.n_nodes++]);
    }
    open.launch = req;
    cli_verbose(1, "CpuBindType=%s", req->cpu_bind ? req->cpu_bind : "(null type)");
    open.has_launch_key = p->reply->has_launch_key;
    open.launch_key = p->reply->launch_key;
    open.cluster = (char *)cli_cluster_name(&s->cli);
    open.timeout_ms = (uint32_t)conf_num(cli_conf(&s->cli), CONF_MESSAGE_TIMEOUT) * 1000;
    open.width = width_for(s, open.n_nodes);
    open.has_width = open.has_timeout_ms = true;
    *fan = (struct fanout){
        .open = &open,
        .program = "srun",
        .tls = cli_step_tls_or_die(&s->cli),
        .launching = tell_launching,
        .lost = srun_lost,
        .ctx = s,
    };
    check_mem_or_die(fanout_open(fan));
    fan->open = NULL;
    for (size_t i = 0; i < open.n_nodes; i++)
        free(nodes[i].program);
    free(open.nodes);
    free(nodes);
}

/* A connection a node needs as many descriptors.  Tasks get the limit that we were started with. */
static void raise_files(size_t nodes)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur >= nodes + SPARE_FILES)
        return;
    rl.rlim_cur = rl.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &rl); /* a node without a connection is reported */
}

void srun_launch(struct srun *s)
{
    char host[256] = "";
    bool known = gethostname(host, sizeof(host) - 1) == 0;
    Pst__LaunchStep *reqs = xmalloc_or_die(s->n_parts * sizeof(*reqs));

    s->fans = xmalloc_or_die(s->n_parts * sizeof(*s->fans));
    for (size_t i = 0; i < s->n_parts; i++) {
        pst__launch_step__init(&reqs[i]);
        srun_fill_request(s, &s->parts[i], &reqs[i]);
        reqs[i].launcher_host = known ? host : NULL;
    }
    raise_files(s->n_nodes);
    for (size_t i = 0; i < s->n_parts; i++)
        launch_part(s, &s->parts[i], &s->fans[i], &reqs[i]);
    for (size_t i = 0; i < s->n_parts; i++)
        srun_free_request(&reqs[i]);
    free(reqs);
}
