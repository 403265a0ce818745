/* steplaunch.c - from a request to a running step daemon; see steplaunch.h
 *
 * A batch launch is idempotent by (job, run): the spool entry is made before the step daemon
 * starts, and a repeated request finds it.  What a step daemon needs is gathered in one StepFile;
 * it may have to wait for the prolog first.  Main thread. */
#include "model/words/alloccpus.h"
#include "noded/steps/steplaunch.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/people/groups.h"
#include "base/hostlist.h"
#include "base/logflags.h"
#include "base/pb/pbutil.h"
#include "daemon/kiosk.h"
#include "noded/hw/gatherconf.h"
#include "noded/hw/hw.h"
#include "noded/hw/nvml.h"
#include "noded/link/listen.h"
#include "noded/link/nodeconf.h"
#include "noded/link/nodereport.h"
#include "noded/plan/constrain.h"
#include "noded/plan/nodecxi.h"
#include "noded/plan/nodefreq.h"
#include "noded/plan/nodeimex.h"
#include "noded/plan/nodens.h"
#include "noded/plan/nssentry.h"
#include "noded/plan/ociconf.h"
#include "noded/plan/gpumap.h"
#include "noded/site/nodeplugins.h"
#include "noded/site/scripts.h"
#include "noded/steps/stepwatch.h"
#include "noded/steps/stepx11.h"
#include "stepd/env/env.h"
#include "stepd/shared/spool.h"
#include "stepd/shared/stepd_spawn.h"
#include "wire/errors.h"
#include "wire/ops.h"

static void sf_free(Pst__StepFile *sf)
{
    if (!sf)
        return;
    sf->job = NULL;        /* the job's own */
    sf->processors = NULL; /* the daemon's */
    sf->ns = NULL;         /* likewise */
    pst__step_file__free_unpacked(sf, NULL);
}

/* suspend_grace_time of PreemptParameters: from TSTP to STOP. */
static uint64_t suspend_grace_s(const struct conf *conf)
{
    uint64_t s;

    return conf_option_u64(conf, CONF_PREEMPT_PARAMETERS, "suspend_grace_time", &s) ? s : 2;
}

static uint32_t memlock_of(const struct conf *conf)
{
    if (conf_option(conf, CONF_LAUNCH_PARAMETERS, "slurmstepd_memlock_all", NULL, NULL))
        return STEP_MEMLOCK_ALL;
    return conf_option(conf, CONF_LAUNCH_PARAMETERS, "slurmstepd_memlock", NULL, NULL)
               ? STEP_MEMLOCK_NOW
               : 0;
}

static void set_num(protobuf_c_boolean *has, uint32_t *field, uint64_t value)
{
    *has = true;
    *field = (uint32_t)MIN(value, (uint64_t)UINT32_MAX);
}

/* A StepFile with all that the configuration says; its job is borrowed. */
/* Which files a step runs is settled here: a later configuration does not change them. */
static int set_task_script(const struct noded *d, enum conf_key key, char **to)
{
    const char *name = conf_str(d->conf, key);

    return name ? conf_program(d->conf, name, to) : 0;
}

/* Lines about the subjects of DebugFlags that are on now come from the step daemon, too. */
static int plan_log(const struct noded *d, Pst__StepFile *sf)
{
    char words[LOG_SUBJECTS * 24];

    logflags_list(words, sizeof(words));
    if (!words[0])
        return 0;
    return pb_set_str(&sf->debug_flags, words) | pb_set_str(&sf->log_path, d->log_path) |
           pb_set_str(&sf->log_time, conf_str(d->conf, CONF_LOG_TIME_FORMAT));
}

static Pst__StepFile *sf_new(struct noded *d, struct njob *job, uint32_t step_id)
{
    Pst__StepFile *sf = malloc(sizeof(*sf));
    char dir[SPOOL_PATH_MAX];
    const char *value;
    size_t len;
    int r = 0;

    if (!sf)
        return NULL;
    pst__step_file__init(sf);
    sf->job = job->on;
    sf->processors = d->binds ? d->processors : NULL;
    sf->gather = gather_of(d->conf, job->on->job, d->spool);
    sf->ns = step_id == STEP_ID_EXTERN ? d->ns : NULL;
    sf->has_x11_home = true;
    sf->x11_home = step_id == STEP_ID_EXTERN &&
                   conf_option(d->conf, CONF_X11_PARAMETERS, "home_xauthority", &value, &len);
    sf->has_run_in_job = true;
    sf->run_in_job = step_id == STEP_ID_EXTERN && job->run_in_job;
    if (d->topology) {
        r = pb_set_str(&sf->topology_addr, d->topology->address);
        r |= pb_set_str(&sf->topology_pattern, d->topology->pattern);
    }
    set_num(&sf->has_step_id, &sf->step_id, step_id);
    set_num(&sf->has_kill_wait_s, &sf->kill_wait_s, conf_num(d->conf, CONF_KILL_WAIT));
    set_num(&sf->has_unkillable_s, &sf->unkillable_s,
            conf_num(d->conf, CONF_UNKILLABLE_STEP_TIMEOUT));
    set_num(&sf->has_propagate_prio, &sf->propagate_prio,
            conf_num(d->conf, CONF_PROPAGATE_PRIO_PROCESS));
    set_num(&sf->has_memlock, &sf->memlock, memlock_of(d->conf));
    set_num(&sf->has_suspend_grace_s, &sf->suspend_grace_s, suspend_grace_s(d->conf));
    r = r < 0 ? r : gres_step_gpus(d->gres, sf);
    r = r < 0 ? r : nodeimex_plan(d, sf);
    set_num(&sf->has_energy_kind, &sf->energy_kind, gather_energy(d->conf));
    r = r < 0 ? r : pb_set_str(&sf->gpu_use_path, nvml_path(d));
    r = r < 0 ? r : pb_set_str(&sf->sack_socket, d->kiosk ? kiosk_given_path(d->kiosk) : NULL);
    if (r == 0 && !(sf->machine_root = hw_root(d->conf)))
        r = -ENOMEM;
    sf->has_gpu_clocks = true;
    sf->gpu_clocks = gres_how(d->conf, d->name) == GPUS_NVML;
    if (sf->gpu_clocks)
        r = r < 0 ? r : pb_set_str(&sf->gpu_freq_default, conf_str(d->conf, CONF_GPU_FREQ_DEF));
    sf->has_gpus_relative = true;
    sf->gpus_relative = constrain_devices(d);
    sf->has_append_default = true;
    sf->append_default = conf_bool(d->conf, CONF_JOB_FILE_APPEND);
    sf->has_summary = true;
    sf->summary = step_id == STEP_ID_BATCH &&
                  (job->on->job->has_output_summary ? job->on->job->output_summary
                                                    : conf_bool(d->conf, CONF_OUTPUT_SUMMARY));
    sf->has_no_hydra = true;
    sf->no_hydra =
        conf_option(d->conf, CONF_MPI_PARAMS, "disable_slurm_hydra_bootstrap", &value, &len);
    if (conf_num(d->conf, CONF_PROLOG_EPILOG_TIMEOUT) < 65534)
        set_num(&sf->has_script_timeout_s, &sf->script_timeout_s,
                conf_num(d->conf, CONF_PROLOG_EPILOG_TIMEOUT));
    spool_step_dir(d->spool, job->job_id, job->run_id, step_id, dir, sizeof(dir));
    sf->has_use_pam = sf->use_pam = step_id != STEP_ID_EXTERN && geteuid() == 0 &&
                                    job->on->job->user_name && conf_bool(d->conf, CONF_USE_PAM);
    if (step_id != STEP_ID_EXTERN && plugins_any(d)) {
        sf->plugstack = plugins_file(d);
        r |= sf->plugstack ? pb_set_str(&sf->plugin_dir, conf_str(d->conf, CONF_PLUGIN_DIR))
                           : -ENOMEM;
    }
    if (!d->world[0])
        proc_world(d->world);
    r |= pb_set_str(&sf->world, d->world);
    sf->has_adopt_rss = true;
    sf->adopt_rss = step_id == STEP_ID_EXTERN &&
                    conf_option(d->conf, CONF_LAUNCH_PARAMETERS, "ulimit_pam_adopt", &value, &len);
    r |= plan_log(d, sf);
    r |= pb_set_str(&sf->step_dir, dir);
    r |= pb_set_str(&sf->conf_path, conf_path(d->conf));
    r |= set_task_script(d, CONF_TASK_PROLOG, &sf->task_prolog);
    r |= set_task_script(d, CONF_TASK_EPILOG, &sf->task_epilog);
    if (r < 0) {
        sf_free(sf);
        return NULL;
    }
    return sf;
}

/* use_client_ids: the groups that the host of the submission told. */
static int copy_groups(const Pst__ClientIdent *id, Pst__JobOnNode *on, struct err *err)
{
    on->gids = malloc(id->n_gids * sizeof(*on->gids));
    if (!on->gids)
        return err_nomem(err);
    memcpy(on->gids, id->gids, id->n_gids * sizeof(*on->gids));
    on->n_gids = id->n_gids;
    return 0;
}

/* All groups of the user, where the request has none. */
static int fill_groups(Pst__JobOnNode *on, struct err *err)
{
    const Pst__JobRecord *j = on->job;
    const char *name = j->user_name;
    struct passwd pw, *found = NULL;
    char buf[4096];

    if (on->n_gids || geteuid() != 0 || j->uid == 0)
        return 0;
    if (j->client_ident && j->client_ident->n_gids)
        return copy_groups(j->client_ident, on, err);
    if (!name && getpwuid_r(j->uid, &pw, buf, sizeof(buf), &found) == 0 && found)
        name = pw.pw_name; /* the controller's machine does not know him */
    return name ? groups_of(name, j->gid, &on->gids, &on->n_gids, err) : 0;
}

/* The user's groups and home, where the request lacks them: as the host of the submission told them
 * (use_client_ids), else from this node's name service.  Asked in slurmd: the step daemon loads no
 * name service. */
static int fill_user(Pst__StepFile *sf, struct err *err)
{
    const Pst__JobRecord *j = sf->job->job;
    const Pst__ClientIdent *id = j->client_ident;
    bool has_home = sf->home != NULL;
    const char *env = (const char *)sf->environment.data;
    struct passwd pw, *found = NULL;
    char buf[4096];

    if (sf->launch)
        has_home = has_home || sf->launch->environment.len > 0;
    for (size_t at = 0; !has_home && at < sf->environment.len;
         at += strnlen(env + at, sf->environment.len - at) + 1)
        has_home = strncmp(env + at, "HOME=", MIN((size_t)5, sf->environment.len - at)) == 0;
    has_home = has_home && !(j->has_get_user_env && j->get_user_env); /* its shell is asked */
    if (!has_home && !id && getpwuid_r(j->uid, &pw, buf, sizeof(buf), &found) != 0)
        found = NULL;
    if (!has_home && (id || found) &&
        (pb_set_str(&sf->home, id ? id->home : pw.pw_dir) < 0 ||
         pb_set_str(&sf->shell, id ? id->shell : pw.pw_shell) < 0))
        return err_nomem(err);
    return fill_groups(sf->job, err);
}

/* The step daemon that is linked statically starts sooner; the others load plugins, PAM,
 * or OpenSSL. */
static const char *twin_of(const Pst__StepFile *sf)
{
    bool tls = (sf->launch && sf->launch->stream_key.len > 0) ||
               (sf->step_id == STEP_ID_EXTERN && sf->job->job->x11);

    return sf->plugstack || sf->use_pam ? "-plug" : tls ? "-relay" : "";
}

static void start_step(struct noded *d, struct nstep *step, const Pst__StepFile *sf, int srun_fd)
{
    struct njob *job = step->job;
    char num[16], exe[sizeof(d->stepd_exe) + 8];
    int r;

    (void)snprintf(exe, sizeof(exe), "%s%s", d->stepd_exe, twin_of(sf));
    r = stepd_spawn(exe, sf, srun_fd, job->ns_fd, job->ns_pid_fd, &step->pid, &step->ctl_fd);

    step->phase = STEP_RUNS;
    if (r == 0)
        r = steps_follow(d, step);
    if (r == 0) {
        steps_started(d, step);
        return;
    }
    log_error("cannot start a step daemon: %s job=%u step=%s", strerror(-r), job->job_id,
              step_id_name(step->step_id, num, sizeof(num)));
    steps_end_unstarted(d, step, "could not start the step daemon");
}

static void ensure_extern(struct noded *d, struct njob *job);

/* With RunInJob the extern step comes first, and the prolog when it says that it is there. */
static void start_prolog(struct noded *d, struct njob *job)
{
    const struct nstep *ext;

    if (job->run_in_job)
        ensure_extern(d, job);
    ext = job->run_in_job ? job_find_step(job, STEP_ID_EXTERN) : NULL;
    if (!ext || ext->phase != STEP_RUNS || ext->launched) {
        scripts_start(d, job, false);
        return;
    }
    job->prolog = SCRIPT_RUNS;
    job->prolog_waits = true;
}

void launch_waiting_prolog(struct noded *d, struct njob *job)
{
    x11_extern_changed(d, job);
    if (!job->prolog_waits)
        return;
    job->prolog_waits = false;
    job->prolog = SCRIPT_NOT_RUN;
    if (job->terminating)
        steps_advance_job(d, job);
    else
        scripts_start(d, job, false);
}

/* Takes sf. */
static void give_up(struct noded *d, struct nstep *step, Pst__StepFile *sf, int srun_fd,
                    const char *text)
{
    if (srun_fd >= 0)
        listen_refuse_fd(srun_fd, sf->launch->stream_key, sf->launch_id, SLURM_ERROR, text);
    sf_free(sf);
    steps_end_unstarted(d, step, text);
}

/* Start now, or keep it until the prolog is over.  Takes sf and srun_fd. */
static void start_or_wait(struct noded *d, struct nstep *step, Pst__StepFile *sf, int srun_fd)
{
    struct njob *job = step->job;
    bool first = job->run_in_job && step->step_id == STEP_ID_EXTERN;
    struct err err = { .text = "" };

    if (fill_user(sf, &err) < 0) {
        give_up(d, step, sf, srun_fd, err.text);
        return;
    }
    nssentry_plan(d, sf);
    if (job->prolog == SCRIPT_NOT_RUN && scripts_any(d, false) && !first)
        start_prolog(d, job);
    if ((job->prolog == SCRIPT_RUNS && !first) ||
        (job->prolog != SCRIPT_FAILED && step->step_id != STEP_ID_EXTERN && ns_pending(d, job))) {
        step->phase = STEP_WAITS;
        step->waiting = sf;
        step->srun_fd = srun_fd;
        return;
    }
    if (job->prolog == SCRIPT_FAILED) {
        if (srun_fd >= 0)
            listen_refuse_fd(srun_fd, sf->launch->stream_key, sf->launch_id, ESLURMD_PROLOG_FAILED,
                             slurm_err_text(ESLURMD_PROLOG_FAILED));
        sf_free(sf);
        steps_end_unstarted(d, step, "the prolog failed");
        return;
    }
    if (step->step_id != STEP_ID_EXTERN && ns_gone(d, job)) {
        if (srun_fd >= 0)
            listen_refuse_fd(srun_fd, sf->launch->stream_key, sf->launch_id, SLURM_ERROR,
                             "The job's private folders are gone");
        sf_free(sf);
        steps_end_unstarted(d, step, "the job's private folders are gone");
        return;
    }
    if (job->prolog == SCRIPT_NOT_RUN && !scripts_any(d, false))
        job->prolog = SCRIPT_DONE; /* there is none */
    if (constrain_plan(d, sf) < 0 || oci_plan(d, sf) < 0 || x11_fill_step(d, job, sf) < 0) {
        give_up(d, step, sf, srun_fd, ERR_NOMEM);
        return;
    }
    if (job->ns_pid_fd >= 0)
        set_num(&sf->has_ns_flags, &sf->ns_flags, job->ns_flags);
    start_step(d, step, sf, srun_fd);
    sf_free(sf);
    if (srun_fd >= 0)
        (void)close(srun_fd); /* the step daemon has its own */
}

void launch_after_prolog(struct noded *d, struct njob *job)
{
    for (struct nstep *s = job->steps; s; s = s->next) {
        Pst__StepFile *sf = s->waiting;
        int fd = s->srun_fd;

        if (s->phase != STEP_WAITS || !sf)
            continue; /* without a file: its launch started this prolog, and goes on from there */
        s->waiting = NULL;
        s->srun_fd = -1;
        if (job->prolog == SCRIPT_DONE && !job->terminating) {
            start_or_wait(d, s, sf, fd);
            continue;
        }
        if (fd >= 0)
            listen_refuse_fd(fd, sf->launch->stream_key, sf->launch_id, ESLURMD_PROLOG_FAILED,
                             slurm_err_text(ESLURMD_PROLOG_FAILED));
        sf_free(sf);
        steps_end_unstarted(d, s, "the prolog failed");
    }
}

static int check_user(uint32_t uid, struct err *err)
{
    if (geteuid() != 0 && uid != geteuid())
        return err_set(err, -EPERM, "slurmd runs as user %u and cannot start a job of user %u",
                       geteuid(), uid);
    return 0;
}

static int check_on(const struct noded *d, const Pst__JobOnNode *on, struct err *err)
{
    if (!on || !on->job || !on->job->has_job_id || !on->job->has_uid || !on->job->has_gid)
        return err_set(err, -EBADMSG, "the request lacks the job");
    if (!on->node_name || strcmp(on->node_name, d->name) != 0)
        return err_set(err, -EBADMSG, "the request is for another node");
    return check_user(on->job->uid, err);
}

bool launch_in_job(const struct noded *d, const struct njob *job)
{
    const char *value;
    size_t len;

    return job->on->has_contain && job->on->contain &&
           conf_option(d->conf, CONF_PROLOG_FLAGS, "RunInJob", &value, &len);
}

/* Find or make the job; *on is taken when it is made. */
static int get_job(struct noded *d, Pst__JobOnNode **on, struct njob **ret_job, struct err *err)
{
    struct njob *job = jobs_find(&d->jobs, (*on)->job->job_id, (*on)->run_id);
    char dir[SPOOL_PATH_MAX];
    int r;

    if (!job) {
        spool_job_dir(d->spool, (*on)->job->job_id, (*on)->run_id, dir, sizeof(dir));
        r = spool_make_job(d->spool, (*on)->job->job_id, (*on)->run_id);
        if (r == 0)
            r = spool_put_msg(dir, "job", &(*on)->base);
        if (r == 0)
            r = jobs_add_take(&d->jobs, *on, &job);
        if (r == 0)
            job->run_in_job = launch_in_job(d, job);
        if (r < 0) {
            (void)spool_remove_job(d->spool, (*on)->job->job_id,
                                   (*on)->run_id); /* r is the story */
            return err_set(err, r, "cannot keep the job in %s: %s", dir, strerror(-r));
        }
        *on = NULL;
        gpumap_update(d);
    }
    *ret_job = job;
    return 0;
}

static int make_step_dir(struct noded *d, const struct njob *job, uint32_t step_id)
{
    int r = spool_make_step(d->spool, job->job_id, job->run_id, step_id);

    if (r != -EEXIST)
        return r;
    /* The folder exists, but the step is not in our table: an earlier slurmd made the folder and
     * died before it started the step. */
    r = spool_remove_step(d->spool, job->job_id, job->run_id, step_id);
    return r < 0 ? r : spool_make_step(d->spool, job->job_id, job->run_id, step_id);
}

static int make_batch_step(struct noded *d, struct njob *job, const Pst__LaunchBatch *msg,
                           struct err *err)
{
    const Pst__JobRecord *j = job->on->job;
    char dir[SPOOL_PATH_MAX];
    int r = make_step_dir(d, job, STEP_ID_BATCH);

    spool_step_dir(d->spool, job->job_id, job->run_id, STEP_ID_BATCH, dir, sizeof(dir));
    if (r == 0)
        r = spool_write(dir, "slurm_script", msg->script.data, msg->script.len, 0700, j->uid,
                        j->gid);
    if (r < 0)
        return err_set(err, r, "cannot write the script to %s: %s", dir, strerror(-r));
    r = spool_link_script(d->spool, job->job_id, job->run_id);
    if (r < 0) /* the script runs by its longer name then */
        log_error("cannot link the script's folder: %s job=%u", strerror(-r), job->job_id);
    return 0;
}

/* PrologFlags=Contain: the step that holds whatever else belongs to the job here.  Without it
 * the job goes on. */
static void ensure_extern(struct noded *d, struct njob *job)
{
    struct nstep *step = NULL;
    Pst__StepFile *sf;
    int r;

    if (!job->on->has_contain || !job->on->contain || job->terminating || job->ns_lost ||
        job_find_step(job, STEP_ID_EXTERN))
        return;
    r = make_step_dir(d, job, STEP_ID_EXTERN);
    if (r == 0)
        r = job_add_step(job, STEP_ID_EXTERN, &step);
    if (r < 0) {
        log_error("cannot keep the extern step: %s job=%u", strerror(-r), job->job_id);
        return;
    }
    sf = sf_new(d, job, STEP_ID_EXTERN);
    if (sf)
        start_or_wait(d, step, sf, -1);
    else
        steps_end_unstarted(d, step, ERR_NOMEM);
}

int launch_batch(struct noded *d, Pst__LaunchBatch *msg, struct err *err)
{
    struct njob *job = NULL;
    struct nstep *step = NULL;
    Pst__StepFile *sf;
    int r = check_on(d, msg->job, err);

    if (r < 0)
        return r;
    job = jobs_find(&d->jobs, msg->job->job->job_id, msg->job->run_id);
    if (job && (job_find_step(job, STEP_ID_BATCH) || job->terminating))
        return 0;
    r = get_job(d, &msg->job, &job, err);
    if (r < 0)
        return r;
    r = make_batch_step(d, job, msg, err);
    if (r == 0)
        r = job_add_step(job, STEP_ID_BATCH, &step);
    sf = r == 0 ? sf_new(d, job, STEP_ID_BATCH) : NULL;
    if (sf && nodefreq_plan(d, sf) < 0) {
        sf_free(sf);
        sf = NULL;
    }
    if (!sf) {
        if (step)
            job_remove_step(job, step);
        (void)spool_remove_step(d->spool, job->job_id, job->run_id,
                                STEP_ID_BATCH); /* r is the story */
        return r < 0 ? r : err_nomem(err);
    }
    sf->has_environment = true;
    sf->environment = msg->environment;
    msg->environment = (ProtobufCBinaryData){ 0 };
    msg->has_environment = false;
    ensure_extern(d, job);
    start_or_wait(d, step, sf, -1);
    return 0;
}

int launch_prepare(struct noded *d, Pst__PrepareJob *msg, struct err *err)
{
    struct njob *job;
    int r = check_on(d, msg->job, err);

    if (r < 0)
        return r;
    job = jobs_find(&d->jobs, msg->job->job->job_id, msg->job->run_id);
    if (job && msg->job->mem_mib != job->on->mem_mib) {
        job->on->has_mem_mib = true;
        job->on->mem_mib = msg->job->mem_mib;
        return constrain_memory(d, job->on->job, job->on->mem_mib, err);
    }
    r = get_job(d, &msg->job, &job, err);
    if (r < 0)
        return r;
    job->prolog_wanted = true;
    if (job->prolog == SCRIPT_NOT_RUN && scripts_any(d, false))
        start_prolog(d, job);
    else if (job->prolog == SCRIPT_NOT_RUN)
        job->prolog = SCRIPT_DONE;
    ensure_extern(d, job);
    if (job->prolog == SCRIPT_DONE)
        report_prolog_done(d, job);
    return 0;
}

/* The end is the first that this node hears of the job: nothing ran here, but the site's Epilog is
 * for every node of a job (recording 64). */
struct njob *launch_for_epilog(struct noded *d, Pst__TerminateJob *msg)
{
    struct njob *job = NULL;
    struct err err = { .text = "" };

    if (!scripts_any(d, true) || !msg->job || check_on(d, msg->job, &err) < 0 ||
        msg->job->job->job_id != msg->job_id || msg->job->run_id != msg->run_id)
        return NULL;
    if (get_job(d, &msg->job, &job, &err) < 0)
        log_error("no Epilog of a job that ran nothing here: %s job=%u", err.text, msg->job_id);
    return job;
}

/* ---- steps of srun --------------------------------------------------------------------------- */

static long node_position(const char *nodes, const char *name)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (!nodes || hostlist_parse(nodes, &hl, NULL) < 0)
        return -1;
    return hostlist_find(hl, name);
}

static const Pst__AllocGroup *group_of(const Pst__Alloc *alloc, long position)
{
    for (size_t i = 0; alloc && position >= 0 && i < alloc->n_groups; i++) {
        if (position < (long)alloc->groups[i]->nodes)
            return alloc->groups[i];
        position -= (long)alloc->groups[i]->nodes;
    }
    return NULL;
}

/* What the controller would have told of the job, from its credential; takes its parts. */
static Pst__JobOnNode *on_from_credential(struct noded *d, Pst__StepCredential *cred)
{
    Pst__JobOnNode *on = malloc(sizeof(*on));
    const Pst__AllocGroup *g;
    long at;

    if (!on)
        return NULL;
    pst__job_on_node__init(on);
    at = node_position(cred->job->alloc ? cred->job->alloc->nodes : NULL, d->name);
    g = group_of(cred->job->alloc, at);
    on->job = TAKE_PTR(cred->job);
    on->has_run_id = on->has_node_index = on->has_cpus = true;
    on->run_id = cred->run_id;
    on->node_index = at < 0 ? 0 : (uint32_t)at;
    on->cpus = g ? alloc_task_cpus(g) : 0;
    on->gids = TAKE_PTR(cred->gids);
    on->n_gids = cred->n_gids;
    cred->n_gids = 0;
    on->cluster_name = TAKE_PTR(cred->cluster_name);
    on->has_contain = cred->has_contain;
    on->contain = cred->contain;
    on->job->has_uid = on->job->has_gid = on->job->has_job_id = true;
    on->job->job_id = cred->job_id;
    on->job->uid = cred->uid;
    on->job->gid = cred->gid;
    if (pb_set_str(&on->node_name, d->name) < 0 ||
        (!on->job->user_name && pb_set_str(&on->job->user_name, cred->user_name) < 0)) {
        pst__job_on_node__free_unpacked(on, NULL);
        return NULL;
    }
    return on;
}

struct step_request {
    Pst__LaunchStep *launch;
    Pst__StepCredential *cred;
};

/* The job of a credential, which this node may not know yet: then parts of cred are taken. */
static int job_of_credential(struct noded *d, Pst__StepCredential *cred, struct njob **ret_job,
                             struct err *err)
{
    struct njob *job = jobs_find(&d->jobs, cred->job_id, cred->run_id);
    int r = check_user(cred->uid, err);

    if (r < 0)
        return r;
    if (!job) {
        Pst__JobOnNode *on = on_from_credential(d, cred);

        if (!on)
            return err_nomem(err);
        r = get_job(d, &on, &job, err);
        if (on)
            pst__job_on_node__free_unpacked(on, NULL);
        if (r < 0)
            return r;
    }
    if (job->terminating)
        return err_set(err, -ESHUTDOWN, "Job credential revoked");
    if (job->on->job->uid != cred->uid)
        return err_set(err, -EACCES, "Invalid job credential");
    *ret_job = job;
    return 0;
}

void launch_x11(struct noded *d, const Pst__AttachStep *attach, Pst__StepCredential *cred, int fd,
                uint32_t request_id)
{
    struct err err = { .text = "" };
    struct njob *job = NULL;
    int own, r = job_of_credential(d, cred, &job, &err);

    if (r == 0 && !job->on->job->x11)
        r = err_set(&err, -EACCES, "the job did not ask for X11 forwarding");
    if (r == 0) {
        ensure_extern(d, job);
        x11_offer(d, job, attach, fd, request_id);
        return;
    }
    log_error("X11 connection refused: %s job=%u uid=%u", err.text, cred->job_id, cred->uid);
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0)
        listen_refuse_op(own, attach->stream_key, OP_ATTACH_STEP, request_id,
                         r == -ESHUTDOWN ? ESLURM_CREDENTIAL_REVOKED : SLURM_ERROR, err.text);
}

static int make_srun_step(struct noded *d, struct step_request *rq, uint32_t request_id,
                          struct nstep **ret_step, Pst__StepFile **ret_sf, struct err *err)
{
    struct njob *job = NULL;
    Pst__StepFile *sf;
    int r = job_of_credential(d, rq->cred, &job, err);

    if (r < 0)
        return r;
    if (job_find_step(job, rq->cred->step_id))
        return err_set(err, -EEXIST, "Duplicate job step");
    r = make_step_dir(d, job, rq->cred->step_id);
    if (r == 0)
        r = job_add_step(job, rq->cred->step_id, ret_step);
    if (r < 0)
        return err_set(err, r, "cannot keep the step in the spool directory: %s", strerror(-r));
    sf = sf_new(d, job, rq->cred->step_id);
    if (!sf) {
        job_remove_step(job, *ret_step);
        return err_nomem(err);
    }
    sf->launch = TAKE_PTR(rq->launch);
    sf->step = TAKE_PTR(rq->cred->step);
    sf->home = TAKE_PTR(rq->cred->home);
    sf->shell = TAKE_PTR(rq->cred->shell);
    set_num(&sf->has_launch_id, &sf->launch_id, request_id);
    if (nodefreq_plan(d, sf) < 0 || nodecxi_plan(d, sf) < 0) {
        sf_free(sf);
        job_remove_step(job, *ret_step);
        return err_nomem(err);
    }
    ensure_extern(d, job);
    *ret_sf = sf;
    return 0;
}

void launch_step(struct noded *d, Pst__LaunchStep *launch, Pst__StepCredential *cred, int srun_fd,
                 uint32_t request_id)
{
    struct step_request rq = { .launch = launch, .cred = cred };
    struct nstep *step = NULL;
    Pst__StepFile *sf = NULL;
    struct err err = { .text = "" };
    int r;

    if (!nodeconf_ready(d, launch, cred, srun_fd, request_id))
        return; /* called again with the configuration */
    r = make_srun_step(d, &rq, request_id, &step, &sf, &err);
    if (r < 0) {
        log_error("step refused: %s job=%u step=%u uid=%u", err.text, cred->job_id, cred->step_id,
                  cred->uid);
        listen_refuse_fd(srun_fd, launch->stream_key, request_id,
                         r == -ESHUTDOWN ? ESLURM_CREDENTIAL_REVOKED : SLURM_ERROR, err.text);
    } else {
        start_or_wait(d, step, sf, srun_fd);
    }
    if (rq.launch)
        pst__launch_step__free_unpacked(rq.launch, NULL);
    pst__step_credential__free_unpacked(cred, NULL);
}

/* The controller speaks on its own connection, so the credential is read without its signature.
 * A step that cannot be started has ended all the same: the controller waits to hear so. */
int launch_async(struct noded *d, Pst__LaunchStep *msg, struct err *err)
{
    const Pst__SignedCredential *sc = msg->credential;
    struct step_request rq = { 0 };
    struct njob *job;
    struct nstep *step = NULL;
    Pst__StepFile *sf = NULL;
    uint32_t step_id;
    int r;

    rq.cred =
        sc ? pst__step_credential__unpack(NULL, sc->credential.len, sc->credential.data) : NULL;
    if (!rq.cred || !rq.cred->job || !rq.cred->step || !rq.cred->step->alloc) {
        if (rq.cred)
            pst__step_credential__free_unpacked(rq.cred, NULL);
        return err_set(err, -EBADMSG, "incomplete credential");
    }
    step_id = rq.cred->step_id;
    job = jobs_find(&d->jobs, rq.cred->job_id, rq.cred->run_id);
    if ((job && job_find_step(job, step_id)) || (job && job->terminating)) {
        pst__step_credential__free_unpacked(rq.cred, NULL);
        return 0; /* known, or over with its job */
    }
    r = pb_dup(&msg->base, (ProtobufCMessage **)&rq.launch);
    if (r == 0)
        r = make_srun_step(d, &rq, 0, &step, &sf, err);
    if (r == 0) {
        start_or_wait(d, step, sf, -1);
    } else {
        job = jobs_find(&d->jobs, rq.cred->job_id, rq.cred->run_id);
        if (job && job_add_step(job, step_id, &step) == 0)
            steps_end_unstarted(d, step, err->text);
    }
    if (rq.launch)
        pst__launch_step__free_unpacked(rq.launch, NULL);
    pst__step_credential__free_unpacked(rq.cred, NULL);
    return r;
}
