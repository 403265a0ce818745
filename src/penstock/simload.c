/* simload.c - files into memory for `penstock sim`: traces, slurm.conf and what stands beside it */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/readfile.h"
#include "base/strbuf.h"
#include "conf/conf.h"
#include "penstock/simopts.h"
#include "sim/generate.h"
#include "sim/sacctlog.h"
#include "sim/swf.h"

#define MAX_TRACE (UINT64_C(2) << 30) /* bytes */

/* A whole file, or standard input ("-"). */
static int read_input(const char *path, size_t max, char **ret_text, size_t *ret_len)
{
    bool standard = strcmp(path, "-") == 0;
    _cleanup_close_ int opened = standard ? -1 : open(path, O_RDONLY | O_CLOEXEC);

    if (!standard && opened < 0)
        return -errno;
    return readfile_fd(standard ? STDIN_FILENO : opened, max, ret_text, ret_len);
}

/* ---- workload -------------------------------------------------------------------------------- */

/* sacct's first line has bars between names. */
static bool looks_like_sacct(const char *text)
{
    size_t line = strcspn(text, "\n");

    return text[0] != ';' && memchr(text, '|', line) && !memchr(text, ';', line);
}

static int read_trace(const struct sim_args *a, struct workload *w)
{
    _cleanup_free_ char *text = NULL;
    struct err err = { .text = "" };
    size_t len;
    bool sacct;
    int r = read_input(a->trace, MAX_TRACE, &text, &len);

    if (r < 0)
        return say_error("%s: %s", a->trace, strerror(-r));
    sacct = a->format ? strcmp(a->format, "sacct") == 0 : looks_like_sacct(text);
    r = sacct ? sacct_parse(text, len, w, &err) : swf_parse(text, len, w, &err);
    if (r < 0)
        return say_error("%s: %s", a->trace, err.text[0] ? err.text : strerror(-r));
    if (!w->n)
        return say_error("%s: no job in it that ran", a->trace);
    return STATUS_OK;
}

static int make_up(const struct sim_args *a, struct workload *w)
{
    bool gpu = strcmp(a->generate, "gpu") == 0;
    struct generate_params p = { .kind = gpu ? SIM_GEN_GPU : SIM_GEN_LUBLIN,
                                 .jobs = (uint32_t)a->jobs,
                                 .seed = a->seed,
                                 .users = (uint32_t)a->users,
                                 .load = a->load,
                                 .segment = (uint32_t)a->segment,
                                 .nodes = (uint32_t)(a->nodes ? a->nodes : 128),
                                 .cpus_per_node = (uint32_t)(a->cpus ? a->cpus : 64),
                                 .gpus_per_node = (uint32_t)(a->gpus ? a->gpus : 8) };
    struct err err = { .text = "" };
    int r;

    if (a->conf) {
        _cleanup_(conf_free) struct conf *conf = NULL;
        const struct conf_node *n;

        r = simload_conf(a, w, "conf", &conf);
        if (r != STATUS_OK)
            return r;
        p.nodes = (uint32_t)conf_nodes(conf);
        n = p.nodes ? conf_node(conf, 0) : NULL;
        p.cpus_per_node = n ? n->cpus : 0;
    }
    r = generate(&p, w, &err);
    return r < 0 ? say_error("%s", err.text[0] ? err.text : strerror(-r)) : STATUS_OK;
}

int simload_workload(const struct sim_args *a, struct workload **ret_w)
{
    _cleanup_(workload_free) struct workload *w = NULL;
    int r = workload_new(&w);

    if (r < 0)
        return say_nomem();
    r = a->trace ? read_trace(a, w) : a->journal ? simjournal_read(a->journal, w) : make_up(a, w);
    if (r != STATUS_OK)
        return r;
    if (a->scale > 0)
        workload_scale(w, a->scale);
    for (size_t i = 0; a->limit_factor_pct && i < w->n; i++) {
        uint64_t limit = w->jobs[i].limit_min * a->limit_factor_pct / 100;

        if (w->jobs[i].limit_min != SCHED_UNLIMITED)
            w->jobs[i].limit_min =
                (uint32_t)MIN(MAX(limit, UINT64_C(1)), (uint64_t)SCHED_UNLIMITED - 1);
    }
    *ret_w = TAKE_PTR(w);
    return STATUS_OK;
}

/* ---- configuration --------------------------------------------------------------------------- */

static const struct policy {
    const char *name;
    const char *sets[2]; /* lines of slurm.conf it stands for */
} policies[] = {
    { "conf", { NULL, NULL } },
    { "easy", { "SchedulerType=sched/backfill", NULL } },
    { "conservative", { "SchedulerType=sched/backfill", NULL } },
    { "fifo", { "SchedulerType=sched/builtin", "PriorityType=priority/basic" } },
};

static size_t key_len(const char *line)
{
    return strcspn(line, "= \t");
}

/* Does a later --set or the policy give the key of this line? */
static bool is_overridden(const char *line, const struct sim_args *a, const struct policy *p,
                          size_t from)
{
    size_t n = key_len(line);

    if (!n || strncasecmp(line, "NodeName", n) == 0 || strncasecmp(line, "PartitionName", n) == 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(p->sets) && p->sets[i]; i++)
        if (key_len(p->sets[i]) == n && strncasecmp(p->sets[i], line, n) == 0)
            return true;
    for (size_t i = from; i < a->nsets; i++)
        if (key_len(a->sets[i]) == n && strncasecmp(a->sets[i], line, n) == 0)
            return true;
    return false;
}

/* Lines of a slurm.conf save those that are set otherwise. */
static void add_lines(struct strbuf *sb, const char *text, const struct sim_args *a,
                      const struct policy *p)
{
    while (*text) {
        size_t n = strcspn(text, "\n"), blank = strspn(text, " \t");

        if (!is_overridden(text + MIN(blank, n), a, p, 0))
            strbuf_addn(sb, text, n);
        strbuf_addc(sb, '\n'); /* in any case: messages name lines */
        text += n + (text[n] == '\n');
    }
}

static uint64_t highest_cpus(const struct workload *w)
{
    uint64_t most = 1;

    for (size_t i = 0; i < w->n; i++)
        most = MAX(most, sim_job_cpus(&w->jobs[i]));
    return most;
}

/* A machine of equal nodes: as the options say, else as the trace does, else large enough for its
 * largest job. */
static void add_machine(struct strbuf *sb, const struct sim_args *a, const struct workload *w)
{
    bool gpu = a->generate && strcmp(a->generate, "gpu") == 0;
    uint64_t nodes = a->nodes, cpus = a->cpus, gpus = a->gpus ? a->gpus : gpu ? 8 : 0, mem;
    int width = 1;

    if (!nodes && !cpus && w->max_nodes && w->max_cpus) {
        nodes = MIN(w->max_nodes, MACHINE_MAX_NODES);
        cpus = MAX(w->max_cpus / nodes, 1);
    }
    cpus = cpus ? MIN(cpus, 4096) : 64;
    if (!nodes && w->max_cpus)
        nodes = (w->max_cpus + cpus - 1) / cpus;
    if (!nodes)
        nodes = !a->generate ? (highest_cpus(w) + cpus - 1) / cpus : 128;
    nodes = MIN(nodes, MACHINE_MAX_NODES);
    mem = a->mem_mib ? a->mem_mib : cpus * 4096;
    for (uint64_t n = nodes; n >= 10; n /= 10)
        width++;
    strbuf_add(
        sb,
        "ClusterName=sim\nSlurmctldHost=localhost\nSlurmUser=root\nSelectType=select/cons_tres\n");
    strbuf_addf(sb, gpus ? "GresTypes=gpu\n" : "");
    if (!is_overridden("SelectTypeParameters", a, &policies[0], 0))
        strbuf_add(sb, "SelectTypeParameters=CR_Core_Memory\n");
    strbuf_addf(sb,
                "NodeName=n[%0*d-%llu] CPUs=%llu Sockets=1 CoresPerSocket=%llu ThreadsPerCore=1 "
                "RealMemory=%llu",
                width, 1, (unsigned long long)nodes, (unsigned long long)cpus,
                (unsigned long long)cpus, (unsigned long long)mem);
    if (gpus)
        strbuf_addf(sb, " Gres=gpu:%llu", (unsigned long long)gpus);
    strbuf_add(
        sb,
        " State=UNKNOWN\nPartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
}

static int add_conf_file(struct strbuf *sb, const struct sim_args *a, const struct policy *p)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r = read_input(a->conf, CONF_MAX_FILE, &text, &len);

    if (r < 0)
        return say_error("%s: %s", a->conf, strerror(-r));
    if (strlen(text) != len)
        return say_error("%s: it is no text", a->conf);
    add_lines(sb, text, a, p);
    return STATUS_OK;
}

bool simload_is(const char *word, const char *policy)
{
    size_t n = strcspn(word, "+");

    return strlen(policy) == n && strncmp(policy, word, n) == 0;
}

static const struct policy *find_policy(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
        if (simload_is(word, policies[i].name))
            return &policies[i];
    return NULL;
}

/* *problems_known: how many warnings are no news; out: how many there are. */
static int load_policy(const struct sim_args *a, const struct workload *w, const struct policy *p,
                       size_t *problems_known, struct conf **ret_conf)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };
    struct conf_text file = { .name = a->conf ? a->conf : "slurm.conf" };
    int r = STATUS_OK;

    if (a->conf)
        r = add_conf_file(&sb, a, p);
    else
        add_machine(&sb, a, w);
    if (r != STATUS_OK)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(p->sets) && p->sets[i]; i++)
        strbuf_addf(&sb, "%s\n", p->sets[i]);
    for (size_t i = 0; i < a->nsets; i++) {
        const struct sim_args none = { 0 };

        if (!is_overridden(a->sets[i], &none, p, 0) &&
            !is_overridden(a->sets[i], a, &policies[0], i + 1))
            strbuf_addf(&sb, "%s\n", a->sets[i]);
    }
    if (sb.failed)
        return say_nomem();
    file.text = strbuf_str(&sb);
    file.len = sb.len;
    r = conf_load_text(&file, 1, CONF_FULL, ret_conf, &problems, &err);
    if (r < 0 || problems.n > *problems_known) {
        conf_report(stderr, &problems);
        if (r == 0)
            *ret_conf = conf_free(*ret_conf);
        r = say_error("%s", r == 0        ? "sim: --compare: an option behind + is wrong"
                            : err.text[0] ? err.text
                                          : strerror(-r));
    }
    *problems_known = problems.n;
    conf_problems_done(&problems);
    return r;
}

/* "SchedulerParameters=" with what the configuration has, and the options of "easy+OPTION". */
static void write_options(const struct conf *conf, const char *word, struct strbuf *sb)
{
    const char *had = conf_str(conf, CONF_SCHEDULER_PARAMETERS);

    strbuf_addf(sb, "SchedulerParameters=%s", had ? had : "");
    for (const char *at = strchr(word, '+'); at; at = strchr(at + 1, '+')) {
        strbuf_add(sb, had || at != strchr(word, '+') ? "," : "");
        strbuf_addn(sb, at + 1, strcspn(at + 1, "+"));
    }
}

int simload_conf(const struct sim_args *a, const struct workload *w, const char *policy,
                 struct conf **ret_conf)
{
    _cleanup_val_(strbuf_done) struct strbuf line = STRBUF_INIT;
    _cleanup_(conf_free) struct conf *plain = NULL;
    const struct policy *p = find_policy(policy);
    struct sim_args with = *a;
    size_t known = SIZE_MAX;
    int r;

    if (!p)
        return usage_error("sim: no such policy: %s (easy, conservative, fifo and conf are known)",
                           policy);
    if (!strchr(policy, '+'))
        return load_policy(a, w, p, &known, ret_conf);
    if (strstr(policy, "++") || policy[strlen(policy) - 1] == '+')
        return usage_error("sim: --compare=%s: an option is missing behind +", policy);
    if (with.nsets == SIM_MAX_SETS)
        return usage_error("sim: --compare=%s: there are too many --set", policy);
    r = load_policy(a, w, p, &known, &plain);
    if (r != STATUS_OK)
        return r;
    write_options(plain, policy, &line);
    if (line.failed)
        return say_nomem();
    with.sets[with.nsets++] = strbuf_str(&line);
    return load_policy(&with, w, p, &known, ret_conf);
}
