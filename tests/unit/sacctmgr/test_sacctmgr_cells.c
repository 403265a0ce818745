/* test_sacctmgr_cells.c - what columns take from records */
#include "cli/sacctmgr/sacctmgr_cells.h"

#include "json_util.h"
#include "smgr_util.h"

/* The columns of these names, parted by |. */
static void expect_cells(const char *names, struct smgr_row row, const char *want)
{
    struct smgr_table *t;
    struct strbuf sb = STRBUF_INIT;

    smgr.style = SMGR_PARSABLE2;
    row.now_us = INT64_C(1795167502000000);
    t = smgr_table_default(&smgr, names, row.tree);
    assert_non_null(t);
    smgr_table_row(t, &row, &sb);
    assert_true(sb.len > 0);
    sb.buf[sb.len - 1] = '\0';
    assert_string_equal(sb.buf, want);
    strbuf_done(&sb);
    (void)smgr_table_free(t);
}

#define RECORD(name, json)                                                                         \
    ((__typeof__(pst__##name##__unpack(NULL, 0, NULL)))from_json(&pst__##name##__descriptor,       \
                                                                 (json)))
#define DROP(record) protobuf_c_message_free_unpacked(&(record)->base, NULL)

static void test_qos(void **state)
{
    Pst__QosRecord *q = RECORD(
        qos_record,
        "{'qos_id':7,'name':'q3','description':'d','priority':7,'grace_s':60,'preempt_ids':[3,2],"
        "'preempt_mode':36,'preempt_exempt_s':1800,'flags':5,'usage_factor':0.5,"
        "'usage_threshold':0.1,'limit_factor':2,'limits':{'grp_jobs':5,'max_wall_min':120,"
        "'grp_submit_jobs':-1,'max_tres_per_user':[{'tres_id':1,'count':2}],"
        "'max_tres_per_job':[{'tres_id':1,'count':2},{'tres_id':4,'count':1}]}}");

    (void)state;
    expect_cells("name,id,priority,gracetime,preempt,preemptmode,preemptexempttime",
                 (struct smgr_row){ .qos = q }, "q3|7|7|00:01:00|high,low|within,requeue|00:30:00");
    expect_cells("flags,usagefactor,usagethreshold,limitfactor,description",
                 (struct smgr_row){ .qos = q }, "DenyOnLimit,NoDecay|0.500000|0.100000|2.000000|d");
    expect_cells("grpjobs,maxjobs,grpsubmit,maxwall,grpwall,maxtrespu,maxtres,grptres",
                 (struct smgr_row){ .qos = q }, "5|||02:00:00||cpu=2|cpu=2,node=1|");
    expect_cells("MaxCPUs,MaxNodes,GrpCPUs,MaxCPUsPU", (struct smgr_row){ .qos = q }, "2|1||2");
    DROP(q);
}

/* As Slurm shows a QOS of which nothing was said. */
static void test_qos_as_made(void **state)
{
    Pst__QosRecord *q = RECORD(qos_record, "{'qos_id':1,'name':'normal'}");

    (void)state;
    expect_cells("name,priority,gracetime,preempt,preemptexempttime,preemptmode,flags,usagethres,"
                 "usagefactor,limitfactor,grptres,maxwall",
                 (struct smgr_row){ .qos = q }, "normal|0|00:00:00|||cluster|||1.000000|||");
    DROP(q);
}

static void test_association(void **state)
{
    Pst__AssocRecord *a = RECORD(
        assoc_record,
        "{'assoc_id':9,'parent_id':4,'cluster':'demo','account':'chem','user':'bob',"
        "'partition':'debug','priority':3,'qos_ids':[1,3,2],'default_qos_id':2,'comment':'hi',"
        "'lineage':'/science/chem/0-bob/debug/','parent_account':'science'}");

    (void)state;
    expect_cells("cluster,account,user,partition,share,priority,qos,qosraw,defaultqos",
                 (struct smgr_row){ .assoc = a },
                 "demo|chem|bob|debug|1|3|high,low,normal|1,3,2|high");
    expect_cells("id,parentid,parentname,comment,lineage,flags", (struct smgr_row){ .assoc = a },
                 "9|4|science|hi|/science/chem/0-bob/debug/|None");
    expect_cells("account", (struct smgr_row){ .assoc = a, .tree = true, .depth = 2 }, "  chem");
    a->has_shares_parent = a->shares_parent = 1;
    a->has_deleted = a->deleted = 1;
    expect_cells("share,flags", (struct smgr_row){ .assoc = a }, "parent|DELETED");
    DROP(a);
    a = RECORD(assoc_record, "{'cluster':'demo','account':'chem','qos_ids':[1],'qos_added':[2],"
                             "'qos_removed':[3,77]}");
    expect_cells("qos,qosraw,share,id", (struct smgr_row){ .assoc = a },
                 "normal,+high,-low,-77|1,+2,-3,-77|1|0");
    expect_cells("share", (struct smgr_row){ .assoc = a, .as_written = true }, "");
    DROP(a);
}

static void test_accounts_and_users(void **state)
{
    Pst__AccountRecord *a = RECORD(account_record, "{'name':'chem','description':'d',"
                                                   "'organization':'uni','users_are_coords':true}");
    Pst__UserRecord *u =
        RECORD(user_record, "{'name':'bob','admin_level':'ADMIN_OPERATOR','default_wckey':'wa'}");

    (void)state;
    expect_cells("account,name,descr,org,coord,flags",
                 (struct smgr_row){ .account = a, .coordinated = "carol" },
                 "chem|chem|d|uni|carol|UsersAreCoords");
    expect_cells("user,name,defaultaccount,admin,defaultwckey,wckeys",
                 (struct smgr_row){ .user = u, .default_account = "chem", .wckeys = "wa,wb" },
                 "bob|bob|chem|Operator|wa|wa,wb");
    DROP(a);
    DROP(u);
}

static void test_events(void **state)
{
    Pst__AcctEventRecord *e =
        RECORD(acct_event_record,
               "{'cluster':'demo','node':'n1','start_us':1795167402000000,"
               "'end_us':1795167462000000,'state':1,'reason':'bad disk','tres':'1=32,2=64000'}");

    (void)state;
    expect_cells("cluster,event,eventraw,nodename,duration,reason,cpu,nodecount,tres,stateraw",
                 (struct smgr_row){ .event = e },
                 "demo|Node|2|n1|00:01:00|bad disk|32|0|cpu=32,mem=62.50G|1");
    e->has_end_us = 0;
    e->state = (uint32_t)PST__NODE_STATE__NODE_IDLE | 1u << (8 + PST__NODE_FLAG__NODE_FLAG_DRAIN);
    expect_cells("duration,end,state,user", (struct smgr_row){ .event = e },
                 "00:01:40|Unknown|DRAIN|");
    e->has_uid = 1; /* root is everywhere */
    expect_cells("user", (struct smgr_row){ .event = e }, "root(0)");
    free(e->node);
    e->node = NULL;
    free(e->tres);
    e->tres = strdup("1001=4,4=2,1=32");
    expect_cells("event,eventraw,state,cpu,nodecount,tres", (struct smgr_row){ .event = e },
                 "Cluster|1||32|2|gres/gpu=4,node=2,cpu=32");
    assert_int_equal(smgr_event_cpus(e), 32);
    DROP(e);
}

static void test_clusters(void **state)
{
    Pst__AcctClusterRecord *c =
        RECORD(acct_cluster_record,
               "{'name':'demo','control_host':'10.0.0.1','control_port':6817,'protocol':11008,"
               "'classification':2,'tres':'1=64,4=4','nodes':'n[1-4]','federation':'f',"
               "'fed_id':2,'fed_state':17,'features':['a','b']}");

    (void)state;
    expect_cells("cluster,controlhost,controlport,rpc,classification,clusternodes,nodecount,cpu",
                 (struct smgr_row){ .cluster = c },
                 "demo|10.0.0.1|6817|11008|Capacity|n[1-4]|4|64");
    expect_cells("tres,id,federation,fedid,fedstate,fedstateraw,features,flags",
                 (struct smgr_row){ .cluster = c }, "cpu=64,node=4|2|f|2|DRAIN|17|a,b|None");
    c->classification = 0;
    expect_cells("classification", (struct smgr_row){ .cluster = c }, "");
    DROP(c);
}

static void test_federation_tree(void **state)
{
    Pst__AcctClusterRecord *c = RECORD(acct_cluster_record, "{'name':'demo','fed_id':2}");
    Pst__FederationRecord *f = RECORD(federation_record, "{'name':'f'}");

    (void)state;
    expect_cells("federation,cluster,fedid", (struct smgr_row){ .federation = f, .cluster = c },
                 "f|demo|2");
    expect_cells("federation,cluster,fedid,flags", (struct smgr_row){ .federation = f }, "f|||");
    expect_cells("federation,cluster",
                 (struct smgr_row){ .federation = f, .cluster = c, .tree = true }, "|demo");
    DROP(c);
    DROP(f);
}

static void test_resources(void **state)
{
    Pst__ResourceRecord *r =
        RECORD(resource_record,
               "{'resource_id':3,'name':'fluent','server':'lic1','server_type':'flexlm','count':50,"
               "'last_consumed':7,'flags':1,'description':'d','shares':[{'cluster':'demo',"
               "'allowed':40},{'cluster':'two','allowed':20}]}");

    (void)state;
    expect_cells("name,id,server,type,count,lastconsumed,allocated,servertype,flags,descr,allowed",
                 (struct smgr_row){ .resource = r },
                 "fluent|3|lic1|License|50|7|60|flexlm|Absolute|d|");
    expect_cells("cluster,allowed", (struct smgr_row){ .resource = r, .share = r->shares[1] },
                 "two|20");
    DROP(r);
}

static void test_others(void **state)
{
    Pst__AcctTxnRecord *x = RECORD(acct_txn_record, "{'action':'Add Users','actor':'root',"
                                                    "'where':'w','info':'i','cluster':'demo'}");
    Pst__WckeyRecord *w =
        RECORD(wckey_record, "{'wckey_id':5,'cluster':'demo','user':'bob','name':'Wa'}");
    Pst__AcctResvRecord *v =
        RECORD(acct_resv_record,
               "{'cluster':'demo','resv_id':2,'name':'r','start_us':1000000,'end_us':61000000,"
               "'nodes':'n1','tres':'cpu=2','assoc_ids':[4,5],'unused_wall_s':1.5}");
    Pst__AcctInstanceRecord *i =
        RECORD(acct_instance_record, "{'cluster':'demo','node':'n1','instance_id':'i-1',"
                                     "'instance_type':'m5','extra':'x'}");

    (void)state;
    expect_cells("action,actor,where,info,cluster", (struct smgr_row){ .txn = x },
                 "Add Users|root|w|i|demo");
    expect_cells("wckey,cluster,user,id", (struct smgr_row){ .wckey = w }, "Wa|demo|bob|5");
    expect_cells("cluster,name,tres,assocs,nodename,duration,unusedwall,id",
                 (struct smgr_row){ .resv = v }, "demo|r|cpu=2|4,5|n1|00:01:00|1.500000|2");
    expect_cells("cluster,nodename,instanceid,instancetype,extra,end",
                 (struct smgr_row){ .instance = i }, "demo|n1|i-1|m5|x|Unknown");
    expect_cells("type,name,id", (struct smgr_row){ .tres = smgr_tres(&smgr, 1001) },
                 "gres|gpu|1001");
    DROP(x);
    DROP(w);
    DROP(v);
    DROP(i);
}

/* A column that the row has nothing for is empty. */
static void test_nothing(void **state)
{
    static const char names[] = "account,user,cluster,name,qos,share,priority,grpjobs,maxwall,"
                                "grptres,flags,descr,org,coord,state,start,problem";

    (void)state;
    expect_cells(names, (struct smgr_row){ 0 }, "||||||||||||||||");
    expect_cells("user,problem", (struct smgr_row){ .problem = "Account has no users" },
                 "|Account has no users");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qos),
        cmocka_unit_test(test_qos_as_made),
        cmocka_unit_test(test_association),
        cmocka_unit_test(test_accounts_and_users),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_federation_tree),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, smgr_begin, smgr_end);
}
