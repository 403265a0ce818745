/* penstock.h - the parts of the `penstock` command
 *
 * Internal to the command; one thread.  A function per subcommand takes its own argc and argv
 * (argv[0] is the subcommand) and returns the exit status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"

struct client;
struct conf;

enum exit_status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
};

int cmd_up(int argc, char **argv);
int cmd_down(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_ui(int argc, char **argv);
int cmd_shell(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_journal(int argc, char **argv);
int cmd_journal_at(int argc, char **argv);    /* past/journalat.c */
int cmd_journal_audit(int argc, char **argv); /* past/audit.c */
int cmd_backup(int argc, char **argv);        /* past/backup.c */
int cmd_restore(int argc, char **argv);       /* past/restore.c */
int cmd_sim(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_ping(int argc, char **argv);

/* ---- messages.c: `penstock: text` on stderr, rows of --help ---------------------------------- */

void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* `penstock: error: text`; gives STATUS_FAILED. */
int say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int say_nomem(void); /* the same for memory that ran out */
/* The same for a mistake on the command line, with a hint; gives STATUS_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The hint alone: getopt_long has said what is wrong.  Gives STATUS_USAGE. */
int bad_option(void);
/* A row of --help, on standard output.  letter 0, metavar NULL: it has none. */
void print_option(char letter, const char *name, const char *metavar, const char *help);

/* ---- instance.c: a private cluster's folder -------------------------------------------------- */

#define INSTANCE_PATH_MAX 1024u

struct instance {
    char dir[INSTANCE_PATH_MAX];       /* absolute */
    char conf[INSTANCE_PATH_MAX + 32]; /* dir/etc/slurm.conf */
};

/* Resolve --dir (NULL: $XDG_STATE_HOME/penstock/default, else ~/.local/share/penstock/default).
 * Nothing is made.  Errors: -EINVAL a path that slurm.conf cannot hold, -ENAMETOOLONG, -ENOENT no
 * home folder. */
int instance_init(struct instance *in, const char *dir, struct err *err);
bool instance_exists(const struct instance *in); /* has a slurm.conf */
int instance_load(const struct instance *in, struct conf **ret_conf, struct err *err);
/* Connect to its controller.  Errors: as client_connect(). */
int instance_connect(const struct conf *conf, int timeout_ms, struct client **ret_client,
                     struct err *err);
/* To the controller of that line of SlurmctldHost, active or not. */
int instance_connect_host(const struct conf *conf, size_t index, int timeout_ms,
                          struct client **ret_client, struct err *err);
/* A program of this prefix or build tree by name.  Errors: -ENOENT. */
int program_find(const char *name, char *buf, size_t size, struct err *err);
/* Where the program's file is, without the name: what PATH needs. */
int program_folder(const char *name, char *buf, size_t size);

/* How many records of each kind the controller has. */
struct census {
    uint32_t nodes, nodes_ready; /* up and without a flag against them */
    uint32_t pending, running, completing;
};
/* Errors: as client_stream(). */
int instance_census(struct client *c, struct census *ret);

/* ---- instance.c: where a journal is ---------------------------------------------------------- */

/* The folder of a journal: dir is a StateSaveLocation, or that of a private cluster.  Into ret_dir,
 * of INSTANCE_PATH_MAX bytes.  STATUS_OK, or what say_error() gives. */
int journal_find(const char *dir, char *ret_dir);

/* The same for StateSaveLocation of the site's slurm.conf. */
int journal_of_site(char *ret_dir);

/* ---- setup.c: making the folder -------------------------------------------------------------- */

#define SETUP_MAX_NODES 512u
#define SETUP_MAX_EMULATED 20000u
#define SETUP_EMULATED "emu" /* begins the names of emulated nodes */

struct setup {
    uint32_t nodes, cpus; /* cpus: of each node */
    uint32_t emulated;    /* nodes of penstock-emulate, beside these */
    uint64_t node_mem_mib;
    char host[256], user[256];
    uint16_t ctld_port, *node_ports; /* nodes of them; owned */
};
/* Fill in defaults for what is 0 from this machine, and choose free ports. */
int setup_init(struct setup *s, uint32_t nodes, uint32_t cpus, struct err *err);
void setup_done(struct setup *s);
/* The text of slurm.conf; caller frees.  Errors: -ENOMEM. */
int setup_conf_text(const struct setup *s, const struct instance *in, char **ret_text);
/* A port that nobody listens on: *port itself when it is one, else another.  -EADDRINUSE: none. */
int setup_free_port(uint16_t *port, struct err *err);
/* Make the folders and write slurm.conf (to a temporary name, then renamed). */
int setup_write(const struct setup *s, const struct instance *in, struct err *err);

/* ---- procs.c: daemons as processes ----------------------------------------------------------- */

/* A process that was verified to be ours; the descriptor keeps the number from meaning another. */
struct proc {
    pid_t pid;
    int fd; /* pidfd */
    char name[64];
};
struct procs {
    struct proc *items; /* owned */
    size_t n;
};
/* The live daemons that the pid files in dir/run name: their program is slurmctld, slurmd or
 * penstock-emulate and their command line names our slurm.conf.  Errors: -ENOMEM, those of reading
 * the folder. */
int procs_find(const struct instance *in, struct procs *ret);
/* The step daemons that work in our spool folder. */
int procs_find_steps(const struct instance *in, struct procs *ret);
void procs_done(struct procs *p);
/* Send sig to each that still lives. */
void procs_signal(const struct procs *p, int sig);
/* Wait until every one is gone or deadline_mono_us; gives how many are left. */
size_t procs_wait(const struct procs *p, int64_t deadline_mono_us);

/* Start argv[0] with stdout and stderr to out_fd and wait until it ends.  Errors: -ETIMEDOUT (it
 * was killed), -EREMOTEIO it failed, those of posix_spawn. */
int proc_start(char *const *argv, int out_fd, pid_t *ret_pid);
int proc_finish(pid_t pid, int64_t deadline_mono_us);
