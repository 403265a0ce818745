/* sreport.c - usage of clusters, accounts and users: command line, report names, interactive mode;
 * see sreport.h.
 *
 * One thread. */
#include "cli/sreport/sreport.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "wire/ops.h"

#define WORDS_MAX 256

static int take_form(void *at, const struct opt *opt, const char *arg, struct err *err);

#define OPT_INTO struct sreport
static const struct opt rows[] = {
    OPT("all_clusters", 'a', OPT_NONE, OPT_FLAG(all_clusters), NULL, NULL, NULL,
        "of all clusters, not of this one alone"),
    OPT("cluster", 'M', OPT_REQ, OPT_TEXT(program_clusters), "SREPORT_CLUSTER", NULL, "names",
        "of these clusters"),
    OPT("federation", 0, OPT_NONE, OPT_FLAG(view.federation), NULL, NULL, NULL,
        "of all clusters of the federation"),
    OPT("local", 0, OPT_NONE, OPT_FLAG(view.local), NULL, NULL, NULL,
        "of this cluster alone, also where FederationParameters=fed_display"),
    OPT("noheader", 'n', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "rows alone"),
    OPT("parsable", 'p', OPT_NONE, OPT_CHOICE(parsable, 1), NULL, NULL, NULL,
        "values between bars, one at the end too"),
    OPT("parsable2", 'P', OPT_NONE, OPT_CHOICE(parsable, 2), NULL, NULL, NULL,
        "values between bars, none at the end"),
    OPT("quiet", 'Q', OPT_NONE, OPT_FLAG(quiet), NULL, NULL, NULL, "print no messages but errors"),
    OPT("time", 't', OPT_REQ, OPT_TAKE_ALL(take_form), NULL, NULL, "form",
        "times as Seconds, Minutes, Hours, Percent, SecPer, MinPer or HourPer"),
    OPT("tres", 'T', OPT_REQ, OPT_TEXT(tres), "SREPORT_TRES", NULL, "names",
        "of these TRES, or ALL; cpu when not given"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "print more messages"),
};

/* ---- reports --------------------------------------------------------------------------------- */

enum report_kind { R_CLUSTER, R_WHO, R_SIZES, R_RESERVATION };

static const struct report {
    const char *type, *name;
    size_t min; /* letters that suffice */
    enum report_kind kind;
    int which;
} reports[] = {
    { "cluster", "AccountUtilizationByUser", 21, R_WHO, BY_ACCOUNT_USER },
    { "cluster", "AccountUtilizationByQOS", 21, R_WHO, BY_ACCOUNT_QOS },
    { "cluster", "UserUtilizationByAccount", 2, R_WHO, BY_USER_ACCOUNT },
    { "cluster", "UserUtilizationByWckey", 18, R_WHO, BY_USER_WCKEY },
    { "cluster", "Utilization", 2, R_CLUSTER, 0 },
    { "cluster", "WCKeyUtilizationByUser", 1, R_WHO, BY_WCKEY_USER },
    { "job", "SizesByAccount", 1, R_SIZES, SIZES_ACCOUNT },
    { "job", "SizesByAccountAndWckey", 15, R_SIZES, SIZES_ACCOUNT_WCKEY },
    { "job", "SizesByWckey", 8, R_SIZES, SIZES_WCKEY },
    { "reservation", "Utilization", 1, R_RESERVATION, 0 },
    { "user", "TopUsage", 1, R_WHO, TOP_USERS },
};

static const struct {
    const char *type;
    size_t min;
    const char *valid;
} types[] = {
    { "cluster", 2,
      "\"AccountUtilizationByUser\", \"AccountUtilizationByQOS\", \"UserUtilizationByAccount\", "
      "\"UserUtilizationByWckey\", \"Utilization\", and \"WCKeyUtilizationByUser\"" },
    { "job", 1, "\"SizesByAccount, SizesByAccountAndWckey, and SizesByWckey\"" },
    { "reservation", 1, "\"Utilization\"" },
    { "user", 1, "\"Top\"" },
};

static bool is_prefix(const char *word, const char *of, size_t min)
{
    size_t len = strlen(word);

    return len >= min && len <= strlen(of) && strncasecmp(word, of, len) == 0;
}

static void no_report(struct sreport *s, size_t type, const char *name)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "Not valid report %s\n", name);
    (void)fprintf(stderr, "Valid %s reports are, %s\n", types[type].type, types[type].valid);
    s->status = CLI_EXIT_FAILED;
}

static void too_few(struct sreport *s, const char *type)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "too few arguments for keyword:%s\n", type);
    s->status = CLI_EXIT_FAILED;
}

static enum cond_of conditions_of(const struct report *report)
{
    switch (report->kind) {
    case R_CLUSTER:
        return COND_CLUSTER;
    case R_SIZES:
        return COND_SIZES;
    case R_RESERVATION:
        return COND_RESERVATIONS;
    case R_WHO:
        break;
    }
    if (report->which == BY_USER_WCKEY || report->which == BY_WCKEY_USER)
        return COND_WCKEYS;
    return report->which == TOP_USERS ? COND_TOP : COND_WHO;
}

static void run_report(struct sreport *s, const struct report *report, int argc, char **argv)
{
    struct cond c;

    if (!cond_parse(s, &c, conditions_of(report), argc, argv)) {
        cond_done(&c);
        return;
    }
    switch (report->kind) {
    case R_CLUSTER:
        report_cluster(s, &c);
        break;
    case R_WHO:
        report_who(s, &c, (enum who_report)report->which);
        break;
    case R_SIZES:
        report_sizes(s, &c, (enum size_report)report->which);
        break;
    case R_RESERVATION:
        report_reservations(s, &c);
        break;
    }
    cond_done(&c);
}

static void find_report(struct sreport *s, size_t type, int argc, char **argv)
{
    const struct report *found = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(reports) && argc > 0 && !found; i++)
        if (strcmp(reports[i].type, types[type].type) == 0 &&
            is_prefix(argv[0], reports[i].name, reports[i].min))
            found = &reports[i];
    if (found)
        run_report(s, found, argc - 1, argv + 1);
    else if (argc > 0)
        no_report(s, type, argv[0]);
    else
        too_few(s, types[type].type);
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool set_form(struct sreport *s, const char *text)
{
    static const struct {
        const char *name;
        size_t min;
        enum time_form form;
    } forms[] = {
        { "SecPer", 6, FORM_SECS_PER },   { "MinPer", 6, FORM_MINS_PER },
        { "HourPer", 6, FORM_HOURS_PER }, { "Seconds", 1, FORM_SECS },
        { "Minutes", 1, FORM_MINS },      { "Hours", 1, FORM_HOURS },
        { "Percent", 1, FORM_PERCENT },
    };

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        if (is_prefix(text, forms[i].name, forms[i].min)) {
            s->form = forms[i].form;
            return true;
        }
    }
    return false;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void print_names(FILE *f)
{
    static const char *const verbs[] = { "cluster",     "exit",        "help",      "job",
                                         "nonparsable", "parsable",    "parsable2", "quiet",
                                         "quit",        "reservation", "time",      "user",
                                         "verbose",     "version" };

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        (void)fprintf(f, "verb\t%s\tshown\n", verbs[i]);
    for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
        (void)fprintf(f, "report\t%s\tshown\n", reports[i].name);
}

static int take_form(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    (void)opt, (void)err;
    if (!set_form(at, arg)) /* told, and the report is in the usual one */
        (void)fprintf(stderr, "unknown time format %s\n", arg);
    return 0;
}

static const struct opt_command command = {
    .name = "sreport",
    .prefix = "SREPORT",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS] [REPORT_TYPE REPORT [CONDITIONS...]]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .help_with_h = true,
    .names = print_names,
};

static void print_verbs(void)
{
    opts_print_help(&command, stdout);
    (void)printf("\nReports:\n");
    for (size_t i = 0; i < ARRAY_SIZE(reports); i++)
        (void)printf("  %s %s\n", reports[i].type, reports[i].name);
    (void)printf("\nIn interactive mode also: exit, help, nonparsable, parsable, parsable2, quiet, "
                 "time FORM,\n"
                 "verbose, version, !! (the last command again)\n");
}

static void run_words(struct sreport *s, int argc, char **argv)
{
    const char *word = argv[0];

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (is_prefix(word, types[i].type, types[i].min)) {
            find_report(s, i, argc - 1, argv + 1);
            return;
        }
    }
    if (is_prefix(word, "exit", 1) || is_prefix(word, "quit", 4) || strcmp(word, "q") == 0)
        s->leave = true;
    else if (is_prefix(word, "help", 2) || strcmp(word, "?") == 0)
        print_verbs();
    else if (is_prefix(word, "nonparsable", 3))
        s->parsable = 0;
    else if (strcasecmp(word, "parsable2") == 0)
        s->parsable = 2;
    else if (is_prefix(word, "parsable", 3))
        s->parsable = 1;
    else if (is_prefix(word, "quiet", 4))
        s->quiet = true;
    else if (is_prefix(word, "verbose", 4))
        cli_set_verbosity(&s->cli, s->cli.verbose + 1);
    else if (is_prefix(word, "version", 4))
        cli_print_version();
    else if (is_prefix(word, "time", 1) && argc == 2 && set_form(s, argv[1]))
        return;
    else {
        (void)fflush(stdout);
        (void)fprintf(stderr, "invalid keyword: %s\n", word);
        s->status = CLI_EXIT_FAILED;
    }
}

/* Split a line in place at blanks outside of quotes. */
static int split_words(char *line, char **words)
{
    int n = 0;

    for (char *p = line, *to; n < WORDS_MAX;) {
        char quote = 0;

        p += strspn(p, " \t\n");
        if (!*p)
            return n;
        words[n++] = to = p;
        for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
            if (quote ? *p == quote : *p == '"' || *p == '\'')
                quote = quote ? 0 : *p;
            else
                *to++ = *p;
        }
        p += *p != '\0';
        *to = '\0';
    }
    return n;
}

static void run_interactive(struct sreport *s)
{
    _cleanup_free_ char *line = NULL, *last = NULL;
    size_t size = 0;

    while (!s->leave) {
        char *words[WORDS_MAX];
        int n;

        (void)printf("sreport: ");
        (void)fflush(stdout);
        if (getline(&line, &size, stdin) < 0) {
            (void)printf("\n");
            return;
        }
        if (!isatty(STDIN_FILENO)) /* no terminal shows it */
            (void)printf("%s%s", line, strchr(line, '\n') ? "" : "\n");
        if (strncmp(line, "!!", 2) == 0 && !last) { /* there is none before it */
            s->status = CLI_EXIT_FAILED;
            continue;
        }
        if (strncmp(line, "!!", 2) == 0) {
            free(line);
            line = xstrdup_or_die(last);
            size = strlen(line) + 1;
        } else {
            free(last);
            last = xstrdup_or_die(line);
        }
        n = split_words(line, words);
        if (n)
            run_words(s, n, words);
    }
}

int main(int argc, char **argv)
{
    struct sreport s = { .form = FORM_MINS };
    const char *of_variable;
    int first;

    cli_init(&s.cli, "sreport");
    opts_env(&command, &s);
    of_variable = s.program_clusters;
    first = opts_parse(&command, argc, argv, &s);
    if (s.all_clusters + s.view.local + (s.program_clusters != of_variable) > 1) {
        (void)fprintf(stderr, "Only one cluster option can be used "
                              "(--all_clusters OR --cluster OR --local)\n");
        return CLI_EXIT_FAILED;
    }
    if (first < argc)
        run_words(&s, argc - first, argv + first);
    else
        run_interactive(&s);
    (void)client_free(s.client); /* always NULL */
    cli_done(&s.cli);
    return s.status;
}
