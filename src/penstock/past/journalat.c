/* journalat.c - penstock journal at: a command that sees the cluster as it was
 *
 * Owns a temporary folder with a slurm.conf that differs from the site's in who is asked, and the
 * slurmctld that answers there (ctld/ha/past.h).  Nothing is written anywhere else. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "penstock/past/conftext.h"
#include "penstock/past/filecopy.h"
#include "penstock/past/journalat.h"
#include "penstock/past/moment.h"
#include "penstock/penstock.h"
#include "wire/client.h"

#define START_US (120 * USEC_PER_SEC) /* a large log takes its time */
#define LOOK_MS 20
#define CONNECT_MS 2000
#define STOP_US (10 * USEC_PER_SEC)
#define ERROR_BYTES 2048

struct past {
    const char *when, *conf_path;
    char state[INSTANCE_PATH_MAX]; /* whose log */
    char dir[INSTANCE_PATH_MAX];   /* ours, removed at the end */
    char conf[INSTANCE_PATH_MAX + 32];
    struct moment moment;
    struct conf *site, *own; /* slurm.conf as it is, and ours */
    uint16_t port;
    pid_t pid; /* of the slurmctld; 0: none */
};

/* ---- the folder ------------------------------------------------------------------------------ */

static int make_folder(struct past *p)
{
    const char *tmp = getenv("TMPDIR");
    uid_t uid = conf_slurm_uid(p->site);
    char state[INSTANCE_PATH_MAX + 32];
    int n = snprintf(p->dir, sizeof(p->dir), "%s/penstock-past-XXXXXX",
                     tmp && *tmp == '/' ? tmp : "/tmp");

    if (n < 0 || (size_t)n >= sizeof(p->dir)) {
        p->dir[0] = '\0';
        return say_error("TMPDIR: the path is too long");
    }
    if (!mkdtemp(p->dir)) {
        int e = errno;

        p->dir[0] = '\0';
        return say_error("no temporary folder can be made in %s: %s",
                         tmp && *tmp == '/' ? tmp : "/tmp", strerror(e));
    }
    (void)snprintf(state, sizeof(state), "%s/state", p->dir);
    if (mkdir(state, 0700) < 0 ||
        (geteuid() == 0 && uid != 0 && /* slurmctld becomes SlurmUser */
         (chown(state, uid, (gid_t)-1) < 0 || chown(p->dir, uid, (gid_t)-1) < 0)))
        return say_error("%s: %s", state, strerror(errno));
    return STATUS_OK;
}

/* Our slurm.conf must say where we are asked, and nothing else may. */
static int check_conf(struct past *p)
{
    struct err err = { .text = "" };
    const char *addr = NULL;

    if (conf_load(p->conf, CONF_CLIENT, &p->own, NULL, &err) < 0)
        return say_error("%s", err.text);
    if (conf_ctld_port(p->own) != p->port || conf_ctld_host(p->own, 1, NULL) ||
        conf_ctld_addrs(p->own, &addr, 1) == 0 || strcmp(addr, "127.0.0.1") != 0)
        return say_error("%s: a file that it includes names SlurmctldHost or SlurmctldPort: they "
                         "must stand in slurm.conf itself",
                         p->conf_path);
    return STATUS_OK;
}

static int write_conf(struct past *p)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct err err = { .text = "" };

    (void)snprintf(p->conf, sizeof(p->conf), "%s/slurm.conf", p->dir);
    if (conftext_without(p->conf_path, conftext_place_keys, &text, &err) < 0)
        return say_error("%s", err.text);
    strbuf_addf(
        &text,
        "\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=%u\nStateSaveLocation=%s/state\n"
        "SlurmctldPidFile=%s/slurmctld.pid\nSlurmctldLogFile=%s/state/slurmctld.log\n",
        p->port, p->dir, p->dir, p->dir);
    if (conftext_write(p->conf, &text, &err) < 0 ||
        conftext_link_others(p->conf_path, p->dir, &err) < 0)
        return say_error("%s", err.text);
    return check_conf(p);
}

/* ---- the controller -------------------------------------------------------------------------- */

/* The last line that the controller wrote on its stderr. */
static void tell_failure(const struct past *p)
{
    char path[INSTANCE_PATH_MAX + 32], text[ERROR_BYTES] = "", *line = text;
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/stderr", p->dir);
    f = fopen(path, "re");
    if (f && (fseek(f, -(long)sizeof(text) + 1, SEEK_END) == 0 || fseek(f, 0, SEEK_SET) == 0))
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    if (f)
        (void)fclose(f);
    for (char *end = text + strlen(text); end > text && end[-1] == '\n';)
        *--end = '\0';
    if (strrchr(text, '\n'))
        line = strrchr(text, '\n') + 1;
    (void)say_error("the moment cannot be shown: %s", *line ? line : "slurmctld ended");
}

static bool has_ended(struct past *p)
{
    if (p->pid > 0 && waitpid(p->pid, NULL, WNOHANG) == p->pid)
        p->pid = 0;
    return p->pid == 0;
}

static int wait_ready(struct past *p)
{
    int64_t deadline = now_mono_us() + START_US;
    struct err err = { .text = "" };
    struct client *c = NULL;

    while (instance_connect(p->own, CONNECT_MS, &c, &err) < 0) {
        if (has_ended(p)) {
            tell_failure(p);
            return STATUS_FAILED;
        }
        if (now_mono_us() > deadline)
            return say_error("slurmctld does not answer: %s", err.text);
        (void)poll(NULL, 0, LOOK_MS); /* a pause; an early wake-up is harmless */
    }
    client_free(c);
    return STATUS_OK;
}

static int start_ctld(struct past *p)
{
    char program[INSTANCE_PATH_MAX], path[INSTANCE_PATH_MAX + 32];
    _cleanup_free_ char *past = NULL;
    struct err err = { .text = "" };
    FILE *out;
    int r;

    if (program_find("slurmctld", program, sizeof(program), &err) < 0)
        return say_error("%s", err.text);
    if (asprintf(&past, "%" PRIu64 ",%" PRId64 ",%s", p->moment.lsn, p->moment.time_us, p->state) <
        0)
        return say_nomem();
    (void)snprintf(path, sizeof(path), "%s/stderr", p->dir);
    out = fopen(path, "we");
    if (!out)
        return say_error("%s: %s", path, strerror(errno));
    r = proc_start((char *const[]){ program, (char *)"-D", (char *)"-f", p->conf, (char *)"--past",
                                    past, NULL },
                   fileno(out), &p->pid);
    (void)fclose(out);
    if (r < 0) {
        p->pid = 0;
        return say_error("%s: %s", program, strerror(-r));
    }
    return wait_ready(p);
}

static void stop_ctld(struct past *p)
{
    if (has_ended(p))
        return;
    (void)kill(p->pid, SIGTERM); /* it is our child: the number is its own */
    if (proc_finish(p->pid, now_mono_us() + STOP_US) == -ETIMEDOUT)
        say("slurmctld did not end, and was killed");
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_command(const struct past *p, char **argv)
{
    struct sigaction old, ignore = { .sa_handler = SIG_IGN };
    char when[64];
    const char *leave[] = { "SLURM_JWT", "SLURM_CLUSTERS", "SLURM_CONF_SERVER" };
    int status = 0, r;
    pid_t pid;

    time_fmt_stamp(p->moment.time_us, "", p->moment.time_us, when, sizeof(when));
    say("the cluster as of %s, record %" PRIu64, when, p->moment.lsn);
    if (setenv("SLURM_CONF", p->conf, 1) < 0)
        return say_nomem();
    for (size_t i = 0; i < ARRAY_SIZE(leave); i++)
        (void)unsetenv(leave[i]); /* they would lead to another cluster, or another user */
    r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (r)
        return say_error("%s: %s", argv[0], strerror(r));
    (void)sigaction(SIGINT, &ignore, &old); /* it is meant for the command, which we wait for */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)sigaction(SIGINT, &old, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int load_site(struct past *p, const char *state)
{
    struct err err = { .text = "" };
    int r;

    p->conf_path = conf_default_path();
    if (conf_load(p->conf_path, CONF_CLIENT, &p->site, NULL, &err) < 0)
        return say_error("%s", err.text);
    if (!state && !(state = conf_str(p->site, CONF_STATE_SAVE_LOCATION)))
        return say_error("%s: it has no StateSaveLocation: name one with --state", p->conf_path);
    r = journal_find(state, p->state);
    if (r != STATUS_OK)
        return r;
    if (moment_find(p->state, p->when, now_us(), &p->moment, &err) < 0)
        return say_error("%s", err.text);
    if (setup_free_port(&p->port, &err) < 0)
        return say_error("%s", err.text);
    return STATUS_OK;
}

int journalat_run(const char *when, const char *state, char **argv)
{
    struct past p = { .when = when };
    int r = load_site(&p, state);

    if (r == STATUS_OK)
        r = make_folder(&p);
    if (r == STATUS_OK)
        r = write_conf(&p);
    if (r == STATUS_OK)
        r = start_ctld(&p);
    if (r == STATUS_OK)
        r = run_command(&p, argv);
    stop_ctld(&p);
    if (p.dir[0])
        filecopy_remove(p.dir); /* what stays is in a folder for temporary files */
    conf_free(p.own);
    conf_free(p.site);
    return r;
}

int cmd_journal_at(int argc, char **argv)
{
    static const struct option longs[] = { { "state", required_argument, NULL, 's' },
                                           { NULL, 0, NULL, 0 } };
    const char *state = NULL, *when;
    int c;

    if (argc < 2 || argv[1][0] == '-')
        return usage_error("journal at needs a time or the number of a record");
    when = argv[1];
    argv[1] = argv[0];
    while ((c = getopt_long(argc - 1, argv + 1, "+s:", longs, NULL)) != -1) {
        if (c != 's')
            return bad_option();
        state = optarg;
    }
    if (optind >= argc - 1)
        return usage_error("journal at needs a command, behind --");
    return journalat_run(when, state, argv + 1 + optind);
}
