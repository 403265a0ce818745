/* items.c - spank_get_item(): what the program behind the stack knows; see slurm/spank.h */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "spank/stack_impl.h"

/* The release's parts as characters, so that the texts are constants. */
#define DIGIT(number, unit) (char)('0' + (number) / (unit) % 10)
#define MAJOR_DIGITS                                                                               \
    DIGIT(SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER), 10),                                          \
        DIGIT(SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER), 1)
#define MINOR_DIGITS                                                                               \
    DIGIT(SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), 10),                                          \
        DIGIT(SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), 1)
#define MICRO_DIGIT DIGIT(SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER), 1)
_Static_assert(SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER) >= 10 &&
                   SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER) < 100 &&
                   SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER) < 100 &&
                   SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER) < 10,
               "the digits are as many as these macros give");

#define OUT(type, value)                                                                           \
    do {                                                                                           \
        *va_arg(*ap, type *) = (value);                                                            \
        return ESPANK_SUCCESS;                                                                     \
    } while (0)

static spank_err_t get_version(spank_item_t item, va_list *ap)
{
    /* Plugins keep the pointers. */
    static const char texts[][8] = {
        { MAJOR_DIGITS, '.', MINOR_DIGITS, '.', MICRO_DIGIT },
        { MAJOR_DIGITS },
        { MINOR_DIGITS },
        { MICRO_DIGIT },
    };

    OUT(char *, (char *)texts[item - S_SLURM_VERSION]);
}

static spank_err_t of_task(const struct spank_facts *f, spank_item_t item, va_list *ap)
{
    if (f->task < 0)
        return ESPANK_NOT_TASK;
    switch (item) {
    case S_TASK_ID:
        OUT(int, f->task);
    case S_TASK_GLOBAL_ID:
        OUT(uint32_t, f->ranks[f->task]);
    case S_TASK_PID:
        if (f->pids[f->task] <= 0)
            return ESPANK_NOT_EXECD;
        OUT(pid_t, f->pids[f->task]);
    case S_TASK_EXIT_STATUS:
        if (!(f->known & (1ull << S_TASK_EXIT_STATUS)))
            return ESPANK_NOT_AVAIL;
        OUT(int, f->status);
    default:
        return ESPANK_BAD_ARG;
    }
}

/* Process numbers, ranks and places on the node, from one to the other. */
static spank_err_t translate_id(const struct spank_facts *f, spank_item_t item, va_list *ap)
{
    bool by_pid = item == S_JOB_PID_TO_GLOBAL_ID || item == S_JOB_PID_TO_LOCAL_ID;
    bool to_rank = item == S_JOB_PID_TO_GLOBAL_ID || item == S_JOB_LOCAL_TO_GLOBAL_ID;
    pid_t pid = by_pid ? va_arg(*ap, pid_t) : 0;
    uint32_t id = by_pid ? 0 : va_arg(*ap, uint32_t), at = f->local_tasks;

    if (!(f->known & (1ull << S_JOB_LOCAL_TO_GLOBAL_ID)))
        return ESPANK_NOT_AVAIL;
    if (item == S_JOB_LOCAL_TO_GLOBAL_ID)
        at = id;
    for (uint32_t i = 0;
         at >= f->local_tasks && item != S_JOB_LOCAL_TO_GLOBAL_ID && i < f->local_tasks; i++)
        if (by_pid ? pid > 0 && f->pids[i] == pid : f->ranks[i] == id)
            at = i;
    if (at >= f->local_tasks)
        return ESPANK_NOEXIST;
    OUT(uint32_t, to_rank ? f->ranks[at] : at);
}

static spank_err_t of_command(const struct spank_host *host, spank_item_t item, va_list *ap)
{
    const struct spank_facts *f = &host->facts;

    switch (item) {
    case S_JOB_ARGV:
        *va_arg(*ap, int *) = f->argc;
        OUT(char **, f->argv);
    case S_JOB_ENV:
        OUT(char **, host->env_all(host->ctx));
    case S_JOB_SUPPLEMENTARY_GIDS:
        *va_arg(*ap, gid_t **) = f->gids;
        OUT(int, f->n_gids);
    case S_JOB_ALLOC_CORES:
        OUT(const char *, f->job_cores);
    case S_STEP_ALLOC_CORES:
        OUT(const char *, f->step_cores);
    case S_JOB_ALLOC_MEM:
        OUT(uint64_t, f->job_mem_mib);
    case S_STEP_ALLOC_MEM:
        OUT(uint64_t, f->step_mem_mib);
    default:
        return ESPANK_BAD_ARG;
    }
}

static spank_err_t get_number(const struct spank_facts *f, spank_item_t item, va_list *ap)
{
    switch (item) {
    case S_JOB_UID:
        OUT(uid_t, f->uid);
    case S_JOB_GID:
        OUT(gid_t, f->gid);
    case S_JOB_ID:
        OUT(uint32_t, f->job_id);
    case S_JOB_STEPID:
        OUT(uint32_t, f->step_id);
    case S_JOB_NNODES:
        OUT(uint32_t, f->nodes);
    case S_JOB_NODEID:
        OUT(uint32_t, f->node_index);
    case S_JOB_LOCAL_TASK_COUNT:
        OUT(uint32_t, f->local_tasks);
    case S_JOB_TOTAL_TASK_COUNT:
        OUT(uint32_t, f->total_tasks);
    case S_JOB_NCPUS:
        OUT(uint16_t, f->cpus);
    case S_STEP_CPUS_PER_TASK:
        OUT(uint32_t, f->cpus_per_task);
    case S_SLURM_RESTART_COUNT:
        OUT(uint32_t, f->restarts);
    case S_JOB_ARRAY_ID:
        OUT(uint32_t, f->array_job_id);
    case S_JOB_ARRAY_TASK_ID:
        OUT(uint32_t, f->array_task_id);
    default:
        return ESPANK_BAD_ARG;
    }
}

static spank_err_t get_item(const struct spank_host *host, spank_item_t item, va_list *ap)
{
    const struct spank_facts *f = &host->facts;

    switch (item) {
    case S_SLURM_VERSION:
    case S_SLURM_VERSION_MAJOR:
    case S_SLURM_VERSION_MINOR:
    case S_SLURM_VERSION_MICRO:
        return get_version(item, ap);
    case S_TASK_ID:
    case S_TASK_GLOBAL_ID:
    case S_TASK_EXIT_STATUS:
    case S_TASK_PID:
        return host->context == S_CTX_REMOTE ? of_task(f, item, ap) : ESPANK_NOT_REMOTE;
    case S_JOB_PID_TO_GLOBAL_ID:
    case S_JOB_PID_TO_LOCAL_ID:
    case S_JOB_LOCAL_TO_GLOBAL_ID:
    case S_JOB_GLOBAL_TO_LOCAL_ID:
        return host->context == S_CTX_REMOTE ? translate_id(f, item, ap) : ESPANK_NOT_REMOTE;
    default:
        break;
    }
    if ((unsigned)item > S_JOB_ARRAY_TASK_ID)
        return ESPANK_BAD_ARG;
    if (!(f->known & (1ull << item)))
        return ESPANK_NOT_AVAIL;
    switch (item) {
    case S_JOB_ARGV:
    case S_JOB_ENV:
    case S_JOB_SUPPLEMENTARY_GIDS:
    case S_JOB_ALLOC_CORES:
    case S_STEP_ALLOC_CORES:
    case S_JOB_ALLOC_MEM:
    case S_STEP_ALLOC_MEM:
        return of_command(host, item, ap);
    default:
        return get_number(f, item, ap);
    }
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
    va_list ap;
    spank_err_t r;

    if (!sp || !sp->stack || sp->stack != spank_the_stack)
        return ESPANK_BAD_ARG;
    va_start(ap, item);
    r = get_item(sp->stack->host, item, &ap);
    va_end(ap);
    return r;
}
