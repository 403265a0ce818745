/* sacctmgr.c - the accounting entities: listing and changing them
 *
 * A command stands on the command line, or lines of them come from the prompt.  Everything is done
 * where the store is; here words become requests and answers become text. */
#include "cli/sacctmgr/sacctmgr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <histedit.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/base/opts.h"
#include "wire/errors.h"

#define LINE_WORDS_MAX 4096
#define API_MAJOR 45

/* ---- commands -------------------------------------------------------------------------------- */

static void cmd_version(struct smgr *s, int n, char **words)
{
    (void)words;
    cli_print_version();
    if (s->cli.verbose) /* 45.0.0 is that of 26.05 */
        printf("slurm_api_version: %d, %d.0.0\n", API_MAJOR << 16, API_MAJOR);
    if (n > 0)
        smgr_fail(s, "too many arguments for version keyword\n");
}

static void cmd_quit(struct smgr *s, int n, char **words)
{
    (void)n;
    (void)words;
    s->ending = true;
}

static void cmd_ping(struct smgr *s, int n, char **words)
{
    int status = s->status;

    (void)words;
    smgr_ping(s);
    if (n > 0) { /* told, and no failure */
        smgr_fail(s, "too many arguments for ping keyword\n");
        s->status = status;
    }
}

static void cmd_reconfigure(struct smgr *s, int n, char **words)
{
    (void)words;
    if (n > 0)
        smgr_fail(s, "too many arguments for reconfigure keyword\n");
    else
        smgr_reconfigure(s);
}

static void cmd_clear(struct smgr *s, int n, char **words)
{
    if (n > 0 && smgr_is(words[0], "stats", 1))
        smgr_clear_stats(s);
    else
        smgr_fail(s, "No valid entity in list command\nInput line must include \"Stats\"\n");
}

static void set_flag(struct smgr *s, int n, char **words);
static void cmd_help(struct smgr *s, int n, char **words);

static const struct command {
    const char *name;
    unsigned min;
    void (*fn)(struct smgr *s, int n, char **words);
    const char *what; /* in the help; NULL = another name of the one before */
} commands[] = {
    { "add", 3, smgr_add, "ENTITY SPECS     make an entity" },
    { "create", 3, smgr_add, NULL },
    { "archive", 3, smgr_archive,
      "DUMP|LOAD SPECS  write old rows of the store to files, or read them back" },
    { "associations", 4, set_flag, "                 show associations of users and accounts too" },
    { "clear", 3, cmd_clear, "stats            set the statistics to zero" },
    { "delete", 3, smgr_delete, "ENTITY SPECS     remove entities" },
    { "remove", 3, smgr_delete, NULL },
    { "dump", 3, smgr_dump, "CLUSTER [FILE=]  write a cluster's accounts to a file" },
    { "exit", 4, cmd_quit, "                 leave the prompt" },
    { "quit", 4, cmd_quit, NULL },
    { "help", 2, cmd_help, "                 show this" },
    { "list", 3, smgr_show, "ENTITY [SPECS]   show entities" },
    { "show", 3, smgr_show, NULL },
    { "load", 2, smgr_load, "FILE [CLEAN] [CLUSTER=]  read a file that dump wrote" },
    { "modify", 1, smgr_modify, "ENTITY SPECS     change entities" },
    { "update", 1, smgr_modify, NULL },
    { "oneliner", 1, set_flag, "                 one line a record (nothing else is written)" },
    { "ping", 4, cmd_ping, "                 ask whether the accounting service answers" },
    { "quiet", 3, set_flag, "                 say errors only" },
    { "readonly", 4, set_flag, "                 change nothing" },
    { "reconfigure", 4, cmd_reconfigure,
      "                 let the accounting service read its configuration" },
    { "shutdown", 4, smgr_shutdown, "                 end the accounting service" },
    { "verbose", 4, set_flag, "                 say more" },
    { "version", 4, cmd_version, "                 show the version" },
};

static void set_flag(struct smgr *s, int n, char **words)
{
    (void)n;
    (void)words;
    (void)s; /* the name of the word is looked at in run_words() */
}

static void cmd_help(struct smgr *s, int n, char **words)
{
    (void)s;
    (void)n;
    (void)words;
    printf("Commands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (commands[i].what)
            printf("  %-13s %s\n", commands[i].name, commands[i].what);
    printf("\nEntities: account association cluster configuration coordinator event federation "
           "instance job\n"
           "  problem qos reservation resource runawayjobs stats transaction tres user wckey\n"
           "\nSPECS are names and pairs: [where] KEY=VALUE ... [set KEY=VALUE ...]; see "
           "sacctmgr(1).\n");
}

static bool flag_word(struct smgr *s, const char *name)
{
    if (strcmp(name, "associations") == 0)
        s->with_assoc = true;
    else if (strcmp(name, "oneliner") == 0)
        s->oneliner = true;
    else if (strcmp(name, "quiet") == 0)
        s->quiet = true;
    else if (strcmp(name, "readonly") == 0)
        s->readonly = true;
    else if (strcmp(name, "verbose") == 0)
        cli_set_verbosity(&s->cli, s->cli.verbose + 1);
    else
        return false;
    return true;
}

/* One command.  Gives the exit status so far. */
static int run_words(struct smgr *s, int n, char **words)
{
    if (n == 0)
        return s->status;
    if (words[0][0] == '!' && !words[0][1])
        return s->status;
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (!smgr_is(words[0], commands[i].name, commands[i].min))
            continue;
        if (!flag_word(s, commands[i].name))
            commands[i].fn(s, n - 1, words + 1);
        smgr_forget_tables(s);
        return s->status;
    }
    smgr_fail(s, "invalid keyword: %s\n", words[0]);
    return s->status;
}

/* ---- the prompt ------------------------------------------------------------------------------ */

/* Words of a line, quotes kept together and taken away; in place. */
static int split_line(char *line, char **words, int max)
{
    int n = 0;
    char *to = line;

    while (*line && n < max) {
        char quote = '\0';

        while (*line == ' ' || *line == '\t' || *line == '\n')
            line++;
        if (!*line)
            break;
        words[n++] = to = line;
        for (; *line && (quote || (*line != ' ' && *line != '\t' && *line != '\n')); line++) {
            if (quote && *line == quote)
                quote = '\0';
            else if (!quote && (*line == '"' || *line == '\''))
                quote = *line;
            else
                *to++ = *line;
        }
        if (*line)
            line++;
        *to = '\0';
    }
    return n;
}

static char *prompt_text(EditLine *el)
{
    (void)el;
    return (char *)"sacctmgr: "; /* the library only reads it */
}

static void run_line(struct smgr *s, const char *text)
{
    bool again = strncmp(text, "!!", 2) == 0 && (!text[2] || text[2] == '\n');
    _cleanup_free_ char *line = xstrdup_or_die(again && s->last ? s->last : text);
    char *words[LINE_WORDS_MAX];
    int n;

    if (again && !s->last) { /* there is none before it */
        s->status = CLI_EXIT_FAILED;
        return;
    }
    if (!again) {
        free(s->last);
        s->last = xstrdup_or_die(text);
    }
    n = split_line(line, words, LINE_WORDS_MAX);

    (void)run_words(s, n, words); /* the status is remembered */
    (void)fflush(stdout);         /* in the order of the lines */
}

/* Lines from a pipe or a file: each is printed first, as a terminal would show it. */
static void read_pipe(struct smgr *s)
{
    char line[65536];
    size_t len = 0;

    s->prompting = true;

    while (!s->ending) {
        ssize_t got = read(STDIN_FILENO, line + len, 1);

        if (got > 0 && line[len] != '\n' && len + 2 < sizeof(line)) {
            len++;
            continue;
        }
        line[len] = '\0';
        if (got <= 0 && !len) {
            printf("sacctmgr: \n");
            break;
        }
        printf("sacctmgr: %s\n", line);
        run_line(s, line);
        len = 0;
        if (got <= 0)
            break;
    }
}

static void read_terminal(struct smgr *s)
{
    EditLine *el = el_init("sacctmgr", stdin, stdout, stderr);
    History *h = history_init();
    HistEvent ev;
    const char *line;
    int n;

    s->prompting = true;
    if (!el || !h)
        check_mem_or_die(-ENOMEM);
    el_set(el, EL_PROMPT, prompt_text);
    el_set(el, EL_EDITOR, "emacs");
    history(h, &ev, H_SETSIZE, 1000);
    el_set(el, EL_HIST, history, h);
    while (!s->ending && (line = el_gets(el, &n)) && n > 0) {
        if (n > 1)
            history(h, &ev, H_ENTER, line);
        run_line(s, line);
    }
    history_end(h);
    el_end(el);
}

/* ---- options --------------------------------------------------------------------------------- */

static int take_json(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    int status = json_take_json(at, opt, arg, err);

    if (status == 0 && (status = json_option_done(at)) >= 0)
        exit(status);
    return 0;
}

static int take_yaml(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    int status = json_take_yaml(at, opt, arg, err);

    if (status == 0 && (status = json_option_done(at)) >= 0)
        exit(status);
    return 0;
}

#define OPT_INTO struct smgr
static const struct opt rows[] = {
    OPT("associations", 's', OPT_NONE, OPT_FLAG(with_assoc), NULL, "Options", NULL,
        "show associations of users and accounts too"),
    OPT("immediate", 'i', OPT_NONE, OPT_FLAG(immediate), NULL, NULL, NULL, "change without asking"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, take_json), NULL, NULL, "data_parser",
        "produce JSON output (where there is some)"),
    OPT("noheader", 'n', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "no headings"),
    OPT("oneliner", 'o', OPT_NONE, OPT_FLAG(oneliner), NULL, NULL, NULL, "one line a record"),
    OPT("parsable", 'p', OPT_NONE, OPT_CHOICE(style, SMGR_PARSABLE), NULL, NULL, NULL,
        "values between bars, with one at the end"),
    OPT("parsable2", 'P', OPT_NONE, OPT_CHOICE(style, SMGR_PARSABLE2), NULL, NULL, NULL,
        "values between bars"),
    OPT("quiet", 'Q', OPT_NONE, OPT_FLAG(quiet), NULL, NULL, NULL, "say errors only"),
    OPT("readonly", 'r', OPT_NONE, OPT_FLAG(readonly), NULL, NULL, NULL, "change nothing"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, take_yaml), NULL, NULL, "data_parser",
        "produce YAML output (where there is some)"),
};

static void print_names(FILE *f)
{
    static const char *const entities[] = {
        "account",     "association", "cluster",  "configuration", "coordinator",
        "event",       "federation",  "instance", "job",           "problem",
        "qos",         "reservation", "resource", "runawayjobs",   "stats",
        "transaction", "tres",        "user",     "wckey"
    };

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        fprintf(f, "verb\t%s\tshown\n", commands[i].name);
    for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
        fprintf(f, "entity\t%s\tshown\n", entities[i]);
    smgr_print_keys(f);
    smgr_print_fields(f);
}

static const struct opt_command command = {
    .name = "sacctmgr",
    .prefix = "SACCTMGR",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS...] [COMMAND [ARGS...]]",
    .usage_status = 1,
    .permute = true,
    .help_with_h = true,
    .names = print_names,
};

int main(int argc, char **argv)
{
    struct smgr s = { .argc = argc, .argv = argv };
    char **copy = calloc((size_t)argc + 1, sizeof(char *));
    int first;

    cli_init(&s.cli, "sacctmgr");
    if (!copy)
        check_mem_or_die(-ENOMEM);
    memcpy(copy, argv,
           (size_t)argc * sizeof(char *)); /* before the options are moved to the front */
    s.argv = copy;
    first = opts_parse(&command, argc, argv, &s);
    s.cli.keeps_text = s.json.wanted;
    if (first < argc)
        (void)run_words(&s, argc - first, argv + first); /* the status is remembered */
    else if (isatty(STDIN_FILENO))
        read_terminal(&s);
    else
        read_pipe(&s);
    smgr_forget_tables(&s);
    s.client = client_free(s.client);
    free(s.last);
    free(copy);
    cli_done(&s.cli);
    if (fflush(stdout) != 0)
        return CLI_EXIT_FAILED;
    return s.status;
}
