/* nodens.c - private folders of jobs: slurmd's half; see nodens.h and stepd/ns/jobns.h
 *
 * The extern step makes them and sends a descriptor of the namespace, which other steps get at
 * their start. Its job's folder on the node it removes itself; here is done what it could not do
 * when it was killed: the folder gets a name that no job can have, and rm is left to it.  Main
 * thread. */
#include "noded/plan/nodens.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/process/rmtree.h"
#include "noded/plan/nsyaml.h"
#include "stepd/ns/jobns.h"
#include "stepd/shared/spool.h"

#define DEAD ".removed-" /* the names of folders that rm is busy with */

static int add_dir(Pst__Namespace *ns, const char *dir, size_t len)
{
    char **grown = realloc(ns->dirs, (ns->n_dirs + 1) * sizeof(*grown));
    char *copy = strndup(dir, len);

    if (grown)
        ns->dirs = grown;
    if (!grown || !copy) {
        free(copy);
        return -ENOMEM;
    }
    ns->dirs[ns->n_dirs++] = copy;
    return 0;
}

static int fill_dirs(Pst__Namespace *ns, const char *dirs)
{
    int r = 0;

    for (const char *p = dirs; r == 0 && *p;) {
        size_t len = strcspn(p, ",");

        r = add_dir(ns, p, len);
        p += len + (p[len] == ',');
    }
    return r;
}

static int from_container_conf(struct noded *d, const struct conf_namespace *c)
{
    Pst__Namespace *ns = malloc(sizeof(*ns));
    int r;

    if (!ns)
        return -ENOMEM;
    pst__namespace__init(ns);
    d->ns = ns;
    ns->has_auto_base_path = ns->has_shared = ns->has_clone_script_wait_s =
        ns->has_clone_epilog_wait_s = true;
    ns->auto_base_path = c->auto_base_path;
    ns->shared = c->shared;
    ns->clone_script_wait_s = c->clone_script_wait_s;
    ns->clone_epilog_wait_s = c->clone_epilog_wait_s;
    r = pb_set_str(&ns->base_path, c->base_path);
    if (r == 0)
        r = pb_set_str(&ns->init_script, c->init_script);
    if (r == 0)
        r = pb_set_str(&ns->clone_script, c->clone_script);
    if (r == 0)
        r = pb_set_str(&ns->clone_epilog, c->clone_epilog);
    return r == 0 ? fill_dirs(ns, c->dirs) : r;
}

/* namespace.yaml stands beside slurm.conf. */
static int from_yaml(struct noded *d, struct err *err)
{
    const char *conf = conf_path(d->conf), *slash = strrchr(conf, '/');
    char path[NS_PATH_MAX];
    _cleanup_free_ char *text = malloc(NSYAML_MAX + 1);
    _cleanup_fclose_ FILE *f = NULL;
    size_t len;
    int r;

    (void)snprintf(path, sizeof(path), "%.*snamespace.yaml", slash ? (int)(slash - conf + 1) : 0,
                   conf);
    f = fopen(path, "re");
    if (!f || !text)
        return err_set(err, -ENOENT, "%s cannot be read: %s", path, strerror(errno));
    len = fread(text, 1, NSYAML_MAX + 1, f);
    r = ferror(f) ? err_set(err, -EIO, "cannot be read")
                  : nsyaml_parse(text, len, d->name, &d->ns, err);
    if (r < 0)
        err_prefix(err, "%s", path);
    return r;
}

/* Is it dir, with or without a slash at its end, or below? */
static bool lies_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    while (len && dir[len - 1] == '/')
        len--;
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* %h and %n; jobs must not lose the sight of the spool. */
static int settle_config(struct noded *d, struct err *err)
{
    Pst__Namespace *ns = d->ns;

    for (size_t i = 0; i <= ns->n_confs; i++) {
        char **base = i == 0 ? &ns->base_path : &ns->confs[i - 1]->base_path, *expanded;

        if (!*base)
            continue;
        if (conf_expand_path(*base, d->name, d->host, &expanded) < 0)
            return -ENOMEM;
        free(*base);
        *base = expanded;
    }
    for (size_t i = 0; i < ns->n_dirs + ns->n_confs; i++) {
        const char *dir = i < ns->n_dirs ? ns->dirs[i] : ns->confs[i - ns->n_dirs]->path;

        if (lies_in(d->spool, dir))
            return err_set(err, -EINVAL,
                           "SlurmdSpoolDir %s lies in %s, which jobs get for their own", d->spool,
                           dir);
    }
    return 0;
}

int ns_configure(struct noded *d, struct err *err)
{
    struct conf_namespace c;
    int r = conf_namespace(d->conf, d->name, &c);

    if (r < 0)
        return err_set(err, r,
                       "NamespaceType is set, but job_container.conf has no BasePath for node %s",
                       d->name);
    if (r > 0)
        r = from_container_conf(d, &c);
    else if (conf_namespace_yaml(d->conf))
        r = from_yaml(d, err);
    if (r < 0 || !d->ns)
        return r;
    if (geteuid() != 0)
        return err_set(err, -EPERM, "NamespaceType needs slurmd to run as root");
    return settle_config(d, err);
}

static bool wants_folders(const struct noded *d, const struct njob *job)
{
    return d->ns && job->on->has_contain && job->on->contain && job->ns_fd < 0 && !job->no_ns;
}

bool ns_pending(const struct noded *d, const struct njob *job)
{
    for (const struct nstep *s = job->steps; wants_folders(d, job) && s; s = s->next)
        if (s->step_id == STEP_ID_EXTERN)
            return s->phase != STEP_ENDED;
    return false;
}

bool ns_gone(const struct noded *d, const struct njob *job)
{
    return wants_folders(d, job) && !ns_pending(d, job);
}

void ns_take(struct njob *job, const Pst__StepNews *news, int fd)
{
    int *to = news->has_ns_flags ? &job->ns_pid_fd : &job->ns_fd;

    if (news->has_ns_flags)
        job->ns_flags = news->ns_flags;
    if (*to < 0)
        *to = fd;
    else
        (void)close(fd);
}

void ns_lose(struct njob *job)
{
    if (job->ns_pid_fd < 0)
        return; /* folders alone are kept by their descriptor */
    (void)close(job->ns_pid_fd);
    if (job->ns_fd >= 0)
        (void)close(job->ns_fd);
    job->ns_pid_fd = job->ns_fd = -1;
    job->ns_lost = true;
}

/* ---- what was left --------------------------------------------------------------------------- */

static void start_rm(const char *path)
{
    if (rmtree_start(path) < 0)
        log_error("cannot remove %s", path); /* tried at the next start */
}

static void remove_folder(const char *base, const char *name, uint64_t run_id)
{
    char from[NS_PATH_MAX], to[NS_PATH_MAX];

    (void)snprintf(from, sizeof(from), "%s/%s", base, name);
    (void)snprintf(to, sizeof(to), "%s/" DEAD "%s.%ju", base, name, (uintmax_t)run_id);
    if (rename(from, to) == 0)
        start_rm(to);
    else if (errno != ENOENT)
        log_error("cannot remove %s: %s", from, strerror(errno));
}

static void each_base(struct noded *d,
                      void (*fn)(struct noded *d, const char *base, const struct njob *job),
                      const struct njob *job)
{
    fn(d, d->ns->base_path, job);
    for (size_t i = 0; i < d->ns->n_confs; i++)
        if (d->ns->confs[i]->base_path)
            fn(d, d->ns->confs[i]->base_path, job);
}

static void clean_job(struct noded *d, const char *base, const struct njob *job)
{
    char name[16];

    (void)d;
    (void)snprintf(name, sizeof(name), "%u", job->job_id);
    remove_folder(base, name, job->run_id);
}

void ns_clean_job(struct noded *d, const struct njob *job)
{
    if (d->ns && job->on->has_contain && job->on->contain)
        each_base(d, clean_job, job);
}

/* A job's folder whose job is not here; folders of other names are not ours. */
static bool is_stray(struct noded *d, const char *name)
{
    char *end;
    unsigned long id = strtoul(name, &end, 10);

    return *name >= '1' && *name <= '9' && *end == '\0' && id < UINT32_MAX &&
           !jobs_find(&d->jobs, (uint32_t)id, 0);
}

static void clean_base(struct noded *d, const char *base, const struct njob *job)
{
    DIR *dir = opendir(base);
    struct dirent *e;

    (void)job;
    if (!dir)
        return; /* not made yet, or the jobs will say what is wrong */
    while ((e = readdir(dir))) {
        char path[NS_PATH_MAX];

        if (strncmp(e->d_name, DEAD, strlen(DEAD)) == 0) {
            (void)snprintf(path, sizeof(path), "%s/%s", base, e->d_name);
            start_rm(path);
        } else if (is_stray(d, e->d_name)) {
            log_info("removing the private folders of job %s, which is not here", e->d_name);
            remove_folder(base, e->d_name, 0);
        }
    }
    (void)closedir(dir);
}

void ns_clean_strays(struct noded *d)
{
    if (d->ns)
        each_base(d, clean_base, NULL);
}
