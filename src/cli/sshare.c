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
#include "cli/query/out_query.h"
#include "cli/query/out_users.h"
#include "wire/ops.h"

#define FIELDS_MAX 64u
#define DEPTH_MAX 256u
#define WIDTH_MAX 1024u

struct sshare {
    struct cli cli;
    struct client *client;
    const char *format, *clusters;
    bool all, long_format, noheader, parsable, ending, partition, users_only, fair_tree;
    char **accounts, **users;
    size_t n_accounts, n_users;
    struct json_option json;
    struct json js;
    struct share *list;
    size_t n, cap;
    Pst__ShareRecord *names; /* of TRES */
    struct column {
        const struct field *field;
        int width; /* < 0: to the left */
    } columns[FIELDS_MAX];
    size_t ncolumns;
    struct strbuf out;
};

static int print_helpformat(void *at, const struct opt *opt, const char *arg, struct err *err);

#define OPT_INTO struct sshare
static const struct opt rows[] = {
    OPT("accounts", 'A', OPT_REQ, OPT_WORDS(accounts, n_accounts), NULL, NULL, "names",
        "these accounts"),
    OPT("all", 'a', OPT_NONE, OPT_FLAG(all), NULL, NULL, NULL, "all users, not only yourself"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "names",
        "ask this cluster"),
    OPT("cluster", 0, OPT_REQ, OPT_TEXT(clusters), NULL, NULL, "names"),
    OPT("format", 'o', OPT_REQ, OPT_TEXT(format), NULL, NULL, "fields",
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

struct share { /* a record, and its place in the tree */
    Pst__ShareRecord *rec;
    struct share *parent, *child, *sibling;
    bool root;
};

/* ---- fields ---------------------------------------------------------------------------------- */

typedef void put_fn(const struct sshare *s, const struct share *w, struct strbuf *sb);

static void put_account(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_add(sb, w->rec->account ? w->rec->account : "");
}

static void put_cluster(const struct sshare *s, const struct share *w, struct strbuf *sb)
{
    strbuf_add(sb, conf_str(s->cli.conf, CONF_CLUSTER_NAME));
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

static const Pst__ShareTres *tres_of(const struct share *w, uint32_t id)
{
    for (size_t i = 0; i < w->rec->n_tres; i++)
        if (w->rec->tres[i]->tres_id == id)
            return w->rec->tres[i];
    return NULL;
}

enum tres_figure { LIMIT_MINS, USED_MINS, RUN_MINS };

static void put_tres(const struct sshare *s, const struct share *w, enum tres_figure figure,
                     struct strbuf *sb)
{
    size_t start = sb->len;

    for (size_t i = 0; s->names && i < s->names->n_tres; i++) {
        const Pst__ShareTres *name = s->names->tres[i], *t = tres_of(w, name->tres_id);
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
            width = name < len ? strtol(p + name + 1, NULL, 10) : c->field->width;
            c->width = (int)MIN(MAX(width, -(long)WIDTH_MAX), (long)WIDTH_MAX);
            s->ncolumns++;
        }
        p += len;
    }
}

static void choose_columns(struct sshare *s)
{
    if (s->format) {
        add_columns(s, s->format);
        return;
    }
    add_columns(s, "Account,User");
    if (s->partition)
        add_columns(s, "Partition");
    add_columns(s, s->long_format ? "RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare"
                                  : "RawShares,NormShares,RawUsage,EffectvUsage,FairShare");
    if (s->long_format)
        add_columns(s,
                    s->fair_tree ? "LevelFS,GrpTRESMins,TRESRunMins" : "GrpTRESMins,TRESRunMins");
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

static int on_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct sshare *s = ctx;
    ProtobufCMessage *copy;

    (void)info;
    check_mem_or_die(pb_dup(record, &copy));
    if (!s->names) {
        s->names = (Pst__ShareRecord *)copy;
        s->fair_tree = s->names->fair_tree;
        return 0;
    }
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->list = xrealloc_or_die(s->list, s->cap, sizeof(*s->list));
    }
    s->list[s->n] = (struct share){ .rec = (Pst__ShareRecord *)copy };
    s->list[s->n].root = !s->list[s->n].rec->has_shares;
    s->n++;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return (x->rec->assoc_id > y->rec->assoc_id) - (x->rec->assoc_id < y->rec->assoc_id);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Users before accounts, then by name. */
static bool goes_before(const struct share *a, const struct share *b)
{
    int r;

    if (!a->rec->user != !b->rec->user)
        return a->rec->user != NULL;
    r = strcmp(or_empty(a->rec->user ? a->rec->user : a->rec->account),
               or_empty(b->rec->user ? b->rec->user : b->rec->account));
    return r ? r < 0 : strcmp(or_empty(a->rec->partition), or_empty(b->rec->partition)) < 0;
}

static int by_name(const void *a, const void *b)
{
    const struct share *x = *(struct share *const *)a, *y = *(struct share *const *)b;

    return goes_before(x, y) ? -1 : goes_before(y, x);
}

static struct share *make_tree(struct sshare *s)
{
    struct share **sorted = xmalloc_or_die((s->n + 1) * sizeof(struct share *)), *root = NULL;

    if (s->n)
        qsort(s->list, s->n, sizeof(*s->list), by_id);
    for (size_t i = 0; i < s->n; i++) {
        sorted[i] = &s->list[i];
        if (s->list[i].root)
            root = &s->list[i];
    }
    qsort(sorted, s->n, sizeof(struct share *), by_name);
    for (size_t i = s->n; i-- > 0;) { /* from the back: each goes first */
        Pst__ShareRecord key = { .assoc_id = sorted[i]->rec->parent_id };
        const struct share want = { .rec = &key };

        if (sorted[i]->root)
            continue;
        sorted[i]->parent = sorted[i]->rec->has_parent_id
                                ? bsearch(&want, s->list, s->n, sizeof(*s->list), by_id)
                                : root;
        if (!sorted[i]->parent)
            continue;
        sorted[i]->sibling = sorted[i]->parent->child;
        sorted[i]->parent->child = sorted[i];
    }
    free(sorted);
    return root;
}

static bool in_list(char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(list[i], or_empty(word)) == 0)
            return true;
    return false;
}

static bool is_shown(const struct sshare *s, const struct share *w)
{
    if (s->n_accounts && !in_list(s->accounts, s->n_accounts, w->rec->account))
        return false;
    if (!w->rec->user)
        return !s->users_only;
    return s->all || in_list(s->users, s->n_users, w->rec->user);
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
    for (size_t i = 0; i < s->ncolumns; i++)
        put_cell(s, i, s->columns[i].field->name);
    strbuf_addc(&s->out, '\n');
    if (s->parsable)
        return;
    for (size_t i = 0; i < s->ncolumns; i++) {
        strbuf_pad(&s->out, '-', (size_t)abs(s->columns[i].width));
        strbuf_addc(&s->out, ' ');
    }
    strbuf_addc(&s->out, '\n');
}

static void put_row(struct sshare *s, const struct share *w, unsigned depth)
{
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

typedef void visit_fn(struct sshare *s, const struct share *w, unsigned depth);

static void walk_tree(struct sshare *s, const struct share *w, unsigned depth, unsigned level,
                      visit_fn *visit)
{
    bool shown = is_shown(s, w);

    if (shown)
        visit(s, w, depth);
    for (const struct share *k = w->child; k && level < DEPTH_MAX; k = k->sibling)
        walk_tree(s, k, depth + shown, level + 1, visit);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_number(struct json *js, const char *key, bool set, double value)
{
    json_map(js, key);
    json_bool(js, "set", set && !isinf(value));
    json_bool(js, "infinite", set && isinf(value));
    json_double(js, "number", set && !isinf(value) ? value : 0);
    json_map_end(js);
}

static void json_tres(const struct sshare *s, const struct share *w, struct json *js)
{
    json_map(js, "tres");
    for (int list = 0; list < 3; list++) {
        static const char *const names[] = { "run_seconds", "group_minutes", "usage" };

        json_list(js, names[list]);
        for (size_t i = 0; i < s->names->n_tres; i++) {
            const Pst__ShareTres *t = tres_of(w, s->names->tres[i]->tres_id);
            bool limited = t && t->has_grp_mins;

            json_map(js, NULL);
            json_str(js, "name", s->names->tres[i]->name);
            if (list == 0)
                json_set(js, "value", t ? t->run_s : 0);
            else if (list == 1)
                json_number(js, "value", limited, !limited, limited ? (uint64_t)t->grp_mins : 0);
            else
                json_double(js, "value", t ? t->used_s : 0);
            json_map_end(js);
        }
        json_list_end(js);
    }
    json_map_end(js);
}

static void put_json(struct sshare *s, const struct share *w, unsigned depth)
{
    const Pst__ShareRecord *r = w->rec;
    struct json *js = &s->js;

    (void)depth;
    json_map(js, NULL);
    json_int(js, "id", r->assoc_id);
    json_str(js, "cluster", conf_str(s->cli.conf, CONF_CLUSTER_NAME));
    json_str(js, "name", r->user ? r->user : r->account);
    json_str(js, "parent", r->user ? r->account : w->parent ? w->parent->rec->account : "");
    json_str(js, "partition", r->partition);
    put_number(js, "shares_normalized", true, r->norm_shares);
    json_number(js, "shares", r->has_shares && !r->shares_parent, r->shares_parent,
                r->shares_parent ? 0 : r->shares);
    json_tres(s, w, js);
    put_number(js, "effective_usage", true, r->effective_usage);
    put_number(js, "usage_normalized", r->has_norm_usage, r->norm_usage);
    json_int(js, "usage", (int64_t)r->raw_usage);
    json_map(js, "fairshare");
    put_number(js, "factor", true, r->factor);
    put_number(js, "level", r->has_level, r->level);
    json_map_end(js);
    json_one(js, "type", r->user ? "USER" : "ASSOCIATION");
    json_map_end(js);
}

static void list_json(struct sshare *s, const struct share *root, int argc, char **argv)
{
    struct json *js = &s->js;

    json_begin(js, &s->out, json_option_style(&s->json));
    js->plain_null = s->json.complex;
    json_map(js, "shares");
    json_list(js, "shares");
    if (root)
        walk_tree(s, root, 0, 0, put_json);
    json_list_end(js);
    json_int(js, "total_shares", (int64_t)s->n);
    json_map_end(js);
    json_meta(js, argc, argv, conf_str(s->cli.conf, CONF_CLUSTER_NAME),
              conf_str(s->cli.conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(js);
}

/* ---- all of it ------------------------------------------------------------------------------- */

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
    Pst__SharesRequest request = PST__SHARES_REQUEST__INIT;
    int r;

    request.has_tres = true;
    request.tres = s->json.wanted || s->long_format;
    for (size_t i = 0; i < s->ncolumns; i++)
        request.tres = request.tres || s->columns[i].field->tres;
    s->client = cli_connect_or_die(&s->cli, "Couldn't get shares from controller");
    r = query_run(s->client, OP_QUERY_SHARES, &request.base, &pst__share_record__descriptor,
                  on_record, s, NULL);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "Couldn't get shares from controller: %s",
                client_strerror(s->client, r));
}

static void sshare_done(struct sshare *s)
{
    for (size_t i = 0; i < s->n; i++)
        pst__share_record__free_unpacked(s->list[i].rec, NULL);
    free(s->list);
    pst__share_record__free_unpacked(s->names, NULL);
    strbuf_done(&s->out);
    client_free(s->client);
    cli_done(&s->cli);
}

int main(int argc, char **argv)
{
    struct sshare s = { .out = STRBUF_INIT };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    const struct share *root;
    int status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&s.cli, "sshare");
    opts_env(&command, &s);
    (void)opts_parse(&command, argc, argv, &s); /* words that are no options are passed over */
    status = json_option_done(&s.json);
    if (status >= 0)
        return status;
    if (s.format)
        choose_columns(&s); /* mistakes before anything else */
    (void)cli_conf(&s.cli);
    if (s.clusters)
        query_check_clusters(&s.cli, s.clusters, !s.json.wanted);
    if (s.cli.verbose > 0)
        tell_wishes(&s);
    only_me(&s);
    load_shares(&s);
    if (!s.format)
        choose_columns(&s);
    root = make_tree(&s);
    if (s.json.wanted) {
        list_json(&s, root, argc, words);
    } else {
        if (!s.noheader)
            put_header(&s);
        if (root)
            walk_tree(&s, root, 0, 0, put_row);
    }
    (void)fwrite(strbuf_str(&s.out), 1, s.out.len,
                 stdout); /* an error is seen when stdout is closed */
    sshare_done(&s);
    return fflush(stdout) == 0 ? 0 : CLI_EXIT_FAILED;
}
