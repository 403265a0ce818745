/* sacct.h - what the parts of sacct share: the options as read, and the listing under way
 *
 * sacct_opts.c has the options, sacct_ask.c makes the request of them, sacct.c asks and prints. One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acctop.pb-c.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "cli/base/fedview.h"
#include "cli/base/opts.h"
#include "cli/format/fmt_sacct.h"
#include "cli/format/json_out.h"
#include "cli/query/acctchoice.h"
#include "cli/query/out_jobfilter.h"

#define SACCT_NO_TIME INT64_MIN /* -S "$FROM" where FROM is not set: as without the option */

struct named_job {
    uint32_t job_id;
    char name[256], *cluster;
};

struct sacct {
    struct cli cli;
    struct client *client;
    Pst__AcctFilter request;
    struct jobfilter filter;
    struct json_option json;
    struct sacct_fmt fmt;
    struct opt_fields format;
    const char *clusters;
    struct fedview view;
    bool federated;     /* the clusters of view are shown as one */
    const char *file;   /* of --completion */
    const char *assocs; /* a list of numbers */
    bool format_given, long_given;
    bool all_users, noheader, noconvert, expand, helpformat, completion, scripts, array, truncate;
    enum whole_het whole_het; /* components of heterogeneous jobs */
    bool local_uid;           /* numbers of users by their names, here */
    bool have_start, have_end, env_vars, efficiency, report;
    struct named_job *named; /* --batch-script, --env-vars */
    size_t n_named;
    size_t njobs; /* seen */
    int64_t start_us, end_us;
    uint32_t flags; /* of acctflags.h; 0: any */
    char unit;

    struct strbuf out;
    struct json js;
    unsigned bitstr_len;
    const char *cluster;
};
