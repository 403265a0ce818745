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
#include "base/bind/gpubind.h"
#include "base/bind/membind.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/base/ids.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobtext.h"

#define STATUS_BAD_NUMBER 1
#define STATUS_BAD_SPEC 255

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

static int check_texts(enum jobvalue_kind kind, const struct opt *o, const char *arg,
                       struct err *err)
{
    struct jobtext_signal sig;
    _cleanup_free_ char *text = NULL;
    uint32_t bits, sct[3];
    bool ok = true;

    switch (kind) {
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

static int check_numbers(enum jobvalue_kind kind, const struct opt *o, const char *arg,
                         struct err *err)
{
    switch (kind) {
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
        return check_texts(kind, o, arg, err);
    }
}

int jobvalue_check(enum jobvalue_kind kind, const struct opt *o, const char *arg, struct err *err)
{
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
        return check_numbers(kind, o, arg, err);
    }
}
