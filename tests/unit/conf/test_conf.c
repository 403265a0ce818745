/* test_conf.c - slurm.conf: what is refused, in which words, and what a good file gives */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "conf/conf.h"
#include "conf/conf_keys.h"
#include "conf_util.h"

/* Two lines that every configuration needs; what is tested starts in line 3. */
#define HEAD "ClusterName=c SlurmctldHost=h\nNodeName=n[1-4] CPUs=4\n"

static int load_text(const char *text, const char *gres, const char *cgroup, struct conf **ret,
                     struct conf_problems *problems, struct err *err)
{
    struct conf_text files[3] = { { "slurm.conf", text, strlen(text) } };
    size_t n = 1;

    if (gres)
        files[n++] = (struct conf_text){ "gres.conf", gres, strlen(gres) };
    if (cgroup)
        files[n++] = (struct conf_text){ "cgroup.conf", cgroup, strlen(cgroup) };
    return conf_load_text(files, n, CONF_FULL, ret, problems, err);
}

/* No error, and so many warnings. */
static struct conf *loaded(const char *text, size_t warnings)
{
    struct conf_problems problems;
    struct err err = { .text = "" };
    struct conf *c = NULL;
    int r = load_text(text, NULL, NULL, &c, &problems, &err);

    if (r < 0 || problems.n != warnings)
        conf_report(stderr, &problems);
    assert_int_equal(r, 0);
    assert_int_equal(problems.n, warnings);
    assert_string_equal(err.text, "");
    conf_problems_done(&problems);
    return c;
}

static struct conf *good(const char *text)
{
    return loaded(text, 0);
}

/* Each text after HEAD, with exactly the report it must give. */
#define TRES_KINDS                                                                                 \
    "billing, cpu, energy, mem, node, pages, vmem, bb/NAME, fs/NAME, gres/NAME, ic/NAME, "         \
    "license/NAME"

static const struct {
    const char *text, *report;
} bad[] = {
    /* the dialect */
    { "KillWait\n", "slurm.conf:3: error: expected Key=Value at \"KillWait\"\n" },
    { "=30\n", "slurm.conf:3: error: expected Key=Value at \"=\"\n" },
    { "Kill-Wait=30\n", "slurm.conf:3: error: expected Key=Value at \"Kill-Wait\"\n" },
    { "KillWait=\n", "slurm.conf:3: error: key KillWait has no value\n" },
    { "KillWait= # nothing\n", "slurm.conf:3: error: key KillWait has no value\n" },
    { "MailDomain=\"a b\n", "slurm.conf:3: error: a quote is not closed: \"a b\n" },
    { "MailDomain=\"a\"b\n", "slurm.conf:3: error: text follows a closing quote: b\n" },
    { "\\\n\\\nKillWait=x\n", "slurm.conf:3: error: KillWait=x is not a number\n" },
    { "Include nowhere.conf\n",
      "slurm.conf:3: error: cannot read nowhere.conf: No such file or directory\n" },
    { "Include\t \n", "slurm.conf:3: error: Include names no file\n" },
    { "Include slurm.conf\n", "slurm.conf:3: error: cannot read slurm.conf: it includes itself\n" },
    /* keys */
    { "KilWait=30\n", "slurm.conf:3: error: unknown key KilWait; did you mean KillWait?\n" },
    { "ShedulerParameter=defer\n",
      "slurm.conf:3: error: unknown key ShedulerParameter; did you mean SchedulerParameters?\n" },
    { "Wombat=1\n", "slurm.conf:3: error: unknown key Wombat\n" },
    { "MemLimitEnforce=yes\n", "slurm.conf:3: error: unknown key MemLimitEnforce; use "
                               "JobAcctGatherParams=OverMemoryKill instead\n" },
    { "NodeNam=x\n", "slurm.conf:3: error: unknown key NodeNam; did you mean NodeName?\n" },
    { "NodeName=x CPU=2\n",
      "slurm.conf:3: error: unknown key CPU in NodeName; did you mean CPUs?\n" },
    { "PartitionName= Nodes=ALL\n",
      "slurm.conf:3: error: PartitionName=\"Nodes=ALL\" is not a name\n" },
    { "PartitionName=p Node=n1\n",
      "slurm.conf:3: error: unknown key Node in PartitionName; did you mean Nodes?\n" },
    { "NodeName=x KillWait=3\n",
      "slurm.conf:3: error: key KillWait does not belong into NodeName lines\n" },
    { "a\x01=1\n", "slurm.conf:3: error: expected Key=Value at \"a?\"\n" },
    /* values */
    { "KillWait=soon\n", "slurm.conf:3: error: KillWait=soon is not a number\n" },
    { "KillWait=-5\n", "slurm.conf:3: error: KillWait=-5 is not a number\n" },
    { "KillWait=70000\n",
      "slurm.conf:3: error: KillWait=70000 is out of range (0 to 65533 sec)\n" },
    { "MaxArraySize=5000000\n",
      "slurm.conf:3: error: MaxArraySize=5000000 is out of range (0 to 4000001)\n" },
    { "MaxJobCount=99999999999999999999999\n",
      "slurm.conf:3: error: MaxJobCount=99999999999999999999999 is out of range (1 to "
      "4294967294)\n" },
    { "DisableRootJobs=maybe\n",
      "slurm.conf:3: error: DisableRootJobs=maybe is neither yes nor no\n" },
    { "SelectType=select/cons_tree\n",
      "slurm.conf:3: error: SelectType=select/cons_tree is not known; did you mean "
      "select/cons_tres?\n" },
    { "PreemptMode=REQUEUE,some PreemptType=preempt/qos\n",
      "slurm.conf:3: error: PreemptMode: unknown option some\n" },
    { "DebugFlags=Backfil,Steps\n",
      "slurm.conf:3: error: DebugFlags: unknown option Backfil; did you mean Backfill?\n" },
    { "PropagateResourceLimits=NOFIL\n",
      "slurm.conf:3: error: PropagateResourceLimits: unknown option NOFIL; did you mean "
      "NOFILE?\n" },
    { "PropagateResourceLimitsExcept=MEMLOCK,wombat\n",
      "slurm.conf:3: error: PropagateResourceLimitsExcept: unknown option wombat\n" },
    { "SelectTypeParameters=CR_Cores\n",
      "slurm.conf:3: error: SelectTypeParameters: unknown option CR_Cores; did you mean "
      "CR_Core?\n" },
    { "PartitionName=p SelectTypeParameters=wombat\n",
      "slurm.conf:3: error: SelectTypeParameters: unknown option wombat\n" },
    { "PrologFlags=Alloc,wombat\n", "slurm.conf:3: error: PrologFlags: unknown option wombat\n" },
    { "PrEpPlugins=prep/script,prep/mine\n",
      "slurm.conf:3: error: PrEpPlugins: unknown option prep/mine\n"
      "slurm.conf:3: warning: key PrEpPlugins is accepted without effect: prologs and epilogs are "
      "scripts\n" },
    { "JobCompType=jobcomp/mysql\n",
      "slurm.conf:3: error: JobCompType=jobcomp/mysql is not known: slurmdbd keeps jobs in a "
      "database: AccountingStorageType=accounting_storage/slurmdbd\n" },
    { "JobCompType=jobcomp/lua\n", "slurm.conf:3: error: JobCompType=jobcomp/lua is not known: a "
                                   "program gets each job by jobcomp/script\n" },
    { "TaskPluginParam=wombat\n", "slurm.conf:3: error: TaskPluginParam: unknown option wombat\n" },
    { "TaskPluginParam=autobind=wombat\n",
      "slurm.conf:3: error: TaskPluginParam: Autobind=wombat is none of none, threads, cores, "
      "sockets\n" },
    { "AccountingStorageTRES=cpu,gres/gpu,wombat\n",
      "slurm.conf:3: error: AccountingStorageTRES: wombat is none of " TRES_KINDS "\n" },
    { "PartitionName=p TRESBillingWeights=CPU=1,wombat=2\n",
      "slurm.conf:3: error: TRESBillingWeights: wombat is none of " TRES_KINDS "\n" },
    { "PartitionName=p TRESBillingWeights=wombat\n",
      "slurm.conf:3: error: TRESBillingWeights: 'wombat' is not of the form name=number\n" },
    { "BcastExclude=/lib,wombat\n",
      "slurm.conf:3: error: BcastExclude: wombat is not an absolute path\n" },
    { "PartitionName=p PreemptMode=some\n",
      "slurm.conf:3: error: PreemptMode: unknown option some\n" },
    { "SlurmctldDebug=loud\n", "slurm.conf:3: error: SlurmctldDebug=loud is not known\n" },
    { "StateSaveLocation=state\n",
      "slurm.conf:3: error: StateSaveLocation=state is not an absolute path\n" },
    { "PriorityMaxAge=a-b\n",
      "slurm.conf:3: error: PriorityMaxAge=a-b is not a time such as 30, 1:00:00 or 7-0\n" },
    { "PriorityCalcPeriod=0\n",
      "slurm.conf:3: error: PriorityCalcPeriod=0 is out of range (60 to 4294967294 sec)\n" },
    { "DefMemPerCPU=much\n",
      "slurm.conf:3: error: DefMemPerCPU=much is not a size such as 4096 or 4G\n" },
    { "SlurmctldPort=80x\n",
      "slurm.conf:3: error: SlurmctldPort=80x is neither a port nor a range of ports\n" },
    { "SlurmctldPort=6820-6817\n",
      "slurm.conf:3: error: SlurmctldPort=6820-6817 is an empty range\n" },
    { "SlurmctldPort=70000\n",
      "slurm.conf:3: error: SlurmctldPort=70000 is out of range (1 to 65535)\n" },
    { "SlurmctldHost=h2(\n", "slurm.conf:3: error: SlurmctldHost=h2( is not of the form name or "
                             "name(address)\n" },
    { "SlurmUser=12ab\n", "slurm.conf:3: error: SlurmUser=12ab is not a user\n" },
    { "ClusterName=a/b\n",
      "slurm.conf:3: warning: ClusterName is given more than once; the last value is used\n"
      "slurm.conf:3: error: ClusterName=a/b may hold letters, digits, '_', '-' and '.' only\n" },
    { "FirstJobId=500 MaxJobId=400\n", "slurm.conf:3: error: FirstJobId exceeds MaxJobId\n" },
    { "DefMemPerCPU=100 DefMemPerNode=200\n",
      "slurm.conf:3: error: DefMemPerCPU and DefMemPerNode exclude each other\n" },
    { "PreemptType=preempt/partition_prio PreemptMode=SUSPEND\n",
      "slurm.conf:3: error: PreemptMode=SUSPEND: SUSPEND needs GANG: write SUSPEND,GANG\n" },
    { "PreemptMode=SUSPEND,GANG\n",
      "slurm.conf:3: error: PreemptMode=SUSPEND,GANG needs a PreemptType other than preempt/none\n" },
    /* nodes */
    { "NodeName=n2\n", "slurm.conf:3: error: node n2 is defined already in line 2\n" },
    { "NodeName=x[1-2\n", NULL },
    { "NodeName=x[3-1]\n", NULL },
    { "NodeName=DEFAULT NodeAddr=a\n",
      "slurm.conf:3: error: NodeAddr not allowed with NodeName=DEFAULT\n" },
    { "NodeName=x[1-3] NodeHostname=h[1-2]\n",
      "slurm.conf:3: error: NodeHostname=h[1-2] has 2 entries for 3 nodes\n" },
    { "NodeName=x[1-3] NodeHostname=h Port=[7001-7002]\n",
      "slurm.conf:3: error: Port=[7001-7002] has 2 entries for 3 nodes\n" },
    { "NodeName=x Port=99999\n", "slurm.conf:3: error: Port=99999 is not a port (1 to 65535)\n" },
    { "NodeName=x State=SLEEPY\n", "slurm.conf:3: error: State=SLEEPY is not known\n" },
    { "NodeName=x State=FUTURE=fast\n",
      "slurm.conf:3: error: State=FUTURE=fast is not known: nothing may follow the word\n" },
    { "NodeName=x State=DOWM\n",
      "slurm.conf:3: error: State=DOWM is not known; did you mean DOWN?\n" },
    { "NodeName=x CPUs=0\n", "slurm.conf:3: error: CPUs=0 is out of range (1 to 1048576)\n" },
    { "NodeName=x Sockets=60000 CoresPerSocket=60000\n",
      "slurm.conf:3: error: sockets, cores and threads make 3600000000 CPUs, too many\n" },
    { "NodeName=x CPUs=4 CoreSpecCount=4\n",
      "slurm.conf:3: error: CoreSpecCount=4 leaves no core for jobs\n" },
    { "NodeName=x RealMemory=1000 MemSpecLimit=1000\n",
      "slurm.conf:3: error: MemSpecLimit=1000 leaves no memory for jobs\n" },
    { "GresTypes=gpu\nNodeName=x Gres=gpu:\n",
      "slurm.conf:4: error: Gres=gpu: has no count after ':'\n" },
    { "DownNodes=n9\n", "slurm.conf:3: error: DownNodes: no NodeName line defines n9\n" },
    { "NodeSet=s\n", "slurm.conf:3: error: node set s has neither Feature nor Nodes\n" },
    { "NodeSet=s Feature=f\nNodeSet=s Nodes=n1\n",
      "slurm.conf:4: error: node set s is defined already in line 3\n" },
    /* partitions */
    { "PartitionName=p Nodes=n[1-9]\n",
      "slurm.conf:3: error: partition p: no NodeName line defines n5\n"
      "slurm.conf:3: error: partition p: no NodeName line defines n6\n"
      "slurm.conf:3: error: partition p: no NodeName line defines n7\n"
      "slurm.conf:3: error: partition p: 2 more nodes are not defined\n" },
    { "PartitionName=p Nodes=switch{s1}\n",
      "slurm.conf:3: error: partition p: function switch{} cannot be used here; feature{} and "
      "node{} can\n" },
    { "PartitionName=p\nPartitionName=p\n",
      "slurm.conf:4: error: partition p is defined already in line 3\n" },
    { "PartitionName=p MaxTime=long\n",
      "slurm.conf:3: error: MaxTime=long is not a time such as 30, 1:00:00 or 7-0\n" },
    { "PartitionName=p State=OPEN\n", "slurm.conf:3: error: State=OPEN is not known\n" },
    { "PartitionName=p OverSubscribe=YES:0\n",
      "slurm.conf:3: error: OverSubscribe=YES:0 is not NO, YES[:N] or FORCE[:N]\n" },
    { "PartitionName=p MinNodes=4 MaxNodes=2\n",
      "slurm.conf:3: error: MinNodes=4 exceeds MaxNodes=2\n" },
    { "PartitionName=p Alternate=q\n", "slurm.conf:3: error: Alternate=q is not a partition\n" },
    { "PartitionName=a,b\n", "slurm.conf:3: error: PartitionName=\"a,b\" is not a name\n" },
    { "PartitionName=p DefMemPerCPU=1 DefMemPerNode=2\n",
      "slurm.conf:3: error: DefMemPerCPU and DefMemPerNode exclude each other\n" },
    /* several at once: all are told */
    { "KilWait=30\nNodeName=n1\nKillWait=x\nPartitionName=p Nodes=z\n",
      "slurm.conf:3: error: unknown key KilWait; did you mean KillWait?\n"
      "slurm.conf:4: error: node n1 is defined already in line 2\n"
      "slurm.conf:5: error: KillWait=x is not a number\n"
      "slurm.conf:6: error: partition p: no NodeName line defines z\n" },
};

static void test_bad(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_free_ char *text = NULL, *got = NULL;
        struct conf_problems problems;
        struct err err = { .text = "" };
        struct conf *c = NULL;

        assert_true(asprintf(&text, "%s%s", HEAD, bad[i].text) > 0);
        assert_int_equal(load_text(text, NULL, NULL, &c, &problems, &err), -EINVAL);
        assert_null(c);
        assert_true(strncmp(err.text, "slurm.conf:", 11) == 0);
        got = conf_told(&problems);
        if (bad[i].report)
            assert_string_equal(got, bad[i].report);
        else
            assert_true(problems.n == 1 && problems.items[0].error && problems.items[0].line == 3);
        conf_problems_done(&problems);
    }
}

static const struct {
    const char *text, *report;
} warned[] = {
    { "KillWait=1 KillWait=2\n",
      "slurm.conf:3: warning: KillWait is given more than once; the last value is used\n" },
    { "PrologFlags=Alloc,NoHold,Serial,ForceRequeueOnFail,DeferBatch,RunInJob\n", "" },
    { "PrEpPlugins=prep/script\n", "" },
    { "SelectTypeParameters=CR_Core\nPartitionName=p SelectTypeParameters=CR_Socket\n", "" },
    { "SelectTypeParameters=CR_CPU\nPartitionName=p SelectTypeParameters=CR_Socket\n",
      "slurm.conf: warning: partition p: SelectTypeParameters is without effect, since the "
      "cluster's jobs get single CPUs\n" },
    { "SelectTypeParameters=CR_Core,OTHER_CONS_TRES\n",
      "slurm.conf:3: warning: SelectTypeParameters: OTHER_CONS_TRES is a word of earlier releases "
      "without effect\n" },
    { "TaskPluginParam=autobind=Cores BcastExclude=/lib,/usr\n", "" },
    { "BcastExclude=NONE\n", "" },
    { "AccountingStorageTRES=CPU,gres/gpu:a100,License/x,fs/lustre,ic/ofed,vmem,pages\n", "" },
    { "BatchStartTimeout=9\n",
      "slurm.conf:3: warning: key BatchStartTimeout is accepted without effect: a node says what "
      "it runs when it registers, and a script that is not there is started again\n" },
    { "MpiDefault=pmix AccountingStorageTRES=gres/gpu PropagatePrioProcess=1\n", "" },
    { "RequeueExit=1,3-5\nRequeueExitHold=8\n", "" },
    { "RequeueExitHold=a-b\n",
      "slurm.conf:3: warning: RequeueExitHold=a-b is no list of exit codes, and is not used\n" },
    { "SlurmctldHost=other\n", "" },
    { "LaunchParameters=enable_nss_slurm,Nonsense\n",
      "slurm.conf:3: warning: LaunchParameters: unknown option Nonsense\n" },
    { "DebugFlags=Backfill,BurstBuffer\n",
      "slurm.conf:3: warning: DebugFlags: option BurstBuffer is accepted without "
      "effect: there are no burst buffers\n" },
    { "MpiDefault=none SwitchType=switch/none MailProg=/bin/mail HealthCheckInterval=0\n", "" },
    { "SchedulerParameters=bf_windw=60\n",
      "slurm.conf:3: warning: SchedulerParameters: unknown option bf_windw; did you mean "
      "bf_window?\n" },
    { "SchedulerParameters=bf_window=0,defer\n",
      "slurm.conf:3: error: SchedulerParameters: bf_window=0 is out of range (1 to 43200)\n" },
    { "SchedulerParameters=bf_window\n",
      "slurm.conf:3: error: SchedulerParameters: bf_window needs a number\n" },
    { "SchedulerParameters=sched_interval=-1,bf_interval=x\n",
      "slurm.conf:3: warning: SchedulerParameters: option sched_interval is accepted without "
      "effect: a pass runs when something changed, and others follow until all jobs were looked "
      "at\n"
      "slurm.conf:3: error: SchedulerParameters: bf_interval=x is not a number\n" },
    { "SchedulerParameters=bf_hetjob_prio=foo,bf_hetjob_prio=AVG,sched_min_interval=abc\n",
      "slurm.conf:3: error: SchedulerParameters: bf_hetjob_prio=foo is none of min, avg, max\n"
      "slurm.conf:3: error: SchedulerParameters: sched_min_interval=abc is not a number\n" },
    { "TLSParameters=load_system_certificates=maybe,load_system_certificates\n",
      "slurm.conf:3: error: TLSParameters: load_system_certificates=maybe is none of yes, no, "
      "true, false, 1, 0\n" },
    { "SlurmctldParameters=zebra\n",
      "slurm.conf:3: warning: SlurmctldParameters: unknown option zebra\n" },
    { "SchedulerParameters=bf_continue\n",
      "slurm.conf:3: warning: SchedulerParameters: option bf_continue is accepted without "
      "effect: a plan goes on where it stood after changes\n" },
    { "MinJobAge=0\n", "slurm.conf:3: warning: MinJobAge=0 is too small; 2 is used\n" },
    { "UnkillableStepTimeout=20\n", "slurm.conf:3: warning: UnkillableStepTimeout should be at "
                                    "least five times MessageTimeout\n" },
    { "NodeName=x CPUs=7 Sockets=2 CoresPerSocket=4\n",
      "slurm.conf:3: warning: CPUs=7 fits neither sockets, cores nor threads; 8 is used\n" },
    { "NodeName=x State=IDLE\n",
      "slurm.conf:3: warning: State=IDLE is not for a file; UNKNOWN is used\n" },
    { "NodeName=x Gres=gpu:2\n", "slurm.conf:3: warning: Gres gpu is not in GresTypes\n" },
    { "NodeName=x[1-2] NodeHostname=h\n", "slurm.conf:3: warning: 2 nodes share one host and one "
                                          "port; give them a range of ports\n" },
    { "PartitionName=p Default=YES\nPartitionName=q Default=YES\n",
      "slurm.conf:4: warning: q takes the place of default partition p\n" },
    { "PartitionName=p DefaultTime=60 MaxTime=30\n",
      "slurm.conf:3: warning: DefaultTime=60 exceeds MaxTime, which is used\n" },
    { "SuspendProgram=off\n",
      "slurm.conf:3: warning: SuspendProgram=off is neither an absolute path nor the name of a "
      "PowerAction\n" },
};

static void test_warned(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(warned); i++) {
        _cleanup_free_ char *text = NULL, *got = NULL;
        _cleanup_(conf_free) struct conf *c = NULL;
        struct conf_problems problems;
        struct err err = { .text = "" };

        assert_true(asprintf(&text, "%s%s", HEAD, warned[i].text) > 0);
        assert_int_equal(load_text(text, NULL, NULL, &c, &problems, &err), 0);
        got = conf_told(&problems);
        assert_string_equal(got, warned[i].report);
        conf_problems_done(&problems);
    }
}

static void test_missing(void **state)
{
    struct conf_problems problems;
    struct err err = { .text = "" };
    struct conf *c = NULL;
    char *got;

    assert_int_equal(load_text("# nothing\n", NULL, NULL, &c, &problems, &err), -EINVAL);
    got = conf_told(&problems);
    assert_string_equal(got, "slurm.conf: error: ClusterName is missing\n"
                             "slurm.conf: error: SlurmctldHost is missing\n"
                             "slurm.conf: warning: no NodeName line: the cluster has no nodes\n");
    assert_string_equal(err.text, "slurm.conf: ClusterName is missing");
    free(got);
    conf_problems_done(&problems);
    assert_int_equal(conf_load("/nonexistent/slurm.conf", CONF_CLIENT, &c, NULL, &err), -ENOENT);
    assert_string_equal(err.text,
                        "/nonexistent/slurm.conf: cannot be read: No such file or directory");
}

static void test_dialect(void **state)
{
    _cleanup_(conf_free) struct conf *c =
        loaded("\xef\xbb\xbf# a comment \\\n"
               "clustername=lab   SLURMCTLDHOST=ctl1(10.0.0.1)\tSlurmctldHost=ctl2 # both\r\n"
               "\r\n"
               "SlurmctldPort = 7000-7003\n"
               "NodeName=n[1-2] \\\n   Features=a,\\\nb Reason=\"it is # 1, \\\n    not\" CPUs=2\n"
               "TmpFS=/tmp\\#x#comment\n"
               "InteractiveStepOptions=\"--pty \\# $SHELL\" KillWait=7\n"
               "Prolog=/p1 Prolog=/p2\n"
               "KillOnBadExit=TRUE JobRequeue=down SlurmUser=42\n"
               "PriorityMaxAge=1-12 SuspendTime=-1 DefMemPerCPU=2G\n"
               "AuthInfo=socket=/s,keyfile=/k/slurm.key,cred_expire=5",
               0);
    const char *addr, *value;
    uint16_t first, last;
    uint64_t num;
    size_t len;

    assert_string_equal(conf_str(c, CONF_CLUSTER_NAME), "lab");
    assert_string_equal(conf_ctld_host(c, 0, &addr), "ctl1");
    assert_string_equal(addr, "10.0.0.1");
    assert_string_equal(conf_ctld_host(c, 1, &addr), "ctl2");
    assert_string_equal(addr, "ctl2");
    assert_null(conf_ctld_host(c, 2, &addr));
    assert_int_equal(conf_ctld_addrs(c, &addr, 1), 1);
    assert_string_equal(addr, "10.0.0.1");
    assert_int_equal(conf_ctld_port(c), 7000);
    conf_ports(c, CONF_SLURMCTLD_PORT, &first, &last);
    assert_int_equal(last, 7003);
    assert_string_equal(conf_node(c, 0)->features, "a,b");
    assert_string_equal(conf_node(c, 1)->reason, "it is # 1,     not");
    assert_int_equal(conf_node(c, 1)->line, 5);
    assert_string_equal(conf_str(c, CONF_TMP_FS), "/tmp#x");
    assert_string_equal(conf_str(c, CONF_INTERACTIVE_STEP_OPTIONS), "--pty # $SHELL");
    assert_int_equal(conf_num(c, CONF_KILL_WAIT), 7);
    assert_string_equal(conf_str_nth(c, CONF_PROLOG, 1), "/p2");
    assert_null(conf_str_nth(c, CONF_PROLOG, 2));
    assert_true(conf_bool(c, CONF_KILL_ON_BAD_EXIT));
    assert_false(conf_bool(c, CONF_JOB_REQUEUE));
    assert_int_equal(conf_slurm_uid(c), 42);
    assert_int_equal(conf_num(c, CONF_PRIORITY_MAX_AGE), 36 * 3600);
    assert_int_equal(conf_num(c, CONF_SUSPEND_TIME), CONF_UNLIMITED);
    assert_int_equal(conf_num(c, CONF_DEF_MEM_PER_CPU), 2048);
    assert_true(conf_option(c, CONF_AUTH_INFO, "Socket", &value, &len));
    assert_true(len == 2 && memcmp(value, "/s", 2) == 0);
    assert_true(conf_option_u64(c, CONF_AUTH_INFO, "cred_expire", &num) && num == 5);
    assert_false(conf_option(c, CONF_AUTH_INFO, "tt", &value, &len));
    assert_string_equal(conf_key_file(c), "/k/slurm.key");
    /* defaults */
    assert_false(conf_is_set(c, CONF_MESSAGE_TIMEOUT));
    assert_int_equal(conf_num(c, CONF_MESSAGE_TIMEOUT), 10);
    assert_null(conf_str(c, CONF_SLURMCTLD_LOG_FILE));
    assert_false(conf_use_munge(c));
}

static void test_nodes(void **state)
{
    _cleanup_(conf_free) struct conf *c = good(
        "PartitionName=early Nodes=e[1-5],-e2 Default=YES\n" /* before its nodes */
        "ClusterName=c SlurmctldHost=h SlurmdPort=7777 GresTypes=gpu\n"
        "NodeName=DEFAULT RealMemory=4096 Sockets=2\n"
        "NodeName=DEFAULT CoresPerSocket=4 ThreadsPerCore=2 Feature=intel\n"
        "NodeName=e[1-5] Port=[6821-6825] NodeHostname=host NodeAddr=10.0.0.[1-5]\n"
        "NodeName=m[1-2] NodeHostname=h[1-2] Weight=5 Gres=gpu:a100:2\n"
        "NodeName=cores CPUs=8 State=failing\n"
        "NodeName=big Procs=64 Sockets=1 CoresPerSocket=64 ThreadsPerCore=1 Features=amd\n"
        "NodeName=board Boards=2 SocketsPerBoard=4 CoresPerSocket=1 ThreadsPerCore=1\n"
        "DownNodes=m2 Reason=\"broken fan\"\n"
        "NodeSet=fast Feature=amd\nNodeSet=two Nodes=m[1-2]\n"
        "PartitionName=DEFAULT MaxTime=60 State=DOWN\n"
        "PartitionName=DEFAULT AllowGroups=staff\n"
        "PartitionName=all Nodes=ALL State=UP OverSubscribe=force:2 Priority=7\n"
        "PartitionName=sets Nodes=fast,two,feature{amd},e1 ExclusiveUser=YES MaxTime=INFINITE\n"
        "PartitionName=none Nodes=\"\" DefaultTime=NONE PreemptMode=requeue\n");
    const struct conf_node *n = conf_find_node(c, "e3");
    const struct conf_part *p;

    assert_int_equal(conf_nodes(c), 10);
    assert_non_null(n);
    assert_string_equal(n->hostname, "host");
    assert_string_equal(n->addr, "10.0.0.3");
    assert_int_equal(n->port, 6823);
    assert_int_equal(n->cpus, 16);
    assert_int_equal(n->real_memory_mib, 4096);
    assert_string_equal(n->features, "intel");
    assert_string_equal(n->state, "UNKNOWN");
    n = conf_find_node(c, "m2");
    assert_string_equal(n->addr, "h2");
    assert_int_equal(n->port, 7777);
    assert_string_equal(n->state, "DOWN");
    assert_string_equal(n->reason, "broken fan");
    assert_string_equal(n->gres, "gpu:a100:2");
    n = conf_find_node(c, "cores"); /* as many CPUs as cores: allowed */
    assert_int_equal(n->cpus, 8);
    assert_string_equal(n->state, "FAIL");
    assert_int_equal(conf_find_node(c, "big")->cpus, 64);
    n = conf_find_node(c, "board");
    assert_int_equal(n->sockets, 8);
    assert_int_equal(n->cpus, 8);
    assert_null(conf_find_node(c, "e6"));
    assert_string_equal(conf_node_for_host(c, "h2.example.org")->name, "m2");
    assert_string_equal(conf_node_for_host(c, "host")->name, "e1");
    assert_null(conf_node_for_host(c, "stranger"));

    assert_int_equal(conf_parts(c), 4);
    p = conf_part(c, 0);
    assert_string_equal(p->nodes, "e[1,3-5]");
    assert_string_equal(p->nodes_config, "e[1-5],-e2");
    assert_true(p->is_default);
    assert_int_equal(p->max_time_min, CONF_UNLIMITED);
    assert_int_equal(p->state, 3);
    assert_null(p->allow_groups);
    p = conf_part(c, 1);
    assert_string_equal(p->nodes, "e[1-5],m[1-2],cores,big,board");
    assert_int_equal(p->state, 3);
    assert_string_equal(p->oversubscribe, "FORCE:2");
    assert_int_equal(p->priority_tier, 7);
    assert_int_equal(p->priority_job_factor, 7);
    assert_int_equal(p->max_time_min, 60);
    assert_string_equal(p->allow_groups, "staff");
    p = conf_part(c, 2);
    assert_string_equal(p->nodes, "e1,m[1-2],big");
    assert_int_equal(p->state, 1);
    assert_string_equal(p->exclusive, "USER");
    assert_int_equal(p->max_time_min, CONF_UNLIMITED);
    p = conf_part(c, 3);
    assert_string_equal(p->nodes, "");
    assert_false(p->has_default_time);
    assert_string_equal(p->preempt_mode, "REQUEUE");
    assert_null(conf_part(c, 4));
}

static void test_client(void **state)
{
    static const char text[] = "ClusterName=c\nNodeName=a[1- broken \\\n KillWait=9\n"
                               " partitionname = x Wombat=1 # \\\nSlurmctldHost=h NodeName=z q\n"
                               "NodeSet=\"\nDownNodes=?\nTmpFS=/x";
    const struct conf_text file = { "slurm.conf", text, sizeof(text) - 1 };
    _cleanup_(conf_free) struct conf *c = NULL;
    struct err err = { .text = "" };

    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &c, NULL, &err), 0);
    assert_false(conf_is_set(c, CONF_KILL_WAIT));
    assert_string_equal(conf_ctld_host(c, 0, NULL), "h");
    assert_string_equal(conf_str(c, CONF_TMP_FS), "/x");
    assert_int_equal(conf_nodes(c), 0);
    assert_int_equal(conf_slurm_uid(c), 0);
    assert_string_equal(conf_cgroup(c)->mountpoint, "/sys/fs/cgroup");
}

static void put_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_files(void **state)
{
    static const char *const names[] = { "slurm.conf",  "nodes.lab.conf", "more/a.conf",
                                         "more/b.conf", "gres.conf",      "cgroup.conf" };
    char dir[] = "/tmp/test_conf[1]XXXXXX", path[256], want[256]; /* brackets are no pattern */
    _cleanup_(conf_free) struct conf *c = NULL;
    struct conf_problems problems;
    struct err err = { .text = "" };

    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/more", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    put_file(dir, names[0],
             "ClusterName=lab SlurmctldHost=h GresTypes=gpu\n"
             "include nodes.%c.conf\nInclude more/*.conf # all\nInclude none*.conf\n");
    put_file(dir, names[1], "NodeName=n[1-2]\n");
    put_file(dir, names[2], "KillWait=1\n");
    put_file(dir, names[3], "\nKillWait=2\n");
    put_file(dir, names[4], "Name=gpu File=/dev/null\n");
    put_file(dir, names[5], "ConstrainCores=yes\n");
    (void)snprintf(path, sizeof(path), "%s/slurm.conf", dir);
    assert_int_equal(conf_load(path, CONF_FULL, &c, &problems, &err), 0);
    assert_int_equal(problems.n, 1);
    (void)snprintf(want, sizeof(want), "%s/more/b.conf", dir);
    assert_string_equal(problems.items[0].file, want);
    assert_int_equal(problems.items[0].line, 2);
    assert_int_equal(conf_nodes(c), 2);
    assert_int_equal(conf_num(c, CONF_KILL_WAIT), 2);
    assert_int_equal(conf_gres_rows(c), 1);
    assert_true(conf_cgroup(c)->constrain_cores);
    assert_string_equal(conf_path(c), path);
    (void)snprintf(want, sizeof(want), "%s/slurm.key", dir);
    assert_string_equal(conf_key_file(c), want);
    conf_problems_done(&problems);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/more", dir);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void test_limits(void **state)
{
    struct err err = { .text = "" };
    struct conf_problems problems;
    struct conf *c = NULL;
    const struct conf_text nul = { "slurm.conf", "Cluster\0Name", 12 };
    size_t size = (1u << 20) + 64;
    char *text;

    assert_int_equal(conf_load_text(&nul, 1, CONF_FULL, &c, NULL, &err), -EINVAL);
    assert_string_equal(err.text, "slurm.conf: cannot be read: it holds a NUL byte");
    assert_int_equal(load_text(HEAD
                               "NodeName=a[1-60000]\nNodeName=b[1-60000]\nNodeName=d[1-60000]\n",
                               NULL, NULL, &c, NULL, &err),
                     -EINVAL);
    assert_string_equal(err.text, "slurm.conf:5: more than 131072 nodes");
    text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    memcpy(text, "MailDomain=", 11);
    assert_int_equal(load_text(text, NULL, NULL, &c, &problems, &err), -EINVAL);
    assert_string_equal(problems.items[0].text, "the line is longer than 1048576 bytes");
    conf_problems_done(&problems);
    for (size_t i = 0; i + 4 <= size; i += 4)
        memcpy(text + i, "a=b\n", 4);
    text[size] = '\0';
    assert_int_equal(load_text(text, NULL, NULL, &c, &problems, &err), -EINVAL);
    assert_int_equal(problems.n, 1000);
    conf_problems_done(&problems);
    free(text);
}

static void test_include_depth(void **state)
{
    struct conf_text files[13];
    char names[ARRAY_SIZE(files)][16], texts[ARRAY_SIZE(files)][32];
    struct conf_problems problems;
    struct conf *c = NULL;
    struct err err = { .text = "" };

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        (void)snprintf(names[i], sizeof(names[i]), "f%zu", i);
        (void)snprintf(texts[i], sizeof(texts[i]), "Include f%zu\n", i + 1);
        files[i] = (struct conf_text){ names[i], texts[i], strlen(texts[i]) };
    }
    assert_int_equal(conf_load_text(files, ARRAY_SIZE(files), CONF_FULL, &c, &problems, &err),
                     -EINVAL);
    assert_string_equal(problems.items[0].file, "f10");
    assert_string_equal(problems.items[0].text, "Include goes deeper than 10 files");
    conf_problems_done(&problems);
}

/* gres.conf and cgroup.conf: text, report of the two files. */
static const struct {
    const char *gres, *cgroup, *report;
} sisters[] = {
    { "Count=2\n", "", "gres.conf:1: error: a line without Name or AutoDetect\n" },
    { "Name=gpu Fiel=/dev/x\n", "",
      "gres.conf:1: error: unknown key Fiel in gres.conf; did you mean File?\n" },
    { "Name=gpu File=/dev/nvidia[0-3] Count=2\n", "",
      "gres.conf:1: error: Count=2 does not match the 4 files of File\n" },
    { "Name=gpu File=/dev/n[0-2000]\n", "",
      "gres.conf:1: error: File=/dev/n[0-2000] names more than 1024 files\n" },
    { "Name=gpu Count=many\n", "",
      "gres.conf:1: error: Count=many is not a size such as 4096 or 4G\n" },
    { "Name=gpu File=/dev/a MultipleFiles=/dev/b\n", "",
      "gres.conf:1: error: File and MultipleFiles exclude each other\n" },
    { "AutoDetect=nmvl\n", "",
      "gres.conf:1: error: AutoDetect=nmvl is not known; did you mean nvml?\n" },
    { "Name=fpga\n", "", "gres.conf:1: warning: Name=fpga is not in GresTypes of slurm.conf\n" },
    { "", "ConstrainCore=yes\n",
      "cgroup.conf:1: error: unknown key ConstrainCore in cgroup.conf; did you mean "
      "ConstrainCores?\n" },
    { "", "AllowedRAMSpace=lots\n",
      "cgroup.conf:1: error: AllowedRAMSpace=lots is not a percentage\n" },
    { "", "MaxRAMPercent=101\n",
      "cgroup.conf:1: error: MaxRAMPercent=101 is out of range (0 to 100 %)\n" },
    { "", "\nConstrainCores=2\n",
      "cgroup.conf:2: error: ConstrainCores=2 is neither yes nor no\n" },
    { "", "CgroupPlugin=cgroup/v3\n",
      "cgroup.conf:1: error: CgroupPlugin=cgroup/v3 is not known; did you mean cgroup/v1?\n" },
    { "", "CgroupMountpoint=sys\n",
      "cgroup.conf:1: error: CgroupMountpoint=sys is not an absolute path\n" },
    { "", "SystemdTimeout=5\n",
      "cgroup.conf:1: warning: key SystemdTimeout is accepted without effect: systemd is never "
      "asked\n" },
    { "", "MinRAMSpace=1 MinRAMSpace=2\n",
      "cgroup.conf:1: warning: MinRAMSpace is given more than once; the last value is used\n" },
};

static void test_sisters(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(sisters); i++) {
        _cleanup_(conf_free) struct conf *c = NULL;
        _cleanup_free_ char *got = NULL;
        struct conf_problems problems;
        struct err err = { .text = "" };
        bool error = strstr(sisters[i].report, ": error: ") != NULL;

        assert_int_equal(load_text(HEAD "GresTypes=gpu,shard\n", sisters[i].gres, sisters[i].cgroup,
                                   &c, &problems, &err),
                         error ? -EINVAL : 0);
        got = conf_told(&problems);
        assert_string_equal(got, sisters[i].report);
        conf_problems_done(&problems);
    }
}

/* A Service of those that lead: first for commands and nodes, and nobody's own address. */
static void test_common_address(void **state)
{
    struct conf *c = loaded("ClusterName=x\nSlurmctldHost=a(10.0.0.1)\nSlurmctldHost=b\n"
                            "SlurmctldAddr=b\nNodeName=n1\n",
                            0);
    struct conf *one =
        loaded("ClusterName=x\nSlurmctldHost=a\nSlurmctldAddr=vip\nNodeName=n1\n", 0);
    const char *addrs[4];

    (void)state;
    assert_string_equal(conf_ctld_host(c, 0, &addrs[0]), "a");
    assert_string_equal(addrs[0], "10.0.0.1");
    assert_int_equal(conf_ctld_addrs(c, addrs, 4), 2); /* b once */
    assert_string_equal(addrs[0], "b");
    assert_string_equal(addrs[1], "10.0.0.1");
    assert_int_equal(conf_ctld_addrs(c, addrs, 1), 1);
    assert_int_equal(conf_ctld_addrs(one, addrs, 4), 1); /* the host itself may be behind it */
    assert_string_equal(addrs[0], "vip");
    conf_free(c);
    conf_free(one);
}

static void test_gres_cgroup(void **state)
{
    static const char gres[] =
        "AutoDetect=off\n"
        "NodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-7 # x\n"
        "Name=shard Count=16 File=/dev/nvidia[0-3]\n"
        "Name=gpu Count=2K\nName=gpu\nName=shard Count=4T\n";
    static const char cgroup[] = "ConstrainRAMSpace=yes\nAllowedRAMSpace=95.5%\nMinRAMSpace=64\n";
    _cleanup_(conf_free) struct conf *c = NULL;
    struct conf_problems problems;
    struct err err = { .text = "" };

    assert_int_equal(load_text(HEAD "GresTypes=gpu,shard\n", gres, cgroup, &c, &problems, &err), 0);
    assert_int_equal(problems.n, 0);
    conf_problems_done(&problems);
    assert_int_equal(conf_gres_rows(c), 6);
    assert_null(conf_gres_row(c, 0)->name);
    assert_string_equal(conf_gres_row(c, 0)->autodetect, "off");
    assert_string_equal(conf_gres_row(c, 1)->node_names, "n[1-2]");
    assert_string_equal(conf_gres_row(c, 1)->type, "a100");
    assert_string_equal(conf_gres_row(c, 1)->cores, "0-7");
    assert_int_equal(conf_gres_row(c, 1)->count, 4);
    assert_int_equal(conf_gres_row(c, 2)->count, 16);
    assert_int_equal(conf_gres_row(c, 3)->count, 2048);
    assert_int_equal(conf_gres_row(c, 4)->count, 1);
    assert_int_equal(conf_gres_row(c, 5)->count, UINT64_C(4) << 40); /* disks of a node */
    assert_null(conf_gres_row(c, 6));
    assert_true(conf_cgroup(c)->constrain_ram);
    assert_false(conf_cgroup(c)->constrain_cores);
    assert_true(conf_cgroup(c)->allowed_ram_pct > 95.4 && conf_cgroup(c)->allowed_ram_pct < 95.6);
    assert_int_equal(conf_cgroup(c)->min_ram_mib, 64);
    assert_string_equal(conf_cgroup(c)->slice, "system.slice");
}

static void test_expand(void **state)
{
    char *path = NULL;

    assert_int_equal(conf_expand_path("/a/%n.%h/%%n%x%", "node1", "host", &path), 0);
    assert_string_equal(path, "/a/node1.host/%n%x%");
    free(path);
    assert_int_equal(conf_expand_path("%n-%h", NULL, "h", &path), 0);
    assert_string_equal(path, "%n-h");
    free(path);
}

/* Look-ups bisect, and defaults are values that the table itself accepts. */
static void test_tables(void **state)
{
    for (size_t t = 0; t < CONF_TBL_MAX_; t++) {
        for (size_t i = 0; i < conf_tables[t].n; i++) {
            const struct conf_keydef *row = &conf_tables[t].rows[i];
            struct err err = { .text = "" };
            uint64_t num;

            assert_int_equal(conf_key_find(t, row->name), i);
            if (row->def && conf_value_check(t, (int)i, row->def, &num, &err) < 0)
                fail_msg("%s: %s", row->name, err.text);
            assert_true(row->summary[strlen(row->summary) - 1] == '.');
            assert_true((row->flags & CONF_F_ACTS) != 0 || (row->flags & CONF_F_KNOWN) != 0);
        }
    }
}

static void test_user_numbers(void **state)
{
    struct conf *c = good(HEAD "SlurmUser=4242 SlurmdUser=4243\n");

    (void)state;
    assert_int_equal(conf_slurm_uid(c), 4242); /* the number need not be a user's here */
    assert_int_equal(conf_slurm_uid(c), 4242); /* as it was kept */
    assert_int_equal(conf_slurmd_uid(c), 4243);
    conf_free(c);
    c = good(HEAD "SlurmUser=root\n");
    assert_int_equal(conf_slurm_uid(c), 0);
    conf_free(c);
}

static void test_words_before(void **state)
{
    struct conf *c = loaded("ClusterName=lab\nSlurmctldHost=ctl\nNodeName=n1\n"
                            "SlurmdParameters=devices_root=/a,config_overrides",
                            0);
    const char *value;
    size_t len;

    assert_int_equal(conf_words_before(c, CONF_SLURMD_PARAMETERS, NULL), 0);
    assert_int_equal(conf_words_before(c, CONF_SLURMD_PARAMETERS, ""), 0);
    assert_string_equal(conf_str(c, CONF_SLURMD_PARAMETERS), "devices_root=/a,config_overrides");
    assert_int_equal(conf_words_before(c, CONF_SLURMD_PARAMETERS, "devices_root=/bb"), 0);
    assert_true(conf_option(c, CONF_SLURMD_PARAMETERS, "devices_root", &value, &len));
    assert_int_equal(len, 3);
    assert_memory_equal(value, "/bb", 3);
    assert_true(conf_option(c, CONF_SLURMD_PARAMETERS, "config_overrides", NULL, NULL));
    assert_int_equal(conf_words_before(c, CONF_LAUNCH_PARAMETERS, "test_exec"), 0);
    assert_true(conf_option(c, CONF_LAUNCH_PARAMETERS, "test_exec", NULL, NULL));
    (void)conf_free(c);
}

static void test_spec_cores_first(void **state)
{
    static const char nodes[] =
        "NodeName=a Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CoreSpecCount=3\n"
        "NodeName=b Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CpuSpecList=14-15\n"
        "NodeName=c CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CoreSpecCount=3\n";
    _cleanup_free_ char *text = NULL;
    _cleanup_(conf_free) struct conf *last = good("ClusterName=c SlurmctldHost=h\n"
                                                  "NodeName=a Sockets=2 CoresPerSocket=4 "
                                                  "CoreSpecCount=3\n"),
                                     *first = NULL;

    (void)state;
    assert_true(asprintf(&text,
                         "ClusterName=c SlurmctldHost=h\n%sSchedulerParameters=spec_cores_first\n",
                         nodes) > 0);
    first = good(text);
    assert_null(conf_node(last, 0)->cpu_spec_list); /* the last cores: nobody has to say which */
    assert_int_equal(conf_node(first, 0)->core_spec, 3);
    assert_string_equal(conf_node(first, 0)->cpu_spec_list, "0-3,8-9");
    assert_string_equal(conf_node(first, 1)->cpu_spec_list, "14-15");
    assert_string_equal(conf_node(first, 2)->cpu_spec_list, "0-1,4"); /* a core is a CPU */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_before),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_user_numbers),
        cmocka_unit_test(test_warned),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_dialect),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_client),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_include_depth),
        cmocka_unit_test(test_sisters),
        cmocka_unit_test(test_common_address),
        cmocka_unit_test(test_gres_cgroup),
        cmocka_unit_test(test_spec_cores_first),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
