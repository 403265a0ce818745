/* cli.h - what every command does first: name itself, read slurm.conf, reach the controller
 *
 * One struct cli per process, one thread.  Functions ending in _or_die print one sentence as
 * `PROGRAM: error: ...` and exit; everything else returns 0 or a negative errno. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "conf/conf.h"
#include "wire/client.h"

enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_USAGE = 255, /* sbatch, srun, salloc; query tools use CLI_EXIT_FAILED */
};

struct dial_cluster;
struct luascript;
struct plugins;

struct cli {
    const char *program; /* "sbatch": prefix of messages, name told to the controller */
    int verbose;         /* count of -v; -1 = --quiet; set through cli_set_verbosity() */
    struct conf *conf;   /* read through cli_conf() */
    struct tls_ctx *tls, *step_tls;
    const struct dial_cluster *cluster; /* of -M; NULL: that of slurm.conf; borrowed */
    int timeout_ms;                     /* 0 = MessageTimeout of slurm.conf */
    bool keeps_text;          /* set before the first connection; see client_keeps_text() */
    struct plugins *plugins;  /* of cli/job/cliplugins.h; NULL: none */
    struct luascript *filter; /* of cli/job/clifilter.h; NULL: not loaded */
    bool shows;               /* it only asks: when no controller leads, a standby may answer */
    char standby[160];        /* who answered so, and how old that is; "": the one that leads */
};

/* When the process ends, it tells of output that could not be written, and ends with 1 for 0.
 * `program` is the name that cli_error() and friends print; kept, not copied. */
void cli_init(struct cli *c, const char *program);
void cli_done(struct cli *c);
/* Set c->verbose, which cli_info() and cli_verbose() obey. */
void cli_set_verbosity(struct cli *c, int level);

/* slurm.conf in client scope, loaded at the first call; exits with status 1 when it cannot be
 * read. */
const struct conf *cli_conf(struct cli *c);

/* The name of the cluster that is asked: of -M, else ClusterName of slurm.conf, which is read as by
 * cli_conf().  NULL: it says none. */
const char *cli_cluster_name(struct cli *c);

/* As above, but NULL and no word when it cannot be read. */
const struct conf *cli_conf_try(struct cli *c);

/* Exit status for errors of the workload manager: SLURM_EXIT_ERROR when set, else 1. */
int cli_error_status(void);
/* Exit status when --immediate cannot be met: SLURM_EXIT_IMMEDIATE or 1. */
int cli_immediate_status(void);

/* Connect to the controller: local socket, then each SlurmctldHost in order, repeated until
 * MessageTimeout has passed since the first try (the controller may be restarting).
 * Errors: as client_connect(); err has the sentence. */
int cli_connect(struct cli *c, struct client **ret_client, struct err *err);
/* What c->standby says, for the warnings of JSON; NULL: nothing. */
const char *cli_standby_note(const struct cli *c);
/* As above without repeating: one try at each address. */
int cli_connect_once(struct cli *c, struct client **ret_client, struct err *err);
/* One try at the controller of this SlurmctldHost line, active or not, for timeout_ms at most.
 * -ENOENT: there is no such line. */
int cli_connect_host(struct cli *c, size_t index, int timeout_ms, struct client **ret_client,
                     struct err *err);
/* Can a later try succeed after this error of a connection (the controller is being restarted)? */
bool cli_may_come_back(int r);
/* Where the accounting store is: slurmdbd when AccountingStorageType says so, else the
 * controller.  Exits with Slurm's sentence when there is none. */
struct client *cli_connect_acct_or_die(struct cli *c);
/* slurmdbd on AccountingStorageHost (0) or AccountingStorageBackupHost (1), once.  -ENOENT:
 * there is none. */
int cli_connect_dbd(struct cli *c, unsigned which, struct client **ret_client, struct err *err);
/* Was there an answer at the other end, or a mistake at this one, which err tells better than the
 * errno?  Else nobody answered. */
bool cli_err_tells_more(struct cli *c, int r, const struct err *err);
/* On stderr: AccountingStorageHost could not be reached, for the reason r (-errno). */
void cli_say_dbd_is_away(struct cli *c, int r, const struct err *err);
/* ... the first of both that answers, once. */
int cli_connect_any_dbd(struct cli *c, struct client **ret_client, struct err *err);
/* Does slurmdbd keep the accounting? */
bool cli_acct_is_dbd(struct cli *c);
/* For connections to slurmd with a step's credential; NULL: no TLSType.  Exits without OpenSSL. */
struct tls_ctx *cli_step_tls_or_die(struct cli *c);
/* On failure prints `PROGRAM: error: WHAT: reason` (WHAT may be NULL) and exits
 * cli_error_status(). */
struct client *cli_connect_or_die(struct cli *c, const char *what);

/* Connect, make one call, close.  *ret_reply as client_call(). On failure err has the sentence
 * (the standard text of the code, or what the controller said) and ret_code (may be NULL) the
 * SlurmErr. */
int cli_call(struct cli *c, unsigned op, const ProtobufCMessage *request,
             ProtobufCMessage **ret_reply, int *ret_code, struct err *err);

/* Tries that fail while the controller may come back.  Zero at first. */
struct cli_patience {
    int64_t since_mono_us;
    bool said;
};
#define CLI_SILENT_MS 5000
/* A try failed because of `why`: say so on stderr once they have failed for CLI_SILENT_MS. */
void cli_still_trying(struct cli_patience *p, const char *why);

/* Messages on stderr. */
void cli_error(const char *fmt, ...)
    __attribute__((format(printf, 1, 2))); /* `sbatch: error: text` */
void cli_warning(const char *fmt, ...)
    __attribute__((format(printf, 1, 2))); /* `sbatch: warning: text` */
void cli_info(const char *fmt, ...)
    __attribute__((format(printf, 1, 2))); /* `sbatch: text`, not when quiet */
void cli_verbose(int level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* at -v, -vv */
void cli_print_fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2))); /* as cli_fatal, returns */
noreturn void cli_die(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
noreturn void cli_fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2))); /* `sbatch: fatal: text`, 1 */

/* Allocation or exit: for commands only. */
void *xmalloc_or_die(size_t size); /* zeroed */
void *xrealloc_or_die(void *p, size_t n, size_t size);
char *xstrdup_or_die(const char *text); /* NULL gives NULL */
char *xasprintf_or_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Turn a -ENOMEM of a library call into an exit. */
void check_mem_or_die(int r);

void cli_print_version(void); /* `slurm 26.05.3` */

/* Write what out holds to stdout and empty out: everything and flushed, or (all false) only when
 * much has gathered.  Exits with 1 when nobody reads, or out could not grow. */
void cli_write_out(struct strbuf *out, bool all);
