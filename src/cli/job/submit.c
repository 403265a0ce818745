/* submit.c - what sbatch, salloc and srun put into a submission alike; see submit.h */
#include "cli/job/submit.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/job/jobtext.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define SUBMIT_LINE_MAX 16384u

static const struct {
    const char *name;
    int resource;
} limits[] = {
    { "CPU", RLIMIT_CPU },     { "FSIZE", RLIMIT_FSIZE },   { "DATA", RLIMIT_DATA },
    { "STACK", RLIMIT_STACK }, { "CORE", RLIMIT_CORE },     { "RSS", RLIMIT_RSS },
    { "NPROC", RLIMIT_NPROC }, { "NOFILE", RLIMIT_NOFILE }, { "MEMLOCK", RLIMIT_MEMLOCK },
    { "AS", RLIMIT_AS },
};

char *submit_line(int argc, char **argv)
{
    struct strbuf sb = STRBUF_INIT;
    const char *slash = strrchr(argv[0], '/');
    char *line = NULL;

    strbuf_add(&sb, slash ? slash + 1 : argv[0]);
    for (int i = 1; i < argc && sb.len < SUBMIT_LINE_MAX; i++) {
        strbuf_addc(&sb, ' ');
        strbuf_addn(&sb, argv[i], MIN(strlen(argv[i]), SUBMIT_LINE_MAX));
    }
    check_mem_or_die(strbuf_detach(&sb, &line));
    return line;
}

char *submit_work_dir(const struct jobopts *jo)
{
    const char *dir = jobopts_get(jo, JO_CHDIR);
    char cwd[PATH_MAX];

    if (dir && dir[0] == '/')
        return xstrdup_or_die(dir);
    if (!getcwd(cwd, sizeof(cwd)))
        cli_die(CLI_EXIT_FAILED, "The current directory cannot be read: %s", strerror(errno));
    return dir ? xasprintf_or_die("%s/%s", cwd, dir) : xstrdup_or_die(cwd);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static bool in_words(const char *list, const char *name)
{
    return wordlist_has_nocase(list, "ALL") || wordlist_has_nocase(list, name);
}

static bool limit_propagated(const char *option, const char *only, const char *except,
                             const char *name)
{
    if (option)
        return !*option || in_words(option, name); /* bare --propagate is ALL */
    if (except)
        return !in_words(except, name);
    return !only || in_words(only, name);
}

Pst__Rlimit **submit_rlimits(struct cli *c, const struct jobopts *jo, size_t *ret_n)
{
    const struct conf *conf = cli_conf(c);
    const char *only = conf_str(conf, CONF_PROPAGATE_RESOURCE_LIMITS);
    const char *except = conf_str(conf, CONF_PROPAGATE_RESOURCE_LIMITS_EXCEPT);
    Pst__Rlimit **list = xmalloc_or_die(ARRAY_SIZE(limits) * sizeof(Pst__Rlimit *));
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        struct rlimit rl;

        if (!limit_propagated(jobopts_get(jo, JO_PROPAGATE), only, except, limits[i].name) ||
            getrlimit((__rlimit_resource_t)limits[i].resource, &rl) < 0)
            continue;
        list[n] = xmalloc_or_die(sizeof(Pst__Rlimit));
        pst__rlimit__init(list[n]);
        list[n]->name = xstrdup_or_die(limits[i].name);
        list[n]->has_soft = true;
        list[n++]->soft = rl.rlim_cur == RLIM_INFINITY ? UINT64_MAX : rl.rlim_cur;
    }
    *ret_n = n;
    return list;
}

void submit_tell_limits(struct cli *c, const struct jobopts *jo)
{
    size_t n;
    Pst__Rlimit **list = submit_rlimits(c, jo, &n);
    mode_t mask = umask(0);

    (void)umask(mask);
    for (size_t i = 0; i < n; i++)
        cli_verbose(2, "debug:  propagating RLIMIT_%s=%llu", list[i]->name,
                    (unsigned long long)list[i]->soft);
    cli_verbose(2, "debug:  propagating SLURM_PRIO_PROCESS=%d", getpriority(PRIO_PROCESS, 0));
    cli_verbose(2, "debug:  propagating UMASK=%04o", (unsigned)mask);
    submit_free_rlimits(list, n);
}

void submit_free_rlimits(Pst__Rlimit **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        protobuf_c_message_free_unpacked(&list[i]->base, NULL);
    free(list);
}

/* ---- the record ------------------------------------------------------------------------------ */

char **submit_argv(char **argv, int first, int argc, size_t *ret_n)
{
    size_t n = argc > first ? (size_t)(argc - first) : 0;
    char **copy = xmalloc_or_die((n + 1) * sizeof(char *));

    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup_or_die(argv[first + (int)i]);
    *ret_n = n;
    return copy;
}

static void short_host(char *buf, size_t size)
{
    if (gethostname(buf, size) < 0)
        (void)snprintf(buf, size, "localhost");
    buf[size - 1] = '\0';
    buf[strcspn(buf, ".")] = '\0';
}

static void check_sharing(struct cli *c, const struct jobopts *jo)
{
    const char *flags = jobopts_get(jo, JO_GRES_FLAGS);

    if (flags && wordlist_has_nocase(flags, "one-task-per-sharing") &&
        !conf_option(cli_conf(c), CONF_SELECT_TYPE_PARAMETERS, "MULTIPLE_SHARING_GRES_PJ", NULL,
                     NULL))
        cli_die(CLI_EXIT_USAGE, "In order to use --gres-flags=one-task-per-sharing you must also "
                                "have SelectTypeParameters=MULTIPLE_SHARING_GRES_PJ in your "
                                "slurm.conf");
}

/* Cores and threads for the system are asked for where the site lets users ask. */
static void drop_spec(struct cli *c, const struct jobopts *jo, Pst__JobRecord *job)
{
    bool core = jobopts_has(jo, JO_CORE_SPEC), thread = jobopts_has(jo, JO_THREAD_SPEC);

    if ((!core && !thread) || conf_bool(cli_conf(c), CONF_ALLOW_SPEC_RESOURCES_USAGE))
        return;
    cli_error("Ignoring %s since it's not allowed by configuration "
              "(AllowSpecResourcesUsage = No)",
              core ? "-S" : "--thread-spec");
    job->has_core_spec = job->has_spec_threads = job->spec_threads = false;
    if (!jobopts_has(jo, JO_EXCLUSIVE))
        job->has_exclusive = false;
}

void submit_check_sharing(struct cli *c, const struct jobopts *jo)
{
    const char *flags = jobopts_get(jo, JO_GRES_FLAGS);
    const char *params = conf_str(cli_conf(c), CONF_SELECT_TYPE_PARAMETERS);

    if (wordlist_has_nocase(flags, "one-task-per-sharing") &&
        !wordlist_has_nocase(params, "MULTIPLE_SHARING_GRES_PJ"))
        cli_die(CLI_EXIT_USAGE,
                "In order to use --gres-flags=one-task-per-sharing you must also have "
                "SelectTypeParameters=MULTIPLE_SHARING_GRES_PJ in your slurm.conf");
}

/* --signal=R: lets reservations take the job's nodes.  No reservation does so here, and where
 * nothing preempts the answer is known. */
static void refuse_reserved(struct cli *c, const struct jobopts *jo)
{
    struct jobtext_signal sig = { 0 };
    _cleanup_free_ char *text = NULL;

    if (!jobopts_has(jo, JO_SIGNAL) ||
        jobtext_signal_parse(jobopts_get(jo, JO_SIGNAL), &sig, &text) < 0 || !sig.for_reservation)
        return;
    if (strcasecmp(conf_str(cli_conf(c), CONF_PREEMPT_MODE), "OFF") == 0) {
        submit_print_code("Batch job submission failed", ESLURM_PREEMPTION_REQUIRED, NULL);
        exit(cli_error_status());
    }
    cli_die(CLI_EXIT_USAGE, "--signal: R: is not supported: no reservation takes the nodes of a "
                            "running job here");
}

void submit_fill(struct cli *c, const struct jobopts *jo, int argc, char **argv, int first,
                 Pst__JobRecord *job)
{
    struct err err = { .text = "" };
    mode_t mask = umask(0);
    char host[HOST_NAME_MAX + 1];
    int status;

    (void)umask(mask); /* reading it means setting it */
    submit_check_sharing(c, jo);
    status = jobopts_fill_job(jo, conf_str(cli_conf(c), CONF_GRES_TYPES), now_us(), job, &err);
    if (status != 0) {
        if (err.text[0])
            cli_error("%s", err.text);
        exit(status);
    }
    refuse_reserved(c, jo);
    check_sharing(c, jo);
    drop_spec(c, jo, job);
    short_host(host, sizeof(host));
    job->alloc_host = xstrdup_or_die(host);
    job->alloc_sid = (uint32_t)getsid(0);
    job->has_alloc_sid = true;
    job->umask = mask;
    job->has_umask = true;
    job->work_dir = submit_work_dir(jo);
    job->submit_line = submit_line(argc, argv);
    job->rlimits = submit_rlimits(c, jo, &job->n_rlimits);
    job->argv = submit_argv(argv, first, argc, &job->n_argv);
}

Pst__HetComponent **submit_components(const struct hetopts *h, size_t *ret_n)
{
    Pst__HetComponent **list = xmalloc_or_die(h->n * sizeof(*list));

    for (size_t k = 1; k < h->n; k++) {
        Pst__HetComponent *c = list[k - 1] = xmalloc_or_die(sizeof(*c));

        pst__het_component__init(c);
        c->job = xmalloc_or_die(sizeof(*c->job));
        pst__job_record__init(c->job);
        c->hold = c->has_hold = jobopts_has(&h->list[k], JO_HOLD);
    }
    *ret_n = h->n - 1;
    return list;
}

void submit_env(struct cli *c, struct envlist *env)
{
    const struct conf *conf = cli_conf(c);
    _cleanup_free_ char *working = clusters_working_value(c);
    char host[HOST_NAME_MAX + 1], cwd[PATH_MAX];

    short_host(host, sizeof(host));
    envlist_set(env, "SLURM_SUBMIT_HOST", host);
    if (getcwd(cwd, sizeof(cwd)))
        envlist_set(env, "SLURM_SUBMIT_DIR", cwd);
    if (cli_cluster_name(c))
        envlist_set(env, "SLURM_CLUSTER_NAME", cli_cluster_name(c));
    if (working)
        envlist_set(env, "SLURM_WORKING_CLUSTER", working);
    else
        envlist_unset(env, "SLURM_WORKING_CLUSTER"); /* of the job around this command */
    envlist_set(env, "SLURM_CONF", conf_path(conf));
}

void submit_gres_help(struct cli *c, const struct jobopts *jo)
{
    const char *gres = jobopts_get(jo, JO_GRES), *types;

    if (!gres || (strcasecmp(gres, "help") != 0 && strcasecmp(gres, "list") != 0))
        return;
    types = conf_str(cli_conf(c), CONF_GRES_TYPES);
    (void)printf("Valid gres options are:\n");
    for (const char *p = types; p && *p; p += *p == ',') {
        size_t len = strcspn(p, ",");

        (void)printf("%.*s[[:type]:count]\n", (int)len, p);
        p += len;
    }
    exit(CLI_EXIT_OK);
}

bool submit_find_clusters(struct cli *c, const struct jobopts *jo, struct clusters *ret)
{
    const char *list = jobopts_get(jo, JO_CLUSTERS);
    const char *type = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_TYPE);

    if (!list)
        return false;
    if (type && strcasecmp(type, "accounting_storage/none") == 0) {
        cli_error("Problem talking to database");
        cli_die(cli_error_status(),
                "'%.200s' can't be reached now, or it is an invalid entry for --cluster.  "
                "Use 'sacctmgr list clusters' to see available clusters.",
                list);
    }
    if (!clusters_find(c, list, ret))
        exit(cli_error_status());
    clusters_use(c, ret, 0);
    return true;
}

/* When would the job start in the cluster that is asked?  < 0: it would not. */
static int ask_start(struct cli *c, const Pst__SubmitRequest *req, int64_t *ret_us)
{
    Pst__SubmitRequest test = *req;
    struct client *client = NULL;
    struct err err = { .text = "" };
    ProtobufCMessage *reply = NULL;
    int r;

    test.test_only = test.has_test_only = true;
    test.n_components = 0; /* the first stands for all: tests take one job */
    test.step = NULL;
    r = cli_connect_once(c, &client, &err);
    if (r == 0) {
        r = client_call(client, OP_JOB_SUBMIT, &test.base, &reply);
        if (r < 0)
            (void)err_set(&err, r, "%s", client_strerror(client, r));
    }
    if (r < 0)
        cli_verbose(1, "cluster %s: %s", cli_cluster_name(c),
                    err.text[0] ? err.text : strerror(-r));
    else
        *ret_us = PB_AS(submit_reply, reply)->start_us;
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
    client_free(client);
    return r;
}

void submit_choose_cluster(struct cli *c, const struct clusters *cl, const Pst__SubmitRequest *req)
{
    int64_t first_us = 0, now = now_us();
    size_t best = cl->n;

    if (cl->n <= 1)
        return;
    for (size_t i = 0; i < cl->n; i++) {
        int64_t start_us;

        clusters_use(c, cl, i);
        if (ask_start(c, req, &start_us) < 0)
            continue;
        start_us = MAX(start_us, now);
        /* of those that start alike, the cluster of slurm.conf */
        if (best == cl->n || start_us < first_us || (start_us == first_us && !c->cluster)) {
            best = i;
            first_us = start_us;
        }
    }
    if (best == cl->n)
        cli_die(CLI_EXIT_FAILED, "Can't run on any of the specified clusters");
    clusters_use(c, cl, best);
}

void submit_print_detail(int code, const char *text)
{
    const char *standard = slurm_err_text(code);

    while (text && *text) {
        size_t n = strcspn(text, "\n");

        if (n > 0 && (n != strlen(standard) || strncmp(text, standard, n) != 0))
            cli_error("%.*s", (int)n, text);
        text += n;
        text += *text == '\n';
    }
}

void submit_print_messages(const char *lines)
{
    while (lines && *lines) {
        size_t n = strcspn(lines, "\n");

        cli_info("%.*s", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

void submit_print_code(const char *what, int code, const char *text)
{
    submit_print_detail(code, text);
    cli_error("%s: %s", what, slurm_err_text(code));
}

void submit_print_error(const char *what, struct client *client, int r)
{
    const char *text = NULL;

    if (r == -EREMOTEIO) {
        int code = client_error(client, &text);

        submit_print_code(what, code, text);
        return;
    }
    cli_error("%s: %s", what, client_strerror(client, r));
}

static uint32_t user_number(const char *text)
{
    uint64_t n;
    const struct passwd *pw;

    if (parse_u64(text, 0, UINT32_MAX - 1, &n) == 0)
        return (uint32_t)n;
    pw = getpwnam(text);
    if (!pw)
        cli_die(CLI_EXIT_USAGE, "Invalid --uid specification");
    return pw->pw_uid;
}

static uint32_t group_number(const char *text)
{
    uint64_t n;
    const struct group *gr;

    if (parse_u64(text, 0, UINT32_MAX - 1, &n) == 0)
        return (uint32_t)n;
    gr = getgrnam(text);
    if (!gr)
        cli_die(CLI_EXIT_USAGE, "Invalid --gid specification");
    return gr->gr_gid;
}

void submit_identity(const struct jobopts *jo, Pst__SubmitRequest *req)
{
    if (jobopts_has(jo, JO_UID)) {
        req->uid = user_number(jobopts_get(jo, JO_UID));
        req->has_uid = true;
    }
    if (jobopts_has(jo, JO_GID)) {
        req->gid = group_number(jobopts_get(jo, JO_GID));
        req->has_gid = true;
    }
}
