/* pmiservice.c - what slurmstepd-pmi2 and slurmstepd-pmix share: descriptors, the link, the loop;
 * see pmiservice.h */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "pmi/pmiservice.h"
#include "version.h"
#include "wire/client.h"

#define FILE_MAX (64u << 20)

/* ---- the link -------------------------------------------------------------------------------- */

void service_send(struct service *s, const Pst__StepMpi *msg)
{
    if (!s->over &&
        client_send(s->link, OP_STEP_MPI, FRAME_ONEWAY, client_next_id(s->link), &msg->base) < 0)
        s->over = true;
}

void service_abort(struct service *s, uint32_t rank, int code, const char *text)
{
    Pst__StepMpi msg = PST__STEP_MPI__INIT;

    msg.has_kind = msg.has_rank = msg.has_status = true;
    msg.kind = PST__STEP_MPI_KIND__MPI_ABORT;
    msg.rank = rank;
    msg.status = code;
    msg.text = (char *)text;
    service_send(s, &msg);
}

void service_queue(struct service *s, struct work *w)
{
    uint64_t one = 1;

    w->next = NULL;
    (void)pthread_mutex_lock(&s->lock);
    *s->queue_end = w;
    s->queue_end = &w->next;
    (void)pthread_mutex_unlock(&s->lock);
    if (write(s->wake_fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: it wakes already */
}

static void run_queue(struct service *s)
{
    struct work *w;
    uint64_t n;

    if (read(s->wake_fd, &n, sizeof(n)) < 0)
        return; /* nothing was left */
    (void)pthread_mutex_lock(&s->lock);
    w = s->queue;
    s->queue = NULL;
    s->queue_end = &s->queue;
    (void)pthread_mutex_unlock(&s->lock);
    while (w) {
        struct work *next = w->next;

        w->run(s, w);
        w = next;
    }
}

static void read_link(struct service *s)
{
    struct frame f;
    int r = 0;

    while (!s->over && (r = client_recv(s->link, 0, &f)) > 0) {
        Pst__StepMpi *msg;

        if (FRAME_UNPACK(step_mpi, &f, &msg, NULL) < 0)
            continue;
        s->kind->message(s, msg);
        pst__step_mpi__free_unpacked(msg, NULL);
    }
    if (r < 0)
        s->over = true;
}

/* ---- start and end --------------------------------------------------------------------------- */

static int read_file(Pst__StepFile **ret_sf)
{
    struct stat st;
    void *data;

    if (fstat(SERVICE_FD_FILE, &st) < 0)
        return -errno;
    if (st.st_size <= 0 || st.st_size > (off_t)FILE_MAX)
        return -EINVAL;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, SERVICE_FD_FILE, 0);
    if (data == MAP_FAILED)
        return -errno;
    *ret_sf = pst__step_file__unpack(NULL, (size_t)st.st_size, data);
    (void)munmap(data, (size_t)st.st_size);
    (void)close(SERVICE_FD_FILE);
    if (!*ret_sf)
        return -EBADMSG;
    return (*ret_sf)->launch && (*ret_sf)->job && (*ret_sf)->job->job ? 0 : -EBADMSG;
}

static int service_init(struct service *s)
{
    const Pst__LaunchStep *l;
    int r = read_file(&s->sf);

    if (r < 0)
        return r;
    l = s->sf->launch;
    s->node = l->node_index + l->het_node_offset;
    s->ranks = l->task_ids;
    s->n_tasks = l->n_task_ids;
    (void)snprintf(s->job_id, sizeof(s->job_id), "%u.%d",
                   s->sf->job->job->has_het_job_id ? s->sf->job->job->het_job_id
                                                   : s->sf->job->job->job_id,
                   (int)s->sf->step_id);
    r = layout_init(&s->layout, l->parts, l->n_parts);
    if (r < 0)
        return r;
    for (size_t i = 0; i < s->n_tasks; i++)
        if (s->ranks[i] >= s->layout.n_ranks || s->layout.node_of[s->ranks[i]] != s->node)
            return -EINVAL;
    inherit_close(SERVICE_FD_TASKS + (int)s->n_tasks, -1); /* before the libraries open theirs */
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake_fd < 0)
        return -errno;
    r = client_from_fd(SERVICE_FD_LINK, &s->link);
    return r;
}

static void service_done(struct service *s)
{
    client_free(s->link);
    layout_done(&s->layout);
    if (s->sf)
        pst__step_file__free_unpacked(s->sf, NULL);
}

static int serve_service(struct service *s)
{
    _cleanup_free_ struct pollfd *fds = calloc(s->n_tasks + 2, sizeof(*fds));

    if (!fds)
        return -ENOMEM;
    while (!s->over) {
        size_t n = 0;

        fds[0] = (struct pollfd){ .fd = client_fd(s->link), .events = POLLIN };
        fds[1] = (struct pollfd){ .fd = s->wake_fd, .events = POLLIN };
        if (s->kind->poll_fill)
            n = s->kind->poll_fill(s, fds + 2);
        if (poll(fds, (nfds_t)(n + 2), -1) < 0 && errno != EINTR)
            return -errno;
        if (fds[0].revents)
            read_link(s);
        if (fds[1].revents)
            run_queue(s);
        if (n)
            s->kind->poll_done(s, fds + 2, n);
    }
    return 0;
}

/* The step's signals are for its tasks; our end is the end of the link. */
static void ignore_signals(void)
{
    static const int sigs[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,  SIGUSR1,
                                SIGUSR2, SIGALRM, SIGTSTP, SIGXCPU, SIGWINCH, SIGURG };

    for (size_t i = 0; i < ARRAY_SIZE(sigs); i++)
        (void)signal(sigs[i], SIG_IGN);
}

int service_main(const struct service_kind *kind, int argc, char **argv)
{
    struct service s = { .kind = kind, .lock = PTHREAD_MUTEX_INITIALIZER, .wake_fd = -1 };
    int r;

    if (argc == 2 && (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)) {
        (void)printf("slurm %s\n", SLURM_RELEASE);
        return 0;
    }
    if (argc != 1 || fcntl(SERVICE_FD_FILE, F_GETFD) < 0 || fcntl(SERVICE_FD_LINK, F_GETFD) < 0) {
        (void)fprintf(stderr, "slurmstepd-%s: error: this program is started by slurmstepd only\n",
                      kind->name);
        return 1;
    }
    /* cannot fail; it reads what tasks write and starts nothing */
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ignore_signals();
    (void)fcntl(SERVICE_FD_LINK, F_SETFD, FD_CLOEXEC);
    s.queue_end = &s.queue;
    r = service_init(&s);
    if (r == 0)
        r = kind->start(&s);
    if (r == 0)
        r = serve_service(&s);
    if (r < 0)
        (void)fprintf(stderr, "slurmstepd-%s: error: %s\n", kind->name, strerror(-r));
    if (s.state)
        kind->stop(&s);
    service_done(&s);
    return r < 0 ? 1 : 0;
}
