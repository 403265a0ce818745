/* test_conf_show.c - `scontrol show config`: order, spelling and values, against a recorded
 * output */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/conf.h"

struct pair {
    const char *key, *value; /* "CALLER": the caller's; "ANY": depends on the build */
};

/* clang-format off */
static const char recorded_conf[] =
    "AccountingStorageEnforce=associations,limits,qos\n"
    "AccountingStorageHost=127.0.0.1\n"
    "AccountingStorageType=accounting_storage/slurmdbd\n"
    "AccountingStoreFlags=job_comment,job_env,job_script\n"
    "AuthAltTypes=auth/jwt\n"
    "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key\n"
    "AuthType=auth/munge\n"
    "ClusterName=demo\n"
    "CredType=cred/munge\n"
    "DefMemPerCPU=100\n"
    "Epilog=/etc/slurm/dump.sh\n"
    "EpilogSlurmctld=/etc/slurm/dump.sh\n"
    "GresTypes=gpu,shard\n"
    "JobAcctGatherFrequency=5\n"
    "JobAcctGatherType=jobacct_gather/linux\n"
    "KillWait=5\n"
    "LaunchParameters=use_interactive_step\n"
    "Licenses=matlab:10,ansys:4\n"
    "MailProg=/bin/true\n"
    "MetricsType=metrics/openmetrics\n"
    "PreemptMode=REQUEUE\n"
    "PreemptType=preempt/partition_prio\n"
    "PriorityCalcPeriod=1\n"
    "PriorityWeightAge=1000\n"
    "PriorityWeightFairShare=10000\n"
    "PriorityWeightJobSize=500\n"
    "PriorityWeightPartition=2000\n"
    "PriorityWeightQOS=3000\n"
    "ProctrackType=proctrack/linuxproc\n"
    "Prolog=/etc/slurm/dump.sh\n"
    "PrologSlurmctld=/etc/slurm/dump.sh\n"
    "RebootProgram=/bin/true\n"
    "ReturnToService=2\n"
    "SchedulerParameters=bf_interval=5,sched_interval=5,requeue_delay=5,enable_user_top\n"
    "ScronParameters=enable\n"
    "SelectTypeParameters=CR_Core_Memory\n"
    "SlurmUser=root\n"
    "SlurmctldHost=ctl1(127.0.0.1)\n"
    "SlurmctldLogFile=/var/log/slurm/slurmctld.log\n"
    "SlurmdLogFile=/var/log/slurm/slurmd.%n.log\n"
    "SlurmdParameters=config_overrides\n"
    "SlurmdPidFile=/var/run/slurm/slurmd.%n.pid\n"
    "SlurmdSpoolDir=/var/spool/slurmd/%n\n"
    "SlurmctldPidFile=/var/run/slurm/slurmctld.pid\n"
    "StateSaveLocation=/var/spool/slurmctld\n"
    "TaskEpilog=/etc/slurm/dump.sh\n"
    "TaskProlog=/etc/slurm/tprolog.sh\n"
    "TopologyPlugin=topology/tree\n"
    "PrologFlags=Contain\n"
    "AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpumem,gres/gpuutil,license/matlab\n"
    "NodeName=node[1-4] NodeHostname=ctl1 Port=[6821-6824]\n";

static const struct pair recorded[] = {
    { "AccountingStorageBackupHost", NULL },
    { "AccountingStorageEnforce", "associations,limits,qos" },
    { "AccountingStorageHost", "127.0.0.1" },
    { "AccountingStorageExternalHost", NULL },
    { "AccountingStorageParameters", NULL },
    { "AccountingStoragePort", "6819" },
    { "AccountingStorageTRES", "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu,gres/gpu:a100,gres/gpumem,gres/gpuutil,license/matlab" },
    { "AccountingStorageType", "accounting_storage/slurmdbd" },
    { "AccountingStoreFlags", "job_comment,job_env,job_script" },
    { "AcctGatherEnergyType", NULL },
    { "AcctGatherFilesystemType", NULL },
    { "AcctGatherInterconnectType", NULL },
    { "AcctGatherNodeFreq", "0 sec" },
    { "AcctGatherProfileType", NULL },
    { "AllowSpecResourcesUsage", "no" },
    { "AuthAltTypes", "auth/jwt" },
    { "AuthAltParameters", "jwt_key=/etc/slurm/jwt_hs256.key" },
    { "AuthInfo", NULL },
    { "AuthType", "auth/munge" },
    { "BatchStartTimeout", "10 sec" },
    { "BcastExclude", "/lib,/usr/lib,/lib64,/usr/lib64" },
    { "BcastParameters", NULL },
    { "BOOT_TIME", "CALLER" },
    { "BurstBufferType", NULL },
    { "CertgenParameters", NULL },
    { "CertgenType", NULL },
    { "CertmgrParameters", NULL },
    { "CertmgrType", NULL },
    { "CliFilterParameters", NULL },
    { "CliFilterPlugins", NULL },
    { "ClusterName", "demo" },
    { "CommunicationParameters", NULL },
    { "CompleteWait", "0 sec" },
    { "CpuFreqDef", "Unknown" },
    { "CpuFreqGovernors", "OnDemand,Performance,UserSpace" },
    { "CredType", "cred/munge" },
    { "DataParserParameters", NULL },
    { "DebugFlags", NULL },
    { "DefMemPerCPU", "100" },
    { "DependencyParameters", NULL },
    { "DisableRootJobs", "no" },
    { "EioTimeout", "60" },
    { "EnforcePartLimits", "NO" },
    { "Epilog[0]", "/etc/slurm/dump.sh" },
    { "EpilogMsgTime", "2000 usec" },
    { "EpilogSlurmctld[0]", "/etc/slurm/dump.sh" },
    { "FairShareDampeningFactor", "1" },
    { "FederationParameters", NULL },
    { "FirstJobId", "1" },
    { "GresTypes", "gpu,shard" },
    { "GpuFreqDef", NULL },
    { "GroupUpdateForce", "1" },
    { "GroupUpdateTime", "600 sec" },
    { "HASH_VAL", "CALLER" },
    { "HashPlugin", "hash/k12" },
    { "HealthCheckInterval", "0 sec" },
    { "HealthCheckNodeState", "ANY" },
    { "HealthCheckProgram", NULL },
    { "HealthCheckTimeout", "0 sec" },
    { "HttpParserType", NULL },
    { "InactiveLimit", "0 sec" },
    { "InteractiveStepOptions", "--interactive --preserve-env --pty $SHELL" },
    { "JobAcctGatherFrequency", "5" },
    { "JobAcctGatherType", "jobacct_gather/linux" },
    { "JobAcctGatherParams", NULL },
    { "JobCompHost", "localhost" },
    { "JobCompLoc", NULL },
    { "JobCompParams", NULL },
    { "JobCompPass", NULL },
    { "JobCompPort", "0" },
    { "JobCompType", NULL },
    { "JobCompUser", "root" },
    { "JobDefaults", NULL },
    { "JobFileAppend", "0" },
    { "JobRequeue", "1" },
    { "JobSubmitPlugins", NULL },
    { "KillOnBadExit", "0" },
    { "KillWait", "5 sec" },
    { "LaunchParameters", "use_interactive_step" },
    { "LicenseParameters", NULL },
    { "Licenses", "matlab:10,ansys:4" },
    { "LogTimeFormat", "iso8601_ms" },
    { "MailDomain", NULL },
    { "MailProg", "/bin/true" },
    { "MaxArraySize", "1001" },
    { "MaxBatchRequeue", "5" },
    { "MaxDBDMsgs", "20016" },
    { "MaxJobCount", "10000" },
    { "MaxJobId", "67043328" },
    { "MaxMemPerNode", "UNLIMITED" },
    { "MaxNodeCount", "4" },
    { "MaxStepCount", "40000" },
    { "MaxTasksPerNode", "512" },
    { "MCSPlugin", NULL },
    { "MCSParameters", NULL },
    { "MessageTimeout", "10 sec" },
    { "MetricsAuthUsers", NULL },
    { "MetricsParameters", NULL },
    { "MetricsType", "metrics/openmetrics" },
    { "MinJobAge", "300 sec" },
    { "MpiDefault", NULL },
    { "MpiParams", NULL },
    { "MULTIPLE_SLURMD", "yes" },
    { "NamespaceType", NULL },
    { "NEXT_JOB_ID", "CALLER" },
    { "NodeFeaturesPlugins", NULL },
    { "OverTimeLimit", "0 min" },
    { "PluginDir", "ANY" },
    { "PlugStackConfig", NULL },
    { "PreemptMode", "REQUEUE" },
    { "PreemptParameters", NULL },
    { "PreemptType", "preempt/partition_prio" },
    { "PreemptExemptTime", "00:00:00" },
    { "PrEpParameters", NULL },
    { "PrEpPlugins", "prep/script" },
    { "PriorityParameters", NULL },
    { "PrioritySiteFactorParameters", NULL },
    { "PrioritySiteFactorPlugin", NULL },
    { "PriorityDecayHalfLife", "7-00:00:00" },
    { "PriorityCalcPeriod", "00:01:00" },
    { "PriorityFavorSmall", "no" },
    { "PriorityFlags", "" },
    { "PriorityMaxAge", "7-00:00:00" },
    { "PriorityType", "priority/multifactor" },
    { "PriorityUsageResetPeriod", "NONE" },
    { "PriorityWeightAge", "1000" },
    { "PriorityWeightAssoc", "0" },
    { "PriorityWeightFairShare", "10000" },
    { "PriorityWeightJobSize", "500" },
    { "PriorityWeightPartition", "2000" },
    { "PriorityWeightQOS", "3000" },
    { "PriorityWeightTRES", NULL },
    { "PrivateData", "none" },
    { "ProctrackType", "proctrack/linuxproc" },
    { "Prolog[0]", "/etc/slurm/dump.sh" },
    { "PrologEpilogTimeout", "65534" },
    { "PrologSlurmctld[0]", "/etc/slurm/dump.sh" },
    { "PrologFlags", "Alloc,Contain" },
    { "PropagatePrioProcess", "0" },
    { "PropagateResourceLimits", "ALL" },
    { "PropagateResourceLimitsExcept", NULL },
    { "RebootProgram", "/bin/true" },
    { "ReconfigFlags", NULL },
    { "RequeueExit", NULL },
    { "RequeueExitHold", NULL },
    { "ResumeFailProgram", NULL },
    { "ResumeProgram", NULL },
    { "ResumeRate", "300 nodes/min" },
    { "ResumeTimeout", "60 sec" },
    { "ResvEpilog", NULL },
    { "ResvOverRun", "0 min" },
    { "ResvProlog", NULL },
    { "ReturnToService", "2" },
    { "SchedulerParameters", "bf_interval=5,sched_interval=5,requeue_delay=5,enable_user_top" },
    { "SchedulerTimeSlice", "30 sec" },
    { "SchedulerType", "sched/backfill" },
    { "ScronParameters", "enable" },
    { "SelectType", "select/cons_tres" },
    { "SelectTypeParameters", "CR_CORE_MEMORY" },
    { "SlurmUser", "root(0)" },
    { "SlurmctldAddr", NULL },
    { "SlurmctldDebug", "info" },
    { "SlurmctldHost[0]", "ctl1(127.0.0.1)" },
    { "SlurmctldHttpAuthParameters", NULL },
    { "SlurmctldLogFile", "/var/log/slurm/slurmctld.log" },
    { "SlurmctldPort", "6817" },
    { "SlurmctldSyslogDebug", NULL },
    { "SlurmctldPrimaryOffProg", NULL },
    { "SlurmctldPrimaryOnProg", NULL },
    { "SlurmctldTimeout", "120 sec" },
    { "SlurmctldParameters", NULL },
    { "SlurmdDebug", "info" },
    { "SlurmdHttpAuthParameters", NULL },
    { "SlurmdLogFile", "/var/log/slurm/slurmd.%n.log" },
    { "SlurmdParameters", "config_overrides" },
    { "SlurmdPidFile", "/var/run/slurm/slurmd.%n.pid" },
    { "SlurmdPort", "6818" },
    { "SlurmdSpoolDir", "/var/spool/slurmd/%n" },
    { "SlurmdSyslogDebug", NULL },
    { "SlurmdTimeout", "300 sec" },
    { "SlurmdUser", "root(0)" },
    { "SlurmSchedLogFile", NULL },
    { "SlurmSchedLogLevel", "0" },
    { "SlurmctldPidFile", "/var/run/slurm/slurmctld.pid" },
    { "SLURM_CONF", "slurm.conf" },
    { "SLURM_VERSION", "ANY" },
    { "SrunEpilog", NULL },
    { "SrunPortRange", "0-0" },
    { "SrunProlog", NULL },
    { "StateSaveLocation", "/var/spool/slurmctld" },
    { "SuspendExcNodes", NULL },
    { "SuspendExcParts", NULL },
    { "SuspendExcStates", NULL },
    { "SuspendProgram", NULL },
    { "SuspendRate", "60 nodes/min" },
    { "SuspendTime", "INFINITE" },
    { "SuspendTimeout", "30 sec" },
    { "SwitchParameters", NULL },
    { "SwitchType", NULL },
    { "TaskEpilog", "/etc/slurm/dump.sh" },
    { "TaskPlugin", NULL },
    { "TaskPluginParam", "(null type)" },
    { "TaskProlog", "/etc/slurm/tprolog.sh" },
    { "TCPTimeout", "2 sec" },
    { "TLSParameters", NULL },
    { "TLSType", "tls/none" },
    { "TmpFS", "/tmp" },
    { "TopologyParam", NULL },
    { "TopologyPlugin", "topology/tree" },
    { "TrackWCKey", "no" },
    { "TreeWidth", "16" },
    { "UsePam", "no" },
    { "UnkillableStepProgram", NULL },
    { "UnkillableStepTimeout", "60 sec" },
    { "UrlParserType", NULL },
    { "VSizeFactor", "0 percent" },
    { "WaitTime", "0 sec" },
    { "X11Parameters", NULL },
};
/* clang-format on */

static const struct pair cgroup_rows[] = {
    { "AllowedRAMSpace", "100.0%" },     { "AllowedSwapSpace", "0.0%" },
    { "CgroupJobIdPaths", "no" },        { "CgroupMountpoint", "/sys/fs/cgroup" },
    { "CgroupPlugin", "autodetect" },    { "CgroupSlice", "system.slice" },
    { "ConstrainCores", "yes" },         { "ConstrainDevices", "no" },
    { "ConstrainRAMSpace", "no" },       { "ConstrainSwapSpace", "no" },
    { "EnableControllers", "no" },       { "EnableExtraControllers", NULL },
    { "IgnoreSystemd", "no" },           { "IgnoreSystemdOnFailure", "no" },
    { "MaxRAMPercent", "87.5%" },        { "MaxSwapPercent", "100.0%" },
    { "MemorySwappiness", NULL },        { "MinRAMSpace", "30MB" },
    { "SignalChildrenProcesses", "no" }, { "SystemdTimeout", "1000 ms" },
};

struct expect {
    const struct pair *rows;
    size_t n, at;
};

static void compare(void *ctx, const char *key, const char *value)
{
    struct expect *e = ctx;
    const struct pair *want;

    if (e->at >= e->n)
        fail_msg("one row too many: %s", key);
    want = &e->rows[e->at++];
    assert_string_equal(key, want->key);
    if (want->value && strcmp(want->value, "CALLER") == 0)
        assert_ptr_equal(value, conf_show_caller);
    else if (want->value && strcmp(want->value, "ANY") == 0)
        assert_non_null(value);
    else if (!want->value && value)
        fail_msg("%s is \"%s\" where (null) was expected", key, value);
    else if (want->value && (!value || strcmp(value, want->value) != 0))
        fail_msg("%s is \"%s\" where \"%s\" was expected", key, value ? value : "(null)",
                 want->value);
}

static struct conf *load(const char *text, const char *cgroup)
{
    const struct conf_text files[] = { { "slurm.conf", text, strlen(text) },
                                       { "cgroup.conf", cgroup, strlen(cgroup) } };
    struct err err = { .text = "" };
    struct conf *c = NULL;

    if (conf_load_text(files, ARRAY_SIZE(files), CONF_FULL, &c, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static void test_recorded(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        load(recorded_conf, "ConstrainCores=yes MaxRAMPercent=87.5");
    struct expect e = { recorded, ARRAY_SIZE(recorded), 0 };

    conf_show(c, compare, &e);
    assert_int_equal(e.at, e.n);
    e = (struct expect){ cgroup_rows, ARRAY_SIZE(cgroup_rows), 0 };
    conf_show_cgroup(c, compare, &e);
    assert_int_equal(e.at, e.n);
}

struct find {
    const char *key;
    char value[128];
    bool found;
};

static void pick(void *ctx, const char *key, const char *value)
{
    struct find *f = ctx;

    if (strcmp(f->key, key) != 0)
        return;
    f->found = true;
    (void)snprintf(f->value, sizeof(f->value), "%s", value ? value : "(null)");
}

static void test_values(void **state)
{
    static const struct {
        const char *line, *key, *value;
    } cases[] = {
        { "", "DefMemPerNode", "UNLIMITED" },
        { "", "Epilog", NULL }, /* no row */
        { "", "MULTIPLE_SLURMD", NULL },
        { "NodeName=n[1-2]", "MULTIPLE_SLURMD", NULL },
        { "NodeName=n[1-2] NodeHostname=h Port=[7001-7002]", "MULTIPLE_SLURMD", "yes" },
        { "", "PrivateData", "none" },
        { "", "PriorityFlags", "" },
        { "", "CredType", "cred/slurm" },
        { "", "TaskPluginParam", "(null type)" },
        { "", "PrologFlags", "(null)" },
        { "", "ProctrackType", "proctrack/cgroup" },
        { "", "SlurmctldHost[0]", "h" },
        { "AuthType=auth/munge", "CredType", "cred/munge" },
        { "SlurmctldHost=b(1.2.3.4)", "SlurmctldHost[1]", "b(1.2.3.4)" },
        { "SlurmctldPort=7000-7010", "SlurmctldPort", "7000-7010" },
        { "OverTimeLimit=UNLIMITED", "OverTimeLimit", "UNLIMITED" },
        { "SuspendTime=600", "SuspendTime", "600 sec" },
        { "MaxMemPerCPU=4G", "MaxMemPerCPU", "4096" },
        { "MaxMemPerNode=100", "MaxMemPerNode", "100" },
        { "PrologFlags=X11", "PrologFlags", "Alloc,Contain,X11" },
        { "PrologEpilogTimeout=60", "PrologEpilogTimeout", "60" },
        { "PriorityMaxAge=INFINITE", "PriorityMaxAge", "UNLIMITED" },
        { "DefCpuPerGPU=4 DefMemPerGPU=1024", "JobDefaults", "DefCpuPerGPU=4,DefMemPerGPU=1024" },
        { "JobCompPass=hunter2", "JobCompPass", "******" },
        { "JobCompType=jobcomp/none", "JobCompType", "(null)" },
        { "SlurmUser=0", "SlurmUser", "root(0)" },
        { "KillOnBadExit=yes", "KillOnBadExit", "1" },
        { "TrackWCKey=yes", "TrackWCKey", "yes" },
        { "PrologTimeout=30", "PrologTimeout", "30" },
        { "SlurmctldDebug=3", "SlurmctldDebug", "info" },
        { "SlurmdDebug=DEBUG2", "SlurmdDebug", "debug2" },
        { "SlurmdSyslogDebug=2", "SlurmdSyslogDebug", "error" },
        { "PreemptMode=suspend,gang PreemptType=preempt/qos", "PreemptMode", "GANG,SUSPEND" },
        { "PreemptMode=gang", "PreemptMode", "GANG" },
        { "DebugFlags=steps,backfill", "DebugFlags", "Backfill,Steps" },
        { "PriorityFlags=max_tres,accrue_always", "PriorityFlags", "ACCRUE_ALWAYS,MAX_TRES" },
        { "PrivateData=usage,jobs,usage", "PrivateData", "jobs,usage" },
        { "HealthCheckNodeState=idle,cycle", "HealthCheckNodeState", "CYCLE,IDLE" },
        { "ReconfigFlags=keeppartstate", "ReconfigFlags", "KeepPartState" },
        { "LogTimeFormat=RFC5424", "LogTimeFormat", "rfc5424" },
        { "CpuFreqDef=performance", "CpuFreqDef", "Performance" },
        { "CpuFreqDef=2400000", "CpuFreqDef", "2400000" },
        { "CpuFreqGovernors=userspace,ondemand", "CpuFreqGovernors", "OnDemand,UserSpace" },
        { "EnforcePartLimits=yes", "EnforcePartLimits", "ALL" },
        { "MaxDBDMsgs=123456", "MaxDBDMsgs", "123456" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = NULL;
        _cleanup_(conf_free) struct conf *c = NULL;
        struct find f = { .key = cases[i].key };

        assert_true(asprintf(&text, "ClusterName=c SlurmctldHost=h\n%s\n", cases[i].line) > 0);
        c = load(text, "");
        conf_show(c, pick, &f);
        assert_int_equal(f.found, cases[i].value != NULL);
        assert_string_equal(f.value, cases[i].value ? cases[i].value : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_values),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
