/* noded.h - slurmd's state
 *
 * Internal to the daemon.  One thread (the main loop's) owns everything here; the listening side's
 * threads hand over what they verified through listen.c's queue. */
#pragma once

#include "base/cleanup.h" /* first: libuv brings MIN and MAX of its own */

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "api.pb-c.h"
#include "base/err.h"
#include "conf/conf.h"
#include "daemon/daemon.h"
#include "noded/hw/nodegres.h"
#include "noded/jobs/jobtable.h"
#include "stepd/cgroup/cgroup.h"
#include "stepd/use/energy.h"
#include "stepd/use/procscan.h"
#include "stepfile.pb-c.h"
#include "wire/auth/idkey.h"

struct auth_keys;
struct kiosk;
struct nodecert;
struct tls_ctx;
struct dialer;
struct server;
struct frame;
struct noded;

struct noded_options {
    struct daemon_options common;
    const char *node_name;
    const char *parameters, *extra, *instance_id, *instance_type; /* NULL: not given */
    const char *node_conf;                                        /* --conf */
    const char *conf_server; /* --conf-server; NULL: not given */
    const char *ca_file;     /* --ca-cert-file; NULL: not given */
    const char *stepd;       /* -d: the step daemon; NULL: the one beside slurmd */
    const char *feature;     /* -F: of the node; NULL: of any */
    bool dynamic, future;    /* -Z, -F */
    bool clean_start, report_boot, lock_memory;
    char print; /* 'C' or 'G': print that and exit */
};

/* How a room calls functions of the rooms above it: each calls the rooms below by name (README.md),
 * and for the other direction daemon.c has this table. */
struct noded_events {
    /* The controller sent a request; the controller has accepted our registration. */
    void (*request)(struct noded *d, struct dialer *dialer, const struct frame *frame);
    void (*registered)(struct noded *d);
    /* The controller says where the node is; t is taken. */
    void (*placed)(struct noded *d, Pst__NodeTopology *t);
    void (*stop)(struct noded *d); /* noded_stop() */
    /* Read the configuration again; a failure changes nothing. */
    int (*reconfigure)(struct noded *d, struct err *err);
    int (*load_tls)(struct noded *d, struct err *err); /* noded_load_tls() */
    void (*energy)(struct noded *d); /* the node's energy was looked at: report_energy() */
    /* The job's prolog has ended: launch_after_prolog(). */
    void (*prolog_over)(struct noded *d, struct njob *job);
    /* The extern step has started, or did not: launch_waiting_prolog(). */
    void (*place_ready)(struct noded *d, struct njob *job);
    void (*advance_job)(struct noded *d, struct njob *job); /* steps_advance_job() */
    /* Requests of commands that the listening side has verified: launch_step(), launch_x11(),
     * access_*(). */
    void (*launch_step)(struct noded *d, Pst__LaunchStep *launch, Pst__StepCredential *cred,
                        int srun_fd, uint32_t request_id);
    void (*attach)(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id,
                   ProtobufCBinaryData stream_key);
    void (*x11)(struct noded *d, const Pst__AttachStep *attach, Pst__StepCredential *cred, int fd,
                uint32_t request_id);
    void (*stat)(struct noded *d, const Pst__StepCredential *cred, int fd, uint32_t request_id,
                 ProtobufCBinaryData stream_key);
    void (*bcast)(struct noded *d, Pst__BcastOpen *open, const Pst__StepCredential *cred, int fd,
                  uint32_t request_id);
    void (*tail)(struct noded *d, Pst__TailOutput *tail, const Pst__StepCredential *cred, int fd,
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
    struct nodeconf *nodeconf; /* the configuration comes from the controller; NULL: it does not */
    struct conf *conf;
    const struct conf_node *node; /* of conf, or of own_node */
    struct conf *own_node;        /* a node that slurm.conf does not name; NULL: it does */
    char *node_line;              /* -Z: how the node describes itself; NULL: it does not */
    char *claimed_line;           /* -F: of a node that slurm.conf does not name */
    char *name, *host, *spool, *pid_file, *log_path;
    char stepd_exe[4096];
    char work_dir[PATH_MAX]; /* where we are, and where programs of the site start */
    struct tls_ctx *tls;     /* NULL: no TLSType */
    struct nodecert *cert;   /* scripts of the site get it signed; NULL: they do not */
    struct auth_keys *keys;  /* NULL until there are any; the listener has its own reference */
    struct idkey *identity;  /* the node's own key; NULL: it could not be made; owned */
    uint8_t controller_key[IDKEY_SIZE];
    bool has_controller_key, controller_given; /* given: by slurmctld.pub beside slurm.conf */
    struct jobs jobs;
    struct cgroup_tree cgroups;
    uint32_t imex_major;         /* of the devices of IMEX channels; 0 = none here */
    Pst__NodeRecord *hardware;   /* as registered; owned */
    struct gres_rows *gres;      /* owned */
    Pst__Processors *processors; /* NULL: tasks are neither bound nor confined to CPUs; owned */
    bool binds;                  /* TaskPlugin=task/affinity */
    struct reporter *reporter;
    struct scripts *scripts;
    /* private folders of jobs; NULL: none on this node; owned; as of the start */
    Pst__Namespace *ns;
    struct siteprogs *siteprogs;
    struct helpers *helpers;
    struct watts *watts;
    struct profsend *profsend; /* NULL: samples of steps are not wanted there */
    struct profkeep *profkeep; /* the same */
    struct plugins *plugins;   /* NULL: none could be loaded */
    struct nvml *nvml;
    struct listener *listener;
    struct kiosk *kiosk;              /* NULL: this daemon vouches for nobody */
    Pst__NodeTopology *topology;      /* as the controller last said; NULL: not yet; owned */
    uv_signal_t sig_chld, signals[4]; /* SIGCHLD; those of daemon_signals[] */
    uv_timer_t hung;
    struct userproc *userprocs;
    char world[PROC_WORLD]; /* proc_world(), once a step was started */
    bool boot_marked;       /* the start with -b was written down; by hw.c */
    bool stopping;
};

int noded_print(const struct noded_options *opt, bool gres); /* slurmd -C, -G; exit status */
/* Live as a daemon (daemon_live()); exit status. */
int noded_run(const struct daemon_head *head, const struct noded_options *opt);
void noded_stop(struct noded *d);
int noded_reconfigure(struct noded *d, struct err *err);
/* Load the keys.  The controller makes the key file at its first start, which may be after ours, so
 * this is tried at every registration. */
void noded_load_keys(struct noded *d, bool again); /* again: also when there are some */
/* Our certificate and whom we trust, as the configuration names them; on failure what was stays. */
int noded_load_tls(struct noded *d, struct err *err);
