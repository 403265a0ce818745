/* daemon.c - slurmd from configuration to clean exit; see noded.h
 *
 * Owns struct noded and the main loop.  Ending (signal, request) leaves every step running: a step
 * daemon does not need slurmd, and the spool tells the next slurmd about it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/beside.h"
#include "base/process/daemonize.h"
#include "base/err.h"
#include "base/log.h"
#include "base/logflags.h"
#include "conf/tls/conf_certmgr.h"
#include "conf/conf_nodeline.h"
#include "daemon/kiosk.h"
#include "noded/noded.h"
#include "noded/hw/hw.h"
#include "noded/hw/nvml.h"
#include "noded/hw/profsend.h"
#include "noded/hw/selfline.h"
#include "noded/hw/watts.h"
#include "noded/plan/gpumap.h"
#include "noded/steps/profkeep.h"
#include "noded/steps/userproc.h"
#include "noded/link/claim.h"
#include "noded/link/listen.h"
#include "noded/link/nodecert.h"
#include "noded/link/nodeconf.h"
#include "noded/link/nodekey.h"
#include "noded/link/nodereport.h"
#include "noded/orders/attachaccess.h"
#include "noded/orders/nodeops.h"
#include "noded/plan/constrain.h"
#include "noded/plan/nodeimex.h"
#include "noded/plan/nodens.h"
#include "noded/site/nodeplugins.h"
#include "noded/site/scripts.h"
#include "noded/site/helpers.h"
#include "noded/site/siteprog.h"
#include "noded/steps/hung.h"
#include "noded/steps/spoolrecover.h"
#include "noded/steps/steplaunch.h"
#include "noded/steps/stepwatch.h"
#include "stepd/shared/spool.h"
#include "version.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"
#include "wire/auth/auth.h"
#include "wire/server/dialer.h"

static void print_failure(const struct err *err)
{
    (void)fprintf(stderr, "slurmd: fatal: %s\n", err->text);
}

/* In full, since the daemon leaves its directory and reads it again later. */
static int name_conf(struct noded *d, struct err *err)
{
    const char *path = d->opt->common.conf_path ? d->opt->common.conf_path : conf_own_path();
    _cleanup_free_ char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    int r = nodeconf_begin(d, err);

    if (r < 0 || d->nodeconf)
        return r;
    /* Links stay what they are: a site may lead them elsewhere. */
    if ((path[0] != '/' && !here) ||
        asprintf(&d->conf_file, "%s%s%s", here ? here : "", here ? "/" : "", path) < 0) {
        d->conf_file = NULL;
        return err_nomem(err);
    }
    return 0;
}

/* NULL: no NodeName line is for this host. */
static const struct conf_node *find_node(const struct noded *d, const struct conf *conf,
                                         const char *host)
{
    return d->opt->node_name ? conf_find_node(conf, d->opt->node_name)
                             : conf_node_for_host(conf, host);
}

/* -errno.  Without the dot and what follows it. */
static int short_host(char *host, size_t size)
{
    memset(host, 0, size);
    if (gethostname(host, size - 1) < 0)
        return -errno;
    host[strcspn(host, ".")] = '\0';
    return 0;
}

/* What is said of this node alone counts before SlurmdParameters: --parameters, then its line. */
static int put_parameters(const struct noded *d, struct conf *conf)
{
    const struct conf_node *node;
    char host[256];
    int r = short_host(host, sizeof(host));

    node = r == 0 ? find_node(d, conf, host) : NULL;
    r = conf_words_before(conf, CONF_SLURMD_PARAMETERS, node ? node->parameters : NULL);
    return r < 0 ? r : conf_words_before(conf, CONF_SLURMD_PARAMETERS, d->opt->parameters);
}

static int load_conf(const struct noded *d, struct conf **ret_conf, struct err *err)
{
    const char *path = d->conf_file;
    struct conf_problems problems = { 0 };
    int r = conf_load(path, CONF_FULL, ret_conf, &problems, err);

    for (size_t i = 0; i < problems.n; i++)
        if (problems.items[i].error)
            log_error("%s:%u: %s", problems.items[i].file, problems.items[i].line,
                      problems.items[i].text);
    conf_problems_done(&problems);
    if (r == 0 && (put_parameters(d, *ret_conf) < 0 || nodeconf_set_key(d, *ret_conf) < 0)) {
        *ret_conf = conf_free(*ret_conf);
        r = err_nomem(err);
    }
    return r;
}

/* A node that no NodeName line of conf is for: described by itself (-Z), or by the controller of
 * which it was claimed (-F). */
static int describe_node(struct noded *d, const struct conf *conf, struct conf **ret_own,
                         char **ret_line, struct err *err)
{
    _cleanup_free_ char *line = NULL;
    int r = 0;

    *ret_line = NULL;
    if (!d->claimed_line)
        r = selfline_make(conf, d->name, d->host, d->opt->node_conf, &line, err);
    if (r == 0)
        r = conf_parse_nodeline(conf, line ? line : d->claimed_line, ret_own, err);
    if (r == 0)
        *ret_line = TAKE_PTR(line);
    return r;
}

/* -Z, -F: the node's name is known, the description of it may be in conf. */
static int find_dynamic(struct noded *d, struct err *err)
{
    int r = 0;

    d->node = conf_find_node(d->conf, d->name);
    if (d->node && d->opt->dynamic)
        log_info("node %s is in %s: -Z and --conf have no effect", d->name, d->conf_file);
    if (!d->node)
        r = describe_node(d, d->conf, &d->own_node, &d->node_line, err);
    if (r == 0 && !d->node)
        d->node = conf_node(d->own_node, 0);
    return r;
}

static int claim_future(struct noded *d, const char *host, struct err *err)
{
    struct claimed c = { 0 };
    int r =
        claim_node(d->conf, d->opt->node_name ? d->opt->node_name : host, d->opt->feature, &c, err);

    d->name = c.name;
    d->claimed_line = c.line;
    return r;
}

static int pick_node(struct noded *d, struct err *err)
{
    char host[256];
    int r = short_host(host, sizeof(host));

    if (r < 0)
        return err_set(err, r, "cannot read this host's name: %s", strerror(-r));
    d->host = strdup(host);
    if (d->opt->future) {
        r = claim_future(d, host, err);
        return r < 0 ? r : find_dynamic(d, err);
    }
    if (d->opt->dynamic) {
        d->name = strdup(d->opt->node_name ? d->opt->node_name : host);
        return d->name && d->host ? find_dynamic(d, err) : -ENOMEM;
    }
    d->node = find_node(d, d->conf, host);
    if (!d->node)
        return err_set(err, -ENOENT,
                       "unable to determine this slurmd's NodeName: no NodeName line is for %s",
                       d->opt->node_name ? d->opt->node_name : host);
    d->name = strdup(d->node->name);
    return d->name && d->host ? 0 : -ENOMEM;
}

static int expand_paths(struct noded *d)
{
    const char *log =
        d->opt->common.log_path ? d->opt->common.log_path : conf_str(d->conf, CONF_SLURMD_LOG_FILE);
    int r = conf_expand_path(conf_str(d->conf, CONF_SLURMD_SPOOL_DIR), d->name, d->host, &d->spool);

    if (r == 0)
        r = conf_expand_path(conf_str(d->conf, CONF_SLURMD_PID_FILE), d->name, d->host,
                             &d->pid_file);
    if (r == 0 && log)
        r = conf_expand_path(log, d->name, d->host, &d->log_path);
    return r;
}

static int make_spool(struct noded *d, struct err *err)
{
    if (mkdir(d->spool, 0755) < 0 && errno != EEXIST)
        return err_set(err, -errno, "cannot make SlurmdSpoolDir %s: %s", d->spool, strerror(errno));
    if (access(d->spool, W_OK | X_OK) < 0)
        return err_set(err, -errno, "cannot write SlurmdSpoolDir %s: %s", d->spool,
                       strerror(errno));
    return 0;
}

static int drop_entry(void *ctx, uint32_t job_id, uint64_t run_id, const uint32_t *step_id)
{
    const struct noded *d = ctx;

    if (!step_id)
        (void)spool_remove_job(d->spool, job_id, run_id); /* -c: whatever goes, goes */
    return 0;
}

/* -d: its twins (slurmstepd-relay, -plug) are beside it, by its name. */
static int use_stepd(struct noded *d, const char *name, struct err *err)
{
    _cleanup_free_ char *path = realpath(name, NULL); /* we leave our folder */

    if (!path || access(path, X_OK) < 0)
        return err_set(err, -errno, "-d: %s: %s", name, strerror(errno));
    if (strlen(path) >= sizeof(d->stepd_exe) - 8)
        return err_set(err, -ENAMETOOLONG, "-d: %s: %s", name, strerror(ENAMETOOLONG));
    (void)snprintf(d->stepd_exe, sizeof(d->stepd_exe), "%s", path);
    return 0;
}

/* The step daemon beside us: installed together, or in the build tree. */
static int find_stepd(struct noded *d, struct err *err)
{
    static const char *const places[] = { "slurmstepd", "../stepd/slurmstepd" };

    if (d->opt->stepd)
        return use_stepd(d, d->opt->stepd, err);
    if (beside_find(places, ARRAY_SIZE(places), d->stepd_exe, sizeof(d->stepd_exe)) == 0)
        return 0;
    (void)snprintf(d->stepd_exe, sizeof(d->stepd_exe), "%s/slurmstepd", PENSTOCK_SBINDIR);
    if (access(d->stepd_exe, X_OK) < 0)
        return err_set(err, -errno, "cannot find the step daemon %s: %s", d->stepd_exe,
                       strerror(errno));
    return 0;
}

/* With -v the configured level does not count: slurmd counts from "info". */
static enum log_level wanted_level(const struct noded *d)
{
    unsigned verbose = d->opt->common.verbose;

    return daemon_log_level(verbose ? NULL : conf_str(d->conf, CONF_SLURMD_DEBUG), verbose);
}

static int open_log(struct noded *d, struct err *err)
{
    int r;

    logflags_set(conf_str(d->conf, CONF_DEBUG_FLAGS));
    log_set_time(conf_str(d->conf, CONF_LOG_TIME_FORMAT));
    (void)log_set_syslog(conf_str(d->conf, CONF_SLURMD_SYSLOG_DEBUG),
                         NULL); /* no such level: none */
    r = log_open("slurmd", d->log_path, wanted_level(d), d->opt->common.foreground && d->log_path);

    if (r < 0)
        return err_set(err, r, "cannot open SlurmdLogFile %s: %s", d->log_path, strerror(-r));
    return 0;
}

void noded_load_keys(struct noded *d, bool again)
{
    struct auth_keys *keys = NULL;
    struct err err = { .text = "" };

    if (d->keys && !again)
        return;
    if (auth_keys_load(conf_key_file(d->conf), &keys, &err) < 0) {
        log_info("without the cluster's key%s: %s",
                 d->keys ? ", the old one stays"
                         : ", launches are known by the controllers' signature alone",
                 err.text);
        return;
    }
    (void)auth_keys_free(d->keys); /* always NULL */
    d->keys = keys;
    if (d->listener)
        listen_set_keys(d->listener, keys);
    if (d->kiosk)
        kiosk_set_keys(d->kiosk, keys);
}

int noded_load_tls(struct noded *d, struct err *err)
{
    struct tls_config config;
    struct tls_ctx *tls = NULL;
    int r = conf_tls(d->conf, CONF_TLS_SLURMD, &config);

    if (r == 0) {
        r = nodecert_fill(d, &config);
        if (r < 0)
            tls_config_done(&config);
    }
    if (r == 0)
        r = tls_ctx_load(&config, &tls, err);
    if (r < 0 || !tls)
        return r;
    (void)tls_ctx_unref(d->tls); /* always NULL */
    d->tls = tls;
    if (d->listener)
        listen_set_tls(d->listener, tls);
    if (d->reporter)
        report_set_tls(d, tls);
    return 0;
}

/* ---- signals --------------------------------------------------------------------------------- */

static void on_chld(uv_signal_t *sig, int signum)
{
    struct noded *d = sig->data;
    int status;
    pid_t pid;

    (void)signum;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (!nodecert_child_exited(d, pid, status) && d->reporter &&
            !scripts_child_exited(d, pid, status) && !siteprog_child_exited(d, pid, status) &&
            !helpers_child_exited(d, pid, status) && !profkeep_child_exited(d, pid, status))
            steps_child_exited(d, pid, status);
}

void noded_stop(struct noded *d)
{
    d->stopping = true;
    uv_stop(&d->loop);
}

static void on_signal(uv_signal_t *sig, int signum)
{
    struct err err = { .text = "" };
    struct noded *d = sig->data;

    switch (daemon_signal_action(signum)) {
    case DAEMON_END:
        log_info("ending on signal %d; steps go on", signum);
        noded_stop(d);
        break;
    case DAEMON_RELOAD:
        if (d->reporter) /* else it waits for its certificate, and begins with what is there then */
            (void)noded_reconfigure(d, &err); /* logged */
        break;
    default:
        break;
    }
}

/* Fails only without memory for libuv's pipe, which the first signal makes. */
static void watch_signal(struct noded *d, uv_signal_t *sig, int signum, uv_signal_cb cb)
{
    (void)uv_signal_init(&d->loop, sig);
    sig->data = d;
    (void)uv_signal_start(sig, cb, signum);
}

static void watch_signals(struct noded *d)
{
    (void)signal(SIGPIPE, SIG_IGN);
    watch_signal(d, &d->sig_chld, SIGCHLD, on_chld);
    for (size_t i = 0; i < ARRAY_SIZE(d->signals); i++)
        watch_signal(d, &d->signals[i], daemon_signals[i], on_signal);
}

/* What binding goes by, as configured now. */
static void take_processors(struct noded *d)
{
    if (d->processors)
        pst__processors__free_unpacked(d->processors, NULL);
    d->processors = hw_processors(d);
    d->binds = conf_task_plugin(d->conf, "task/affinity");
}

/* What --conf says of the node's place in the network.  Where slurm.conf names a node that was
 * started with -Z, --conf has no effect. */
static void say_place(struct noded *d)
{
    if (!d->opt->dynamic || d->node_line)
        d->hardware->topology = selfline_place(d->conf, d->name, d->opt->node_conf);
}

/* Another log file from now on, unless the command line says which (-L). */
static void follow_log(struct noded *d)
{
    const char *pattern = conf_str(d->conf, CONF_SLURMD_LOG_FILE);
    _cleanup_free_ char *path = NULL;
    int r;

    if (d->opt->common.log_path || !pattern ||
        conf_expand_path(pattern, d->name, d->host, &path) < 0 ||
        (d->log_path && strcmp(d->log_path, path) == 0))
        return;
    r = log_move(d->log_path, path);
    if (r < 0) {
        log_error("SlurmdLogFile %s cannot be opened: %s", path, strerror(-r));
        return;
    }
    free(d->log_path);
    d->log_path = TAKE_PTR(path);
}

int noded_reconfigure(struct noded *d, struct err *err)
{
    struct conf *conf = NULL, *old = d->conf;
    const struct conf_node *node;
    struct gres_rows *gres = NULL;
    Pst__NodeRecord *hw = NULL;
    struct conf *own = NULL;
    char *line = NULL;
    bool same;
    int r;

    if (load_conf(d, &conf, err) < 0) {
        log_error("configuration kept as it was: %s", err->text);
        return -EINVAL;
    }
    node = conf_find_node(conf, d->name);
    if (!node && (d->opt->dynamic || d->claimed_line) &&
        describe_node(d, conf, &own, &line, err) == 0)
        node = conf_node(own, 0);
    if (!node) {
        r = err->text[0] ? -EINVAL : -ENOENT;
        if (r == -ENOENT)
            (void)err_set(err, -ENOENT, "node %s is not in it any more", d->name);
        log_error("configuration kept as it was: %s", err->text);
        (void)conf_free(conf);
        return r;
    }
    same = hw_described_same(d->node, node);
    d->conf = conf;
    d->node = node;
    (void)conf_free(d->own_node);
    d->own_node = own;
    free(d->node_line);
    d->node_line = line;
    if (hw_gres(d, &gres) == 0) {
        gres_rows_free(d->gres);
        d->gres = gres;
    }
    if (hw_record(d, &hw) == 0) { /* helpers are asked at the start alone */
        hw->changeable_features = TAKE_PTR(d->hardware->changeable_features);
        hw->active_features = TAKE_PTR(d->hardware->active_features);
        same = same && hw_record_same(d->hardware, hw);
        pst__node_record__free_unpacked(d->hardware, NULL);
        d->hardware = hw;
        say_place(d);
    }
    take_processors(d);
    watts_configure(d);
    nvml_configure(d);
    profsend_configure(d);
    profkeep_configure(d);
    log_set_level(wanted_level(d));
    logflags_set(conf_str(d->conf, CONF_DEBUG_FLAGS));
    follow_log(d);
    log_set_time(conf_str(d->conf, CONF_LOG_TIME_FORMAT));
    (void)log_set_syslog(conf_str(d->conf, CONF_SLURMD_SYSLOG_DEBUG),
                         NULL); /* no such level: none */
    noded_load_keys(d, true);
    if (noded_load_tls(d, err) < 0)
        log_error("the certificate stays what it was: %s", err->text);
    report_set_controller(d);
    report_set_hosts(d);
    (void)conf_free(old);
    plugins_again(d);
    log_info("configuration read again");
    if (!same)
        report_changed(d);
    return 0;
}

/* ---- slurmd -C and -G ------------------------------------------------------------------------ */

int noded_print(const struct noded_options *opt, bool gres)
{
    struct noded d = { .on = &noded_events, .opt = opt };
    struct err err = { .text = "" };
    int r = 0, status;

    if (gres || opt->common.conf_path || opt->conf_server)
        r = name_conf(&d, &err);
    if (d.conf_file)
        r = load_conf(&d, &d.conf, &err);
    if (r == 0 && gres)
        r = pick_node(&d, &err);
    if (r == 0 && gres && hw_gres(&d, &d.gres) < 0)
        r = err_nomem(&err);
    if (r < 0)
        print_failure(&err);
    else if (gres)
        gres_print(stdout, d.gres);
    status = r < 0 ? 1 : gres ? 0 : hw_print(d.conf, machine_socket_of(d.conf, opt->parameters));
    d.nodeconf = nodeconf_free(d.nodeconf);
    gres_rows_free(d.gres);
    d.conf = conf_free(d.conf);
    d.own_node = conf_free(d.own_node);
    free(d.node_line);
    free(d.claimed_line);
    free(d.conf_file);
    free(d.name);
    free(d.host);
    return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int configure_daemon(void *ctx, struct err *err)
{
    struct noded *d = ctx;
    int r = name_conf(d, err);

    if (r == 0)
        r = load_conf(d, &d->conf, err);
    if (r == 0)
        r = pick_node(d, err);
    if (r == 0 && expand_paths(d) < 0)
        r = err_nomem(err);
    if (r == 0)
        r = open_log(d, err);
    if (r == 0)
        r = make_spool(d, err);
    if (r == 0)
        r = find_stepd(d, err);
    if (r == 0)
        daemonize_work_in(d->log_path, d->spool, d->work_dir);
    if (r == 0)
        r = ns_configure(d, err);
    if (r == 0 && hw_gres(d, &d->gres) < 0)
        r = err_nomem(err);
    if (r == 0 && (hw_record(d, &d->hardware) < 0 || helpers_ask(d, d->hardware) < 0))
        r = err_set(err, -EIO, "cannot read the machine's topology");
    if (r == 0)
        say_place(d);
    return r;
}

static int make_parts(struct noded *d, struct err *err)
{
    int r;

    watch_signals(d);
    r = nodecert_begin(d, err);
    if (r == 0)
        r = plugins_begin(d, err);
    if (r == 0)
        r = scripts_new(d, &d->scripts);
    if (r == 0)
        r = siteprogs_new(d, &d->siteprogs);
    if (r == 0)
        r = helpers_new(d, &d->helpers);
    if (r == 0)
        r = watts_new(d, &d->watts);
    if (r == 0)
        r = nvml_new(d, &d->nvml);
    if (r == 0)
        r = listen_new(d, &d->listener, err);
    if (r == 0 && report_new(d, &d->reporter) < 0)
        r = err_set(err, -EINVAL, "cannot set up the connection to the controller");
    return r < 0 && !err->text[0] ? err_set(err, r, "%s", strerror(-r)) : r;
}

static void close_one(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* The start failed: close whatever handles there are.  Their owners are freed afterwards. */
static void abandon_loop(struct noded *d)
{
    nodecert_close(d->cert);
    d->scripts = scripts_free(d->scripts);
    uv_walk(&d->loop, close_one, NULL);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT); /* until the last handle is closed */
    (void)uv_loop_close(&d->loop);
}

/* Everything that can fail before the world is told that we are up. */
static int prepare_daemon(struct noded *d, struct err *err)
{
    int r;

    noded_load_keys(d, false);
    take_processors(d);
    r = nodekey_load(d, err);
    if (r == 0 && !conf_use_certmgr(d->conf))
        r = noded_load_tls(d, err);
    if (r == 0)
        r = constrain_begin(d, err);
    if (r < 0)
        return r;
    log_info("slurmd %s started for node %s, processes tracked by %s", SLURM_RELEASE, d->name,
             d->cgroups.kind == CGROUP_NONE ? "subreaper" : cgroup_kind_name(d->cgroups.kind));
    if (uv_loop_init(&d->loop) < 0)
        return err_set(err, -ENOMEM, "cannot make an event loop");
    d->loop.data = d;
    r = make_parts(d, err);
    if (r < 0) {
        abandon_loop(d);
        return r;
    }
    if (d->opt->clean_start)
        (void)spool_scan(d->spool, drop_entry, d); /* nothing there is fine */
    hung_begin(d);
    nodeimex_begin(d);
    recover_spool(d);
    gpumap_begin(d);
    userproc_recover(d);
    constrain_sweep(d);
    ns_clean_strays(d);
    nodeconf_clean(d);
    r = listen_start(d->listener);
    if (r < 0)
        return err_set(err, r, "cannot start the listening thread: %s", strerror(-r));
    nodekey_vouch(d);
    return 0;
}

static void close_handles(struct noded *d)
{
    nodecert_close(d->cert);
    nodeconf_close(d);
    report_close(d->reporter);
    listen_close(d->listener);
    d->kiosk = kiosk_close(d->kiosk);
    userproc_close(d);
    uv_close((uv_handle_t *)&d->hung, NULL);
    siteprogs_close(d->siteprogs);
    helpers_close(d->helpers);
    watts_close(d->watts);
    nvml_close(d->nvml);
    d->profsend = profsend_close(d->profsend);
    d->profkeep = profkeep_close(d->profkeep);
    uv_close((uv_handle_t *)&d->sig_chld, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(d->signals); i++)
        uv_close((uv_handle_t *)&d->signals[i], NULL);
}

static void drop_job(void *ctx, struct njob *job)
{
    struct noded *d = ctx;

    jobs_remove(&d->jobs, job);
}

static void take_place(struct noded *d, Pst__NodeTopology *t)
{
    if (d->topology)
        pst__node_topology__free_unpacked(d->topology, NULL);
    d->topology = t;
}

static void release_daemon(void *ctx)
{
    struct noded *d = ctx;

    plugins_end(d);
    d->nodeconf = nodeconf_free(d->nodeconf);
    d->cert = nodecert_free(d->cert);
    nodekey_done(d);
    d->reporter = report_free(d->reporter);
    d->listener = listen_free(d->listener);
    d->scripts = scripts_free(d->scripts);
    d->siteprogs = siteprogs_free(d->siteprogs);
    d->helpers = helpers_free(d->helpers);
    d->watts = watts_free(d->watts);
    d->nvml = nvml_free(d->nvml);
    d->keys = auth_keys_free(d->keys);
    d->tls = tls_ctx_unref(d->tls);
    gres_rows_free(d->gres);
    if (d->hardware)
        pst__node_record__free_unpacked(d->hardware, NULL);
    if (d->processors)
        pst__processors__free_unpacked(d->processors, NULL);
    if (d->ns)
        pst__namespace__free_unpacked(d->ns, NULL);
    take_place(d, NULL);
    d->conf = conf_free(d->conf);
    d->own_node = conf_free(d->own_node);
    free(d->node_line);
    free(d->claimed_line);
    free(d->jobs.suspended);
    free(d->conf_file);
    free(d->name);
    free(d->host);
    free(d->spool);
    free(d->pid_file);
    free(d->log_path);
}

static void run_loop(struct noded *d)
{
    siteprog_run(d, SITEPROG_HEALTH, NULL, NULL);
    watts_configure(d);
    nvml_configure(d);
    profsend_configure(d);
    profkeep_configure(d);
    report_start(d->reporter);
    daemonize_notify("READY=1");
    while (!d->stopping)
        (void)uv_run(&d->loop, UV_RUN_DEFAULT); /* tells only whether handles are left */
    daemonize_notify("STOPPING=1");
    daemonize_pid_remove(d->pid_file); /* may be gone */
    jobs_each(&d->jobs, drop_job, d);
    constrain_end(d);
    d->scripts = scripts_free(d->scripts);
    close_handles(d);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT); /* until the last handle is closed */
    (void)uv_loop_close(&d->loop);
}

/* A node that swaps still answers then.  Locks are not handed on to children.  Below a limit what
 * is allocated later stays as it is: an allocation beyond the limit would fail. */
static void lock_memory(void)
{
    struct rlimit limit = { 0 };
    bool all = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;

    if (mlockall(all ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT) < 0)
        log_error("the daemon's memory cannot be locked: %s", strerror(errno));
}

static int serve_node(void *ctx, int ready_fd, struct err *err)
{
    struct noded *d = ctx;
    int r = prepare_daemon(d, err);

    if (r == -ECANCELED && d->stopping)
        return 0; /* a signal, while it waited for its certificate */
    if (r < 0)
        return r;
    if (d->opt->lock_memory)
        lock_memory();
    daemonize_pid_file(d->pid_file); /* there when the command that started us comes to look */
    daemonize_ready(ready_fd);
    run_loop(d);
    return 0;
}

static void report_failure(void *ctx, const struct err *err)
{
    const struct noded *d = ctx;

    if (d->log_path && !d->opt->common.foreground)
        log_error("%s", err->text); /* standard error gets it in any case */
    print_failure(err);
}

static void take_keys(struct noded *d)
{
    noded_load_keys(d, false);
}

const struct noded_events noded_events = {
    .request = ops_request,
    .registered = take_keys,
    .placed = take_place,
    .stop = noded_stop,
    .reconfigure = noded_reconfigure,
    .load_tls = noded_load_tls,
    .energy = report_energy,
    .prolog_over = launch_after_prolog,
    .place_ready = launch_waiting_prolog,
    .advance_job = steps_advance_job,
    .launch_step = launch_step,
    .attach = access_attach,
    .x11 = launch_x11,
    .stat = access_stat,
    .bcast = access_bcast,
    .tail = access_tail,
    .relay = access_relay,
};

int noded_run(const struct daemon_head *head, const struct noded_options *opt)
{
    static const struct daemon_life life = { .configure = configure_daemon,
                                             .serve = serve_node,
                                             .report = report_failure,
                                             .release = release_daemon };
    struct noded d = { .on = &noded_events, .opt = opt };

    return daemon_live(head, &life, &opt->common, &d);
}
