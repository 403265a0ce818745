/* programs.h - scripts and programs of the site, run beside the core
 *
 * One thread starts them, watches their time and collects them; the core only queues.  A program
 * is an effect: it starts when its lsn is durable.  When it is over its `done` runs on the core
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctld;
struct programs;
struct program;

typedef void program_done_fn(struct ctld *ctld, const struct program *p);

/* Made by program_new(); fields marked [set] are the caller's to fill before it is queued. */
struct program {
    struct program *next;
    struct ctld *ctld;
    const char *what;      /* [set] "PrologSlurmctld": for the log; static */
    uint64_t lsn;          /* [set] starts when this is durable */
    uint32_t job_id;       /* [set] 0: about no job */
    uint64_t run_id;       /* [set] */
    int64_t limit_us;      /* [set] time for all of it; 0 = none */
    program_done_fn *done; /* [set] may be NULL */
    uint64_t ticket;       /* the caller's own */
    /* result: wait(2) status of the one that failed, or 0; 127 << 8 not run */
    int status;
    char *output; /* result, with program_output(): what the last one printed, in full; else NULL */
    /* private to programs.c */
    char **paths, **args, **env, *input, *file_path, *file_text;
    size_t npaths, nargs, nenv, left, output_max;
    bool failed;               /* out of memory while it was built */
    struct programs *programs; /* that run it */
    int pid, pidfd, output_fd;
    int64_t deadline_mono_us, file_until_mono_us;
};

/* Out of memory is remembered in the program, which then fails when it is due. */
struct program *program_new(struct ctld *ctld, const char *what);
/* Add a path; with glob characters every match counts.  Several run one after the other, the
 * last one first; the first failure ends the series. */
void program_path(struct program *p, const char *path);
/* Control characters of arg are cleaned; what a leading "-" may mean is the caller's to know. */
void program_arg(struct program *p, const char *arg);
/* The same for a text whose characters the caller has looked at: lines stay lines. */
void program_arg_text(struct program *p, const char *arg);
void program_env(struct program *p, const char *name, const char *value);
/* The same for a user's word that is one line, without control characters. */
void program_env_line(struct program *p, const char *name, const char *value);
/* its standard input; else that is empty */
void program_input(struct program *p, const char *text);
/* Keep what it prints: up to max bytes; it cannot write more. */
void program_output(struct program *p, size_t max);
/* A file with this text: made as `path` when the program starts, named by the variable `env`, and
 * gone when the program has ended, PROGRAM_FILE_S after its start at the earliest. */
#define PROGRAM_FILE_S 10
void program_file(struct program *p, const char *env, const char *path, const char *text);
/* The i-th argument, NULL: there are not so many. */
const char *program_arg_nth(const struct program *p, size_t i);
/* For a `done`: what went wrong, "exit code 2"; gives back buf. */
const char *program_status_text(const struct program *p, char *buf, size_t size);

int programs_new(struct ctld *ctld, struct programs **ret);
void program_free(struct program *p); /* one that is not queued after all */
/* Queue p; takes it.  programs NULL: p is dropped.  Core thread. */
void programs_add_take(struct programs *programs, struct program *p);
/* What waits for lsn may start.  Any thread. */
void programs_release(struct programs *programs, uint64_t lsn);
/* End the thread; programs that run go on without us.  Gives NULL. */
struct programs *programs_free(struct programs *programs);
