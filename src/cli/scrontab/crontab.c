/* crontab.c - the text of a crontab: #SCRON lines, variables, entries; see crontab.h */
#include "cli/scrontab/crontab.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cronspec.h"
#include "base/pb/pbutil.h"
#include "base/safetext.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/words.h"
#include "cli/job/gresopts.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/jobopts.h"
#include "cli/job/cliplugins.h"
#include "cli/job/batchscript.h"

#define NO_SID 4294967294u /* there is no session: what scontrol shows then */

struct reader {
    struct cli *cli;
    const struct passwd *user;
    Pst__CrontabSetRequest *req;
    struct envlist env;  /* of entries that follow */
    struct jobopts opts; /* of the next entry */
    uint32_t opts_line;  /* of its first #SCRON line; 0 = none */
    uint32_t line;
    unsigned mistakes;
};

/* ---- #SCRON ---------------------------------------------------------------------------------- */

/* An option of sbatch, long (in full or begun) or by letter? */
static bool is_option(const struct opt_more *more, const char *word)
{
    const struct opt_command *cmd = jobopts_command(JOBOPTS_SBATCH);
    size_t len = strcspn(word + 2 * (word[1] == '-'), "=");

    for (size_t i = 0; i < cmd->n; i++) {
        const struct opt *o = &cmd->rows[i];

        if (o->applies && !(o->applies & cmd->bit))
            continue;
        if (word[1] == '-' ? len > 0 && strncmp(o->name, word + 2, len) == 0
                           : o->letter && o->letter == word[1])
            return true;
    }
    for (size_t i = 0; more && word[1] == '-' && len > 0 && i < more->n; i++)
        if (strncmp(more->rows[i].name, word + 2, len) == 0)
            return true;
    return false;
}

static void take_options(struct reader *rd, const char *text, size_t len)
{
    struct opt_command cmd = jobopts_command_with(JOBOPTS_SBATCH, plugins_options(rd->cli));
    char buf[SCRIPT_LINE_MAX + 1], *argv[SCRIPT_WORDS_MAX + 2] = { (char *)"scrontab" };
    int n, status = 0;

    len = words_before_comment(text, len);
    n = len > SCRIPT_LINE_MAX ? -E2BIG : words_split(text, len, buf, argv + 1, SCRIPT_WORDS_MAX);
    if (!rd->opts_line)
        rd->opts_line = rd->line;
    if (n < 0) {
        cli_error("line %u: %s", rd->line,
                  n == -EINVAL ? "a quote is not closed" : "the #SCRON line is too long");
        rd->mistakes++;
        return;
    }
    argv[n + 1] = NULL;
    for (int i = 1; i <= n; i++) {
        if (argv[i][0] == '-' && argv[i][1] && !is_option(cmd.more, argv[i])) {
            cli_error("Invalid option found in #SCRON line: %s", argv[i]);
            rd->mistakes++;
            return;
        }
    }
    (void)opts_parse_line(&cmd, n + 1, argv, &rd->opts, &status);
    if (status == 0 && jobopts_has(&rd->opts, JO_ARRAY)) {
        cli_error("line %u: an entry of a crontab cannot be a job array", rd->line);
        status = 1;
    }
    rd->mistakes += status != 0;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* $NAME and ${NAME} of variables set before. */
static char *expand_shortcut(const struct envlist *env, const char *text, size_t len)
{
    struct strbuf sb = STRBUF_INIT;
    char *out = NULL, name[256];

    for (size_t i = 0; i < len;) {
        bool brace = text[i] == '$' && i + 1 < len && text[i + 1] == '{';
        size_t at = i + 1 + brace, n = 0;
        const char *value;

        while (text[i] == '$' && at + n < len &&
               (isalnum((unsigned char)text[at + n]) || text[at + n] == '_'))
            n++;
        if (!n || n >= sizeof(name) || (brace && (at + n >= len || text[at + n] != '}'))) {
            strbuf_addc(&sb, text[i++]);
            continue;
        }
        memcpy(name, text + at, n);
        name[n] = '\0';
        value = envlist_get(env, name);
        strbuf_add(&sb, value ? value : "");
        i = at + n + brace;
    }
    check_mem_or_die(strbuf_detach(&sb, &out));
    return out;
}

/* NAME=value, blanks around = and quotes around the value do not count.  False: it is none. */
static bool take_variable(struct reader *rd, const char *text, size_t len)
{
    size_t n = 0, at;
    _cleanup_free_ char *name = NULL, *value = NULL;

    while (n < len && (isalnum((unsigned char)text[n]) || text[n] == '_') &&
           !(n == 0 && isdigit((unsigned char)*text)))
        n++;
    for (at = n; at < len && (text[at] == ' ' || text[at] == '\t');)
        at++;
    if (!n || at >= len || text[at] != '=')
        return false;
    for (at++; at < len && (text[at] == ' ' || text[at] == '\t');)
        at++;
    while (len > at && isspace((unsigned char)text[len - 1]))
        len--;
    if (len > at + 1 && (text[at] == '"' || text[at] == '\'') && text[len - 1] == text[at]) {
        at++;
        len--;
    }
    name = xasprintf_or_die("%.*s", (int)n, text);
    value = expand_shortcut(&rd->env, text + at, len - at);
    envlist_set(&rd->env, name, value);
    return true;
}

static void first_variables(struct reader *rd)
{
    const struct conf *conf = cli_conf(rd->cli);
    char host[HOST_NAME_MAX + 1] = "localhost";

    (void)gethostname(host, sizeof(host) - 1); /* it stays localhost */
    host[strcspn(host, ".")] = '\0';
    envlist_set(&rd->env, "HOME", rd->user->pw_dir);
    envlist_set(&rd->env, "LOGNAME", rd->user->pw_name);
    envlist_set(&rd->env, "USER", rd->user->pw_name);
    envlist_set(&rd->env, "SHELL", "/bin/sh");
    envlist_set(&rd->env, "PATH", "/usr/local/bin:/usr/bin:/bin");
    envlist_set(&rd->env, "SLURM_SUBMIT_HOST", host);
    envlist_set(&rd->env, "SLURM_SUBMIT_DIR", rd->user->pw_dir);
    if (conf_str(conf, CONF_CLUSTER_NAME))
        envlist_set(&rd->env, "SLURM_CLUSTER_NAME", conf_str(conf, CONF_CLUSTER_NAME));
    envlist_set(&rd->env, "SLURM_CONF", conf_path(conf));
}

/* ---- entries --------------------------------------------------------------------------------- */

static char *work_dir(const struct reader *rd)
{
    const char *dir = jobopts_get(&rd->opts, JO_CHDIR);

    if (dir && dir[0] == '/')
        return xstrdup_or_die(dir);
    return dir ? xasprintf_or_die("%s/%s", rd->user->pw_dir, dir)
               : xstrdup_or_die(rd->user->pw_dir);
}

/* The program's name: of "/bin/true -x" it is true. */
static char *program_name(const char *command)
{
    size_t len = strcspn(command, " \t;|&<>");
    const char *slash = memrchr(command, '/', len);

    if (slash) {
        len -= (size_t)(slash + 1 - command);
        command = slash + 1;
    }
    return xasprintf_or_die("%.*s", (int)(len ? MIN(len, (size_t)255) : 4), len ? command : "cron");
}

/* With what plugins have to say of the entry.  -EINVAL: they refuse it. */
static int pack_environment(struct reader *rd, Pst__JobRecord *job, ProtobufCBinaryData *ret,
                            struct err *err)
{
    _cleanup_val_(envlist_done) struct envlist env = ENVLIST_INIT;
    int r;

    envlist_export(&env, rd->env.items, "ALL");
    for (size_t i = 0; i < rd->env.n; i++) { /* SLURM_ variables do not pass an export */
        _cleanup_free_ char *name =
            xasprintf_or_die("%.*s", (int)strcspn(rd->env.items[i], "="), rd->env.items[i]);

        if (strncmp(name, "SLURM_", 6) == 0)
            envlist_set(&env, name, envlist_get(&rd->env, name));
    }
    envlist_add_options(&env, &rd->opts);
    envlist_set(&env, "SLURM_PRIO_PROCESS", "0");
    if (!jobopts_has(&rd->opts, JO_OOM_KILL_STEP))
        envlist_set(&env, "SLURM_OOM_KILL_STEP", "0");
    r = plugins_take_entry(rd->cli, &env, job, err);
    envlist_pack(&env, ret);
    return r;
}

static bool fill_job(struct reader *rd, const char *command, Pst__SubmitRequest *submit)
{
    Pst__JobRecord *job = xmalloc_or_die(sizeof(*job));
    struct err err = { .text = "" };
    char *script;

    pst__job_record__init(job);
    if (gresopts_check(&rd->opts) != 0 ||
        jobopts_fill_job(&rd->opts, conf_str(cli_conf(rd->cli), CONF_GRES_TYPES), now_us(), job,
                         &err) != 0) {
        if (err.text[0])
            cli_error("line %u: %s", rd->line, err.text);
        return false;
    }
    job->has_batch = job->batch = true;
    job->has_alloc_sid = true;
    job->alloc_sid = NO_SID;
    job->alloc_host = xstrdup_or_die(envlist_get(&rd->env, "SLURM_SUBMIT_HOST"));
    if (!job->has_oom_kill_step) {
        job->has_oom_kill_step = true; /* said of these jobs always */
        job->oom_kill_step = 0;
    }
    job->has_umask = true;
    job->umask = 022;
    job->work_dir = work_dir(rd);
    if (!job->name) {
        job->name = program_name(command);
        safetext_clean(job->name); /* a file's name may be anything */
    }
    if (!job->open_mode)
        job->open_mode = xstrdup_or_die("a");
    script = xasprintf_or_die("#!%s\n%s\n", envlist_get(&rd->env, "SHELL"), command);
    submit->job = job;
    submit->has_script = true;
    submit->script.data = (uint8_t *)script;
    submit->script.len = strlen(script);
    submit->has_environment = true;
    if (pack_environment(rd, job, &submit->environment, &err) < 0) {
        cli_error("line %u: %s", rd->line, err.text);
        return false;
    }
    submit->has_hold = submit->hold = jobopts_has(&rd->opts, JO_HOLD);
    return true;
}

static void add_job(struct reader *rd, const char *spec, size_t spec_len, const char *command)
{
    Pst__CrontabSetRequest *req = rd->req;
    Pst__CrontabJob *cj = xmalloc_or_die(sizeof(*cj));

    if (req->n_jobs == CRONTAB_ENTRIES_MAX) {
        cli_error("line %u: a crontab has at most %u entries", rd->line, CRONTAB_ENTRIES_MAX);
        rd->mistakes++;
        return;
    }
    pst__crontab_job__init(cj);
    cj->submit = xmalloc_or_die(sizeof(*cj->submit));
    pst__submit_request__init(cj->submit);
    cj->spec = xasprintf_or_die("%.*s", (int)spec_len, spec);
    cj->has_first_line = cj->has_last_line = true;
    cj->first_line = rd->opts_line ? rd->opts_line : rd->line;
    cj->last_line = rd->line;
    if (!fill_job(rd, command, cj->submit)) {
        rd->mistakes++;
        return;
    }
    req->jobs = xrealloc_or_die(req->jobs, req->n_jobs + 1, sizeof(*req->jobs));
    req->jobs[req->n_jobs++] = cj;
}

static void take_entry(struct reader *rd, const char *line)
{
    struct err err = { .text = "" };
    struct cron_times times;
    const char *end;
    int r = cron_parse(line, &times, &end, &err);

    if (r == -EDOM)
        cli_error("bad step value");
    else if (r < 0 && *line == '@')
        cli_error("invalid @ line");
    if (r == 0) {
        const char *command = end + strspn(end, " \t");

        if (*command)
            add_job(rd, line, (size_t)(end - line), command);
        else
            r = err_set(&err, -EINVAL, "there is no command after the times");
    }
    if (r < 0) {
        cli_error("something is broken");
        cli_error("line %u: %s", rd->line, err.text);
        rd->mistakes++;
    }
    jobopts_done(&rd->opts);
    jobopts_init(&rd->opts, JOBOPTS_SBATCH);
    rd->opts_line = 0;
}

unsigned crontab_read(struct cli *c, const struct passwd *user, const char *text,
                      Pst__CrontabSetRequest *req)
{
    struct reader rd = { .cli = c, .user = user, .req = req };

    jobopts_init(&rd.opts, JOBOPTS_SBATCH);
    first_variables(&rd);
    for (rd.line = 1; *text; rd.line++) {
        size_t len = strcspn(text, "\n"), blank = MIN(strspn(text, " \t"), len);
        _cleanup_free_ char *line = xasprintf_or_die("%.*s", (int)(len - blank), text + blank);

        if (strncmp(line, "#SCRON", 6) == 0 && (line[6] == ' ' || line[6] == '\t'))
            take_options(&rd, line + 6, strlen(line + 6));
        else if (*line && *line != '#' && *line != '\r' && !take_variable(&rd, line, strlen(line)))
            take_entry(&rd, line);
        text += len + (text[len] == '\n');
    }
    jobopts_done(&rd.opts);
    envlist_done(&rd.env);
    return rd.mistakes;
}
