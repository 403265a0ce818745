/* json_out.h - what commands write with base/json/jsonout.h: options, the trailer, exit codes */
#pragma once

#include "base/json/jsonout.h"
#include "cli/base/opts.h"

/* status, return_code and signal of a wait(2) status. */
void json_exit_code(struct json *js, const char *key, uint32_t status);

/* What follows --json= or --yaml=: list, a version, flags. */
struct json_option {
    bool wanted;
    bool yaml;
    bool list;        /* --json=list: print the versions and leave */
    bool complex;     /* +complex */
    unsigned version; /* 45 of v0.0.45; 0: none was said, the newest */
    const char *bad;  /* a version that is not known; borrowed from the command line */
};
/* arg may be NULL.  Errors: -EINVAL unknown version; messages are the caller's. */
int json_option_parse(struct json_option *opt, bool yaml, const char *arg);
/* Rows of --json and --yaml take their value with these; at is the struct json_option. */
opt_take_fn json_take_json, json_take_yaml;
/* json_begin() in the version that the option says, with its flags, and the style of it, SLURM_JSON
 * and SLURM_YAML. */
void json_begin_option(struct json *js, struct strbuf *out, const struct json_option *opt);
/* Behind the parsing of options: handle --json=list and unknown versions as Slurm's commands do.
 * Returns the exit status, -1 = go on. */
int json_option_done(const struct json_option *opt);

/* The trailer: meta, errors, warnings (js->warning, when it is set).  argc and argv are the command
 * line. */
void json_meta(struct json *js, int argc, char **argv, const char *cluster, const char *storage);
