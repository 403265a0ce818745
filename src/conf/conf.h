/* conf.h - slurm.conf, gres.conf and cgroup.conf as typed data
 *
 * conf_load() reads everything and reports every problem, not the first only.  A struct conf is
 * immutable once loaded and may be shared between threads.  Keys: one table, conf_keys.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/gres/billweights.h"
#include "base/cleanup.h"
#include "base/err.h"

#define CONF_MAX_FILE (16u << 20)
#define CONF_MAX_INCLUDE_DEPTH 10
#define CONF_MAX_NODES 131072u
#define CONF_MAX_PARTS 4096u /* partitions; node sets likewise */
#define CONF_UNLIMITED UINT32_MAX

struct conf;

/* One problem found.  Errors refuse the configuration; warnings (a known key that we do not act
 * on) do not. */
struct conf_problem {
    char *file;
    unsigned line;
    bool error; /* the configuration is refused for it */
    bool wrong; /* a value that is not taken: what the key has without it holds */
    char *text; /* one sentence, names the nearest known spelling where there is one */
};
struct conf_problems {
    struct conf_problem *items;
    size_t n;
};
void conf_problems_done(struct conf_problems *p);
/* Print each as `FILE:LINE: error|warning: sentence`, a wrong value as an error (no line number
 * where there is none). */
void conf_report(FILE *f, const struct conf_problems *p);

enum conf_scope {
    CONF_FULL, /* daemons: everything, with cross checks */
    /* commands: the scalar keys; node and partition lines are skipped unparsed, fast */
    CONF_CLIENT,
};

/* Path used when none is given: SLURM_CONF, else PREFIX/etc/slurm.conf (compiled in), and when that
 * does not exist what slurmd or sackd keep here for commands, if they do. */
const char *conf_default_path(void);
/* The same without what is kept: the file of a host that has one. */
const char *conf_own_path(void);
#define CONF_RUN_FOLDER "/run/slurm"
#define CONF_KEPT_PATH CONF_RUN_FOLDER "/conf/slurm.conf"

/* Errors: -ENOENT, -EINVAL (see problems), -ENOMEM.  problems may be NULL; it is emptied first
 * and filled on success (warnings) and failure alike; caller frees with conf_problems_done().
 * err gets the first error. A client load does not insist on ClusterName or SlurmctldHost. */
int conf_load(const char *path, enum conf_scope scope, struct conf **ret_conf,
              struct conf_problems *problems, struct err *err);
/* The same from texts in memory, for tests and tools: files[0] is slurm.conf, includes,
 * gres.conf and cgroup.conf are looked up among the others by name; no file is opened.  Texts
 * are copied. */
struct conf_text {
    const char *name;
    const char *text;
    size_t len;
};
int conf_load_text(const struct conf_text *files, size_t n, enum conf_scope scope,
                   struct conf **ret_conf, struct conf_problems *problems, struct err *err);
struct conf *conf_free(struct conf *c); /* always NULL */
DEFINE_CLEANUP(struct conf *, conf_free)
const char *conf_path(const struct conf *c);
/* Of what slurm.conf and the files that it includes say: comments and spaces do not count, the
 * order of lines does.  Alike on hosts that have the same file. */
uint64_t conf_says_hash(const struct conf *c);

/* Scalar keys.  conf_keys.def rows: KEY(enum_suffix, "Name", TYPE, default, min, max, flags, unit,
 * summary). */
enum conf_key {
#define KEY(sym, ...) CONF_##sym,
#include "conf/conf_keys.def"
#undef KEY
    CONF_KEY_MAX_
};
/* NULL when unset without default */
const char *conf_str(const struct conf *c, enum conf_key key);
/* Numbers, sizes, durations in the row's unit; INFINITE is CONF_UNLIMITED; a port range gives
 * its first port. */
uint64_t conf_num(const struct conf *c, enum conf_key key);
bool conf_bool(const struct conf *c, enum conf_key key);
bool conf_is_set(const struct conf *c, enum conf_key key); /* written in the file */
/* i-th value of a repeatable key (Prolog, Epilog, SlurmctldHost ...), NULL past the end. */
const char *conf_str_nth(const struct conf *c, enum conf_key key, size_t i);
/* First and last port of a port range (SrunPortRange, SlurmctldPort); 0 and 0: any. */
void conf_ports(const struct conf *c, enum conf_key key, uint16_t *ret_first, uint16_t *ret_last);
/* Put words in front of the comma list of a key: of two with one name the first counts.  Before
 * other threads know c.  NULL or "" changes nothing.  -ENOMEM. */
int conf_words_before(struct conf *c, enum conf_key key, const char *words);
/* Is option `name` in the comma list of a key (SchedulerParameters ...)?  *ret_value: text after
 * '=', or "" (borrowed; ends at the next comma, length in *ret_len); both may be NULL. */
bool conf_option(const struct conf *c, enum conf_key key, const char *name, const char **ret_value,
                 size_t *ret_len);
/* Does PrivateData hide `what` ("jobs"...)?  The word "all" hides everything. */
bool conf_private(const struct conf *c, const char *what);
/* Is a plugin ("task/affinity") one of TaskPlugin, where its first part may be missing? */
bool conf_task_plugin(const struct conf *c, const char *name);
/* What PriorityFlags say of billing. */
enum billing_sum conf_billing_sum(const struct conf *c);
/* The flag of DebugFlags with this name in any case, in its own spelling; NULL: there is none. */
const char *conf_debug_flag(const char *name);
/* The nodes of a NodeSet line as a folded list; NULL: there is no set of that name. */
const char *conf_nodeset(const struct conf *c, const char *name);
/* What the line of a node set says: Feature= and Nodes=, each NULL when not given.  False: there is
 * no set of that name. */
bool conf_nodeset_line(const struct conf *c, const char *name, const char **ret_feature,
                       const char **ret_nodes);
bool conf_option_u64(const struct conf *c, enum conf_key key, const char *name,
                     uint64_t *ret_value);

/* Likewise for options where -1 has a meaning (bf_interval, sched_interval). */
bool conf_option_i64(const struct conf *c, enum conf_key key, const char *name, int64_t *ret_value);

/* SlurmUser resolved, at first use and through the name service only for a name other than root;
 * (uid_t)-1 when there is no such user (CONF_FULL refuses that at load). */
uid_t conf_slurm_uid(const struct conf *c);
/* SlurmdUser, likewise, but looked up each time: for the start of a daemon. */
uid_t conf_slurmd_uid(const struct conf *c);
uint16_t conf_ctld_port(const struct conf *c);
/* i-th SlurmctldHost: name and its own address (= name when not given); NULL past the end. */
const char *conf_ctld_host(const struct conf *c, size_t i, const char **ret_addr);
/* Where the one that leads is found, at most max; how many: SlurmctldAddr, and then the hosts' own
 * when there are several; without SlurmctldAddr these alone. */
size_t conf_ctld_addrs(const struct conf *c, const char **ret_addrs, size_t max);
/* Where a program or script of the configuration is: a name without a folder is beside slurm.conf.
 * The caller frees *ret_path.  -ENOMEM. */
int conf_program(const struct conf *c, const char *name, char **ret_path);
/* Key file of our own authentication: AuthInfo keyfile=..., else slurm.key beside slurm.conf. */
const char *conf_key_file(const struct conf *c);
/* The key of this host, unless AuthInfo names one: what is beside slurm.conf may go.  Before other
 * threads know c.  -ENOMEM. */
int conf_use_key(struct conf *c, const char *path);
/* Where the cluster's keys are without AuthInfo=keyfile=: SLURM_SACK_JWKS, SLURM_SACK_KEY, else
 * slurm.jwks in the folder (its path without the last '/', or "") when it is there, else
 * slurm.key.  The caller frees *ret_path.  -ENOMEM. */
int conf_key_path(const char *folder, char **ret_path);
bool conf_use_jwt(const struct conf *c);    /* AuthAltTypes names auth/jwt */
bool conf_client_ids(const struct conf *c); /* AuthInfo=use_client_ids */
bool conf_use_munge(const struct conf *c);  /* AuthType=auth/munge written in the file */
/* MaxDBDMsgs, or what follows from the numbers of jobs and nodes */
uint64_t conf_max_dbd_msgs(const struct conf *c);
/* AuthInfo=ttl, in seconds; 0: none */
uint32_t conf_munge_ttl_s(const struct conf *c);
/* CommunicationParameters keepalivetime, keepaliveinterval, keepaliveprobes; 0: not set */
void conf_keepalive(const struct conf *c, unsigned ret[3]);
const char *conf_munge_socket(const struct conf *c); /* AuthInfo socket=...; NULL = munge's own */

struct conf_node {
    char *name, *hostname, *addr;
    char *bcast_addr; /* where sbcast sends to; NULL: addr */
    uint16_t port;
    uint32_t boards, sockets, cores_per_socket, threads_per_core, cpus;
    uint64_t real_memory_mib, tmp_disk_mib, mem_spec_mib;
    uint32_t core_spec, weight, restricted_cores_per_gpu;
    uint32_t suspend_time_s; /* CONF_UNLIMITED never */
    bool has_suspend_time;
    char *cpu_spec_list, *features, *gres, *reason, *parameters;
    const char *cpu_bind; /* a word of cpubind_parse(); NULL: the partition says it */
    char *topology;       /* NULL: the files alone say where it is */
    char *state;          /* UNKNOWN DOWN DRAIN FAIL FUTURE CLOUD EXTERNAL */
    const char *file;
    unsigned line;
};
size_t conf_nodes(const struct conf *c);
const struct conf_node *conf_node(const struct conf *c, size_t i);
const struct conf_node *conf_find_node(const struct conf *c, const char *name); /* O(1) */
/* NodeName of this machine: by -N, else the line whose NodeHostname is `hostname` (short form
 * tried). */
const struct conf_node *conf_node_for_host(const struct conf *c, const char *hostname);

struct conf_part {
    char *name;
    char *nodes;        /* expanded: node sets, ALL and functions resolved; folded hostlist */
    char *nodes_config; /* as written */
    bool is_default, hidden, root_only, req_resv, lln, disable_root_jobs, power_down_on_idle;
    unsigned state; /* Pst__PartitionState */
    /* CONF_UNLIMITED; default unset = CONF_UNLIMITED with has_default_time false */
    uint32_t max_time_min, default_time_min;
    bool has_default_time;
    uint32_t max_nodes, min_nodes, max_cpus_per_node, max_cpus_per_socket;
    /* 0 = unset */
    uint64_t def_mem_per_cpu_mib, def_mem_per_node_mib, max_mem_per_cpu_mib, max_mem_per_node_mib;
    char *allow_groups, *allow_accounts, *allow_qos, *deny_accounts, *deny_qos, *alloc_nodes,
        *alternate;
    char *oversubscribe, *exclusive, *preempt_mode, *qos, *select_type_parameters,
        *tres_billing_weights, *job_defaults, *topology;
    const char *cpu_bind; /* as of nodes */
    uint32_t priority_tier, priority_job_factor, grace_time_s, over_time_limit_min;
    bool has_over_time_limit;
    /* Power saving; CONF_UNLIMITED never.  Without has_: as the cluster has it. */
    uint32_t suspend_time_s, suspend_timeout_s, resume_timeout_s;
    bool has_suspend_time, has_suspend_timeout, has_resume_timeout;
    const char *file;
    unsigned line;
};
size_t conf_parts(const struct conf *c);
const struct conf_part *conf_part(const struct conf *c, size_t i);

struct conf_gres {    /* a gres.conf row */
    char *node_names; /* hostlist, NULL = all */
    char *name, *type, *file, *cores, *links, *flags, *autodetect;
    uint64_t count; /* resolved: Count=, else number of files, else 1 */
};
size_t conf_gres_rows(const struct conf *c);
const struct conf_gres *conf_gres_row(const struct conf *c, size_t i);

struct conf_cgroup {                                       /* cgroup.conf with defaults */
    char *plugin, *mountpoint, *slice, *extra_controllers; /* extra_controllers: NULL = none */
    bool constrain_cores, constrain_ram, constrain_swap, constrain_devices, ignore_systemd;
    double allowed_ram_pct, allowed_swap_pct, max_ram_pct, max_swap_pct;
    uint64_t min_ram_mib;
    bool enable_controllers, signal_children, ignore_systemd_on_failure, job_id_paths;
    uint32_t systemd_timeout_ms;
    int swappiness; /* -1: the kernel's */
};
const struct conf_cgroup *conf_cgroup(const struct conf *c);
/* acct_gather_profile/influxdb by acct_gather.conf; the texts are the configuration's. */
struct conf_influx {
    const char *host, *database;
    const char *policy, *user, *pass; /* NULL: not given */
    uint32_t every_s, timeout_s;
};
/* False: AcctGatherProfileType is another. */
bool conf_gather_influx(const struct conf *c, struct conf_influx *ret);
/* ProfileHDF5Dir of acct_gather.conf; NULL: AcctGatherProfileType is another than hdf5. */
const char *conf_gather_hdf5(const struct conf *c);
/* What is sampled of jobs without --profile, wherever samples go; NULL: they go nowhere. */
const char *conf_gather_usual(const struct conf *c);
/* SysfsInterfaces of acct_gather.conf: "ib0,eth1"; NULL: none. */
const char *conf_gather_interfaces(const struct conf *c);

/* Programs that say and change the features of nodes: helpers.conf.  Texts belong to the conf. */
struct conf_helper {
    const char *nodes;    /* hostlist, NULL = all */
    const char *features; /* "a,b" */
    const char *path;
};
bool conf_helpers_on(const struct conf *c); /* NodeFeaturesPlugins=node_features/helpers */
/* The i-th row with a Helper; false beyond the last. */
bool conf_helper(const struct conf *c, size_t i, struct conf_helper *ret);
/* What AllowUserBoot says: "alice,bob"; NULL: all users. */
const char *conf_helpers_users(const struct conf *c);
uint32_t conf_helpers_boot_s(const struct conf *c), conf_helpers_exec_s(const struct conf *c);
/* Are the two different, and may no node have both? */
bool conf_features_exclude(const struct conf *c, const char *a, size_t alen, const char *b,
                           size_t blen);

/* How a node gives jobs private folders: job_container.conf, for one node.  Texts belong to the
 * conf. */
struct conf_namespace {
    const char *base_path;                                 /* with %h and %n */
    const char *dirs;                                      /* "/tmp,/dev/shm" */
    const char *init_script, *clone_script, *clone_epilog; /* NULL none */
    uint32_t clone_script_wait_s, clone_epilog_wait_s;
    bool auto_base_path, shared;
};
/* 1; 0: jobs of the node have none; -ENOENT: they are to have, and no line says where. */
int conf_namespace(const struct conf *c, const char *node_name, struct conf_namespace *ret);
/* Does namespace.yaml, beside slurm.conf, describe the private folders? */
bool conf_namespace_yaml(const struct conf *c);

/* How a node runs tasks in OCI bundles: oci.conf.  Texts belong to the conf; NULL = not given. */
struct conf_oci {
    const char *run, *create, *start, *query, *kill, *del; /* patterns of command lines */
    const char *container_path, *mount_spool_dir;          /* patterns of absolute paths */
    /* extended regular expressions, found sound */
    const char *env_exclude, *runtime_env_exclude;
    const char *disable_hooks; /* "prestart,poststop" */
    /* what ends a variable in the file of a task's environment: '0' a NUL, 'n' a newline; 0 = no
     * file */
    char env_file;
    bool disable_cleanup, ignore_config_json;
};
/* Letters that may follow % in a pattern; see oci/ocipattern.h. */
#define CONF_OCI_LETTERS "%@bejmnprstuUZ"
/* False: there is no oci.conf. */
bool conf_oci(const struct conf *c, struct conf_oci *ret);

/* Rows of `scontrol show config`, in Slurm's order and spelling: fn(key, value) with value NULL
 * for "(null)". Entries that only a running controller knows (BOOT_TIME, HASH_VAL, NEXT_JOB_ID)
 * come at their place with value == conf_show_caller (compare the pointers): the caller puts its
 * own value there.  The lines before ("Configuration data as of ...") and after (cgroup part,
 * "Slurmctld(primary) at ...") are the caller's too. */
extern const char conf_show_caller[];
void conf_show(const struct conf *c, void (*fn)(void *ctx, const char *key, const char *value),
               void *ctx);
/* Rows of the part "Cgroup Support Configuration:". */
void conf_show_cgroup(const struct conf *c,
                      void (*fn)(void *ctx, const char *key, const char *value), void *ctx);
/* Expand %h (host), %n (node name) and %% of log, pid and spool paths; a NULL name leaves its %x
 * as it is. Caller frees.  Errors: -ENOMEM. */
int conf_expand_path(const char *pattern, const char *node_name, const char *host, char **ret_path);
