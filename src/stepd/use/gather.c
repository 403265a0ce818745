/* gather.c - see gather.h
 *
 * A process belongs to the task it descends from, or in whose session it is when its parents are
 * gone.  What cannot be told apart counts for the first task. */
#include "stepd/use/gather.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/timefmt.h"
#include "stepd/use/energy.h"
#include "stepd/use/gpuuse.h"
#include "stepd/use/nodeio.h"
#include "stepd/use/stepprof.h"
#include "stepd/use/procscan.h"
#include "stepd/step.h"
#include "wire/client.h"
#include "wire/ops.h"

#define PIDS_MAX 8192u /* of an answer */
#define KINDS 12u

struct counts { /* that only grow */
    uint64_t cpu_us, pages, read_bytes, write_bytes;
};

struct task_figures {
    struct counts ended; /* of its processes that are over */
    struct counts most;  /* as far as seen */
    uint64_t mem, mem_most, vmem_most, gpu_mem_most, gpu_busy_most, freq_khz;
};

struct gather {
    struct task_figures *tasks;
    struct counts *live; /* of a look that is going on */
    uint64_t *mem, *vmem;
    struct gpuuse *gpus;      /* NULL: not measured */
    struct stepprof *profile; /* NULL: nobody wants samples */
    struct gpu_use *gpu_now;
    struct nodeio io[NODEIO_KINDS];
    bool has_io[NODEIO_KINDS];
    struct proc_use zombie;
    enum proc_memory how;
    int64_t next_mono_us; /* 0 = none */
    uint64_t usual_khz;   /* what the processors are said to run at, for one that tells nothing */
    Pst__TaskUse uses[KINDS], *list[KINDS]; /* of fill_usage() */
};

/* ---- whose process --------------------------------------------------------------------------- */

static bool is_ours(const struct step *s, pid_t top)
{
    if (top == s->mpi_pid)
        return true;
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].epilog.pid == top)
            return true;
    return false;
}

static size_t task_of(const struct step *s, pid_t top, pid_t session)
{
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid == top || s->tasks[i].pid == session)
            return i;
    return 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

static uint64_t read_number(const char *path)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    unsigned long long n = 0;

    return f && fscanf(f, "%llu", &n) == 1 ? n : 0;
}

static uint64_t read_usual_khz(void)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    double mhz = 0;

    while (f && mhz <= 0 && fgets(line, sizeof(line), f))
        if (sscanf(line, "cpu MHz : %lf", &mhz) != 1)
            mhz = 0;
    return (uint64_t)(mhz * 1000);
}

/* /proc/cpuinfo is long: it is read once, and only where a processor tells nothing. */
static uint64_t cpu_khz(struct gather *g, int cpu)
{
    char path[96];
    uint64_t khz;

    (void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
                   cpu);
    khz = cpu >= 0 ? read_number(path) : 0;
    if (khz)
        return khz;
    if (g->usual_khz == UINT64_MAX)
        g->usual_khz = read_usual_khz();
    return g->usual_khz;
}

static void add_counts(struct counts *to, const struct counts *more)
{
    to->cpu_us += more->cpu_us;
    to->pages += more->pages;
    to->read_bytes += more->read_bytes;
    to->write_bytes += more->write_bytes;
}

static void raise_most(uint64_t *most, uint64_t now)
{
    *most = MAX(*most, now);
}

/* A process may end between two passes before its children were counted, which makes the sum
 * smaller: never let the numbers go down. */
static void grow_counts(struct counts *most, const struct counts *ended, const struct counts *live)
{
    struct counts now = *ended;

    if (live)
        add_counts(&now, live);
    raise_most(&most->cpu_us, now.cpu_us);
    raise_most(&most->pages, now.pages);
    raise_most(&most->read_bytes, now.read_bytes);
    raise_most(&most->write_bytes, now.write_bytes);
}

/* Does it count memory?  Processor time comes without a controller, or with this one. */
static bool by_cgroup(const struct step *s)
{
    return (s->sf->gather->flags & GATHER_CGROUP) && s->cg.tree.kind != CGROUP_NONE &&
           (s->cg.tree.use & CGROUP_MEMORY);
}

static void take_process(struct step *s, const struct proc_below *p)
{
    struct gather *g = s->gather;
    struct proc_use use;
    size_t i;

    if (is_ours(s, p->top) || proc_use(p->pid, g->how, &use) < 0)
        return;
    i = task_of(s, p->top, use.session);
    add_counts(&g->live[i],
               &(struct counts){ use.cpu_us, use.pages, use.read_bytes, use.write_bytes });
    g->mem[i] += use.mem;
    g->vmem[i] += use.vmem;
    if (p->pid == s->tasks[i].pid)
        g->tasks[i].freq_khz = cpu_khz(g, use.cpu);
}

/* A cgroup's CPU time is of all that ever was in it; what it does not count is known of the
 * processes. */
static void take_cgroup(struct step *s, size_t i)
{
    struct task_figures *t = &s->gather->tasks[i];
    bool no_cache = s->sf->gather->flags & GATHER_NO_CACHE;
    struct cgroup_usage u;

    if (!by_cgroup(s) || cgroup_usage(&s->cg, s->tasks[i].rank, &u) < 0)
        return;
    raise_most(&t->most.cpu_us, u.user_us + u.sys_us);
    t->mem = no_cache ? u.own_bytes : u.mem_bytes;
    raise_most(&t->mem_most, no_cache ? u.own_bytes : MAX(u.mem_bytes, u.mem_peak_bytes));
    raise_most(&t->vmem_most, t->mem_most);
}

static void look_at_gpus(const struct step *s)
{
    struct gather *g = s->gather;

    if (!g->gpus)
        return;
    memset(g->gpu_now, 0, s->n_tasks * sizeof(*g->gpu_now));
    gpuuse_look(g->gpus, g->gpu_now);
    for (size_t i = 0; i < s->n_tasks; i++) {
        raise_most(&g->tasks[i].gpu_mem_most, g->gpu_now[i].mem_bytes);
        raise_most(&g->tasks[i].gpu_busy_most, g->gpu_now[i].busy_pct);
    }
}

static void look_at_io(struct gather *g)
{
    for (size_t i = 0; i < NODEIO_KINDS; i++)
        if (g->has_io[i])
            nodeio_look(&g->io[i]);
}

static void log_figures(const struct step *s)
{
    for (size_t i = 0; log_has_flag(LOG_SUBJECT_JOB_ACCOUNT_GATHER) && i < s->n_tasks; i++) {
        const struct task_figures *t = &s->gather->tasks[i];

        log_flag(JOB_ACCOUNT_GATHER,
                 "StepId=%u.%s task %u: cpu_us=%llu mem=%llu vmem=%llu read=%llu written=%llu",
                 s->job_id, s->step_name, s->tasks[i].rank, (unsigned long long)t->most.cpu_us,
                 (unsigned long long)t->mem, (unsigned long long)s->gather->vmem[i],
                 (unsigned long long)t->most.read_bytes, (unsigned long long)t->most.write_bytes);
    }
}

/* Returns how many processes there are; their list is the caller's. */
static size_t look_at_tasks(struct step *s, struct proc_below **ret_list)
{
    struct gather *g = s->gather;
    size_t n = proc_below(getpid(), ret_list);

    memset(g->live, 0, s->n_tasks * sizeof(*g->live));
    memset(g->mem, 0, s->n_tasks * sizeof(*g->mem));
    memset(g->vmem, 0, s->n_tasks * sizeof(*g->vmem));
    for (size_t i = 0; i < n; i++)
        take_process(s, &(*ret_list)[i]);
    for (size_t i = 0; i < s->n_tasks; i++) {
        struct task_figures *t = &g->tasks[i];

        grow_counts(&t->most, &t->ended, &g->live[i]);
        raise_most(&t->vmem_most, g->vmem[i]);
        if (!by_cgroup(s)) {
            t->mem = g->mem[i];
            raise_most(&t->mem_most, g->mem[i]);
        }
        take_cgroup(s, i);
    }
    look_at_gpus(s);
    look_at_io(g);
    log_figures(s);
    return n;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void start_profile(struct step *s)
{
    const Pst__Gather *want = s->sf->gather;
    struct stepprof_who who = { .job_id = s->job_id,
                                .step_id = s->step_id,
                                .host = s->sf->job->node_name };

    if (want->profile && want->profile_dir)
        (void)stepprof_new(&who, want->profile, want->profile_dir, s->n_tasks,
                           &s->gather->profile); /* else without samples */
    log_flag(PROFILE, "StepId=%u.%s: %s", s->job_id, s->step_name,
             s->gather->profile ? "samples are taken" : "no samples");
}

/* What was looked at just now. */
static void sample_step(struct step *s)
{
    struct gather *g = s->gather;

    if (!g->profile)
        return;
    stepprof_begin(g->profile, now_us(), now_mono_us());
    for (size_t i = 0; i < s->n_tasks; i++) {
        const struct task_figures *t = &g->tasks[i];
        struct stepprof_use use = { .cpu_us = t->most.cpu_us,
                                    .read_bytes = t->most.read_bytes,
                                    .write_bytes = t->most.write_bytes,
                                    .pages = t->most.pages,
                                    .mem = t->mem,
                                    .vmem = g->vmem[i],
                                    .freq_khz = t->freq_khz };

        stepprof_task(g->profile, i, s->tasks[i].rank, &use, s->tasks[i].exited);
    }
    if (g->has_io[NODEIO_NET])
        stepprof_io(g->profile, PROFILE_NETWORK, &g->io[NODEIO_NET].sum);
    if (g->has_io[NODEIO_LUSTRE])
        stepprof_io(g->profile, PROFILE_FILESYSTEM, &g->io[NODEIO_LUSTRE].sum);
    stepprof_end(g->profile);
    log_flag(PROFILE, "StepId=%u.%s: a sample of %zu tasks", s->job_id, s->step_name, s->n_tasks);
}

static void sample_energy(struct step *s)
{
    if (!s->gather || !s->gather->profile || !s->energy)
        return;
    stepprof_begin(s->gather->profile, now_us(), now_mono_us());
    stepprof_energy(s->gather->profile, s->energy->used_uj);
    stepprof_end(s->gather->profile);
}

static void end_over_limit(struct step *s, const char *what, uint64_t used, uint64_t limit)
{
    step_notice(s, "error: StepId=%u.%s exceeded %s limit (%llu > %llu), being killed", s->job_id,
                s->step_name, what, (unsigned long long)used, (unsigned long long)limit);
    s->on->terminate(s, NULL, SIGKILL, true, 0);
}

/* JobAcctGatherParams=OverMemoryKill; with VSizeFactor, virtual memory has a limit as well. */
static void check_limit(struct step *s)
{
    const Pst__AllocGroup *here = env_step_group(s->sf);
    uint64_t limit = (s->launch ? (here ? here->mem_mib : 0) : s->sf->job->mem_mib) << 20, sum = 0,
             vsize = 0, vsize_limit = limit / 100 * s->sf->gather->vsize_percent;

    for (size_t i = 0; i < s->n_tasks; i++) {
        sum += s->gather->tasks[i].mem;
        vsize += s->gather->vmem[i];
    }
    if (!(s->sf->gather->flags & GATHER_LIMIT) || !limit || s->stage != KILL_NONE)
        return;
    if (sum > limit)
        end_over_limit(s, "memory", sum, limit);
    else if (vsize_limit && vsize > vsize_limit)
        end_over_limit(s, "virtual memory", vsize, vsize_limit);
}

/* The energy is that of the whole node, other jobs included; a step of several nodes gets the
 * sum. */
static void look_at_energy(struct step *s)
{
    if (!s->energy)
        return;
    energy_look(s->energy);
    s->usage.has_energy_j = true;
    s->usage.energy_j = s->energy->used_uj / 1000000;
    log_flag(ENERGY, "StepId=%u.%s: the node used %llu J since the step began", s->job_id,
             s->step_name, (unsigned long long)s->usage.energy_j);
    s->energy_due_us = now_mono_us() + s->energy_every_us;
}

/* slurmd says what cannot be read. */
static void start_energy(struct step *s)
{
    uint32_t every_s = s->sf->gather ? s->sf->gather->energy_s : 0;

    s->energy = s->sf->energy_kind != ENERGY_NONE && !s->ext ? malloc(sizeof(*s->energy)) : NULL;
    if (!s->energy)
        return;
    if (energy_begin(s->energy, (enum energy_kind)s->sf->energy_kind, s->sf->machine_root) < 0) {
        free(s->energy);
        s->energy = NULL;
        return;
    }
    s->energy_every_us =
        (int64_t)(every_s ? MIN(every_s, ENERGY_LOOK_MAX_S) : ENERGY_LOOK_MAX_S) * USEC_PER_SEC;
    s->energy_due_us = now_mono_us() + s->energy_every_us;
}

static void start_io(struct step *s, enum nodeio_kind kind, bool wanted)
{
    struct gather *g = s->gather;

    g->io[kind] = (struct nodeio){ .root = s->sf->machine_root,
                                   .interfaces = s->sf->gather->interfaces,
                                   .kind = kind };
    g->has_io[kind] = wanted && nodeio_begin(&g->io[kind]) == 0;
}

void gather_start(struct step *s)
{
    const Pst__Gather *want = s->sf->gather;
    _cleanup_free_ struct proc_below *list = NULL;
    struct gather *g;

    start_energy(s);
    if (!want || s->ext || s->n_running == 0)
        return;
    g = calloc(1, sizeof(*g));
    if (!g)
        return; /* the step runs all the same */
    g->usual_khz = UINT64_MAX;
    g->tasks = calloc(s->n_tasks, sizeof(*g->tasks));
    g->live = calloc(s->n_tasks, sizeof(*g->live));
    g->mem = calloc(s->n_tasks, sizeof(*g->mem));
    g->vmem = calloc(s->n_tasks, sizeof(*g->vmem));
    g->gpu_now = calloc(s->n_tasks, sizeof(*g->gpu_now));
    g->how = want->flags & GATHER_PSS        ? PROC_PSS
             : want->flags & GATHER_UNSHARED ? PROC_UNSHARED
                                             : PROC_RSS;
    s->gather = g;
    if (!g->tasks || !g->live || !g->mem || !g->vmem || !g->gpu_now) {
        gather_done(s);
        return;
    }
    if (want->flags & GATHER_GPU)
        g->gpus = gpuuse_new(s);
    start_io(s, NODEIO_NET, want->interfaces != NULL);
    start_io(s, NODEIO_LUSTRE, want->lustre);
    start_profile(s);
    (void)look_at_tasks(s, &list);
    sample_step(s);
    sample_energy(s);
    if (want->task_s)
        g->next_mono_us = now_mono_us() + (int64_t)want->task_s * USEC_PER_SEC;
}

int64_t gather_due_us(const struct step *s)
{
    int64_t tasks = s->gather && s->n_running > 0 ? s->gather->next_mono_us : 0,
            energy = s->energy && s->n_running > 0 ? s->energy_due_us : 0;

    return tasks && energy ? MIN(tasks, energy) : MAX(tasks, energy);
}

void gather_tick(struct step *s, int64_t now_mono)
{
    _cleanup_free_ struct proc_below *list = NULL;
    int64_t due = gather_due_us(s);

    if (!due || now_mono < due)
        return;
    look_at_energy(s);
    sample_energy(s);
    if (!s->gather || !s->gather->next_mono_us || now_mono < s->gather->next_mono_us)
        return;
    (void)look_at_tasks(s, &list);
    s->gather->next_mono_us = now_mono_us() + (int64_t)s->sf->gather->task_s * USEC_PER_SEC;
    sample_step(s);
    check_limit(s);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void gather_zombie(struct step *s, pid_t pid)
{
    struct proc_info info;

    if (!s->gather)
        return;
    s->gather->zombie = (struct proc_use){ .pid = pid };
    if (proc_read(pid, &info) == 0)
        s->gather->zombie.session = info.session;
    proc_io(pid, &s->gather->zombie);
}

static uint64_t time_us(const struct timeval *tv)
{
    return (uint64_t)tv->tv_sec * USEC_PER_SEC + (uint64_t)tv->tv_usec;
}

void gather_reaped(struct step *s, pid_t pid, const struct rusage *ru)
{
    const struct proc_use *z = s->gather ? &s->gather->zombie : NULL;
    struct task_figures *t;
    size_t i;

    if (!z || is_ours(s, pid))
        return;
    i = task_of(s, pid, z->pid == pid ? z->session : 0);
    t = &s->gather->tasks[i];
    add_counts(&t->ended,
               &(struct counts){ time_us(&ru->ru_utime) + time_us(&ru->ru_stime),
                                 (uint64_t)ru->ru_majflt, z->pid == pid ? z->read_bytes : 0,
                                 z->pid == pid ? z->write_bytes : 0 });
    grow_counts(&t->most, &t->ended, NULL);
    if (by_cgroup(s))
        take_cgroup(s, i); /* before it goes with the step */
    /* A task that ended before the first pass has no peak from the files of /proc or the cgroup. */
    if (s->gather->how == PROC_RSS && (!by_cgroup(s) || (s->sf->gather->flags & GATHER_NO_CACHE)))
        raise_most(&t->mem_most, (uint64_t)ru->ru_maxrss << 10);
    raise_most(&t->vmem_most, t->mem_most);
}

/* ---- figures --------------------------------------------------------------------------------- */

/* What is the node's is the first task's. */
static uint64_t value_of(const struct gather *g, size_t task, Pst__UseKind kind)
{
    const struct task_figures *t = &g->tasks[task];
    bool first = task == 0;

    switch (kind) {
    case PST__USE_KIND__USE_NET_IN:
        return first ? g->io[NODEIO_NET].sum.in : 0;
    case PST__USE_KIND__USE_NET_OUT:
        return first ? g->io[NODEIO_NET].sum.out : 0;
    case PST__USE_KIND__USE_LUSTRE_READ:
        return first ? g->io[NODEIO_LUSTRE].sum.in : 0;
    case PST__USE_KIND__USE_LUSTRE_WRITE:
        return first ? g->io[NODEIO_LUSTRE].sum.out : 0;
    case PST__USE_KIND__USE_CPU:
        return t->most.cpu_us;
    case PST__USE_KIND__USE_MEM:
        return t->mem_most;
    case PST__USE_KIND__USE_VMEM:
        return t->vmem_most;
    case PST__USE_KIND__USE_PAGES:
        return t->most.pages;
    case PST__USE_KIND__USE_DISK_READ:
        return t->most.read_bytes;
    case PST__USE_KIND__USE_GPU_MEM:
        return t->gpu_mem_most;
    case PST__USE_KIND__USE_GPU_UTIL:
        return t->gpu_busy_most;
    default:
        return t->most.write_bytes;
    }
}

static void fill_use(const struct step *s, Pst__UseKind kind, Pst__TaskUse *u)
{
    u->has_kind = u->has_total = u->has_max = u->has_max_task = u->has_min = u->has_min_task = true;
    u->kind = kind;
    u->max_node = u->min_node = s->sf->job->node_name;
    for (size_t i = 0; i < s->n_tasks; i++) {
        uint64_t v = value_of(s->gather, i, kind);

        u->total += v;
        if (i == 0 || v > u->max) {
            u->max = v;
            u->max_task = s->tasks[i].rank;
        }
        if (i == 0 || v < u->min) {
            u->min = v;
            u->min_task = s->tasks[i].rank;
        }
    }
}

/* Those that are measured; the first as they are numbered. */
static size_t kinds_of(const struct gather *g, Pst__UseKind kinds[static KINDS])
{
    size_t n = 0;

    for (int k = PST__USE_KIND__USE_CPU; k <= PST__USE_KIND__USE_DISK_WRITE; k++)
        kinds[n++] = (Pst__UseKind)k;
    if (g->gpus) {
        kinds[n++] = PST__USE_KIND__USE_GPU_MEM;
        kinds[n++] = PST__USE_KIND__USE_GPU_UTIL;
    }
    if (g->has_io[NODEIO_NET]) {
        kinds[n++] = PST__USE_KIND__USE_NET_IN;
        kinds[n++] = PST__USE_KIND__USE_NET_OUT;
    }
    if (g->has_io[NODEIO_LUSTRE]) {
        kinds[n++] = PST__USE_KIND__USE_LUSTRE_READ;
        kinds[n++] = PST__USE_KIND__USE_LUSTRE_WRITE;
    }
    return n;
}

/* The strings and the list stay the step's: usage may be packed until the next call, or until
 * gather_done(). */
static void fill_usage(struct step *s, Pst__StepUsage *usage)
{
    Pst__TaskUse *uses = s->gather->uses, **list = s->gather->list;
    Pst__UseKind kinds[KINDS];

    usage->uses = list;
    usage->n_uses = kinds_of(s->gather, kinds);
    for (size_t k = 0; k < usage->n_uses; k++) {
        pst__task_use__init(&uses[k]);
        fill_use(s, kinds[k], &uses[k]);
        list[k] = &uses[k];
    }
    usage->has_tasks = usage->has_freq_khz = true;
    usage->tasks = (uint32_t)s->n_tasks;
    usage->freq_khz = 0;
    for (size_t i = 0; i < s->n_tasks; i++)
        usage->freq_khz += s->gather->tasks[i].freq_khz;
    raise_most(&usage->max_rss_kib, uses[PST__USE_KIND__USE_MEM].max >> 10);
}

void gather_finish(struct step *s)
{
    look_at_energy(s);
    if (!s->gather)
        return;
    look_at_io(s->gather);
    sample_step(s);
    sample_energy(s);
    fill_usage(s, &s->usage);
}

static void fill_pids(Pst__StepStat *stat, const struct proc_below *list, size_t n)
{
    n = MIN(n, (size_t)PIDS_MAX);
    stat->pids = calloc(n + 1, sizeof(*stat->pids));
    for (size_t i = 0; stat->pids && i < n; i++)
        stat->pids[stat->n_pids++] = (uint32_t)list[i].pid;
}

void gather_answer(struct step *s, int fd, const Pst__StepOrder *order)
{
    _cleanup_free_ struct proc_below *list = NULL;
    Pst__StepStat stat = PST__STEP_STAT__INIT;
    Pst__StepUsage usage = s->usage; /* of the tasks that have ended */
    struct client *c;
    size_t n;

    look_at_energy(s);
    usage.has_energy_j = s->usage.has_energy_j;
    usage.energy_j = s->usage.energy_j;
    if (client_from_stream(fd, order->stream_key, &c) < 0) {
        (void)close(fd); /* it sees the end of the connection */
        return;
    }
    n = s->gather && s->n_running > 0 ? look_at_tasks(s, &list) : proc_below(getpid(), &list);
    if (s->gather)
        fill_usage(s, &usage);
    stat.usage = &usage;
    fill_pids(&stat, list, n);
    /* A reader that does not take so little at once is none. */
    (void)client_send_nonblock(c, OP_STAT_STEP, FRAME_REPLY, order->stat_id, &stat.base);
    attach_answer(s, c); /* over TLS it leaves when the reader has answered */
    free(stat.pids);
}

void gather_done(struct step *s)
{
    struct gather *g = s->gather;

    free(s->energy);
    s->energy = NULL;
    if (!g)
        return;
    s->usage.uses = NULL; /* fill_usage() */
    s->usage.n_uses = 0;
    free(g->tasks);
    free(g->live);
    free(g->mem);
    free(g->vmem);
    free(g->gpu_now);
    gpuuse_free(g->gpus);
    (void)stepprof_free(g->profile); /* always NULL */
    free(g);
    s->gather = NULL;
}
