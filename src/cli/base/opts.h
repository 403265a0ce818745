/* opts.h - command options as rows: parser, environment, --help, --usage, completion and manual
 * pages
 *
 * A command has one table of rows, sorted as --help shows them.  Common rows that every command
 * gets without naming them: --help, --usage, --version (-V), the hidden --help-table, which dumps
 * the table for tools/gen-man-options, and the hidden --help-interface, which dumps all rows and
 * what else the command knows by name for tools/gen-interface and tools/gen-completion. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum opt_arg {
    OPT_NONE, /* a flag */
    OPT_REQ,  /* --name=value, --name value */
    OPT_OPT,  /* --name[=value] */
};

enum opt_source {                    /* later wins over earlier */
                  OPT_FROM_DEFAULTS, /* of the site or the user: clifilter.h */
                  OPT_FROM_SCRIPT,
                  OPT_FROM_ENV,
                  OPT_FROM_ARGV,
                  OPT_FROM_FILTER, /* the site has the last word */
};

struct opt {
    const char *name; /* long name, without dashes */
    char letter;      /* short form; 0 = none */
    enum opt_arg arg;
    int id;              /* the command's own enum, >= 0 */
    unsigned applies;    /* mask of opt_command.bit; 0 = every command that uses the table */
    const char *env;     /* environment names, comma separated; "@X" = PREFIX_X; NULL = none */
    const char *group;   /* heading in --help; NULL = that of the row before */
    const char *metavar; /* "name", "minutes" ...; NULL for flags */
    const char *help;    /* one line, starts in lower case; NULL = works but is not shown */
    const char *refused; /* why it is refused, "there are no ..."; NULL = it is taken */
};

/* Take one option.  arg is NULL when none was given.  Returns 0, or the exit status with the
 * sentence in err (printed as `PROGRAM: error: sentence`; "" = already reported). */
typedef int opt_set_fn(void *ctx, const struct opt *opt, const char *arg, enum opt_source source,
                       struct err *err);

/* Rows that are known at run time only: options of the site's plugins.  They have no
 * environment, and are taken by a function of their own. */
struct opt_more {
    const struct opt *rows;
    size_t n;
    opt_set_fn *set;
    void *ctx;
};

struct opt_command {
    const char *name;    /* "squeue" */
    const char *prefix;  /* "SQUEUE": of environment names, see opt.env */
    const char *prefix2; /* a full name in opt.env also counts with this prefix; may be NULL */
    unsigned bit;        /* see opt.applies */
    const struct opt *rows;
    size_t n;
    const struct opt_more *more; /* NULL: no others */
    const char
        *synopsis;    /* after the name in the `Usage:` line: "[OPTIONS...] [script [args...]]" */
    int usage_status; /* exit status for a bad option: 1 for query tools, 255 for submission */
    bool permute;     /* options may follow arguments (query tools) */
    bool terse;       /* a bad option gets no `Try ... --help` line (sacct) */
    bool help_with_h; /* -h is --help (commands without an -h of their own) */
    void (*names)(FILE *f); /* lines `KIND<TAB>NAME...` of --help-interface; NULL = options only */
};

/* Parse argv[1..] with getopt_long, calling set for each option.  Prints and exits for --help,
 * --usage,
 * --version, --help-table, unknown options (`Try "CMD --help" for more information`) and what set
 * refused. Returns the index of the first argument that is not an option; argv is reordered when
 * permute. */
int opts_parse(const struct opt_command *cmd, int argc, char **argv, opt_set_fn *set, void *ctx);
/* As above for words of a job script: argv[0] is ignored.  Does not exit for --help and the like:
 * they are ordinary mistakes there.  *ret_status gets the exit status when < 0 is returned (message
 * already printed); stray words end the line.  Returns as opts_parse(). */
int opts_parse_line(const struct opt_command *cmd, int argc, char **argv, opt_set_fn *set,
                    void *ctx, int *ret_status);
/* Apply the environment; exits as opts_parse() does for a value that set refuses.  A flag counts
 * as given when its variable is empty, "yes" or a non-zero number. */
void opts_env(const struct opt_command *cmd, opt_set_fn *set, void *ctx);

/* Row by id; NULL when the command has none. */
const struct opt *opts_find(const struct opt_command *cmd, int id);

/* The texts, for tests. */
void opts_print_help(const struct opt_command *cmd, FILE *f);
void opts_print_usage(const struct opt_command *cmd, FILE *f);
void opts_print_table(const struct opt_command *cmd, FILE *f);
void opts_print_interface(const struct opt_command *cmd, FILE *f);
/* The i-th environment name of a row for this command, written to buf; false past the end. */
bool opts_env_name(const struct opt_command *cmd, const struct opt *opt, size_t i, char *buf,
                   size_t size);
