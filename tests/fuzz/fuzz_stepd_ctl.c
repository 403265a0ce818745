/* fuzz_stepd_ctl.c - a running step's daemon against everybody who has a connection to it
 *
 * The loop of stepd/life/steplife.c with tasks that this file plays: slurmd's control packets,
 * srun's frames, those who attach or ask for figures, the MPI service (a process of the user), the tasks'
 * streams and ends, and time.  Nothing is started and nobody is signalled.  Relays have a mode of
 * their own: relay_serve() between a hostile srun and hostile nodes.  Whatever comes, the step can
 * end and leaves nothing. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepd/task/mpi.h"
#include "stepd/use/procscan.h"
#include "stepd/io/relay.h"

/* Their statics are what is played with. */
#define start mpi_begin
#define spawn mpi_spawn
#define lost mpi_lost
#define refuse mpi_refuse
#include "stepd/task/mpi.c"
#undef start
#undef spawn
#undef lost
#undef refuse
#include "stepd/life/steplife.c"

#include "api.pb-c.h"
#include "script.h"

#include <assert.h>

#define STEPS_MAX 64u
#define INPUT_MAX 8192u
#define TASKS 3u
#define PEERS 8u
#define END_TURNS 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool ours;
static int64_t clock_us;
static unsigned children; /* of ours, one bit a task */
static pid_t ended;       /* waits to be reaped */
static int ended_status;

/* ---- what the daemon asks of the kernel ------------------------------------------------------ */

int64_t __wrap_now_us(void);
int64_t __wrap_now_mono_us(void);
int __wrap_kill(pid_t pid, int sig);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *si, int options);
pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *ru);
int __wrap_spool_put_msg(const char *dir, const char *name, const ProtobufCMessage *msg);
size_t __wrap_proc_signal_tree(pid_t root, int sig);
size_t __wrap_proc_below(pid_t root, struct proc_below **ret_list);
int __wrap_become_user(uid_t uid, gid_t gid, const uint32_t *gids, size_t n);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __real_kill(pid_t pid, int sig);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __real_socket(int domain, int type, int protocol);
int __real_connect(int fd, const struct sockaddr *sa, socklen_t len);

int64_t __wrap_now_us(void)
{
    return INT64_C(1790000000) * USEC_PER_SEC + clock_us;
}

int64_t __wrap_now_mono_us(void)
{
    return 1000 * USEC_PER_SEC + clock_us;
}

int __wrap_kill(pid_t pid, int sig)
{
    return ours ? 0 : __real_kill(pid, sig);
}

/* Nobody waits: what would come later comes at once, or not. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    int r;

    if (!ours)
        return __real_poll(fds, n, timeout);
    r = __real_poll(fds, n, 0);
    if (r == 0)
        clock_us += timeout < 0 ? 3600 * USEC_PER_SEC : timeout * INT64_C(1000);
    return r;
}

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *si, int options)
{
    (void)type;
    (void)id;
    (void)options;
    if (!children) {
        errno = ECHILD;
        return -1;
    }
    si->si_pid = ended;
    return 0;
}

pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *ru)
{
    (void)options;
    assert(pid == ended);
    *status = ended_status;
    memset(ru, 0, sizeof(*ru));
    children &= ~(1u << (pid - 1000000));
    ended = 0;
    return pid;
}

int __wrap_spool_put_msg(const char *dir, const char *name, const ProtobufCMessage *msg)
{
    (void)dir;
    (void)name;
    (void)msg;
    return 0;
}

size_t __wrap_proc_signal_tree(pid_t root, int sig)
{
    (void)root;
    (void)sig;
    return children != 0;
}

size_t __wrap_proc_below(pid_t root, struct proc_below **ret_list)
{
    (void)root;
    *ret_list = NULL;
    return 0;
}

int __wrap_become_user(uid_t uid, gid_t gid, const uint32_t *gids, size_t n)
{
    (void)uid;
    (void)gid;
    (void)gids;
    (void)n;
    return 0;
}

/* ---- the others' ends ------------------------------------------------------------------------ */

static struct script script;
static int peers[PEERS]; /* -1: closed */

static int new_pair(size_t peer, int type)
{
    int sv[2], r = socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv);

    assert(r == 0);
    if (peers[peer] >= 0)
        (void)close(peers[peer]);
    peers[peer] = sv[0];
    return sv[1];
}

static void put(int fd, const void *data, size_t len)
{
    uint8_t dump[65536];

    while (recv(fd, dump, sizeof(dump), MSG_DONTWAIT) > 0)
        ;
    (void)!send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT); /* what has no room is not said */
}

static void put_frame(int fd)
{
    static const uint16_t likely[] = {
        OP_STEP_IO,  OP_STEP_SIGNAL, OP_STEP_MPI,    OP_STEP_DONE,
        OP_STEP_MPI, OP_STEP_IO,     OP_STEP_SIGNAL, OP_RELAY_FRAME,
    };
    _cleanup_val_(strbuf_done) struct strbuf all = STRBUF_INIT, body = STRBUF_INIT;
    unsigned how = script_u8(&script),
             op = how < 208 ? likely[how % ARRAY_SIZE(likely)] : script_op(&script);
    struct frame f = {
        .version = WIRE_VERSION, .op = (uint16_t)op, .flags = script_flags(&script), .id = how
    };
    uint8_t header[FRAME_HEADER_SIZE];

    if (!f.flags)
        f.flags = FRAME_ONEWAY;
    script_message(&script, frame_message(&f), NULL, &body);
    f.len = (uint32_t)body.len;
    if (how == 255)
        f.len = (uint32_t)script_number(&script);
    frame_encode_header(&f, header);
    strbuf_addn(&all, header, sizeof(header));
    strbuf_addn(&all, strbuf_str(&body), body.len);
    put(fd, strbuf_str(&all), all.len);
}

/* From slurmd; sometimes with a connection that it hands over. */
static void put_order(int fd)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    unsigned how = script_u8(&script);
    size_t peer = 4 + how % 4;
    Pst__StepOrder *o;
    int given = -1;

    strbuf_addc(&body, 1);
    script_message(&script, &pst__step_order__descriptor, NULL, &body);
    o = pst__step_order__unpack(NULL, body.len - 1, (const uint8_t *)strbuf_str(&body) + 1);
    if (!o || !(how & 128)) {
        put(fd, strbuf_str(&body), body.len);
    } else {
        given = new_pair(peer, SOCK_STREAM);
        (void)ctl_send_fd(fd, &o->base, given); /* it may be closed */
        (void)close(given);
    }
    if (o)
        pst__step_order__free_unpacked(o, NULL);
}

/* ---- a step that runs ------------------------------------------------------------------------ */

struct play_step {
    Pst__StepFile sf;
    Pst__JobOnNode on;
    Pst__JobRecord job;
    Pst__StepRecord rec;
    Pst__LaunchStep launch;
    Pst__CgroupPlan cgroup;
    uint32_t ranks[TASKS];
    struct step s;
};

static void fill_file(struct play_step *p, unsigned how)
{
    pst__step_file__init(&p->sf);
    pst__job_on_node__init(&p->on);
    pst__job_record__init(&p->job);
    pst__step_record__init(&p->rec);
    pst__launch_step__init(&p->launch);
    pst__cgroup_plan__init(&p->cgroup);
    p->sf.job = &p->on;
    p->sf.step = &p->rec;
    p->sf.cgroup = &p->cgroup;
    p->sf.has_kill_wait_s = true;
    p->sf.kill_wait_s = 5;
    p->on.job = &p->job;
    p->on.node_name = (char *)"n0";
    p->on.run_id = 7;
    p->job.job_id = 1;
    p->launch.task_ids = p->ranks;
    p->launch.n_task_ids = TASKS;
    p->launch.mpi = (char *)"pmi2";
    for (uint32_t i = 0; i < TASKS; i++)
        p->ranks[i] = i * 2;
    if (how & 1)
        p->sf.launch = &p->launch;
    p->sf.step_id = how & 1 ? 0 : STEP_ID_BATCH;
}

static void play_tasks(struct play_step *p, unsigned how)
{
    struct step *s = &p->s;

    for (size_t i = 0; i < s->n_tasks; i++) {
        s->tasks[i].pid = 1000000 + (pid_t)i;
        children |= 1u << i;
        if (!(how & 1))
            continue;
        for (int k = 0; k < 3; k++)
            s->tasks[i].fd[k] = -1;
        s->tasks[i].fd[0] =
            new_pair(1, SOCK_STREAM); /* the last one's are kept: the others read an end */
        s->tasks[i].fd[1] = new_pair(2, SOCK_STREAM);
    }
    s->n_running = s->n_tasks;
    s->started = true;
}

static void play_begin(struct play_step *p, unsigned how)
{
    struct step *s = &p->s;
    int r;

    fill_file(p, how);
    r = step_init(s, &p->sf, new_pair(0, SOCK_SEQPACKET), how & 1 ? new_pair(3, SOCK_STREAM) : -1,
                  NULL);
    assert(r == 0);
    s->cg.watch_fd = -1;
    s->noticed = !(how & 2); /* the line's time is the real clock's */
    play_tasks(p, how);
    if ((how & 5) == 5) {
        s->mpi = calloc(1, sizeof(*s->mpi));
        r = s->mpi ? client_from_fd(new_pair(4, SOCK_STREAM), &s->mpi->link) : -ENOMEM;
        assert(r == 0);
    }
    s->fds_room = 6 + STEP_CONNS + STEP_ATTACHED + io_poll_room(s);
    s->fds = calloc(s->fds_room, sizeof(*s->fds));
    assert(s->fds);
    io_started(s);
}

static bool play_turn(struct play_step *p)
{
    bool over = advance_step(&p->s, now_mono_us());
    int r = over ? 0 : poll_once(&p->s);

    assert(r == 0);
    if (p->s.n_running == 0 && step_reap(&p->s))
        p->s.swept = true;
    return over;
}

static void task_ends(struct play_step *p, unsigned which, int status)
{
    if (!(children & 1u << which))
        return;
    ended = 1000000 + (pid_t)which;
    ended_status = status;
    if (step_reap(&p->s))
        p->s.swept = true;
    ended = 0;
}

/* Gives false when the step is over. */
static bool play_one(struct play_step *p)
{
    unsigned k = script_u8(&script);
    int fd = peers[k >> 4 & (PEERS - 1)];
    const uint8_t *bytes;
    size_t len;

    switch (k & 7) {
    case 0:
        if (peers[0] >= 0)
            put_order(peers[0]);
        break;
    case 1:
        task_ends(p, script_u8(&script) % TASKS, (int)script_u16(&script));
        break;
    case 2:
        bytes = script_bytes(&script, script_u8(&script), &len);
        if (fd >= 0)
            put(fd, bytes, len);
        break;
    case 3:
        if (fd >= 0 && k >> 4) { /* whoever it is goes */
            (void)close(fd);
            peers[k >> 4 & (PEERS - 1)] = -1;
        }
        break;
    default:
        fd = k & 128 ? peers[3 + (k >> 4 & 3)] : peers[3];
        if (fd >= 0)
            put_frame(fd);
        break;
    }
    return !play_turn(p);
}

static void play_end(struct play_step *p)
{
    bool over = false;

    for (size_t i = 0; i < PEERS; i++)
        if (peers[i] >= 0) {
            (void)close(peers[i]);
            peers[i] = -1;
        }
    for (unsigned i = 0; i < TASKS; i++)
        task_ends(p, i, 0);
    for (unsigned i = 0; i < END_TURNS && !over; i++)
        over = play_turn(p);
    assert(over);
    step_done(&p->s);
    if (p->s.sig_fd >= 0)
        (void)close(p->s.sig_fd);
}

/* ---- a relay --------------------------------------------------------------------------------- */

/* Our end of a pair whose other end has said everything that it will say. */
static int all_said(void)
{
    unsigned n = script_u8(&script) & 15;
    int sv[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv) < 0)
        return -1;
    for (unsigned i = 0; i < n && script.left; i++)
        put_frame(sv[1]);
    (void)close(sv[1]);
    return sv[0];
}

int __wrap_socket(int domain, int type, int protocol)
{
    return ours ? all_said() : __real_socket(domain, type, protocol);
}

int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
    return ours ? 0 : __real_connect(fd, sa, len);
}

static void play_relay(void)
{
    _cleanup_val_(strbuf_done) struct strbuf body = STRBUF_INIT;
    Pst__BcastFile *file;

    script_message(&script, &pst__bcast_file__descriptor, NULL, &body);
    file = pst__bcast_file__unpack(NULL, body.len, (const uint8_t *)strbuf_str(&body));
    if (!file)
        return;
    (void)relay_serve(file, all_said());
    pst__bcast_file__free_unpacked(file, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct play_step p;
    unsigned how;

    if (size > INPUT_MAX)
        return 0;
    script = (struct script){ .at = data, .left = size, .now_us = __wrap_now_us };
    how = script_u8(&script);
    clock_us = 0;
    children = 0;
    ended = 0;
    for (size_t i = 0; i < PEERS; i++)
        peers[i] = -1;
    ours = true;
    if (how & 8) {
        play_relay();
    } else {
        bool go = true;

        play_begin(&p, how);
        for (unsigned i = 0; i < STEPS_MAX && go && script.left; i++)
            go = play_one(&p);
        play_end(&p);
    }
    ours = false;
    return 0;
}
