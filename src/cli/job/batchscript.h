/* batchscript.h - batch scripts: found, read, checked, and searched for #SBATCH lines */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/job/hetopts.h"

#define SCRIPT_MAX (4u << 20) /* bytes */
#define SCRIPT_LINE_MAX 8192u /* bytes of a directive */
#define SCRIPT_WORDS_MAX 256u /* words of a directive */

struct script {
    char *text; /* owned, NUL after len bytes */
    size_t len;
    char *path; /* owned; absolute path of the file, NULL for standard input and --wrap */
};
void script_done(struct script *s);

/* Look a script up: a name with a leading '.' or '/' is a path; else dir (the working directory of
 * the job), else PATH, else as it is.  The caller frees the path. */
char *script_find(const char *name, const char *dir);

/* Read `path`, or standard input when NULL.  Returns 0 or the exit status with the sentence in
 * err. */
int script_read(const char *path, struct script *ret_script, struct err *err);
/* The script of --wrap. */
void script_wrap(const char *command, struct script *ret_script);

/* Emptiness, interpreter line, line breaks, NULs, size.  Returns 0 or the exit status; the
 * sentences, one a line, are in err. */
int script_check(const struct script *s, struct err *err);

/* Apply the #SBATCH lines, and those of #PBS and #BSUB, with source OPT_FROM_SCRIPT.  Returns 0 or
 * the exit status, the message printed; name (NULL: standard input) is the script's in messages.
 * `#SBATCH hetjob` begins the next component. Reading stops at the first line that is neither blank
 * nor a comment. */
int script_options(const struct script *s, const char *name, struct hetopts *h);
