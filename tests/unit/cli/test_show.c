/* test_show.c - the text blocks of scontrol show, whole */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/out_show.h"
#include "model/words/names.h"

#define T0 (INT64_C(1795167413) * USEC_PER_SEC) /* 2026-11-20T09:36:53 UTC */

static char *text(const char *value)
{
    return (char *)value; /* records borrow it; nothing frees them here */
}

static uint32_t one_node[] = { 0 };

static void make_job(Pst__JobRecord *j, Pst__Alloc *alloc, Pst__AllocGroup *group,
                     Pst__AllocGroup **groups)
{
    pst__job_record__init(j);
    pst__alloc__init(alloc);
    pst__alloc_group__init(group);
    groups[0] = group;
    group->nodes = 1;
    group->cpus = 6;
    group->cpu_ids = text("0-5");
    group->mem_mib = 300;
    alloc->nodes = text("node1");
    alloc->node_ids = one_node;
    alloc->n_node_ids = 1;
    alloc->total_cpus = 6;
    alloc->groups = groups;
    alloc->n_groups = 1;
    j->job_id = 7;
    j->name = text("wrapped");
    j->sluid = text("s7NSM7W51RSK00");
    j->user_name = text("alice");
    j->uid = 2001;
    j->group_name = text("research");
    j->gid = 2001;
    j->has_cur_priority = true;
    j->cur_priority = 285;
    j->account = text("physics");
    j->qos = text("normal");
    j->state = PST__JOB_STATE__JOB_RUNNING;
    j->requeue = true;
    j->batch = true;
    j->has_time_limit_min = true;
    j->time_limit_min = 10;
    j->submit_us = j->eligible_us = j->accrue_us = T0;
    j->start_us = j->last_sched_eval_us = T0 + USEC_PER_SEC;
    j->end_us = T0 + 601 * USEC_PER_SEC;
    j->partition = text("debug");
    j->alloc_host = text("localhost");
    j->alloc_sid = 2851;
    j->batch_host = text("node1");
    j->num_tasks = 3;
    j->cpus_per_task = 2;
    j->has_mem_per_cpu_mib = true;
    j->mem_per_cpu_mib = 50;
    j->req_tres = text("cpu=6,mem=300M,node=1,billing=6");
    j->alloc_tres = text("cpu=6,mem=300M,node=1,billing=6");
    j->submit_line =
        text("sbatch --wrap sleep 30 -J wrapped -n3 -c2 --mem-per-cpu=50 --comment=a b");
    j->work_dir = text("/home/alice");
    j->comment = text("a b");
    j->tres_per_task = text("cpu=2");
    j->alloc = alloc;
}

static const char job_details[] =
    "JobId=7 JobName=wrapped\n"
    "   SLUID=s7NSM7W51RSK00\n"
    "   UserId=alice(2001) GroupId=research(2001) MCS_label=N/A\n"
    "   Priority=285 Nice=0 Account=physics QOS=normal\n"
    "   JobState=RUNNING Reason=None Dependency=(null)\n"
    "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
    "   DerivedExitCode=0:0\n"
    "   RunTime=00:00:01 TimeLimit=00:10:00 TimeMin=N/A\n"
    "   SubmitTime=2026-11-20T09:36:53 EligibleTime=2026-11-20T09:36:53\n"
    "   AccrueTime=2026-11-20T09:36:53\n"
    "   StartTime=2026-11-20T09:36:54 EndTime=2026-11-20T09:46:54 Deadline=N/A\n"
    "   PreemptEligibleTime=2026-11-20T09:36:54 PreemptTime=None\n"
    "   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-20T09:36:54 Scheduler=Main\n"
    "   Partition=debug AllocNode:Sid=localhost:2851\n"
    "   ReqNodeList=(null) ExcNodeList=(null)\n"
    "   NodeList=node1\n"
    "   BatchHost=node1\n"
    "   NumNodes=1 NumCPUs=6 NumTasks=3 CPUs/Task=2 ReqB:S:C:T=0:0:*:*\n"
    "   ReqTRES=cpu=6,mem=300M,node=1,billing=6\n"
    "   AllocTRES=cpu=6,mem=300M,node=1,billing=6\n"
    "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*\n"
    "   JOB_GRES=(null)\n"
    "     Nodes=node1 CPU_IDs=0-5 Mem=300 GRES=\n"
    "   MinCPUsNode=2 MinMemoryCPU=50M MinTmpDiskNode=0\n"
    "   Features=(null) DelayBoot=00:00:00\n"
    "   OverSubscribe=NO Exclusive=NO Contiguous=0 Licenses=(null) LicensesAlloc=(null) "
    "Network=(null)\n"
    "   Command=(null)\n"
    "   SubmitLine=sbatch --wrap sleep 30 -J wrapped -n3 -c2 --mem-per-cpu=50 --comment=a b\n"
    "   WorkDir=/home/alice\n"
    "   Comment=a b\n"
    "   StdErr=\n"
    "   StdIn=/dev/null\n"
    "   StdOut=/home/alice/slurm-7.out\n"
    "   TresPerTask=cpu=2\n"
    "\n";

static const char job_one_line[] =
    "JobId=7 JobName=wrapped UserId=alice(2001) GroupId=research(2001) MCS_label=N/A Priority=285 "
    "Nice=0 "
    "Account=physics QOS=normal JobState=RUNNING Reason=None Dependency=(null) Requeue=1 "
    "Restarts=0 "
    "BatchFlag=1 Reboot=0 ExitCode=0:0 RunTime=00:00:01 TimeLimit=00:10:00 TimeMin=N/A "
    "SubmitTime=2026-11-20T09:36:53 EligibleTime=2026-11-20T09:36:53 "
    "AccrueTime=2026-11-20T09:36:53 "
    "StartTime=2026-11-20T09:36:54 EndTime=2026-11-20T09:46:54 Deadline=N/A "
    "PreemptEligibleTime=2026-11-20T09:36:54 PreemptTime=None SuspendTime=None SecsPreSuspend=0 "
    "LastSchedEval=2026-11-20T09:36:54 Scheduler=Main Partition=debug AllocNode:Sid=localhost:2851 "
    "ReqNodeList=(null) ExcNodeList=(null) NodeList=node1 BatchHost=node1 NumNodes=1 NumCPUs=6 "
    "NumTasks=3 CPUs/Task=2 ReqB:S:C:T=0:0:*:* ReqTRES=cpu=6,mem=300M,node=1,billing=6 "
    "AllocTRES=cpu=6,mem=300M,node=1,billing=6 Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=* "
    "MinCPUsNode=2 MinMemoryCPU=50M MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 "
    "OverSubscribe=NO Exclusive=NO Contiguous=0 Licenses=(null) LicensesAlloc=(null) "
    "Network=(null) "
    "Command=(null) SubmitLine=sbatch --wrap sleep 30 -J wrapped -n3 -c2 --mem-per-cpu=50 "
    "--comment=a b "
    "WorkDir=/home/alice Comment=a b StdErr= StdIn=/dev/null StdOut=/home/alice/slurm-7.out "
    "TresPerTask=cpu=2\n";

static void test_job(void **state)
{
    Pst__JobRecord j;
    Pst__Alloc alloc;
    Pst__AllocGroup group, *groups[1];
    struct job_row r = { .job = &j, .now_us = T0 + 2 * USEC_PER_SEC };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    make_job(&j, &alloc, &group, groups);
    show_job(&sb, &r, &(struct show_opts){ .details = true });
    assert_string_equal(strbuf_str(&sb), job_details);
    strbuf_reset(&sb);
    show_job(&sb, &r, &(struct show_opts){ .oneliner = true });
    assert_string_equal(strbuf_str(&sb), job_one_line);
}

static void test_job_pending(void **state)
{
    Pst__JobRecord j;
    Pst__Alloc alloc;
    Pst__AllocGroup group, *groups[1];
    struct job_row r = { .job = &j, .now_us = T0 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    make_job(&j, &alloc, &group, groups);
    j.state = PST__JOB_STATE__JOB_PENDING;
    j.alloc = NULL;
    j.alloc_tres = NULL;
    j.array_job_id = 7;
    j.array_tasks = text("2-7%2");
    j.array_task_throttle = 2;
    j.has_max_nodes = true;
    j.min_nodes = j.max_nodes = 2;
    j.reason_text = text("job requeued in held state");
    j.mail_type = 6;
    show_job(&sb, &r, &(struct show_opts){ .oneliner = true });
    assert_non_null(strstr(strbuf_str(&sb),
                           "JobId=7 ArrayJobId=7 ArrayTaskId=2-7%2 ArrayTaskThrottle=2 JobName="));
    assert_non_null(strstr(strbuf_str(&sb), " Reason=job_requeued_in_held_state "));
    assert_non_null(
        strstr(strbuf_str(&sb), " StartTime=Unknown EndTime=Unknown Deadline=N/A SuspendTime="));
    assert_non_null(strstr(strbuf_str(&sb), " NodeList= NumNodes=2-2 "));
    assert_non_null(strstr(strbuf_str(&sb), " AllocTRES=(null) "));
    assert_non_null(strstr(strbuf_str(&sb), " StdOut=/home/alice/slurm-7_4294967294.out "));
    assert_non_null(strstr(strbuf_str(&sb), " MailUser=alice MailType=END,FAIL\n"));
}

/* The least number of nodes of a waiting job, and the most that it may get: of one that names
 * neither nodes nor tasks the most is shown while it is held. */
static void test_node_counts(void **state)
{
    static const struct {
        uint32_t min, max, tasks;
        bool held;
        const char *shown;
    } cases[] = {
        { 0, 0, 0, false, " NumNodes=1 " },   { 0, 0, 0, true, " NumNodes=1-1 " },
        { 0, 0, 1, false, " NumNodes=1-1 " }, { 0, 0, 3, false, " NumNodes=1-3 " },
        { 1, 1, 3, false, " NumNodes=1-1 " }, { 1, 3, 0, true, " NumNodes=1-3 " },
        { 2, 2, 2, false, " NumNodes=2-2 " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Pst__JobRecord j;
        Pst__Alloc alloc;
        Pst__AllocGroup group, *groups[1];
        struct job_row r = { .job = &j, .now_us = T0 };
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

        make_job(&j, &alloc, &group, groups);
        j.state = PST__JOB_STATE__JOB_PENDING;
        j.alloc = NULL;
        j.has_priority = true;
        j.priority = cases[i].held ? 0 : 5;
        j.min_nodes = cases[i].min;
        j.has_min_nodes = cases[i].min > 0;
        j.max_nodes = cases[i].max;
        j.has_max_nodes = cases[i].max > 0;
        j.num_tasks = cases[i].tasks;
        j.has_num_tasks = cases[i].tasks > 0;
        show_job(&sb, &r, &(struct show_opts){ .oneliner = true });
        assert_non_null(strstr(strbuf_str(&sb), cases[i].shown));
    }
}

static void test_job_gres(void **state)
{
    Pst__JobRecord j;
    Pst__Alloc alloc;
    Pst__AllocGroup group, *groups[1];
    Pst__GresAlloc gres = PST__GRES_ALLOC__INIT, *gresp[1] = { &gres };
    struct job_row r = { .job = &j, .now_us = T0 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    make_job(&j, &alloc, &group, groups);
    gres.name = text("gpu");
    gres.type = text("a100");
    gres.count = 2;
    gres.devices = text("0-1");
    group.gres = gresp;
    group.n_gres = 1;
    show_job(&sb, &r, &(struct show_opts){ .details = true });
    assert_non_null(strstr(strbuf_str(&sb),
                           "\n   JOB_GRES=gpu:a100:2\n"
                           "     Nodes=node1 CPU_IDs=0-5 Mem=300 GRES=gpu:a100:2(IDX:0-1)\n"));
}

static void test_step(void **state)
{
    Pst__StepRecord s = PST__STEP_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[1] = { &group };
    struct step_row r = { .step = &s, .now_us = T0 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    group.nodes = 1;
    group.mem_mib = 200;
    alloc.nodes = text("node2");
    alloc.node_ids = one_node;
    alloc.n_node_ids = 1;
    alloc.total_cpus = 2;
    alloc.groups = groups;
    alloc.n_groups = 1;
    s.job_id = 15;
    s.step_id = 0;
    s.uid = 2001;
    s.start_us = T0;
    s.state = PST__STEP_STATE__STEP_RUNNING;
    s.partition = text("debug");
    s.name = text("sleep");
    s.num_tasks = 2;
    s.alloc = &alloc;
    s.distribution = text("Block");
    s.client_host = text("login1");
    s.client_pid = 27006;
    show_step(&sb, &r, &(struct show_opts){ .oneliner = false });
    assert_string_equal(
        strbuf_str(&sb),
        "StepId=15.0 UserId=2001 StartTime=2026-11-20T09:36:53 TimeLimit=UNLIMITED\n"
        "   State=RUNNING Partition=debug NodeList=node2\n"
        "   Nodes=1 CPUs=2 Tasks=2 Name=sleep Network=(null)\n"
        "   TRES=cpu=2,mem=200M,node=1\n"
        "   ResvPorts=(null)\n"
        "   CPUFreqReq=Default Dist=Block\n"
        "   SrunHost:Pid=login1:27006\n\n");
}

static void make_node(Pst__NodeRecord *n)
{
    pst__node_record__init(n);
    n->name = text("node3");
    n->arch = text("x86_64");
    n->sockets = 2;
    n->cores_per_socket = 4;
    n->threads_per_core = 2;
    n->cpus = 16;
    n->has_cpu_load_centi = true;
    n->cpu_load_centi = 2890;
    n->features = text("amd,ib");
    n->gres = text("gpu:a100:2,shard:a100:8");
    n->addr = text("127.0.0.1");
    n->port = 6818;
    n->version = text("26.05.3");
    n->os = text("Linux 6.1.0-generic #1 SMP PREEMPT_DYNAMIC");
    n->real_memory_mib = 16000;
    n->has_free_mem_mib = true;
    n->free_mem_mib = 17762;
    n->state = PST__NODE_STATE__NODE_IDLE;
    n->tmp_disk_mib = 20000;
    n->weight = 5;
    n->boot_us = T0;
    n->slurmd_start_us = T0;
    n->last_busy_us = T0;
}

static void test_node(void **state)
{
    Pst__NodeRecord n;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    make_node(&n);
    show_node(&sb, &n,
              &(struct show_node_of){ .partitions = "debug,batch,gpu",
                                      .tres = "cpu=16,mem=16000M,billing=16,gres/gpu=2",
                                      .now_us = T0 },
              &(struct show_opts){ .oneliner = false });
    assert_string_equal(
        strbuf_str(&sb),
        "NodeName=node3 Arch=x86_64 CoresPerSocket=4 \n"
        "   CPUAlloc=0 CPUEfctv=16 CPUTot=16 CPULoad=28.90\n"
        "   AvailableFeatures=amd,ib\n"
        "   ActiveFeatures=amd,ib\n"
        "   Gres=gpu:a100:2,shard:a100:8\n"
        "   NodeAddr=127.0.0.1 NodeHostName=node3 Port=6818 Version=26.05.3\n"
        "   OS=Linux 6.1.0-generic #1 SMP PREEMPT_DYNAMIC \n"
        "   RealMemory=16000 AllocMem=0 FreeMem=17762 Sockets=2 Boards=1\n"
        "   State=IDLE ThreadsPerCore=2 TmpDisk=20000 Weight=5 Owner=N/A MCS_label=N/A\n"
        "   Partitions=debug,batch,gpu \n"
        "   BootTime=2026-11-20T09:36:53 SlurmdStartTime=2026-11-20T09:36:53\n"
        "   LastBusyTime=2026-11-20T09:36:53 ResumeAfterTime=None SuspendTime=INFINITE\n"
        "   CfgTRES=cpu=16,mem=16000M,billing=16,gres/gpu=2\n"
        "   AllocTRES=\n"
        "   CurrentWatts=0 AveWatts=0\n\n");
    strbuf_reset(&sb);
    n.state_flags = 1u << PST__NODE_FLAG__NODE_FLAG_DRAIN;
    n.alloc_cpus = 2;
    n.alloc_mem_mib = 200;
    n.reason = text("swap dimm");
    n.reason_us = T0;
    n.comment = text("hello");
    n.extra = text("zz");
    show_node(&sb, &n, &(struct show_node_of){ .tres_used = "cpu=2,mem=200M", .now_us = T0 },
              &(struct show_opts){ .details = true });
    assert_non_null(strstr(strbuf_str(&sb), "   State=MIXED+DRAIN Threads"));
    assert_non_null(strstr(strbuf_str(&sb), "\n   GresDrain=N/A\n   NodeAddr="));
    assert_non_null(strstr(strbuf_str(&sb), "\n   AllocTRES=cpu=2,mem=200M\n"));
    assert_non_null(strstr(strbuf_str(&sb), "\n   Reason=swap dimm [root@2026-11-20T09:36:53]\n"
                                            "   Comment=hello\n   Extra=zz\n\n"));
}

static void test_partition(void **state)
{
    Pst__PartitionRecord p = PST__PARTITION_RECORD__INIT;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    p.name = text("debug");
    p.nodes = text("node[1-4]");
    p.is_default = true;
    p.state = PST__PARTITION_STATE__PART_UP;
    p.has_max_time_min = true;
    p.max_time_min = 60;
    p.has_default_time_min = true;
    p.default_time_min = 10;
    p.has_priority_tier = true;
    p.priority_tier = 10;
    p.preempt_mode = text("REQUEUE");
    p.total_cpus = 64;
    p.total_nodes = 4;
    show_partition(&sb, &p, "cpu=64,mem=62.50G,node=4,billing=64",
                   &(struct show_opts){ .details = false });
    assert_string_equal(
        strbuf_str(&sb),
        "PartitionName=debug\n"
        "   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n"
        "   AllocNodes=ALL Default=YES QoS=N/A\n"
        "   DefaultTime=00:10:00 DisableRootJobs=NO Exclusive=NO GraceTime=0 Hidden=NO\n"
        "   MaxNodes=UNLIMITED MaxTime=01:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED "
        "MaxCPUsPerSocket=UNLIMITED\n"
        "   Nodes=node[1-4]\n"
        "   PriorityJobFactor=1 PriorityTier=10 RootOnly=NO ReqResv=NO OverSubscribe=NO\n"
        "   OverTimeLimit=NONE PreemptMode=REQUEUE\n"
        "   State=UP TotalCPUs=64 TotalNodes=4 SelectTypeParameters=NONE\n"
        "   JobDefaults=(null)\n"
        "   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n"
        "   TRES=cpu=64,mem=62.50G,node=4,billing=64\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),         cmocka_unit_test(test_job_pending),
        cmocka_unit_test(test_job_gres),    cmocka_unit_test(test_step),
        cmocka_unit_test(test_node),        cmocka_unit_test(test_partition),
        cmocka_unit_test(test_node_counts),
    };

    (void)setenv("TZ", "UTC", 1);
    (void)unsetenv("SLURM_TIME_FORMAT");
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
