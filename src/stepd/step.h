/* step.h - one step on one node: the step daemon's state and the parts that work on it
 *
 * Internal to the step daemon.  One thread; one poll(2) loop in life/steplife.c; nothing else
 * blocks.  When the start of the tasks must wait, it waits for a process (await.c), and the loop
 * goes on meanwhile. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/log.h"
#include "stepd/env/env.h"
#include "stepd/env/envlist.h"
#include "stepd/shared/outpattern.h"
#include "stepd/cgroup/cgroup.h"
#include "stepfile.pb-c.h"

struct bind;
struct child;
struct memory;
struct client;
struct energy;
struct extstep;
struct follow;
struct gather;
struct mpi;
struct plug;
struct step_gpus;
struct taskfreq;
struct gpuclock;
struct xdisplay;

#define STEP_ATTACHED 16 /* sattach at a time */
/* connections to the control socket: slurmd (two while it restarts), and processes that ask the
 * extern step to adopt them */
#define STEP_CONNS 16
#define STEP_STDIN_MAX (1u << 20) /* bytes waiting for the tasks' standard inputs */
#define STEP_OUT_MAX (1u << 20)   /* bytes waiting for srun before tasks' pipes are left alone */
#define STEP_CHUNK 65536u
#define STEP_WORLD 96 /* PROC_WORLD of use/procscan.h, at least */
#define STEP_MAX_TASKS 65536u
#define STEP_SETUP_STATUS                                                                          \
    53 /* wait status of a step that could not be set up, as Slurm shows it                        \
        */

/* Descriptors that slurmd leaves open for us. */
enum step_fd {
    STEP_FD_FILE = 3,   /* memfd with the StepFile */
    STEP_FD_CTL = 4,    /* control connection to slurmd */
    STEP_FD_SRUN = 5,   /* srun's connection, steps only */
    STEP_FD_NS = 6,     /* the job's mount namespace, when it has one */
    STEP_FD_NS_PID = 7, /* pidfd of the first process of its other namespaces, when it has any */
    STEP_FD_END = 8,
};

enum oci_clean { /* of containers, see ocitask.h */
                 OCI_USED,
                 OCI_CLEANING,
                 OCI_CLEAN,
};

#define STEP_TASK_FAILURE "DUE TO TASK FAILURE" /* why a step is ended after a bad exit */

struct step;
struct task;
struct plug_ops;

/* How files in the sub-folders call functions of files above them.  life/steplife.c has the one
 * table; a folder calls through it and includes no header of a folder above its own. */
struct step_events {
    /* One turn of the loop: wait for the next events and handle them.  Also called while the start
     * of the tasks waits.  0 or a negative errno. */
    int (*serve)(struct step *s);
    /* step_terminate(), step_signal() and step_signal_kill() of taskset.c */
    void (*terminate)(struct step *s, const char *reason, int shown_signal, bool now,
                      uint32_t kill_wait_s);
    void (*signal)(struct step *s, int sig, bool leader_only);
    void (*signal_kill)(struct step *s, int sig);
    /* A task that waited for its last process is over: step_task_ended(). */
    void (*task_ended)(struct step *s, struct task *t, int status);
    /* Pass a message of srun's to the MPI service; is that service too busy to take one now? */
    void (*mpi_message)(struct step *s, const Pst__StepMpi *msg);
    bool (*mpi_full)(const struct step *s);
    /* The file of a labelled stream took no more: the task cannot write there any longer. */
    void (*file_failed)(struct step *s, const struct task *t, int r);
    /* The index of the first task that sees a GPU of the step: gpu_first_task(). */
    size_t (*gpu_task)(const struct step *s, const Pst__Gpu *gpu);
};

/* Input that waits, of all tasks: each piece counts once. */
struct inwaits {
    size_t bytes, pieces;
};

/* standard input not yet taken by a task: pieces that other tasks may wait for too */
struct inbuf {
    struct inpiece **pieces;
    size_t first, n, cap; /* a ring */
    size_t at, len;       /* taken of the first piece; bytes that wait */
    bool eof;
};

struct labelfile;
struct userwrites;

struct task {
    uint32_t rank;        /* global */
    pid_t pid;            /* 0: not running */
    uint64_t start_ticks; /* of pid; 0: /proc has to be asked */
    struct {
        pid_t pid; /* of the one that runs */
        enum { EPILOG_NOT, EPILOG_USERS, EPILOG_SITES, EPILOG_OVER } stage;
        int64_t deadline_mono_us; /* it is killed then; 0 = never */
        int err_fd;               /* the task's standard error, while an epilog may write there */
        bool told;                /* ... and that there is one */
    } epilog;
    bool exited;
    uint32_t nth_end; /* of the step's tasks, in the order of their ends */
    bool reported;    /* STEP_TASK_EXIT was queued */
    bool oom;         /* a process of it was killed for want of memory */
    bool lingers;     /* its first process ended, others have not: --wait-for-children */
    int status;
    int fd[3];                 /* our ends of its streams; -1 none (file, closed, end of file) */
    struct labelfile *file[3]; /* where the stream goes, labelled; NULL: to srun */
    bool pty;                  /* fd[1] is a terminal's master side */
    /* That side once nobody has the other one open; -1 none.  Closed earlier, the terminal would
     * hang up on a task that is about to end by itself. */
    int idle_terminal;
    struct inbuf in;
};

struct aid {   /* a process that the start of the tasks waits for; see await.c */
    pid_t pid; /* 0: none */
    bool ended;
    int status;               /* with ended */
    int fd;                   /* whose being readable is waited for; -1 none */
    bool ready;               /* it is */
    int64_t deadline_mono_us; /* of the waiting; 0 = none */
};

enum kill_stage {
    KILL_NONE,
    KILL_SPARED,    /* a script whose steps are asked to end; after kill_wait_s it is asked, too */
    KILL_TERM_SENT, /* waiting kill_wait_s */
    KILL_ALL,       /* SIGKILL until no process is left */
};

struct step {
    const struct step_events *on;
    const struct plug_ops *plug_ops; /* NULL in slurmstepd itself, which loads no plugins */
    const Pst__StepFile *sf;
    const Pst__JobRecord *job;
    const Pst__LaunchStep *launch; /* NULL: the batch step */
    uint32_t job_id, step_id;
    uint64_t run_id;
    uint64_t start_ticks;   /* of this daemon, rounded down */
    char world[STEP_WORLD]; /* of the trace; empty until that is first written */
    uid_t uid;
    gid_t gid;
    bool oom_protected; /* the kernel spares this daemon, as it spares slurmd; tasks it does not */
    gid_t *gids;
    size_t n_gids;
    uid_t in_uid; /* uid as seen inside the job's user namespace; without one the same as uid */
    gid_t in_gid;
    gid_t *in_gids;
    size_t n_in_gids;
    bool switch_user; /* this daemon is root and the job's user is not */
    char step_name[16];
    char host[256];
    const char *work_dir;
    mode_t umask;
    unsigned slow_starts; /* processes that did not have their program soon */

    struct task *tasks;
    size_t n_tasks, n_running;
    uint32_t n_ended; /* tasks whose first process ended */
    struct inwaits in_waits;
    struct envlist env; /* common to the tasks */
    struct cgroup cg;   /* holds all its processes; kind CGROUP_NONE: a walk of /proc finds them */

    int sig_fd, listen_fd;
    int nss_fd; /* nssserve.h; -1 none */
    int conns[STEP_CONNS];
    struct pollfd *fds; /* room for all that is served */
    size_t fds_room;
    uint8_t *chunk; /* STEP_CHUNK, for what tasks write; NULL: not yet */
    struct aid aid;
    struct userwrites *userwrites; /* NULL: not yet */
    struct client *srun;
    struct client *attached[STEP_ATTACHED]; /* NULL: free */
    bool attached_parting[STEP_ATTACHED];   /* it has its answer, and is told no more */
    struct bind *bind;                      /* NULL: tasks are not bound to CPUs */
    struct taskfreq *freq;                  /* NULL: no CPU was given a frequency */
    struct gpuclock *gpuclock;              /* NULL: no GPU was to have other clocks */
    struct memory *memory;                  /* NULL: tasks' memory is bound to no domain */
    struct mpi *mpi;                        /* NULL: the step has no MPI type */
    struct plug *plug;                      /* NULL: no plugins of the site */
    struct pamsession *session;             /* NULL: no UsePAM */
    char drain[160];        /* reason for which slurmd drains the node; "": do not drain it */
    pid_t nics_pid;         /* slurmstepd-cxi; 0 = none, or ended */
    int64_t nics_mono_us;   /* how long to wait for it at the end; 0 = not yet */
    pid_t mpi_pid;          /* the MPI service, running or ended; 0 = there was none */
    struct step_gpus *gpus; /* NULL: all tasks see all GPUs of the step */
    struct energy *energy;  /* NULL: not measured */
    int64_t energy_every_us, energy_due_us; /* with energy; due by the monotonic clock */
    struct gather *gather;                  /* NULL: the use of tasks is not measured */
    bool had_srun;
    bool in_held; /* srun was not read for a while */
    /* bytes of srun's standard input: received, and reported to srun as consumed */
    uint64_t in_got, in_told;
    bool finished;         /* STEP_DONE was queued */
    bool parting;          /* STEP_DONE was queued and nothing more is sent */
    size_t waits;          /* bytes that srun had not taken at the last io_progress() */
    int out_fd, err_fd;    /* the batch script's output files; notices go to err_fd */
    struct follow *follow; /* the batch step's, once a client has attached */
    bool summarized;       /* summary_begin() was called */
    pid_t summary_pid;     /* the process that writes the summary now; 0 = none */

    enum kill_stage stage;
    bool noticed;             /* the CANCELLED line was written */
    bool from_outside;        /* slurmd ordered the end */
    int64_t deadline_mono_us; /* of the stage, or of the next sweep; 0 = none */
    int64_t suspend_mono_us;  /* when TSTP becomes STOP; 0 = none */
    int64_t linger_mono_us;   /* how long to wait for srun to take what is queued */
    unsigned sweeps;
    int64_t kill_mono_us; /* when SIGKILL began to be sent; 0 = not yet */
    bool unkillable;      /* SIGKILL has had no effect for UnkillableStepTimeout */

    bool started, swept, ended;
    int worst;         /* highest wait status of the tasks */
    const char *error; /* why the step could not be set up (in error_buf); NULL = no error */
    char error_buf[512];
    bool launch_failed, login_env_failed, oom;
    int ns_fd, host_ns_fd; /* mount namespaces: the job's, the node's; -1 the job has none */
    uint32_t ns_flags;     /* CLONE_NEWPID, CLONE_NEWUSER: further namespaces of the job's own */
    int ns_pid_fd;         /* with ns_flags: pidfd of the first process of those namespaces */
    pid_t ns_pid;          /* in the extern step: that first process; 0 none */
    int ns_pipe;           /* in the extern step: that process ends when this pipe is closed */
    struct extstep *ext;   /* state of the extern step; NULL: this step is another one */
    struct xdisplay *xdisplay; /* in the extern step of a job that asked for X11; else NULL */
    char *login_env;           /* bytes that env borrows */
    enum oci_clean oci_clean;
    int64_t oci_mono_us; /* while cleaning: how long to wait for it */
    Pst__StepUsage usage;
};

/* stepfail.c: the step cannot be set up, and why; the first reason counts. */
void step_fail(struct step *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* await.c: a child that the start of the tasks needs and that may last.  The step is served
 * meanwhile. */
void await_begin(struct step *s, pid_t pid); /* one at a time */
/* Wait until fd is readable or at its end, or with -1 until the process has ended.  -ETIMEDOUT;
 * -ECANCELED: the step is to end. */
int await_fd(struct step *s, int fd, int64_t deadline_mono);
/* Kill the process if it still runs, and wait for its end.  Returns its wait status. */
int await_end(struct step *s);
/* The child pid was collected: is it the process that await_begin() got?  Then its status is
 * kept. */
bool await_reaped(struct step *s, pid_t pid, int status);

/* opener.c: open(2) in a process of the user, however long that takes.  Returns the descriptor or
 * a negative errno. */
int opener_open(struct step *s, const char *path, int flags);
/* May the user work in that folder?  0 or a negative errno; -ECANCELED: the step is to end. */
int opener_enter(struct step *s, const char *path);
/* Make the folders of a path that are missing. */
void opener_folders(struct step *s, const char *path);
#define OPENER_HEAD 256
/* The first bytes of a file: how many, or a negative errno. */
int opener_head(struct step *s, const char *path, char head[OPENER_HEAD]);

/* stepcgroup.c: what of cgroup.h a step uses */
/* Make the step's cgroups.  False: step_fail() was called. */
bool stepcg_begin(struct step *s);
/* Signal all processes of the step but ourselves.  Returns how many were found. */
size_t stepcg_signal(struct step *s, int sig);
void stepcg_suspend(struct step *s, bool on);
/* The first process of t ended.  True: t lasts until its other processes have ended too, and
 * stepcg_look() watches them. */
bool stepcg_lingers(struct step *s, struct task *t);
/* A cgroup became empty: end the tasks whose last processes were in it. */
void stepcg_look(struct step *s);
/* The step is over: report the processes that the kernel killed for want of memory.  They decide
 * the step's state too. */
void stepcg_oom(struct step *s);

/* taskset.c: signals and the end */
void step_signal(struct step *s, int sig, bool leader_only);
/* Begin to end the step: SIGCONT, SIGTERM, a pause of kill_wait_s, SIGKILL; with now SIGKILL at
 * once.  reason is for the job's notice; NULL: "DUE to SIGNAL ...". */
void step_terminate(struct step *s, const char *reason, int shown_signal, bool now,
                    uint32_t kill_wait_s);
/* Send sig, and SIGKILL a moment later.  That is one order of srun for Ctrl-C: two could find the
 * tasks ended between them, and nobody would write the line about the kill. */
void step_signal_kill(struct step *s, int sig);
/* The job's time is over, and steps of it run on this node: they are asked to end, and what the
 * script does after them it may do for kill_wait_s.  Then it is asked to end, and killed. */
void step_spare(struct step *s, const char *reason, uint32_t kill_wait_s);
void step_suspend(struct step *s, bool on);
/* The task is over. */
void step_task_ended(struct step *s, struct task *t, int status);
/* Collect every child that ended.  True when the tasks are over and no process of the step is
 * left. */
bool step_reap(struct step *s);
/* Deadlines of killing, suspending, sweeping. */
void step_timers(struct step *s, int64_t now_mono);

/* tasklaunch.c: start all tasks; failures are in the tasks' status or step_fail(). */
void step_launch(struct step *s);

/* output.c: files.  Descriptors are opened as the user. */
int output_as_user(const struct step *s);
void output_as_self(const struct step *s);
int output_open(struct step *s, const char *stream, const char *pattern, uint32_t task_id,
                bool append, int *ret_fd);
int output_open_input(struct step *s, const char *pattern, uint32_t task_id, int *ret_fd);
void output_vars(const struct step *s, uint32_t task_id, struct pattern_vars *ret);
/* Write a line of this daemon into a stream of the user's, a file with the user's rights.  The line
 * is lost when the stream cannot take it now: a full FIFO, a full disk. */
void output_tell(const struct step *s, int fd, const char *text, size_t len);

/* notice.c: lines for the person: to srun, or to the job's standard error. */
void step_notice(struct step *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same behind the label of a task, "3: ", or "". */
void step_notice_of(struct step *s, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A line for who asked with srun --slurmd-debug for those of this level; else nothing. */
void step_debug(struct step *s, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same as step_notice() to the standard error of a task, at fd. */
void task_notice(const struct step *s, int fd, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Send line without adding anything to it.  It must end with a newline.  NULL: srun is only told
 * whether the step is being ended from outside. */
void step_tell(struct step *s, char *line);

/* io.c: srun's connection and the tasks' pipes */
size_t io_poll_fill(struct step *s, struct pollfd *fds, size_t max);
void io_poll_done(struct step *s, const struct pollfd *fds, size_t n);
size_t io_poll_room(const struct step *s);
void io_started(struct step *s);
void io_send(struct step *s, struct task *t, int stream, const uint8_t *data, size_t len, bool eof);
void io_task_exits(struct step *s);
bool io_drained(const struct step *s); /* every stream at its end and sent */
void io_finish(struct step *s);        /* queue STEP_DONE */
void io_write_rest(struct step *s);    /* labelled lines that tasks have written, to their files */
bool io_progress(struct step *s);      /* has srun taken something since the last call? */
/* Everything is sent: true while srun has not closed its end.  If this daemon closed first, with
 * bytes of srun's unread, the connection would be reset and srun would lose what the kernel still
 * holds for it. */
bool io_parting(struct step *s);
bool io_flushed(const struct step *s);
void io_send_gathered(struct step *s); /* what this turn has for srun; before each wait */
/* What is left of a line that gets a label is written, with the user's rights. */
void io_close_task(const struct step *s, struct task *t);
void io_lost(struct step *s);

void io_resume(struct step *s); /* there is room again: read on what srun sends */

/* taskinput.c: what clients give the tasks: input and signals */
bool input_full(const struct step *s); /* no more is read from any client */
void input_give(struct step *s, const Pst__StepIo *io);
void input_write(struct task *t); /* the standard input of t can take bytes */
/* Close the standard input of t and drop the bytes that wait for it. */
void input_close(struct task *t);
void input_done(struct task *t); /* input_close(), and free the ring */
/* The most that waits for one task. */
size_t input_waits(const struct step *s);
void input_signal(struct step *s, const Pst__StepSignal *sig);

/* attach.c: sattach's connections */
/* Takes fd.  False: there is no room, or the client has left. */
bool attach_new(struct step *s, int fd, const Pst__StepOrder *order);
/* Keep c, which is taken, until its answer is out. */
void attach_answer(struct step *s, struct client *c);
bool attach_any(const struct step *s);
void attach_send(struct step *s, unsigned op, const ProtobufCMessage *msg);
size_t attach_poll_fill(const struct step *s, struct pollfd *fds); /* STEP_ATTACHED of them */
void attach_poll_done(struct step *s, const struct pollfd *fds);
bool attach_flushed(const struct step *s);
void attach_done(struct step *s);
bool attach_room(const struct step *s); /* can one attached client at least take more bytes? */

/* scriptfollow.c: the output files of a batch script, for clients that attached to it */
void follow_begin(struct step *s);
/* readable when there is something for follow_look(); -1 none */
int follow_fd(const struct step *s);
void follow_look(struct step *s);
bool follow_drained(const struct step *s); /* as of the last look */
void follow_done(struct step *s);

/* taskfreq.c: give the CPUs back the frequency that they had before the step, where nobody else has
 * changed it since. */
void taskfreq_done(struct step *s);
/* gpuclock.c: the same for the clocks of the GPUs. */
void gpuclock_done(struct step *s);

/* multiprog.c: srun --multi-prog */
/* argv of a rank by the map's text; extra arguments are appended.  NULL-terminated, one allocation
 * to free with multiprog_free().  Errors: -ENOENT no program for the rank, -EINVAL syntax. */
int multiprog_argv(const char *map, uint32_t rank, char *const *extra, size_t n_extra,
                   char ***ret_argv);
char **multiprog_free(char **argv);

/* taskscript.c: TaskProlog and TaskEpilog, run as the user */
/* Run a task prolog to its end and apply what it prints to env; `print` lines go to print_fd.
 * Returns as taskscript_output() does. */
int taskscript_prolog(struct step *s, const char *path, struct envlist *env, int print_fd);
/* Start a task epilog; err_fd: its standard error, -1: nowhere. */
int taskscript_epilog(struct step *s, const char *path, struct envlist *env, int err_fd,
                      pid_t *ret_pid);
#define SCRIPT_SIGNALLED 256 /* and the number of the signal */
/* Run a program (argv NULL: its path alone) to its end and collect what it prints, 256 KiB at
 * most.  Returns its exit status, SCRIPT_SIGNALLED and more, or a negative errno: -ETIMEDOUT. */
int taskscript_output(struct step *s, const char *path, char *const *argv, int err_fd,
                      const struct envlist *env, char **ret_text, size_t *ret_len);

/* taskepilog.c: when step_timers() has to end a task epilog; 0 = no need */
int64_t epilog_next(const struct step *s);
/* The step could not be set up: tasks that did not start get no epilog. */
void epilog_forget(struct step *s);

/* extern.c: the extern step, which has no tasks.  It holds the processes that others give to it,
 * until slurmd releases it. */
/* Until its release the step counts as one running task.  -ENOMEM. */
int extern_begin(struct step *s);
void extern_done(struct step *s);
/* slurmd's orders. */
void extern_terminate(struct step *s, bool now, uint32_t kill_wait_s);
void extern_signal(struct step *s, int sig); /* to all processes of the extern step */
/* The rest of the job is over: the extern step ends when its processes have ended.  Where the job's
 * epilog runs in the extern step, the step waits for the epilog first (finish: the epilog is
 * over). */
void extern_release(struct step *s, bool finish);
/* The extern step has no process left and waits for the epilog. */
bool extern_emptied(const struct step *s);
/* Take in the process pid and every process that it starts from now on.  script: pid runs a prolog
 * or epilog, which even a job that is ending takes in.  -ESHUTDOWN: the job is ending; -ESRCH: the
 * process has gone. */
int extern_adopt(struct step *s, pid_t pid, bool script);
/* The sessions that adopted processes lead, and when these began, for write_trace(): at most max
 * of them.  Returns how many. */
size_t extern_sessions(const struct step *s, uint32_t *sessions, uint64_t *ticks, size_t max);
/* After the release: look whether a process is left; without one the step may end. */
void extern_look(struct step *s, int64_t now_mono);
/* The first process of the job's namespaces was killed, and with it the job's processes on this
 * node: the extern step has no namespaces to hold any more. */
void extern_lost_namespaces(struct step *s);
#define EXTERN_SESSIONS 64              /* sessions kept for the heir of a killed step daemon */
void extern_count(struct step *s);      /* put the use that the cgroup counted into s->usage */
bool extern_used(const struct step *s); /* was a process ever given to the extern step? */
int64_t extern_deadline(const struct step *s); /* when to look again; 0: not */

/* loginenv.c: what the user's login shell exports on this node (sbatch --get-user-env) */
/* Load it into s->env, before what was submitted, which wins.  False: step_fail() was called. */
bool loginenv_load(struct step *s);

/* plug.c: plugins of the site, in slurmstepd-plug alone */
struct plug_ops {
    /* Load them and call them as far as the first task; the environment is there.  False:
     * step_fail() was called. */
    bool (*begin)(struct step *s);
    /* A task as a copy of us, in which they are called before its program.  Its number, or a
     * negative errno. */
    pid_t (*fork)(struct child *c);
    void (*task_exit)(struct step *s, const struct task *t);
    void (*end)(struct step *s);
    /* UsePAM: open s->session.  False: step_fail() was called. */
    bool (*open_session)(struct step *s);
    void (*close_session)(struct step *s); /* if it is open */
};
/* Of main().  -1: go on, with *ret_ops (NULL in slurmstepd itself); else the exit status of what
 * the words asked for. */
int plug_main(int argc, char **argv, const struct plug_ops **ret_ops);

/* child.c: a process of the step */
struct child_limit {
    int resource;
    struct rlimit limit; /* as wished; the hard one is as it was */
};
struct child {
    struct step *step;
    struct envlist *env;     /* plugins may change it for this task; NULL: none is asked */
    bool along_path;         /* argv[0] is looked for along PATH; paths follow from it */
    const struct task *task; /* whose it is; NULL: the step's own */
    char *const *paths;      /* tried in turn; NULL-terminated */
    char *const *argv, *const *envp;
    char *pid_slot; /* gets the child's number as text, may be NULL */
    int fds[3];     /* its standard streams */
    int tty;        /* becomes its controlling terminal; -1 none */
    bool any_dir;   /* a missing work directory is no failure: / then */
    bool limits;    /* set the propagated limits */
    bool tmpdir;    /* a TMPDIR that the user does not find is replaced by /tmp */
    bool has_nice;  /* ... and this nice value */
    int nice;
    const void *cpu_set; /* it binds itself to these, for sched_setaffinity(); NULL = not */
    size_t cpu_set_size;
    /* its memory comes from these, for set_mempolicy(); NULL = from anywhere */
    const void *mem_domains;
    unsigned long n_mem_domains;
    int mem_policy;
    int keep_fd;     /* one more that stays open, under its number; 0 none */
    const int *give; /* become descriptors 3, 4 ...; all above those */
    size_t n_give;
    int stage, err; /* outcome when the return value is negative */
    int mem_err;    /* memory could not be bound, which is no reason not to run; 0 = it was */
    /* child_start()'s own: */
    int join[CGROUP_CTRLS], n_join;
    bool born_inside;
    struct child_limit limit[16]; /* those that it changes */
    size_t n_limits;
    struct child_outcome *outcome; /* each of the two has its own */
    int report_fd;                 /* in the child: its way to tell; closed by its exec */
    uint64_t start_ticks;          /* when it was made, as /proc counts; 0: not known */
    /* child_reserve()'s: */
    pid_t seat;      /* the process that waits; 0 none */
    unsigned number; /* as it sees itself */
    int seat_fd;     /* our way to it */
};
struct child_outcome { /* as the child says it: a failure, or what else there is to say */
    int stage, err;
    unsigned number; /* as it sees itself */
    int mem_err;     /* of set_mempolicy(); 0 = done */
};
enum child_stage {
    CHILD_SETUP,
    CHILD_IDENTITY,
    CHILD_CHDIR,
    CHILD_EXEC,
};
#define CHILD_PID_ROOM 16u /* of pid_slot */
int child_start(struct child *c, pid_t *ret_pid);
/* Make the process now and let it wait: child_start() makes it become the program.  c stays where
 * it is, streams, `give` and the cgroup are settled; the rest may change until then.  Ends with
 * child_release(), started or not.  0 or a negative errno: child_start() makes a process then. */
int child_reserve(struct child *c);
void child_release(struct child *c);
/* The steps of a child's way to its program.  0 or a negative errno; no allocation. */
/* session, cgroups, terminal, limits, CPUs, the job's namespaces */
int child_join(const struct child *c);
int child_become(const struct child *c); /* the user */
int child_chdir(const struct child *c);
int child_place_fds(const struct child *c);
int child_exec(struct child *c); /* returns on failure only */

/* tasklaunch.c: where to look for a program: itself when it names a path, else along the PATH of
 * env.  The list lives in store; NULL: no memory.  *ret_shown: how to call it in messages. */
char *const *launch_paths(struct step *s, const char *program, const struct envlist *env,
                          struct envlist *store, const char **ret_shown);

/* summary.c: what the job used, below the last byte of a batch job's output */
/* All processes of the step have ended: start the one that writes, once, where a summary is
 * wanted and the output is a regular file.  True: the step lasts until that has ended. */
bool summary_begin(struct step *s);
