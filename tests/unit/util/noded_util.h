/* noded_util.h - a slurmd of its own, and a controller that this process plays */
#pragma once

/* test_noded.c - slurmd and slurmstepd for real, against a controller of our own making
 *
 * A wire server plays the controller; slurmd runs with a configuration in a temporary directory;
 * jobs and steps are launched, signalled and lost, and nothing may be left behind.  Needs the built
 * daemons beside the test (build directory), else it is skipped. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "stepd/shared/spool.h"
#include "wire/auth/auth.h"
#include "wire/client.h"
#include "wire/errors.h"
#include "wire/server/server.h"

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
    char drain[128], first_drain[128]; /* the newest reason, and the first */
} ctl = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static char dir[64], slurmd_exe[PATH_MAX];
static uint16_t node_port;
static pid_t slurmd_pid;

/* ---- the controller -------------------------------------------------------------------------- */

static inline void add_end(const Pst__StepEnd *e)
{
    struct seen_end *s = &ctl.ends[ctl.n_ends < ENDS_MAX ? ctl.n_ends++ : ENDS_MAX - 1];

    *s = (struct seen_end){ e->job_id,        e->step_id, e->exit_status, e->run_id, e->node_clean,
                            e->launch_failed, "" };
    (void)snprintf(s->error, sizeof(s->error), "%s", e->error ? e->error : "");
}

static inline void on_register(struct conn *c, const struct frame *f, const Pst__NodeRegister *m)
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

static inline void on_report(struct conn *c, const struct frame *f, const Pst__NodeReport *m)
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
    if (m->drain_reason && !ctl.first_drain[0])
        (void)snprintf(ctl.first_drain, sizeof(ctl.first_drain), "%s", m->drain_reason);
    for (size_t i = 0; i < m->n_ended; i++)
        add_end(m->ended[i]);
    if (ctl.refusals && m->n_ended) {
        ctl.refusals--;
        (void)conn_error(c, f->op, f->id, EPST_DISK_FULL, NULL);
    } else if (!ctl.mute)
        (void)conn_reply(c, f->op, f->id, 0, NULL);
}

static inline void on_request(void *ctx, struct conn *c, const struct frame *f)
{
    ProtobufCMessage *m = NULL;

    (void)ctx;
    if (frame_unpack(f, frame_message(f), &m, NULL) < 0)
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

static inline void on_reply(void *ctx, struct conn *c, const struct frame *f)
{
    (void)ctx;
    (void)c;
    (void)f;
}

static inline void on_close(void *ctx, struct conn *c)
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

static inline void send_node(unsigned op, const ProtobufCMessage *m)
{
    struct conn *c;

    (void)pthread_mutex_lock(&ctl.lock);
    assert_non_null(ctl.node);
    c = conn_ref(ctl.node);
    (void)pthread_mutex_unlock(&ctl.lock);
    assert_int_equal(conn_request(c, op, 0, m, NULL), 0);
    (void)conn_unref(c);
}

static inline const struct seen_end *find_end(uint32_t job_id, uint32_t step_id)
{
    for (size_t i = 0; i < ctl.n_ends; i++)
        if (ctl.ends[i].job_id == job_id && ctl.ends[i].step_id == step_id)
            return &ctl.ends[i];
    return NULL;
}

/* ---- slurmd ---------------------------------------------------------------------------------- */

static inline uint16_t free_port(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    (void)close(fd);
    return ntohs(sa.sin_port);
}

static inline void write_conf(const char *extra)
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

static inline void start_slurmd(void)
{
    char conf[128];
    char *argv[] = { slurmd_exe, "-D", "-N", "n1", "-f", conf, NULL };
    unsigned before = ctl.registrations;

    (void)snprintf(conf, sizeof(conf), "%s/slurm.conf", dir);
    assert_int_equal(posix_spawn(&slurmd_pid, slurmd_exe, NULL, NULL, argv, (char *[]){ NULL }), 0);
    WAIT_FOR(ctl.registrations > before);
}

static inline void stop_slurmd(int sig)
{
    int status;

    assert_int_equal(kill(slurmd_pid, sig), 0);
    assert_int_equal(waitpid(slurmd_pid, &status, 0), slurmd_pid);
    if (sig == SIGTERM)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    WAIT_FOR(ctl.node == NULL);
    slurmd_pid = 0;
}

static inline bool spool_empty(void)
{
    char cmd[200];
    int status;
    pid_t pid;

    (void)snprintf(cmd, sizeof(cmd),
                   "test -z \"$(ls -A -I credentials -I 'node-*.key' %s/spool.n1)\"", dir);
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

static inline const char *user_name(void)
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

static inline void fill_job(struct job_parts *p, uint32_t id, unsigned nodes)
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

static inline void launch_parts(struct job_parts *p, const char *script)
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

static inline void launch(uint32_t id, const char *script)
{
    struct job_parts p;

    fill_job(&p, id, 1);
    launch_parts(&p, script);
}

static inline void terminate(uint32_t id, const char *reason, bool now)
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

static inline void touch(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    (void)close(open(path, O_WRONLY | O_CREAT, 0600));
}

static inline char *slurp(const char *name)
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

static inline bool file_has(const char *name, const char *text)
{
    const char *s = slurp(name);

    return s && strstr(s, text);
}

static inline void end_job(uint32_t job)
{
    terminate(job, NULL, false);
    WAIT_FOR(ctl.last_clean == job);
}

/* ---- frame ----------------------------------------------------------------------------------- */

static inline int set_up(void **state)
{
    char path[128], exe[PATH_MAX], *slash;
    struct server_config sc = { .any_port = true,
                                .bind_addr = "127.0.0.1",
                                .threads = 1,
                                .max_connections = 16,
                                .cluster = "test",
                                .serves = ACCESS_AT(ACCESS_CTLD),
                                .slurm_uid = geteuid(),
                                .slurmd_uid = geteuid(),
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

/* A test that failed in the middle leaves jobs, and their processes would outlive this one. */
static inline void end_leftovers(void)
{
    int64_t until = now_mono_us() + PATIENCE_S * USEC_PER_SEC;
    char path[96];
    struct dirent *de;
    uint32_t id;
    DIR *d;

    if (!slurmd_pid)
        start_slurmd();
    (void)snprintf(path, sizeof(path), "%s/spool.n1", dir);
    d = opendir(path);
    while (d && (de = readdir(d)))
        if (sscanf(de->d_name, "job%" SCNu32 ".", &id) == 1)
            terminate(id, NULL, true);
    if (d)
        (void)closedir(d);
    while (!spool_empty() && now_mono_us() < until)
        (void)usleep(2000);
}

static inline int tear_down(void **state)
{
    char *argv[] = { "rm", "-rf", dir, NULL };
    pid_t pid;
    int status;

    (void)state;
    if (!spool_empty())
        end_leftovers();
    if (slurmd_pid)
        stop_slurmd(SIGTERM);
    (void)server_free(ctl.server);
    (void)auth_keys_free(ctl.keys);
    if (!getenv("KEEP") && posix_spawn(&pid, "/bin/rm", NULL, NULL, argv, (char *[]){ NULL }) == 0)
        (void)waitpid(pid, &status, 0);
    return 0;
}
