/* srun.h - one step as srun runs it; internal to srun*.c
 *
 * One thread, one poll(2) loop (srun_loop.c).  Connections: the controller (joblink), and one to
 * each node of the step or, when they are many, to each of TreeWidth relays (wire/fanout.h). */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#include "api.pb-c.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/joblink.h"
#include "cli/job/label.h"
#include "wire/fanout.h"

#define SRUN_STDIN_CHUNK 32768u
/* bytes of input on their way to a node's tasks before ours is left alone */
#define SRUN_INPUT_WINDOW (256u << 10)
#define SRUN_SINK_MAX (1u << 20) /* bytes waiting for an output before the nodes are left alone */

/* Where one of the tasks' streams goes. */
enum io_mode {
    IO_STREAM,  /* our own standard stream */
    IO_NONE,    /* nowhere */
    IO_TASK,    /* our stream, one task only */
    IO_FILE,    /* one file, opened here */
    IO_PATTERN, /* files on the nodes */
};
struct io_spec {
    enum io_mode mode;
    uint32_t task;
    char *path; /* owned: IO_FILE expanded, IO_PATTERN as given */
};

/* An output that may be slow: bytes wait here. */
struct sink {
    int fd;         /* -1: closed or failed */
    bool regular;   /* never blocks */
    bool in_pieces; /* the kernel has no writes without waiting for it */
    bool unread;    /* its reader has gone */
    struct strbuf buf;
    size_t at; /* sent part of buf */
};

struct srun_node {
    const char *name; /* borrowed from the step reply */
    struct srun_part *part;
    uint64_t in_sent, in_taken; /* bytes of our input */
    uint32_t index;             /* within its part */
    uint32_t first, n_tasks;    /* its slice of srun.ranks */
    bool listens; /* its step daemon has the connection; never set where a relay has it */
    bool started, done;
    bool stdin_eof_sent;
    uint32_t *held; /* owned: ranks whose line is not printed yet */
    uint32_t n_held, held_status;
    bool held_oom;
};

/* What one component of the job does in the step; an ordinary step is one part. */
struct srun_part {
    struct jobopts opts;
    char **argv; /* the command is argv[first] up to argv[end] */
    int first, end;
    char *multi_prog;                         /* owned: text of the map */
    uint32_t offset;                          /* of the component */
    Pst__StepReply *reply;                    /* borrowed from srun, unless parts share a job */
    uint32_t first_rank, n_tasks, first_node; /* of the step */
    bool aborting;
    int64_t abort_mono_us; /* aborting: nodes that are not done by then are given up; 0 = not */
};

enum task_state { TASK_STARTING, TASK_RUNNING, TASK_EXITED, TASK_FAILED };

struct srun {
    struct x11forward *x11; /* NULL: not asked for */
    struct cli cli;
    struct jobopts opts; /* of the first part: what concerns srun itself */
    struct srun_part *parts;
    size_t n_parts;
    uint32_t het_size; /* components of the job around us, 0 = it is not heterogeneous */
    bool het_joined;   /* --jobid named it: nothing in our environment is about it */
    struct joblink link;
    int argc, first;
    char **argv;
    bool own_job; /* we made the allocation */
    bool no_job;  /* --no-allocate: job_id is of a step that no job has */
    bool kill_on_bad_exit;
    uint32_t job_id, step_id;
    Pst__JobStatus *grant;        /* owned; own_job only */
    Pst__StepReply *reply;        /* owned, or grant's */
    const Pst__JobRecord *job;    /* borrowed */
    char *bcast_target;           /* --bcast: where the program was copied to; NULL = not */
    bool bcast_suffix;            /* ... with _NODE after it */
    bool bcast_libs;              /* ... and libraries to the folder beside it */
    Pst__HetStepReply *het_reply; /* owned: of a step over components */

    uint32_t n_tasks;
    uint32_t *ranks;     /* by node, see tasks_layout() */
    uint8_t *task_state; /* enum task_state by rank */
    struct srun_node *nodes;
    size_t n_nodes, n_done;
    struct fanout *fans; /* one a part: connections to its nodes or to relays */

    /* streams */
    struct io_spec in, out, err;
    struct sink sink_out, sink_err;
    struct label *label_out, *label_err;
    int in_fd; /* what we read for the tasks, -1 none */
    bool in_eof;
    char *in_buf; /* of SRUN_STDIN_CHUNK; NULL: not yet */
    bool pty;
    struct termios saved_tty;
    bool tty_raw;

    /* signals and the end */
    int sig_fd;
    sigset_t old_mask;
    uint64_t ignored;          /* 1 << signal: not passed on */
    bool interrupted;          /* Ctrl-C ended the step: its user knows what he killed */
    int64_t interrupt_mono_us; /* of the last Ctrl-C, 0 = none */
    int64_t continued_mono_us; /* when SIGCONT came last */
    int64_t first_exit_mono_us, last_exit_mono_us; /* of its tasks; 0 = not yet */
    uint32_t n_exited;                             /* tasks that were told to have ended */
    int64_t tell_mono_us; /* when the held lines are due, 0 = there are none */
    int64_t wait_us;      /* --wait; 0 = for ever */
    bool wait_told, terminating;
    bool task_failed;      /* a task's bad exit ended the step (-K) */
    bool aborting;         /* a part of it, or all */
    bool killed;           /* a task died of SIGKILL or SIGTERM */
    int exit_code;         /* so far */
    uint32_t worst_status; /* wait(2) status that goes with it */
    bool launch_failed;
    struct meeting *meetings; /* srun_mpi.c: those that wait for more tasks */
    bool more_frames;         /* a node may have frames that were received but not handled */
};

/* srun_het.c */
/* Fill s->parts from the command line and the environment; ends the command on a mistake. */
void srun_parts(struct srun *s);
/* The environment of this process becomes that of p's component. */
void srun_take_component(const struct srun *s, const struct srun_part *p);
typedef void srun_spec_fn(struct srun *s, struct srun_part *p, Pst__StepSpec *ret_spec);
/* A step over components of the job; the parts get their replies.  0 or the exit status. */
int srun_het_step(struct srun *s, srun_spec_fn *fill);
/* A step for each part in the nodes of a job without components; as srun_het_step(), but parts that
 * were made before one is refused are there. */
int srun_shared_step(struct srun *s, srun_spec_fn *fill);

/* srun_arbitrary.c: --distribution=arbitrary */
/* Settle the list of nodes, one a task, and the number of tasks; ends the command on a mistake. */
void srun_arbitrary(struct srun_part *p);

/* srun_launch.c */
/* Connect to the nodes and send the launch requests; failures count as failed nodes. */
void srun_launch(struct srun *s);
/* A step that was created will not be launched: tell the controller, unless the job ends with
 * it. */
void srun_unlaunched(struct srun *s, uint32_t exit_status);
/* Tasks, ranks and nodes from the step reply. */
void srun_layout(struct srun *s);

/* The part of a launch request that is equal for all nodes; srun_free_request() frees what it
 * owns. */
void srun_fill_request(struct srun *s, struct srun_part *p, Pst__LaunchStep *req);
void srun_free_request(Pst__LaunchStep *req);
void srun_add_settings(struct srun *s, const struct srun_part *p, struct envlist *env);
/* --slurmd-debug; false: not given. */
bool srun_debug_level(const struct jobopts *jo, uint32_t *ret);

/* srun_exit.c */
void srun_exit_hold(struct srun *s, struct srun_node *n, const Pst__StepTaskExit *msg);
void srun_exit_tell(struct srun *s);           /* the lines of all nodes, now */
void srun_exit_timer(struct srun *s, int *ms); /* tells what is due; *ms at most until the next */

/* srun_hook.c */
/* Run what JO_PROLOG or JO_EPILOG or the configuration names, if anything.  Gives its exit code, or
 * the signal that ended it. */
int srun_hook(struct srun *s, enum jobopt id);

/* srun_bcast.c: --bcast */
/* Words of --compress and --send-libs, which may be wrong without --bcast: 0 or the exit status. */
int srun_bcast_words(const struct jobopts *jo);
int srun_bcast(struct srun *s); /* exit status, the messages printed */
/* the program there; the caller frees */
char *srun_bcast_path(const struct srun *s, const char *node);

/* srun_async.c: --async */
void srun_async_check(struct srun *s); /* exits when it cannot be */
/* Queue the step.  Exit status, the message printed. */
int srun_async(struct srun *s, Pst__StepSpec *spec);

/* srun_mpi.c */
const char *srun_mpi_type(struct srun *s);                /* "pmi2", "pmix"; NULL = none */
void srun_mpi_fill(struct srun *s, Pst__LaunchStep *req); /* srun_free_request() gives it back */
void srun_mpi_free(Pst__LaunchStep *req);
void srun_mpi_message(struct srun *s, struct srun_node *n, const Pst__StepMpi *msg);

/* srun_io.c */
void srun_io_open(struct srun *s); /* exits when a file cannot be opened */
void srun_io_close(struct srun *s);
void srun_io_data(struct srun *s, const Pst__StepIo *io);
void srun_io_notice(struct srun *s, const char *text); /* a line of a node itself */
void srun_io_flush(struct srun *s);                    /* wait until all is written */
bool srun_io_full(const struct srun *s); /* outputs lag behind: read no more from nodes */
bool srun_io_wants_input(const struct srun *s);
void srun_io_read_input(struct srun *s);
void srun_io_send_eof(struct srun *s, struct srun_node *n);
void sink_write(struct sink *k); /* as much as does not block */
bool sink_pending(const struct sink *k);
void srun_tty_restore(struct srun *s);

/* srun_sig.c */
void srun_sig_open(struct srun *s);
void srun_sig_read(struct srun *s);
void srun_task_states(struct srun *s); /* print which tasks start, run, ended */
/* First exit, --wait: what is due now; *ret_ms is when to come back (-1 = not). */
void srun_timers(struct srun *s, int *ret_ms);

/* srun_loop.c */
/* Until every node is done.  Leaves exit_code and worst_status. */
void srun_loop(struct srun *s);

/* srun_stop.c */
void srun_send_signal(struct srun *s, struct srun_part *part, unsigned sig, bool terminate);
/* To all nodes, as one order: send first, and SIGKILL a moment later. */
void srun_signal_kill(struct srun *s, unsigned first);
/* "Job step aborted": nodes that are not done when KillWait has passed are given up. */
void srun_abort(struct srun *s, struct srun_part *part); /* NULL: every part */
/* "Terminating StepId=": CONT, TERM, KillWait, KILL everywhere */
void srun_terminate(struct srun *s);
/* Nodes lo..hi are not reached, or not any more; for struct fanout. */
void srun_lost(void *ctx, uint32_t lo, uint32_t hi, const char *why);
void srun_node_failed(struct srun *s, struct srun_node *n, const char *why);

/* srun_nodes.c */
/* Send to one node; a node that cannot be reached any more is noticed when it is read.  As
 * fanout_send(). */
int srun_node_send(struct srun *s, const struct srun_node *n, unsigned op,
                   const ProtobufCMessage *msg);
/* ... to all nodes that listen or are started and are not done and, if chosen is given, that it
 * says yes to. */
typedef bool srun_choose_fn(const struct srun *s, const struct srun_node *n);
void srun_nodes_send(struct srun *s, srun_choose_fn *chosen, unsigned op,
                     const ProtobufCMessage *msg);
/* ... to those of one part */
void srun_part_send(struct srun *s, const struct srun_part *part, unsigned op,
                    const ProtobufCMessage *msg);
/* No frames come from the node any more. */
void srun_node_done(struct srun *s, struct srun_node *n);
/* Names of all nodes of all parts, folded; the caller frees. */
char *srun_all_nodes(const struct srun *s);
/* An exit code: the greatest counts. */
void srun_note_exit(struct srun *s, int code, uint32_t status);
