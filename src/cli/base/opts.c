/* opts.c - one table of rows per command; everything users see about options derives from it
 *
 * Builds getopt_long's tables from the rows once per parse.  --help has Slurm's layout: short form
 * in column 2, long form in column 6, text in column 30.  One thread: getopt keeps global state. */
#include "cli/base/opts.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/argwords.h"
#include "cli/base/cli.h"

#define VAL_BASE 0x1000 /* getopt values of rows: VAL_BASE + index, away from letters */
#define VAL_HELP 0x801
#define VAL_USAGE 0x802
#define VAL_VERSION 0x803
#define VAL_TABLE 0x804
#define VAL_INTERFACE 0x805
#define TEXT_COLUMN 30
#define TEXT_WIDTH 80
#define ENV_NAME_MAX 64
#define FLAG_TIMES_MAX 8

struct parser {
    struct option *longs;     /* every option */
    struct option *incumbent; /* ... without ours */
    size_t n_longs, n_incumbent;
    char *shorts;
};

static bool row_applies(const struct opt_command *cmd, const struct opt *o)
{
    return o->applies == 0 || (o->applies & cmd->bit) != 0;
}

/* The rows of the command, and behind them those that came at run time. */
static size_t row_count(const struct opt_command *cmd)
{
    return cmd->n + (cmd->more ? cmd->more->n : 0);
}

static const struct opt *row_at(const struct opt_command *cmd, size_t i)
{
    return i < cmd->n ? &cmd->rows[i] : &cmd->more->rows[i - cmd->n];
}

static int has_arg(const struct opt *o)
{
    switch (o->arg) {
    case OPT_REQ:
        return required_argument;
    case OPT_OPT:
        return optional_argument;
    case OPT_NONE:
        break;
    }
    return no_argument;
}

static void add_short(struct strbuf *sb, const struct opt *o)
{
    strbuf_addc(sb, o->letter);
    if (o->arg != OPT_NONE)
        strbuf_add(sb, o->arg == OPT_REQ ? ":" : "::");
}

/* Spellings of earlier releases, which programs still use (Open MPI 4); neither help nor the list
 * of an ambiguous abbreviation names them.  Gives the word in today's spelling, or word itself. */
static char *present_spelling(char *word)
{
    static const struct {
        const char *old, *name;
    } spellings[] = { { "--cpu_bind", "--cpu-bind" }, { "--mem_bind", "--mem-bind" } };

    for (size_t i = 0; word && i < ARRAY_SIZE(spellings); i++) {
        size_t len = strlen(spellings[i].old);

        if (strncmp(word, spellings[i].old, len) == 0 && (!word[len] || word[len] == '='))
            return xasprintf_or_die("%s%s", spellings[i].name, word + len); /* as long as argv */
    }
    return word;
}

/* The row that this one is another spelling of (--users of --user), else itself.  getopt takes an
 * abbreviation of both when they mean the same. */
static size_t synonym_of(const struct opt_command *cmd, size_t i)
{
    const struct opt *o = row_at(cmd, i);
    size_t len = strlen(o->name);

    for (size_t j = 0; o->name[len - 1] == 's' && j < cmd->n && i < cmd->n; j++) {
        const struct opt *other = &cmd->rows[j];

        if (strncmp(other->name, o->name, len - 1) == 0 && !other->name[len - 1] &&
            other->arg == o->arg && other->bind.store == o->bind.store &&
            other->bind.take == o->bind.take && other->bind.at == o->bind.at &&
            other->id == o->id && row_applies(cmd, other))
            return j;
    }
    return i;
}

/* The table to look the next option up in: the incumbent's, unless the word is one of ours or no
 * abbreviation of one of its options. */
static const struct option *table_for(const struct parser *p, const struct opt_command *cmd,
                                      int argc, char **argv, int next)
{
    const char *word;
    size_t len;

    while (cmd->permute && next < argc && argv[next][0] != '-')
        next++; /* getopt passes over arguments */
    if (next >= argc || strncmp(argv[next], "--", 2) != 0)
        return p->longs;
    word = argv[next] + 2;
    len = strcspn(word, "=");
    for (const struct option *o = p->longs; o->name; o++)
        if (strlen(o->name) == len && strncmp(o->name, word, len) == 0)
            return p->longs;
    for (const struct option *o = p->incumbent; o->name; o++)
        if (strncmp(o->name, word, len) == 0)
            return p->incumbent;
    return p->longs;
}

/* There is room. */
static void add_long(struct parser *p, const struct option *o, bool ours)
{
    p->longs[p->n_longs++] = *o;
    if (!ours)
        p->incumbent[p->n_incumbent++] = *o;
}

static void parser_init(struct parser *p, const struct opt_command *cmd)
{
    static const struct {
        struct option option;
        bool ours;
    } common[] = {
        { { "help", no_argument, NULL, VAL_HELP }, false },
        { { "usage", no_argument, NULL, VAL_USAGE }, false },
        { { "version", no_argument, NULL, VAL_VERSION }, false },
        { { "help-table", no_argument, NULL, VAL_TABLE }, true },
        { { "help-interface", no_argument, NULL, VAL_INTERFACE }, true },
    };
    struct strbuf sb = STRBUF_INIT;
    size_t rows = row_count(cmd), room = rows + ARRAY_SIZE(common) + 1;

    *p = (struct parser){ .longs = xmalloc_or_die(room * sizeof(*p->longs)),
                          .incumbent = xmalloc_or_die(room * sizeof(*p->incumbent)) };
    strbuf_add(&sb, cmd->permute ? "V" : "+V");
    if (cmd->help_with_h)
        strbuf_addc(&sb, 'h');
    if (cmd->usage_with_u)
        strbuf_addc(&sb, 'u');
    for (size_t i = 0; i < rows; i++) {
        const struct opt *o = row_at(cmd, i);

        if (!row_applies(cmd, o))
            continue;
        add_long(p,
                 &(struct option){ o->name, has_arg(o), NULL, VAL_BASE + (int)synonym_of(cmd, i) },
                 o->ours);
        if (o->letter)
            add_short(&sb, o);
    }
    for (size_t i = 0; i < ARRAY_SIZE(common); i++)
        add_long(p, &common[i].option, common[i].ours);
    p->longs[p->n_longs] = p->incumbent[p->n_incumbent] = (struct option){ .name = NULL };
    check_mem_or_die(strbuf_detach(&sb, &p->shorts));
}

static void parser_done(struct parser *p)
{
    free(p->longs);
    free(p->incumbent);
    free(p->shorts);
}

static const struct opt *row_of(const struct opt_command *cmd, int val)
{
    if (val >= VAL_BASE)
        return row_at(cmd, (size_t)(val - VAL_BASE));
    for (size_t i = 0; i < cmd->n; i++) {
        if (cmd->rows[i].letter && cmd->rows[i].letter == val && row_applies(cmd, &cmd->rows[i]))
            return &cmd->rows[i];
    }
    return NULL;
}

const struct opt *opts_find(const struct opt_command *cmd, int id)
{
    for (size_t i = 0; i < cmd->n; i++) {
        if (cmd->rows[i].id == id && row_applies(cmd, &cmd->rows[i]))
            return &cmd->rows[i];
    }
    return NULL;
}

static void try_help(const struct opt_command *cmd)
{
    (void)fprintf(stderr, "%s%sTry \"%s --help\" for more information\n",
                  cmd->names_itself ? cmd->name : "", cmd->names_itself ? ": " : "", cmd->name);
}

static void print_help(const struct opt_command *cmd)
{
    if (cmd->print_all)
        cmd->print_all(stdout);
    else
        opts_print_help(cmd, stdout);
}

static void print_usage(const struct opt_command *cmd)
{
    if (cmd->print_all)
        cmd->print_all(stdout);
    else
        opts_print_usage(cmd, stdout);
}

/* Answers --help and friends.  True when val was one of them. */
static bool common_option(const struct opt_command *cmd, int val)
{
    switch (val) {
    case VAL_HELP:
        print_help(cmd);
        return true;
    case 'h':
        if (!cmd->help_with_h)
            return false;
        print_help(cmd);
        return true;
    case 'u':
        if (!cmd->usage_with_u)
            return false;
        print_usage(cmd);
        return true;
    case VAL_USAGE:
        print_usage(cmd);
        return true;
    case VAL_VERSION:
    case 'V':
        cli_print_version();
        return true;
    case VAL_TABLE:
        opts_print_table(cmd, stdout);
        return true;
    case VAL_INTERFACE:
        opts_print_interface(cmd, stdout);
        return true;
    default:
        return false;
    }
}

static bool is_common(const struct opt_command *cmd, int val)
{
    return (val >= VAL_HELP && val <= VAL_INTERFACE) || val == 'V' ||
           (val == 'h' && cmd->help_with_h) || (val == 'u' && cmd->usage_with_u);
}

static bool is_more(const struct opt_more *more, const struct opt *o)
{
    return more && o >= more->rows && o < more->rows + more->n;
}

/* ---- where values go ------------------------------------------------------------------------- */

int opt_take_verbose(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct cli *cli = at;

    (void)opt, (void)arg, (void)err;
    cli_set_verbosity(cli, cli->verbose + 1);
    return 0;
}

int opt_take_quiet(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)arg, (void)err;
    cli_set_verbosity(at, -1);
    return 0;
}

int opt_take_count(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    uint64_t n;

    if (parse_u64(arg, 1, UINT32_MAX, &n) < 0)
        return err_set(err, CLI_EXIT_FAILED, "--%s=%s", opt->name, arg);
    *(uint32_t *)at = (uint32_t)n;
    return 0;
}

static void write_flag(void *at, size_t size, bool value)
{
    if (size == sizeof(bool))
        *(bool *)at = value;
    else
        *(int *)at = value; /* protobuf_c_boolean */
}

void opt_fields_add(struct opt_fields *f, const char *fields, enum opt_source source)
{
    char *list = f->typed ? xasprintf_or_die("%s,%s", f->list, fields) : xstrdup_or_die(fields);

    free(f->list);
    f->list = list;
    f->typed = source != OPT_FROM_ENV && source != OPT_FROM_DEFAULTS;
}

static int write_value(char *ctx, const struct opt *o, const char *arg, enum opt_source source,
                       struct err *err)
{
    const struct opt_bind *b = &o->bind;
    void *at = ctx + b->at;

    switch ((enum opt_store)b->store) {
    case OPT_STORE_TRUE:
    case OPT_STORE_FALSE:
        write_flag(at, b->size, b->store == OPT_STORE_TRUE);
        break;
    case OPT_STORE_TEXT:
        *(const char **)at = arg;
        break;
    case OPT_STORE_COPY:
        free(*(char **)at);
        *(char **)at = xstrdup_or_die(arg);
        break;
    case OPT_STORE_FIELDS:
        opt_fields_add(at, arg, source);
        return 0;
    case OPT_STORE_WORDS:
        argwords_add(at, (size_t *)(void *)(ctx + b->also), arg);
        return 0;
    case OPT_STORE_WORD:
        argwords_set(at, (size_t *)(void *)(ctx + b->also), arg);
        return 0;
    case OPT_STORE_CHOICE:
        *(unsigned *)at = b->value;
        break;
    case OPT_STORE_BITS:
        *(uint32_t *)at |= b->value;
        break;
    case OPT_STORE_TAKE:
        return b->take(at, o, arg, err);
    case OPT_STORE_SET:
    case OPT_STORE_NOTHING:
        break;
    }
    if (b->has_also)
        *(const char **)(void *)(ctx + b->also) = NULL;
    return 0;
}

static int take_option(const struct opt_command *cmd, const struct opt *o, const char *arg,
                       enum opt_source source, void *ctx)
{
    struct err err = { .text = "" };
    int status;

    if (o->refused) {
        cli_error("--%s is not supported: %s", o->name, o->refused);
        return CLI_EXIT_FAILED;
    }
    if (is_more(cmd->more, o))
        status = cmd->more->set(cmd->more->ctx, o, arg, source, &err);
    else if (o->bind.store == OPT_STORE_SET)
        status = cmd->set(ctx, o, arg, source, &err);
    else
        status = write_value(ctx, o, arg, source, &err);
    if (status == 0 && o->bind.has_given)
        write_flag((char *)ctx + o->bind.given, o->bind.given_size, true);
    if (status != 0 && err.text[0])
        cli_error("%s", err.text);
    return status;
}

int opts_take(const struct opt_command *cmd, int id, const char *arg, enum opt_source source,
              void *ctx)
{
    const struct opt *o = opts_find(cmd, id);

    return o ? take_option(cmd, o, arg, source, ctx) : 0;
}

/* ---- parser ---------------------------------------------------------------------------------- */

/* The loop over getopt.  Gives the exit status, 0 = go on, -1 = leave with success. */
static int parse_words(const struct opt_command *cmd, int argc, char **argv, void *ctx,
                       enum opt_source source)
{
    struct parser p;
    char *argv0 = argv[0];
    int val, status = 0;

    parser_init(&p, cmd);
    argv[0] = (char *)cmd->name; /* getopt prefixes its messages with it and does not write to it */
    optind = 0;                  /* glibc: start over */
    opterr = 1;
    for (;;) {
        const struct opt *o;
        int next = MAX(optind, 1);

        if (next < argc)
            argv[next] = present_spelling(argv[next]);
        val = status == 0
                  ? getopt_long(argc, argv, p.shorts, table_for(&p, cmd, argc, argv, next), NULL)
                  : -1;
        if (val == -1)
            break;
        o = row_of(cmd, val);
        if (o) {
            status = take_option(cmd, o, optarg, source, ctx);
        } else if (source == OPT_FROM_ARGV ? common_option(cmd, val) : is_common(cmd, val)) {
            status = source == OPT_FROM_ARGV ? -1 : 0; /* a script's --help is not heard */
        } else {
            if (!cmd->terse)
                try_help(cmd);
            status = cmd->usage_status;
        }
    }
    argv[0] = argv0;
    parser_done(&p);
    return status;
}

int opts_parse(const struct opt_command *cmd, int argc, char **argv, void *ctx)
{
    int status = parse_words(cmd, argc, argv, ctx, OPT_FROM_ARGV);

    if (status != 0)
        exit(status < 0 ? CLI_EXIT_OK : status);
    return optind;
}

int opts_parse_line(const struct opt_command *cmd, int argc, char **argv, void *ctx,
                    int *ret_status)
{
    int status = parse_words(cmd, argc, argv, ctx, OPT_FROM_SCRIPT);

    if (status != 0) {
        *ret_status = status;
        return -EINVAL;
    }
    return optind;
}

/* ---- environment ----------------------------------------------------------------------------- */

static bool has_prefix(const char *name, size_t len, const char *prefix)
{
    size_t n = prefix ? strlen(prefix) : 0;

    return n && len > n && strncmp(name, prefix, n) == 0 && name[n] == '_';
}

/* The name of a variable from its `len` bytes in a row, which may begin with a sign.  Each start of
 * a command asks for some hundred names, and printf took a twelfth of srun's own time for them. */
static void put_env_name(const char *prefix, const char *word, size_t len, char *buf, size_t size)
{
    size_t before = strlen(prefix), sign = *word == '@' || *word == '!';

    assert(before + len + 2 <= size); /* the table's, not the user's */
    memcpy(buf, prefix, before);
    if (*word == '@')
        buf[before++] = '_';
    memcpy(buf + before, word + sign, len - sign);
    buf[before + len - sign] = '\0';
}

bool opts_env_name(const struct opt_command *cmd, const struct opt *opt, size_t i, char *buf,
                   size_t size)
{
    const char *p = opt->env;

    while (p && *p) {
        size_t len = strcspn(p, ",");
        bool ours = *p == '@' || (*p == '!' ? !has_prefix(p + 1, len - 1, cmd->prefix)
                                            : has_prefix(p, len, cmd->prefix) ||
                                                  has_prefix(p, len, cmd->prefix2));

        if (ours && i-- == 0) {
            put_env_name(*p == '@' && cmd->prefix ? cmd->prefix : "", p, len, buf, size);
            return true;
        }
        p += len;
        p += *p == ',';
    }
    return false;
}

static bool flag_given(const char *value)
{
    int64_t n;

    return *value == '\0' || strcasecmp(value, "yes") == 0 ||
           (parse_i64(value, INT64_MIN, INT64_MAX, &n) == 0 && n != 0);
}

/* A number counts as the flag given that often: SLURM_DEBUG=2 is -vv. */
static unsigned flag_times(const struct opt *o, const char *value)
{
    int64_t n;

    if (o->arg != OPT_NONE || parse_i64(value, INT64_MIN, INT64_MAX, &n) < 0)
        return 1;
    return n > FLAG_TIMES_MAX ? FLAG_TIMES_MAX : n > 0 ? (unsigned)n : 1;
}

void opts_env(const struct opt_command *cmd, void *ctx)
{
    char name[ENV_NAME_MAX];

    for (size_t i = 0; i < cmd->n; i++) {
        const struct opt *o = &cmd->rows[i];

        for (size_t k = 0; row_applies(cmd, o) && opts_env_name(cmd, o, k, name, sizeof(name));
             k++) {
            const char *value = getenv(name);
            int status;

            if (!value || (o->arg == OPT_NONE && !flag_given(value)))
                continue;
            if (o->arg == OPT_REQ && !*value && !cmd->hears_empty)
                continue; /* set but empty: nothing asked for */
            for (unsigned times = flag_times(o, value); times > 0; times--) {
                status = take_option(
                    cmd, o, o->arg == OPT_NONE || (!*value && o->arg == OPT_OPT) ? NULL : value,
                    OPT_FROM_ENV, ctx);
                if (status != 0)
                    exit(status);
            }
        }
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void print_wrapped(FILE *f, size_t column, const char *text)
{
    if (column >= TEXT_COLUMN) {
        (void)fputc(' ', f);
        column++;
    }
    for (; column < TEXT_COLUMN; column++)
        (void)fputc(' ', f);
    while (*text) {
        size_t len = strcspn(text, " ");

        if (column > TEXT_COLUMN && column + len >= TEXT_WIDTH) {
            (void)fprintf(f, "\n%*s", TEXT_COLUMN, "");
            column = TEXT_COLUMN;
        }
        (void)fprintf(f, "%.*s", (int)len, text);
        column += len;
        text += len;
        if (*text == ' ') {
            text++;
            if (column + 1 + strcspn(text, " ") < TEXT_WIDTH)
                (void)fputc(' ', f);
            column++;
        }
    }
    (void)fputc('\n', f);
}

static void print_row(FILE *f, char letter, const char *name, enum opt_arg arg, const char *metavar,
                      const char *help)
{
    char left[128];
    int n;

    if (letter)
        n = snprintf(left, sizeof(left), "  -%c, --%s", letter, name);
    else
        n = snprintf(left, sizeof(left), "      --%s", name);
    if (arg == OPT_REQ)
        n += snprintf(left + n, sizeof(left) - (size_t)n, "=%s", metavar ? metavar : "value");
    else if (arg == OPT_OPT)
        n += snprintf(left + n, sizeof(left) - (size_t)n, "[=%s]", metavar ? metavar : "value");
    (void)fputs(left, f);
    print_wrapped(f, (size_t)n, help);
}

void opts_print_help(const struct opt_command *cmd, FILE *f)
{
    const char *group = NULL, *shown = NULL;

    (void)fprintf(f, "Usage: %s %s\n", cmd->name, cmd->synopsis);
    for (size_t i = 0; i < row_count(cmd); i++) {
        const struct opt *o = row_at(cmd, i);

        if (o->group)
            group = o->group;
        if (!row_applies(cmd, o) || !o->help)
            continue;
        if (group && (!shown || strcmp(shown, group) != 0))
            (void)fprintf(f, "\n%s:\n", group);
        shown = group;
        print_row(f, o->letter, o->name, o->arg, o->metavar, o->help);
    }
    (void)fprintf(f, "\nHelp options:\n");
    print_row(f, cmd->help_with_h ? 'h' : 0, "help", OPT_NONE, NULL, "show this help message");
    print_row(f, cmd->usage_with_u ? 'u' : 0, "usage", OPT_NONE, NULL,
              "display brief usage message");
    print_row(f, 'V', "version", OPT_NONE, NULL, "output version information and exit");
}

static int usage_word(const struct opt *o, char *buf, size_t size)
{
    const char *var = o->metavar ? o->metavar : "value";

    switch (o->arg) {
    case OPT_NONE:
        return snprintf(buf, size, "[--%s]", o->name);
    case OPT_OPT:
        return snprintf(buf, size, "[--%s[=%s]]", o->name, var);
    case OPT_REQ:
        break;
    }
    if (o->letter)
        return snprintf(buf, size, "[-%c %s]", o->letter, var);
    return snprintf(buf, size, "[--%s=%s]", o->name, var);
}

void opts_print_usage(const struct opt_command *cmd, FILE *f)
{
    const char *tail = strchr(cmd->synopsis, ' ');
    int indent = fprintf(f, "Usage: %s", cmd->name);
    int column = indent;

    if (cmd->usage) {
        (void)fprintf(f, " %s\n", cmd->usage);
        return;
    }
    for (size_t i = 0; i < cmd->n; i++) {
        const struct opt *o = &cmd->rows[i];
        char word[128];
        int n;

        if (!row_applies(cmd, o) || !o->help)
            continue;
        n = usage_word(o, word, sizeof(word));
        if (column + 1 + n >= TEXT_WIDTH) {
            (void)fprintf(f, "\n%*s", indent, "");
            column = indent;
        }
        (void)fprintf(f, " %s", word);
        column += n + 1;
    }
    if (tail)
        (void)fprintf(f, "\n%*s%s", indent, "", tail);
    (void)fputc('\n', f);
}

static void print_env(const struct opt_command *cmd, const struct opt *o, FILE *f)
{
    char name[ENV_NAME_MAX];

    for (size_t k = 0; opts_env_name(cmd, o, k, name, sizeof(name)); k++)
        (void)fprintf(f, "%s%s", k ? "," : "", name);
}

void opts_print_table(const struct opt_command *cmd, FILE *f)
{
    static const char *const kinds[] = { "none", "required", "optional" };
    const char *group = "";

    for (size_t i = 0; i < cmd->n; i++) {
        const struct opt *o = &cmd->rows[i];

        if (o->group)
            group = o->group;
        if (!row_applies(cmd, o) || !o->help)
            continue;
        (void)fprintf(f, "%s\t%c\t%s\t%s\t%s\t", o->name, o->letter ? o->letter : '-',
                      kinds[o->arg], o->metavar ? o->metavar : "", group);
        print_env(cmd, o, f);
        (void)fprintf(f, "\t%s\n", o->help);
    }
    (void)fprintf(f, "help\t%c\tnone\t\tHelp options\t\tshow this help message\n",
                  cmd->help_with_h ? 'h' : '-');
    (void)fprintf(f, "usage\t-\tnone\t\tHelp options\t\tdisplay brief usage message\n");
    (void)fprintf(f, "version\tV\tnone\t\tHelp options\t\toutput version information and exit\n");
}

void opts_print_interface(const struct opt_command *cmd, FILE *f)
{
    static const char *const kinds[] = { "none", "required", "optional" };
    static const char *const common[] = { "help", "usage", "version" };

    for (size_t i = 0; i < cmd->n; i++) {
        const struct opt *o = &cmd->rows[i];

        if (!row_applies(cmd, o))
            continue;
        (void)fprintf(f, "option\t%s\t%c\t%s\t%s\t%s\t", o->name, o->letter ? o->letter : '-',
                      kinds[o->arg], o->metavar ? o->metavar : "",
                      o->refused ? "refused"
                      : o->help  ? "shown"
                                 : "hidden");
        print_env(cmd, o, f);
        (void)fprintf(f, "\t%s\n", o->refused ? o->refused : o->help ? o->help : "");
    }
    for (size_t i = 0; i < ARRAY_SIZE(common); i++)
        (void)fprintf(f, "option\t%s\t%c\tnone\t\tshown\t\t\n", common[i],
                      i == 2                       ? 'V'
                      : i == 0 && cmd->help_with_h ? 'h'
                                                   : '-');
    if (cmd->names)
        cmd->names(f);
}
