/* programs.h - scripts and programs of the site, run beside the core
 *
 * The core queues programs.  A thread of this module starts them, ends those that take too long,
 * and collects their exit codes.  A program is an effect: it starts when its lsn is durable.  When
 * the program has ended, its function `done` runs on the core thread. */
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
    int64_t limit_us;      /* [set] time for the whole series; 0 = no limit */
    program_done_fn *done; /* [set] may be NULL */
    uint64_t ticket;       /* the caller's own */
    /* result: wait(2) status of the program of the series that failed; 0: none failed; 127 << 8: it
     * could not be run */
    int status;
    char *output; /* result, with program_output(): all that the last program of the series printed,
                     else NULL */
    /* private to programs.c */
    char **paths, **args, **env, *input, *file_path, *file_text;
    size_t npaths, nargs, nenv, left, output_max;
    bool failed;               /* out of memory while it was built */
    struct programs *programs; /* the object that runs this program */
    int pid, pidfd, output_fd;
    int64_t deadline_mono_us, file_until_mono_us;
};

/* Never NULL.  When memory is lacking, here or in a function below, the program remembers that and
 * fails when it is due. */
struct program *program_new(struct ctld *ctld, const char *what);
/* Add a path, or all matches of a path with glob characters.  Several paths make a series: they run
 * one after the other, from the last to the first, until one fails. */
void program_path(struct program *p, const char *path);
/* Control characters of arg are cleaned.  The caller takes care of an arg that begins with "-". */
void program_arg(struct program *p, const char *arg);
/* The same for a text whose characters the caller has checked: line ends stay. */
void program_arg_text(struct program *p, const char *arg);
void program_env(struct program *p, const char *name, const char *value);
/* The same, and control characters of value are cleaned: for what a user wrote. */
void program_env_line(struct program *p, const char *name, const char *value);
/* The standard input of the program; without a call it is empty. */
void program_input(struct program *p, const char *text);
/* Keep what the program prints, up to max bytes; further writes of the program fail. */
void program_output(struct program *p, size_t max);
/* A file with this text: made as `path` when the program starts, named by the variable `env`, and
 * gone when the program has ended, PROGRAM_FILE_S after its start at the earliest. */
#define PROGRAM_FILE_S 10
void program_file(struct program *p, const char *env, const char *path, const char *text);
/* The i-th argument; NULL: there are fewer. */
const char *program_arg_nth(const struct program *p, size_t i);
/* For a function `done`: why the program failed, as "exit code 2"; gives back buf. */
const char *program_status_text(const struct program *p, char *buf, size_t size);

int programs_new(struct ctld *ctld, struct programs **ret);
void program_free(struct program *p); /* a program that was not queued */
/* Queue p; takes it.  programs NULL: p is dropped.  Core thread. */
void programs_add_take(struct programs *programs, struct program *p);
/* Programs that wait for this lsn or an earlier one may start.  Any thread. */
void programs_release(struct programs *programs, uint64_t lsn);
/* End the thread; running programs go on and are not collected.  Gives NULL. */
struct programs *programs_free(struct programs *programs);
