/* limit.h - limits of associations and QOS: how many jobs, how much of each TRES, for how long
 *
 * Part of the scheduler's interface (sched.h).  The caller names the levels with their limits, and
 * the levels that a job counts against; the counters follow the starts and ends that the scheduler
 * knows of.  A job that is over a limit waits (SCHED_WHY_LIMIT, with the limit's number) and holds
 * up no other job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched;

#define SCHED_TRES_MAX 256u
#define SCHED_NO_LIMIT UINT64_MAX

enum sched_tres_type { /* as the numbers of limits tell them apart */
                       SCHED_TRES_CPU,
                       SCHED_TRES_MEM, /* MiB */
                       SCHED_TRES_NODE,
                       SCHED_TRES_ENERGY,
                       SCHED_TRES_BB,
                       SCHED_TRES_GRES,
                       SCHED_TRES_LICENSE,
                       SCHED_TRES_BILLING,
                       SCHED_TRES_OTHER,
};

/* Number of a limit: of those with a TRES 16 * scope + type, of others from 260 on, below scope 19;
 * JobReason counts alike. */
enum sched_limit_scope {
    SCHED_LIMIT_ASSOC_GRP,
    SCHED_LIMIT_ASSOC_GRP_MINS,
    SCHED_LIMIT_ASSOC_GRP_RUN_MINS,
    SCHED_LIMIT_ASSOC_MAX_JOB,
    SCHED_LIMIT_ASSOC_MAX_NODE,
    SCHED_LIMIT_ASSOC_MAX_MINS,
    SCHED_LIMIT_QOS_GRP,
    SCHED_LIMIT_QOS_GRP_MINS,
    SCHED_LIMIT_QOS_GRP_RUN_MINS,
    SCHED_LIMIT_QOS_MAX_JOB,
    SCHED_LIMIT_QOS_MAX_NODE,
    SCHED_LIMIT_QOS_MAX_MINS,
    SCHED_LIMIT_QOS_MAX_USER,
    SCHED_LIMIT_QOS_MAX_ACCOUNT,
    SCHED_LIMIT_QOS_MIN,
    SCHED_LIMIT_QOS_RUN_MINS_USER = 19, /* behind the plain ones */
    SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT,
};
#define SCHED_LIMIT(scope, type) (16u * (unsigned)(scope) + (unsigned)(type))
enum sched_limit_plain {
    SCHED_LIMIT_ASSOC_GRP_JOBS = 260,
    SCHED_LIMIT_ASSOC_GRP_SUBMIT, /* submission's business: never told here */
    SCHED_LIMIT_ASSOC_GRP_WALL,
    SCHED_LIMIT_ASSOC_MAX_JOBS,
    SCHED_LIMIT_ASSOC_MAX_SUBMIT,
    SCHED_LIMIT_ASSOC_MAX_WALL,
    SCHED_LIMIT_QOS_GRP_JOBS,
    SCHED_LIMIT_QOS_GRP_SUBMIT,
    SCHED_LIMIT_QOS_GRP_WALL,
    SCHED_LIMIT_QOS_MAX_WALL,
    SCHED_LIMIT_QOS_USER_JOBS,
    SCHED_LIMIT_QOS_USER_SUBMIT,
    SCHED_LIMIT_QOS_ACCOUNT_JOBS,
    SCHED_LIMIT_QOS_ACCOUNT_SUBMIT,
    SCHED_LIMIT_QOS_USAGE_THRESHOLD,
};

enum sched_limit_list { /* limits that have a value for each TRES */
                        SCHED_GRP_TRES,
                        SCHED_GRP_TRES_MINS,
                        SCHED_GRP_TRES_RUN_MINS,
                        SCHED_MAX_TRES_JOB,
                        SCHED_MAX_TRES_NODE,
                        SCHED_MAX_TRES_MINS_JOB,
                        SCHED_MAX_RUN_MINS, /* associations: of their own jobs */
                        SCHED_MIN_TRES_JOB, /* from here on: QOS */
                        SCHED_MAX_TRES_USER,
                        SCHED_MAX_TRES_ACCOUNT,
                        SCHED_MAX_RUN_MINS_USER,
                        SCHED_MAX_RUN_MINS_ACCOUNT,
                        SCHED_LIMIT_LISTS
};
enum sched_limit_number {
    SCHED_GRP_JOBS,
    SCHED_GRP_ACCRUE,
    SCHED_GRP_WALL, /* minutes */
    SCHED_MAX_WALL, /* of a job, minutes */
    SCHED_MAX_JOBS, /* associations: of their own jobs */
    SCHED_MAX_ACCRUE,
    SCHED_USER_JOBS, /* from here on: QOS */
    SCHED_ACCOUNT_JOBS,
    SCHED_USER_ACCRUE,
    SCHED_ACCOUNT_ACCRUE,
    SCHED_MIN_PRIO,
    SCHED_LIMIT_NUMBERS
};

struct sched_tres_limit {
    uint32_t tres_id;
    uint64_t count;
};
struct sched_limits {
    struct {
        const struct sched_tres_limit *v;
        size_t n;
    } lists[SCHED_LIMIT_LISTS];
    uint64_t numbers[SCHED_LIMIT_NUMBERS]; /* SCHED_NO_LIMIT = none */
};
void sched_limits_init(struct sched_limits *l);

enum sched_qos_limit_flag {
    SCHED_QOS_USAGE_THRESHOLD_ON = 1u << 0, /* EnforceUsageThreshold */
    SCHED_QOS_NO_RESERVE = 1u << 1,
    SCHED_QOS_OVER_PART = 1u << 2,
    SCHED_QOS_PART_MAX_NODES = 1u << 3,
    SCHED_QOS_PART_MIN_NODES = 1u << 4,
    SCHED_QOS_PART_TIME = 1u << 5,
    SCHED_QOS_RELATIVE = 1u << 6,
    SCHED_QOS_FACTOR_SAFE = 1u << 7, /* UsageFactorSafe */
};
struct sched_qos_limits {
    struct sched_limits limits;
    unsigned flags;         /* enum sched_qos_limit_flag */
    double usage_factor;    /* 1 = as it is */
    double limit_factor;    /* of the association's limits; 0 = as they are */
    double usage_threshold; /* of the fair-share factor; 0 = none */
};

/* A TRES and its name ("cpu", "gres/gpu:a100", "license/x").  -ERANGE: more than SCHED_TRES_MAX;
 * -ENOMEM. */
int sched_tres_put(struct sched *s, uint32_t tres_id, const char *name);

/* An association with what holds for it: Max* inherited ones too.  account: its name, of users'
 * associations too; parent 0 = none.  Errors: -EINVAL, -ENOMEM, -ERANGE. */
int sched_limit_assoc_put(struct sched *s, uint32_t id, uint32_t parent, const char *account,
                          const struct sched_limits *limits);
void sched_limit_assoc_remove(struct sched *s, uint32_t id);
int sched_limit_qos_put(struct sched *s, uint32_t id, const struct sched_qos_limits *q);
void sched_limit_qos_remove(struct sched *s, uint32_t id);

/* Are limits enforced at all, and `safe`: only what can end within the minutes that are left
 * starts. */
void sched_limit_enforce(struct sched *s, bool on, bool safe);

/* What has been used so far, decayed: TRES-minutes and wall minutes of an association and all
 * below it, or of a QOS.  Without those still to be added for running jobs.  -ENOENT, -ENOMEM,
 * -ERANGE. */
struct sched_tres_usage {
    uint32_t tres_id;
    double minutes;
};
int sched_limit_usage(struct sched *s, bool qos, uint32_t id, const struct sched_tres_usage *v,
                      size_t n, double wall_minutes);

/* What a running job counts against that did not come by a START: after sched_job_running(). */
int sched_job_account(struct sched *s, uint32_t job_id, uint32_t assoc_id, uint32_t qos_id);
/* It has ended: from now on it counts against nothing, though its nodes are not free yet. */
void sched_job_uncharge(struct sched *s, uint32_t job_id);

/* Why a pending job waits for a limit in a partition (NULL: its first). */
struct sched_limit_hit {
    unsigned limit;              /* number of the limit */
    bool qos;                    /* a QOS's, else an association's */
    uint32_t id;                 /* of it */
    uint32_t tres_id;            /* 0 = none */
    uint64_t value, used, asked; /* minutes for limits of minutes */
};
/* 1 with *ret, 0: no limit holds it, -ENOENT. */
int sched_limit_why(struct sched *s, uint32_t job_id, const char *partition, int64_t now_us,
                    struct sched_limit_hit *ret);

/* What an association or a QOS has running. */
struct sched_limit_use {
    uint32_t jobs, accruing;
    struct {
        uint32_t tres_id;
        uint64_t used, run_minutes;
        double minutes; /* so far */
    } tres[SCHED_TRES_MAX];
    size_t ntres;
    double wall_minutes;
};
/* -ENOENT: nothing is known of it. */
int sched_limit_use(struct sched *s, bool qos, uint32_t id, int64_t now_us,
                    struct sched_limit_use *ret);
/* Every user's (account NULL) and account's part of a QOS that something counts in. */
typedef void sched_limit_part_fn(void *ctx, uint32_t uid, const char *account,
                                 const struct sched_limit_use *use);
void sched_limit_parts(struct sched *s, uint32_t qos_id, int64_t now_us, sched_limit_part_fn *fn,
                       void *ctx);
