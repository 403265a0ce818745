/* sreport.h - what the files of sreport share
 *
 * A report is asked of the accounting store as one or two UsageRequests, brought into rows, and
 * printed by a table of columns.  One thread; out of memory exits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct.pb-c.h"
#include "cli/base/cli.h"
#include "cli/base/fedview.h"

enum time_form {
    FORM_SECS,
    FORM_MINS,
    FORM_HOURS,
    FORM_PERCENT,
    FORM_SECS_PER,
    FORM_MINS_PER,
    FORM_HOURS_PER,
};

struct sreport {
    struct cli cli;
    struct client *client;
    const char *program_clusters; /* -M */
    struct fedview view;
    const char *tres; /* -T; NULL = cpu, and no column for it */
    bool all_clusters, noheader, quiet, leave;
    int parsable; /* 0, 1: | at the end too, 2 */
    enum time_form form;
    int status;
};

/* What stands behind the report's name. */
struct cond {
    Pst__UsageRequest request;
    char *format; /* owned; NULL: the usual columns */
    char **names; /* of reservations */
    size_t n_names;
    uint32_t *ids; /* likewise; owned */
    size_t n_ids;
    bool tree, group, flat, acct_as_parent, print_count;
    uint32_t top;
};

/* A column of a report. */
struct column {
    const char *name;   /* in Format= */
    const char *header; /* cut at the width */
    int width;          /* negative: text stands left */
    int id;             /* which value, the report's own */
};
struct table {
    const struct sreport *s;
    struct column columns[128];
    size_t n;
    const char *unknown; /* field that is not there, behind those in columns; table_header() ends */
    size_t unknown_len;
};

/* Choose among the columns there are, by Format= or the report's own list. */
void table_init(struct table *t, const struct sreport *s, const struct column *all, size_t n,
                const char *format);
void table_header(const struct table *t);
/* One row: put() writes the text of a column. */
typedef void table_put_fn(void *ctx, int id, char *buf, size_t size);
void table_row(const struct table *t, table_put_fn *put, void *ctx);
/* A time in the form asked for, of a whole. */
void table_time(const struct sreport *s, uint64_t secs, uint64_t whole, char *buf, size_t size);
int table_time_width(const struct sreport *s);
/* The lines above a report.  extra: "CPU Minutes" is made from the form when NULL. */
void table_title(const struct sreport *s, const struct cond *c, const char *title, bool secs,
                 const char *extra);

/* Reports that have the same conditions. */
enum cond_of {
    COND_CLUSTER = 1,
    COND_WHO = 2,
    COND_WCKEYS = 4,
    COND_SIZES = 8,
    COND_TOP = 16,
    COND_RESERVATIONS = 32,
    COND_ALL = 63,
};
/* Conditions: Key=value and words.  What the report does not have is told and left out; false: a
 * value is wrong, and was told. */
bool cond_parse(struct sreport *s, struct cond *c, enum cond_of of, int argc, char **argv);
void cond_done(struct cond *c);
/* Ends the program when nothing in --tres is a TRES: the report would have no row. */
void sreport_check_tres(const struct sreport *s);
/* Ask the store; exits on failure.  The caller frees. */
Pst__UsageReply *sreport_ask(struct sreport *s, const struct cond *c, Pst__UsageKind kind);
/* Gives each text that an answer lacks "": a slurmdbd may leave out what it likes. */
void sreport_fill(Pst__UsageReply *reply);
/* TRES of the rows: as -T says, else cpu. */
bool sreport_wants(const struct sreport *s, const char *tres);

void report_cluster(struct sreport *s, struct cond *c);
enum who_report {
    BY_ACCOUNT_USER,
    BY_ACCOUNT_QOS,
    BY_USER_ACCOUNT,
    BY_USER_WCKEY,
    BY_WCKEY_USER,
    TOP_USERS
};
void report_who(struct sreport *s, struct cond *c, enum who_report which);
enum size_report { SIZES_ACCOUNT, SIZES_ACCOUNT_WCKEY, SIZES_WCKEY };
void report_sizes(struct sreport *s, struct cond *c, enum size_report which);
void report_reservations(struct sreport *s, struct cond *c);
