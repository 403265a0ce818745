/* sshare.c - shares of associations and what they have used
 *
 * The controller answers with a record an association, in no order; they are kept, made a tree and
 * listed from the top: users of an account first, then the accounts below it, by name. */
#include <errno.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "cli/format/json_out.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "cli/base/clusters.h"
#include "cli/query/out_query.h"
#include "cli/query/out_users.h"
#include "cli/format/sharetree.h"
#include "wire/ops.h"

#define FIELDS_MAX 64u
#define WIDTH_MAX 1024u

struct sshare {
    struct cli cli;
    struct client *client;
    struct opt_fields format;
    const char *clusters;
    const char *cluster; /* the shares are of; NULL: slurm.conf says none */
    bool all, long_format, noheader, parsable, ending, partition, users_only;
    char **accounts, **users;
    size_t n_accounts, n_users;
    struct json_option json;
    struct json js;
    struct sharetree tree;
    struct column {
        const struct field *field;
        int width; /* < 0: to the left */
    } columns[FIELDS_MAX];
    size_t ncolumns;
    struct strbuf out;
};

static int print_helpformat(void *at, const struct opt *opt, const char *arg, struct err *err);

/* Users who were named before are not meant any more. */
static int take_all(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct sshare *s = at;

    (void)opt;
    (void)arg;
    (void)err;
    argwords_free(s->users, s->n_users);
    s->users = NULL;
    s->n_users = 0;
    s->all = true;
    return 0;
}

#define OPT_INTO struct sshare
static const struct opt rows[] = {
    OPT("accounts", 'A', OPT_REQ, OPT_WORDS(accounts, n_accounts), NULL, NULL, "names",
        "these accounts"),
    OPT("all", 'a', OPT_NONE, OPT_TAKE_ALL(take_all), NULL, NULL, NULL,
        "all users, not only yourself"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "names",
        "ask this cluster"),
    OPT("cluster", 0, OPT_REQ, OPT_TEXT(clusters), NULL, NULL, "names"),
    OPT("format", 'o', OPT_REQ, OPT_FIELDS(format), NULL, NULL, "fields",
        "columns as name[%width], see --helpformat"),
    OPT("helpformat", 'e', OPT_NONE, OPT_TAKE_ALL(print_helpformat), NULL, NULL, NULL,
        "list the fields of --format"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, json_take_json), NULL, NULL, "version", "print JSON"),
    OPT("long", 'l', OPT_NONE, OPT_FLAG(long_format), NULL, NULL, NULL, "more columns"),
    OPT("noheader", 'n', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "no line of headings"),
    OPT("noheader", 'h', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "as --noheader"),
    OPT("parsable", 'p', OPT_NONE, OPT_AND(OPT_FLAG(parsable), OPT_GIVEN(ending)), NULL, NULL, NULL,
        "columns end with |"),
    OPT("parsable2", 'P', OPT_NONE, OPT_AND(OPT_UNFLAG(ending), OPT_GIVEN(parsable)), NULL, NULL,
        NULL, "columns with | between them"),
    OPT("partition", 'm', OPT_NONE, OPT_FLAG(partition), NULL, NULL, NULL,
        "the partition of each association too"),
    OPT("users", 'u', OPT_REQ, OPT_WORDS(users, n_users), NULL, NULL, "names", "these users"),
    OPT("Users", 'U', OPT_NONE, OPT_FLAG(users_only), NULL, NULL, NULL, "users only, not accounts"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, json_take_yaml), NULL, NULL, "version", "print YAML"),
};

/* ---- fields ---------------------------------------------------------------------------------- */

typedef void put_fn(const struct sshare *s, const struct share *w, struct strbuf *sb);

static void put_account(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_add(sb, w->rec->account ? w->rec->account : "");
}

static void put_cluster(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_add(sb, s->cluster ? s->cluster : "");
}

static void put_user(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_add(sb, w->rec->user ? w->rec->user : "");
}

static void put_partition(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_add(sb, w->rec->partition ? w->rec->partition : "");
}

static void put_id(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_addf(sb, "%u", w->rec->assoc_id);
}

static void put_raw_shares(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    if (w->rec->shares_parent)
        strbuf_add(sb, "parent");
    else if (w->rec->has_shares)
        strbuf_addf(sb, "%u", w->rec->shares);
}

static void put_norm_shares(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_addf(sb, "%f", w->rec->norm_shares);
}

static void put_raw_usage(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_addf(sb, "%llu", (unsigned long long)w->rec->raw_usage);
}

static void put_norm_usage(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    if (w->rec->has_norm_usage)
        strbuf_addf(sb, "%f", w->rec->norm_usage);
}

static void put_effective(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_addf(sb, "%f", w->rec->effective_usage);
}

static void put_factor(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    if (w->rec->has_factor)
        strbuf_addf(sb, "%f", w->rec->factor);
}

static void put_level(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    if (w->rec->has_level)
        strbuf_addf(sb, "%f", w->rec->level); /* "inf" */
}

enum tres_figure { LIMIT_MINS, USED_MINS, RUN_MINS };

static void put_tres(const struct sshare *s, const struct share *w, enum tres_figure figure,
                     struct strbuf *sb)
{
    size_t start = sb->len;

    for (size_t i = 0; s->tree.names && i < s->tree.names->n_tres; i++) {
        const Pst__ShareTres *name = s->tree.names->tres[i], *t = share_tres(w, name->tres_id);
        long long value;

        if (figure == LIMIT_MINS && !(t && t->has_grp_mins))
            continue;
        value = !t                     ? 0
                : figure == LIMIT_MINS ? (long long)t->grp_mins
                : figure == RUN_MINS   ? (long long)(t->run_s / 60)
                                       : (long long)(t->used_s / 60);
        strbuf_addf(sb, "%s%s=%lld", sb->len > start ? "," : "", name->name, value);
    }
}

static void put_limit(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    put_tres(s, w, LIMIT_MINS, sb);
}

static void put_used(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    put_tres(s, w, USED_MINS, sb);
}

static void put_run(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    put_tres(s, w, RUN_MINS, sb);
}

static const struct field {
    const char *name;
    int width;
    bool tres; /* needs what is used of each TRES */
    put_fn *put;
} fields[] = {
    { "Account", -20, false, put_account },
    { "Cluster", 10, false, put_cluster },
    { "EffectvUsage", 13, false, put_effective },
    { "FairShare", 10, false, put_factor },
    { "GrpTRESMins", 30, true, put_limit },
    { "GrpTRESRaw", 30, true, put_used },
    { "ID", 6, false, put_id },
    { "LevelFS", 10, false, put_level },
    { "NormShares", 11, false, put_norm_shares },
    { "NormUsage", 11, false, put_norm_usage },
    { "Partition", 12, false, put_partition },
    { "RawShares", 10, false, put_raw_shares },
    { "RawUsage", 11, false, put_raw_usage },
    { "TRESRunMins", 30, true, put_run },
    { "User", 10, false, put_user },
};

static void print_names(FILE *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        (void)fprintf(f, "field\t%s\t-\t%s\tshown\n", fields[i].name, fields[i].name);
}

/* --helpformat: list the fields and leave. */
static int print_helpformat(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)at, (void)opt, (void)arg, (void)err;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        (void)printf("%-17s%s", fields[i].name,
                     i % 4 == 3                    ? "\n"
                     : i + 1 == ARRAY_SIZE(fields) ? "\n"
                                                   : " ");
    exit(0);
}

static const struct field *find_field(const char *name, size_t len)
{
    for (size_t i = 0; len && i < ARRAY_SIZE(fields); i++)
        if (strncasecmp(fields[i].name, name, len) == 0)
            return &fields[i];
    cli_die(CLI_EXIT_FAILED, "Invalid field requested: \"%.*s\"", (int)len, name);
}

static void add_columns(struct sshare *s, const char *list)
{
    for (const char *p = list; *p; p += *p == ',') {
        size_t len = strcspn(p, ","), name = strcspn(p, "%,");
        long width;

        if (len) {
            struct column *c = &s->columns[s->ncolumns];

            if (s->ncolumns == FIELDS_MAX)
                cli_die(CLI_EXIT_FAILED, "More than %u fields requested", FIELDS_MAX);
            c->field = find_field(p, name);
            width = name < len ? strtol(p + name + 1, NULL, 10) : 0;
            if (!width) /* also of a word that is none */
                width = c->field->width;
            c->width = (int)MIN(MAX(width, -(long)WIDTH_MAX), (long)WIDTH_MAX);
            s->ncolumns++;
        }
        p += len;
    }
}

static void choose_columns(struct sshare *s)
{
    if (s->format.list) {
        /* an empty list stands for the first column, as programs know it */
        add_columns(s, *s->format.list ? s->format.list : "Account");
        return;
    }
    add_columns(s, "Account,User");
    if (s->partition)
        add_columns(s, "Partition");
    add_columns(s, s->long_format ? "RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare"
                                  : "RawShares,NormShares,RawUsage,EffectvUsage,FairShare");
    if (s->long_format)
        add_columns(s, s->tree.names && s->tree.names->fair_tree ? "LevelFS,GrpTRESMins,TRESRunMins"
                                                                 : "GrpTRESMins,TRESRunMins");
}

/* ---- options --------------------------------------------------------------------------------- */

static const struct opt_command command = {
    .name = "sshare",
    .prefix = "SSHARE",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .names = print_names,
};

/* ---- the tree -------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool in_list(char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(list[i], or_empty(word)) == 0)
            return true;
    return false;
}

static bool is_shown(void *ctx, const struct share *w)
{
    const struct sshare *s = ctx;

    if (s->n_accounts && !in_list(s->accounts, s->n_accounts, w->rec->account))
        return false;
    if (!w->rec->user)
        return !s->users_only;
    return s->n_users ? in_list(s->users, s->n_users, w->rec->user) : s->all;
}

/* ---- the listing ----------------------------------------------------------------------------- */

static void put_cell(struct sshare *s, size_t i, const char *text)
{
    int width = abs(s->columns[i].width);

    if (s->parsable)
        strbuf_addf(&s->out, "%s%s", text, i + 1 < s->ncolumns || s->ending ? "|" : "");
    else if (strlen(text) > (size_t)width && width)
        strbuf_addf(&s->out, "%.*s+ ", width - 1, text);
    else
        strbuf_addf(&s->out, "%*s ", s->columns[i].width, text);
}

static void put_header(struct sshare *s)
{
    for (size_t i = 0; i < s->ncolumns; i++) {
        const struct column *c = &s->columns[i];

        if (s->parsable)
            put_cell(s, i, c->field->name);
        else /* cut without a plus */
            strbuf_addf(&s->out, "%*.*s ", c->width, abs(c->width), c->field->name);
    }
    strbuf_addc(&s->out, '\n');
    if (s->parsable)
        return;
    for (size_t i = 0; i < s->ncolumns; i++) {
        strbuf_pad(&s->out, '-', (size_t)abs(s->columns[i].width));
        strbuf_addc(&s->out, ' ');
    }
    strbuf_addc(&s->out, '\n');
}

static void put_row(void *ctx, const struct share *w, unsigned depth)
{
    struct sshare *s = ctx;
    _cleanup_val_(strbuf_done) struct strbuf cell = STRBUF_INIT;

    for (size_t i = 0; i < s->ncolumns; i++) {
        strbuf_reset(&cell);
        if (s->columns[i].field->put == put_account)
            strbuf_pad(&cell, ' ', depth);
        s->columns[i].field->put(s, w, &cell);
        put_cell(s, i, strbuf_str(&cell));
    }
    strbuf_addc(&s->out, '\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json(void *ctx, const struct share *w, unsigned depth)
{
    struct sshare *s = ctx;

    (void)depth;
    share_json(&s->js, &s->tree, w, s->cluster);
}

static void list_json(struct sshare *s, int argc, char **argv)
{
    struct json *js = &s->js;

    json_begin_option(js, &s->out, &s->json);
    json_map(js, "shares");
    json_list(js, "shares");
    sharetree_walk(&s->tree, is_shown, put_json, s);
    json_list_end(js);
    json_int(js, "total_shares", (int64_t)s->tree.n);
    json_map_end(js);
    json_meta(js, argc, argv, s->cluster, conf_str(s->cli.conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(js);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Users are named by their numbers, too: the records have names. */
static void name_users(struct sshare *s)
{
    for (size_t i = 0; i < s->n_users; i++) {
        uint64_t uid;
        const struct passwd *pw =
            getpwnam(s->users[i]) || parse_u64(s->users[i], 0, UINT32_MAX - 1, &uid) < 0
                ? NULL
                : getpwuid((uid_t)uid);

        if (!pw)
            continue;
        free(s->users[i]);
        s->users[i] = xstrdup_or_die(pw->pw_name);
    }
}

static void only_me(struct sshare *s)
{
    const char *name = user_name_of(getuid());

    if (!s->all && !s->n_users && name)
        argwords_add(&s->users, &s->n_users, name);
}

static void tell_names(const char *what, char *const *names, size_t n)
{
    (void)fprintf(stderr, "%s requested:\n", what);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(stderr, "\t: %s\n", names[i]);
    if (!n)
        (void)fprintf(stderr, "\t: all\n");
}

/* Of whom it will tell, as -v says it. */
static void tell_wishes(const struct sshare *s)
{
    tell_names("Users", s->users, s->n_users);
    tell_names("Accounts", s->accounts, s->n_accounts);
}

static void load_shares(struct sshare *s)
{
    bool tres = s->json.wanted || s->long_format;
    int r;

    for (size_t i = 0; i < s->ncolumns; i++)
        tres = tres || s->columns[i].field->tres;
    s->client = cli_connect_or_die(&s->cli, "Couldn't get shares from controller");
    s->cluster = cli_cluster_name(&s->cli);
    r = sharetree_load(s->client, tres, &s->tree);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "Couldn't get shares from controller: %s",
                client_strerror(s->client, r));
}

static void sshare_done(struct sshare *s)
{
    sharetree_done(&s->tree);
    free(s->format.list);
    strbuf_done(&s->out);
    client_free(s->client);
    cli_done(&s->cli);
}

static void list_shares(struct sshare *s, int argc, char **argv)
{
    load_shares(s);
    if (!s->format.list && !s->ncolumns)
        choose_columns(s);
    if (s->json.wanted) {
        list_json(s, argc, argv);
    } else {
        if (!s->noheader)
            put_header(s);
        sharetree_walk(&s->tree, is_shown, put_row, s);
    }
    (void)fwrite(strbuf_str(&s->out), 1, s->out.len,
                 stdout); /* an error is seen when stdout is closed */
    strbuf_reset(&s->out);
    sharetree_done(&s->tree);
    s->client = client_free(s->client);
}

int main(int argc, char **argv)
{
    struct sshare s = { .out = STRBUF_INIT };
    struct clusters clusters = { 0 };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&s.cli, "sshare");
    opts_env(&command, &s);
    (void)opts_parse(&command, argc, argv, &s); /* words that are no options are passed over */
    s.cli.keeps_text = s.json.wanted;
    status = json_option_done(&s.json);
    if (status >= 0)
        return status;
    if (s.format.list)
        choose_columns(&s); /* mistakes before anything else */
    (void)cli_conf(&s.cli);
    if (s.clusters)
        clusters_find_or_die(&s.cli, s.clusters, &clusters);
    if (s.cli.verbose > 0)
        tell_wishes(&s);
    name_users(&s);
    only_me(&s);
    for (size_t i = 0; i < MAX(clusters.n, (size_t)1); i++) {
        if (clusters.n)
            clusters_begin(&s.cli, &clusters, i, !s.json.wanted);
        list_shares(&s, argc, words);
    }
    clusters_done(&s.cli, &clusters);
    sshare_done(&s);
    return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
}
