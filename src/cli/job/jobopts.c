/* jobopts.c - collecting and checking the options of sbatch, srun and salloc
 *
 * Rows live in jobopts.def.  A value is checked when it arrives, so that the first mistake on the
 * line is the one reported, and kept as text; jobfill.c turns the texts into messages.  One thread.
 */
#include "cli/job/jobopts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/bind/gpubind.h"
#include "base/timefmt.h"
#include "base/bind/cpubind.h"
#include "base/bind/membind.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/job/jobtext.h"

#define STATUS_BAD_NUMBER 1
#define STATUS_BAD_SPEC 255

enum kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_COUNT,  /* 1.. */
    KIND_COUNT0, /* 0.. */
    KIND_COUNTK, /* 1.. with k, m */
    KIND_SECS,   /* optional, 1 */
    KIND_SECS0,
    KIND_TIME,
    KIND_MEM,
    KIND_WHEN,
    KIND_NODES,
    KIND_BOOL, /* optional 0 or 1 */
    KIND_OFF,
    KIND_YESNO,
    KIND_ACCTG,
    KIND_ARRAY,
    KIND_DIST,
    KIND_EXCLUSIVE,
    KIND_GEOMETRY,
    KIND_GPUS,
    KIND_GPUBIND,
    KIND_GRES,
    KIND_GRESFLAGS,
    KIND_HINT,
    KIND_JOBID,
    KIND_MAILTYPE,
    KIND_MEMBIND,
    KIND_CPUBIND,
    KIND_MPI,
    KIND_NICE,
    KIND_OPENMODE,
    KIND_PORTS,
    KIND_PRIORITY,
    KIND_PROFILE,
    KIND_PROPAGATE,
    KIND_REFUSE,
    KIND_REQUEUE,
    KIND_ROOTONLY,
    KIND_RUNTIME,
    KIND_SIGNALOPT,
    KIND_SIGNALS,
    KIND_SWITCHES,
    KIND_TRESTASK,
    KIND_WARN,
};

#define B JOBOPTS_SBATCH
#define A JOBOPTS_SALLOC
#define R JOBOPTS_SRUN
static const struct opt rows[] = {
#define O(sym, name_, letter_, arg_, kind_, applies_, env_, group_, metavar_, help_)               \
    { .name = name_,                                                                               \
      .letter = letter_,                                                                           \
      .arg = OPT_##arg_,                                                                           \
      .id = JO_##sym,                                                                              \
      .applies = applies_,                                                                         \
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

static const uint8_t kinds[JO_MAX_] = {
#define O(sym, name_, letter_, arg_, kind_, ...) [JO_##sym] = KIND_##kind_,
#include "cli/job/jobopts.def"
#undef O
};

struct opt_more jobopts_more;

const struct opt_command *jobopts_command(enum jobopts_cmd cmd)
{
    static const struct opt_command commands[] = {
        { .name = "sbatch",
          .prefix = "SBATCH",
          .bit = JOBOPTS_SBATCH,
          .rows = rows,
          .n = ARRAY_SIZE(rows),
          .set = jobopts_set,
          .more = &jobopts_more,
          .synopsis = "[OPTIONS...] [script [args...]]",
          .usage_status = CLI_EXIT_USAGE,
          .help_with_h = true },
        { .name = "salloc",
          .prefix = "SALLOC",
          .bit = JOBOPTS_SALLOC,
          .rows = rows,
          .n = ARRAY_SIZE(rows),
          .set = jobopts_set,
          .more = &jobopts_more,
          .synopsis = "[OPTIONS...] [command [args...]]",
          .usage_status = CLI_EXIT_USAGE,
          .help_with_h = true },
        { .name = "srun",
          .prefix = "SLURM",
          .prefix2 = "SRUN",
          .bit = JOBOPTS_SRUN,
          .rows = rows,
          .n = ARRAY_SIZE(rows),
          .set = jobopts_set,
          .more = &jobopts_more,
          .synopsis = "[OPTIONS...] executable [args...]",
          .usage_status = CLI_EXIT_USAGE,
          .help_with_h = true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (commands[i].bit == (unsigned)cmd)
            return &commands[i];
    }
    return NULL;
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

/* ---- checks: 0 or the exit status with the sentence in err ----------------------------------- */

static int bad_number(const struct opt *o, const char *arg, struct err *err)
{
    return err_set(err, STATUS_BAD_NUMBER, "Invalid numeric value \"%.200s\" for --%s.", arg,
                   o->name);
}

static int bad_spec(const struct opt *o, struct err *err)
{
    return err_set(err, STATUS_BAD_SPEC, "Invalid --%s specification", o->name);
}

static int check_number(const struct opt *o, const char *arg, uint64_t min, uint64_t max,
                        struct err *err)
{
    uint64_t n;

    return parse_u64(arg, min, max, &n) < 0 ? bad_number(o, arg, err) : 0;
}

static int check_time(const struct opt *o, const char *arg, struct err *err)
{
    uint32_t minutes;
    int64_t negative;

    if (parse_i64(arg, INT64_MIN, -1, &negative) == 0)
        return 0; /* any negative number means no limit */
    return time_limit_parse(arg, &minutes, NULL) < 0 ? bad_spec(o, err) : 0;
}

static int check_mem(const struct opt *o, const char *arg, struct err *err)
{
    size_t len = strlen(arg), digits = strspn(arg, "0123456789");
    uint64_t mib;

    if (digits == 0 || (digits < len && !strchr("kKmMgGtT", arg[digits])))
        return bad_spec(o, err);
    return size_mib_parse(arg, &mib, NULL) < 0 ? bad_spec(o, err) : 0;
}

static int check_when(const struct opt *o, const char *arg, struct err *err)
{
    bool offset = strncasecmp(arg, "now", 3) == 0 && (arg[3] == '+' || arg[3] == '-');
    int64_t us;

    if (time_when_parse(arg, now_us(), true, &us, NULL) == 0)
        return 0;
    /* The place, before our own sentence, as users know it. */
    (void)fprintf(stderr, "Invalid time specification (pos=%d): %s\n", offset ? 4 : 0, arg);
    return bad_spec(o, err);
}

static int check_nodes(const struct opt *o, const char *arg, struct err *err)
{
    uint32_t min, max, counts[NODE_COUNTS_MAX];
    int n = strpbrk(arg, ",:") ? jobtext_node_counts(arg, counts, NODE_COUNTS_MAX) : 0;

    if (n == -E2BIG)
        return err_set(err, STATUS_BAD_SPEC, "--nodes names more than %u node counts",
                       NODE_COUNTS_MAX);
    if (n > 0)
        return 0;
    if (jobtext_nodes_parse(arg, &min, &max) < 0)
        return err_set(err, STATUS_BAD_SPEC, "\"%s\" is not a valid node count", arg);
    if (max && max < min)
        return err_set(err, STATUS_BAD_SPEC,
                       "Maximum node count %u is less than minimum node count %u", max, min);
    return 0;
}

/* Every word of a comma list must be in `allowed`. */
static bool words_in(const char *arg, const char *allowed)
{
    do {
        size_t n = strcspn(arg, ",");

        if (n == 0 || !jobtext_in_list(allowed, arg, n))
            return false;
        arg += n;
    } while (*arg++ == ',');
    return true;
}

static int check_words(const struct opt *o, const char *arg, const char *allowed, struct err *err)
{
    return words_in(arg, allowed) ? 0 : bad_spec(o, err);
}

static int check_acctg(const struct opt *o, const char *arg, struct err *err)
{
    const char *p = arg;

    do {
        size_t n = strcspn(p, ","), name = MIN(strcspn(p, "="), n);
        bool bare = strspn(p, "0123456789") == n && n > 0; /* "30" is task=30 */

        if (!bare && (!jobtext_in_list("task,energy,network,filesystem", p, name) ||
                      n <= name + 1 || strspn(p + name + 1, "0123456789") != n - name - 1))
            return err_set(err, STATUS_BAD_SPEC, "Invalid --%s specification: %.200s", o->name,
                           arg);
        p += n;
    } while (*p++ == ',');
    return 0;
}

static int check_array(const char *arg, struct err *err)
{
    char set[ARRAY_SET_MAX];
    size_t len = strcspn(arg, "%");
    uint64_t n;

    if (len < sizeof(set)) {
        memcpy(set, arg, len);
        set[len] = '\0';
        if (ids_check_set(set) && (!arg[len] || parse_u64(arg + len + 1, 0, UINT32_MAX, &n) == 0))
            return 0;
    }
    return err_set(err, cli_error_status(),
                   "Batch job submission failed: Invalid job array specification");
}

static int check_hint(const char *arg, struct err *err)
{
    if (strcasecmp(arg, "help") == 0) {
        (void)printf("Application hint options:\n"
                     "    --hint=             what the program needs most\n"
                     "        compute_bound   all cores of a socket, one thread each\n"
                     "        memory_bound    one core of a socket, one thread\n"
                     "        multithread     all threads of a core\n"
                     "        nomultithread   one thread of a core\n");
        return -1;
    }
    if (words_in(arg, "compute_bound,memory_bound,multithread,nomultithread"))
        return 0;
    return err_set(err, STATUS_BAD_NUMBER,
                   "unrecognized --hint argument \"%.200s\", see --hint=help", arg);
}

static int check_cpubind(const char *arg, struct err *err)
{
    struct cpubind b;

    if (strcasecmp(arg, "help") == 0) {
        (void)printf(
            "--cpu-bind=[quiet|verbose,]KIND\n"
            "    none              tasks use all CPUs of the step\n"
            "    threads           each task its own threads\n"
            "    cores             the whole cores of its threads\n"
            "    sockets           the whole sockets of its threads\n"
            "    ldoms             the whole NUMA domains of its threads\n"
            "    rank_ldom         a NUMA domain by rank\n"
            "    map_cpu:LIST      task n the n-th CPU of the list (ITEM*COUNT repeats one)\n"
            "    mask_cpu:LIST     task n the n-th hexadecimal mask of the list\n"
            "    map_ldom:LIST, mask_ldom:LIST   the same with NUMA domains\n"
            "Without a kind: sockets, cores or threads, where the step has as many as its tasks need.\n");
        return -1;
    }
    if (cpubind_parse(arg, &b, err) < 0) {
        cli_error("Invalid --cpu-bind argument: %.200s", arg);
        return err_set(err, STATUS_BAD_NUMBER, "see --cpu-bind=help for the kinds");
    }
    cpubind_done(&b);
    return 0;
}

static int check_membind(const char *arg, struct err *err)
{
    struct membind b;

    if (strcasecmp(arg, "help") == 0) {
        (void)printf(
            "--mem-bind=[quiet|verbose,][prefer,][sort|nosort,]KIND\n"
            "    none              tasks take memory from anywhere\n"
            "    local             from the NUMA domains of their CPUs\n"
            "    rank              task n of a node from its n-th domain\n"
            "    map_mem:LIST      task n from the n-th domain of the list (ITEM*COUNT repeats one)\n"
            "    mask_mem:LIST     task n from the domains of the n-th hexadecimal mask\n"
            "With prefer: from the first of them, and from others when that is full.\n");
        return -1;
    }
    if (membind_parse(arg, &b, err) < 0) {
        cli_error("Invalid --mem-bind argument: %.200s", arg);
        return err_set(err, STATUS_BAD_NUMBER, "see --mem-bind=help for the kinds");
    }
    membind_done(&b);
    return 0;
}

static int check_mpi(const char *arg, struct err *err)
{
    if (strcasecmp(arg, "list") == 0) {
        (void)printf("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n"
                     "specific pmix plugin versions available: pmix_v4\n");
        return -1;
    }
    if (strcasecmp(arg, "none") == 0 || strcasecmp(arg, "pmi2") == 0 ||
        strcasecmp(arg, "pmix") == 0 || strcasecmp(arg, "pmix_v4") == 0)
        return 0;
    cli_error("MPI: Cannot create context for mpi/%.100s", arg);
    cli_error("MPI: Unable to load any plugin");
    return err_set(err, STATUS_BAD_NUMBER,
                   "Invalid MPI type '%.100s', --mpi=list for acceptable types", arg);
}

static int check_switches(const struct opt *o, const char *arg, struct err *err)
{
    char count[16];
    size_t len = strcspn(arg, "@");
    uint32_t secs;

    if (len >= sizeof(count))
        return bad_number(o, arg, err);
    memcpy(count, arg, len);
    count[len] = '\0';
    if (arg[len] && time_secs_parse(arg + len + 1, &secs, NULL) < 0)
        return bad_spec(o, err);
    return check_number(o, count, 0, UINT16_MAX, err);
}

static int check_signals(const struct opt *o, const char *arg, struct err *err)
{
    do {
        char word[32];
        size_t n = strcspn(arg, ",");

        if (n == 0 || n >= sizeof(word))
            return bad_spec(o, err);
        memcpy(word, arg, n);
        word[n] = '\0';
        if (jobtext_signal_number(word) == 0)
            return bad_spec(o, err);
        arg += n;
    } while (*arg++ == ',');
    return 0;
}

static int check_texts(const struct opt *o, const char *arg, struct err *err)
{
    struct jobtext_signal sig;
    _cleanup_free_ char *text = NULL;
    uint32_t bits, sct[3];
    bool ok = true;

    switch ((enum kind)kinds[o->id]) {
    case KIND_WARN:
        if (strncasecmp(arg, "R:", 2) == 0)
            return err_set(
                err, STATUS_BAD_SPEC,
                "--signal: R: is not supported: no reservation takes the nodes of a running job here");
        ok = jobtext_signal_parse(arg, &sig, &text) == 0;
        break;
    case KIND_MAILTYPE:
        ok = jobtext_mail_parse(arg, &bits) == 0;
        break;
    case KIND_DIST:
        ok = jobtext_distribution_ok(arg);
        break;
    case KIND_GEOMETRY:
        ok = jobtext_geometry_parse(arg, sct) == 0;
        break;
    case KIND_GPUS:
        ok = jobtext_gpus(arg, &text) == 0;
        break;
    case KIND_TRESTASK:
        ok = jobtext_per_task(arg, NULL, &text, NULL) == 0;
        break;
    case KIND_SIGNALOPT:
        ok = !arg || jobtext_signal_number(arg) != 0;
        break;
    default:
        break;
    }
    return ok ? 0 : bad_spec(o, err);
}

static int check_jobid(const char *arg, struct err *err)
{
    struct ids ids = { 0 };

    if (ids_parse(arg, &ids, NULL) < 0 || ids.sluid[0] || ids.has_step) {
        ids_done(&ids);
        return err_set(err, STATUS_BAD_NUMBER, "Invalid job id: %.200s", arg);
    }
    ids_done(&ids);
    return 0;
}

static int check_nice(const struct opt *o, const char *arg, struct err *err)
{
    int64_t n;

    if (arg && parse_i64(arg, -2147483645, 2147483645, &n) < 0)
        return bad_number(o, arg, err);
    return 0;
}

static int check_priority(const struct opt *o, const char *arg, struct err *err)
{
    return strcasecmp(arg, "top") == 0 ? 0 : check_number(o, arg, 0, UINT32_MAX - 2, err);
}

static int check_root_only(const struct opt *o, struct err *err)
{
    if (geteuid() == 0)
        return 0;
    return err_set(err, STATUS_BAD_SPEC, "--%s only permitted by root user", o->name);
}

/* Words of a binding, of which only those that change nothing exist here. */
static int check_gpubind(const struct opt *o, const char *arg, struct err *err)
{
    bool tres = strcmp(o->name, "tres-bind") == 0;
    struct gpubind b = { 0 };

    if (tres == (strncasecmp(arg, "gres/gpu:", 9) == 0) && gpubind_parse(arg, &b, NULL) == 0) {
        gpubind_done(&b);
        return 0;
    }
    return err_set(err, STATUS_BAD_NUMBER, "Invalid --%s argument: %.200s", o->name, arg);
}

/* Kinds whose values are words of a fixed list. */
static const char *words_of(enum kind kind)
{
    switch (kind) {
    case KIND_BOOL:
        return "0,1,yes,no";
    case KIND_OFF:
        return "off,no,set";
    case KIND_YESNO:
        return "yes,no";
    case KIND_EXCLUSIVE:
        return "user,mcs,topo,allocation,exclusive,node";
    case KIND_GRESFLAGS:
        return "disable-binding,enforce-binding,one-task-per-sharing,multiple-tasks-per-sharing,"
               "allow-task-sharing";
    case KIND_OPENMODE:
        return "append,truncate,a,t";
    case KIND_PROFILE:
        return "all,none,energy,task,filesystem,lustre,network";
    case KIND_PROPAGATE:
        return "all,none,as,core,cpu,data,fsize,memlock,nofile,nproc,rss,stack";
    case KIND_REQUEUE:
        return "expedite";
    default:
        return NULL;
    }
}

static int check_count(const struct opt *o, const char *arg, struct err *err)
{
    uint32_t count;

    if (jobtext_count_parse(arg, &count) < 0 || count == 0)
        return bad_number(o, arg, err);
    return 0;
}

static int check_numbers(const struct opt *o, const char *arg, struct err *err)
{
    switch ((enum kind)kinds[o->id]) {
    case KIND_COUNT:
        return check_number(o, arg, 1, INT32_MAX, err);
    case KIND_COUNT0:
        return check_number(o, arg, 0, INT32_MAX, err);
    case KIND_PORTS:
        return arg ? check_number(o, arg, 0, 65535, err) : 0;
    case KIND_COUNTK:
        return check_count(o, arg, err);
    case KIND_SECS:
    case KIND_SECS0:
        return arg ? check_number(o, arg, 0, INT32_MAX / 1000, err) : 0;
    case KIND_NICE:
        return check_nice(o, arg, err);
    case KIND_PRIORITY:
        return check_priority(o, arg, err);
    case KIND_NODES:
        return check_nodes(o, arg, err);
    case KIND_SWITCHES:
        return check_switches(o, arg, err);
    case KIND_TIME:
        return check_time(o, arg, err);
    case KIND_MEM:
        return check_mem(o, arg, err);
    case KIND_WHEN:
        return check_when(o, arg, err);
    default:
        return check_texts(o, arg, err);
    }
}

static int check(const struct opt *o, const char *arg, struct err *err)
{
    enum kind kind = kinds[o->id];
    const char *words = words_of(kind);

    if (words)
        return arg ? check_words(o, arg, words, err) : 0;
    switch (kind) {
    case KIND_FLAG:
    case KIND_TEXT:
    case KIND_REFUSE: /* opts.c did */
    case KIND_GRES:   /* needs GresTypes: when the record is filled */
        return 0;
    case KIND_ACCTG:
        return check_acctg(o, arg, err);
    case KIND_ARRAY:
        return check_array(arg, err);
    case KIND_HINT:
        return check_hint(arg, err);
    case KIND_JOBID:
        return check_jobid(arg, err);
    case KIND_MEMBIND:
        return check_membind(arg, err);
    case KIND_GPUBIND:
        return check_gpubind(o, arg, err);
    case KIND_CPUBIND:
        return check_cpubind(arg, err);
    case KIND_MPI:
        return check_mpi(arg, err);
    case KIND_ROOTONLY:
        return check_root_only(o, err);
    case KIND_RUNTIME:
        return check_words(o, arg, "oci,none", err);
    case KIND_SIGNALS:
        return check_signals(o, arg, err);
    default:
        return check_numbers(o, arg, err);
    }
}

/* ---- collecting ------------------------------------------------------------------------------ */

static const enum jobopt mem_family[] = { JO_MEM, JO_MEM_PER_CPU, JO_MEM_PER_GPU };

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
    if (id == JO_REQUEUE)
        jobopts_clear(jo, JO_NO_REQUEUE);
    else if (id == JO_NO_REQUEUE)
        jobopts_clear(jo, JO_REQUEUE);
}

static bool outranked(const struct jobopts *jo, enum jobopt id, enum opt_source source)
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
    return (id == JO_REQUEUE && jo->from[JO_NO_REQUEUE] > 1 + source) ||
           (id == JO_NO_REQUEUE && jo->from[JO_REQUEUE] > 1 + source);
}

int jobopts_set(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                struct err *err)
{
    struct jobopts *jo = ctx;
    enum jobopt id = (enum jobopt)opt->id;
    int status;

    if (id == JO_TASKS_PER_NODE)
        id = JO_NTASKS_PER_NODE;
    status = check(opt, arg, err);
    if (status < 0)
        exit(CLI_EXIT_OK); /* a list was asked for and printed */
    if (status != 0)
        return status;
    if (outranked(jo, id, source))
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
        *ret_min = counts[0];
        *ret_max = counts[n - 1];
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

static int check_segment(const struct jobopts *jo)
{
    uint64_t segment = jobopts_num(jo, JO_SEGMENT, 0);
    uint32_t min, max;

    jobopts_nodes(jo, &min, &max);
    if (segment == 0 || min == 0 || min % segment == 0)
        return 0;
    cli_print_fatal(
        "--segment=%u does not fit the job size (%u): node count must be evenly divisible by "
        "segment size",
        (unsigned)segment, min);
    return CLI_EXIT_FAILED;
}

/* More nodes than tasks: Slurm lowers the node count and says so. */
static void fit_nodes_to_tasks(struct jobopts *jo)
{
    uint64_t tasks = jobopts_num(jo, JO_NTASKS, 0);
    uint32_t min, max;

    jobopts_nodes(jo, &min, &max);
    if (tasks == 0 || min <= tasks)
        return;
    if (jo->verbose >= 0)
        cli_warning("can't run %u processes on %u nodes, setting nnodes to %u", (unsigned)tasks,
                    min, (unsigned)tasks);
    free(jo->value[JO_NODES]);
    jo->value[JO_NODES] = xasprintf_or_die("%u-%u", (unsigned)tasks, (unsigned)tasks);
}

/* Does a list like --tres-per-task's name GPUs?  With drop it does not any more. */
static bool names_gpus(char *tres, bool drop)
{
    char *to = tres, *row, *rest = tres;
    bool found = false;

    while (rest && (row = strsep(&rest, ","))) {
        size_t len = strlen(row);

        if (rest)
            rest[-1] = ',';
        if (jobtext_is_gpu(row, len)) {
            found = true;
        } else if (drop) {
            if (to > tres)
                *to++ = ',';
            memmove(to, row, len);
            to += len;
        }
    }
    if (drop && tres)
        *to = '\0';
    return found;
}

/* What a step says of GPUs counts, not what its job's environment repeats. */
static void settle_gpus(struct jobopts *jo)
{
    static const enum jobopt others[] = { JO_GPUS, JO_GPUS_PER_NODE, JO_GPUS_PER_SOCKET,
                                          JO_GPUS_PER_TASK };
    const char *gres = jobopts_get(jo, JO_GRES);
    char *per_task = jo->value[JO_TRES_PER_TASK];

    if (jo->from[JO_GPUS_PER_TASK] < jo->from[JO_TRES_PER_TASK] && names_gpus(per_task, false))
        jobopts_clear(jo, JO_GPUS_PER_TASK);
    if (!gres || strcasecmp(gres, "none") != 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (jo->from[others[i]] < jo->from[JO_GRES])
            jobopts_clear(jo, others[i]);
    if (jo->from[JO_TRES_PER_TASK] < jo->from[JO_GRES] && names_gpus(per_task, true) && !*per_task)
        jobopts_clear(jo, JO_TRES_PER_TASK);
}

int jobopts_check(struct jobopts *jo)
{
    unsigned mems = 0;
    int status;

    settle_gpus(jo);
    for (size_t i = 0; i < ARRAY_SIZE(mem_family); i++)
        mems += jobopts_has(jo, mem_family[i]);
    if (mems > 1)
        return fatal_line("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
    if (jobopts_has(jo, JO_CPUS_PER_GPU) && jo->from[JO_CPUS_PER_GPU] <= jo->from[JO_CPUS_PER_TASK])
        return fatal_line("--cpus-per-gpu and --cpus-per-task are mutually exclusive.");
    if (jobopts_has(jo, JO_EXCLUSIVE) && jobopts_has(jo, JO_OVERSUBSCRIBE))
        return fatal_line("--exclusive and --oversubscribe are mutually exclusive.");
    if (jobopts_has(jo, JO_GPUS_PER_SOCKET) && !jobopts_has(jo, JO_SOCKETS_PER_NODE) &&
        !jobopts_has(jo, JO_EXTRA_NODE_INFO))
        return fatal_line("--gpus-per-socket needs --sockets-per-node.");
    if (jobopts_has(jo, JO_GPUS_PER_TASK) && !jobopts_has(jo, JO_NTASKS) &&
        !jobopts_has(jo, JO_NTASKS_PER_NODE) && !jobopts_has(jo, JO_GPUS))
        return fatal_line(
            "--gpus-per-task needs a number of tasks (--ntasks) or of GPUs (--gpus).");
    if (jobopts_has(jo, JO_OVERLAP) && jobopts_has(jo, JO_EXACT) &&
        jo->from[JO_OVERLAP] == jo->from[JO_EXACT])
        return fatal_line("--overlap and --exact are mutually exclusive.");
    status = check_segment(jo);
    if (status == 0)
        fit_nodes_to_tasks(jo);
    return status;
}

/* ---- -v -------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct opt *const *)a)->name, (*(const struct opt *const *)b)->name);
}

static void print_defined(const struct jobopts *jo, const struct opt *o)
{
    const char *value = jo->value[o->id];
    char buf[64];

    if (o->id == JO_VERBOSE) {
        (void)snprintf(buf, sizeof(buf), "%d", jo->verbose);
        value = buf;
    } else if (kinds[o->id] == KIND_TIME) {
        uint32_t minutes;

        if (time_limit_parse(value, &minutes, NULL) == 0 && minutes != TIME_LIMIT_INFINITE) {
            time_fmt_hms((int64_t)minutes * 60, buf, sizeof(buf));
            value = buf;
        }
    } else if (!*value) {
        value = "set";
    }
    (void)fprintf(stderr, "%s: %-20s: %s\n", jobopts_command(jo->cmd)->name, o->name, value);
}

void jobopts_print_defined(const struct jobopts *jo)
{
    const struct opt *given[JO_MAX_];
    const char *name = jobopts_command(jo->cmd)->name;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (jo->from[rows[i].id] && (rows[i].applies & jo->cmd))
            given[n++] = &rows[i];
    }
    qsort(given, n, sizeof(given[0]), by_name);
    (void)fprintf(stderr, "%s: defined options\n", name);
    (void)fprintf(stderr, "%s: -------------------- --------------------\n", name);
    for (size_t i = 0; i < n; i++)
        print_defined(jo, given[i]);
    (void)fprintf(stderr, "%s: -------------------- --------------------\n", name);
    (void)fprintf(stderr, "%s: end of defined options\n", name);
}
