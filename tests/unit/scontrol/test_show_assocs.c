/* test_show_assocs.c - scontrol show assoc_mgr: arguments, records, sections without records */
#include "scontrol_util.h"

#define RECORDS(...) PEER_LIST(&ctld, OP_QUERY_ASSOCS, assoc_mgr_record, __VA_ARGS__)
#define ASKED(has) EXPECT_REQUEST(OP_QUERY_ASSOCS, assoc_mgr_request, (has))
#define HEAD "Current Association Manager state\n"
#define TRES                                                                                       \
    "'tres':[{'name':'cpu','tres_id':1,'used':4,'minutes':90.5,'run_minutes':7},"                  \
    "{'name':'mem','tres_id':2},{'name':'node','tres_id':4,'used':1}]"

static void test_arguments(void **state)
{
    (void)state;
    RECORDS(NULL);
    expect_run(scontrol_show_assocs, "users=alice,bob acc=physics flags=users,qos",
               HEAD
               "\nNo users currently cached in Slurm.\n\n\nNo QOS currently cached in Slurm.\n\n",
               "", 0);
    ASKED("'users':['alice','bob'],'accounts':['physics']");
    RECORDS(NULL);
    run_command(scontrol_show_assocs, "flags=assoc,Q q=high");
    ASKED("'parts':6,'qos':['high']");
    /* as recorded, with their exit codes */
    expect_run(scontrol_show_assocs, "flags=nosuch", "",
               "invalid flag 'nosuch', valid options are 'Assoc, QOS, and/or Users'\n", 0);
    expect_run(scontrol_show_assocs, "nosuch=1", "",
               "invalid entity: nosuch=1 for keyword:show assoc_mgr\n", 1);
    expect_run(scontrol_show_assocs, "alice", "",
               "invalid entity: alice for keyword:show assoc_mgr\n", 1);
    assert_true(peer_is_quiet(&ctld));
}

static void test_user(void **state)
{
    (void)state;
    RECORDS("{'user':{'name':'root','admin_level':'ADMIN_ADMINISTRATOR'},"
            "'default_account':'root','default_wckey':'w'}",
            "{'user':{'name':'no-such-person-1'}}");
    expect_run(scontrol_show_assocs, "flags=users",
               HEAD "\nUser Records\n\n"
                    "UserName=root(0) DefAccount=root DefWckey=w AdminLevel=Administrator\n"
                    "UserName=no-such-person-1(4294967294) DefAccount=(null) DefWckey= "
                    "AdminLevel=None\n",
               "", 0);
}

static void test_association(void **state)
{
    (void)state;
    RECORDS("{'assoc':{'cluster':'demo','account':'physics','assoc_id':4,'parent_id':3,"
            "'shares':30},'parent_account':'science','lineage':'/science/physics/',"
            "'shares_norm':0.6,'shares_level':50,'usage_norm':1}",
            "{'assoc':{'cluster':'demo','account':'physics','user':'root','assoc_id':7,"
            "'priority':2,'is_default':true,'comment':'hi','limits':{'grp_jobs':5,"
            "'grp_wall_min':100,'max_jobs_accrue':6,'max_submit_jobs':11,'max_wall_min':60,"
            "'grp_tres':[{'tres_id':1,'count':8},{'tres_id':2,'count':-1}],"
            "'grp_tres_mins':[{'tres_id':1,'count':1000}],"
            "'max_tres_per_job':[{'tres_id':4,'count':2},{'tres_id':1,'count':16}]}},"
            "'lineage':'/science/physics/0-root/','jobs':2,'accruing':1,'submitted':9,"
            "'own_submitted':4,'wall_minutes':12.5,'usage_raw':3.25," TRES "}");
    expect_run(scontrol_show_assocs, "flags=assoc",
               HEAD "\nAssociation Records\n\n"
                    "ClusterName=demo Account=physics UserName= Partition= Priority=0 ID=4\n"
                    "    SharesRaw/Norm/Level/Factor=30/0.60/50/0.00\n"
                    "    UsageRaw/Norm/Efctv=0.00/1.00/0.00\n"
                    "    ParentAccount=science(3) Lineage=/science/physics/ DefAssoc=No\n"
                    "    GrpJobs=N(0) GrpJobsAccrue=N(0)\n"
                    "    GrpSubmitJobs=N(0) GrpWall=N(0.00)\n"
                    "    GrpTRES=\n    GrpTRESMins=\n    GrpTRESRunMins=\n"
                    "    MaxJobs= MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n"
                    "    MaxTRESPJ=\n    MaxTRESPN=\n    MaxTRESMinsPJ=\n    MinPrioThresh=\n"
                    "    Comment=(null)\n"
                    "ClusterName=demo Account=physics UserName=root(0) Partition= Priority=2 ID=7\n"
                    "    SharesRaw/Norm/Level/Factor=1/0.00/0/0.00\n"
                    "    UsageRaw/Norm/Efctv=3.25/0.00/0.00\n"
                    "    ParentAccount= Lineage=/science/physics/0-root/ DefAssoc=Yes\n"
                    "    GrpJobs=5(2) GrpJobsAccrue=N(1)\n"
                    "    GrpSubmitJobs=N(9) GrpWall=100(12.50)\n"
                    "    GrpTRES=cpu=8(4),mem=N(0),node=N(1)\n"
                    "    GrpTRESMins=cpu=1000(90),mem=N(0),node=N(0)\n"
                    "    GrpTRESRunMins=cpu=N(7),mem=N(0),node=N(0)\n"
                    "    MaxJobs= MaxJobsAccrue=6(1) MaxSubmitJobs=11(4) MaxWallPJ=60\n"
                    "    MaxTRESPJ=cpu=16,node=2\n    MaxTRESPN=\n    MaxTRESMinsPJ=\n"
                    "    MinPrioThresh=\n    Comment=hi\n",
               "", 0);
}

#define QOS_LINES(name, mode)                                                                      \
    "QOS=" name "\n    UsageRaw=0.000000\n"                                                        \
    "    GrpJobs=N(0) GrpJobsAccrue=N(0) GrpSubmitJobs=N(0) GrpWall=N(0.00)\n"                     \
    "    GrpTRES=\n    GrpTRESMins=\n    GrpTRESRunMins=\n"                                        \
    "    MaxWallPJ=\n    MaxTRESPJ=\n    MaxTRESPN=\n    MaxTRESMinsPJ=\n    MinPrioThresh= \n"    \
    "    MinTRESPJ=\n    PreemptMode=" mode "\n    Priority=0\n"                                   \
    "    Account Limits\n        No Accounts\n    User Limits\n        No Users\n"

/* The words of the bits are those that sacctmgr sets. */
static void test_preempt_modes(void **state)
{
    (void)state;
    RECORDS("{'qos':{'name':'a','qos_id':1}}", "{'qos':{'name':'b','qos_id':2,'preempt_mode':2}}",
            "{'qos':{'name':'c','qos_id':3,'preempt_mode':4}}",
            "{'qos':{'name':'d','qos_id':4,'preempt_mode':8}}",
            "{'qos':{'name':'e','qos_id':5,'preempt_mode':18}}",
            "{'qos':{'name':'f','qos_id':6,'preempt_mode':4294967295}}");
    expect_run(scontrol_show_assocs, "flags=qos",
               HEAD "\nQOS Records\n\n" QOS_LINES("a(1)", "OFF") QOS_LINES("b(2)", "SUSPEND")
                   QOS_LINES("c(3)", "REQUEUE") QOS_LINES("d(4)", "CANCEL")
                       QOS_LINES("e(5)", "GANG,SUSPEND") QOS_LINES("f(6)", "OFF"),
               "", 0);
}

static void test_qos_parts(void **state)
{
    (void)state;
    RECORDS("{'qos':{'name':'high','qos_id':2,'priority':1000,'limits':{'max_wall_min':30,"
            "'max_jobs_per_user':2,'max_jobs_per_account':7,'max_submit_jobs_per_account':8,"
            "'max_tres_per_user':[{'tres_id':1,'count':32}]}},'parts':["
            "{'uid':0,'jobs':1,'accruing':2,'submitted':3," TRES "},"
            "{'account':'chem','jobs':4,'submitted':5}]}");
    run_command(scontrol_show_assocs, "flags=qos");
    assert_non_null(strstr(said.out, "QOS=high(2)\n"));
    assert_non_null(strstr(said.out, "    MaxWallPJ=30\n"));
    assert_non_null(strstr(said.out, "    PreemptMode=OFF\n    Priority=1000\n"));
    assert_non_null(strstr(said.out,
                           "    Account Limits\n      chem\n"
                           "        MaxJobsPA=7(4) MaxJobsAccruePA=N(0) MaxSubmitJobsPA=8(5)\n"
                           "        MaxTRESPA=\n        MaxTRESRunMinsPA=\n"
                           "    User Limits\n      root(0)\n"
                           "        MaxJobsPU=2(1) MaxJobsAccruePU=N(2) MaxSubmitJobsPU=N(3)\n"
                           "        MaxTRESPU=cpu=32(4),mem=N(0),node=N(1)\n"
                           "        MaxTRESRunMinsPU=cpu=N(7),mem=N(0),node=N(0)\n"));
}

/* Sections without a record say so, in their places, unless they were not asked for. */
static void test_sections(void **state)
{
    (void)state;
    RECORDS("{'assoc':{'cluster':'demo','account':'root'},'lineage':'/'}");
    run_command(scontrol_show_assocs, "users=nosuch");
    assert_non_null(strstr(said.out, HEAD "\nNo users currently cached in Slurm.\n\n\nAssociation "
                                          "Records\n\nClusterName=demo "));
    assert_non_null(strstr(said.out, "(null)\n\nNo QOS currently cached in Slurm.\n\n"));
}

/* One line a record. */
static void test_oneliner(void **state)
{
    (void)state;
    scontrol.show.oneliner = true;
    RECORDS("{'user':{'name':'root'},'default_account':'root'}");
    expect_run(scontrol_show_assocs, "flags=users",
               "Current Association Manager state\nUser Records\n"
               "UserName=root(0) DefAccount=root DefWckey= AdminLevel=None\n",
               "", 0);
    RECORDS("{'qos':{'name':'q','qos_id':1}}");
    run_command(scontrol_show_assocs, "flags=qos");
    assert_non_null(strstr(said.out, "\nQOS=q(1) UsageRaw=0.000000 GrpJobs=N(0) "));
    assert_non_null(strstr(said.out, " Priority=0 Account Limits=No Accounts User Limits=No "
                                     "Users\n"));
}

static void test_refused(void **state)
{
    (void)state;
    peer_refuse(&ctld, OP_QUERY_ASSOCS, 2002, NULL);
    expect_run(scontrol_show_assocs, "", HEAD,
               "slurm_load_assoc_mgr_info error: Access/permission denied\n", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_arguments),   SCONTROL_TEST(test_user),
        SCONTROL_TEST(test_association), SCONTROL_TEST(test_preempt_modes),
        SCONTROL_TEST(test_qos_parts),   SCONTROL_TEST(test_sections),
        SCONTROL_TEST(test_oneliner),    SCONTROL_TEST(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
