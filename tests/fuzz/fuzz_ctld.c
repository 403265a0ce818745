/* fuzz_ctld.c - scripts of frames, reports, time and restarts against a whole controller
 *
 * Everything of slurmctld but its sockets, its disk and the programs it starts: front, core,
 * scheduler, watchers, snapshots.  A script's steps are frames of any operation from connections of
 * every role, made by the schema, and what time, nodes, programs and a full disk do meanwhile.
 * Whatever came: the log replays to the same cluster, so does a snapshot, the sums kept beside the
 * records are those of the replay, every answer can be read, and nothing is left when it ends. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pb/pbutil.h"
#include "ctld/core/boot.h"
#include "ctld/core/effects.h"
#include "ctld/core/loop.h"
#include "ctld/front/front.h"
#include "ctld/notify/programs.h"
#include "ctld/front/statesnapshot.h"
#include "ctld/services.h"
#include "journal/files.h"

#include "memlog.h"
#include "nohttp.h"
#include "play.h"
#include "threads.h"

#define STEPS_MAX 96u
#define INPUT_MAX 8192u
#define RESTARTS_MAX 3u
#define NODES 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- who asks -------------------------------------------------------------------------------- */

/* Users that every Debian has.  Accounting makes sys an operator, sync a coordinator, and games an
 * administrator; daemon is SlurmUser. */
static const struct role roles[] = {
    { 0, "slurmd" },   { 0, "slurmd" },   { 0, "slurmd" },   { 0, "slurmd" }, /* n0 .. n3 */
    { 0, "srun" },     { 1, "scontrol" }, { 2, "srun" },     { 2, "sbatch" }, { 65534, "salloc" },
    { 3, "sacctmgr" }, { 4, "squeue" },   { 5, "scontrol" }, { 54321, "x" },
};

static struct sample samples[] = {
    { OP_JOB_SUBMIT,
      "{'job':{'batch':true,'work_dir':'/tmp','name':'j'},'script':'IyEvYmluL3NoCg=='}" },
    { OP_JOB_SUBMIT, "{'job':{'work_dir':'/tmp','min_nodes':2},'wait_alloc':true,'step':{}}" },
    { OP_JOB_SUBMIT,
      "{'job':{'batch':true,'work_dir':'/'},'array':'0-3%2','script':'IyEvYmluL3NoCg=='}" },
    { OP_JOB_SUBMIT, "{'job':{'batch':true,'work_dir':'/"
                     "'},'script':'IyEvYmluL3NoCg==','components':[{'job':{}}]}" },
    { OP_JOB_ACTION, "{'verb':'VERB_CANCEL','ids':['1']}" },
    { OP_JOB_ACTION, "{'verb':'VERB_REQUEUE','ids':['1']}" },
    { OP_JOB_UPDATE, "{'ids':['1'],'set':{'time_limit_min':5}}" },
    { OP_STEP_CREATE, "{'job_id':1,'spec':{}}" },
    { OP_STEP_CREATE, "{'job_id':1,'spec':{},'wait':true,'async':{}}" },
    { OP_STEP_CREATE, "{'no_allocate':true,'spec':{'nodelist':'n[1-2]','num_tasks':3}}" },
    { OP_HET_STEP_CREATE, "{}" },
    { OP_NODE_UPDATE, "{'nodes':'n0','action':'NODE_ACT_DRAIN','set':{'reason':'x'}}" },
    { OP_POWER_EXCEPT, "{'nodes':'n[1-2]:1','states':'DOWN','change':'LIST_ADD'}" },
    { OP_NODE_REBOOT, "{'nodes':'n1','asap':true}" },
    { OP_NODE_CREATE, "{'line':'NodeName=d[1-3] CPUs=2 State=EXTERNAL'}" },
    { OP_NODE_CREATE, "{'line':'NodeName=f1 CPUs=2 Feature=x State=FUTURE'}" },
    { OP_NODE_DELETE, "{'nodes':'d[1-2]'}" },
    { OP_NODE_CLAIM, "{'node':{'hostname':'h','cpus':4},'feature':'x'}" },
    { OP_NODE_REGISTER,
      "{'node':{'name':'z1','cpus':4},'node_line':'NodeName=z1 CPUs=4 Features=x'}" },
    { OP_JOB_SUBMIT, "{'job':{'external':true,'num_tasks':3}}" },
    { OP_PART_UPDATE, "{'name':'q','set':{'max_time_min':5}}" },
    { OP_PART_UPDATE, "{'name':'r','create':true,'set':{'nodes':'n[0-1]'}}" },
    { OP_RESV_UPDATE, "{}" },
    { OP_WATCH, "{}" },
    { OP_QUERY_JOBS, "{}" },
    { OP_QUERY_EXPLAIN, "{'job_id':1}" },
    { OP_TRIGGER_SET, "{}" },
    { OP_CRONTAB_SET, "{'text':'* * * * * true'}" },
    { OP_ACCT_CHANGES, "{'changes':[{'version':100}]}" },
    { OP_ACCESS, "{'id':'1.0','purpose':'CRED_ATTACH'}" },
    { OP_JOB_WAIT, "{'job_id':1}" },
};

static struct sample accounts = {
    OP_ACCT_CHANGES,
    "{'changes':["
    "{'version':1,'qos':{'qos_id':1,'name':'normal'}},"
    "{'version':2,'qos':{'qos_id':2,'name':'high','priority':9,'preempt_ids':[1],'limits':{'grp_"
    "jobs':2}}},"
    "{'version':3,'account':{'name':'root'}},"
    "{'version':4,'account':{'name':'acct','coordinators':['sync']}},"
    "{'version':5,'account':{'name':'sub'}},"
    "{'version':6,'user':{'name':'root','admin_level':'ADMIN_ADMINISTRATOR'}},"
    "{'version':7,'user':{'name':'games','admin_level':'ADMIN_ADMINISTRATOR'}},"
    "{'version':8,'user':{'name':'sys','admin_level':'ADMIN_OPERATOR'}},"
    "{'version':9,'user':{'name':'bin'}},{'version':10,'user':{'name':'nobody'}},"
    "{'version':11,'user':{'name':'sync'}},"
    "{'version':12,'assoc':{'assoc_id':1,'cluster':'test','account':'root','qos_ids':[1,2]}},"
    "{'version':13,'assoc':{'assoc_id':2,'parent_id':1,'cluster':'test','account':'acct'}},"
    "{'version':14,'assoc':{'assoc_id':3,'parent_id':2,'cluster':'test','account':'acct','user':'"
    "bin',"
    "'limits':{'max_jobs':3}}},"
    "{'version':15,'assoc':{'assoc_id':4,'parent_id':2,'cluster':'test','account':'sub'}},"
    "{'version':16,'assoc':{'assoc_id':5,'parent_id':4,'cluster':'test','account':'sub','user':'"
    "nobody'}}]}"
};

static const char *const confs[] = {
    "",
    ("AccountingStorageEnforce=safe,qos\nPreemptType=preempt/qos\nPreemptMode=REQUEUE\n"
     "PrivateData=jobs,usage\nPrologFlags=Contain\n"
     "PrologSlurmctld=/bin/true\nEpilogSlurmctld=/bin/true\n"),
    ("PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nSchedulerTimeSlice=30\n"
     "PrologFlags=Alloc,Serial\nPriorityType=priority/basic\nMCSPlugin=mcs/user\n"),
};

static char dir[64], conf_file[96], key_file[96], log_dir[96], log_file[128];

static void tidy_up(void)
{
    (void)unlink(conf_file);
    (void)unlink(key_file);
    (void)unlink(log_file);
    (void)rmdir(log_dir);
    (void)rmdir(dir);
}

static void write_conf(unsigned which)
{
    FILE *f = fopen(conf_file, "we");

    assert(f);
    fprintf(
        f,
        "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmUser=daemon\nStateSaveLocation="
        "%s\n"
        "SlurmctldPidFile=%s/pid\nAccountingStorageType=accounting_storage/"
        "none\nGresTypes=gpu,shard\n"
        "Licenses=lic:3,other:1\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
        "ProctrackType=proctrack/linuxproc\nMinJobAge=60\nMaxNodeCount=8\nSlurmctldDebug=quiet\nReturnToService=1\n"
        "HealthCheckProgram=/bin/true\nHealthCheckInterval=300\nRebootProgram=/bin/true\n%s"
        "NodeName=n[0-2] CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 "
        "Gres=gpu:a100:2,shard:4 Feature=fast\n"
        "NodeName=n3 CPUs=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=8000 "
        "Feature=big\n"
        "PartitionName=p Nodes=n[0-3] Default=YES PriorityTier=1\n"
        "NodeSet=x Feature=x\nPartitionName=all Nodes=ALL,-x\n"
        "PartitionName=q Nodes=n[0,3] PriorityTier=2 OverSubscribe=FORCE:2 MaxTime=60\n",
        dir, dir, confs[which % ARRAY_SIZE(confs)]);
    assert(fclose(f) == 0);
}

/* Watchers look into the folder for how far back the log goes: here, to its beginning. */
static void make_log(void)
{
    int fd;

    (void)snprintf(log_dir, sizeof(log_dir), "%s/" JOURNAL_SUBDIR, dir);
    (void)snprintf(log_file, sizeof(log_file), "%s/%016x.log", log_dir, 1);
    fd = mkdir(log_dir, 0700) == 0 ? open(log_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    assert(fd >= 0);
    (void)close(fd);
}

static void set_up(void)
{
    struct err err = { .text = "" };
    int r;

    if (dir[0])
        return;
    log_set_level(LOG_QUIET);
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-fuzz-XXXXXX");
    r = mkdtemp(dir) ? 0 : -errno;
    assert(r == 0);
    (void)snprintf(conf_file, sizeof(conf_file), "%s/slurm.conf", dir);
    (void)snprintf(key_file, sizeof(key_file), "%s/key", dir);
    (void)atexit(tidy_up);
    make_log();
    r = auth_keys_create(key_file, &err);
    assert(r == 0);
    play_encode(samples, ARRAY_SIZE(samples));
    play_encode(&accounts, 1);
}

/* ---- programs of the site: what the script says of them -------------------------------------- */

static struct program *programs_head, **programs_end = &programs_head;

static void programs_drop(struct program *p)
{
    char **lists[] = { p->paths, p->args, p->env };
    size_t counts[] = { p->npaths, p->nargs, p->nenv };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        for (size_t k = 0; k < counts[i]; k++)
            free(lists[i][k]);
        free(lists[i]);
    }
    free(p->input);
    free(p);
}

int __wrap_programs_new(struct ctld *ctld, struct programs **ret);
void __wrap_programs_add_take(struct programs *programs, struct program *p);
void __wrap_programs_release(struct programs *programs, uint64_t lsn);
struct programs *__wrap_programs_free(struct programs *programs);

int __wrap_programs_new(struct ctld *ctld, struct programs **ret)
{
    (void)ctld;
    *ret = (struct programs *)&programs_head; /* never looked into */
    return 0;
}

void __wrap_programs_add_take(struct programs *programs, struct program *p)
{
    if (!programs) {
        programs_drop(p);
        return;
    }
    p->next = NULL;
    *programs_end = p;
    programs_end = &p->next;
}

void __wrap_programs_release(struct programs *programs, uint64_t lsn)
{
    (void)programs;
    (void)lsn;
}

struct programs *__wrap_programs_free(struct programs *programs)
{
    (void)programs;
    while (programs_head) {
        struct program *p = programs_head;

        programs_head = p->next;
        programs_drop(p);
    }
    programs_end = &programs_head;
    return NULL;
}

static void program_ends(void *arg)
{
    struct program *p = arg;

    if (p->done)
        p->done(p->ctld, p);
    programs_drop(p);
}

/* ---- the controller -------------------------------------------------------------------------- */

struct run {
    struct ctld *ctld;
    struct play play;
    unsigned steps, lives;
    bool again; /* a restart is due */
};

static void post(struct ctld *ctld, struct cmd from)
{
    struct cmd *cmd = malloc(sizeof(*cmd));

    assert(cmd);
    *cmd = from;
    (void)core_post(ctld, cmd);
}

void __wrap_ctld_stop(struct ctld *ctld);

void __wrap_ctld_stop(struct ctld *ctld)
{
    atomic_store(&ctld->stopping, true);
}

/* What the core has to do, and then the others. */
static void turn(struct run *run, bool others)
{
    bool more = true;

    for (unsigned i = 0; i < 3 && more; i++) {
        post(run->ctld, (struct cmd){ .kind = CMD_STOP });
        core_run(run->ctld);
        more = fake_turn();
        if (others)
            more |= threads_run();
    }
}

static void boot(struct run *run)
{
    struct err err = { .text = "" };
    struct ctld *c = calloc(1, sizeof(*c));
    int r;

    assert(c);
    run->ctld = c;
    c->services = ctld_services;
    boot_host_name(c);
    c->conf_path = strdup(conf_file);
    r = conf_load(conf_file, CONF_FULL, &c->conf, NULL, &err);
    if (r == 0)
        r = auth_keys_load(key_file, &c->keys, &err);
    if (r == 0)
        r = auth_tokens_new(&(struct token_rules){ 0 }, c->keys, &c->tokens, &err);
    if (r == 0)
        r = boot_prepare(c, &err);
    if (r == 0)
        r = boot_lead(c, false, false, &err);
    if (r < 0)
        fprintf(stderr, "boot: %s\n", err.text);
    assert(r == 0);
    play_connect(&run->play);
    turn(run, true);
}

static void end(struct run *run)
{
    play_close(&run->play);
    turn(run, true);
    boot_end(run->ctld);
    play_forget(&run->play);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static struct cluster *replay(const struct memlist *list)
{
    struct cluster *c = NULL;
    int r = cluster_new(&c);

    assert(r == 0);
    for (size_t i = 0; i < list->n; i++) {
        struct err err = { .text = "" };
        Pst__Transaction *tx =
            pst__transaction__unpack(NULL, list->recs[i].len, list->recs[i].data);

        assert(tx);
        r = cluster_apply(c, tx, &err);
        if (r < 0)
            fprintf(stderr, "record %zu: %s\n", i + 1, err.text);
        assert(r == 0);
        tx_free(tx);
    }
    return c;
}

static void compare(const struct cluster *a, uint64_t hash, const struct cluster *b,
                    const char *what)
{
    bool same = cluster_hash(b) == hash;

    if (!same)
        fprintf(stderr, "%s gives another cluster\n", what);
    assert(same);
    for (uint32_t i = 0; i < a->nnodes; i++) {
        const struct node *x = a->nodes[i], *y = i < b->nnodes ? b->nodes[i] : NULL;

        assert(!x == !y);
        assert(!x ||
               (x->jobs == y->jobs && x->alloc_cpus == y->alloc_cpus &&
                x->alloc_mem_mib == y->alloc_mem_mib && x->jobs_completing == y->jobs_completing));
    }
    for (size_t i = 0; i < ARRAY_SIZE(a->njobs_state); i++)
        assert(a->njobs_state[i] == b->njobs_state[i]);
}

static void check(struct run *run)
{
    struct cluster *c = replay(&memlog.log);
    uint64_t hash = cluster_hash(run->ctld->cluster);

    compare(run->ctld->cluster, hash, c, "the log");
    (void)cluster_free(c);
    snapshot_now(run->ctld);
    if (memsnap.n) { /* a full disk has none */
        c = replay(&memsnap);
        compare(run->ctld->cluster, hash, c, "a snapshot");
        (void)cluster_free(c);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The n-th job that holds resources; NULL: there are fewer. */
static struct job *active_job(const struct run *run, unsigned n)
{
    struct job *j = run->ctld->cluster->active;

    while (j && n--)
        j = j->next_active;
    return j;
}

static uint64_t live(void *ctx, unsigned choice)
{
    const struct run *run = ctx;
    const struct cluster *c = run->ctld->cluster;
    const struct job *j = active_job(run, choice % 4);

    switch (choice / 4) {
    case 0:
    case 1:
        return j ? j->rec->job_id : choice;
    case 2:
    case 3:
        return j ? j->rec->db_id : 0;
    case 4:
        return j && j->steps ? j->steps->rec->step_id : choice % 4;
    case 5:
        return run->ctld->applied_lsn - choice % 4;
    case 6:
        return c->rec->acct_version + choice % 4;
    default:
        return c->rec->next_job_id - 1 - choice % 4;
    }
}

static void any_frame(struct run *run)
{
    play_any(&run->play);
}

static void sample_frame(struct run *run)
{
    play_sample(&run->play, NODES);
}

static void conn_goes(struct run *run)
{
    play_reconnect(&run->play);
}

static void time_passes(struct run *run)
{
    play_time(&run->play, &clock_us);
}

static void node_registers(struct run *run)
{
    unsigned i = script_u8(&run->play.script) % NODES;
    Pst__NodeRegister reg = PST__NODE_REGISTER__INIT;
    Pst__NodeRecord node = PST__NODE_RECORD__INIT;
    char name[8];

    (void)snprintf(name, sizeof(name), "n%u", i);
    node.name = name;
    SET(&node, cpus, i == 3 ? 8 : 4);
    SET(&node, sockets, i == 3 ? 2 : 1);
    SET(&node, cores_per_socket, i == 3 ? 2 : 4);
    SET(&node, threads_per_core, i == 3 ? 2 : 1);
    SET(&node, real_memory_mib, 8000);
    if (i != 3)
        node.gres = (char *)"gpu:a100:2,shard:4";
    node.boot_id = (char *)"boot";
    reg.node = &node;
    play_message(&run->play, run->play.conns[i], OP_NODE_REGISTER, &reg.base);
}

/* A node tells of a job what nodes tell: started, prolog over, step over, clean. */
static void node_reports(struct run *run)
{
    struct script *s = &run->play.script;
    const struct job *j = active_job(run, script_u8(s) & 3);
    unsigned node = script_u8(s), what = script_u8(s);
    Pst__NodeReport rep = PST__NODE_REPORT__INIT;
    Pst__RunningStep step = PST__RUNNING_STEP__INIT, *steps = &step;
    Pst__StepEnd over = PST__STEP_END__INIT, *overs = &over;

    SET(&step, job_id, j ? j->rec->job_id : 1);
    SET(&step, run_id, j ? j->rec->db_id : 1);
    SET(&step, step_id, STEP_BATCH);
    if ((what & 64) && j && j->steps)
        step.step_id = j->steps->rec->step_id;
    SET(&over, job_id, step.job_id);
    SET(&over, run_id, step.run_id);
    SET(&over, step_id, step.step_id);
    SET(&over, exit_status, what & 128 ? script_u16(s) : 0);
    rep.launched = rep.clean = rep.prolog_done = rep.script_told = &steps;
    rep.ended = &overs;
    rep.n_launched = what & 1;
    rep.n_ended = what >> 1 & 1;
    rep.n_clean = what >> 2 & 1;
    rep.n_prolog_done = what >> 3 & 1;
    rep.n_script_told = what >> 4 & 1;
    if (j && j->rec->alloc && j->rec->alloc->n_node_ids && !(what & 32))
        node = j->rec->alloc->node_ids[node % j->rec->alloc->n_node_ids];
    play_message(&run->play, run->play.conns[node % NODES], OP_NODE_REPORT, &rep.base);
}

static void program_over(struct run *run)
{
    struct program *p = programs_head;
    unsigned status = script_u8(&run->play.script);

    if (!p)
        return;
    programs_head = p->next;
    if (!programs_head)
        programs_end = &programs_head;
    p->status = status < 200 ? 0 : (int)(status - 199) << 8;
    post(run->ctld, (struct cmd){ .kind = CMD_CALL, .fn = program_ends, .arg = p });
}

static void disk_changes(struct run *run)
{
    (void)run;
    memlog.full = !memlog.full;
    memlog.config.on_full(memlog.config.ctx, memlog.full, ENOSPC);
}

/* A new controller from the log of the old one. */
static void restart(struct run *run)
{
    if (!memlog.full)
        run->again = true;
}

static void take_step(struct run *run)
{
    static void (*const kinds[])(struct run * run) = {
        any_frame,    any_frame,    any_frame,      any_frame,    sample_frame, sample_frame,
        sample_frame, sample_frame, node_registers, node_reports, node_reports, time_passes,
        conn_goes,    program_over, disk_changes,   restart,
    };
    unsigned k = script_u8(&run->play.script);

    kinds[(k & 127) % ARRAY_SIZE(kinds)](run);
    turn(run, !(k & 128));
}

/* One controller's: until the script ends, or has it restart. */
static void *live_once(void *arg)
{
    struct run *run = arg;

    threads_ours = true;
    boot(run);
    if (run->lives++ == 0)
        play_one(&run->play, run->play.conns[NODES], &accounts);
    turn(run, true);
    run->again = false;
    while (run->steps++ < STEPS_MAX && run->play.script.left && !run->again &&
           !atomic_load(&run->ctld->stopping))
        take_step(run);
    if (memlog.full)
        disk_changes(run);
    turn(run, true);
    check(run);
    end(run);
    threads_ours = false;
    clock_us += USEC_PER_SEC;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run run = {
        .play = { .roles = roles,
                  .n_roles = ARRAY_SIZE(roles),
                  .samples = samples,
                  .n_samples = ARRAY_SIZE(samples),
                  .script = { .at = data,
                              .left = size,
                              .now_us = __wrap_now_us,
                              .live = live,
                              .ctx = &run } },
    };
    pthread_t thread;
    int r;

    if (size > INPUT_MAX)
        return 0;
    set_up();
    write_conf(script_u8(&run.play.script));
    memlog_reset();
    clock_us = 0;
    random_next = 0;
    fake_last_conn = 0;
    do { /* in a thread of its own: what code keeps for a thread begins anew */
        r = __real_pthread_create(&thread, NULL, live_once, &run);
        assert(r == 0);
        (void)__real_pthread_join(thread, NULL);
    } while (run.again && run.lives <= RESTARTS_MAX);
    return 0;
}
