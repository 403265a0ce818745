/* steplife.c - the life of one step: set up, start, serve, end; see steplife.h
 *
 * Owns struct step and the loop.  The step is over when no process of it is left; then the `exit`
 * file is put in place, slurmd is told, and only after that srun: when srun has seen the end of a
 * step, the step's resources are about to be free.  When slurmd is away, it reads the exit file
 * later. */
#include "stepd/life/steplife.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "stepd/xdisplay.h"
#include "stepd/task/bind.h"
#include "stepd/shared/ctl.h"
#include "stepd/use/gather.h"
#include "stepd/use/procscan.h"
#include "stepd/nicservice.h"
#include "stepd/nssserve.h"
#include "stepd/io/usermount.h"
#include "stepd/io/userwrite.h"
#include "stepd/task/gpu.h"
#include "stepd/task/memory.h"
#include "stepd/task/mpi.h"
#include "stepd/ns/jobns.h"
#include "stepd/task/ocitask.h"
#include "stepd/shared/spool.h"
#include "wire/client.h"

/* for an srun that takes nothing: its reader may be a person */
#define LINGER_US (3600 * USEC_PER_SEC)
_Static_assert(STEP_WORLD >= PROC_WORLD, "a world has room");
/* Small messages to srun go together: each by itself wakes srun up. */
#define GATHER_BYTES 16384u

static void write_trace(struct step *s);

/* ---- slurmd ---------------------------------------------------------------------------------- */

static void drop_conn(struct step *s, int i)
{
    (void)close(s->conns[i]);
    s->conns[i] = -1;
}

static void fill_end(struct step *s, Pst__StepEnd *end)
{
    end->has_job_id = end->has_step_id = end->has_run_id = end->has_exit_status = true;
    end->job_id = s->job_id;
    end->step_id = s->step_id;
    end->run_id = s->run_id;
    end->exit_status = (uint32_t)s->worst;
    end->has_end_us = true;
    end->end_us = now_us();
    end->usage = !s->ext || extern_used(s) ? &s->usage : NULL;
    if (s->error)
        end->error = (char *)s->error;
    if (s->oom)
        end->has_oom = end->oom = true;
    if (s->launch_failed)
        end->has_launch_failed = end->launch_failed = true;
    if (s->login_env_failed)
        end->has_login_env_failed = end->login_env_failed = true;
}

/* slurmd gets them before it learns that the extern step has started.  False: the connection is
 * gone. */
static bool tell_namespaces(struct step *s, int i)
{
    Pst__StepNews news = PST__STEP_NEWS__INIT;

    if (!s->ext || !s->started || s->ns_pid_fd < 0)
        return true;
    news.has_ns_flags = true;
    news.ns_flags = s->ns_flags;
    if (ctl_send_fd(s->conns[i], &news.base, s->ns_pid_fd) == 0)
        return true;
    drop_conn(s, i);
    return false;
}

static void tell_conn(struct step *s, int i, const Pst__StepEnd *end)
{
    Pst__StepNews news = PST__STEP_NEWS__INIT;

    if (s->conns[i] < 0)
        return;
    if (!end && !tell_namespaces(s, i))
        return;
    news.has_started = true;
    news.started = s->started;
    news.end = (Pst__StepEnd *)end;
    news.drain = end && s->drain[0] ? s->drain : NULL;
    news.has_unkillable = news.unkillable = s->unkillable;
    if (s->ext && s->sf->run_in_job)
        news.has_run_in_job = news.run_in_job = true;
    news.has_terminating = news.terminating = s->from_outside;
    /* slurmd hands it to the job's other steps. */
    if (ctl_send_fd(s->conns[i], &news.base, s->ext && s->started ? s->ns_fd : -1) < 0)
        drop_conn(s, i);
}

static void tell_all(struct step *s, const Pst__StepEnd *end)
{
    for (int i = 0; i < STEP_CONNS; i++)
        tell_conn(s, i, end);
}

/* Said once for each release, so that a slurmd that has just come does not take an old word for an
 * answer to its own. */
static void tell_emptied(struct step *s)
{
    Pst__StepNews news = PST__STEP_NEWS__INIT;

    news.has_emptied = news.emptied = true;
    for (int i = 0; i < STEP_CONNS; i++)
        if (s->conns[i] >= 0 && ctl_send(s->conns[i], &news.base) < 0)
            drop_conn(s, i);
}

/* Adopt the process that sent the order; the kernel tells its number.  It runs as root, on a user's
 * behalf (pam_slurm_adopt). */
static void adopt_sender(struct step *s, int i, const Pst__StepOrder *o)
{
    Pst__StepNews news = PST__STEP_NEWS__INIT;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    int r = s->ext ? 0 : -EOPNOTSUPP;

    if (r == 0 && getsockopt(s->conns[i], SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        r = -errno;
    if (r == 0)
        r = extern_adopt(s, peer.pid, o->script);
    if (r == 0)
        write_trace(s);
    news.has_adopted = true;
    news.adopted = r == 0;
    if (r < 0)
        news.adopt_error = strerror(-r);
    if (s->ns_pid_fd >= 0) {
        news.has_ns_flags = true;
        news.ns_flags = CLONE_NEWNS | s->ns_flags;
        if (s->sf->ns->user_ns_script) /* sshd would not know its user by another number */
            news.ns_flags &= ~(uint32_t)CLONE_NEWUSER;
    }
    (void)ctl_send_fd(s->conns[i], &news.base,
                      s->ns_pid_fd >= 0 ? s->ns_pid_fd
                                        : s->ns_fd); /* gone: it is ours all the same */
    drop_conn(s, i);
}

static void on_order(struct step *s, int i, const Pst__StepOrder *o)
{
    /* A cancel says why; SIGKILL alone is a signal like others, of which nothing is told. */
    bool cancels = o->has_signal && o->signal == SIGKILL && o->reason && *o->reason;

    s->from_outside = s->from_outside || o->terminate || cancels;
    if (o->adopt) {
        adopt_sender(s, i, o);
        return;
    }
    if (s->ext && o->terminate) {
        extern_terminate(s, o->now, o->has_kill_wait_s ? o->kill_wait_s : s->sf->kill_wait_s);
        if (o->release)
            extern_release(s, o->finish);
        return;
    }
    if (s->ext && o->has_signal) {
        if (o->signal < 65)
            extern_signal(s, (int)o->signal);
        return;
    }
    if (o->terminate && o->spare && !o->now)
        step_spare(s, o->reason, o->has_kill_wait_s ? o->kill_wait_s : s->sf->kill_wait_s);
    else if (o->terminate)
        step_terminate(s, o->reason, o->now ? SIGKILL : SIGTERM, o->now,
                       o->has_kill_wait_s ? o->kill_wait_s : s->sf->kill_wait_s);
    else if (o->suspend || o->resume)
        step_suspend(s, o->suspend);
    else if (cancels && !o->leader_only)
        step_terminate(s, o->reason, SIGKILL, true, 0);
    else if (o->has_signal && o->signal > 0 && o->signal < 65)
        step_signal(s, (int)o->signal, o->leader_only);
    else if (!o->has_signal && o->reason)
        step_notice(s, "%s", o->reason);
    if (o->terminate || (!o->has_signal && !o->reason && !o->suspend && !o->resume))
        tell_conn(s, i, NULL);
}

static void take_attached(struct step *s, int fd, const Pst__StepOrder *order)
{
    if (attach_new(s, fd, order))
        follow_begin(s);
}

static void read_conn(struct step *s, int i)
{
    ProtobufCMessage *msg = NULL;

    while (s->conns[i] >= 0) {
        int fd = -1;
        int r = ctl_recv_fd(s->conns[i], &pst__step_order__descriptor, &msg, &fd);

        if (r == -EAGAIN)
            return;
        if (r <= 0) {
            drop_conn(s, i);
            return;
        }
        if (fd >= 0 && PB_AS(step_order, msg)->has_stat_id)
            gather_answer(s, fd, PB_AS(step_order, msg));
        else if (fd >= 0 && PB_AS(step_order, msg)->has_x11_cookie)
            xdisplay_take(s, fd, PB_AS(step_order, msg));
        else if (fd >= 0)
            take_attached(s, fd, PB_AS(step_order, msg));
        else
            on_order(s, i, PB_AS(step_order, msg));
        protobuf_c_message_free_unpacked(msg, NULL);
    }
}

static void accept_conn(struct step *s)
{
    int fd, slot = 0;

    if (ctl_accept(s->listen_fd, &fd) < 0)
        return;
    while (slot < STEP_CONNS - 1 && s->conns[slot] >= 0)
        slot++;
    if (s->conns[slot] >= 0)
        drop_conn(s, slot); /* the newest is the one that lives */
    s->conns[slot] = fd;
}

/* ---- start ----------------------------------------------------------------------------------- */

static int block_signals(struct step *s)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGPIPE);
    (void)sigaddset(&set, SIGTTOU);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    (void)sigdelset(&set, SIGPIPE);
    s->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->sig_fd < 0 ? -errno : 0;
}

static bool is_protected(void)
{
    _cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    char first;

    return fd >= 0 && read(fd, &first, 1) == 1 && first == '-';
}

static int fill_identity(struct step *s)
{
    const Pst__JobOnNode *on = s->sf->job;

    s->uid = s->job->uid;
    s->gid = s->job->gid;
    s->n_gids = on->n_gids ? on->n_gids : 1;
    s->gids = calloc(s->n_gids, sizeof(*s->gids));
    s->in_gids = calloc(s->n_gids, sizeof(*s->in_gids));
    if (!s->gids || !s->in_gids)
        return -ENOMEM;
    s->gids[0] = s->gid;
    for (size_t i = 0; i < on->n_gids; i++)
        s->gids[i] = on->gids[i];
    memcpy(s->in_gids, s->gids, s->n_gids * sizeof(*s->gids));
    s->in_uid = s->uid;
    s->in_gid = s->gid;
    s->n_in_gids = s->n_gids;
    s->switch_user = geteuid() == 0 && s->uid != 0;
    s->oom_protected = is_protected();
    if (geteuid() != 0 && s->uid != geteuid()) {
        step_fail(s, "slurmd runs as user %u and cannot start a job of user %u", geteuid(), s->uid);
        s->launch_failed = true;
    }
    return 0;
}

static int fill_tasks(struct step *s)
{
    s->n_tasks = s->launch ? s->launch->n_task_ids : s->step_id == STEP_ID_EXTERN ? 0 : 1;
    if (s->n_tasks > STEP_MAX_TASKS)
        return -E2BIG;
    s->tasks = calloc(s->n_tasks + 1, sizeof(*s->tasks));
    if (!s->tasks)
        return -ENOMEM;
    for (size_t i = 0; i < s->n_tasks; i++) {
        s->tasks[i].rank = s->launch ? s->launch->task_ids[i] : 0;
        for (int k = 0; k < 3; k++)
            s->tasks[i].fd[k] = -1;
        s->tasks[i].idle_terminal = -1;
        s->tasks[i].epilog.err_fd = -1;
    }
    return 0;
}

/* In clock ticks since the machine's start, as /proc counts; a little early, since it is a lower
 * bound. */
static uint64_t start_ticks(void)
{
    uint64_t now = proc_ticks_now(), second = (uint64_t)MAX(sysconf(_SC_CLK_TCK), 1L);

    return now < second ? 0 : now - second;
}

static int serve_once(struct step *s);

static void on_file_failed(struct step *s, const struct task *t, int r)
{
    step_notice(s, "task %u: its output cannot be written: %s", t->rank, strerror(-r));
}

const struct step_events step_events = {
    .file_failed = on_file_failed,
    .gpu_task = gpu_first_task,
    .serve = serve_once,
    .terminate = step_terminate,
    .signal_kill = step_signal_kill,
    .signal = step_signal,
    .task_ended = step_task_ended,
    .mpi_message = mpi_message,
    .mpi_full = mpi_full,
};

static int step_init(struct step *s, const Pst__StepFile *sf, int ctl_fd, int srun_fd,
                     const struct plug_ops *plug_ops)
{
    const char *dir = sf->launch ? sf->launch->work_dir : sf->job->job->work_dir;
    char num[16];
    int r;

    *s = (struct step){
        .on = &step_events,
        .plug_ops = plug_ops,
        .sf = sf,
        .job = sf->job->job,
        .launch = sf->launch,
        .job_id = sf->job->job->job_id,
        .step_id = sf->step_id,
        .run_id = sf->job->run_id,
        .work_dir = dir ? dir : "/",
        .umask = sf->launch ? (sf->launch->has_umask ? sf->launch->umask : 022)
                            : (sf->job->job->has_umask ? sf->job->job->umask : 022),
        .env = ENVLIST_INIT,
        .conns = { ctl_fd, [1 ... STEP_CONNS - 1] = -1 },
        .sig_fd = -1,
        .listen_fd = -1,
        .nss_fd = -1,
        .out_fd = -1,
        .err_fd = -1,
        .ns_fd = -1,
        .host_ns_fd = -1,
        .ns_pid_fd = -1,
        .ns_pipe = -1,
        .aid = { .fd = -1 },
        .usage = PST__STEP_USAGE__INIT,
        .start_ticks = start_ticks(),
    };
    s->usage.has_user_us = s->usage.has_sys_us = s->usage.has_max_rss_kib = true;
    s->usage.has_read_bytes = s->usage.has_write_bytes = true;
    s->usage.max_rss_node = sf->job->node_name;
    (void)snprintf(s->step_name, sizeof(s->step_name), "%s",
                   step_id_name(s->step_id, num, sizeof(num)));
    if (gethostname(s->host, sizeof(s->host) - 1) < 0)
        (void)snprintf(s->host, sizeof(s->host), "%s", sf->job->node_name);
    r = block_signals(s);
    if (r == 0 && s->step_id == STEP_ID_EXTERN)
        r = extern_begin(s);
    if (r == 0 && s->ext && s->job->x11)
        r = xdisplay_begin(s);
    if (r == 0)
        r = fill_identity(s);
    if (r == 0)
        r = fill_tasks(s);
    if (r == 0 && srun_fd >= 0) {
        r = client_from_stream(srun_fd, sf->launch->stream_key, &s->srun);
        s->had_srun = true;
    }
    if (s->srun)
        client_gather(s->srun, GATHER_BYTES);
    return r;
}

/* srun's address as this node sees it: SLURM_SRUN_COMM_HOST and _PORT. */
static void launcher_address(int fd, char *addr, size_t size, uint16_t *ret_port)
{
    union {
        struct sockaddr sa;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } u;
    socklen_t len = sizeof(u);

    addr[0] = '\0';
    *ret_port = 0;
    if (fd < 0 || getpeername(fd, &u.sa, &len) < 0)
        return;
    if (u.sa.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &u.in.sin_addr, addr, (socklen_t)size);
        *ret_port = ntohs(u.in.sin_port);
    } else if (u.sa.sa_family == AF_INET6) {
        bool mapped = IN6_IS_ADDR_V4MAPPED(&u.in6.sin6_addr);

        (void)inet_ntop(mapped ? AF_INET : AF_INET6,
                        (const uint8_t *)&u.in6.sin6_addr + (mapped ? 12 : 0), addr,
                        (socklen_t)size);
        *ret_port = ntohs(u.in6.sin6_port);
    }
}

/* Write what the heir of a killed step daemon needs.  Also before the first task: a task that is
 * not in the trace would be left behind, and its job taken for one that never ran. */
static void write_trace(struct step *s)
{
    Pst__StepTrace t = PST__STEP_TRACE__INIT;
    _cleanup_free_ uint32_t *sessions = calloc(s->n_tasks + EXTERN_SESSIONS, sizeof(*sessions));
    _cleanup_free_ uint64_t *ticks = calloc(s->n_tasks + EXTERN_SESSIONS, sizeof(*ticks));
    struct proc_info info;

    if (!sessions || !ticks)
        return;
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid > 0) {
            if (!s->tasks[i].start_ticks && proc_read(s->tasks[i].pid, &info) == 0)
                s->tasks[i].start_ticks = info.start_ticks;
            ticks[t.n_sessions] = s->tasks[i].start_ticks;
            sessions[t.n_sessions++] = (uint32_t)s->tasks[i].pid;
        }
    if (s->ext)
        t.n_sessions = extern_sessions(s, sessions, ticks, EXTERN_SESSIONS);
    if (!s->world[0] && s->sf->world)
        (void)snprintf(s->world, sizeof(s->world), "%s", s->sf->world);
    else if (!s->world[0])
        proc_world(s->world);
    t.world = s->world;
    t.n_session_ticks = t.n_sessions;
    t.session_ticks = ticks;
    t.has_pid = t.has_start_ticks = true;
    t.pid = (uint32_t)getpid();
    t.start_ticks = s->start_ticks;
    t.cgroup = s->cg.tree.kind != CGROUP_NONE ? s->cg.step : NULL;
    t.sessions = sessions;
    (void)spool_put_msg(".", "trace", &t.base); /* only the heir would miss it */
}

static void start_step(struct step *s)
{
    if (!s->error && !stepcg_begin(s))
        s->launch_failed = true;
    if (s->srun) {
        char addr[64];
        uint16_t port;

        launcher_address(client_fd(s->srun), addr, sizeof(addr), &port);
        /* The request itself is answered first: from here on frames are ours. */
        (void)client_send_nonblock(s->srun, OP_LAUNCH_STEP, FRAME_REPLY, s->sf->launch_id, NULL);
        env_step(s->sf, addr[0] ? addr : s->launch->launcher_host, port, &s->env);
    } else if (s->launch) {
        env_step(s->sf, s->launch->launcher_host, 0, &s->env);
    }
    if (!s->error && s->ext && s->sf->ns && s->ns_fd < 0 && !ns_make(s))
        s->launch_failed = true;
    if (!s->error && !s->ext) {
        write_trace(s);
        step_launch(s);
    }
    if (s->error) {
        epilog_forget(s);
        if (s->ext)
            s->n_running = 0; /* there is nothing to hold */
        /* or ended before it began */
        s->worst = s->stage == KILL_NONE ? STEP_SETUP_STATUS : SIGKILL;
        if (s->n_running > 0)
            (void)stepcg_signal(s, SIGKILL); /* tasks started before one could not be */
        s->stage = s->n_running > 0 ? KILL_ALL : s->stage;
    }
    s->started = !s->error;
    step_debug(s, LOG_INFO, "StepId=%u.%s: %zu tasks on node %s", s->job_id, s->step_name,
               s->n_tasks, s->sf->job->node_name);
    step_debug(s, LOG_DEBUG, "control group %s, folder %s",
               s->cg.tree.kind != CGROUP_NONE ? s->cg.step : "none", s->sf->step_dir);
    if (s->n_running > 0)
        write_trace(s);
    io_started(s);
    if (s->started) {
        tell_all(s, NULL);
        gather_start(s);
    }
}

/* ---- end ------------------------------------------------------------------------------------- */

static void finish_step(struct step *s)
{
    Pst__StepEnd end = PST__STEP_END__INIT;
    int r;

    s->ended = true;
    if (!s->srun)
        io_write_rest(s); /* whoever hears of the end finds the whole file */
    gpuclock_done(s);
    taskfreq_done(s); /* before anybody learns of the end and starts another step here */
    if (s->plug)
        s->plug_ops->end(s);
    if (s->session)
        s->plug_ops->close_session(s);
    xdisplay_end(s);
    if (s->ext && s->sf->ns)
        ns_remove(s);
    if (s->ext)
        extern_count(s);
    stepcg_oom(s);
    (void)cgroup_end(&s->cg); /* what stays is removed by the next slurmd */
    gather_finish(s);
    fill_end(s, &end);
    r = spool_put_msg(".", "exit", &end.base);
    if (r < 0 && s->conns[0] < 0)
        (void)dprintf(2, "slurmstepd: job %u.%s: could not record its end: %s\n", s->job_id,
                      s->step_name, strerror(-r));
    tell_all(s, &end);
    s->linger_mono_us = now_mono_us() + LINGER_US;
}

/* Deadlines; slurmd learns at once of a step that cannot be killed. */
static void keep_time(struct step *s, int64_t now_mono)
{
    bool stuck = s->unkillable;

    step_timers(s, now_mono);
    if (s->unkillable && !stuck)
        tell_all(s, NULL);
}

/* True when there is nothing left to do. */
static bool advance_step(struct step *s, int64_t now_mono)
{
    bool waited = s->ext && extern_emptied(s);

    if (s->n_running == 0)
        mpi_stop(s); /* no task needs the service now, and the step waits for its end */
    if (s->ext)
        extern_look(s, now_mono);
    keep_time(s, now_mono);
    gather_tick(s, now_mono);
    if (s->ext && extern_emptied(s) && !waited)
        tell_emptied(s);
    xdisplay_advance(s);
    io_task_exits(s);
    if (s->swept && !s->ended && oci_cleaned(s, now_mono) && nics_cleaned(s, now_mono) &&
        !summary_begin(s))
        finish_step(s);
    if (!s->ended)
        return false;
    if ((!s->srun && !attach_any(s)) || (s->linger_mono_us && now_mono >= s->linger_mono_us))
        return true;
    if (io_progress(s))
        s->linger_mono_us = now_mono + LINGER_US;
    follow_look(s);
    if (!io_drained(s) || !follow_drained(s))
        return false;
    if (!s->finished)
        io_finish(s);
    s->finished = true;
    io_send_gathered(s);
    return io_flushed(s) && attach_flushed(s) && !io_parting(s);
}

static int timeout_ms(const struct step *s, int64_t now_mono)
{
    int64_t at = s->ext ? extern_deadline(s) : 0, gather = gather_due_us(s);

    if (gather && (!at || gather < at))
        at = gather;
    if (oci_deadline(s) && (!at || oci_deadline(s) < at))
        at = oci_deadline(s);
    if (nics_deadline(s) && (!at || nics_deadline(s) < at))
        at = nics_deadline(s);
    if (!s->swept && s->deadline_mono_us && (!at || s->deadline_mono_us < at))
        at = s->deadline_mono_us;
    if (s->suspend_mono_us && (!at || s->suspend_mono_us < at))
        at = s->suspend_mono_us;
    if (s->ended && s->linger_mono_us && (!at || s->linger_mono_us < at))
        at = s->linger_mono_us;
    if (s->aid.deadline_mono_us && (!at || s->aid.deadline_mono_us < at))
        at = s->aid.deadline_mono_us;
    if (epilog_next(s) && (!at || epilog_next(s) < at))
        at = epilog_next(s);
    if (!at)
        return -1;
    return at <= now_mono ? 0 : (int)MIN((at - now_mono) / 1000 + 1, (int64_t)3600000);
}

static void on_signals(struct step *s)
{
    struct signalfd_siginfo si;

    while (read(s->sig_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
        if (si.ssi_signo == SIGTERM && !s->ext)
            step_terminate(s, NULL, SIGTERM, false, s->sf->kill_wait_s);
    if (step_reap(s))
        s->swept = true;
}

static int poll_once(struct step *s)
{
    size_t n = 0, attach_at, io_at, io_n, mpi_at, x_at, x_n;
    struct pollfd *fds = s->fds;

    io_send_gathered(s);
    fds[n++] = (struct pollfd){ .fd = s->sig_fd, .events = POLLIN };
    fds[n++] = (struct pollfd){ .fd = s->listen_fd, .events = POLLIN };
    for (int i = 0; i < STEP_CONNS; i++)
        fds[n++] = (struct pollfd){ .fd = s->conns[i], .events = POLLIN };
    mpi_at = n;
    mpi_poll_fill(s, &fds[n++]);
    fds[n++] = (struct pollfd){ .fd = s->cg.watch_fd, .events = POLLIN };
    fds[n++] = (struct pollfd){ .fd = follow_fd(s), .events = POLLIN };
    fds[n++] = (struct pollfd){ .fd = s->aid.fd, .events = POLLIN };
    fds[n++] = (struct pollfd){ .fd = s->nss_fd, .events = POLLIN };
    attach_at = n;
    n += attach_poll_fill(s, fds + n);
    x_at = n;
    x_n = xdisplay_poll_fill(s, fds + n);
    n += x_n;
    io_at = n;
    io_n = io_poll_fill(s, fds + n, s->fds_room - n);
    if (poll(fds, (nfds_t)(n + io_n), timeout_ms(s, now_mono_us())) < 0)
        return errno == EINTR ? 0 : -errno;
    io_poll_done(s, fds + io_at, io_n);
    attach_poll_done(s, fds + attach_at);
    xdisplay_poll_done(s, fds + x_at, x_n);
    follow_look(s);
    mpi_poll_done(s, &fds[mpi_at]);
    if (fds[mpi_at + 1].revents)
        stepcg_look(s);
    s->aid.ready = s->aid.ready || fds[mpi_at + 3].revents;
    if (fds[mpi_at + 4].revents)
        nssserve_tell(s);
    if (fds[0].revents)
        on_signals(s);
    for (int i = 0; i < STEP_CONNS; i++)
        if (fds[2 + i].revents && fds[2 + i].fd == s->conns[i])
            read_conn(s, i);
    if (fds[1].revents)
        accept_conn(s);
    return 0;
}

static int serve_once(struct step *s)
{
    keep_time(s, now_mono_us());
    return poll_once(s);
}

static void step_done(struct step *s)
{
    for (int i = 0; i < STEP_CONNS; i++)
        if (s->conns[i] >= 0)
            drop_conn(s, i);
    for (size_t i = 0; i < s->n_tasks; i++)
        io_close_task(s, &s->tasks[i]);
    s->srun = client_free(s->srun);
    if (s->out_fd >= 0)
        usermount_close(s->out_fd);
    if (s->err_fd >= 0)
        usermount_close(s->err_fd);
    nssserve_done(s);
    mpi_stop(s);
    bind_done(s);
    memory_done(s);
    attach_done(s);
    follow_done(s);
    xdisplay_done(s);
    extern_done(s);
    gather_done(s);
    gpu_done(s);
    s->userwrites = userwrite_free(s->userwrites);
    envlist_done(&s->env);
    free(s->login_env);
    free(s->fds);
    free(s->chunk);
    free(s->tasks);
    free(s->gids);
    free(s->in_gids);
}

int step_run(const Pst__StepFile *sf, int ctl_fd, int srun_fd, int ns_fd, int ns_pid_fd,
             const struct plug_ops *plug_ops)
{
    struct step s;
    int r = step_init(&s, sf, ctl_fd, srun_fd, plug_ops);

    if (r == 0)
        r = userwrite_new(&s.userwrites);
    if (r < 0)
        return r;
    s.cg.watch_fd = -1;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return -errno;
    if (ns_fd >= 0)
        ns_join(&s, ns_fd);
    if (ns_pid_fd >= 0)
        nsfirst_join(&s, ns_pid_fd);
    r = ctl_listen("sock", &s.listen_fd);
    if (r < 0)
        step_fail(&s, "Could not make the control socket: %s", strerror(-r));
    nssserve_start(&s);
    s.fds_room = 7 + STEP_CONNS + STEP_ATTACHED + xdisplay_poll_room(&s) + io_poll_room(&s);
    s.fds = calloc(s.fds_room, sizeof(*s.fds));
    if (!s.fds)
        return -ENOMEM;
    start_step(&s);
    r = 0;
    while (r == 0 && !advance_step(&s, now_mono_us()))
        r = poll_once(&s);
    step_done(&s);
    return r;
}
