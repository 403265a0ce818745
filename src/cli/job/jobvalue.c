/* jobvalue.c - a check for each kind of value; see jobvalue.h
 *
 * A value is checked when it arrives, so that the first mistake on the line is the one reported. */
#include "cli/job/jobvalue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bind/cpubind.h"
#include "base/bind/cpufreq.h"
#include "base/bind/gpufreq.h"
#include "base/bind/gpubind.h"
#include "base/bind/membind.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobtext.h"
#include "wire/x11/xaddress.h"

#define STATUS_BAD_NUMBER 1
#define STATUS_BAD_SPEC 255
#define NICE_MAX 2147483645

static int bad_number(const struct opt *o, const char *arg, struct err *err)
{
    /* Two options are named otherwise than they are written. */
    const char *name = strcmp(o->name, "resv-ports") == 0 ? "resv-port" : o->name;

    return err_set(err, STATUS_BAD_NUMBER, "Invalid numeric value \"%.200s\" for %s%s.", arg,
                   strcmp(name, "immediate") == 0 ? "" : "--", name);
}

static int bad_spec(const struct opt *o, struct err *err)
{
    return err_set(err, STATUS_BAD_SPEC, "Invalid --%s specification", o->name);
}

static int check_number(const struct opt *o, const char *arg, uint64_t min, uint64_t max,
                        struct err *err)
{
    size_t digits = strspn(arg, "0123456789");
    uint64_t n;
    int r = parse_u64(arg, min, max, &n);

    if (r == 0)
        return 0;
    if (digits > 0 && !arg[digits] && parse_u64(arg, 0, INT32_MAX, &n) < 0)
        return err_set(err, STATUS_BAD_NUMBER, "Numeric argument (%.200s) too large for --%s.", arg,
                       o->name);
    return bad_number(o, arg, err);
}

static int check_bit(const struct opt *o, const char *arg, struct err *err)
{
    int64_t n;

    if (!arg)
        return 0;
    if (parse_i64(arg, INT32_MIN, INT32_MAX, &n) < 0)
        return check_number(o, arg, 0, 1, err);
    return n == 0 || n == 1 ? 0 : bad_spec(o, err);
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
    int64_t us;

    if (time_when_parse(arg, now_us(), true, &us, NULL) == 0)
        return 0;
    /* The place, before our own sentence, as users know it. */
    if (*arg)
        (void)fprintf(stderr, "Invalid time specification (pos=%d): %s\n", time_when_mistake(arg),
                      arg);
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
    n = jobtext_nodes_parse(arg, &min, &max);
    if (n == -ERANGE)
        return err_set(err, STATUS_BAD_SPEC,
                       "Maximum node count -1 is less than minimum node count %u", min);
    if (n < 0) /* the part that is wrong: the first number, or what stands behind it */
        return err_set(err, STATUS_BAD_SPEC, "\"%s\" is not a valid node count",
                       strchr(arg, '-') && !strpbrk(arg, ",:") ? strchr(arg, '-') + 1 : arg);
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

        if (n == 0 || !wordlist_has_n_nocase(allowed, arg, n))
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

    if (!*arg)
        return 0; /* as without the option */
    do {
        size_t n = strcspn(p, ","), name = MIN(strcspn(p, "="), n);
        bool bare = strspn(p, "0123456789") == n && n > 0; /* "30" is task=30 */

        if (!bare && (!wordlist_has_n_nocase("task,energy,network,filesystem", p, name) ||
                      n <= name + 1 || strspn(p + name + 1, "0123456789") != n - name - 1))
            return err_set(err, STATUS_BAD_SPEC, "Invalid --%s specification: %.200s", o->name,
                           arg);
        p += n;
    } while (*p++ == ',');
    return 0;
}

static int check_hint(const char *arg, struct err *err)
{
    if (strcasecmp(arg, "help") == 0)
        return 0; /* jobopts_check() answers */
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
    if (cpubind_parse(arg, &b, NULL) < 0) {
        cli_error("unrecognized --cpu-bind argument \"%.200s\"", arg);
        cli_print_fatal("Failed to parse --cpu-bind= values.");
        return err_set(err, STATUS_BAD_NUMBER, "%s", "");
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
    if (membind_parse(arg, &b, NULL) < 0)
        return err_set(err, STATUS_BAD_SPEC, "unrecognized --mem-bind argument \"%.200s\"", arg);
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

/* What stands behind the count is a time to wait, of which nothing is checked. */
static int check_switches(const struct opt *o, const char *arg, struct err *err)
{
    char count[16];
    size_t len = strcspn(arg, "@");

    if (len >= sizeof(count))
        return bad_number(o, arg, err);
    memcpy(count, arg, len);
    count[len] = '\0';
    return check_number(o, count, 1, UINT16_MAX, err);
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
            return err_set(err, STATUS_BAD_SPEC, "Invalid signal name or number: %s", word);
        arg += n;
    } while (*arg++ == ',');
    return 0;
}

/* The part that is wrong is said alone: x of "2:x". */
static int check_geometry(const char *arg, struct err *err)
{
    static const char *const places[] = { "first", "second", "third" };
    uint32_t sct[3];
    unsigned bad = 0;

    if (jobtext_geometry_parse(arg, sct, &bad) == 0)
        return 0;
    for (unsigned i = 0; i < bad; i++)
        arg += strcspn(arg, ":") + 1;
    return err_set(err, STATUS_BAD_NUMBER, "Invalid numeric value \"%.*s\" for %s arg of -B.",
                   (int)MIN(strcspn(arg, ":"), 200u), arg, places[bad]);
}

static int check_texts(enum jobvalue_kind kind, const struct opt *o, const char *arg,
                       struct err *err)
{
    struct jobtext_signal sig;
    _cleanup_free_ char *text = NULL;
    uint32_t bits;
    bool ok = true;

    switch (kind) {
    case KIND_WARN:
        ok = jobtext_signal_parse(arg, &sig, &text) == 0;
        break;
    case KIND_MAILTYPE:
        ok = jobtext_mail_parse(arg, &bits) == 0;
        break;
    case KIND_DIST:
        ok = jobtext_distribution_ok(arg);
        if (!ok && strncasecmp(arg, "plane", 5) == 0 && (!arg[5] || arg[5] == '='))
            cli_error("Invalid plane size or size not specified");
        break;
    case KIND_SIGNALOPT:
        ok = !arg || jobtext_signal_number(arg) != 0;
        break;
    default:
        break;
    }
    return ok ? 0 : bad_spec(o, err);
}

/* FREQUENCY[-FREQUENCY][:GOVERNOR], or a governor alone. */
static int check_cpufreq(const char *arg, struct err *err)
{
    struct err why = { .text = "" };
    struct cpufreq f;

    if (cpufreq_parse(arg, &f, &why) == 0)
        return 0;
    cli_error("%s", why.text);
    return err_set(err, STATUS_BAD_SPEC, "Invalid --cpu-freq argument");
}

/* Whose windows they are is settled first, as users expect. */
static int check_x11(const char *arg, struct err *err)
{
    const char *display = getenv("DISPLAY");
    struct xaddress a;

    if (arg && !jobtext_x11(arg))
        return err_set(err, CLI_EXIT_USAGE, "--x11 takes all, batch, first or last, not %.100s",
                       arg);
    if (!display || !*display)
        return err_set(err, CLI_EXIT_USAGE,
                       "No DISPLAY variable set, cannot setup x11 forwarding.");
    return xaddress_parse(display, &a, err) < 0 ? CLI_EXIT_USAGE : 0;
}

static int check_gpufreq(const char *arg, struct err *err)
{
    struct gpufreq f;

    if (gpufreq_parse(arg, &f) < 0)
        return err_set(err, STATUS_BAD_SPEC, "Invalid --gpu-freq argument: gpu:%.200s", arg);
    return 0;
}

static int check_propagate(const char *arg, struct err *err)
{
    static const char names[] = "all,none,as,core,cpu,data,fsize,memlock,nofile,nproc,rss,stack";
    const char *p = arg;

    do {
        size_t len = strcspn(p, ",");
        const char *name = len > 7 && strncasecmp(p, "RLIMIT_", 7) == 0 ? p + 7 : p;

        if (len == 0 || !wordlist_has_n_nocase(names, name, len - (size_t)(name - p))) {
            cli_error("Bad rlimit name: %.*s", (int)MIN(len, 200u), p);
            return err_set(err, STATUS_BAD_NUMBER, "--propagate=%.200s is not valid.", arg);
        }
        p += len;
    } while (*p++ == ',');
    return 0;
}

int memupdate_parse(const char *arg, uint32_t *ret_margin, uint32_t *ret_delay_s)
{
    const char *at = strchr(arg, '@');
    uint64_t margin;
    uint32_t delay_s;
    char number[16];

    if (!at || (size_t)(at - arg) >= sizeof(number))
        return -EINVAL;
    memcpy(number, arg, (size_t)(at - arg));
    number[at - arg] = '\0';
    if (parse_u64(number, 0, MEMUPDATE_MARGIN_MAX, &margin) < 0 ||
        time_delay_parse(at + 1, &delay_s, NULL) < 0 || delay_s == 0)
        return -EINVAL;
    *ret_margin = (uint32_t)margin;
    *ret_delay_s = delay_s;
    return 0;
}

static int check_memupdate(const char *arg, struct err *err)
{
    uint32_t margin, delay_s;

    if (memupdate_parse(arg, &margin, &delay_s) < 0)
        return err_set(err, STATUS_BAD_SPEC, "--mem-update requires MARGIN@DELAY format");
    return 0;
}

static int check_jobid(const char *arg, struct err *err)
{
    struct ids ids = { 0 };
    bool good = ids_parse(arg, &ids, NULL) == 0;

    ids_done(&ids);
    if (good)
        return 0;
    cli_print_fatal("Bad job/step specified: %.200s: %s", arg, ids_mistake(arg));
    return err_set(err, STATUS_BAD_NUMBER, "%s", "");
}

/* The number is read as far as it is one. */
static int check_nice(const char *arg, struct err *err)
{
    long long n = arg ? strtoll(arg, NULL, 10) : 0;

    if (n > NICE_MAX || n < -NICE_MAX)
        return err_set(err, STATUS_BAD_SPEC, "Invalid --nice value, out of range (+/- %d)",
                       NICE_MAX);
    return 0;
}

static int check_priority(const char *arg, struct err *err)
{
    long long n = strtoll(arg, NULL, 10);

    if (n < 0)
        return err_set(err, STATUS_BAD_SPEC, "Priority must be >= 0");
    if (n >= (long long)UINT32_MAX - 1)
        return err_set(err, STATUS_BAD_SPEC, "Priority must be < %u", UINT32_MAX - 1);
    return 0;
}

static int check_root_only(const struct opt *o, struct err *err)
{
    if (geteuid() == 0)
        return 0;
    return err_set(err, STATUS_BAD_SPEC, "--%s only permitted by root user", o->name);
}

static int check_debug(const struct opt *o, const char *arg, struct err *err)
{
    enum log_level level;

    if (geteuid() != 0)
        return err_set(err, STATUS_BAD_SPEC,
                       "Use of --%s is allowed only for root and SlurmUser(root)", o->name);
    if (log_level_parse(arg, &level) < 0)
        return err_set(err, STATUS_BAD_SPEC,
                       "--%s takes quiet, fatal, error, info, verbose, debug to debug5, or 0 to 9, "
                       "not %.100s",
                       o->name, arg);
    return 0;
}

/* A binding of GPUs; numbers in it are looked at where tasks start.  What --tres-bind says is the
 * controller's to check. */
static int check_gpubind(const struct opt *o, const char *arg, struct err *err)
{
    if (strcmp(o->name, "tres-bind") == 0 || gpubind_is_word(arg))
        return 0;
    return err_set(err, STATUS_BAD_SPEC, "Invalid --%s argument: %.200s", o->name, arg);
}

/* Kinds whose values are words of a fixed list. */
static const char *words_of(enum jobvalue_kind kind)
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
    case KIND_OPENMODE:
        return "append,truncate,a,t";
    case KIND_REQUEUE:
        return "expedite";
    default:
        return NULL;
    }
}

static int check_numbers(enum jobvalue_kind kind, const struct opt *o, const char *arg,
                         struct err *err)
{
    switch (kind) {
    case KIND_COUNT:
        return check_number(o, arg, 1, INT32_MAX, err);
    case KIND_TREEWIDTH:
        return strcasecmp(arg, "off") == 0 ? 0 : check_number(o, arg, 0, 65533, err);
    case KIND_BIT:
        return check_bit(o, arg, err);
    case KIND_COUNT0:
        return check_number(o, arg, 0, INT32_MAX, err);
    case KIND_PORTS:
        return arg ? check_number(o, arg, 0, 65535, err) : 0;
    case KIND_SEGMENT:
        return check_number(o, arg, 0, UINT16_MAX, NULL) == 0 ? 0 : bad_spec(o, err);
    case KIND_SECS:
    case KIND_SECS0:
        return arg ? check_number(o, arg, 0, INT32_MAX / 1000, err) : 0;
    case KIND_NICE:
        return check_nice(arg, err);
    case KIND_PRIORITY:
        return check_priority(arg, err);
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
        return check_texts(kind, o, arg, err);
    }
}

int jobvalue_check(enum jobvalue_kind kind, const struct opt *o, const char *arg, struct err *err)
{
    const char *words = words_of(kind);

    if (kind == KIND_EXCLUSIVE && arg && !*arg)
        return 0; /* as without a value */
    if (words)
        return arg && (*arg || kind != KIND_REQUEUE) ? check_words(o, arg, words, err) : 0;
    switch (kind) {
    case KIND_FLAG:
    case KIND_TEXT:
    case KIND_ARRAY:  /* the controller knows MaxArraySize */
    case KIND_REFUSE: /* opts.c did */
    case KIND_GRES:   /* needs GresTypes: when the record is filled */
    case KIND_GPUS:
    case KIND_GRESFLAGS:
    case KIND_TRESTASK: /* gresopts.c looks at all of them together */
        return 0;
    case KIND_ACCTG:
        return check_acctg(o, arg, err);
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
    case KIND_SLURMDDEBUG:
        return check_debug(o, arg, err);
    case KIND_CPUFREQ:
        return check_cpufreq(arg, err);
    case KIND_GPUFREQ:
        return check_gpufreq(arg, err);
    case KIND_GEOMETRY:
        return check_geometry(arg, err);
    case KIND_PROPAGATE:
        return arg ? check_propagate(arg, err) : 0;
    case KIND_PROFILE:
        return words_in(arg, "all,none,energy,task,filesystem,lustre,network")
                   ? 0
                   : err_set(err, STATUS_BAD_SPEC, "invalid --profile=%.200s option", arg);
    case KIND_MEMUPDATE:
        return check_memupdate(arg, err);
    case KIND_X11:
        return check_x11(arg, err);
    case KIND_RUNTIME:
        return check_words(o, arg, "oci,none", err);
    case KIND_SIGNALS:
        return check_signals(o, arg, err);
    default:
        return check_numbers(kind, o, arg, err);
    }
}
