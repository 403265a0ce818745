/* scontrol_procs.c - scontrol listpids, pidinfo, listjobs, liststeps, getent: what runs on this
 * machine, and as whom
 *
 * A process belongs to a step when one of its ancestors is a step daemon; which step, and which
 * task, it has in its environment.  A step daemon has job and step in its title, its node and its
 * cluster in its environment, and works in the spool folder of its node: clusters of one name on
 * one machine are told apart by that.  So nothing has to be asked of a daemon, and the answer holds
 * while slurmd is down.  Environments of other users are seen by root alone. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/format/fmt_core.h"
#include "cli/format/json_out.h"
#include "cli/format/userentry.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "cli/scontrol/scontrol.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define ENV_MAX (1u << 20) /* bytes of an environment that are looked at */
#define DEPTH_MAX 4096     /* ancestors that are followed */

struct proc {
    long pid;    /* -1: the step itself, by its daemon */
    long daemon; /* the step daemon */
    uint32_t job_id;
    char step[16], local[16], rank[16], node[256], cluster[256];
};

struct procs {
    struct proc *list;
    size_t n;
};

/* Parent of pid and its name; -ENOENT when it is gone. */
static int parent_of(long pid, long *ret_parent, char name[32])
{
    char path[64], line[512], *end;
    _cleanup_fclose_ FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    f = fopen(path, "re");
    if (!f || !fgets(line, sizeof(line), f) || !(end = strrchr(line, ')')))
        return -ENOENT;
    *end = '\0';
    (void)snprintf(name, 32, "%s", strchr(line, '(') ? strchr(line, '(') + 1 : "");
    return sscanf(end + 1, " %*c %ld", ret_parent) == 1 ? 0 : -ENOENT;
}

/* How many processes are between this one and the step daemon; -1: it has no step daemon above. */
static int below_step_daemon(long pid, long *ret_daemon)
{
    char name[32];

    for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
        long up;

        if (parent_of(pid, &up, name) < 0)
            return -1;
        if (depth && strcmp(name, "slurmstepd") == 0) {
            *ret_daemon = pid;
            return depth - 1;
        }
        pid = up;
    }
    return -1;
}

static void take_value(const char *entry, const char *name, char *to, size_t size)
{
    size_t len = strlen(name);

    if (strncmp(entry, name, len) == 0 && entry[len] == '=')
        (void)snprintf(to, size, "%s", entry + len + 1);
}

static void take_place(const char *entry, struct proc *p)
{
    take_value(entry, "SLURMD_NODENAME", p->node, sizeof(p->node));
    take_value(entry, "SLURM_CLUSTER_NAME", p->cluster, sizeof(p->cluster));
}

/* A step's number, or its word: special steps have negative ones. */
static const char *step_word(const char *id)
{
    static const struct {
        const char *id, *word;
    } special[] = {
        { "-4", "extern" }, { "-5", "batch" }, { "-6", "interactive" }, { "", "batch" }
    };

    for (size_t i = 0; i < ARRAY_SIZE(special); i++)
        if (strcmp(id, special[i].id) == 0)
            return special[i].word;
    return id;
}

/* What /proc has of a process under that name, at most ENV_MAX bytes and a zero; free(). */
static char *proc_file(long pid, const char *name, size_t *ret_len)
{
    char path[64];
    char *buf = malloc(ENV_MAX + 1);
    _cleanup_fclose_ FILE *f = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
    f = buf ? fopen(path, "re") : NULL;
    if (!f) {
        free(buf);
        return NULL;
    }
    *ret_len = fread(buf, 1, ENV_MAX, f);
    buf[*ret_len] = '\0';
    return buf;
}

/* The step of a step daemon: "slurmstepd: [12.batch]". */
static bool read_daemon(long pid, struct proc *p)
{
    size_t len = 0;
    _cleanup_free_ char *title = NULL, *env = NULL;
    char name[32];
    long up;

    if (parent_of(pid, &up, name) < 0 || strcmp(name, "slurmstepd") != 0)
        return false;
    *p = (struct proc){ .pid = -1, .daemon = pid, .local = "0", .rank = "0" };
    title = proc_file(pid, "cmdline", &len);
    if (!title || sscanf(title, "slurmstepd: [%u.%15[^]]]", &p->job_id, p->step) != 2)
        return false;
    env = proc_file(pid, "environ", &len);
    for (size_t at = 0; env && at < len; at += strlen(env + at) + 1)
        take_place(env + at, p);
    return true;
}

/* Job, step and task of a process, by its environment. */
static bool read_proc(long pid, struct proc *p)
{
    char id[16] = "", step[16] = "";
    size_t len = 0;
    _cleanup_free_ char *buf = proc_file(pid, "environ", &len);
    uint64_t n;
    int below;

    if (!buf)
        return false;
    *p = (struct proc){ .pid = pid, .local = "-", .rank = "-" };
    for (size_t at = 0; at < len; at += strlen(buf + at) + 1) {
        take_value(buf + at, "SLURM_JOB_ID", id, sizeof(id));
        take_value(buf + at, "SLURM_STEP_ID", step, sizeof(step));
        take_value(buf + at, "SLURM_LOCALID", p->local, sizeof(p->local));
        take_value(buf + at, "SLURM_PROCID", p->rank, sizeof(p->rank));
        take_place(buf + at, p);
    }
    if (parse_u64(id, 1, UINT32_MAX, &n) < 0 || (below = below_step_daemon(pid, &p->daemon)) < 0)
        return false;
    p->job_id = (uint32_t)n;
    (void)snprintf(p->step, sizeof(p->step), "%s", step_word(step));
    if (below > 0) /* started by a task: it is none itself */
        p->local[0] = p->rank[0] = '-', p->local[1] = p->rank[1] = '\0';
    return true;
}

static int compare_procs(const void *pa, const void *pb)
{
    const struct proc *a = pa, *b = pb;
    int r = a->job_id < b->job_id ? -1 : a->job_id > b->job_id;

    if (r == 0)
        r = strcmp(a->step, b->step);
    if (r == 0)
        r = strcmp(a->node, b->node);
    return r ? r : a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* The folder where that process works; false: nobody may tell us. */
static bool folder_of(long pid, char path[PATH_MAX])
{
    char link[64];
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/%ld/cwd", pid);
    n = readlink(link, path, PATH_MAX - 1);
    path[MAX(n, 0)] = '\0';
    return path[0] == '/';
}

/* Is the folder below SlurmdSpoolDir of that node? */
static bool is_spool_of(const struct conf *conf, const char *node, const char *folder)
{
    _cleanup_free_ char *spool = NULL, *real = NULL;
    char host[HOST_NAME_MAX + 1] = "";
    size_t len;

    if (gethostname(host, sizeof(host) - 1) == 0)
        host[strcspn(host, ".")] = '\0';
    if (conf_expand_path(conf_str(conf, CONF_SLURMD_SPOOL_DIR), node, host, &spool) < 0)
        return true;
    real = realpath(spool, NULL);
    len = real ? strlen(real) : 0;
    return len && strncmp(folder, real, len) == 0 && folder[len] == '/';
}

/* The steps of other clusters may run on this machine too. */
static bool of_cluster(const struct proc *p, const struct conf *conf, const char *cluster)
{
    char folder[PATH_MAX];

    if (p->cluster[0] && strcasecmp(p->cluster, cluster) != 0)
        return false;
    return !folder_of(p->daemon, folder) || is_spool_of(conf, p->node, folder);
}

static bool has_step(const struct procs *t, const struct proc *like, const char *node)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->list[i].job_id == like->job_id && strcmp(t->list[i].step, like->step) == 0 &&
            strcmp(t->list[i].node, node) == 0)
            return true;
    return false;
}

/* Only root reads of which node a step daemon is.  For others it belongs to a node where the job
 * has processes of its own and no such step yet. */
static void place_daemons(struct procs *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct proc *p = &t->list[i];

        for (size_t k = 0; k < t->n && p->pid < 0 && !p->node[0]; k++)
            if (t->list[k].job_id == p->job_id && t->list[k].node[0] &&
                !has_step(t, p, t->list[k].node))
                memcpy(p->node, t->list[k].node, sizeof(p->node));
    }
}

static void procs_load(struct procs *t, const struct conf *conf, const char *cluster)
{
    DIR *dir = opendir("/proc");
    const struct dirent *entry;

    *t = (struct procs){ 0 };
    while (dir && (entry = readdir(dir))) {
        struct proc p;
        uint64_t pid;

        if (parse_u64(entry->d_name, 1, INT32_MAX, &pid) < 0 ||
            (!read_daemon((long)pid, &p) && !read_proc((long)pid, &p)) ||
            !of_cluster(&p, conf, cluster))
            continue;
        t->list = xrealloc_or_die(t->list, t->n + 1, sizeof(*t->list));
        t->list[t->n++] = p;
    }
    if (dir)
        (void)closedir(dir);
    if (!t->n)
        return;
    qsort(t->list, t->n, sizeof(*t->list), compare_procs);
    place_daemons(t);
    qsort(t->list, t->n, sizeof(*t->list), compare_procs);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A list of what runs here, in the making. */
struct listing {
    struct strbuf out;
    struct json js;
};

static void begin_listing(struct scontrol *s, struct listing *l, const char *name)
{
    *l = (struct listing){ .out = STRBUF_INIT };
    if (!s->json.wanted)
        return;
    json_begin_option(&l->js, &l->out, &s->json);
    json_list(&l->js, name);
}

static void end_listing(struct scontrol *s, struct listing *l)
{
    const struct conf *conf = cli_conf(&s->cli);

    if (s->json.wanted) {
        json_list_end(&l->js);
        json_meta(&l->js, s->argc, s->argv, conf_str(conf, CONF_CLUSTER_NAME),
                  conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
        json_end(&l->js);
        cli_write_out(&l->out, true);
    }
    strbuf_done(&l->out);
}

static void put_step(struct listing *l, const struct proc *p, bool step, bool pid)
{
    json_map(&l->js, NULL);
    json_int(&l->js, "job_id", p->job_id);
    if (step)
        json_str(&l->js, "step_id", p->step);
    if (pid)
        json_int(&l->js, "pid", p->pid);
    json_map_end(&l->js);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A step daemon stands for its step where the step has no task, once. */
static bool step_has_line(const struct procs *t, size_t i)
{
    const struct proc *p = &t->list[i];

    return p->pid > 0 ||
           (strcmp(p->step, "extern") == 0 && (!i || compare_procs(p, &t->list[i - 1]) != 0));
}

/* "12" or "12.0", "12.batch" */
static bool step_wanted(const struct proc *p, uint32_t job_id, const char *step, const char *node)
{
    return (!job_id || p->job_id == job_id) && (!step || strcmp(p->step, step) == 0) &&
           (!node || strcmp(p->node, node) == 0);
}

/* "12+1", "12+1.0" */
static bool names_component(const char *id)
{
    size_t digits = strspn(id, "0123456789");

    return digits && id[digits] == '+' && id[digits + 1] &&
           strcspn(id + digits + 1, ".") == strspn(id + digits + 1, "0123456789");
}

/* Does anything run here for the node?  NULL: for any */
static bool has_steps_of(const struct procs *t, const char *node)
{
    for (size_t i = 0; i < t->n; i++)
        if (!node || strcmp(t->list[i].node, node) == 0)
            return true;
    return false;
}

void scontrol_listpids(struct scontrol *s, int argc, char **argv)
{
    const char *node = argc > 1 ? argv[1] : NULL, *dot = argc ? strchr(argv[0], '.') : NULL;
    /* a component stands for the leader */
    _cleanup_free_ char *job =
        argc ? xasprintf_or_die("%.*s", (int)strcspn(argv[0], names_component(argv[0]) ? "+" : "."),
                                argv[0])
             : NULL;
    struct procs t;
    uint64_t id = 0;
    struct listing l;
    size_t shown = 0;

    if (argc > 2) {
        scontrol_missing(s, stderr, "too many arguments for keyword:listpids");
        return;
    }
    if (argc && strcmp(job, "*") != 0 && parse_u64(job, 1, UINT32_MAX, &id) < 0) {
        scontrol_fail(s, "\"%s\" does not look like a jobid", argv[0]);
        return;
    }
    procs_load(&t, cli_conf(&s->cli), cli_cluster_name(&s->cli));
    begin_listing(s, &l, "pids");
    for (size_t i = 0; i < t.n; i++) {
        const struct proc *p = &t.list[i];

        if (!step_wanted(p, (uint32_t)id, dot ? dot + 1 : NULL, node) || !step_has_line(&t, i))
            continue;
        if (s->json.wanted) {
            put_step(&l, p, true, true);
            shown++;
            continue;
        }
        if (!shown++)
            (void)printf("%-8s %-8s %-8s %-7s %-8s\n", "PID", "JOBID", "STEPID", "LOCALID",
                         "GLOBALID");
        (void)printf("%-8ld %-8u %-8s %-7s %-8s \n", p->pid, p->job_id, p->step, p->local, p->rank);
    }
    end_listing(s, &l);
    if (!shown && id && dot)
        scontrol_fail(s, "StepId=%s does not exist on node %s.", argv[0], node ? node : "(null)");
    else if (!shown && id)
        scontrol_fail(s,
                      has_steps_of(&t, node) ? "There are no steps for job %s on node %s."
                                             : "JobId=%s does not exist on node %s.",
                      job, node ? node : "(null)");
    else if (!shown)
        scontrol_fail(s, "No job steps exist on this node.");
    free(t.list);
}

/* The jobs, or the steps, that run here: one a line. */
static void list_here(struct scontrol *s, int argc, char **argv, bool steps)
{
    const struct proc *q = NULL; /* what was shown last */
    struct listing l;
    struct procs t;
    size_t shown = 0;

    procs_load(&t, cli_conf(&s->cli), cli_cluster_name(&s->cli));
    begin_listing(s, &l, steps ? "steps" : "jobs");
    for (size_t i = 0; i < t.n; i++) {
        const struct proc *p = &t.list[i];

        if (argc && strcmp(p->node, argv[0]) != 0)
            continue;
        if (q && q->job_id == p->job_id && (!steps || strcmp(q->step, p->step) == 0))
            continue;
        q = p;
        if (s->json.wanted) {
            put_step(&l, p, steps, false);
            shown++;
            continue;
        }
        if (!shown++)
            (void)printf(steps ? "%-8s %-8s\n" : "%s\n", "JOBID", "STEPID");
        (void)printf(steps ? "%-8u %-8s\n" : "%-8u\n", p->job_id, p->step);
    }
    end_listing(s, &l);
    if (!shown)
        scontrol_fail(s, "No slurmstepd's found on this node");
    free(t.list);
}

void scontrol_listjobs(struct scontrol *s, int argc, char **argv)
{
    list_here(s, argc, argv, false);
}

void scontrol_liststeps(struct scontrol *s, int argc, char **argv)
{
    list_here(s, argc, argv, true);
}

static int on_end(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    (void)info;
    *(int64_t *)ctx = ((const Pst__JobRecord *)record)->end_us;
    return 0;
}

void scontrol_pidinfo(struct scontrol *s, int argc, char **argv)
{
    struct proc p;
    uint64_t pid;
    int64_t end_us = 0;
    char when[64];
    int r;

    if (argc != 1) {
        scontrol_fail(s, "%s for keyword:pidinfo",
                      argc ? "too many arguments" : "missing argument");
        return;
    }
    if (parse_u64(argv[0], 1, INT32_MAX, &pid) < 0 || !read_proc((long)pid, &p)) {
        scontrol_missing(s, stderr, "Failed to locate job for requested pid");
        return;
    }
    r = query_job(scontrol_client(s, "slurm_load_jobs"), p.job_id, NULL, on_end, &end_us);
    if (r < 0) {
        scontrol_fail(s, "slurm_load_jobs error: %s", client_strerror(s->client, r));
        return;
    }
    time_fmt_stamp(end_us, "Unknown", now_us(), when, sizeof(when));
    (void)printf("Slurm JobId=%u ends at %s\n", p.job_id, when);
    if (end_us)
        (void)printf("slurm_get_rem_time is %lld\n",
                     (long long)((end_us - now_us()) / USEC_PER_SEC));
}

/* ---- users ----------------------------------------------------------------------------------- */

/* SlurmdSpoolDir of a node of this machine. */
static int spool_of(struct scontrol *s, const char *node, char **ret)
{
    char host[256] = "";

    if (gethostname(host, sizeof(host) - 1) < 0)
        return -errno;
    host[strcspn(host, ".")] = '\0';
    return conf_expand_path(conf_str(cli_conf(&s->cli), CONF_SLURMD_SPOOL_DIR), node, host, ret);
}

void scontrol_getent(struct scontrol *s, int argc, char **argv)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    _cleanup_free_ char *spool = NULL;
    size_t steps = 0;
    int r;

    if (argc != 1) {
        scontrol_fail(s, "%s for keyword:getent", argc ? "too many arguments" : "missing argument");
        return;
    }
    r = spool_of(s, argv[0], &spool);
    if (r == 0)
        r = userentry_spool(&out, spool, &steps);
    if (r < 0)
        scontrol_fail(s, "scontrol: error: cannot look into %s of node %s: %s",
                      spool ? spool : "SlurmdSpoolDir", argv[0], strerror(-r));
    else if (!steps)
        scontrol_fail(s, "No job steps exist on this node.");
    cli_write_out(&out, true);
}
