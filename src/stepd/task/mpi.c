/* mpi.c - see mpi.h */
#include "stepd/task/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/shared/helper.h"
#include "stepd/step.h"
#include "wire/client.h"

#define FIRST_TASK_FD 5 /* of the service, see pmi/pmiservice.h */
#define READY_MS 30000  /* a server that is not up by then does not come */

struct mpi {
    struct client *link; /* NULL: closed */
    int *task_fds;       /* pmi2: the tasks' ends; -1 given away */
    Pst__StepMpi *ready; /* pmix: holds the tasks' variables */
    bool held;           /* the service was not read: srun takes nothing */
};

/* ---- start ----------------------------------------------------------------------------------- */

static int socket_pair(int *ret_ours, int *ret_theirs)
{
    int sv[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
        return -errno;
    *ret_ours = sv[0];
    *ret_theirs = helper_fd(sv[1]);
    return *ret_theirs < 0 ? *ret_theirs : 0;
}

/* Make what the service gets: its file, its link, a connection of each task. */
static int make_fds(struct step *s, struct mpi *m, int *give, size_t n_give, int *ret_link)
{
    int r;

    give[0] = helper_message(&s->sf->base);
    if (give[0] < 0)
        return give[0];
    r = socket_pair(ret_link, &give[1]);
    for (size_t i = 2; r == 0 && i < n_give; i++)
        r = socket_pair(&m->task_fds[i - 2], &give[i]);
    return r;
}

/* A place for the server's files that only the user enters; goes with the step's folder. */
static int make_dir(const struct step *s)
{
    if (mkdir("pmix", 0700) < 0 && errno != EEXIST)
        return -errno;
    return s->switch_user && chown("pmix", s->uid, s->gid) < 0 ? -errno : 0;
}

static int spawn_service(struct step *s, const int *give, size_t n_give)
{
    char path[HELPER_PATH_MAX];
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    _cleanup_close_ int null_fd = helper_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
    char *paths[] = { path, NULL }, *argv[] = { path, NULL };
    struct child c = { .step = s,
                       .paths = paths,
                       .argv = argv,
                       .tty = -1,
                       .any_dir = true,
                       .fds = { null_fd, null_fd, null_fd },
                       .give = give,
                       .n_give = n_give };
    int r = helper_path(s->launch->mpi, path, sizeof(path));

    if (r < 0 || null_fd < 0)
        return r < 0 ? r : null_fd;
    envlist_borrow(&env, &s->env);
    c.envp = envlist_array(&env);
    return c.envp ? child_start(&c, &s->mpi_pid) : -ENOMEM;
}

/* Wait for its word that tasks can be served. */
static int wait_ready(struct mpi *m)
{
    int64_t until = now_mono_us() + READY_MS * 1000LL;
    struct frame f;
    int r;

    do {
        Pst__StepMpi *msg;
        int64_t left = (until - now_mono_us()) / 1000;

        r = left > 0 ? client_recv(m->link, (int)left, &f) : -ETIMEDOUT;
        if (r <= 0 || FRAME_UNPACK(step_mpi, &f, &msg, NULL) < 0)
            continue;
        if (msg->kind == PST__STEP_MPI_KIND__MPI_READY)
            m->ready = msg;
        else
            pst__step_mpi__free_unpacked(msg, NULL);
    } while (r >= 0 && !m->ready);
    return r < 0 ? r : 0;
}

static int start_service(struct step *s, struct mpi *m)
{
    bool pmi2 = strcmp(s->launch->mpi, "pmi2") == 0;
    size_t n_give = 2 + (pmi2 ? s->n_tasks : 0);
    _cleanup_free_ int *give = malloc(n_give * sizeof(*give));
    int r, link = -1;

    m->task_fds = pmi2 ? malloc((s->n_tasks + 1) * sizeof(*m->task_fds)) : NULL;
    if (!give || (pmi2 && !m->task_fds))
        return -ENOMEM;
    for (size_t i = 0; i < n_give; i++)
        give[i] = -1;
    for (size_t i = 0; pmi2 && i < s->n_tasks; i++)
        m->task_fds[i] = -1;
    r = make_fds(s, m, give, n_give, &link);
    if (r == 0 && !pmi2)
        r = make_dir(s);
    if (r == 0)
        r = spawn_service(s, give, n_give);
    for (size_t i = 0; i < n_give; i++)
        if (give[i] >= 0)
            (void)close(give[i]);
    if (r == 0)
        r = client_from_fd(link, &m->link);
    else if (link >= 0)
        (void)close(link);
    return r == 0 && !pmi2 ? wait_ready(m) : r;
}

static bool known_type(const char *type)
{
    return strcmp(type, "pmi2") == 0 || strcmp(type, "pmix") == 0; /* goes into a path */
}

void mpi_start(struct step *s)
{
    const char *type = s->launch ? s->launch->mpi : NULL;
    int r;

    if (!type)
        return;
    if (!known_type(type) || s->launch->n_parts == 0) {
        step_fail(s, "MPI type %.32s is not known here", type);
        return;
    }
    s->mpi = calloc(1, sizeof(*s->mpi));
    r = s->mpi ? start_service(s, s->mpi) : -ENOMEM;
    if (r < 0)
        step_fail(s, "MPI: the %s service could not be started: %s", type,
                  r == -EPIPE ? "it ended at once (is its library installed?)" : strerror(-r));
    else if (s->mpi->ready && (s->mpi->ready->text || s->mpi->ready->n_env < s->n_tasks))
        step_fail(s, "MPI: %s",
                  s->mpi->ready->text ? s->mpi->ready->text : "a task has no environment");
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void pmi2_task(struct step *s, size_t index, struct envlist *env, struct child *c)
{
    const Pst__LaunchStep *l = s->launch;
    uint32_t size = l->has_het_tasks ? l->het_tasks : s->sf->step->num_tasks;
    uint32_t job = s->job->has_het_job_id ? s->job->het_job_id : s->job_id;

    c->keep_fd = s->mpi->task_fds[index];
    envlist_setf(env, "PMI_FD", "%d", c->keep_fd);
    envlist_setu(env, "PMI_RANK", s->tasks[index].rank);
    envlist_setu(env, "PMI_SIZE", size);
    envlist_setf(env, "PMI_JOBID", "%u.%d", job, (int)s->step_id);
}

void mpi_task(struct step *s, size_t index, struct envlist *env, struct child *c)
{
    struct mpi *m = s->mpi;

    if (!m)
        return;
    envlist_set(env, "SLURM_MPI_TYPE", s->launch->mpi);
    if (m->task_fds)
        pmi2_task(s, index, env, c);
    else if (m->ready && index < m->ready->n_env)
        envlist_load(env, m->ready->env[index].data, m->ready->env[index].len);
}

void mpi_started(struct step *s)
{
    for (size_t i = 0; s->mpi && s->mpi->task_fds && i < s->n_tasks; i++) {
        if (s->mpi->task_fds[i] >= 0)
            (void)close(s->mpi->task_fds[i]); /* so that the service sees a task's end */
        s->mpi->task_fds[i] = -1;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void lose_service(struct step *s)
{
    s->mpi->link = client_free(s->mpi->link);
    if (s->n_running == 0)
        return;
    step_notice(s, "MPI: the %s service on %s has ended", s->launch->mpi, s->sf->job->node_name);
    step_terminate(s, NULL, SIGTERM, false, s->sf->kill_wait_s);
}

/* Our tasks are over: refuse the question, else the peer that asks about one of them would wait
 * for ever. */
static void refuse_question(struct step *s, const Pst__StepMpi *ask)
{
    Pst__StepMpi answer = PST__STEP_MPI__INIT;

    if (ask->kind != PST__STEP_MPI_KIND__MPI_ASK || !s->srun)
        return;
    answer.has_kind = answer.has_sequence = answer.has_node = answer.has_status = true;
    answer.kind = PST__STEP_MPI_KIND__MPI_ANSWER;
    answer.sequence = ask->sequence;
    answer.node = ask->from;
    answer.status = -1;
    if (client_send_nonblock(s->srun, OP_STEP_MPI, FRAME_ONEWAY, client_next_id(s->srun),
                             &answer.base) < 0)
        io_lost(s);
}

bool mpi_full(const struct step *s)
{
    return s->mpi && s->mpi->link && client_out_pending(s->mpi->link) > STEP_OUT_MAX;
}

static bool srun_full(const struct step *s)
{
    return s->srun && client_out_pending(s->srun) > STEP_OUT_MAX;
}

void mpi_message(struct step *s, const Pst__StepMpi *msg)
{
    struct mpi *m = s->mpi;

    if (!m || !m->link)
        refuse_question(s, msg);
    else if (client_send_nonblock(m->link, OP_STEP_MPI, FRAME_ONEWAY, client_next_id(m->link),
                                  &msg->base) < 0)
        lose_service(s);
}

static void from_service(struct step *s, Pst__StepMpi *msg)
{
    if (msg->kind == PST__STEP_MPI_KIND__MPI_ABORT && !s->srun) {
        step_notice(s, "MPI: task %u aborted%s%s", msg->rank, msg->text ? ": " : "",
                    msg->text ? msg->text : "");
        step_terminate(s, NULL, SIGTERM, false, s->sf->kill_wait_s);
    }
    if (s->srun && client_send_nonblock(s->srun, OP_STEP_MPI, FRAME_ONEWAY, client_next_id(s->srun),
                                        &msg->base) < 0)
        io_lost(s);
}

void mpi_poll_fill(const struct step *s, struct pollfd *fd)
{
    struct mpi *m = s->mpi;
    bool hold = srun_full(s);

    *fd = (struct pollfd){ .fd = -1 };
    if (!m || !m->link)
        return;
    m->held = m->held || hold;
    fd->fd = client_fd(m->link);
    fd->events = (short)((hold ? 0 : POLLIN) | (client_out_pending(m->link) ? POLLOUT : 0));
}

void mpi_poll_done(struct step *s, const struct pollfd *fd)
{
    struct mpi *m = s->mpi;
    struct frame f;
    int r = 0;

    /* What was held may be whole frames already received, which poll cannot tell of. */
    if (!m || !m->link || (!fd->revents && !m->held))
        return;
    if (fd->revents & POLLOUT && client_flush(m->link) < 0 && client_fd(m->link) < 0)
        r = -EPIPE;
    while (r >= 0 && m->link && !srun_full(s) && (r = client_recv(m->link, 0, &f)) > 0) {
        Pst__StepMpi *msg;

        if (FRAME_UNPACK(step_mpi, &f, &msg, NULL) == 0) {
            from_service(s, msg);
            pst__step_mpi__free_unpacked(msg, NULL);
        }
    }
    m->held = srun_full(s);
    if (r < 0 && m->link)
        lose_service(s);
    io_resume(s);
}

void mpi_stop(struct step *s)
{
    struct mpi *m = s->mpi;

    if (!m)
        return;
    mpi_started(s);
    m->link = client_free(m->link);
    free(m->task_fds);
    if (m->ready)
        pst__step_mpi__free_unpacked(m->ready, NULL);
    free(m);
    s->mpi = NULL;
}
