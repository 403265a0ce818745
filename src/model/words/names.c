/* names.c - tables of the words for states, reasons and events; see names.h.
 *
 * Words are an interface that scripts match, so each table is complete and fixed.  Invariants: flag
 * precedence of a job's word is the order of flag_precedence[]; the order of the rules in
 * node_word_base() is the order in which a node's word is decided. */
#include "model/words/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* ---- jobs ------------------------------------------------------------------------------------ */

struct state_row {
    const char *name;
    const char *code;
};

static const struct state_row job_states[] = {
    [PST__JOB_STATE__JOB_PENDING] = { "PENDING", "PD" },
    [PST__JOB_STATE__JOB_RUNNING] = { "RUNNING", "R" },
    [PST__JOB_STATE__JOB_SUSPENDED] = { "SUSPENDED", "S" },
    [PST__JOB_STATE__JOB_COMPLETED] = { "COMPLETED", "CD" },
    [PST__JOB_STATE__JOB_CANCELLED] = { "CANCELLED", "CA" },
    [PST__JOB_STATE__JOB_FAILED] = { "FAILED", "F" },
    [PST__JOB_STATE__JOB_TIMEOUT] = { "TIMEOUT", "TO" },
    [PST__JOB_STATE__JOB_NODE_FAIL] = { "NODE_FAIL", "NF" },
    [PST__JOB_STATE__JOB_PREEMPTED] = { "PREEMPTED", "PR" },
    [PST__JOB_STATE__JOB_BOOT_FAIL] = { "BOOT_FAIL", "BF" },
    [PST__JOB_STATE__JOB_DEADLINE] = { "DEADLINE", "DL" },
    [PST__JOB_STATE__JOB_OUT_OF_MEMORY] = { "OUT_OF_MEMORY", "OOM" },
};
_Static_assert(ARRAY_SIZE(job_states) == NAMES_JOB_STATES, "every job state needs a row");

static const struct state_row job_flags[] = {
    [PST__JOB_FLAG__JOB_FLAG_COMPLETING] = { "COMPLETING", "CG" },
    [PST__JOB_FLAG__JOB_FLAG_CONFIGURING] = { "CONFIGURING", "CF" },
    [PST__JOB_FLAG__JOB_FLAG_REQUEUED] = { "REQUEUED", "RQ" },
    [PST__JOB_FLAG__JOB_FLAG_REQUEUE_HOLD] = { "REQUEUE_HOLD", "RH" },
    [PST__JOB_FLAG__JOB_FLAG_SPECIAL_EXIT] = { "SPECIAL_EXIT", "SE" },
    [PST__JOB_FLAG__JOB_FLAG_STOPPED] = { "STOPPED", "ST" },
    [PST__JOB_FLAG__JOB_FLAG_SIGNALING] = { "SIGNALING", "SI" },
    [PST__JOB_FLAG__JOB_FLAG_RESIZING] = { "RESIZING", "RS" },
    [PST__JOB_FLAG__JOB_FLAG_LAUNCH_FAILED] = { "LAUNCH_FAILED", NULL },
    [PST__JOB_FLAG__JOB_FLAG_RESV_DEL_HOLD] = { "RESV_DEL_HOLD", "RD" },
    [PST__JOB_FLAG__JOB_FLAG_EXPEDITING] = { "EXPEDITING", "PD" },
    [PST__JOB_FLAG__JOB_FLAG_POWER_UP_NODE] = { "POWER_UP_NODE", NULL },
    [PST__JOB_FLAG__JOB_FLAG_REVOKED] = { "REVOKED", "RV" },
};
_Static_assert(ARRAY_SIZE(job_flags) == NAMES_JOB_FLAGS, "every job flag needs a row");

static const unsigned char flag_precedence[] = {
    PST__JOB_FLAG__JOB_FLAG_COMPLETING,    PST__JOB_FLAG__JOB_FLAG_CONFIGURING,
    PST__JOB_FLAG__JOB_FLAG_RESIZING,      PST__JOB_FLAG__JOB_FLAG_REQUEUED,
    PST__JOB_FLAG__JOB_FLAG_REQUEUE_HOLD,  PST__JOB_FLAG__JOB_FLAG_SPECIAL_EXIT,
    PST__JOB_FLAG__JOB_FLAG_STOPPED,       PST__JOB_FLAG__JOB_FLAG_REVOKED,
    PST__JOB_FLAG__JOB_FLAG_RESV_DEL_HOLD, PST__JOB_FLAG__JOB_FLAG_SIGNALING,
    PST__JOB_FLAG__JOB_FLAG_EXPEDITING,
};

const char *names_job_state(unsigned state)
{
    return state < ARRAY_SIZE(job_states) ? job_states[state].name : "UNKNOWN";
}

const char *names_job_state_code(unsigned state)
{
    return state < ARRAY_SIZE(job_states) ? job_states[state].code : "?";
}

const char *names_job_flag(unsigned bit)
{
    return bit < ARRAY_SIZE(job_flags) ? job_flags[bit].name : NULL;
}

const char *names_job_state_word(unsigned state, uint32_t flags, bool compact)
{
    for (size_t i = 0; flags && i < ARRAY_SIZE(flag_precedence); i++) {
        const struct state_row *row = &job_flags[flag_precedence[i]];

        if (flags & (1u << flag_precedence[i]))
            return compact ? row->code : row->name;
    }
    return compact ? names_job_state_code(state) : names_job_state(state);
}

int names_job_state_parse(const char *word, struct names_job_match *ret)
{
    for (unsigned i = 0; i < ARRAY_SIZE(job_states); i++)
        if (strcasecmp(word, job_states[i].name) == 0 ||
            strcasecmp(word, job_states[i].code) == 0) {
            *ret = (struct names_job_match){ .is_flag = false, .number = i };
            return 0;
        }
    for (unsigned i = 0; i < ARRAY_SIZE(job_flags); i++)
        if (strcasecmp(word, job_flags[i].name) == 0 ||
            (job_flags[i].code && strcasecmp(word, job_flags[i].code) == 0)) {
            *ret = (struct names_job_match){ .is_flag = true, .number = i };
            return 0;
        }
    return -EINVAL;
}

static const char *const reasons[] = {
    [PST__JOB_REASON__REASON_NONE] = "None",
    [PST__JOB_REASON__REASON_PRIORITY] = "Priority",
    [PST__JOB_REASON__REASON_DEPENDENCY] = "Dependency",
    [PST__JOB_REASON__REASON_RESOURCES] = "Resources",
    [PST__JOB_REASON__REASON_BEGIN_TIME] = "BeginTime",
    [PST__JOB_REASON__REASON_JOB_HELD_USER] = "JobHeldUser",
    [PST__JOB_REASON__REASON_JOB_HELD_ADMIN] = "JobHeldAdmin",
    [PST__JOB_REASON__REASON_PARTITION_DOWN] = "PartitionDown",
    [PST__JOB_REASON__REASON_PARTITION_INACTIVE] = "PartitionInactive",
    [PST__JOB_REASON__REASON_PARTITION_NODE_LIMIT] = "PartitionNodeLimit",
    [PST__JOB_REASON__REASON_PARTITION_CONFIG] = "PartitionConfig",
    [PST__JOB_REASON__REASON_PARTITION_TIME_LIMIT] = "PartitionTimeLimit",
    [PST__JOB_REASON__REASON_MAX_MEM] = "MaxMemPerLimit",
    [PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL] = "ReqNodeNotAvail",
    [PST__JOB_REASON__REASON_BAD_CONSTRAINTS] = "BadConstraints",
    [PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED] = "DependencyNeverSatisfied",
    [PST__JOB_REASON__REASON_NON_ZERO_EXIT_CODE] = "NonZeroExitCode",
    [PST__JOB_REASON__REASON_RAISED_SIGNAL] = "RaisedSignal",
    [PST__JOB_REASON__REASON_TIME_LIMIT] = "TimeLimit",
    [PST__JOB_REASON__REASON_NODE_DOWN] = "NodeDown",
    [PST__JOB_REASON__REASON_LAUNCH_FAILURE] = "JobLaunchFailure",
    [PST__JOB_REASON__REASON_LAUNCH_FAILED_REQUEUED_HELD] = "launch failed requeued held",
    [PST__JOB_REASON__REASON_USER_ENV_REQUEUED_HELD] = "user env retrieval failed requeued held",
    [PST__JOB_REASON__REASON_JOB_HOLD_MAX_REQUEUE] = "JobHoldMaxRequeue",
    [PST__JOB_REASON__REASON_DEADLINE] = "DeadLine",
    [PST__JOB_REASON__REASON_LICENSES] = "Licenses",
    [PST__JOB_REASON__REASON_NVIDIA_IMEX_CHANNELS] = "NvidiaImexChannels",
    [PST__JOB_REASON__REASON_OUT_OF_MEMORY] = "OutOfMemory",
    [PST__JOB_REASON__REASON_ARRAY_TASK_LIMIT] = "JobArrayTaskLimit",
    [PST__JOB_REASON__REASON_PROLOG] = "Prolog",
    [PST__JOB_REASON__REASON_SYSTEM_FAILURE] = "SystemFailure",
    [PST__JOB_REASON__REASON_INACTIVE_LIMIT] = "InactiveLimit",
    [PST__JOB_REASON__REASON_FED_JOB_LOCK] = "FedJobLock",
    [PST__JOB_REASON__REASON_RESERVATION] = "Reservation",
    [PST__JOB_REASON__REASON_RESERVATION_DELETED] = "ReservationDeleted",
    [PST__JOB_REASON__REASON_RESERVED_MAINT] = "ReqNodeNotAvail, Reserved for maintenance",
    [PST__JOB_REASON__REASON_RESERVATION_INVALID] = "ReservationInvalid",
    /* Parentheses: one string, not a forgotten comma. */
    [PST__JOB_REASON__REASON_NODES_UNAVAILABLE] =
        ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
         "partitions"),
};

/* Limits: numbers of their own range. */
#define LIMIT_FIRST 3400
#define L(name, word) [PST__JOB_REASON__REASON_##name - LIMIT_FIRST] = word
static const char *const limit_reasons[] = {
    L(ASSOC_GRP_CPU, "AssocGrpCpuLimit"),
    L(ASSOC_GRP_MEM, "AssocGrpMemLimit"),
    L(ASSOC_GRP_NODE, "AssocGrpNodeLimit"),
    L(ASSOC_GRP_ENERGY, "AssocGrpEnergy"),
    L(ASSOC_GRP_BB, "AssocGrpBB"),
    L(ASSOC_GRP_GRES, "AssocGrpGRES"),
    L(ASSOC_GRP_LICENSE, "AssocGrpLicense"),
    L(ASSOC_GRP_BILLING, "AssocGrpBilling"),
    L(ASSOC_GRP_OTHER, "AssocGrpUnknown"),
    L(ASSOC_GRP_MINS_CPU, "AssocGrpCPUMinutesLimit"),
    L(ASSOC_GRP_MINS_MEM, "AssocGrpMemMinutes"),
    L(ASSOC_GRP_MINS_NODE, "AssocGrpNodeMinutes"),
    L(ASSOC_GRP_MINS_ENERGY, "AssocGrpEnergyMinutes"),
    L(ASSOC_GRP_MINS_BB, "AssocGrpBBMinutes"),
    L(ASSOC_GRP_MINS_GRES, "AssocGrpGRESMinutes"),
    L(ASSOC_GRP_MINS_LICENSE, "AssocGrpLicenseMinutes"),
    L(ASSOC_GRP_MINS_BILLING, "AssocGrpBillingMinutes"),
    L(ASSOC_GRP_MINS_OTHER, "AssocGrpUnknownMinutes"),
    L(ASSOC_GRP_RUN_MINS_CPU, "AssocGrpCPURunMinutesLimit"),
    L(ASSOC_GRP_RUN_MINS_MEM, "AssocGrpMemRunMinutes"),
    L(ASSOC_GRP_RUN_MINS_NODE, "AssocGrpNodeRunMinutes"),
    L(ASSOC_GRP_RUN_MINS_ENERGY, "AssocGrpEnergyRunMinutes"),
    L(ASSOC_GRP_RUN_MINS_BB, "AssocGrpBBRunMinutes"),
    L(ASSOC_GRP_RUN_MINS_GRES, "AssocGrpGRESRunMinutes"),
    L(ASSOC_GRP_RUN_MINS_LICENSE, "AssocGrpLicenseRunMinutes"),
    L(ASSOC_GRP_RUN_MINS_BILLING, "AssocGrpBillingRunMinutes"),
    L(ASSOC_GRP_RUN_MINS_OTHER, "AssocGrpUnknownRunMinutes"),
    L(ASSOC_MAX_JOB_CPU, "AssocMaxCpuPerJobLimit"),
    L(ASSOC_MAX_JOB_MEM, "AssocMaxMemPerJob"),
    L(ASSOC_MAX_JOB_NODE, "AssocMaxNodePerJobLimit"),
    L(ASSOC_MAX_JOB_ENERGY, "AssocMaxEnergyPerJob"),
    L(ASSOC_MAX_JOB_BB, "AssocMaxBBPerJob"),
    L(ASSOC_MAX_JOB_GRES, "AssocMaxGRESPerJob"),
    L(ASSOC_MAX_JOB_LICENSE, "AssocMaxLicensePerJob"),
    L(ASSOC_MAX_JOB_BILLING, "AssocMaxBillingPerJob"),
    L(ASSOC_MAX_JOB_OTHER, "AssocMaxUnknownPerJob"),
    L(ASSOC_MAX_NODE_CPU, "AssocMaxCpuPerNode"),
    L(ASSOC_MAX_NODE_MEM, "AssocMaxMemPerNode"),
    L(ASSOC_MAX_NODE_NODE, "AssocMaxNodePerNode"),
    L(ASSOC_MAX_NODE_ENERGY, "AssocMaxEnergyPerNode"),
    L(ASSOC_MAX_NODE_BB, "AssocMaxBBPerNode"),
    L(ASSOC_MAX_NODE_GRES, "AssocMaxGRESPerNode"),
    L(ASSOC_MAX_NODE_LICENSE, "AssocMaxLicensePerNode"),
    L(ASSOC_MAX_NODE_BILLING, "AssocMaxBillingPerNode"),
    L(ASSOC_MAX_NODE_OTHER, "AssocMaxUnknownPerNode"),
    L(ASSOC_MAX_MINS_CPU, "AssocMaxCpuMinutesPerJobLimit"),
    L(ASSOC_MAX_MINS_MEM, "AssocMaxMemMinutesPerJob"),
    L(ASSOC_MAX_MINS_NODE, "AssocMaxNodeMinutesPerJob"),
    L(ASSOC_MAX_MINS_ENERGY, "AssocMaxEnergyMinutesPerJob"),
    L(ASSOC_MAX_MINS_BB, "AssocMaxBBMinutesPerJob"),
    L(ASSOC_MAX_MINS_GRES, "AssocMaxGRESMinutesPerJob"),
    L(ASSOC_MAX_MINS_LICENSE, "AssocMaxLicenseMinutesPerJob"),
    L(ASSOC_MAX_MINS_BILLING, "AssocMaxBillingMinutesPerJob"),
    L(ASSOC_MAX_MINS_OTHER, "AssocMaxUnknownMinutesPerJob"),
    L(QOS_GRP_CPU, "QOSGrpCpuLimit"),
    L(QOS_GRP_MEM, "QOSGrpMemLimit"),
    L(QOS_GRP_NODE, "QOSGrpNodeLimit"),
    L(QOS_GRP_ENERGY, "QOSGrpEnergy"),
    L(QOS_GRP_BB, "QOSGrpBB"),
    L(QOS_GRP_GRES, "QOSGrpGRES"),
    L(QOS_GRP_LICENSE, "QOSGrpLicense"),
    L(QOS_GRP_BILLING, "QOSGrpBilling"),
    L(QOS_GRP_OTHER, "QOSGrpUnknown"),
    L(QOS_GRP_MINS_CPU, "QOSGrpCPUMinutesLimit"),
    L(QOS_GRP_MINS_MEM, "QOSGrpMemoryMinutes"),
    L(QOS_GRP_MINS_NODE, "QOSGrpNodeMinutes"),
    L(QOS_GRP_MINS_ENERGY, "QOSGrpEnergyMinutes"),
    L(QOS_GRP_MINS_BB, "QOSGrpBBMinutes"),
    L(QOS_GRP_MINS_GRES, "QOSGrpGRESMinutes"),
    L(QOS_GRP_MINS_LICENSE, "QOSGrpLicenseMinutes"),
    L(QOS_GRP_MINS_BILLING, "QOSGrpBillingMinutes"),
    L(QOS_GRP_MINS_OTHER, "QOSGrpUnknownMinutes"),
    L(QOS_GRP_RUN_MINS_CPU, "QOSGrpCPURunMinutesLimit"),
    L(QOS_GRP_RUN_MINS_MEM, "QOSGrpMemoryRunMinutes"),
    L(QOS_GRP_RUN_MINS_NODE, "QOSGrpNodeRunMinutes"),
    L(QOS_GRP_RUN_MINS_ENERGY, "QOSGrpEnergyRunMinutes"),
    L(QOS_GRP_RUN_MINS_BB, "QOSGrpBBRunMinutes"),
    L(QOS_GRP_RUN_MINS_GRES, "QOSGrpGRESRunMinutes"),
    L(QOS_GRP_RUN_MINS_LICENSE, "QOSGrpLicenseRunMinutes"),
    L(QOS_GRP_RUN_MINS_BILLING, "QOSGrpBillingRunMinutes"),
    L(QOS_GRP_RUN_MINS_OTHER, "QOSGrpUnknownRunMinutes"),
    L(QOS_MAX_JOB_CPU, "QOSMaxCpuPerJobLimit"),
    L(QOS_MAX_JOB_MEM, "QOSMaxMemoryPerJob"),
    L(QOS_MAX_JOB_NODE, "QOSMaxNodePerJobLimit"),
    L(QOS_MAX_JOB_ENERGY, "QOSMaxEnergyPerJob"),
    L(QOS_MAX_JOB_BB, "QOSMaxBBPerJob"),
    L(QOS_MAX_JOB_GRES, "QOSMaxGRESPerJob"),
    L(QOS_MAX_JOB_LICENSE, "QOSMaxLicensePerJob"),
    L(QOS_MAX_JOB_BILLING, "QOSMaxBillingPerJob"),
    L(QOS_MAX_JOB_OTHER, "QOSMaxUnknownPerJob"),
    L(QOS_MAX_NODE_CPU, "QOSMaxCpuPerNode"),
    L(QOS_MAX_NODE_MEM, "QOSMaxMemoryPerNode"),
    L(QOS_MAX_NODE_NODE, "QOSMaxNodePerNode"),
    L(QOS_MAX_NODE_ENERGY, "QOSMaxEnergyPerNode"),
    L(QOS_MAX_NODE_BB, "QOSMaxBBPerNode"),
    L(QOS_MAX_NODE_GRES, "QOSMaxGRESPerNode"),
    L(QOS_MAX_NODE_LICENSE, "QOSMaxLicensePerNode"),
    L(QOS_MAX_NODE_BILLING, "QOSMaxBillingPerNode"),
    L(QOS_MAX_NODE_OTHER, "QOSMaxUnknownPerNode"),
    L(QOS_MAX_MINS_CPU, "QOSMaxCpuMinutesPerJobLimit"),
    L(QOS_MAX_MINS_MEM, "QOSMaxMemoryMinutesPerJob"),
    L(QOS_MAX_MINS_NODE, "QOSMaxNodeMinutesPerJob"),
    L(QOS_MAX_MINS_ENERGY, "QOSMaxEnergyMinutesPerJob"),
    L(QOS_MAX_MINS_BB, "QOSMaxBBMinutesPerJob"),
    L(QOS_MAX_MINS_GRES, "QOSMaxGRESMinutesPerJob"),
    L(QOS_MAX_MINS_LICENSE, "QOSMaxLicenseMinutesPerJob"),
    L(QOS_MAX_MINS_BILLING, "QOSMaxBillingMinutesPerJob"),
    L(QOS_MAX_MINS_OTHER, "QOSMaxUnknownMinutesPerJob"),
    L(QOS_MAX_USER_CPU, "QOSMaxCpuPerUserLimit"),
    L(QOS_MAX_USER_MEM, "QOSMaxMemoryPerUser"),
    L(QOS_MAX_USER_NODE, "QOSMaxNodePerUserLimit"),
    L(QOS_MAX_USER_ENERGY, "QOSMaxEnergyPerUser"),
    L(QOS_MAX_USER_BB, "QOSMaxBBPerUser"),
    L(QOS_MAX_USER_GRES, "QOSMaxGRESPerUser"),
    L(QOS_MAX_USER_LICENSE, "QOSMaxLicensePerUser"),
    L(QOS_MAX_USER_BILLING, "QOSMaxBillingPerUser"),
    L(QOS_MAX_USER_OTHER, "QOSMaxUnknownPerUser"),
    L(QOS_MAX_ACCOUNT_CPU, "MaxCpuPerAccount"),
    L(QOS_MAX_ACCOUNT_MEM, "MaxMemoryPerAccount"),
    L(QOS_MAX_ACCOUNT_NODE, "MaxNodePerAccount"),
    L(QOS_MAX_ACCOUNT_ENERGY, "MaxEnergyPerAccount"),
    L(QOS_MAX_ACCOUNT_BB, "MaxBBPerAccount"),
    L(QOS_MAX_ACCOUNT_GRES, "MaxGRESPerAccount"),
    L(QOS_MAX_ACCOUNT_LICENSE, "MaxLicensePerAccount"),
    L(QOS_MAX_ACCOUNT_BILLING, "MaxBillingPerAccount"),
    L(QOS_MAX_ACCOUNT_OTHER, "MaxUnknownPerAccount"),
    L(QOS_MIN_CPU, "QOSMinCpuNotSatisfied"),
    L(QOS_MIN_MEM, "QOSMinMemory"),
    L(QOS_MIN_NODE, "QOSMinNode"),
    L(QOS_MIN_ENERGY, "QOSMinEnergy"),
    L(QOS_MIN_BB, "QOSMinBB"),
    L(QOS_MIN_GRES, "QOSMinGRES"),
    L(QOS_MIN_LICENSE, "QOSMinLicense"),
    L(QOS_MIN_BILLING, "QOSMinBilling"),
    L(QOS_MIN_OTHER, "QOSMinUnknown"),
    L(ASSOC_GRP_JOBS, "AssocGrpJobsLimit"),
    L(ASSOC_GRP_SUBMIT, "AssocGrpSubmitJobsLimit"),
    L(ASSOC_GRP_WALL, "AssocGrpWallLimit"),
    L(ASSOC_MAX_JOBS, "AssocMaxJobsLimit"),
    L(ASSOC_MAX_SUBMIT, "AssocMaxSubmitJobLimit"),
    L(ASSOC_MAX_WALL, "AssocMaxWallDurationPerJobLimit"),
    L(QOS_GRP_JOBS, "QOSGrpJobsLimit"),
    L(QOS_GRP_SUBMIT, "QOSGrpSubmitJobsLimit"),
    L(QOS_GRP_WALL, "QOSGrpWallLimit"),
    L(QOS_MAX_WALL, "QOSMaxWallDurationPerJobLimit"),
    L(QOS_USER_JOBS, "QOSMaxJobsPerUserLimit"),
    L(QOS_USER_SUBMIT, "QOSMaxSubmitJobPerUserLimit"),
    L(QOS_ACCOUNT_JOBS, "MaxJobsPerAccount"),
    L(QOS_ACCOUNT_SUBMIT, "MaxSubmitJobsPerAccount"),
    L(QOS_USAGE_THRESHOLD, "QOSUsageThreshold"),
    L(ACCOUNT_NOT_ALLOWED, "AccountNotAllowed"),
    L(QOS_NOT_ALLOWED, "QOSNotAllowed"),
    L(INVALID_ACCOUNT, "InvalidAccount"),
    L(INVALID_QOS, "InvalidQOS"),
    L(QOS_RUN_MINS_USER_CPU, "MaxCpuRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_MEM, "MaxMemoryRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_NODE, "MaxNodeRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_ENERGY, "MaxEnergyRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_BB, "MaxBBRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_GRES, "MaxGRESRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_LICENSE, "MaxLicenseRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_BILLING, "MaxBillingRunMinsPerUser"),
    L(QOS_RUN_MINS_USER_OTHER, "MaxUnknownRunMinsPerUser"),
    L(QOS_RUN_MINS_ACCOUNT_CPU, "MaxCpuRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_MEM, "MaxMemoryRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_NODE, "MaxNodeRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_ENERGY, "MaxEnergyRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_BB, "MaxBBRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_GRES, "MaxGRESRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_LICENSE, "MaxLicenseRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_BILLING, "MaxBillingRunMinsPerAccount"),
    L(QOS_RUN_MINS_ACCOUNT_OTHER, "MaxUnknownRunMinsPerAccount"),
};
#undef L

const char *names_reason(unsigned reason)
{
    if (reason >= LIMIT_FIRST && reason - LIMIT_FIRST < ARRAY_SIZE(limit_reasons))
        return limit_reasons[reason - LIMIT_FIRST] ? limit_reasons[reason - LIMIT_FIRST] : "None";
    return reason < ARRAY_SIZE(reasons) && reasons[reason] ? reasons[reason] : "None";
}

const char *names_step_state(unsigned state)
{
    /* The numbers of StepState are those of the job states with the same names. */
    return names_job_state(state);
}

static const struct {
    uint32_t id;
    const char *name;
} special_steps[] = {
    { NAMES_STEP_BATCH, "batch" },
    { NAMES_STEP_EXTERN, "extern" },
    { NAMES_STEP_INTERACTIVE, "interactive" },
    { NAMES_STEP_PENDING, "TBD" },
};

const char *names_step_special(uint32_t step_id)
{
    for (size_t i = 0; i < ARRAY_SIZE(special_steps); i++)
        if (special_steps[i].id == step_id)
            return special_steps[i].name;
    return NULL;
}

int names_step_special_parse(const char *word, uint32_t *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(special_steps); i++)
        if (strcasecmp(word, special_steps[i].name) == 0) {
            *ret = special_steps[i].id;
            return 0;
        }
    return -EINVAL;
}

const char *names_event(unsigned kind)
{
    static const char *const events[] = {
        [PST__EVENT_KIND__EV_UNSPECIFIED] = "unspecified",
        [PST__EVENT_KIND__EV_JOB_SUBMIT] = "job-submit",
        [PST__EVENT_KIND__EV_JOB_START] = "job-start",
        [PST__EVENT_KIND__EV_JOB_LAUNCHED] = "job-launched",
        [PST__EVENT_KIND__EV_JOB_END] = "job-end",
        [PST__EVENT_KIND__EV_JOB_CLEANED] = "job-cleaned",
        [PST__EVENT_KIND__EV_JOB_REQUEUE] = "job-requeue",
        [PST__EVENT_KIND__EV_JOB_UPDATE] = "job-update",
        [PST__EVENT_KIND__EV_JOB_HOLD] = "job-hold",
        [PST__EVENT_KIND__EV_JOB_RELEASE] = "job-release",
        [PST__EVENT_KIND__EV_JOB_PREEMPT] = "job-preempt",
        [PST__EVENT_KIND__EV_JOB_SUSPEND] = "job-suspend",
        [PST__EVENT_KIND__EV_JOB_RESUME] = "job-resume",
        [PST__EVENT_KIND__EV_JOB_TURN] = "job-turn",
        [PST__EVENT_KIND__EV_JOB_TURN_OVER] = "job-turn-over",
        [PST__EVENT_KIND__EV_SUBMIT_KEY] = "submit-key",
        [PST__EVENT_KIND__EV_SUBMIT_KEY_GONE] = "submit-key-gone",
        [PST__EVENT_KIND__EV_NODE_POWER] = "node-power",
        [PST__EVENT_KIND__EV_JOB_BOOTED] = "job-booted",
        [PST__EVENT_KIND__EV_JOB_SIGNAL] = "job-signal",
        [PST__EVENT_KIND__EV_STEP_START] = "step-start",
        [PST__EVENT_KIND__EV_STEP_END] = "step-end",
        [PST__EVENT_KIND__EV_NODE_CONFIG] = "node-config",
        [PST__EVENT_KIND__EV_NODE_REGISTER] = "node-register",
        [PST__EVENT_KIND__EV_NODE_STATE] = "node-state",
        [PST__EVENT_KIND__EV_NODE_UPDATE] = "node-update",
        [PST__EVENT_KIND__EV_PART_CONFIG] = "partition-config",
        [PST__EVENT_KIND__EV_PART_UPDATE] = "partition-update",
    };

    return kind < ARRAY_SIZE(events) ? events[kind] : NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

#define NF(name) (1u << PST__NODE_FLAG__NODE_FLAG_##name)

/* In the order in which they are printed. */
static const struct {
    unsigned char bit;
    const char *name;
} node_flags[] = {
    { PST__NODE_FLAG__NODE_FLAG_CLOUD, "CLOUD" },
    { PST__NODE_FLAG__NODE_FLAG_COMPLETING, "COMPLETING" },
    { PST__NODE_FLAG__NODE_FLAG_DRAIN, "DRAIN" },
    { PST__NODE_FLAG__NODE_FLAG_DYNAMIC_FUTURE, "DYNAMIC_FUTURE" },
    { PST__NODE_FLAG__NODE_FLAG_DYNAMIC_NORM, "DYNAMIC_NORM" },
    { PST__NODE_FLAG__NODE_FLAG_EXTERNAL, "EXTERNAL" },
    { PST__NODE_FLAG__NODE_FLAG_INVALID_REG, "INVALID_REG" },
    { PST__NODE_FLAG__NODE_FLAG_FAIL, "FAIL" },
    { PST__NODE_FLAG__NODE_FLAG_MAINTENANCE, "MAINTENANCE" },
    { PST__NODE_FLAG__NODE_FLAG_POWER_DOWN, "POWER_DOWN" },
    { PST__NODE_FLAG__NODE_FLAG_POWER_UP, "POWER_UP" },
    { PST__NODE_FLAG__NODE_FLAG_POWERING_DOWN, "POWERING_DOWN" },
    { PST__NODE_FLAG__NODE_FLAG_POWERED_DOWN, "POWERED_DOWN" },
    { PST__NODE_FLAG__NODE_FLAG_REBOOT_ISSUED, "REBOOT_ISSUED" },
    { PST__NODE_FLAG__NODE_FLAG_REBOOT_REQUESTED, "REBOOT_REQUESTED" },
    { PST__NODE_FLAG__NODE_FLAG_RESERVED, "RESERVED" },
    { PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING, "NOT_RESPONDING" },
    { PST__NODE_FLAG__NODE_FLAG_POWERING_UP, "POWERING_UP" },
    { PST__NODE_FLAG__NODE_FLAG_PLANNED, "PLANNED" },
};
_Static_assert(ARRAY_SIZE(node_flags) == NAMES_NODE_FLAGS, "every node flag needs a row");

struct names_node names_node_of(const Pst__NodeRecord *node)
{
    bool completing = node->jobs_completing > 0;

    /* What ended jobs hold until they are cleaned up is no use of the node. */
    return (struct names_node){
        .state = (unsigned)node->state,
        .flags = node->state_flags | (completing ? NF(COMPLETING) : 0),
        .cpus = node->cpus,
        .alloc_cpus = completing && !node->jobs_running ? 0 : node->alloc_cpus,
    };
}

bool names_node_allocated(const struct names_node *n)
{
    return n->state == PST__NODE_STATE__NODE_IDLE && n->alloc_cpus && n->alloc_cpus >= n->cpus;
}

bool names_node_mixed(const struct names_node *n)
{
    return n->state == PST__NODE_STATE__NODE_IDLE && n->alloc_cpus && n->alloc_cpus < n->cpus;
}

const char *names_node_base(const struct names_node *n)
{
    switch (n->state) {
    case PST__NODE_STATE__NODE_DOWN:
        return "DOWN";
    case PST__NODE_STATE__NODE_FUTURE:
        return "FUTURE";
    case PST__NODE_STATE__NODE_IDLE:
        return names_node_allocated(n) ? "ALLOCATED" : names_node_mixed(n) ? "MIXED" : "IDLE";
    default:
        return "UNKNOWN";
    }
}

const char *names_node_flag(unsigned bit)
{
    for (size_t i = 0; i < ARRAY_SIZE(node_flags); i++)
        if (node_flags[i].bit == bit)
            return node_flags[i].name;
    return NULL;
}

unsigned names_node_flag_order(unsigned i)
{
    return node_flags[i].bit;
}

/* Index: long and compact word of a node without its suffix. */
enum node_word {
    WORD_INVAL,
    WORD_MAINT,
    WORD_REBOOT,
    WORD_DRAINING,
    WORD_DRAINED,
    WORD_FAILING,
    WORD_FAIL,
    WORD_DOWN,
    WORD_ALLOCATED,
    WORD_COMPLETING,
    WORD_RESERVED,
    WORD_PLANNED,
    WORD_IDLE,
    WORD_MIXED,
    WORD_FUTURE,
    WORD_UNKNOWN,
};

static const char *const node_words[][2] = {
    [WORD_INVAL] = { "inval", "inval" },
    [WORD_MAINT] = { "maint", "maint" },
    [WORD_REBOOT] = { "reboot", "boot" },
    [WORD_DRAINING] = { "draining", "drng" },
    [WORD_DRAINED] = { "drained", "drain" },
    [WORD_FAILING] = { "failing", "failg" },
    [WORD_FAIL] = { "fail", "fail" },
    [WORD_DOWN] = { "down", "down" },
    [WORD_ALLOCATED] = { "allocated", "alloc" },
    [WORD_COMPLETING] = { "completing", "comp" },
    [WORD_RESERVED] = { "reserved", "resv" },
    [WORD_PLANNED] = { "planned", "plnd" },
    [WORD_IDLE] = { "idle", "idle" },
    [WORD_MIXED] = { "mixed", "mix" },
    [WORD_FUTURE] = { "future", "futr" },
    [WORD_UNKNOWN] = { "unknown", "unk" },
};

static enum node_word node_word_of(const struct names_node *n)
{
    bool has_jobs = names_node_allocated(n) || names_node_mixed(n);
    bool busy = has_jobs || (n->flags & NF(COMPLETING));
    bool down = n->state == PST__NODE_STATE__NODE_DOWN;

    if (n->flags & NF(INVALID_REG))
        return WORD_INVAL;
    if ((n->flags & NF(MAINTENANCE)) && !has_jobs && !down && !((n->flags & NF(DRAIN)) && busy))
        return WORD_MAINT;
    if ((n->flags & (NF(REBOOT_REQUESTED) | NF(REBOOT_ISSUED))) && !has_jobs)
        return WORD_REBOOT;
    if (n->flags & NF(DRAIN))
        return busy ? WORD_DRAINING : WORD_DRAINED;
    if (n->flags & NF(FAIL))
        return busy ? WORD_FAILING : WORD_FAIL;
    if (down)
        return WORD_DOWN;
    if (names_node_allocated(n))
        return WORD_ALLOCATED;
    if (n->flags & NF(COMPLETING))
        return WORD_COMPLETING;
    if (names_node_mixed(n))
        return WORD_MIXED;
    if (n->state == PST__NODE_STATE__NODE_FUTURE)
        return WORD_FUTURE;
    if (n->state != PST__NODE_STATE__NODE_IDLE)
        return WORD_UNKNOWN;
    if (n->flags & NF(RESERVED))
        return WORD_RESERVED;
    return n->flags & NF(PLANNED) ? WORD_PLANNED : WORD_IDLE;
}

/* The one character after the word, or 0. */
static char node_suffix(const struct names_node *n, enum node_word word)
{
    static const struct {
        uint32_t flag;
        char c;
    } suffixes[] = {
        { NF(MAINTENANCE), '$' }, { NF(REBOOT_ISSUED), '^' },  { NF(REBOOT_REQUESTED), '@' },
        { NF(POWERING_UP), '#' }, { NF(POWERING_DOWN), '%' },  { NF(POWERED_DOWN), '~' },
        { NF(POWER_DOWN), '!' },  { NF(NOT_RESPONDING), '*' },
    };

    switch (word) {
    case WORD_INVAL:
        return 0;
    case WORD_MAINT:
        return n->flags & NF(NOT_RESPONDING) ? '*' : 0;
    case WORD_REBOOT:
        return n->flags & NF(REBOOT_ISSUED) ? '^' : n->flags & NF(NOT_RESPONDING) ? '*' : 0;
    default:
        break;
    }
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
        if (n->flags & suffixes[i].flag)
            return suffixes[i].c;
    if (word == WORD_MIXED && (n->flags & NF(PLANNED)))
        return '-';
    if (word == WORD_ALLOCATED && (n->flags & NF(COMPLETING)))
        return '+';
    return 0;
}

const char *names_node_word(const struct names_node *n, bool compact, char *buf, size_t size)
{
    enum node_word word = node_word_of(n);
    char suffix[2] = { node_suffix(n, word), '\0' };

    (void)snprintf(buf, size, "%s%s", node_words[word][compact], suffix); /* fits NAMES_NODE_TEXT */
    return buf;
}

const char *names_node_full(const struct names_node *n, bool lower, char *buf, size_t size)
{
    size_t len = (size_t)snprintf(buf, size, "%s", names_node_base(n));

    for (size_t i = 0; i < ARRAY_SIZE(node_flags) && len < size; i++)
        if (n->flags & (1u << node_flags[i].bit))
            len += (size_t)snprintf(buf + len, size - len, "+%s", node_flags[i].name);
    for (char *p = buf; lower && *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    return buf;
}

/* Slurm's numbers of the base states, by which sinfo sorts. */
static unsigned base_number(const struct names_node *n)
{
    if (names_node_allocated(n))
        return 3;
    if (names_node_mixed(n))
        return 5;
    switch (n->state) {
    case PST__NODE_STATE__NODE_DOWN:
        return 1;
    case PST__NODE_STATE__NODE_IDLE:
        return 2;
    case PST__NODE_STATE__NODE_FUTURE:
        return 6;
    default:
        return 0;
    }
}

unsigned names_node_rank(const struct names_node *n)
{
    static const uint32_t special =
        NF(DRAIN) | NF(FAIL) | NF(MAINTENANCE) | NF(RESERVED) | NF(INVALID_REG);

    return base_number(n) + (n->flags & special ? 16 : 0);
}

enum filter_kind {
    FILTER_ALL,
    FILTER_ALLOCATED, /* wholly or in part */
    FILTER_MIXED,
    FILTER_STATE, /* base state as stored, whatever jobs hold */
    FILTER_IDLE,
    FILTER_FLAG,
    FILTER_DRAINING,
    FILTER_DRAINED,
    FILTER_REBOOT,
    FILTER_NEVER, /* a state that these nodes never have */
};

static const struct {
    const char *name;
    enum filter_kind kind;
    uint32_t arg;
} filters[] = {
    { "unknown", FILTER_STATE, PST__NODE_STATE__NODE_UNKNOWN },
    { "unk", FILTER_STATE, PST__NODE_STATE__NODE_UNKNOWN },
    { "down", FILTER_STATE, PST__NODE_STATE__NODE_DOWN },
    { "idle", FILTER_IDLE, 0 },
    { "allocated", FILTER_ALLOCATED, 0 },
    { "alloc", FILTER_ALLOCATED, 0 },
    { "mixed", FILTER_MIXED, 0 },
    { "mix", FILTER_MIXED, 0 },
    { "future", FILTER_STATE, PST__NODE_STATE__NODE_FUTURE },
    { "futr", FILTER_STATE, PST__NODE_STATE__NODE_FUTURE },
    { "drain", FILTER_FLAG, NF(DRAIN) },
    { "drained", FILTER_DRAINED, 0 },
    { "draining", FILTER_DRAINING, 0 },
    { "drng", FILTER_DRAINING, 0 },
    { "no_respond", FILTER_FLAG, NF(NOT_RESPONDING) },
    { "reserved", FILTER_FLAG, NF(RESERVED) },
    { "resv", FILTER_FLAG, NF(RESERVED) },
    { "planned", FILTER_FLAG, NF(PLANNED) },
    { "plnd", FILTER_FLAG, NF(PLANNED) },
    { "blocked", FILTER_NEVER, 0 },
    { "cloud", FILTER_FLAG, NF(CLOUD) },
    { "completing", FILTER_FLAG, NF(COMPLETING) },
    { "comp", FILTER_FLAG, NF(COMPLETING) },
    { "powering_down", FILTER_FLAG, NF(POWERING_DOWN) },
    { "powered_down", FILTER_FLAG, NF(POWERED_DOWN) },
    { "power_down", FILTER_FLAG, NF(POWER_DOWN) },
    { "powering_up", FILTER_FLAG, NF(POWERING_UP) },
    { "power_up", FILTER_FLAG, NF(POWER_UP) },
    { "inval", FILTER_FLAG, NF(INVALID_REG) },
    { "invalid", FILTER_FLAG, NF(INVALID_REG) },
    { "fail", FILTER_FLAG, NF(FAIL) },
    { "maint", FILTER_FLAG, NF(MAINTENANCE) },
    { "reboot", FILTER_REBOOT, 0 },
    { "reboot_requested", FILTER_FLAG, NF(REBOOT_REQUESTED) },
    { "reboot^", FILTER_FLAG, NF(REBOOT_ISSUED) },
    { "reboot_issued", FILTER_FLAG, NF(REBOOT_ISSUED) },
    { "external", FILTER_FLAG, NF(EXTERNAL) },
    { "dynamic_future", FILTER_FLAG, NF(DYNAMIC_FUTURE) },
    { "dynamic_norm", FILTER_FLAG, NF(DYNAMIC_NORM) },
    { "all", FILTER_ALL, 0 },
};

int names_node_filter_parse(const char *word, unsigned *ret_filter)
{
    for (unsigned i = 0; i < ARRAY_SIZE(filters); i++)
        if (strcasecmp(word, filters[i].name) == 0) {
            *ret_filter = i;
            return 0;
        }
    for (unsigned i = 0; *word && i < ARRAY_SIZE(filters); i++)
        if (strncasecmp(word, filters[i].name, strlen(word)) == 0) {
            *ret_filter = i; /* the first that begins so */
            return 0;
        }
    return -EINVAL;
}

bool names_node_filter_match(unsigned filter, const struct names_node *n)
{
    bool busy = names_node_allocated(n) || names_node_mixed(n) || (n->flags & NF(COMPLETING));
    bool drain = n->flags & NF(DRAIN);

    switch (filters[filter].kind) {
    case FILTER_ALL:
        return true;
    case FILTER_ALLOCATED:
        return names_node_allocated(n) || names_node_mixed(n);
    case FILTER_MIXED:
        return names_node_mixed(n);
    case FILTER_IDLE:
        return n->state == PST__NODE_STATE__NODE_IDLE && !n->alloc_cpus;
    case FILTER_STATE:
        return n->state == filters[filter].arg;
    case FILTER_FLAG:
        return n->flags & filters[filter].arg;
    case FILTER_DRAINING:
        return drain && busy;
    case FILTER_DRAINED:
        return drain && !busy;
    case FILTER_REBOOT:
        return n->flags & (NF(REBOOT_REQUESTED) | NF(REBOOT_ISSUED));
    case FILTER_NEVER:
    default:
        return false;
    }
}

const char *names_node_filter_list(void)
{
    /* Aliases are left out. */
    return "unknown,down,idle,allocated,mixed,future,drain,drained,draining,no_respond,reserved,"
           "planned,"
           "blocked,cloud,completing,powering_down,powered_down,power_down,powering_up,power_up,"
           "inval,"
           "fail,maint,reboot,reboot^,external,dynamic_future,dynamic_norm";
}

static const char *const part_states[] = {
    [PST__PARTITION_STATE__PART_INACTIVE] = "INACTIVE",
    [PST__PARTITION_STATE__PART_DOWN] = "DOWN",
    [PST__PARTITION_STATE__PART_DRAIN] = "DRAIN",
    [PST__PARTITION_STATE__PART_UP] = "UP",
};

const char *names_part_state(unsigned state)
{
    return state < ARRAY_SIZE(part_states) ? part_states[state] : "UNKNOWN";
}

int names_part_state_parse(const char *word, unsigned *ret_state)
{
    for (unsigned i = 0; i < ARRAY_SIZE(part_states); i++)
        if (strcasecmp(word, part_states[i]) == 0) {
            *ret_state = i;
            return 0;
        }
    return -EINVAL;
}
