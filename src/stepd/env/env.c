/* env.c - see env.h
 *
 * Variables are set from the job's record as the controller sent it, over what the submitting
 * command passed on: a job submitted from inside another must not see the outer job's values, so
 * variables that belong to a job and do not apply here are removed.  Pure; any thread. */
#include "stepd/env/env.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "stepd/env/gpuenv.h"
#include "stepd/shared/spool.h"

#define USEC INT64_C(1000000)

static const char *const hydra_vars[][2] = {
#define V(name, value) { name, value },
#include "base/launchervars.def"
#undef V
};

static void set_launcher_hints(struct envlist *el, const Pst__StepFile *sf)
{
    for (size_t i = 0; i < ARRAY_SIZE(hydra_vars) && !sf->no_hydra; i++)
        envlist_default(el, hydra_vars[i][0], hydra_vars[i][1]);
}

/* Left over from a step or an array task around the submission. */
static const char *const step_vars[] = {
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_STEP_LAUNCHER_PORT",
    "SLURM_SRUN_COMM_HOST",
    "SLURM_SRUN_COMM_PORT",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURMD_DEBUG",
    "SLURM_LABELIO",
    "SLURM_JOB_GROUP",
    "SLURM_CPU_BIND",
    "SLURM_CPU_BIND_TYPE",
    "SLURM_CPU_BIND_LIST",
    "SLURM_CPU_BIND_VERBOSE",
    "SLURM_UMASK",
    "SRUN_DEBUG",
};

static void set_opt(struct envlist *el, const char *name, bool has, uint64_t value)
{
    if (has)
        envlist_setu(el, name, value);
    else
        envlist_unset(el, name);
}

/* A task's record has its own index only; the controller put COUNT, MIN, MAX and STEP into the
 * environment of the submission. */
static void set_array(struct envlist *el, const Pst__JobRecord *j)
{
    if (!j->has_array_task_id) {
        envlist_unset_prefix(el, "SLURM_ARRAY_");
        return;
    }
    envlist_setu(el, "SLURM_ARRAY_JOB_ID", j->has_array_job_id ? j->array_job_id : j->job_id);
    envlist_setu(el, "SLURM_ARRAY_TASK_ID", j->array_task_id);
}

static void set_tres_per_task(struct envlist *el, const Pst__JobRecord *j)
{
    const char *text = j->tres_per_task;
    bool has_text = text && text[0];

    /* as it was typed; CPUs of -c may be among it */
    if (!j->has_cpus_per_task ||
        (has_text && (strncmp(text, "cpu", 3) == 0 || strstr(text, ",cpu"))))
        envlist_set(el, "SLURM_TRES_PER_TASK", has_text ? text : NULL);
    else
        envlist_setf(el, "SLURM_TRES_PER_TASK", "cpu=%u%s%s", j->cpus_per_task, has_text ? "," : "",
                     has_text ? text : "");
}

/* The job's user, account, cluster and node: for the batch script and the tasks. */
static void set_identity(struct envlist *el, const Pst__StepFile *sf)
{
    const Pst__JobRecord *j = sf->job->job;
    int64_t end = j->has_end_us ? j->end_us : 0;

    /* In all components the job is the leader's. */
    envlist_setu(el, "SLURM_JOB_ID", j->het_job_id ? j->het_job_id : j->job_id);
    envlist_setu(el, "SLURM_JOBID", j->het_job_id ? j->het_job_id : j->job_id);
    envlist_set(el, "SLURM_JOB_SLUID", j->sluid);
    envlist_set(el, "SLURM_JOB_PARTITION", j->partition);
    if (j->has_stepmgr && j->stepmgr)
        envlist_set(el, "SLURM_STEPMGR", j->batch_host);
    envlist_set(el, "SLURM_JOB_ACCOUNT", j->account);
    envlist_set(el, "SLURM_JOB_QOS", j->qos);
    envlist_set(el, "SLURM_JOB_RESERVATION", j->reservation);
    envlist_setu(el, "SLURM_JOB_UID", j->uid);
    envlist_setu(el, "SLURM_JOB_GID", j->gid);
    envlist_set(el, "SLURM_JOB_USER", j->user_name);
    envlist_set(el, "SLURM_CLUSTER_NAME", sf->job->cluster_name);
    envlist_set(el, "SLURM_CONF", sf->conf_path);
    envlist_set(el, "SLURM_SACK_SOCKET", sf->sack_socket); /* never the submitting host's */
    envlist_setu(el, "SLURM_JOB_START_TIME", (uint64_t)(j->start_us / USEC));
    if (!end && j->has_time_limit_min)
        end = j->start_us + (int64_t)j->time_limit_min * 60 * USEC;
    set_opt(el, "SLURM_JOB_END_TIME", end > 0, (uint64_t)(end / USEC));
    envlist_set(el, "SLURM_JOB_LICENSES", j->licenses);
    set_opt(el, "SLURM_RESTART_COUNT", j->restart_count > 0, j->restart_count);
    envlist_setu(el, "SLURM_OOM_KILL_STEP", j->oom_kill_step);
    envlist_default(el, "SLURM_PRIO_PROCESS", "0");
    envlist_default(el, "SLURM_SUBMIT_DIR", j->work_dir);
    envlist_default(el, "SLURM_SUBMIT_HOST", j->alloc_host);
    set_array(el, j);
}

/* What was asked for, where it is shown only when asked for. */
/* --hint=nomultithread says it in other words. */
static void set_profile(struct envlist *el, const char *profile)
{
    _cleanup_free_ char *text = profile ? wordlist_profile(profile) : NULL;

    if (text && *text)
        envlist_set(el, "SLURM_PROFILE", text);
}

static void set_threads(struct envlist *el, const Pst__JobRecord *j)
{
    bool one = j->hint && strcmp(j->hint, "nomultithread") == 0;

    set_opt(el, "SLURM_THREADS_PER_CORE", j->has_threads_per_core || one,
            j->has_threads_per_core ? j->threads_per_core : 1);
}

/* A submission from inside a job leaves what that job said of tasks and of memory of nodes to this
 * one, unless it says so itself. */
static void set_request(struct envlist *el, const Pst__JobRecord *j, uint64_t node_mem_mib)
{
    if (j->has_cpus_per_task || envlist_get(el, "SLURM_CPUS_PER_TASK"))
        envlist_setu(el, "SLURM_CPUS_PER_TASK", j->has_cpus_per_task ? j->cpus_per_task : 1);
    set_tres_per_task(el, j);
    set_opt(el, "SLURM_CPUS_PER_GPU", j->has_cpus_per_gpu, j->cpus_per_gpu);
    set_opt(el, "SLURM_MEM_PER_CPU", j->has_mem_per_cpu_mib && j->mem_per_cpu_mib,
            j->mem_per_cpu_mib);
    set_opt(el, "SLURM_MEM_PER_GPU", j->has_mem_per_gpu_mib && j->mem_per_gpu_mib,
            j->mem_per_gpu_mib);
    if (j->has_mem_per_node_mib && (j->mem_per_node_mib || node_mem_mib))
        envlist_setu(el, "SLURM_MEM_PER_NODE",
                     j->mem_per_node_mib ? j->mem_per_node_mib : node_mem_mib);
    set_opt(el, "SLURM_NTASKS_PER_NODE", j->has_ntasks_per_node, j->ntasks_per_node);
    set_opt(el, "SLURM_NTASKS_PER_CORE", j->has_ntasks_per_core, j->ntasks_per_core);
    set_opt(el, "SLURM_NTASKS_PER_SOCKET", j->has_ntasks_per_socket, j->ntasks_per_socket);
    set_opt(el, "SLURM_NTASKS_PER_GPU", j->has_ntasks_per_gpu, j->ntasks_per_gpu);
    set_threads(el, j);
    set_opt(el, "SLURM_OVERCOMMIT", j->overcommit, 1);
    envlist_set(el, "SLURM_HINT", j->hint);
    envlist_set(el, "SLURM_NETWORK", j->network);
    set_profile(el, j->profile);
    envlist_set(el, "SLURM_ACCTG_FREQ", j->acctg_freq);
    envlist_set(el, "SLURM_CPU_FREQ_REQ", j->cpu_freq);
    envlist_set(el, "SLURM_TRES_BIND", j->gpu_bind);
    if (!j->gpu_bind)
        envlist_unset(el, "SLURM_GPU_BIND");
    envlist_set(el, "SLURM_GPU_FREQ", j->gpu_freq);
    set_opt(el, "SLURM_JOB_SEGMENT_SIZE", j->segment_size > 0, j->segment_size);
}

static void set_distribution(struct envlist *el, const char *dist)
{
    const char *eq = dist ? strchr(dist, '=') : NULL;

    if (!eq || strncasecmp(dist, "arbitrary=", 10) == 0) {
        envlist_set(el, "SLURM_DISTRIBUTION", eq ? "arbitrary" : dist);
        envlist_unset(el, "SLURM_DIST_PLANESIZE");
        return;
    }
    envlist_setf(el, "SLURM_DISTRIBUTION", "%.*s", (int)(eq - dist), dist);
    envlist_set(el, "SLURM_DIST_PLANESIZE", eq + 1);
}

static void set_topology(struct envlist *el, const Pst__StepFile *sf)
{
    envlist_set(el, "SLURM_TOPOLOGY_ADDR",
                sf->topology_addr ? sf->topology_addr : sf->job->node_name);
    envlist_set(el, "SLURM_TOPOLOGY_ADDR_PATTERN",
                sf->topology_pattern ? sf->topology_pattern : "node");
}

/* By this name a container's runtime knows which channels to bring in. */
static void set_channel(struct envlist *el, const Pst__StepFile *sf)
{
    if (sf->has_imex_channel)
        envlist_setu(el, "NVIDIA_IMEX_CHANNELS", sf->imex_channel);
}

void env_tmpdir(struct envlist *el)
{
    envlist_default(el, "TMPDIR", "/tmp");
}

/* Who asked for no variable at all gets none of the user's either. */
static void set_user(struct envlist *el, const Pst__StepFile *sf)
{
    const Pst__JobRecord *j = sf->job->job;

    if (j->export_env && strcasecmp(j->export_env, "NIL") == 0)
        return;
    envlist_default(el, "HOME", sf->home);
    envlist_default(el, "SHELL", sf->shell);
    envlist_default(el, "USER", j->user_name);
    envlist_default(el, "LOGNAME", j->user_name);
}

static const char *exclusive_word(uint32_t exclusive)
{
    static const char *const words[] = { "NO", "NODE", "USER", "MCS", "TOPO" };

    return exclusive < ARRAY_SIZE(words) ? words[exclusive] : "NO";
}

static uint32_t batch_tasks(const Pst__JobRecord *j, uint32_t nodes)
{
    if (j->has_num_tasks)
        return j->num_tasks;
    if (j->has_ntasks_per_node)
        return j->ntasks_per_node * nodes;
    return 0;
}

/* What was asked for, whether the node has a runtime or not; a step has no part in what its job
 * asked for. */
static void set_container(struct envlist *el, const char *bundle, const char *id,
                          const char *runtime)
{
    envlist_set(el, "SLURM_CONTAINER", bundle);
    envlist_set(el, "SLURM_CONTAINER_ID", id);
    envlist_set(el, "SLURM_RUNTIME", runtime);
}

void env_batch(const Pst__StepFile *sf, const char *host, struct envlist *el)
{
    const Pst__JobOnNode *on = sf->job;
    const Pst__JobRecord *j = on->job;
    uint32_t nodes = env_alloc_nodes(j->alloc), tasks = batch_tasks(j, nodes);
    _cleanup_free_ char *cpus = env_counts(el, j->alloc, false);

    envlist_load(el, sf->environment.data, sf->environment.len);
    for (size_t i = 0; i < ARRAY_SIZE(step_vars); i++)
        envlist_unset(el, step_vars[i]);
    envlist_unset_prefix(el, "SLURM_RLIMIT_");
    set_identity(el, sf);
    if (sf->cgroup && sf->cgroup->has_oom_group) /* where the node decides by itself */
        envlist_setu(el, "SLURM_OOM_KILL_STEP", sf->cgroup->oom_group);
    set_request(el, j, on->mem_mib);
    set_distribution(el, j->distribution);
    gpu_env(sf, on->gres, on->n_gres, "SLURM_JOB_GPUS", el);
    set_channel(el, sf);
    set_topology(el, sf);
    set_user(el, sf);
    envlist_set(el, "SLURM_JOB_NAME", j->name);
    envlist_set(el, "SLURM_JOB_NODELIST", j->alloc ? j->alloc->nodes : on->node_name);
    envlist_set(el, "SLURM_NODELIST", j->alloc ? j->alloc->nodes : on->node_name);
    envlist_setu(el, "SLURM_JOB_NUM_NODES", nodes);
    envlist_setu(el, "SLURM_NNODES", nodes);
    envlist_set(el, "SLURM_JOB_CPUS_PER_NODE", on->cpus_per_node ? on->cpus_per_node : cpus);
    envlist_set(el, "SLURM_TASKS_PER_NODE", on->tasks_per_node ? on->tasks_per_node : cpus);
    envlist_setu(el, "SLURM_CPUS_ON_NODE", on->has_usable_cpus ? on->usable_cpus : on->cpus);
    if (tasks > 0) {
        envlist_setu(el, "SLURM_NTASKS", tasks);
        envlist_setu(el, "SLURM_NPROCS", tasks);
    }
    env_het(el, on->het_jobs, on->n_het_jobs);
    envlist_set(el, "SLURM_JOB_OVERSUBSCRIBE", j->oversubscribe ? "YES" : "NO");
    envlist_set(el, "SLURM_JOB_EXCLUSIVE",
                exclusive_word(j->exclusive     ? j->exclusive
                               : j->whole_nodes ? 1
                                                : 0));
    envlist_set(el, "SLURM_EXPORT_ENV", j->export_env);
    set_container(el, j->container, j->container_id, j->runtime);
    envlist_set(el, "SLURM_OPEN_MODE", j->open_mode);
    envlist_set(el, "SLURMD_NODENAME", on->node_name);
    envlist_setu(el, "SLURM_NODEID", on->node_index);
    envlist_set(el, "SLURM_LOCALID", "0");
    envlist_set(el, "SLURM_PROCID", "0");
    envlist_set(el, "SLURM_GTIDS", "0");
    envlist_set(el, "SLURM_STEP_ID", "-5");
    envlist_set(el, "SLURM_STEPID", "-5");
    envlist_set(el, "ENVIRONMENT", "BATCH");
    envlist_set(el, "HOSTNAME", host);
    if (sf->task_prolog)
        envlist_set(el, "SLURM_SCRIPT_CONTEXT", "prolog_task");
    set_launcher_hints(el, sf);
}

static void set_gtids(struct envlist *el, const Pst__LaunchStep *launch)
{
    size_t room = launch->n_task_ids * 11 + 1, at = 0;
    char *list = envlist_slot(el, "SLURM_GTIDS", room);

    for (size_t i = 0; list && i < launch->n_task_ids; i++)
        at += (size_t)snprintf(list + at, room - at, i ? ",%u" : "%u", launch->task_ids[i]);
}

static void set_step(struct envlist *el, const Pst__StepFile *sf)
{
    const Pst__StepRecord *step = sf->step;
    const Pst__LaunchStep *launch = sf->launch;
    uint32_t nodes = env_alloc_nodes(step->alloc), tasks = step->num_tasks;
    const Pst__AllocGroup *here = env_step_group(sf);
    _cleanup_free_ char *counts = env_counts(el, step->alloc, true);
    char id[16];

    envlist_set(el, "SLURM_STEP_NODELIST",
                launch->het_nodelist ? launch->het_nodelist
                : step->alloc        ? step->alloc->nodes
                                     : NULL);
    /* ranks and node numbers go through all components, so do the counts */
    if (launch->has_het_nodes)
        nodes = launch->het_nodes;
    if (launch->has_het_tasks)
        tasks = launch->het_tasks;
    envlist_setu(el, "SLURM_STEP_NUM_NODES", nodes);
    envlist_setu(el, "SLURM_NNODES", nodes);
    envlist_setu(el, "SLURM_STEP_NUM_TASKS", tasks);
    envlist_setu(el, "SLURM_NTASKS", tasks);
    envlist_setu(el, "SLURM_NPROCS", tasks);
    envlist_set(el, "SLURM_STEP_TASKS_PER_NODE", counts);
    envlist_set(el, "SLURM_TASKS_PER_NODE", counts);
    (void)snprintf(id, sizeof(id), sf->step_id >= STEP_ID_INTERACTIVE ? "%d" : "%u",
                   (int)sf->step_id);
    envlist_set(el, "SLURM_STEP_ID", id);
    envlist_set(el, "SLURM_STEPID", id);
    if (step->resv_ports)
        envlist_set(el, "SLURM_STEP_RESV_PORTS", step->resv_ports);
    else
        envlist_unset(el, "SLURM_STEP_RESV_PORTS"); /* of the step around this one */
    if (step->has_cpus_per_task) {
        envlist_setu(el, "SLURM_CPUS_PER_TASK", step->cpus_per_task);
        envlist_default(el, "SLURM_TRES_PER_TASK", "");
        if (!*envlist_get(el, "SLURM_TRES_PER_TASK"))
            envlist_setf(el, "SLURM_TRES_PER_TASK", "cpu=%u", step->cpus_per_task);
    }
    if (step->distribution)
        set_distribution(el, step->distribution);
    /* in a job of batch or salloc it is said which one it is */
    else if (!sf->job->job->kill_on_client_loss)
        set_distribution(el, step->num_tasks <= nodes ? "cyclic" : "block");
    if (here) {
        envlist_setu(el, "SLURM_CPUS_ON_NODE", env_held_cpus(here));
        gpu_env(sf, here->gres, here->n_gres, "SLURM_STEP_GPUS", el);
    }
}

/* With srun --preserve-env: a copy of what the user's environment says; else NULL. */
static char *keep_variable(const Pst__LaunchStep *launch, const struct envlist *el,
                           const char *name)
{
    const char *value = launch->preserve_env ? envlist_get(el, name) : NULL;

    return value ? strdup(value) : NULL; /* without memory the computed value stands */
}

/* srun and salloc --x11: in place of the display of the host where the job was submitted. */
static void set_display(struct envlist *el, const Pst__StepFile *sf)
{
    if (!sf->has_x11_display)
        return;
    envlist_setf(el, "DISPLAY", "localhost:%u", sf->x11_display);
    if (sf->x11_authority)
        envlist_set(el, "XAUTHORITY", sf->x11_authority);
    else
        envlist_unset(el, "XAUTHORITY"); /* ~/.Xauthority has it */
}

/* The terminal that srun --pty had when it began; a change of its size goes to srun's port. */
static void set_terminal(struct envlist *el, const Pst__LaunchStep *launch, uint16_t port)
{
    set_opt(el, "SLURM_PTY_PORT", port != 0, port);
    set_opt(el, "SLURM_PTY_WIN_COL", launch->has_pty_cols, launch->pty_cols);
    set_opt(el, "SLURM_PTY_WIN_ROW", launch->has_pty_rows, launch->pty_rows);
}

void env_step(const Pst__StepFile *sf, const char *launcher_addr, uint16_t launcher_port,
              struct envlist *el)
{
    const Pst__LaunchStep *launch = sf->launch;
    const Pst__JobRecord *j = sf->job->job;
    _cleanup_free_ char *own_nodes = NULL, *own_tasks = NULL;
    _cleanup_free_ char *cpus = env_counts(el, j->alloc, false);

    envlist_load(el, launch->environment.data, launch->environment.len);
    own_nodes = keep_variable(launch, el, "SLURM_JOB_NUM_NODES");
    own_tasks = keep_variable(launch, el, "SLURM_NTASKS");
    envlist_unset_prefix(el, "SLURM_RLIMIT_");
    envlist_unset(el, "SLURM_EXPORT_ENV");
    set_identity(el, sf);
    if (sf->cgroup && sf->cgroup->has_oom_group) /* where the node decides by itself */
        envlist_setu(el, "SLURM_OOM_KILL_STEP", sf->cgroup->oom_group);
    envlist_set(el, "SLURM_JOB_GROUP", j->group_name);
    /* who joins a job from outside has no name of the job: the step's is told */
    envlist_default(el, "SLURM_JOB_NAME", sf->step->name ? sf->step->name : j->name);
    envlist_set(el, "SLURM_JOB_NODELIST", j->alloc ? j->alloc->nodes : NULL);
    envlist_set(el, "SLURM_NODELIST", j->alloc ? j->alloc->nodes : NULL);
    envlist_setu(el, "SLURM_JOB_NUM_NODES", env_alloc_nodes(j->alloc));
    envlist_set(el, "SLURM_JOB_CPUS_PER_NODE", cpus);
    set_step(el, sf);
    if (own_nodes)
        envlist_set(el, "SLURM_JOB_NUM_NODES", own_nodes);
    if (own_tasks)
        envlist_set(el, "SLURM_NTASKS", own_tasks);
    set_gtids(el, launch);
    set_channel(el, sf);
    set_topology(el, sf);
    set_display(el, sf);
    envlist_default(el, "HOME", sf->home);
    envlist_default(el, "SHELL", sf->shell);
    envlist_set(el, "SLURMD_NODENAME", sf->job->node_name);
    envlist_setu(el, "SLURM_NODEID", launch->node_index + launch->het_node_offset);
    if (launch->has_slurmd_debug)
        envlist_setu(el, "SLURMD_DEBUG", launch->slurmd_debug);
    else
        envlist_default(el, "SLURMD_DEBUG", "2");
    envlist_setf(el, "SLURM_UMASK", "%04o", launch->has_umask ? launch->umask : 022);
    envlist_set(el, "SLURM_SRUN_COMM_HOST", launcher_addr);
    envlist_set(el, "SLURM_LAUNCH_NODE_IPADDR", launcher_addr);
    set_opt(el, "SLURM_SRUN_COMM_PORT", launcher_port != 0, launcher_port);
    set_opt(el, "SLURM_STEP_LAUNCHER_PORT", launcher_port != 0, launcher_port);
    if (launch->pty)
        set_terminal(el, launch, launcher_port);
    envlist_set(el, "SLURMD_TRES_BIND", envlist_get(el, "SLURM_TRES_BIND"));
    if (sf->step_id == STEP_ID_INTERACTIVE)
        set_container(el, j->container, j->container_id, j->runtime);
    else
        set_container(el, launch->container, launch->container_id, launch->runtime);
    if (launch->label)
        envlist_set(el, "SLURM_LABELIO", "1");
    if (sf->step_id == STEP_ID_INTERACTIVE) /* srun says what --export lets through */
        set_launcher_hints(el, sf);
    if (sf->task_prolog || launch->task_prolog)
        envlist_set(el, "SLURM_SCRIPT_CONTEXT", "prolog_task");
}

void env_task_rank(const Pst__LaunchStep *launch, uint32_t local_index, struct envlist *el)
{
    envlist_setu(el, "SLURM_PROCID", launch->task_ids[local_index]);
    envlist_setu(el, "SLURM_LOCALID", local_index);
}
