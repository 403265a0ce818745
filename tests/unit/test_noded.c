/* test_noded.c - slurmd and slurmstepd for real, against a controller of our own making
 *
 * A wire server plays the controller; slurmd runs with a configuration in a temporary directory;
 * jobs and steps are launched, signalled and lost, and nothing may be left behind.  Needs the built
 * daemons beside the test (build directory), else it is skipped. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/spool.h"
#include "wire/auth.h"
#include "wire/client.h"
#include "wire/errors.h"
#include "wire/server.h"

#define PATIENCE_S 20
#define ENDS_MAX 256

struct seen_end {
    uint32_t job_id, step_id, status;
    uint64_t run_id;
    bool node_clean, launch_failed;
    char error[128];
};

/* The controller's side.  Guarded by lock; changed is signalled at every event. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct server *server;
    struct auth_keys *keys;
    struct conn *node; /* referenced */
    unsigned registrations, running, listed_jobs, reports;
    bool mute;         /* receive, do not answer reports */
    unsigned refusals; /* answer so many with an error first */
    struct seen_end ends[ENDS_MAX];
    size_t n_ends, n_launched, n_clean, n_prolog_done;
    uint32_t last_clean, prolog_failed;
    char drain[128];
} ctl = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static char dir[64], slurmd_exe[PATH_MAX];
static uint16_t node_port;
static pid_t slurmd_pid;

/* ---- the controller -------------------------------------------------------------------------- */

static void add_end(const Pst__StepEnd *e)
{
    struct seen_end *s = &ctl.ends[ctl.n_ends < ENDS_MAX ? ctl.n_ends++ : ENDS_MAX - 1];

    *s = (struct seen_end){ e->job_id,        e->step_id, e->exit_status, e->run_id, e->node_clean,
                            e->launch_failed, "" };
    (void)snprintf(s->error, sizeof(s->error), "%s", e->error ? e->error : "");
}

static void on_register(struct conn *c, const struct frame *f, const Pst__NodeRegister *m)
{
    Pst__NodeRegisterReply reply = PST__NODE_REGISTER_REPLY__INIT;

    if (ctl.node)
        (void)conn_unref(ctl.node);
    ctl.node = conn_ref(c);
    ctl.registrations++;
    ctl.running = (unsigned)m->n_running;
    ctl.listed_jobs = (unsigned)m->n_jobs;
    for (size_t i = 0; i < m->n_ended; i++)
        add_end(m->ended[i]);
    reply.has_heartbeat_s = true;
    reply.heartbeat_s = 30;
    (void)conn_reply(c, f->op, f->id, 0, &reply.base);
}

static void on_report(struct conn *c, const struct frame *f, const Pst__NodeReport *m)
{
    ctl.reports++;
    ctl.n_launched += m->n_launched;
    ctl.n_clean += m->n_clean;
    ctl.n_prolog_done += m->n_prolog_done;
    if (m->n_clean)
        ctl.last_clean = m->clean[m->n_clean - 1]->job_id;
    if (m->has_prolog_failed_job)
        ctl.prolog_failed = m->prolog_failed_job;
    if (m->drain_reason)
        (void)snprintf(ctl.drain, sizeof(ctl.drain), "%s", m->drain_reason);
    for (size_t i = 0; i < m->n_ended; i++)
        add_end(m->ended[i]);
    if (ctl.refusals && m->n_ended) {
        ctl.refusals--;
        (void)conn_error(c, f->op, f->id, EPST_DISK_FULL, NULL);
    } else if (!ctl.mute)
        (void)conn_reply(c, f->op, f->id, 0, NULL);
}

static void on_request(void *ctx, struct conn *c, const struct frame *f)
{
    ProtobufCMessage *m = NULL;

    (void)ctx;
    if (frame_unpack(f, &m, NULL) < 0)
        return;
    (void)pthread_mutex_lock(&ctl.lock);
    if (f->op == OP_NODE_REGISTER)
        on_register(c, f, (const Pst__NodeRegister *)m);
    else if (f->op == OP_NODE_REPORT)
        on_report(c, f, (const Pst__NodeReport *)m);
    (void)pthread_cond_broadcast(&ctl.changed);
    (void)pthread_mutex_unlock(&ctl.lock);
    protobuf_c_message_free_unpacked(m, NULL);
}

static void on_reply(void *ctx, struct conn *c, const struct frame *f)
{
    (void)ctx;
    (void)c;
    (void)f;
}

static void on_close(void *ctx, struct conn *c)
{
    (void)ctx;
    (void)pthread_mutex_lock(&ctl.lock);
    if (ctl.node == c)
        ctl.node = conn_unref(c);
    (void)pthread_cond_broadcast(&ctl.changed);
    (void)pthread_mutex_unlock(&ctl.lock);
}

/* Wait under the lock until cond holds. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        struct timespec until_;                                                                    \
        (void)clock_gettime(CLOCK_REALTIME, &until_);                                              \
        until_.tv_sec += PATIENCE_S;                                                               \
        (void)pthread_mutex_lock(&ctl.lock);                                                       \
        while (!(cond) && pthread_cond_timedwait(&ctl.changed, &ctl.lock, &until_) == 0)           \
            ;                                                                                      \
        (void)pthread_mutex_unlock(&ctl.lock);                                                     \
        assert_true(cond);                                                                         \
    } while (0)

static void send_node(unsigned op, const ProtobufCMessage *m)
{
    struct conn *c;

    (void)pthread_mutex_lock(&ctl.lock);
    assert_non_null(ctl.node);
    c = conn_ref(ctl.node);
    (void)pthread_mutex_unlock(&ctl.lock);
    assert_int_equal(conn_request(c, op, 0, m, NULL), 0);
    (void)conn_unref(c);
}

static const struct seen_end *find_end(uint32_t job_id, uint32_t step_id)
{
    for (size_t i = 0; i < ctl.n_ends; i++)
        if (ctl.ends[i].job_id == job_id && ctl.ends[i].step_id == step_id)
            return &ctl.ends[i];
    return NULL;
}

/* ---- slurmd ---------------------------------------------------------------------------------- */

static uint16_t free_port(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    (void)close(fd);
    return ntohs(sa.sin_port);
}

static void write_conf(const char *extra)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/slurm.conf", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(
        f,
        "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=%u\nSlurmUser=root\n"
        "SlurmdSpoolDir=%s/spool.%%n\nSlurmdPidFile=%s/slurmd.%%n.pid\nSlurmdLogFile=%s/"
        "slurmd.log\n"
        "SlurmdDebug=debug2\nStateSaveLocation=%s\nKillWait=2\nProctrackType=%s\n"
        "NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=%u CPUs=4 RealMemory=1000\n"
        "PartitionName=p Nodes=n1 Default=YES\n%s",
        server_port(ctl.server), dir, dir, dir, dir,
        getenv("TEST_PROCTRACK") ? getenv("TEST_PROCTRACK") : "proctrack/linuxproc", node_port,
        extra);
    assert_int_equal(fclose(f), 0);
}

static void start_slurmd(void)
{
    char conf[128];
    char *argv[] = { slurmd_exe, "-D", "-N", "n1", "-f", conf, NULL };
    unsigned before = ctl.registrations;

    (void)snprintf(conf, sizeof(conf), "%s/slurm.conf", dir);
    assert_int_equal(posix_spawn(&slurmd_pid, slurmd_exe, NULL, NULL, argv, (char *[]){ NULL }), 0);
    WAIT_FOR(ctl.registrations > before);
}

static void stop_slurmd(int sig)
{
    int status;

    assert_int_equal(kill(slurmd_pid, sig), 0);
    assert_int_equal(waitpid(slurmd_pid, &status, 0), slurmd_pid);
    if (sig == SIGTERM)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    WAIT_FOR(ctl.node == NULL);
    slurmd_pid = 0;
}

static bool spool_empty(void)
{
    char cmd[160];
    int status;
    pid_t pid;

    (void)snprintf(cmd, sizeof(cmd), "test -z \"$(ls -A %s/spool.n1)\"", dir);
    char *argv[] = { "sh", "-c", cmd, NULL };

    assert_int_equal(
        posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, (char *[]){ "PATH=/bin:/usr/bin", NULL }),
        0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

/* Poll for something outside our process, with a deadline. */
#define WAIT_POLL(cond)                                                                            \
    do {                                                                                           \
        int64_t until_ = now_mono_us() + PATIENCE_S * USEC_PER_SEC;                                \
        while (!(cond) && now_mono_us() < until_)                                                  \
            (void)usleep(2000);                                                                    \
        assert_true(cond);                                                                         \
    } while (0)

/* ---- requests -------------------------------------------------------------------------------- */

static const char *user_name(void)
{
    const struct passwd *pw = getpwuid(getuid());

    return pw ? pw->pw_name : "nobody";
}

struct job_parts {
    Pst__JobRecord job;
    Pst__Alloc alloc;
    Pst__AllocGroup group, *groups[1];
    Pst__JobOnNode on;
    uint32_t node_ids[2];
    char *argv[1];
};

static void fill_job(struct job_parts *p, uint32_t id, unsigned nodes)
{
    pst__job_record__init(&p->job);
    pst__alloc__init(&p->alloc);
    pst__alloc_group__init(&p->group);
    pst__job_on_node__init(&p->on);
    p->group.has_nodes = p->group.has_cpus = true;
    p->group.nodes = nodes;
    p->group.cpus = 2;
    p->groups[0] = &p->group;
    p->node_ids[0] = 0;
    p->node_ids[1] = 1;
    p->alloc.nodes = nodes == 1 ? "n1" : "n[1-2]";
    p->alloc.n_node_ids = nodes;
    p->alloc.node_ids = p->node_ids;
    p->alloc.n_groups = 1;
    p->alloc.groups = p->groups;
    p->job.has_job_id = p->job.has_uid = p->job.has_gid = p->job.has_start_us = true;
    p->job.job_id = id;
    p->job.uid = getuid();
    p->job.gid = getgid();
    p->job.user_name = (char *)user_name();
    p->job.name = "test";
    p->job.partition = "p";
    p->job.start_us = now_us();
    p->job.work_dir = dir;
    p->job.alloc = &p->alloc;
    p->argv[0] = "job.sh";
    p->job.argv = p->argv;
    p->job.n_argv = 1;
    p->job.has_batch = p->job.batch = true;
    p->on.job = &p->job;
    p->on.has_run_id = p->on.has_cpus = true;
    p->on.run_id = 1000 + id;
    p->on.node_name = "n1";
    p->on.cpus = 2;
    p->on.cluster_name = "test";
}

static void launch_parts(struct job_parts *p, const char *script)
{
    static char env[] = "PATH=/usr/bin:/bin\0HOME=/";
    Pst__LaunchBatch m = PST__LAUNCH_BATCH__INIT;

    m.job = &p->on;
    m.has_script = m.has_environment = true;
    m.script.data = (uint8_t *)script;
    m.script.len = strlen(script);
    m.environment.data = (uint8_t *)env;
    m.environment.len = sizeof(env);
    send_node(OP_LAUNCH_BATCH, &m.base);
}

static void launch(uint32_t id, const char *script)
{
    struct job_parts p;

    fill_job(&p, id, 1);
    launch_parts(&p, script);
}

static void terminate(uint32_t id, const char *reason, bool now)
{
    Pst__TerminateJob m = PST__TERMINATE_JOB__INIT;

    m.has_job_id = m.has_run_id = m.has_kill_wait_s = m.has_now = true;
    m.job_id = id;
    m.run_id = 1000 + id;
    m.kill_wait_s = 1;
    m.reason = (char *)reason;
    m.now = now;
    send_node(OP_TERMINATE_JOB, &m.base);
}

static void touch(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)close(open(path, O_WRONLY | O_CREAT, 0600));
}

static char *slurp(const char *name)
{
    static char buf[65536];
    char path[128];
    size_t n;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "r");
    if (!f)
        return NULL;
    n = fread(buf, 1, sizeof(buf) - 1, f);
    (void)fclose(f);
    buf[n] = '\0';
    return buf;
}

static bool file_has(const char *name, const char *text)
{
    const char *s = slurp(name);

    return s && strstr(s, text);
}

/* ---- batch jobs ------------------------------------------------------------------------------ */

static void test_batch(void **state)
{
    const struct seen_end *e;

    (void)state;
    launch(1,
           "#!/bin/sh\necho id $SLURM_JOB_ID step $SLURM_STEP_ID pid $SLURM_TASK_PID $$\nexit 3\n");
    WAIT_FOR(find_end(1, STEP_ID_BATCH));
    e = find_end(1, STEP_ID_BATCH);
    assert_int_equal(e->status, 3 << 8);
    assert_true(e->node_clean);
    assert_int_equal(e->run_id, 1001);
    assert_true(file_has("slurm-1.out", "id 1 step -5 pid "));
    WAIT_POLL(spool_empty());
}

static void test_same_launch_twice(void **state)
{
    size_t before = ctl.n_launched;

    (void)state;
    launch(2, "#!/bin/sh\necho run >>once\nwhile [ ! -e go2 ]; do sleep 0.05; done\n");
    WAIT_FOR(ctl.n_launched == before + 1);
    launch(2, "#!/bin/sh\necho run >>once\n");
    launch(2, "#!/bin/sh\necho run >>once\n");
    touch("go2");
    WAIT_FOR(find_end(2, STEP_ID_BATCH));
    assert_string_equal(slurp("once"), "run\n");
    WAIT_POLL(spool_empty());
}

static void test_setup_failures(void **state)
{
    struct job_parts p;

    (void)state;
    fill_job(&p, 3, 1);
    p.job.std_out = "/nonexistent/dir/x.out";
    launch_parts(&p, "#!/bin/sh\ntrue\n");
    fill_job(&p, 4, 1);
    p.job.work_dir = "/nonexistent";
    launch_parts(&p, "#!/bin/sh\ntrue\n");
    fill_job(&p, 5, 1);
    launch_parts(&p, "#!/nonexistent/shell\ntrue\n");
    WAIT_FOR(find_end(3, STEP_ID_BATCH) && find_end(4, STEP_ID_BATCH) &&
             find_end(5, STEP_ID_BATCH));
    assert_int_equal(find_end(3, STEP_ID_BATCH)->status, 53);
    assert_int_equal(find_end(4, STEP_ID_BATCH)->status, 53);
    assert_int_equal(find_end(5, STEP_ID_BATCH)->status, ENOENT << 8);
    assert_true(file_has("slurm-5.out", "error: execve(): "));
    WAIT_POLL(spool_empty());
}

static void test_leftovers_are_killed(void **state)
{
    (void)state;
    launch(6, "#!/bin/sh\nsetsid sh -c 'echo $$ >left6; exec sleep 1000' &\n"
              "while [ ! -s left6 ]; do sleep 0.02; done\nexit 0\n");
    WAIT_FOR(find_end(6, STEP_ID_BATCH));
    assert_int_equal(find_end(6, STEP_ID_BATCH)->status, 0);
    assert_int_equal(kill((pid_t)strtol(slurp("left6"), NULL, 10), 0), -1);
}

static void test_cancel(void **state)
{
    size_t launched = ctl.n_launched;

    (void)state;
    launch(7, "#!/bin/sh\ntrap 'echo TERM; exit 5' TERM\necho up\nwhile :; do sleep 0.05; done\n");
    WAIT_FOR(ctl.n_launched > launched);
    WAIT_POLL(file_has("slurm-7.out", "up"));
    terminate(7, "DUE TO TIME LIMIT", false);
    WAIT_FOR(find_end(7, STEP_ID_BATCH) && ctl.last_clean == 7);
    assert_int_equal(find_end(7, STEP_ID_BATCH)->status, 5 << 8);
    assert_true(file_has("slurm-7.out", "error: *** JOB 7 ON n1 CANCELLED AT "));
    assert_true(file_has("slurm-7.out", " DUE TO TIME LIMIT ***\n"));
    WAIT_POLL(spool_empty());
}

static void test_cancel_needs_kill(void **state)
{
    (void)state;
    launch(8, "#!/bin/sh\ntrap '' TERM\necho up\nwhile :; do sleep 0.05; done\n");
    WAIT_POLL(file_has("slurm-8.out", "up"));
    terminate(8, NULL, false);
    WAIT_FOR(find_end(8, STEP_ID_BATCH) && ctl.last_clean == 8);
    assert_int_equal(find_end(8, STEP_ID_BATCH)->status, SIGKILL);
    assert_true(file_has("slurm-8.out", " DUE to SIGNAL Terminated ***\n"));
}

static void test_unknown_job_is_clean(void **state)
{
    (void)state;
    terminate(4711, NULL, false);
    WAIT_FOR(ctl.last_clean == 4711);
}

static void send_signal_steps(uint32_t id, int sig, bool batch_only, int suspend)
{
    Pst__SignalSteps m = PST__SIGNAL_STEPS__INIT;

    m.has_job_id = m.has_run_id = true;
    m.job_id = id;
    m.run_id = 1000 + id;
    m.has_signal = sig > 0;
    m.signal = (uint32_t)sig;
    m.has_batch_script_only = m.batch_script_only = batch_only;
    m.has_suspend = m.suspend = suspend > 0;
    m.has_resume = m.resume = suspend < 0;
    send_node(OP_SIGNAL_STEPS, &m.base);
}

static void test_signal_batch(void **state)
{
    (void)state;
    launch(9, "#!/bin/sh\ntrap 'echo USR1; exit 0' USR1\necho up\nwhile :; do sleep 0.05; done\n");
    WAIT_POLL(file_has("slurm-9.out", "up"));
    send_signal_steps(9, SIGUSR1, true, 0);
    WAIT_FOR(find_end(9, STEP_ID_BATCH));
    assert_int_equal(find_end(9, STEP_ID_BATCH)->status, 0);
    assert_true(file_has("slurm-9.out", "USR1"));
}

static char state_of(const char *pid_file)
{
    char path[64], buf[256], c = '?';
    const char *pid = slurp(pid_file), *p;
    FILE *f;

    if (!pid)
        return '?';
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", strtol(pid, NULL, 10));
    f = fopen(path, "r");
    if (!f)
        return '?';
    if (fgets(buf, sizeof(buf), f) && (p = strrchr(buf, ')')))
        c = p[2];
    (void)fclose(f);
    return c;
}

static void test_suspend(void **state)
{
    (void)state;
    launch(10, "#!/bin/sh\necho $$ >pid10\nwhile [ ! -e go10 ]; do sleep 0.05; done\n");
    WAIT_POLL(state_of("pid10") != '?');
    send_signal_steps(10, 0, false, 1);
    WAIT_POLL(state_of("pid10") == 'T');
    send_signal_steps(10, 0, false, -1);
    WAIT_POLL(state_of("pid10") != 'T');
    terminate(10, NULL, true);
    WAIT_FOR(find_end(10, STEP_ID_BATCH) && ctl.last_clean == 10);
    assert_int_equal(find_end(10, STEP_ID_BATCH)->status, SIGKILL);
}

/* Root only: the job is its user's in every respect, and cannot write where root could. */
static void test_other_user(void **state)
{
    struct job_parts p;
    char home[96], out[128];
    uint32_t gids[2] = { 65534, 12345 };

    (void)state;
    if (getuid() != 0)
        skip();
    (void)snprintf(home, sizeof(home), "%s/home", dir);
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(chown(home, 65534, 65534), 0);
    for (uint32_t id = 11; id <= 12; id++) {
        fill_job(&p, id, 1);
        p.job.uid = p.job.gid = 65534;
        p.job.user_name = "nobody";
        p.job.work_dir = home;
        p.on.gids = gids;
        p.on.n_gids = 2;
        p.job.has_umask = true;
        p.job.umask = 077;
        (void)snprintf(out, sizeof(out), "%s/forbidden", dir);
        if (id == 12)
            p.job.std_out = out;
        launch_parts(&p, "#!/bin/sh\nid -u; id -g; id -G; umask; ulimit -n; cat $0 >/dev/null && "
                         "echo readable\n");
    }
    WAIT_FOR(find_end(11, STEP_ID_BATCH) && find_end(12, STEP_ID_BATCH));
    assert_int_equal(find_end(11, STEP_ID_BATCH)->status, 0);
    assert_true(file_has("home/slurm-11.out", "65534\n65534\n65534 12345\n0077\n"));
    assert_true(file_has("home/slurm-11.out", "readable\n"));
    assert_int_equal(find_end(12, STEP_ID_BATCH)->status, 53);
    assert_null(slurp("forbidden"));
}

/* ---- restarts -------------------------------------------------------------------------------- */

static void test_job_outlives_slurmd(void **state)
{
    (void)state;
    launch(20, "#!/bin/sh\necho up\nwhile [ ! -e go20 ]; do sleep 0.02; done\nexit 7\n");
    launch(21, "#!/bin/sh\necho up\nwhile [ ! -e go21 ]; do sleep 0.02; done\nexit 8\n");
    WAIT_POLL(file_has("slurm-20.out", "up"));
    WAIT_POLL(file_has("slurm-21.out", "up"));
    stop_slurmd(SIGKILL);
    touch("go20"); /* ends while slurmd is away */
    WAIT_POLL(slurp("spool.n1/job20.1020/batch/exit"));
    start_slurmd();
    WAIT_FOR(find_end(20, STEP_ID_BATCH));
    assert_int_equal(ctl.running, 1);
    assert_int_equal(find_end(20, STEP_ID_BATCH)->status, 7 << 8);
    assert_null(find_end(21, STEP_ID_BATCH));
    touch("go21"); /* ends under the new slurmd */
    WAIT_FOR(find_end(21, STEP_ID_BATCH));
    assert_int_equal(find_end(21, STEP_ID_BATCH)->status, 8 << 8);
    WAIT_POLL(spool_empty());
}

static void test_unacknowledged_end_is_told_again(void **state)
{
    size_t n;

    (void)state;
    ctl.mute = true;
    launch(22, "#!/bin/sh\nexit 9\n");
    WAIT_FOR(find_end(22, STEP_ID_BATCH));
    assert_false(spool_empty());
    stop_slurmd(SIGKILL);
    ctl.mute = false;
    n = ctl.n_ends;
    start_slurmd();
    WAIT_FOR(ctl.n_ends > n);
    assert_int_equal(ctl.ends[n].job_id, 22);
    assert_int_equal(ctl.ends[n].status, 9 << 8);
    assert_true(ctl.ends[n].node_clean);
    WAIT_POLL(spool_empty());
}

static void test_refused_report_is_repeated(void **state)
{
    size_t n = ctl.n_ends;

    (void)state;
    ctl.refusals = 1;
    launch(24, "#!/bin/sh\nexit 2\n");
    WAIT_FOR(ctl.n_ends == n + 2);
    assert_int_equal(ctl.ends[n].job_id, 24);
    assert_int_equal(ctl.ends[n + 1].job_id, 24);
    WAIT_POLL(spool_empty());
}

static pid_t stepd_of(uint32_t job)
{
    char title[64], path[64], buf[128], cwd[PATH_MAX];
    pid_t found = 0;
    struct dirent *e;
    DIR *d = opendir("/proc");

    assert_non_null(d);
    (void)snprintf(title, sizeof(title), "slurmstepd: [%u.batch]", job);
    while (!found && (e = readdir(d))) {
        long pid = strtol(e->d_name, NULL, 10);
        ssize_t len;
        FILE *f;

        (void)snprintf(path, sizeof(path), "/proc/%ld/cwd", pid);
        len = pid > 0 ? readlink(path, cwd, sizeof(cwd) - 1) : -1;
        if (len < 0 || strncmp(cwd, dir, strlen(dir)) != 0) /* of another run of this test */
            continue;
        (void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
        f = fopen(path, "r");
        if (!f)
            continue;
        if (fgets(buf, sizeof(buf), f) && strcmp(buf, title) == 0)
            found = (pid_t)pid;
        (void)fclose(f);
    }
    (void)closedir(d);
    return found;
}

static void test_killed_step_daemon(void **state)
{
    pid_t left;

    (void)state;
    launch(23, "#!/bin/sh\nsetsid sh -c 'echo $$ >left23; exec sleep 1000' &\nwait\n");
    WAIT_POLL(slurp("left23") && *slurp("left23"));
    left = (pid_t)strtol(slurp("left23"), NULL, 10);
    WAIT_POLL(stepd_of(23) > 0);
    assert_int_equal(kill(stepd_of(23), SIGKILL), 0);
    WAIT_FOR(find_end(23, STEP_ID_BATCH));
    assert_int_equal(find_end(23, STEP_ID_BATCH)->status, SIGKILL);
    assert_string_equal(find_end(23, STEP_ID_BATCH)->error, "the step daemon was killed");
    WAIT_POLL(kill(left, 0) < 0);
}

/* ---- many ------------------------------------------------------------------------------------ */

static void test_burst(void **state)
{
    unsigned reports = ctl.reports;

    (void)state;
    for (uint32_t i = 0; i < 50; i++)
        launch(100 + i, "#!/bin/sh\n");
    for (uint32_t i = 0; i < 50; i++)
        WAIT_FOR(find_end(100 + i, STEP_ID_BATCH));
    assert_true(ctl.reports - reports <= 101);
    WAIT_POLL(spool_empty());
}

/* ---- steps ----------------------------------------------------------------------------------- */

struct step_parts {
    struct job_parts jp;
    Pst__StepRecord step;
    Pst__Alloc alloc;
    Pst__AllocGroup group, *groups[1];
    Pst__StepCredential cred;
    Pst__SignedCredential sc;
    Pst__LaunchStep launch;
    uint8_t packed[4096], mac[AUTH_MAC_SIZE];
    uint32_t ranks[8];
    char env[64];
};

static void fill_step(struct step_parts *s, uint32_t job, uint32_t step, unsigned tasks,
                      char **argv)
{
    const char *kid;

    memset(s, 0, sizeof(*s));
    fill_job(&s->jp, job, 1);
    pst__step_record__init(&s->step);
    pst__alloc__init(&s->alloc);
    pst__alloc_group__init(&s->group);
    pst__step_credential__init(&s->cred);
    pst__signed_credential__init(&s->sc);
    pst__launch_step__init(&s->launch);
    s->group.has_nodes = s->group.has_cpus = s->group.has_tasks = true;
    s->group.nodes = 1;
    s->group.cpus = tasks;
    s->group.tasks = tasks;
    s->groups[0] = &s->group;
    s->alloc.nodes = "n1";
    s->alloc.n_groups = 1;
    s->alloc.groups = s->groups;
    s->step.alloc = &s->alloc;
    s->step.has_num_tasks = true;
    s->step.num_tasks = tasks;
    s->cred.has_job_id = s->cred.has_step_id = s->cred.has_run_id = s->cred.has_uid =
        s->cred.has_gid = true;
    s->cred.job_id = job;
    s->cred.step_id = step;
    s->cred.run_id = 1000 + job;
    s->cred.uid = getuid();
    s->cred.gid = getgid();
    s->cred.user_name = (char *)user_name();
    s->cred.step = &s->step;
    s->cred.job = &s->jp.job;
    s->cred.has_expires_us = true;
    s->cred.expires_us = now_us() + 60 * USEC_PER_SEC;
    s->cred.cluster_name = "test";
    assert_true(pst__step_credential__get_packed_size(&s->cred) <= sizeof(s->packed));
    s->sc.has_credential = s->sc.has_mac = true;
    s->sc.credential.data = s->packed;
    s->sc.credential.len = pst__step_credential__pack(&s->cred, s->packed);
    assert_int_equal(auth_sign(ctl.keys, s->packed, s->sc.credential.len, s->mac, &kid), 0);
    s->sc.key_id = (char *)kid;
    s->sc.mac.data = s->mac;
    s->sc.mac.len = sizeof(s->mac);
    s->launch.credential = &s->sc;
    s->launch.node_name = "n1";
    s->launch.has_node_index = true;
    s->launch.argv = argv;
    for (s->launch.n_argv = 0; argv[s->launch.n_argv]; s->launch.n_argv++)
        ;
    memcpy(s->env, "PATH=/usr/bin:/bin", 19);
    s->launch.has_environment = true;
    s->launch.environment.data = (uint8_t *)s->env;
    s->launch.environment.len = 19;
    s->launch.work_dir = dir;
    for (unsigned i = 0; i < tasks; i++)
        s->ranks[i] = i;
    s->launch.task_ids = s->ranks;
    s->launch.n_task_ids = tasks;
}

static struct client *call_node(const struct step_parts *s)
{
    struct client_target t = { .host = "127.0.0.1",
                               .port = node_port,
                               .cluster = "test",
                               .timeout_ms = 5000,
                               .program = "srun",
                               .no_auth = true };
    struct client *c;
    struct err err = { .text = "" };

    if (client_connect(&t, 0, &c, &err) < 0)
        fail_msg("connect: %s", err.text);
    assert_int_equal(client_send(c, OP_LAUNCH_STEP, 0, client_next_id(c), &s->launch.base), 0);
    return c;
}

struct step_view { /* what srun would see */
    char out[2][65536], message[2048], refused[256];
    size_t n_out[2];
    uint32_t status[8];
    unsigned n_exits, n_started, n_eof;
    uint32_t pids[8];
    bool done;
    uint32_t done_status;
};

static void view_frame(struct step_view *v, const struct frame *f)
{
    ProtobufCMessage *m = NULL;

    assert_int_equal(frame_unpack(f, &m, NULL), 0);
    if (f->flags & FRAME_ERROR) {
        (void)snprintf(v->refused, sizeof(v->refused), "%s", ((Pst__Error *)m)->text);
    } else if (f->op == OP_STEP_STARTED) {
        const Pst__StepStarted *x = (const Pst__StepStarted *)m;

        v->n_started++;
        for (size_t i = 0; i < x->n_pids && i < 8; i++)
            v->pids[i] = x->pids[i];
        if (x->error)
            (void)snprintf(v->message, sizeof(v->message), "%s", x->error);
    } else if (f->op == OP_STEP_IO) {
        const Pst__StepIo *x = (const Pst__StepIo *)m;
        int i = x->stream == PST__STEP_STREAM__STREAM_STDERR;
        size_t n = MIN(x->data.len, sizeof(v->out[i]) - 1 - v->n_out[i]);

        memcpy(v->out[i] + v->n_out[i], x->data.data, n);
        v->n_out[i] += n;
        v->n_eof += x->eof ? 1 : 0;
    } else if (f->op == OP_STEP_MESSAGE) {
        size_t n = strlen(v->message);

        (void)snprintf(v->message + n, sizeof(v->message) - n, "%s", ((Pst__StepMessage *)m)->text);
    } else if (f->op == OP_STEP_TASK_EXIT) {
        const Pst__StepTaskExit *x = (const Pst__StepTaskExit *)m;

        for (size_t i = 0; i < x->n_task_ids; i++, v->n_exits++)
            v->status[x->task_ids[i]] = x->status;
    } else if (f->op == OP_STEP_DONE) {
        v->done = true;
        v->done_status = ((Pst__StepDone *)m)->status;
    }
    protobuf_c_message_free_unpacked(m, NULL);
}

/* Receive until the condition; the connection's end ends it too. */
#define VIEW_UNTIL(c, v, cond)                                                                     \
    do {                                                                                           \
        struct frame f_;                                                                           \
        while (!(cond) && client_recv((c), PATIENCE_S * 1000, &f_) > 0)                            \
            view_frame((v), &f_);                                                                  \
        assert_true(cond);                                                                         \
    } while (0)

static struct step_view view; /* large */

static struct client *run_step(struct step_parts *s)
{
    memset(&view, 0, sizeof(view));
    return call_node(s);
}

static void end_job(uint32_t job)
{
    terminate(job, NULL, false);
    WAIT_FOR(ctl.last_clean == job);
}

static void test_step(void **state)
{
    char *argv[] = { "sh", "-c",
                     "echo out $SLURM_PROCID $SLURM_NTASKS $SLURMD_NODENAME; echo err >&2; exit "
                     "$SLURM_PROCID",
                     NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 30, 0, 3, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.n_started, 1);
    assert_int_equal(view.n_exits, 3);
    assert_int_equal(view.status[2], 2 << 8);
    assert_int_equal(view.done_status, 2 << 8);
    assert_int_equal(view.n_eof, 6);
    assert_non_null(strstr(view.out[0], "out 0 3 n1\n"));
    assert_non_null(strstr(view.out[0], "out 2 3 n1\n"));
    assert_int_equal(view.n_out[1], 12);
    (void)client_free(c);
    WAIT_FOR(find_end(30, 0));
    assert_int_equal(find_end(30, 0)->status, 2 << 8);
    end_job(30);
    WAIT_POLL(spool_empty());
}

static void test_step_stdin(void **state)
{
    char *argv[] = { "cat", NULL };
    static char block[200000];
    struct step_parts s;
    struct client *c;
    Pst__StepIo io = PST__STEP_IO__INIT;

    (void)state;
    memset(block, 'x', sizeof(block));
    fill_step(&s, 31, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    io.has_stream = io.has_data = true;
    io.stream = PST__STEP_STREAM__STREAM_STDIN;
    io.data.data = (uint8_t *)block;
    for (size_t at = 0; at < 50000; at += 10000) {
        io.data.len = 10000;
        assert_int_equal(client_send(c, OP_STEP_IO, FRAME_ONEWAY, client_next_id(c), &io.base), 0);
    }
    io.has_data = false;
    io.data.len = 0;
    io.has_eof = io.eof = true;
    assert_int_equal(client_send(c, OP_STEP_IO, FRAME_ONEWAY, client_next_id(c), &io.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.n_out[0], 50000);
    assert_int_equal(view.done_status, 0);
    (void)client_free(c);
    end_job(31);
}

static void test_step_missing_program(void **state)
{
    char *argv[] = { "nosuchcommand", NULL }, *argv2[] = { "/tmp", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 32, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], 2 << 8);
    assert_non_null(
        strstr(view.message, "] error: execve(): nosuchcommand: No such file or directory\n"));
    (void)client_free(c);
    fill_step(&s, 32, 1, 1, argv2);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], 13 << 8);
    assert_non_null(strstr(view.message, "] error: execve(): /tmp: Permission denied\n"));
    (void)client_free(c);
    end_job(32);
}

static void test_step_signal(void **state)
{
    char *argv[] = { "sleep", "1000", NULL };
    Pst__StepSignal sig = PST__STEP_SIGNAL__INIT;
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 33, 0, 2, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    sig.has_signal = true;
    sig.signal = SIGUSR2;
    assert_int_equal(client_send(c, OP_STEP_SIGNAL, FRAME_ONEWAY, client_next_id(c), &sig.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], SIGUSR2);
    assert_int_equal(view.status[1], SIGUSR2);
    (void)client_free(c);
    fill_step(&s, 33, 1, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    sig.has_terminate = sig.terminate = true;
    sig.has_signal = false;
    sig.signal = 0;
    assert_int_equal(client_send(c, OP_STEP_SIGNAL, FRAME_ONEWAY, client_next_id(c), &sig.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_int_equal(view.status[0], SIGTERM);
    assert_non_null(strstr(view.message, "error: *** STEP 33.1 ON n1 CANCELLED AT "));
    (void)client_free(c);
    end_job(33);
}

static void test_step_loses_srun(void **state)
{
    char *argv[] = { "sleep", "1000", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 34, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.n_started);
    (void)client_free(c);
    WAIT_FOR(find_end(34, 0));
    assert_int_equal(find_end(34, 0)->status, SIGTERM);
    WAIT_POLL(kill((pid_t)view.pids[0], 0) < 0);
    end_job(34);
}

static void test_step_pty(void **state)
{
    char *argv[] = { "sh", "-c", "tty; stty size; read x; echo got $x", NULL };
    Pst__StepIo io = PST__STEP_IO__INIT;
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 35, 0, 1, argv);
    s.launch.has_pty = s.launch.pty = true;
    s.launch.has_pty_rows = s.launch.has_pty_cols = true;
    s.launch.pty_rows = 33;
    s.launch.pty_cols = 77;
    c = run_step(&s);
    VIEW_UNTIL(c, &view, strstr(view.out[0], "33 77"));
    io.has_data = true;
    io.data.data = (uint8_t *)"hello\n";
    io.data.len = 6;
    assert_int_equal(client_send(c, OP_STEP_IO, FRAME_ONEWAY, client_next_id(c), &io.base), 0);
    VIEW_UNTIL(c, &view, view.done);
    assert_non_null(strstr(view.out[0], "/dev/pts/"));
    assert_non_null(strstr(view.out[0], "got hello"));
    (void)client_free(c);
    end_job(35);
}

static void test_step_much_output(void **state)
{
    char *argv[] = { "sh", "-c", "head -c 30000000 /dev/zero", NULL };
    struct step_parts s;
    struct client *c;
    size_t total = 0;
    struct frame f;
    bool done = false;

    (void)state;
    fill_step(&s, 36, 0, 1, argv);
    c = run_step(&s);
    while (!done && client_recv(c, PATIENCE_S * 1000, &f) > 0) {
        ProtobufCMessage *m = NULL;

        assert_int_equal(frame_unpack(&f, &m, NULL), 0);
        if (f.op == OP_STEP_IO)
            total += ((Pst__StepIo *)m)->data.len;
        done = f.op == OP_STEP_DONE;
        protobuf_c_message_free_unpacked(m, NULL);
    }
    assert_int_equal(total, 30000000);
    (void)client_free(c);
    end_job(36);
}

static void test_step_refused(void **state)
{
    char *argv[] = { "true", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 37, 0, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    (void)client_free(c);
    c = run_step(&s); /* the same credential */
    VIEW_UNTIL(c, &view, view.refused[0]);
    (void)client_free(c);
    fill_step(&s, 37, 1, 1, argv);
    s.mac[0] ^= 1;
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.refused[0]);
    assert_string_equal(view.refused, "Invalid job credential");
    (void)client_free(c);
    end_job(37);
    fill_step(&s, 37, 2, 1, argv);
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.refused[0]);
    assert_string_equal(view.refused, "Job credential revoked");
    (void)client_free(c);
    WAIT_POLL(spool_empty());
}

static void test_step_multi_prog(void **state)
{
    char *argv[] = { "last", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 38, 0, 3, argv);
    s.launch.multi_prog = "0 echo first\n1-2 echo t%t o%o 'q%t'\n";
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_non_null(strstr(view.out[0], "first last\n"));
    assert_non_null(strstr(view.out[0], "t2 o1 q%t last\n"));
    (void)client_free(c);
    end_job(38);
}

static void test_step_files(void **state)
{
    char *argv[] = { "sh", "-c", "echo task $SLURM_PROCID", NULL };
    struct step_parts s;
    struct client *c;

    (void)state;
    fill_step(&s, 39, 4, 2, argv);
    s.launch.std_out = "f.%j.%s.%t.%N";
    c = run_step(&s);
    VIEW_UNTIL(c, &view, view.done);
    assert_string_equal(slurp("f.39.4.0.n1"), "task 0\n");
    assert_string_equal(slurp("f.39.4.1.n1"), "task 1\n");
    (void)client_free(c);
    end_job(39);
}

/* ---- prolog and epilog ----------------------------------------------------------------------- */

static void write_script(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
}

static void test_prolog_epilog(void **state)
{
    char extra[256], script[512];

    (void)state;
    stop_slurmd(SIGTERM);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\nPATH=/usr/bin:/bin; env >>%s/$SLURM_SCRIPT_CONTEXT.$SLURM_JOB_ID\n"
                   "test $SLURM_JOB_ID != 51\n",
                   dir);
    write_script("pro.sh", script);
    write_script("epi.sh", script);
    (void)snprintf(extra, sizeof(extra), "Prolog=%s/pro.sh\nEpilog=%s/epi.sh\n", dir, dir);
    write_conf(extra);
    start_slurmd();
    launch(50, "#!/bin/sh\nexit 3\n");
    WAIT_FOR(find_end(50, STEP_ID_BATCH));
    assert_true(find_end(50, STEP_ID_BATCH)->node_clean);
    assert_true(file_has("prolog_slurmd.50", "SLURM_JOB_UID="));
    assert_true(file_has("epilog_slurmd.50", "SLURM_JOB_EXIT_CODE2=3:0"));
    assert_int_equal(ctl.drain[0], 0);
    launch(51, "#!/bin/sh\necho never >never51\n");
    WAIT_FOR(ctl.prolog_failed == 51);
    assert_string_equal(ctl.drain, "Prolog error");
    end_job(51);
    assert_null(slurp("never51"));
    WAIT_POLL(spool_empty());
    stop_slurmd(SIGTERM);
    write_conf("");
    start_slurmd();
}

/* ---- frame ----------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    char path[128], exe[PATH_MAX], *slash;
    struct server_config sc = { .any_port = true,
                                .bind_addr = "127.0.0.1",
                                .threads = 1,
                                .max_connections = 16,
                                .cluster = "test",
                                .hooks = { on_request, on_reply, on_close, NULL } };
    struct err err = { .text = "" };
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

    (void)state;
    if (getenv("SLURMD")) {
        (void)snprintf(slurmd_exe, sizeof(slurmd_exe), "%s", getenv("SLURMD"));
    } else {
        exe[n > 0 ? n : 0] = '\0';
        slash = strrchr(exe, '/');
        if (!slash)
            return -1;
        *slash = '\0';
        (void)snprintf(slurmd_exe, sizeof(slurmd_exe), "%.3000s/../../src/noded/slurmd", exe);
    }
    (void)snprintf(dir, sizeof(dir), "/tmp/test_noded.XXXXXX");
    if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/slurm.key", dir);
    if (auth_keys_create(path, &err) < 0 || auth_keys_load(path, &ctl.keys, &err) < 0)
        return -1;
    sc.keys = ctl.keys;
    if (server_new(&sc, &ctl.server, &err) < 0 || server_start(ctl.server) < 0)
        return -1;
    node_port = free_port();
    write_conf("");
    start_slurmd();
    return 0;
}

static int tear_down(void **state)
{
    char *argv[] = { "rm", "-rf", dir, NULL };
    pid_t pid;
    int status;

    (void)state;
    if (slurmd_pid)
        stop_slurmd(SIGTERM);
    (void)server_free(ctl.server);
    (void)auth_keys_free(ctl.keys);
    if (!getenv("KEEP") && posix_spawn(&pid, "/bin/rm", NULL, NULL, argv, (char *[]){ NULL }) == 0)
        (void)waitpid(pid, &status, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_same_launch_twice),
        cmocka_unit_test(test_setup_failures),
        cmocka_unit_test(test_leftovers_are_killed),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_needs_kill),
        cmocka_unit_test(test_unknown_job_is_clean),
        cmocka_unit_test(test_signal_batch),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_other_user),
        cmocka_unit_test(test_job_outlives_slurmd),
        cmocka_unit_test(test_unacknowledged_end_is_told_again),
        cmocka_unit_test(test_refused_report_is_repeated),
        cmocka_unit_test(test_killed_step_daemon),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_step_stdin),
        cmocka_unit_test(test_step_missing_program),
        cmocka_unit_test(test_step_signal),
        cmocka_unit_test(test_step_loses_srun),
        cmocka_unit_test(test_step_pty),
        cmocka_unit_test(test_step_much_output),
        cmocka_unit_test(test_step_refused),
        cmocka_unit_test(test_step_multi_prog),
        cmocka_unit_test(test_step_files),
        cmocka_unit_test(test_prolog_epilog),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
