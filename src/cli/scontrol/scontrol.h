/* scontrol.h - what the parts of scontrol share */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "api.pb-c.h"
#include "cli/base/fedview.h"
#include "cli/format/json_out.h"
#include "cli/format/out_show.h"

struct scontrol {
    struct cli cli;
    struct client *client; /* connected at the first request */
    struct show_opts show;
    struct json_option json;
    bool all, future, quiet;
    bool changes_only; /* watch */
    bool map;          /* show topology */
    const char *since, *clusters;
    struct fedview view; /* of show job, node and partition */
    bool has_uid;        /* --uid: jobs are updated with the rights of this user */
    uint32_t uid;
    int argc; /* of the command line, for JSON's meta */
    char **argv;
    int status; /* exit status so far */
    bool leave; /* exit or quit was typed */
    void (*print_help)(FILE *f);
};

/* ---- scontrol_session.c ---------------------------------------------------------------------- */

/* The connection; exits with `WHAT error: reason` when there is none. */
struct client *scontrol_client(struct scontrol *s, const char *what);
/* Print an error and remember that one happened. */
void scontrol_fail(struct scontrol *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Likewise for a thing that is not there, which --quiet does not print. */
void scontrol_missing(struct scontrol *s, FILE *f, const char *fmt, ...)
    __attribute__((nonnull, format(printf, 3, 4)));

/* ---- the commands: each takes the words behind its keyword ----------------------------------- */

void scontrol_show(struct scontrol *s, int argc, char **argv);
void scontrol_update(struct scontrol *s, int argc, char **argv);
void scontrol_create(struct scontrol *s, int argc, char **argv);
/* Errors among n answers about tasks of one array, see arrayanswer.h.  False: there is none. */
bool scontrol_fail_tasks(struct scontrol *s, Pst__JobActionResult *const *results, size_t n,
                         bool good);
/* False: the result is about something else than tasks that are not there. */
bool scontrol_fail_unknown_tasks(struct scontrol *s, const Pst__JobActionResult *r);
/* An error of one job in an answer. */
void scontrol_fail_result(struct scontrol *s, const Pst__JobActionResult *r);
void scontrol_delete(struct scontrol *s, int argc, char **argv);
void scontrol_show_assocs(struct scontrol *s, int argc, char **argv); /* what follows assoc_mgr */
void scontrol_create_resv(struct scontrol *s, int argc, char **argv);
void scontrol_update_resv(struct scontrol *s, int argc, char **argv);
void scontrol_delete_resv(struct scontrol *s, int argc, char **argv, const char *name);
void scontrol_show_resvs(struct scontrol *s, const char *name); /* NULL = all */
void scontrol_resv_names(FILE *f);
void scontrol_show_licenses(struct scontrol *s, const char *name); /* NULL = all */
void scontrol_listpids(struct scontrol *s, int argc, char **argv);
void scontrol_listjobs(struct scontrol *s, int argc, char **argv);
void scontrol_liststeps(struct scontrol *s, int argc, char **argv);
void scontrol_getent(struct scontrol *s, int argc, char **argv);
void scontrol_pidinfo(struct scontrol *s, int argc, char **argv);
/* After a change of size inside a job: files that set its variables anew. */
void scontrol_write_resized(struct scontrol *s, uint32_t job_id);
void scontrol_explain(struct scontrol *s, int argc, char **argv);
void scontrol_watch(struct scontrol *s, int argc, char **argv);
/* Entities of show, keys of update: lines of --help-interface. */
void scontrol_show_names(FILE *f);
void scontrol_update_names(FILE *f);
/* `Slurmctld(primary) at HOST is UP`; also ends show config.  Fails when it is down. */
void scontrol_ping(struct scontrol *s, int argc, char **argv);

/* scontrol_hosts.c; name: the list, "-" = lines of standard input, NULL = none was given */
void scontrol_show_hostnames(struct scontrol *s, const char *name);
void scontrol_show_hostlist(struct scontrol *s, const char *name);
void scontrol_show_hostlistsorted(struct scontrol *s, const char *name);
/* scontrol_jobs.c */
void scontrol_hold(struct scontrol *s, int argc, char **argv);
void scontrol_uhold(struct scontrol *s, int argc, char **argv);
void scontrol_release(struct scontrol *s, int argc, char **argv);
void scontrol_suspend(struct scontrol *s, int argc, char **argv);
void scontrol_resume(struct scontrol *s, int argc, char **argv);
void scontrol_top(struct scontrol *s, int argc, char **argv);
void scontrol_requeue(struct scontrol *s, int argc, char **argv);
void scontrol_requeuehold(struct scontrol *s, int argc, char **argv);
void scontrol_notify(struct scontrol *s, int argc, char **argv);
void scontrol_wait_job(struct scontrol *s, int argc, char **argv);
void scontrol_write(struct scontrol *s, int argc, char **argv);
void scontrol_completing(struct scontrol *s, int argc, char **argv);
/* name: of the file, NULL = beside slurm.conf */
void scontrol_write_config(struct scontrol *s, const char *name);
/* scontrol_ctld.c */
void scontrol_reconfigure(struct scontrol *s, int argc, char **argv);
void scontrol_shutdown(struct scontrol *s, int argc, char **argv);
void scontrol_takeover(struct scontrol *s, int argc, char **argv);
void scontrol_token(struct scontrol *s, int argc, char **argv);
void scontrol_errnumstr(struct scontrol *s, int argc, char **argv);
void scontrol_getaddrs(struct scontrol *s, int argc, char **argv);
void scontrol_power(struct scontrol *s, int argc, char **argv);
void scontrol_setdebug(struct scontrol *s, int argc, char **argv);
void scontrol_setdebugflags(struct scontrol *s, int argc, char **argv);
void scontrol_schedloglevel(struct scontrol *s, int argc, char **argv);
void scontrol_fsdampeningfactor(struct scontrol *s, int argc, char **argv);
