/* noded.h - slurmd's state and its parts
 *
 * Internal to the daemon.  One thread (the main loop's) owns everything here; the listening side's
 * threads hand over what they verified through listen.c's queue. */
#pragma once

#include "base/cleanup.h" /* first: libuv brings MIN and MAX of its own */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "conf/conf.h"
#include "daemon/daemon.h"
#include "noded/nodegres.h"
#include "stepd/cgroup/cgroup.h"
#include "stepd/use/energy.h"
#include "stepfile.pb-c.h"

struct auth_keys;
struct dialer;
struct server;
struct frame;
struct noded;

/* ---- jobs and steps on this node ------------------------------------------------------------- */

enum step_phase {
    STEP_WAITS, /* for the prolog */
    STEP_RUNS,  /* a step daemon has it */
    STEP_ENDED, /* `end` is known and not yet acknowledged */
};

struct nstep {
    struct nstep *next;
    struct njob *job;
    uint32_t step_id;
    enum step_phase phase;
    bool launched;   /* its tasks were exec'ed */
    bool unkillable; /* its daemon reported that SIGKILL has no effect, or does not answer */
    pid_t pid;       /* our child; 0 when found again after a restart */
    int ctl_fd;
    uv_poll_t *poll;
    /* when its daemon was ordered to end the step and has not answered since; 0 = no answer is due
     * (hung.c) */
    int64_t asked_mono_us;
    bool pinged;            /* its daemon was asked once more whether it is there */
    Pst__StepFile *waiting; /* what to start after the prolog; owned */
    int srun_fd;            /* with waiting */
    Pst__StepEnd *end;      /* owned; set in phase STEP_ENDED */
};

enum script_state {
    SCRIPT_NOT_RUN,
    SCRIPT_RUNS,
    SCRIPT_DONE,
    SCRIPT_FAILED,
};

struct njob {
    struct njob *next; /* in its bucket */
    uint32_t job_id;
    uint64_t run_id;
    Pst__JobOnNode *on; /* owned */
    struct nstep *steps;
    enum script_state prolog, epilog;
    bool prolog_wanted; /* PrepareJob: say prolog_done */
    bool terminating;   /* no new steps: TerminateJob came, or the one-node batch job is over */
    bool single;        /* one-node batch job that ended by itself: its end says node_clean */
    bool clean_wanted;  /* TerminateJob came: say clean */
    bool clean;         /* all done here; gone once acknowledged */
    int ns_fd;          /* mount namespace of its private folders; -1 none, or not yet */
    bool no_ns;         /* it started without private folders */
    bool ns_lost;       /* they ended before the job: no step starts any more */
    int ns_pid_fd;      /* first process of its process and user namespaces; -1 none, or not yet */
    uint32_t ns_flags;  /* with it: CLONE_NEWPID, CLONE_NEWUSER */
    bool released;      /* its extern step was told to end: the rest of the job is over */
    bool run_in_job;    /* prolog and epilog run in its extern step (PrologFlags=RunInJob) */
    bool prolog_waits;  /* the prolog waits until the extern step has started */
    bool emptied;       /* with released: the extern step waits for the epilog */
    bool finished;      /* the extern step was told that the epilog is over */
    bool suspended;     /* its steps are stopped, also those that start later */
    uint32_t batch_status;
    Pst__StepOrder *held; /* to end its other steps, until the batch step has its signal; owned */
    uv_timer_t *hold;     /* with held: the batch step had its time */
};

#define JOB_BUCKETS 1024u
struct jobs {
    struct njob *buckets[JOB_BUCKETS];
    size_t count;
    uint64_t *suspended; /* run ids of jobs that were suspended before they came here */
    size_t nsuspended;
};

/* jobtable.c */
struct njob *jobs_find(struct jobs *jobs, uint32_t job_id, uint64_t run_id); /* run_id 0: any */
/* on is taken on success. */
int jobs_add_take(struct jobs *jobs, Pst__JobOnNode *on, struct njob **ret_job);
void jobs_remove(struct jobs *jobs, struct njob *job); /* frees job and its steps */
struct nstep *job_find_step(struct njob *job, uint32_t step_id);
int job_add_step(struct njob *job, uint32_t step_id, struct nstep **ret_step);
void job_remove_step(struct njob *job, struct nstep *step);
/* Remember that a job is suspended, or no longer is.  The job may arrive on this node later. */
void jobs_note_suspended(struct jobs *jobs, uint64_t run_id, bool suspended);
bool job_has_live_steps(const struct njob *job);
bool job_has_live_work(const struct njob *job); /* live steps other than the extern step */
/* Forget the order to end that waits for the batch step (steps_release()). */
void job_unhold(struct njob *job);
void jobs_each(struct jobs *jobs, void (*fn)(void *ctx, struct njob *job), void *ctx);
struct nstep *jobs_find_pid(struct jobs *jobs, pid_t pid);

/* ---- the daemon ------------------------------------------------------------------------------ */

struct noded_options {
    struct daemon_options common;
    const char *node_name;
    bool clean_start, report_boot;
    char print; /* 'C' or 'G': print that and exit */
};

/* How a file calls functions of the files above it.  The order of files is
 *
 *   slurmd -> daemon -> nodeops, spoolrecover -> attachaccess, steplaunch -> stepwatch
 *          -> scripts, hung, listen, nodereport ... -> jobtable, hw, base
 *
 * and each file calls the files at its right by name.  For calls in the other direction daemon.c
 * has this table. */
struct noded_events {
    /* The controller sent a request; the controller has accepted our registration. */
    void (*request)(struct noded *d, struct dialer *dialer, const struct frame *frame);
    void (*registered)(struct noded *d);
    void (*stop)(struct noded *d); /* noded_stop() */
    void (*reconfigure)(struct noded *d);
    void (*energy)(struct noded *d); /* the node's energy was looked at: report_energy() */
    /* The job's prolog has ended: launch_after_prolog(). */
    void (*prolog_over)(struct noded *d, struct njob *job);
    /* The extern step has started, or did not: launch_waiting_prolog(). */
    void (*place_ready)(struct noded *d, struct njob *job);
    void (*advance_job)(struct noded *d, struct njob *job); /* steps_advance_job() */
    /* Requests of commands that the listening side has verified: launch_step(), access_*(). */
    void (*launch_step)(struct noded *d, Pst__LaunchStep *launch, Pst__StepCredential *cred,
                        int srun_fd, uint32_t request_id);
    void (*attach)(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id);
    void (*stat)(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id);
    void (*bcast)(struct noded *d, Pst__BcastOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id);
    void (*relay)(struct noded *d, Pst__RelayOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id);
};
extern const struct noded_events noded_events;

struct noded {
    const struct noded_events *on;
    const struct noded_options *opt;
    uv_loop_t loop;
    char *conf_file;
    struct conf *conf;
    const struct conf_node *node;
    char *name, *host, *spool, *pid_file, *log_path;
    char stepd_exe[4096];
    struct auth_keys *keys; /* NULL until there are any; the listener has its own reference */
    struct jobs jobs;
    struct cgroup_tree cgroups;
    Pst__NodeRecord *hardware;   /* as registered; owned */
    struct gres_rows *gres;      /* owned */
    Pst__Processors *processors; /* NULL: tasks are neither bound nor confined to CPUs; owned */
    bool binds;                  /* TaskPlugin=task/affinity */
    struct reporter *reporter;
    struct scripts *scripts;
    /* private folders of jobs; NULL: none on this node; owned; as of the start */
    Pst__Namespace *ns;
    struct siteprogs *siteprogs;
    struct watts *watts;
    struct plugins *plugins; /* NULL: none could be loaded */
    struct nvml *nvml;
    struct listener *listener;
    uv_signal_t sig_chld, signals[4]; /* SIGCHLD; those of daemon_signals[] */
    uv_timer_t hung;
    struct userproc *userprocs;
    bool boot_marked; /* the start with -b was written down; by hw.c */
    bool stopping;
};

/* daemon.c */
int noded_print(const struct noded_options *opt, bool gres); /* slurmd -C, -G; exit status */
/* Live as a daemon (daemon_live()); exit status. */
int noded_run(const struct daemon_head *head, const struct noded_options *opt);
void noded_stop(struct noded *d);
void noded_reconfigure(struct noded *d);
/* Load the keys.  The controller makes the key file at its first start, which may be after ours, so
 * this is tried at every registration. */
void noded_load_keys(struct noded *d, bool again); /* again: also when there are some */

/* hw.c: this machine */
/* Print the hardware for slurmd -C.  conf says where to look for GPUs; NULL: on this machine. */
int hw_print(const struct conf *conf);
/* The folder that stands for "/" where devices are looked for: SlurmdParameters=devices_root.
 * Caller frees; NULL: no memory. */
char *hw_root(const struct conf *conf);
/* The devices of the node.  -ENOMEM. */
int hw_gres(const struct noded *d, struct gres_rows **ret);
int hw_record(struct noded *d, Pst__NodeRecord **ret_record);
/* Is the node described by its configuration, as one of several on this machine? */
bool hw_configured_only(const struct noded *d);
/* Does the configuration confine jobs to their CPUs? */
bool hw_confines_cores(const struct conf *conf);
/* The processors, for binding tasks and confining jobs.  NULL when neither is configured, or when
 * the node is only described by its configuration.  The caller frees them. */
Pst__Processors *hw_processors(const struct noded *d);
void hw_load(uint32_t *ret_load_centi, uint64_t *ret_free_mib);
/* constrain.c: cgroups of the node, and what jobs and steps may use */
/* Are steps kept from devices that they were not given? */
bool constrain_devices(const struct noded *d);
/* Find and make the tree.  Errors: a plugin or controller that is configured by name is
 * missing. */
int constrain_begin(struct noded *d, struct err *err);
/* Remove the cgroups of jobs that ended without their step daemons; after recover_spool(). */
void constrain_sweep(struct noded *d);
void constrain_end(struct noded *d);
/* Fill sf->cgroup, which has its job, step and launch.  -ENOMEM. */
int constrain_plan(const struct noded *d, Pst__StepFile *sf);

/* Put a process into a part of the job's cgroup of its own.  *ret: the part below the root, NULL
 * where there are no cgroups; the caller frees it. */
int constrain_adopt(const struct noded *d, const Pst__JobRecord *job, uid_t uid, const char *name,
                    pid_t pid, char **ret, struct err *err);

/* ociconf.c: fill sf->oci when the step asks for a container and the node has an oci.conf.
 * -ENOMEM. */
int oci_plan(const struct noded *d, Pst__StepFile *sf);

/* gatherconf.c: how the use of a job's tasks is measured; NULL: it is not measured, or out of
 * memory.  The caller frees the result. */
Pst__Gather *gather_of(const struct conf *conf, const Pst__JobRecord *job);
enum energy_kind gather_energy(const struct conf *conf); /* AcctGatherEnergyType */
/* Seconds of "30" (tasks only) or "task=30,energy=10" for a kind of data; -1: not in it. */
int64_t gather_interval(const char *text, const char *kind);

/* watts.c: the node's energy, with AcctGatherNodeFreq */
int watts_new(struct noded *d, struct watts **ret);
void watts_configure(struct noded *d); /* at the start, and when the configuration was read again */
void watts_close(struct watts *w);
struct watts *watts_free(struct watts *w);
/* The node's energy as last measured, valid until the next measurement; NULL: not known. */
const Pst__NodeEnergy *watts_now(const struct noded *d);

bool gather_gpus(const struct conf *conf); /* is what GPUs are used for to be recorded? */
/* nvml.c: what NVIDIA's GPUs are used for, with AutoDetect=nvml */
int nvml_new(struct noded *d, struct nvml **ret);
void nvml_configure(struct noded *d); /* at the start, and when the configuration was read again */
void nvml_close(struct nvml *n);
struct nvml *nvml_free(struct nvml *n);
/* The file that step daemons read; NULL: there is none. */
const char *nvml_path(const struct noded *d);

/* steplaunch.c */
/* A batch job as the controller sends it.  0: accepted (or known already); errors leave nothing. */
int launch_batch(struct noded *d, Pst__LaunchBatch *msg, struct err *err);
/* Launch a step whose credential was verified; takes srun_fd and both messages in every case. */
void launch_step(struct noded *d, Pst__LaunchStep *launch, Pst__StepCredential *cred, int srun_fd,
                 uint32_t request_id);
/* A queued step, sent by the controller.  The parts it needs are taken from msg.  0: accepted or
 * known. */
int launch_async(struct noded *d, Pst__LaunchStep *msg, struct err *err);
int launch_prepare(struct noded *d, Pst__PrepareJob *msg, struct err *err);
/* Do the job's prolog and epilog run in its extern step, by the configuration?  The step itself may
 * decide otherwise. */
bool launch_in_job(const struct noded *d, const struct njob *job);
/* The extern step has started, or did not: the prolog that waited for it can run. */
void launch_waiting_prolog(struct noded *d, struct njob *job);
/* The prolog of job ended: start what waits, or give up. */
void launch_after_prolog(struct noded *d, struct njob *job);

/* stepwatch.c: following step daemons, signals, the end of steps and jobs */
int steps_follow(struct noded *d, struct nstep *step);
void steps_order(struct noded *d, struct njob *job, const Pst__SignalSteps *msg);
/* A step has just started: stop it when its job is suspended. */
void steps_started(struct noded *d, struct nstep *step);
void steps_terminate_job(struct noded *d, struct njob *job, const Pst__TerminateJob *msg);
void steps_ended(struct noded *d, struct nstep *step, Pst__StepEnd *end); /* end is taken */
/* Send the order to end, which waited for the batch step, to the job's other steps. */
void steps_release(struct noded *d, struct njob *job);
void steps_child_exited(struct noded *d, pid_t pid, int status);
void steps_advance_job(struct noded *d, struct njob *job); /* all steps over: epilog, clean */
/* The step's daemon is gone and has reported no end: take the end from the exit file; without one
 * the step counts as killed. */
void steps_lost(struct noded *d, struct nstep *step);
void steps_end_unstarted(struct noded *d, struct nstep *step, const char *why);

/* hung.c: step daemons that do not answer */
void hung_begin(struct noded *d);
void hung_told_to_end(struct noded *d, struct nstep *step);
void hung_answered(struct nstep *step); /* a message came from its daemon */

/* userproc.c: processes that serve a connection as the user, for a job but in no step */
/* -EAGAIN: the user has too many. */
int userproc_room(const struct noded *d, uint32_t uid, struct err *err);
/* Make pid, a child of ours that was started with this credential, a process of the job: it gets a
 * cgroup of the job and ends with the job.  On failure the child is killed. */
int userproc_add(struct noded *d, const Pst__StepCredential *cred, pid_t pid, const char *kind,
                 struct err *err);
/* Nothing else of the job is left on this node: its user processes get a moment to end. */
void userproc_job_over(struct noded *d, uint32_t job_id, uint64_t run_id);
void userproc_recover(struct noded *d); /* those of an earlier slurmd; after recover_spool() */
void userproc_close(struct noded *d);

/* spoolrecover.c: the spool after a restart */
void recover_spool(struct noded *d);
/* killleft.c */
/* Kill what a dead step daemon left; true when nothing is left. */
bool recover_kill_left(const struct noded *d, const char *step_dir, uint32_t job_id);

/* scripts.c: Prolog and Epilog */
int scripts_new(struct noded *d, struct scripts **ret_scripts);
struct scripts *scripts_free(struct scripts *scripts);
bool scripts_any(const struct noded *d, bool epilog);
void scripts_start(struct noded *d, struct njob *job, bool epilog);
bool scripts_child_exited(struct noded *d, pid_t pid, int status);

/* nodeplugins.c: plugins of the site (plugstack.conf) */
int plugins_begin(struct noded *d, struct err *err);
void plugins_end(struct noded *d);
void plugins_again(struct noded *d);     /* after a reconfiguration */
bool plugins_any(const struct noded *d); /* does plugstack.conf name any now? */
/* Do the plugins that slurmd loaded have a callback for Prolog or Epilog? */
bool plugins_have(const struct noded *d, bool epilog);
/* Where plugstack.conf is.  The caller frees; NULL: no memory. */
char *plugins_file(const struct noded *d);
/* Call the plugins' callbacks for Prolog or Epilog in a process of their own.  Returns as
 * spawn_program(). */
int plugins_spawn(const struct noded *d, bool epilog, char *const *envp, pid_t *ret_pid);

/* nodens.c: private folders of jobs (job_container.conf) */
int ns_configure(struct noded *d, struct err *err);
/* Must a step of the job wait for its private folders?  They come with the extern step's first
 * news. */
bool ns_pending(const struct noded *d, const struct njob *job);
/* Must a step of the job fail because the private folders are gone? */
bool ns_gone(const struct noded *d, const struct njob *job);
/* Keep the descriptor that came with the extern step's news; fd is taken over. */
void ns_take(struct njob *job, const Pst__StepNews *news, int fd);
/* The extern step has ended: so have namespaces that do not outlive it. */
void ns_lose(struct njob *job);
/* Remove what an extern step that was killed left of the job's folder; for all jobs that are not
 * here. */
void ns_clean_job(struct noded *d, const struct njob *job);
void ns_clean_strays(struct noded *d);

/* siteprog.c: programs of the site about the node as a whole */
enum siteprog { SITEPROG_HEALTH, SITEPROG_REBOOT, SITEPROG_UNKILLABLE, SITEPROG_MAX_ };
int siteprogs_new(struct noded *d, struct siteprogs **ret);
void siteprogs_close(struct siteprogs *p);
struct siteprogs *siteprogs_free(struct siteprogs *p);
/* Start the program of this kind, if one is configured and none of its kind runs.  step: the step
 * that the program is about, or NULL. */
void siteprog_run(struct noded *d, enum siteprog kind, const struct nstep *step);
bool siteprog_child_exited(struct noded *d, pid_t pid, int status);

/* nodereport.c: the controller's connection */
int report_new(struct noded *d, struct reporter **ret_reporter);
void report_start(struct reporter *r);
void report_close(struct reporter *r);
struct reporter *report_free(struct reporter *r);
void report_launched(struct noded *d, const struct nstep *step);
void report_ended(struct noded *d, const struct nstep *step);
void report_clean(struct noded *d, uint32_t job_id, uint64_t run_id);
void report_prolog_done(struct noded *d, const struct njob *job);
void report_prolog_failed(struct noded *d, const struct njob *job);
/* Report that the job ends and that its batch script has got its signal. */
void report_script_told(struct noded *d, const struct njob *job);
void report_drain(struct noded *d, const char *reason);
void report_energy(struct noded *d); /* the energy was measured */

/* nodeops.c: requests of the controller */
void ops_request(struct noded *d, struct dialer *dialer, const struct frame *frame);

/* attachaccess.c: sattach, sstat, sbcast and relays, their credential verified.  fd stays the
 * caller's. */
void access_stat(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id);
void access_attach(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id);
void access_bcast(struct noded *d, Pst__BcastOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id);
void access_relay(struct noded *d, Pst__RelayOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id);

/* listen.c: srun's requests */
int listen_new(struct noded *d, struct listener **ret_listener, struct err *err);
int listen_start(struct listener *l);
void listen_set_keys(struct listener *l, struct auth_keys *keys); /* takes a reference */
void listen_close(struct listener *l);
struct listener *listen_free(struct listener *l);
/* Launch requests for this run are refused from now on (until their credentials have expired). */
void listen_revoke(struct listener *l, uint32_t job_id, uint64_t run_id);
/* Answer a launch request that was refused after its connection was detached; closes fd. */
void listen_refuse_op(int fd, unsigned op, uint32_t request_id, int code, const char *text);
void listen_refuse_fd(int fd, uint32_t request_id, int code, const char *text);
