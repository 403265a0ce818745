/* slurmstepd.c - slurmstepd: owns the processes of one step
 *
 * Started by slurmd only, with the step file, the control connection and srun's connection on fixed
 * descriptors and the step's spool directory as its working directory; its command line says which
 * step it is and carries nothing else.  It outlives slurmd. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/logflags.h"
#include "base/process/inherit.h"
#include "base/pb/pbutil.h"
#include "stepd/shared/ask.h"
#include "stepd/io/bcastwrite.h"
#include "stepd/life/steplife.h"
#include "stepd/ns/jobns.h"
#include "stepd/io/outtail.h"
#include "stepd/io/relay.h"
#include "stepd/shared/spool.h"
#include "stepd/shared/stepd_spawn.h"
#include "stepd/step.h"
#include "version.h"
#include "wire/tls/tlsctx.h"

static int read_file(const ProtobufCMessageDescriptor *desc, ProtobufCMessage **ret_msg)
{
    struct stat st;
    void *data;

    if (fstat(STEP_FD_FILE, &st) < 0)
        return -errno;
    if (st.st_size <= 0 || st.st_size > (off_t)SPOOL_MAX_FILE)
        return -EINVAL;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, STEP_FD_FILE, 0);
    if (data == MAP_FAILED)
        return -errno;
    *ret_msg = protobuf_c_message_unpack(desc, NULL, (size_t)st.st_size, data);
    (void)munmap(data, (size_t)st.st_size);
    (void)close(STEP_FD_FILE);
    return *ret_msg ? 0 : -EBADMSG;
}

/* A step daemon that is not in memory answers late on a node that swaps.  Children inherit no
 * locks. */
static void lock_memory(const Pst__StepFile *sf)
{
    int flags = sf->memlock == STEP_MEMLOCK_ALL ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT;

    if (sf->memlock && mlockall(flags) < 0)
        (void)fprintf(stderr, "slurmstepd: error: its memory cannot be locked: %s\n",
                      strerror(errno));
}

/* Lines about what DebugFlags names go to slurmd's log. */
static void open_log(const Pst__StepFile *sf)
{
    if (!sf->debug_flags)
        return;
    log_set_time(sf->log_time);
    if (log_open("slurmstepd", sf->log_path, LOG_INFO, false) < 0)
        return; /* the step runs without such lines */
    logflags_set(sf->debug_flags);
}

static int read_step_file(Pst__StepFile **ret_sf)
{
    ProtobufCMessage *msg = NULL;
    int r = read_file(&pst__step_file__descriptor, &msg);
    Pst__StepFile *sf = PB_AS(step_file, msg);

    if (r < 0)
        return r;
    if (!sf->job || !sf->job->job || !sf->job->node_name || !sf->step_dir ||
        (sf->launch && !sf->step)) {
        pst__step_file__free_unpacked(sf, NULL);
        return -EBADMSG;
    }
    *ret_sf = sf;
    return 0;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Write a file for sbcast, relay a launch, or read the end of a script's output. */
static int serve_user(void)
{
    ProtobufCMessage *msg = NULL;
    int status = 1;
    char go;

    /* Until slurmd has put us where we belong. */
    if (read(STEP_FD_CTL, &go, 1) != 1)
        return 1;
    (void)close(STEP_FD_CTL);
    if (is_open(STEP_FD_NS) &&
        (fcntl(STEP_FD_NS, F_SETFD, FD_CLOEXEC) < 0 || ns_enter(STEP_FD_NS) < 0))
        return 1;
    (void)signal(SIGPIPE, SIG_IGN); /* a sender that leaves is an error of its connection */
    (void)fcntl(STEP_FD_SRUN, F_SETFD, FD_CLOEXEC);
    if (read_file(&pst__bcast_file__descriptor, &msg) == 0) {
        const Pst__BcastFile *file = PB_AS(bcast_file, msg);

        status = file->relay  ? relay_serve(file, STEP_FD_SRUN)
                 : file->tail ? tail_serve(file, STEP_FD_SRUN)
                              : bcast_serve(file, STEP_FD_SRUN);
    }
    if (msg)
        protobuf_c_message_free_unpacked(msg, NULL);
    return status;
}

/* Of those that serve a user's connection. */
static bool is_duty(const char *word)
{
    return strcmp(word, "bcast") == 0 || strcmp(word, "relay") == 0 || strcmp(word, "tail") == 0;
}

int main(int argc, char **argv)
{
    const struct plug_ops *plug_ops = NULL;
    Pst__StepFile *sf = NULL;
    int r, srun_fd = -1, ns_fd = -1, ns_pid_fd = -1;

    inherit_begin(STEP_FD_END);
    if (argc == 2 && (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)) {
        (void)printf("slurm %s\n", SLURM_RELEASE);
        return 0;
    }
    if (argc == 2 && is_duty(argv[1]) && is_open(STEP_FD_FILE) && is_open(STEP_FD_SRUN) &&
        is_open(STEP_FD_CTL)) {
        tls_be_brief(true);
        return serve_user();
    }
    if (argc == 4 && strcmp(argv[1], "script") == 0)
        return ask_script(argv[2], argv[3]);
    if (argc == 1 && nsfirst_is(argv[0]))
        return nsfirst_main();
    r = plug_main(argc, argv, &plug_ops);
    if (r >= 0)
        return r;
    if (argc != 1 || !is_open(STEP_FD_FILE) || !is_open(STEP_FD_CTL)) {
        (void)fprintf(stderr, "slurmstepd: error: this program is started by slurmd only\n");
        return 1;
    }
    (void)fcntl(STEP_FD_CTL, F_SETFD, FD_CLOEXEC);
    if (is_open(STEP_FD_SRUN)) {
        srun_fd = STEP_FD_SRUN;
        (void)fcntl(srun_fd, F_SETFD, FD_CLOEXEC);
    }
    if (is_open(STEP_FD_NS)) {
        ns_fd = STEP_FD_NS;
        (void)fcntl(ns_fd, F_SETFD, FD_CLOEXEC);
    }
    if (is_open(STEP_FD_NS_PID)) {
        ns_pid_fd = STEP_FD_NS_PID;
        (void)fcntl(ns_pid_fd, F_SETFD, FD_CLOEXEC);
    }
    inherit_no_keys();
    r = read_step_file(&sf);
    tls_be_brief(r == 0 && !sf->plugstack);
    if (r == 0)
        open_log(sf);
    if (r == 0)
        lock_memory(sf);
    if (r == 0)
        r = step_run(sf, STEP_FD_CTL, srun_fd, ns_fd, ns_pid_fd, plug_ops);
    if (sf)
        pst__step_file__free_unpacked(sf, NULL);
    if (r < 0)
        (void)fprintf(stderr, "slurmstepd: error: %s\n", strerror(-r));
    return r < 0 ? 1 : 0;
}
