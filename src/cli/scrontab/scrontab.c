/* scrontab.c - the crontab of a user: list, edit, replace, remove
 *
 * The text is read here, entry by entry, into jobs as sbatch would submit them; the controller
 * takes all or nothing. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "event.pb-c.h"

#include "base/cleanup.h"
#include "base/readfile.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "cli/scrontab/crontab.h"
#include "cli/base/opts.h"
#include "cli/job/cliplugins.h"
#include "wire/errors.h"
#include "wire/ops.h"

static const struct opt rows[] = {
    OPT("edit", 'e', OPT_NONE, OPT_NOTHING, NULL, NULL, NULL,
        "edit the crontab (default action at a terminal)"),
    OPT("list", 'l', OPT_NONE, OPT_NOTHING, NULL, NULL, NULL, "list the crontab"),
    OPT("remove", 'r', OPT_NONE, OPT_NOTHING, NULL, NULL, NULL,
        "delete the crontab; its waiting jobs are cancelled"),
    OPT("user", 'u', OPT_REQ, OPT_NOTHING, NULL, NULL, "user",
        "the crontab of this user (root and SlurmUser)"),
    OPT("verbose", 'v', OPT_NONE, OPT_NOTHING, NULL, NULL, NULL, "say what is done"),
};

static const struct opt_command command = {
    .name = "scrontab",
    .prefix = "SCRONTAB",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[-u user] [-e | -l | -r | file | -]",
    .usage_status = CLI_EXIT_FAILED,
};

struct scrontab {
    struct cli cli;
    struct passwd user;
    bool other; /* -u was given */
    int action; /* 'e', 'l', 'r'; 0 = a file */
    const char *file;
};

static noreturn void die_usage(void)
{
    (void)fputs("usage:\tscrontab [-u user] file\n"
                "\tscrontab [-u user] [ -e | -l | -r | -v]\n"
                "\t-e\tEdit user's crontab (default action if stdin is a TTY)\n"
                "\t-l\tList user's crontab\n"
                "\t-r\tDelete user's crontab\n"
                "\t-u\tUser to edit crontab for\n",
                stderr);
    exit(CLI_EXIT_FAILED);
}

static void find_user(struct scrontab *s, const char *name)
{
    const struct passwd *pw = name ? getpwnam(name) : getpwuid(getuid());

    if (!pw)
        cli_fatal("Could not find user %s", name ? name : "of this command");
    s->other = name && pw->pw_uid != getuid();
    s->user = *pw;
    s->user.pw_name = xstrdup_or_die(pw->pw_name);
    s->user.pw_dir = xstrdup_or_die(pw->pw_dir);
}

static void read_options(struct scrontab *s, int argc, char **argv)
{
    static const struct option names[] = {
        { "edit", no_argument, NULL, 'e' },       { "help", no_argument, NULL, 'h' },
        { "help-table", no_argument, NULL, 't' }, { "help-interface", no_argument, NULL, 'i' },
        { "list", no_argument, NULL, 'l' },       { "remove", no_argument, NULL, 'r' },
        { "user", required_argument, NULL, 'u' }, { "verbose", no_argument, NULL, 'v' },
        { "version", no_argument, NULL, 'V' },    { NULL, 0, NULL, 0 }
    };
    const char *user = NULL;
    int c;

    opterr = 0; /* the usage says it all */
    while ((c = getopt_long(argc, argv, "elru:vV", names, NULL)) != -1) {
        switch (c) {
        case 'e':
        case 'l':
        case 'r':
            if (s->action && s->action != c)
                die_usage();
            s->action = c;
            break;
        case 'u':
            user = optarg;
            break;
        case 'v':
            cli_set_verbosity(&s->cli, s->cli.verbose + 1);
            break;
        case 'V':
            cli_print_version();
            exit(CLI_EXIT_OK);
        case 'h':
            opts_print_help(&command, stdout);
            exit(CLI_EXIT_OK);
        case 't':
            opts_print_table(&command, stdout);
            exit(CLI_EXIT_OK);
        case 'i':
            opts_print_interface(&command, stdout);
            exit(CLI_EXIT_OK);
        default:
            die_usage();
        }
    }
    if (argc - optind > 1 || (s->action && optind < argc))
        die_usage();
    find_user(s, user);
    if (optind < argc)
        s->file = argv[optind];
    else if (!s->action && isatty(STDIN_FILENO))
        s->action = 'e';
}

/* ---- the controller -------------------------------------------------------------------------- */

/* The present text; NULL: there is none.  The caller frees. */
static char *get_text(struct scrontab *s)
{
    Pst__CrontabGetRequest req = PST__CRONTAB_GET_REQUEST__INIT;
    struct err err = { .text = "" };
    ProtobufCMessage *reply = NULL;
    char *text;

    req.has_uid = s->other;
    req.uid = s->user.pw_uid;
    if (cli_call(&s->cli, OP_CRONTAB_GET, &req.base, &reply, NULL, &err) < 0)
        cli_fatal("slurm_request_crontab failed: %s", err.text);
    text = xstrdup_or_die(PB_AS(crontab_record, reply)->text);
    protobuf_c_message_free_unpacked(reply, NULL);
    return text;
}

static Pst__CrontabSetRequest send_request(const struct scrontab *s)
{
    Pst__CrontabSetRequest req = PST__CRONTAB_SET_REQUEST__INIT;

    req.has_uid = req.has_gid = s->other;
    req.uid = s->user.pw_uid;
    req.gid = s->user.pw_gid;
    return req;
}

/* False: it has mistakes, which are printed, and the old one is still in force. */
static bool put_text(struct scrontab *s, const char *text)
{
    Pst__CrontabSetRequest req = send_request(s);
    struct err err = { .text = "" };
    unsigned mistakes = crontab_read(&s->cli, &s->user, text, &req);
    int code = 0;

    req.text = (char *)text;
    if (!mistakes)
        plugins_entries_done(&s->cli);
    if (!mistakes && cli_call(&s->cli, OP_CRONTAB_SET, &req.base, NULL, &code, &err) < 0) {
        if (code == ESLURM_DISABLED || code == ESLURM_USER_ID_MISSING || !code)
            cli_fatal("slurm_update_crontab failed: %s", err.text);
        cli_error("%s", err.text);
        mistakes = 1;
    }
    if (mistakes)
        (void)printf("There are errors in your crontab.\n");
    else
        cli_verbose(1, "%zu entries are in force", req.n_jobs);
    return !mistakes;
}

static int list_crontab(struct scrontab *s)
{
    _cleanup_free_ char *text = get_text(s);

    if (!text) {
        (void)printf("no crontab for %s\n", s->user.pw_name);
        return CLI_EXIT_FAILED;
    }
    return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static int remove_all(struct scrontab *s)
{
    Pst__CrontabSetRequest req = send_request(s);
    struct err err = { .text = "" };

    if (cli_call(&s->cli, OP_CRONTAB_SET, &req.base, NULL, NULL, &err) < 0)
        cli_fatal("slurm_remove_crontab failed: %s", err.text);
    return CLI_EXIT_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *read_crontab(int fd, const char *name)
{
    char *text = NULL;
    size_t n = 0;
    int r = fd < 0 ? -errno : readfile_fd(fd, CRONTAB_MAX, &text, &n);

    if (fd < 0)
        cli_fatal("failed to open %s", name);
    if (r == -EFBIG)
        cli_fatal("%s is larger than %u bytes", name, CRONTAB_MAX);
    if (r < 0)
        cli_fatal("cannot read %s: %s", name, strerror(-r));
    if (memchr(text, '\0', n))
        cli_fatal("%s contains a NUL byte", name);
    return text;
}

static int from_file(struct scrontab *s)
{
    bool standard = !s->file || strcmp(s->file, "-") == 0;
    const char *name = standard ? "standard input" : s->file;
    _cleanup_close_ int opened = standard ? -1 : open(s->file, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = read_crontab(standard ? STDIN_FILENO : opened, name);

    return put_text(s, text) ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

/* The editor may be words ("emacs -nw"): a shell splits them. */
static void run_editor(const char *path)
{
    const char *editor = getenv("VISUAL");
    _cleanup_free_ char *line = NULL;
    pid_t pid;
    int status;

    if (!editor || !*editor)
        editor = getenv("EDITOR");
    if (!editor || !*editor)
        editor = "vi";
    line = xasprintf_or_die("exec %s \"$1\"", editor);
    pid = fork();
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", line, "sh", path, (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        cli_error("the editor %s failed: nothing is changed", editor);
    if (pid < 0 || status != 0) {
        (void)unlink(path);
        exit(CLI_EXIT_FAILED);
    }
}

static bool ask_again(void)
{
    char answer[16];

    (void)printf("Do you want to retry the edit? (y/n) ");
    (void)fflush(stdout);
    return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

static int edit_crontab(struct scrontab *s)
{
    const char *dir = getenv("TMPDIR");
    _cleanup_free_ char *path = xasprintf_or_die("%s/scrontab.XXXXXX", dir && *dir ? dir : "/tmp");
    _cleanup_free_ char *old = get_text(s);
    int fd = mkstemp(path);
    bool good;

    if (fd < 0)
        cli_fatal("cannot make %s: %s", path, strerror(errno));
    if (old && write(fd, old, strlen(old)) != (ssize_t)strlen(old))
        cli_fatal("cannot write %s: %s", path, strerror(errno));
    (void)close(fd); /* what was written is read back below */
    do {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int edited = -1;

        run_editor(path);
        edited = open(path, O_RDONLY | O_CLOEXEC);
        text = read_crontab(edited, path);
        if (strcmp(text, old ? old : "") == 0) {
            cli_info("no changes made to the crontab");
            good = true;
            break;
        }
        good = put_text(s, text);
    } while (!good && ask_again());
    (void)unlink(path);
    return good ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

int main(int argc, char **argv)
{
    struct scrontab s = { 0 };
    const char *value;
    size_t len;
    int status;

    cli_init(&s.cli, "scrontab");
    read_options(&s, argc, argv);
    if (!conf_option(cli_conf(&s.cli), CONF_SCRON_PARAMETERS, "enable", &value, &len))
        cli_fatal("scrontab is disabled on this cluster");
    if (s.action != 'l' && s.action != 'r')
        plugins_load(&s.cli, false);
    status = s.action == 'l'   ? list_crontab(&s)
             : s.action == 'r' ? remove_all(&s)
             : s.action == 'e' ? edit_crontab(&s)
                               : from_file(&s);
    if (fflush(stdout) != 0)
        status = CLI_EXIT_FAILED;
    plugins_end(&s.cli);
    cli_done(&s.cli);
    return status;
}
