/* sacctmgr.h - what the parts of sacctmgr share; for sacctmgr*.c only
 *
 * One struct smgr per process.  A line of words is parsed into conditions and settings, sent, and
 * what came back is printed.  For commands only: out of memory exits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "cli/format/json_store.h"
#include "cli/query/out_query.h"
#include "acctop.pb-c.h"
#include "assoc.pb-c.h"

enum smgr_style { SMGR_FIXED, SMGR_PARSABLE, SMGR_PARSABLE2 };

struct smgr {
    struct cli cli;
    struct client *client; /* kept; NULL = not connected */
    int argc;
    char **argv;
    enum smgr_style style;
    bool immediate, noheader, readonly, quiet, oneliner, with_assoc;
    struct json_option json;
    char *last;     /* line of the prompt, for !! */
    bool prompting; /* commands come from stdin */
    bool ending;    /* of the prompt's loop */
    int status;     /* exit status so far */
    /* read when first needed */
    struct store_names names;
    bool have_tres, have_qos;
};

/* ---- sacctmgr_session.c ---------------------------------------------------------------------- */

struct client *smgr_client(struct smgr *s); /* connected, or the process ends */
/* Do a request.  NULL: the store could not be asked; told, and the status is set.  Caller frees. */
Pst__AcctAdminReply *smgr_request(struct smgr *s, const Pst__AcctAdminRequest *req);
/* Give each record of a listing to fn.  False: it failed; told. */
bool smgr_list(struct smgr *s, Pst__AcctEntity entity, const Pst__AcctCond *where, query_fn *fn,
               void *ctx);
/* Ask the person ("Are you sure?"); true = yes.  Always true with --immediate.  The first y or n of
 * the answer counts; a line's end is a no. */
bool smgr_ask(struct smgr *s, const char *question);
/* ... whether to commit changes; a no is told. */
bool smgr_commit(struct smgr *s);
/* The tables of TRES and QOS, which are read when first needed; after a change. */
void smgr_forget_tables(struct smgr *s);
void smgr_fail(struct smgr *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));             /* stderr */
bool smgr_may_write(struct smgr *s, const char *verb); /* told when not */

/* ---- sacctmgr_value.c ------------------------------------------------------------------------ */

/* Is word at least min letters of the beginning of name, letter case aside? */
bool smgr_is(const char *word, const char *name, size_t min);
void smgr_add_string(char ***list, size_t *n, const char *text, size_t len);

/* ---- sacctmgr_text.c: tables of the store in words ------------------------------------------- */

void smgr_load_tres(struct smgr *s);
void smgr_load_qos(struct smgr *s);
const Pst__TresRecord *smgr_tres(struct smgr *s, uint32_t id);
const char *smgr_qos_name(struct smgr *s, uint32_t id); /* NULL = unknown */
bool smgr_qos_id(struct smgr *s, const char *name, uint32_t *ret_id);
/* "cpu=4,mem=4G" */
void smgr_put_tres(struct smgr *s, struct strbuf *sb, Pst__TresCount *const *list, size_t n);
/* Names, sorted. */
void smgr_put_qos_list(struct smgr *s, struct strbuf *sb, const uint32_t *ids, size_t n);
/* "cpu=4,mem-=2G".  Errors: -EINVAL with the sentence, -ERANGE when a count has a unit that is
 * none. */
int smgr_parse_tres(struct smgr *s, const char *text, Pst__TresCount ***list, size_t *n,
                    struct err *err);
void smgr_put_qos_flags(struct strbuf *sb, uint32_t flags);
/* CPUs of the node, or of the cluster. */
uint64_t smgr_event_cpus(const Pst__AcctEventRecord *e);
bool smgr_parse_qos_flags(const char *text, uint32_t *ret_flags);

/* ---- sacctmgr_parse.c: words into requests --------------------------------------------------- */

enum smgr_entity {
    SMGR_ACCOUNT = 1u << 0,
    SMGR_ASSOC = 1u << 1,
    SMGR_CLUSTER = 1u << 2,
    SMGR_COORD = 1u << 3,
    SMGR_EVENT = 1u << 4,
    SMGR_JOB = 1u << 5,
    SMGR_QOS = 1u << 6,
    SMGR_RESOURCE = 1u << 7,
    SMGR_TRES = 1u << 8,
    SMGR_TXN = 1u << 9,
    SMGR_USER = 1u << 10,
    SMGR_WCKEY = 1u << 11,
    SMGR_RUNAWAY = 1u << 12,
    SMGR_CONFIG = 1u << 13,
    SMGR_FEDERATION = 1u << 14,
    SMGR_INSTANCE = 1u << 15,
    SMGR_PROBLEM = 1u << 16,
    SMGR_RESERVATION = 1u << 17,
    SMGR_STATS = 1u << 18,
};

enum smgr_mode { SMGR_LIST, SMGR_ADD, SMGR_MODIFY, SMGR_DELETE };

/* One line, parsed.  Initialised by parse, freed by smgr_line_done(). */
struct smgr_line {
    struct smgr *s;
    enum smgr_entity entity;
    Pst__AcctCond *where;
    Pst__AcctSet *set;
    bool has_where, has_set; /* anything chosen; anything set */
    char **formats;          /* of format= */
    size_t n_formats;
    bool tree, with_assoc, with_coord, with_clusters, with_fed, no_limits, no_parent_info, all_time,
        all_clusters, open_only;
    const char *word; /* the one being taken, as it was typed */
    enum smgr_mode mode;
    bool ignored;           /* its value was told to be bad, and the rest goes on */
    uint32_t preempt_modes; /* list qos preemptmode=; 0 = any */
    /* list event: of the CPUs that it took away or the cluster had; 0 = any */
    uint32_t min_cpus, max_cpus;
    bool has_class; /* where classification= of clusters */
    uint32_t class;
    char **names_of_class;
    size_t n_names_of_class;
    int choose_coords;   /* list account flags=: 1 with UsersAreCoords, -1 without; 0 = any */
    char **server_names; /* of names such as fluent@lic1 */
    size_t n_server_names;
    bool from_file; /* of dump: there is no condition to hint at */
    bool bad_unit;  /* of a count: told, and modify says that it changed nothing */
    bool failed;
};

/* False: what is wrong was told and the status set. */
bool smgr_parse(struct smgr *s, enum smgr_entity entity, enum smgr_mode mode, int n, char **words,
                struct smgr_line *ret_line);
void smgr_line_done(struct smgr_line *l);
/* An association's settings from one option of a flat file; false = no such option. */
bool smgr_set_option(struct smgr_line *l, const char *name, const char *value);
/* The keys an entity knows, for completion and the manual page. */
void smgr_print_keys(FILE *f);

/* "  MaxJobs       = 500" for all limits set, with the names padded to width. */
void smgr_put_settings(struct smgr *s, struct strbuf *sb, const Pst__AcctSet *set, bool qos);

/* The settings of a cluster's record in words, a line each. */
void smgr_put_cluster_settings(struct strbuf *sb, const Pst__AcctSet *set);
/* "ACTIVE", "DRAIN+REMOVE"; "NA": in no federation. */
const char *smgr_fed_state(const Pst__AcctClusterRecord *c);
bool smgr_parse_fed_state(const char *word, uint32_t *ret_state);

/* ---- sacctmgr_fields.c: columns -------------------------------------------------------------- */

struct smgr_row {
    struct smgr *s;
    const Pst__AssocRecord *assoc;
    const Pst__AccountRecord *account;
    const Pst__UserRecord *user;
    const Pst__QosRecord *qos;
    const Pst__AcctClusterRecord *cluster;
    const Pst__FederationRecord *federation; /* a row of a list of federations */
    const Pst__TresRecord *tres;
    const Pst__WckeyRecord *wckey;
    const Pst__ResourceRecord *resource;
    const Pst__ResourceShare *share;
    const Pst__AcctEventRecord *event;
    const Pst__AcctInstanceRecord *instance;
    const Pst__AcctResvRecord *resv;
    const Pst__AcctTxnRecord *txn;
    const char *default_account; /* of the user */
    const char *coordinated;     /* accounts, comma list */
    const char *wckeys;
    const char *problem;
    int64_t now_us;
    unsigned depth; /* in the tree */
    bool tree;
    bool as_written; /* of a file: what it does not say is left empty */
};

struct smgr_field;
struct smgr_table;
/* Columns of names separated by commas; NULL: an unknown one, told. */
struct smgr_table *smgr_table_new(struct smgr *s, char **formats, size_t n, bool tree);
struct smgr_table *smgr_table_default(struct smgr *s, const char *names, bool tree);
struct smgr_table *smgr_table_free(struct smgr_table *t); /* always NULL */
void smgr_table_header(struct smgr_table *t, struct strbuf *out);
void smgr_table_row(struct smgr_table *t, const struct smgr_row *row, struct strbuf *out);
void smgr_print_fields(FILE *f);

/* ---- the commands ---------------------------------------------------------------------------- */

void smgr_show(struct smgr *s, int n, char **words); /* sacctmgr_list.c */
void smgr_add(struct smgr *s, int n, char **words);  /* sacctmgr_change.c */
void smgr_modify(struct smgr *s, int n, char **words);
void smgr_delete(struct smgr *s, int n, char **words);
void smgr_dump(struct smgr *s, int n, char **words); /* sacctmgr_dump.c */
void smgr_load(struct smgr *s, int n, char **words); /* sacctmgr_load.c */
void smgr_ping(struct smgr *s);                      /* sacctmgr_daemon.c */
void smgr_show_config(struct smgr *s);
void smgr_show_stats(struct smgr *s);
void smgr_clear_stats(struct smgr *s);
void smgr_shutdown(struct smgr *s, int n, char **words);
void smgr_reconfigure(struct smgr *s);
void smgr_archive(struct smgr *s, int n, char **words);
/* Is the caller root, SlurmUser, or a user with that level?  For what is refused before the store
 * is asked to do something. */
bool smgr_has_level(struct smgr *s, Pst__AdminLevel least);
void smgr_show_runaway(struct smgr *s, int n, char **words); /* sacctmgr_jobs.c */
void smgr_modify_job(struct smgr *s, int n, char **words);
void smgr_show_problems(struct smgr *s, struct smgr_line *l);
/* JSON of a listing; false: this entity has none. */
bool smgr_show_json(struct smgr *s, struct smgr_line *l); /* sacctmgr_json.c */
bool smgr_entity_of(const char *word, enum smgr_entity *ret);

/* sacctmgr_usage.c: RawUsage=0 of what where means; says what went wrong.  The first is asked
 * before anything is changed. */
bool smgr_may_reset_usage(struct smgr *s, enum smgr_entity entity, const Pst__AcctCond *where);
void smgr_reset_usage(struct smgr *s, enum smgr_entity entity, const Pst__AcctCond *where);
