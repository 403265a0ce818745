/* simopts.h - the command line of `penstock sim`, and what it names: machine, workload, policies
 *
 * Internal to the command; one thread. */
#pragma once

#include "penstock/penstock.h"
#include "sim/report.h"

#define SIM_MAX_SETS 64u

struct conf;

/* What --from-live changes in its copy of the cluster. */
enum sim_what {
    SIM_DRAIN,
    SIM_RESUME,
    SIM_DOWN,
    SIM_ADD,
    SIM_PARTITION,
    SIM_CANCEL,
    SIM_HOLD,
    SIM_RELEASE,
    SIM_QOS,
    SIM_ACCOUNT,
    SIM_USER,
    SIM_RESV,
    SIM_ASKS
};
#define SIM_MAX_ASKS 64u
struct sim_ask {
    enum sim_what what;
    const char *text;
    const char *line; /* with its option, for the report */
};

struct sim_args {
    bool from_live, verify, all;
    const char *when, *submit, *defrag;
    uint64_t run_percent; /* 0 = 100 */
    struct sim_ask asks[SIM_MAX_ASKS];
    size_t nasks;
    const char *trace;    /* file; "-" = standard input */
    const char *journal;  /* folder */
    const char *format;   /* swf, sacct; NULL = by what is in it */
    const char *generate; /* lublin, gpu */
    uint64_t jobs, seed, users;
    double load, scale;
    const char *conf; /* slurm.conf; NULL = a machine of the following */
    uint64_t nodes, cpus, gpus, mem_mib;
    uint64_t block_nodes, segment; /* 0 = flat, no segments */
    const char *block_sizes;
    const char *compare;            /* policies, a comma list */
    const char *sets[SIM_MAX_SETS]; /* KEY=VALUE of slurm.conf */
    size_t nsets;
    uint64_t limit_factor_pct; /* of the time limits; 0 = as they are */
    bool json, timing, quiet;
    const char *html, *svg, *title;
};

/* Gives STATUS_OK, STATUS_USAGE, or -1 when help was printed. */
int simopts_parse(int argc, char **argv, struct sim_args *a);

/* simjournal.c: append the ended jobs of a controller's journal (StateSaveLocation, or a private
 * cluster's folder). Says what is wrong; gives STATUS_OK or another exit status.  May run beside a
 * live controller. */
int simjournal_read(const char *dir, struct workload *w);

/* DIR is a StateSaveLocation, or the folder of a private cluster: which folder has the journal? */
void simjournal_find(const char *dir, char *buf, size_t size);

/* simload.c.  Each says what is wrong; gives STATUS_OK or another exit status. */
int simload_workload(const struct sim_args *a, struct workload **ret_w);
/* The configuration of one policy: --conf or the machine of the options, with --set and the
 * policy's keys.  "easy+OPTION+OPTION": those are added to SchedulerParameters. */
int simload_conf(const struct sim_args *a, const struct workload *w, const char *policy,
                 struct conf **ret_conf);
/* Is that the policy which a word of --compare begins with? */
bool simload_is(const char *word, const char *policy);
