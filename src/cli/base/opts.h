/* opts.h - command options as rows: parser, environment, --help, --usage, completion and manual
 * pages
 *
 * A command has one table of rows, sorted as --help shows them.  Common rows that every command
 * gets without naming them: --help, --usage, --version (-V), the hidden --help-table, which dumps
 * the table for tools/gen-man-options, and the hidden --help-interface, which dumps all rows and
 * what else the command knows by name for tools/gen-interface and tools/gen-completion.
 *
 * A row also says where the value goes in the command's struct of settings; only a value with rules
 * of its own needs a function. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

struct opt;

/* A value with rules of its own.  at is the member that the row names (OPT_TAKE) or the whole
 * settings (OPT_TAKE_ALL); arg is NULL when none was given.  Returns 0, or the exit status with the
 * sentence in err (printed as `PROGRAM: error: sentence`; "" = already reported). */
typedef int opt_take_fn(void *at, const struct opt *opt, const char *arg, struct err *err);

enum opt_store {
    OPT_STORE_SET = 0, /* the command's opt_command.set takes it */
    OPT_STORE_NOTHING,
    OPT_STORE_TRUE,
    OPT_STORE_FALSE,
    OPT_STORE_TEXT,
    OPT_STORE_COPY,
    OPT_STORE_FIELDS,
    OPT_STORE_WORDS,
    OPT_STORE_WORD,
    OPT_STORE_CHOICE,
    OPT_STORE_BITS,
    OPT_STORE_TAKE,
};

/* Where the value of an option goes.  Written with the macros below. */
struct opt_bind {
    unsigned char store; /* enum opt_store */
    unsigned char size;  /* of a boolean: bool, or protobuf_c_boolean */
    unsigned char given_size;
    bool has_also, has_given;
    unsigned at;    /* offset in the settings */
    unsigned also;  /* OPT_WORDS, OPT_WORD: of the count; OPT_BUT: of the text to forget */
    unsigned given; /* OPT_GIVEN: of the boolean */
    unsigned value; /* OPT_CHOICE, OPT_BITS */
    opt_take_fn *take;
};

/* A command says `#define OPT_INTO struct squeue` before its rows; the members named below are
 * those of this struct, and the ctx that opts_parse() gets points to it.  The compiler checks the
 * member's type. */
#define OPT_AT_(m) (unsigned)offsetof(OPT_INTO, m)
#define OPT_OF_(m) (((OPT_INTO *)NULL)->m)
#define OPT_IS_(m, ...) (0 * sizeof(char[_Generic(OPT_OF_(m), __VA_ARGS__, default : -1)]))
#define OPT_BOOL_(m) (sizeof(OPT_OF_(m)) + OPT_IS_(m, bool : 1, int : 1))

/* Taken, without effect. */
#define OPT_NOTHING .store = OPT_STORE_NOTHING
/* bool, or a boolean of a message: true, or false. */
#define OPT_FLAG(m) .store = OPT_STORE_TRUE, .at = OPT_AT_(m), .size = OPT_BOOL_(m)
#define OPT_UNFLAG(m) .store = OPT_STORE_FALSE, .at = OPT_AT_(m), .size = OPT_BOOL_(m)
/* const char *, or char * of a message that borrows: the argument, which lives as long as the
 * process; NULL when there is none. */
#define OPT_TEXT(m)                                                                                \
    .store = OPT_STORE_TEXT, .at = OPT_AT_(m) + OPT_IS_(m, const char * : 1, char * : 1)
/* char *: a copy, which the command frees. */
#define OPT_COPY(m) .store = OPT_STORE_COPY, .at = OPT_AT_(m) + OPT_IS_(m, char * : 1)
/* struct opt_fields: the fields of a repeated option, one list. */
#define OPT_FIELDS(m)                                                                              \
    .store = OPT_STORE_FIELDS, .at = OPT_AT_(m) + OPT_IS_(m, struct opt_fields : 1)
/* char **m, size_t n: the words of a list at commas, behind those there are; see
 * argwords.h. */
#define OPT_WORDS(m, n)                                                                            \
    .store = OPT_STORE_WORDS, .at = OPT_AT_(m) + OPT_IS_(m, char ** : 1),                          \
    .also = OPT_AT_(n) + OPT_IS_(n, size_t : 1), .has_also = true
/* char **m, size_t n: the argument as it is, instead of those there are. */
#define OPT_WORD(m, n)                                                                             \
    .store = OPT_STORE_WORD, .at = OPT_AT_(m) + OPT_IS_(m, char ** : 1),                           \
    .also = OPT_AT_(n) + OPT_IS_(n, size_t : 1), .has_also = true
/* An int, unsigned or enum gets the value, or these bits too. */
#define OPT_CHOICE(m, v)                                                                           \
    .store = OPT_STORE_CHOICE, .at = OPT_AT_(m) + OPT_IS_(m, int : 1, unsigned : 1), .value = v
#define OPT_BITS(m, v)                                                                             \
    .store = OPT_STORE_BITS, .at = OPT_AT_(m) + OPT_IS_(m, uint32_t : 1), .value = v
/* A function takes it: the address of the member is its `at`; of the whole settings. */
#define OPT_TAKE(m, fn) .store = OPT_STORE_TAKE, .at = OPT_AT_(m), .take = fn
#define OPT_TAKE_ALL(fn) .store = OPT_STORE_TAKE, .take = fn
/* Behind one of the above.  This text is forgotten: the last of two options counts. */
#define OPT_BUT(m) .also = OPT_AT_(m) + OPT_IS_(m, const char * : 1), .has_also = true
/* Behind one of the above.  This boolean becomes true, whatever the value. */
#define OPT_GIVEN(m) .given = OPT_AT_(m), .given_size = OPT_BOOL_(m), .has_given = true

/* What fields an option asked for: each time on the command line adds some, which then count
 * instead of the environment's.  list: owned, NULL = none; zero it to begin. */
struct opt_fields {
    char *list;
    bool typed;
};
void opt_fields_add(struct opt_fields *f, const char *fields, enum opt_source source);

struct opt {
    const char *name; /* long name, without dashes */
    char letter;      /* short form; 0 = none */
    enum opt_arg arg;
    struct opt_bind bind;
    const char *env;     /* environment names, comma separated; "@X" = PREFIX_X, "!X" = X for
                          * commands of other prefixes too; NULL = none */
    const char *group;   /* heading in --help; NULL = that of the row before */
    const char *metavar; /* "name", "minutes" ...; NULL for flags */
    const char *help;    /* one line, starts in lower case; NULL = works but is not shown */
    const char *refused; /* why it is refused, "there are no ..."; NULL = it is taken */
    int id;              /* for opt_command.set: the command's own enum, >= 0 */
    unsigned applies;    /* mask of opt_command.bit; 0 = every command that uses the table */
    bool ours; /* the incumbent does not have it, and its abbreviations stay what they are:
                          * --out is --output in scripts of many years, whatever we add */
};

/* A row: name, letter, argument, one of the binds above, then env, group, metavar, help, refused as
 * far as they are there.  OPT_AND joins a bind and what stands behind it. */
#define OPT(name_, letter_, arg_, bind_, ...)                                                      \
    {                                                                                              \
        name_, letter_, arg_, { bind_ }, __VA_ARGS__                                               \
    }
#define OPT_AND(bind_, ...) bind_, __VA_ARGS__

/* Take an option whose row has no bind.  Returns as opt_take_fn. */
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
    opt_set_fn *set;             /* for rows without a bind; NULL = there are none */
    const struct opt_more *more; /* NULL: no others */
    const char
        *synopsis;     /* after the name in the `Usage:` line: "[OPTIONS...] [script [args...]]" */
    bool names_itself; /* its name stands before the words about --help too */
    int usage_status;  /* exit status for a bad option: 1 for query tools, 255 for submission */
    bool permute;      /* options may follow arguments (query tools) */
    bool hears_empty;  /* .set is told of variables that are set but empty */
    bool terse;        /* a bad option gets no `Try ... --help` line (sacct) */
    bool help_with_h;  /* -h is --help (commands without an -h of their own) */
    bool usage_with_u; /* -u is --usage (sattach) */
    const char *usage; /* all that --usage says behind the name; NULL = made of the options */
    void (*print_all)(FILE *f); /* for --help and --usage: more than the options; NULL = those */
    void (*names)(FILE *f); /* lines `KIND<TAB>NAME...` of --help-interface; NULL = options only */
};

/* Parse argv[1..] with getopt_long and put each option where its row says in the settings ctx.
 * Prints and exits for --help, --usage, --version, --help-table, unknown options (`Try "CMD --help"
 * for more information`) and values that are refused.  Returns the index of the first argument that
 * is not an option; argv is reordered when permute. */
int opts_parse(const struct opt_command *cmd, int argc, char **argv, void *ctx);
/* As above for words of a job script: argv[0] is ignored, --help and the like have no effect.
 * *ret_status gets the exit status when < 0 is returned (message already printed); stray words end
 * the line.  Returns as opts_parse(). */
int opts_parse_line(const struct opt_command *cmd, int argc, char **argv, void *ctx,
                    int *ret_status);
/* Take one option by its id, as if its row had been found on the command line.  Returns 0 or the
 * exit status, the message printed. */
int opts_take(const struct opt_command *cmd, int id, const char *arg, enum opt_source source,
              void *ctx);
/* Apply the environment; exits as opts_parse() does for a value that is refused.  A flag counts
 * as given when its variable is empty, "yes" or a non-zero number. */
void opts_env(const struct opt_command *cmd, void *ctx);

/* Values that several commands have. */
int opt_take_verbose(void *cli, const struct opt *opt, const char *arg, struct err *err);
int opt_take_quiet(void *cli, const struct opt *opt, const char *arg, struct err *err);
#define OPT_VERBOSE(m) OPT_TAKE(m, opt_take_verbose) /* struct cli: one level more */
#define OPT_QUIET(m) OPT_TAKE(m, opt_take_quiet)     /* struct cli: messages of errors alone */
/* uint32_t: a number from 1; else the sentence is `--NAME=VALUE`. */
int opt_take_count(void *number, const struct opt *opt, const char *arg, struct err *err);

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
