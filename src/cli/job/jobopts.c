/* jobopts.c - collecting the options of sbatch, srun and salloc
 *
 * Rows live in jobopts.def.  A value is checked when it arrives (jobvalue.c) and kept as text;
 * jobfill.c turns the texts into messages.  One thread. */
#include "cli/job/jobopts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/base/cli.h"
#include "cli/job/jobtext.h"
#include "cli/job/jobvalue.h"

#define B JOBOPTS_SBATCH
#define A JOBOPTS_SALLOC
#define R JOBOPTS_SRUN
#define OURS 0x80u
static const struct opt rows[] = {
#define O(sym, name_, letter_, arg_, kind_, store_, applies_, env_, group_, metavar_, help_)       \
    { .name = name_,                                                                               \
      .letter = letter_,                                                                           \
      .arg = OPT_##arg_,                                                                           \
      .id = JO_##sym,                                                                              \
      .applies = (applies_) & ~OURS,                                                               \
      .ours = ((applies_)&OURS) != 0,                                                              \
      .env = env_,                                                                                 \
      .group = group_,                                                                             \
      .metavar = metavar_,                                                                         \
      .help = KIND_##kind_ == KIND_REFUSE ? NULL : help_,                                          \
      .refused = KIND_##kind_ == KIND_REFUSE ? help_ : NULL },
#include "cli/job/jobopts.def"
#undef O
};
#undef B
#undef A
#undef R
#undef OURS

static const uint8_t kinds[JO_MAX_] = {
#define O(sym, name_, letter_, arg_, kind_, ...) [JO_##sym] = KIND_##kind_,
#include "cli/job/jobopts.def"
#undef O
};

unsigned jobopts_kind(enum jobopt id)
{
    return kinds[id];
}

const struct opt_command *jobopts_command(enum jobopts_cmd cmd)
{
    static const struct opt_command commands[] = {
        { .name = "sbatch",
          .prefix = "SBATCH",
          .bit = JOBOPTS_SBATCH,
          .rows = rows,
          .n = ARRAY_SIZE(rows),
          .set = jobopts_set,
          .synopsis = "[OPTIONS...] [script [args...]]",
          .usage_status = CLI_EXIT_USAGE,
          .hears_empty = true,
          .help_with_h = true },
        { .name = "salloc",
          .prefix = "SALLOC",
          .bit = JOBOPTS_SALLOC,
          .rows = rows,
          .n = ARRAY_SIZE(rows),
          .set = jobopts_set,
          .synopsis = "[OPTIONS...] [command [args...]]",
          .usage_status = CLI_EXIT_USAGE,
          .hears_empty = true,
          .help_with_h = true },
        { .name = "srun",
          .prefix = "SLURM",
          .prefix2 = "SRUN",
          .bit = JOBOPTS_SRUN,
          .rows = rows,
          .n = ARRAY_SIZE(rows),
          .set = jobopts_set,
          .synopsis = "[OPTIONS...] executable [args...]",
          .usage_status = CLI_EXIT_USAGE,
          .hears_empty = true,
          .help_with_h = true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (commands[i].bit == (unsigned)cmd)
            return &commands[i];
    }
    return NULL;
}

struct opt_command jobopts_command_with(enum jobopts_cmd cmd, const struct opt_more *more)
{
    struct opt_command command = *jobopts_command(cmd);

    command.more = more;
    return command;
}

void jobopts_init(struct jobopts *jo, enum jobopts_cmd cmd)
{
    *jo = (struct jobopts){ .cmd = cmd };
}

void jobopts_done(struct jobopts *jo)
{
    for (size_t i = 0; i < JO_MAX_; i++)
        free(jo->value[i]);
    *jo = (struct jobopts){ .cmd = jo->cmd };
}

void jobopts_clear(struct jobopts *jo, enum jobopt id)
{
    free(jo->value[id]);
    jo->value[id] = NULL;
    jo->from[id] = 0;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static const enum jobopt mem_family[] = { JO_MEM, JO_MEM_PER_CPU, JO_MEM_PER_GPU };
/* What -B says all at once: of both, the one that comes later counts. */
static const enum jobopt geometry[] = { JO_SOCKETS_PER_NODE, JO_CORES_PER_SOCKET,
                                        JO_THREADS_PER_CORE };

/* Of options that exclude each other the better source wins silently; within one source it is a
 * mistake, found by jobopts_check(). */
static void drop_weaker(struct jobopts *jo, enum jobopt id, enum opt_source source)
{
    for (size_t i = 0; i < ARRAY_SIZE(mem_family); i++) {
        if (mem_family[i] != id)
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(mem_family); k++) {
            if (k != i && jo->from[mem_family[k]] && jo->from[mem_family[k]] < 1 + source)
                jobopts_clear(jo, mem_family[k]);
        }
    }
    for (size_t i = 0; id == JO_EXTRA_NODE_INFO && i < ARRAY_SIZE(geometry); i++)
        if (jo->from[geometry[i]] <= 1 + source)
            jobopts_clear(jo, geometry[i]);
    if (id == JO_REQUEUE)
        jobopts_clear(jo, JO_NO_REQUEUE);
    else if (id == JO_NO_REQUEUE)
        jobopts_clear(jo, JO_REQUEUE);
}

static bool is_outranked(const struct jobopts *jo, enum jobopt id, enum opt_source source)
{
    if (jo->from[id] > 1 + source)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(mem_family); i++) {
        if (mem_family[i] != id)
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(mem_family); k++) {
            if (jo->from[mem_family[k]] > 1 + source)
                return true;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(geometry); i++)
        if (geometry[i] == id && jo->from[JO_EXTRA_NODE_INFO] > 1 + source)
            return true;
    return (id == JO_REQUEUE && jo->from[JO_NO_REQUEUE] > 1 + source) ||
           (id == JO_NO_REQUEUE && jo->from[JO_REQUEUE] > 1 + source);
}

/* An empty variable is a name or a word that was not given; where a number, a time or one word of a
 * list is to be, it is the mistake that it is on the command line. */
static bool may_be_empty(enum jobopt id)
{
    switch ((enum jobvalue_kind)kinds[id]) {
    case KIND_TEXT:
    case KIND_CPUBIND:
    case KIND_GRES:
    case KIND_MPI:
    case KIND_RUNTIME:
        return true;
    default:
        return false;
    }
}

/* Options whose empty value is as if they were not given. */
static bool empty_says_nothing(enum jobopt id)
{
    return id == JO_EXTRA_NODE_INFO || id == JO_CONSTRAINT || id == JO_SEGMENT ||
           id == JO_LICENSES || id == JO_RESOURCES;
}

/* The layout "plane" has its size in a variable of its own: that is how a job hands it to its
 * steps.  NULL: the value is as it was given. */
static char *plane_with_size(enum jobopt id, const char *arg)
{
    const char *size = getenv("SLURM_DIST_PLANESIZE");

    if (id != JO_DISTRIBUTION || !arg || strcasecmp(arg, "plane") != 0 || !size)
        return NULL;
    return xasprintf_or_die("plane=%s", size);
}

int jobopts_set(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                struct err *err)
{
    struct jobopts *jo = ctx;
    _cleanup_free_ char *plane = plane_with_size((enum jobopt)opt->id, arg);
    enum jobopt id = (enum jobopt)opt->id;
    int status;

    if (id == JO_TASKS_PER_NODE)
        id = JO_NTASKS_PER_NODE;
    else if (id == JO_NTASKS_PER_TRES)
        id = JO_NTASKS_PER_GPU;
    if (source == OPT_FROM_ENV && arg && !*arg && may_be_empty(id))
        return 0; /* set but empty: nothing asked for */
    if (id == JO_WRAP && source == OPT_FROM_SCRIPT)
        return 0; /* the script is what is submitted */
    if (arg && !*arg && empty_says_nothing(id))
        return 0;
    arg = plane ? plane : arg;
    status = jobvalue_check((enum jobvalue_kind)kinds[opt->id], opt, arg, err);
    if (status < 0)
        exit(CLI_EXIT_OK); /* a list was asked for and printed */
    if (status != 0)
        return status;
    if (is_outranked(jo, id, source))
        return 0;
    drop_weaker(jo, id, source);
    if (id == JO_VERBOSE)
        jo->verbose = MAX(jo->verbose, 0) + 1;
    else if (id == JO_QUIET)
        jo->verbose = -1;
    jobopts_clear(jo, id);
    jo->value[id] = xstrdup_or_die(arg ? arg : "");
    jo->from[id] = (uint8_t)(1 + source);
    return 0;
}

uint64_t jobopts_num(const struct jobopts *jo, enum jobopt id, uint64_t dflt)
{
    uint32_t count;

    if (!jo->value[id] || jobtext_count_parse(jo->value[id], &count) < 0)
        return dflt;
    return count;
}

const char *jobopts_file(const struct jobopts *jo, enum jobopt id)
{
    const char *v = jo->value[id];

    return v && jo->cmd == JOBOPTS_SBATCH && strcasecmp(v, "none") == 0 ? "/dev/null" : v;
}

bool jobopts_true(const struct jobopts *jo, enum jobopt id)
{
    const char *v = jo->value[id];

    return v && strcmp(v, "0") != 0 && strcasecmp(v, "no") != 0;
}

int jobopts_node_counts(const struct jobopts *jo, uint32_t counts[static NODE_COUNTS_MAX])
{
    const char *v = jo->value[JO_NODES];
    int n = v && strpbrk(v, ",:") ? jobtext_node_counts(v, counts, NODE_COUNTS_MAX) : 0;

    return MAX(n, 0); /* was checked */
}

void jobopts_nodes(const struct jobopts *jo, uint32_t *ret_min, uint32_t *ret_max)
{
    uint32_t counts[NODE_COUNTS_MAX];
    int n = jobopts_node_counts(jo, counts);

    *ret_min = *ret_max = 0;
    if (n > 0) {
        *ret_min = counts[0]; /* of one range with a step the least is what the job gets */
        *ret_max = strchr(jo->value[JO_NODES], ',') ? counts[n - 1] : counts[0];
    } else if (jo->value[JO_NODES]) {
        (void)jobtext_nodes_parse(jo->value[JO_NODES], ret_min, ret_max); /* was checked */
    }
}

/* ---- whole-line checks ----------------------------------------------------------------------- */

static int fatal_line(const char *text)
{
    cli_print_fatal("%s", text);
    return CLI_EXIT_FAILED;
}

/* A layout that a list of nodes decides has one. */
/* A list says where the tasks of an arbitrary distribution go, and by that on how many nodes. */
static int check_arbitrary(const struct jobopts *jo)
{
    const char *dist = jobopts_get(jo, JO_DISTRIBUTION);

    if (!dist || strncasecmp(dist, "arbitrary", 9) != 0 || jo->in_allocation)
        return 0;
    if (!jobopts_has(jo, JO_NODELIST) && !jobopts_has(jo, JO_NODEFILE) &&
        !getenv("SLURM_HOSTFILE")) {
        cli_error("With Arbitrary distribution you need to specify a nodelist or hostfile with the "
                  "-w option");
        return CLI_EXIT_FAILED;
    }
    if (jobopts_has(jo, JO_NODES)) {
        cli_error("--nodes is incompatible with --distribution=arbitrary");
        return CLI_EXIT_FAILED;
    }
    return 0;
}

/* How many nodes the options name at least, by a list, too; *ret_tasks: their tasks, 1 where it is
 * open on how many nodes. */
static uint64_t least_nodes(const struct jobopts *jo, uint64_t *ret_tasks)
{
    _cleanup_(hostlist_free) struct hostlist *list = NULL;
    struct err err = { 0 };
    uint64_t tasks = jobopts_num(jo, JO_NTASKS, 0);
    uint32_t min, max;

    jobopts_nodes(jo, &min, &max);
    if (!min && jobopts_has(jo, JO_NODELIST) &&
        hostlist_parse(jobopts_get(jo, JO_NODELIST), &list, &err) == 0) {
        hostlist_uniq(list);
        min = max = (uint32_t)hostlist_count(list);
    }
    if (!tasks && (!max || max == min))
        tasks = min * jobopts_num(jo, JO_NTASKS_PER_NODE, 0);
    *ret_tasks = MAX(tasks, UINT64_C(1));
    return min;
}

/* Planes of tasks leave no node without one.  srun lays out as far as the tasks go. */
static int check_plane(const struct jobopts *jo)
{
    const char *dist = jobopts_get(jo, JO_DISTRIBUTION);
    uint64_t size, nodes, tasks;

    if (!dist || strncasecmp(dist, "plane=", 6) != 0 || jo->cmd == JOBOPTS_SRUN)
        return 0;
    size = strtoul(dist + 6, NULL, 10);
    nodes = least_nodes(jo, &tasks);
    if (nodes < 2 || (nodes - 1) * size < tasks)
        return 0;
    cli_error("Too few processes for the requested {plane,node} distribution");
    return CLI_EXIT_FAILED;
}

static bool begins_in_time(const struct jobopts *jo)
{
    int64_t now = now_us(), begin, deadline;

    return !jobopts_has(jo, JO_BEGIN) || !jobopts_has(jo, JO_DEADLINE) ||
           time_when_parse(jo->value[JO_BEGIN], now, true, &begin, NULL) < 0 ||
           time_when_parse(jo->value[JO_DEADLINE], now, true, &deadline, NULL) < 0 ||
           begin < deadline;
}

static int check_segment(const struct jobopts *jo)
{
    uint64_t segment = jobopts_num(jo, JO_SEGMENT, 0);
    uint32_t min, max;

    jobopts_nodes(jo, &min, &max);
    if (segment == 0 || segment > min || min % segment == 0)
        return 0;
    cli_print_fatal(
        "--segment=%u does not fit the job size (%u): node count must be evenly divisible by "
        "segment size",
        (unsigned)segment, min);
    return CLI_EXIT_FAILED;
}

static bool is_from_env(const struct jobopts *jo, enum jobopt id)
{
    return jo->from[id] == 1 + OPT_FROM_ENV;
}

/* In an allocation the number of tasks is the job's.  A step that names its nodes has as many as
 * the job has on these; a number of tasks that the nodes do not take outweighs the one a node. */
static void fit_tasks_to_nodes(struct jobopts *jo)
{
    uint64_t each = jobopts_num(jo, JO_NTASKS_PER_NODE, 0), tasks = jobopts_num(jo, JO_NTASKS, 0);
    uint32_t min, max;

    if (jo->cmd != JOBOPTS_SRUN || !each || !tasks || !jobopts_has(jo, JO_JOBID))
        return;
    jobopts_nodes(jo, &min, &max);
    if (is_from_env(jo, JO_NTASKS) && min && !is_from_env(jo, JO_NODES) &&
        is_from_env(jo, JO_NTASKS_PER_NODE)) {
        jobopts_clear(jo, JO_NTASKS);
        return;
    }
    max = MAX(min, max);
    if (max && tasks > each * max) {
        cli_warning("can't honor --ntasks-per-node set to %u which doesn't match the requested "
                    "tasks %u with the maximum number of requested nodes %u. Ignoring "
                    "--ntasks-per-node.",
                    (unsigned)each, (unsigned)tasks, max);
        jobopts_clear(jo, JO_NTASKS_PER_NODE);
    }
}

static void warn_of_nodes(const struct jobopts *jo, uint64_t tasks, size_t nodes)
{
    if (jo->verbose >= 0)
        cli_warning("can't run %u processes on %u nodes, setting nnodes to %u", (unsigned)tasks,
                    (unsigned)nodes, (unsigned)tasks);
}

/* A list alone says how many nodes: of more than there are tasks the first are taken. */
static void fit_list_to_tasks(struct jobopts *jo)
{
    uint64_t tasks = jobopts_num(jo, JO_NTASKS, 0);
    const char *dist = jo->value[JO_DISTRIBUTION];
    _cleanup_(hostlist_free) struct hostlist *all = NULL, *first = NULL;
    char *text = NULL;
    struct err err = { 0 };

    if (!tasks || !jo->value[JO_NODELIST] || jo->value[JO_NODES] || jo->in_allocation ||
        (dist && strncasecmp(dist, "arbitrary", 9) == 0) ||
        hostlist_parse(jo->value[JO_NODELIST], &all, &err) < 0)
        return;
    hostlist_uniq(all);
    if (hostlist_count(all) <= tasks || hostlist_new(&first) < 0)
        return;
    for (size_t i = 0; i < tasks; i++)
        if (hostlist_push(first, hostlist_nth(all, i)) < 0)
            return;
    if (hostlist_fold(first, &text) < 0)
        return;
    warn_of_nodes(jo, tasks, hostlist_count(all));
    free(jo->value[JO_NODELIST]);
    jo->value[JO_NODELIST] = text;
    jo->value[JO_NODES] = xasprintf_or_die("%u", (unsigned)tasks);
}

/* More nodes than tasks: Slurm lowers the node count, and says so when it was asked for. */
static void fit_nodes_to_tasks(struct jobopts *jo)
{
    uint64_t tasks = jobopts_num(jo, JO_NTASKS, 0);
    uint32_t min, max;

    jobopts_nodes(jo, &min, &max);
    if (tasks == 0 || MAX(min, max) <= tasks || strpbrk(jo->value[JO_NODES], ",:"))
        return;
    if (min > tasks)
        warn_of_nodes(jo, tasks, min);
    free(jo->value[JO_NODES]);
    jo->value[JO_NODES] = xasprintf_or_die("%u-%u", (unsigned)MIN(min, tasks), (unsigned)tasks);
}

/* What the controller would say, in the words of the command. */
static int refuse_line(const struct jobopts *jo, const char *text)
{
    if (jobopts_has(jo, JO_TEST_ONLY)) {
        (void)fprintf(stderr, "allocation failure: %s\n", text);
        return cli_error_status();
    }
    cli_error("%s: %s",
              jo->cmd == JOBOPTS_SBATCH   ? "Batch job submission failed"
              : jo->cmd == JOBOPTS_SALLOC ? "Job submit/allocate failed"
                                          : "Unable to allocate resources",
              text);
    return cli_error_status();
}

#define FEATURE_SIGNS "&,|()[]!*"

/* Is every feature of --batch one that --constraint names? */
static bool batch_in_constraint(const struct jobopts *jo)
{
    const char *batch = jobopts_get(jo, JO_BATCH), *all = jobopts_get(jo, JO_CONSTRAINT);

    for (const char *p = batch; p && *p; p += *p != '\0') {
        size_t len = strcspn(p, FEATURE_SIGNS);
        bool found = len == 0; /* between two signs */

        for (const char *q = all; q && *q && !found; q += *q != '\0') {
            size_t n = strcspn(q, FEATURE_SIGNS);

            found = n == len && strncmp(p, q, n) == 0;
            q += n;
        }
        if (!found)
            return false;
        p += len;
    }
    return true;
}

/* Options that cannot be followed, and whose refusal the controller would word. */
static int check_refused(const struct jobopts *jo)
{
    if (!batch_in_constraint(jo))
        return refuse_line(jo, "Job --batch option is invalid or not a subset of --constraint");
    if (!jobopts_has(jo, JO_REBOOT) || geteuid() == 0)
        return 0;
    cli_error("rebooting of nodes is only allowed for admins");
    return refuse_line(jo, "Access/permission denied");
}

/* --hint=help: asked of a whole command line only. */
static int explain_hints(void)
{
    (void)printf("Application hint options:\n"
                 "    --hint=WORD[,WORD]\n"
                 "        compute_bound   every core of a socket\n"
                 "        memory_bound    one core of a socket\n"
                 "        [no]multithread tasks run on all threads of a core, or on one\n"
                 "        help            print this, and do nothing\n");
    return CLI_EXIT_FAILED;
}

int jobopts_check(struct jobopts *jo)
{
    const char *hint = jobopts_get(jo, JO_HINT);
    unsigned mems = 0, of_env = 0;
    int status;

    if (hint && strcasecmp(hint, "help") == 0)
        return explain_hints();
    for (size_t i = 0; i < ARRAY_SIZE(mem_family); i++) {
        mems += jobopts_has(jo, mem_family[i]);
        of_env += jo->from[mem_family[i]] == 1 + OPT_FROM_ENV;
    }
    if (of_env > 1)
        return fatal_line("SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are "
                          "mutually exclusive.");
    if (mems > 1)
        return fatal_line("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
    if (jobopts_has(jo, JO_EXCLUSIVE) && jobopts_has(jo, JO_OVERSUBSCRIBE))
        return fatal_line("--exclusive and --oversubscribe options are mutually exclusive");
    status = check_arbitrary(jo);
    if (status == 0)
        status = check_plane(jo);
    if (status != 0)
        return status;
    if (!begins_in_time(jo)) {
        cli_error("Incompatible begin and deadline time specification");
        return CLI_EXIT_FAILED;
    }
    if (jobopts_has(jo, JO_CORE_SPEC) && jobopts_has(jo, JO_THREAD_SPEC))
        return fatal_line("-S/--core-spec and --thred-spec options are mutually exclusive");
    if (jobopts_has(jo, JO_OVERLAP) && jobopts_has(jo, JO_EXACT) &&
        jo->from[JO_OVERLAP] == jo->from[JO_EXACT])
        return fatal_line("--overlap and --exact are mutually exclusive.");
    status = check_segment(jo);
    if (status == 0)
        status = check_refused(jo);
    if (status == 0) {
        fit_tasks_to_nodes(jo);
        fit_list_to_tasks(jo);
        fit_nodes_to_tasks(jo);
    }
    return status;
}
