/* slurmrestd.c - slurmrestd from command line to clean exit
 *
 * It needs no rights: it passes tokens on, and answers what its callers may know.  So it refuses to
 * run as root or SlurmUser, where a mistake would cost most. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "conf/conf.h"
#include "rest/rest.h"
#include "rest/restcall.h"
#include "rest/restpump.h"
#include "rest/resttake.h"
#include "rest/restd/restrows.h"
#include "rest/watch/restwatch.h"
#include "version.h"

#define CONNECTIONS_MAX 65536u
#define THREADS_MAX 65536u
#define PASSED_FIRST 3 /* SD_LISTEN_FDS_START */
#define PASSED_MAX 64u

struct options {
    const char *auth, *plugins, *parsers, *user, *group, *conf_path;
    uint64_t connections;
    unsigned verbose;
    bool become_user, no_user_check;
    bool print_spec, take;
    char **addresses;
    size_t n_addresses;
    unsigned passed; /* sockets that systemd opened, from PASSED_FIRST on */
};

static const char usage[] =
    "Usage: slurmrestd [OPTIONS] [ADDRESS...]\n"
    "  ADDRESS        [http://]HOST:PORT, https://HOST:PORT, :PORT or unix:PATH;\n"
    "                 none: HTTP on standard input\n"
    "  -a TYPES       rest_auth/jwt, rest_auth/local (default: both); list: show them\n"
    "  -d VERSIONS    data_parser/v0.0.45 and the like (default: all); list: show them\n"
    "  -f FILE        read FILE instead of the usual slurm.conf\n"
    "  -g GROUP       become this group (with -u; needs root)\n"
    "  -h             print this help\n"
    "  --max-connections N  serve at most N connections at once (default 124)\n"
    "  -s PLUGINS     slurmctld, slurmdbd, util (default: all); list: show them\n"
    "  -t THREADS     taken, no effect: each connection has its thread\n"
    "  -u USER        become this user (needs root)\n"
    "  -v             log more; may be repeated\n"
    "  -V, --version  print the version and exit\n"
    "  --generate-openapi-spec  print the OpenAPI document and exit\n"
    "  --take-connections  connections come over standard input, from slurmctld (enable_rest)\n"
    "Environment: SLURMRESTD_LISTEN, SLURMRESTD_SECURITY, SLURMRESTD_AUTH_TYPES,\n"
    "SLURMRESTD_OPENAPI_PLUGINS, SLURMRESTD_DATA_PARSER_PLUGINS, SLURMRESTD_MAX_CONNECTIONS,\n"
    "SLURMRESTD_DEBUG, SLURM_CONF; LISTEN_FDS of systemd.  See slurmrestd(8).\n";

enum { OPT_CONNECTIONS = 256, OPT_SPEC, OPT_TAKE };

static const struct option longs[] = {
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { "max-connections", required_argument, NULL, OPT_CONNECTIONS },
    { "generate-openapi-spec", no_argument, NULL, OPT_SPEC },
    { "take-connections", no_argument, NULL, OPT_TAKE },
    { 0 },
};

static int refuse_start(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int refuse_start(const char *fmt, ...)
{
    va_list ap;

    (void)fputs("slurmrestd: fatal: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
    return 1;
}

static int take_threads(const char *text)
{
    uint64_t n;

    if (parse_u64(text, 1, THREADS_MAX, &n) == 0)
        return -1;
    return refuse_start("-t %.64s: a number from 1 to %u is wanted", text, THREADS_MAX);
}

static int take_count(const char *text, const char *what, uint64_t *ret)
{
    if (parse_u64(text, 1, CONNECTIONS_MAX, ret) == 0)
        return -1;
    return refuse_start("%s=%.64s: a number from 1 to %u is wanted", what, text, CONNECTIONS_MAX);
}

/* One option.  -1: go on; else the exit status. */
static int take_option(struct options *o, int c)
{
    switch (c) {
    case 'a':
        o->auth = optarg;
        return -1;
    case 'd':
        o->parsers = optarg;
        return -1;
    case 'f':
        o->conf_path = optarg;
        return -1;
    case 'g':
        o->group = optarg;
        return -1;
    case 's':
        o->plugins = optarg;
        return -1;
    case 't':
        return take_threads(optarg);
    case 'u':
        o->user = optarg;
        return -1;
    case 'v':
        o->verbose++;
        return -1;
    case OPT_CONNECTIONS:
        return take_count(optarg, "--max-connections", &o->connections);
    case OPT_TAKE:
        o->take = true;
        return -1;
    case OPT_SPEC:
        o->print_spec = true;
        return -1;
    case 'h':
        (void)fputs(usage, stdout);
        return 0;
    case 'V':
        (void)puts("slurm " SLURM_RELEASE);
        return 0;
    default:
        (void)fputs(usage, stderr);
        return 1;
    }
}

static int take_security(struct options *o, const char *list)
{
    static const char *const known[] = { "become_user", "disable_unshare_files",
                                         "disable_unshare_sysv", "disable_user_check" };

    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ","), i = 0;

        while (i < ARRAY_SIZE(known) &&
               (strlen(known[i]) != len || strncasecmp(known[i], p, len) != 0))
            i++;
        if (len && i == ARRAY_SIZE(known))
            return refuse_start("Unexpected value in SLURMRESTD_SECURITY: %.*s", (int)len, p);
        o->become_user |= i == 0;
        o->no_user_check |= i == 3;
    }
    return -1;
}

static int take_environment(struct options *o)
{
    const char *count = getenv("SLURMRESTD_MAX_CONNECTIONS"), *debug = getenv("SLURMRESTD_DEBUG");
    uint64_t level = 0;

    o->auth = getenv("SLURMRESTD_AUTH_TYPES");
    o->plugins = getenv("SLURMRESTD_OPENAPI_PLUGINS");
    o->parsers = getenv("SLURMRESTD_DATA_PARSER_PLUGINS");
    if (debug && parse_u64(debug, 0, 9, &level) == 0)
        o->verbose = level > 3 ? (unsigned)level - 3 : 0;
    if (count && take_count(count, "SLURMRESTD_MAX_CONNECTIONS", &o->connections) >= 0)
        return 1;
    return take_security(o, getenv("SLURMRESTD_SECURITY"));
}

static bool is_listening(int fd)
{
    int on = 0, type = 0;
    socklen_t len = sizeof(on), type_len = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 && on &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_STREAM;
}

/* LISTEN_FDS sockets, which systemd (a .socket unit) opened for this very process. */
static int take_passed(struct options *o)
{
    const char *count = getenv("LISTEN_FDS"), *pid = getenv("LISTEN_PID");
    uint64_t n, whose;

    if (!count || !pid || parse_u64(pid, 1, INT32_MAX, &whose) < 0 || (pid_t)whose != getpid())
        return -1;
    if (parse_u64(count, 1, PASSED_MAX, &n) < 0)
        return refuse_start("LISTEN_FDS=%.64s: a number from 1 to %u is wanted", count, PASSED_MAX);
    for (unsigned i = 0; i < n; i++) {
        if (!is_listening(PASSED_FIRST + (int)i))
            return refuse_start("LISTEN_FDS=%s: descriptor %u is no socket that listens", count,
                                PASSED_FIRST + i);
        if (fcntl(PASSED_FIRST + (int)i, F_SETFD, FD_CLOEXEC) < 0)
            return refuse_start("descriptor %u: %s", PASSED_FIRST + i, strerror(errno));
    }
    o->passed = (unsigned)n;
    (void)unsetenv("LISTEN_FDS"); /* of nobody that is started from here */
    (void)unsetenv("LISTEN_PID");
    return -1;
}

static int read_options(struct options *o, int argc, char **argv)
{
    int r = take_environment(o), c;

    if (r < 0)
        r = take_passed(o);

    while (r < 0 && (c = getopt_long(argc, argv, "a:d:f:g:hs:t:u:vV", longs, NULL)) != -1)
        r = take_option(o, c);
    o->addresses = argv + optind;
    o->n_addresses = (size_t)(argc - optind);
    return r;
}

/* ---- what is served -------------------------------------------------------------------------- */

/* Bits of the names in a comma list, each with or without the prefix ("openapi/"); NULL: all.
 * -1: go on; else the exit status: a list was shown, or a name is unknown. */
static int choose_names(const char *list, const char *prefix, const char *const *names, size_t n,
                        uint64_t *ret)
{
    *ret = list ? 0 : (UINT64_C(1) << n) - 1;
    if (list && strcasecmp(list, "list") == 0) {
        (void)fprintf(stderr, "Possible %.*s plugins:\n", (int)strcspn(prefix, "/"), prefix);
        for (size_t i = 0; i < n; i++)
            (void)printf("%s%s\n", prefix, names[i]);
        return 0;
    }
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t skip = strncmp(p, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
        size_t len = strcspn(p, ",+") - skip, i = 0;

        while (i < n && (strlen(names[i]) != len || strncmp(names[i], p + skip, len) != 0))
            i++;
        if (i == n)
            return refuse_start("unable to find plugin: %.*s", (int)strcspn(p, ","), p);
        *ret |= UINT64_C(1) << i;
    }
    return -1;
}

static int choose_served(const struct options *o, struct rest_config *config)
{
    static const char *const auths[] = { "jwt", "local" };
    static const char *const plugins[] = { "slurmctld", "slurmdbd", "util" };
    static const char *const parsers[] = { "v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45" };
    uint64_t auth, plugin, parser;
    int r = choose_names(o->auth, "rest_auth/", auths, ARRAY_SIZE(auths), &auth);

    if (r < 0)
        r = choose_names(o->plugins, "openapi/", plugins, ARRAY_SIZE(plugins), &plugin);
    if (r < 0)
        r = choose_names(o->parsers, "data_parser/", parsers, ARRAY_SIZE(parsers), &parser);
    if (r >= 0)
        return r;
    config->jwt = auth & 1;
    config->local = auth & 2;
    config->plugins = (unsigned)plugin;
    if (plugin & 1u << REST_SLURM) /* what is ours is about slurmctld */
        config->plugins |= 1u << REST_PENSTOCK;
    config->versions = parser << REST_OLDEST;
    config->become_user = o->become_user;
    config->connections = (unsigned)o->connections;
    return -1;
}

/* ---- who we are ------------------------------------------------------------------------------ */

static int become_group(const char *name, gid_t *gid)
{
    const struct group *gr = getgrnam(name);
    uint64_t number;

    if (gr)
        *gid = gr->gr_gid;
    else if (parse_u64(name, 0, UINT32_MAX - 1, &number) == 0)
        *gid = (gid_t)number;
    else
        return refuse_start("Unable to resolve gid: %s", name);
    return -1;
}

static int change_user(const struct options *o)
{
    const struct passwd *pw = o->user ? getpwnam(o->user) : NULL;
    uint64_t number;
    gid_t gid;
    int r = -1;

    if (o->user && !pw && parse_u64(o->user, 0, UINT32_MAX - 1, &number) == 0)
        pw = getpwuid((uid_t)number);
    if (o->user && !pw)
        return refuse_start("Unable to resolve user: %s", o->user);
    gid = pw ? pw->pw_gid : getegid();
    if (o->group)
        r = become_group(o->group, &gid);
    if (r >= 0 || (!o->user && !o->group))
        return r;
    if (setgroups(1, &gid) < 0 || setgid(gid) < 0 || (pw && setuid(pw->pw_uid) < 0))
        return refuse_start("Unable to become %s: %s", o->user ? o->user : o->group,
                            strerror(errno));
    return -1;
}

static int check_user(const struct options *o, const struct conf *conf)
{
    if (o->become_user && geteuid() != 0)
        return refuse_start("SLURMRESTD_SECURITY=become_user needs root");
    if (o->become_user || o->no_user_check)
        return -1;
    if (geteuid() == 0)
        return refuse_start("slurmrestd should not be run as the root user.");
    if (getegid() == 0)
        return refuse_start("slurmrestd should not be run with the root group.");
    if (geteuid() == conf_slurm_uid(conf))
        return refuse_start("slurmrestd should not be run as SlurmUser.");
    return -1;
}

/* ---- serving --------------------------------------------------------------------------------- */

static int listen_at(struct rest *rest, const char *address)
{
    struct err err = { .text = "" };

    if (rest_listen(rest, address, &err) < 0)
        return refuse_start("%s", err.text);
    log_info("listening on %s", address);
    return -1;
}

static int listen_passed(struct rest *rest, int fd)
{
    struct err err = { .text = "" };

    if (rest_listen_fd(rest, fd, "LISTEN_FDS", &err) < 0)
        return refuse_start("%s", err.text);
    log_info("listening on descriptor %d", fd);
    return -1;
}

static int listen_all(struct rest *rest, const struct options *o)
{
    _cleanup_free_ char *list = NULL;
    char *rest_of = NULL;
    int r = -1;

    for (unsigned i = 0; i < o->passed && r < 0; i++)
        r = listen_passed(rest, PASSED_FIRST + (int)i);
    for (size_t i = 0; i < o->n_addresses && r < 0; i++)
        r = listen_at(rest, o->addresses[i]);
    if (o->n_addresses || !getenv("SLURMRESTD_LISTEN"))
        return r;
    list = strdup(getenv("SLURMRESTD_LISTEN"));
    for (char *p = list ? strtok_r(list, ",", &rest_of) : NULL; p && r < 0;
         p = strtok_r(NULL, ",", &rest_of))
        r = listen_at(rest, p);
    return r;
}

static void wait_for_end(void)
{
    sigset_t set;
    int signum;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigwait(&set, &signum); /* blocked in every thread */
    log_info("ending on signal %d", signum);
}

static void block_signals(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* One request after another from standard input: a socket of inetd, or a pipe. */
static int serve_stdin(struct rest *rest)
{
    struct err err = { .text = "" };
    int r = restpump_run(rest, STDIN_FILENO, STDOUT_FILENO, &err);

    return r < 0 ? refuse_start("%s", err.text) : 0;
}

static int print_document(const struct rest_config *config)
{
    struct rest *rest = NULL;
    struct err err = { .text = "" };
    char *text = NULL;
    int r = rest_new(config, &rest, &err);

    if (r == 0 && rest_openapi(rest, false, &text) == 0)
        (void)fputs(text, stdout);
    free(text);
    (void)rest_free(rest); /* always NULL */
    return r == 0 && fflush(stdout) == 0 ? 0 : refuse_start("the document cannot be written");
}

/* Connections that slurmctld hands over. */
static int serve_taken(struct rest *rest)
{
    struct err err = { .text = "" };
    int r = resttake_run(rest, STDIN_FILENO, &err);

    return r < 0 ? refuse_start("%s", err.text) : 0;
}

static int serve_addresses(const struct options *o, struct rest *rest, bool listens)
{
    int r;

    if (o->take)
        return serve_taken(rest);
    if (!listens)
        return serve_stdin(rest);
    r = listen_all(rest, o);
    if (r >= 0)
        return r;
    wait_for_end();
    return 0;
}

static int serve_all(const struct options *o, struct rest_config *config)
{
    bool listens = o->n_addresses || o->passed || getenv("SLURMRESTD_LISTEN");
    struct watch_hub *hub = NULL;
    struct rest_taking taking;
    struct rest *rest = NULL;
    struct err err = { .text = "" };
    int r;

    if (!listens && !o->take && isatty(STDIN_FILENO))
        return refuse_start("no address to listen at: give HOST:PORT or unix:PATH");
    block_signals();
    if (restwatch_new(config->conf, &hub, &err) < 0)
        return refuse_start("%s", err.text);
    taking = restwatch_taking(hub);
    config->taking = &taking;
    if (rest_new(config, &rest, &err) < 0) {
        (void)restwatch_free(hub); /* always NULL */
        return refuse_start("%s", err.text);
    }
    r = serve_addresses(o, rest, listens);
    restwatch_stop(hub);       /* first: requests may be waiting for a source */
    (void)rest_free(rest);     /* always NULL */
    (void)restwatch_free(hub); /* likewise */
    return r;
}

int main(int argc, char **argv)
{
    struct options o = { 0 };
    struct rest_config config = { 0 };
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    int r = read_options(&o, argc, argv);

    if (r < 0)
        r = choose_served(&o, &config);
    if (r >= 0)
        return r;
    config.rows = restrows;
    if (o.print_spec)
        return print_document(&config);
    (void)log_open("slurmrestd", NULL, o.verbose ? LOG_DEBUG : LOG_INFO, false); /* stderr */
    if (conf_load(o.conf_path ? o.conf_path : conf_default_path(), CONF_CLIENT, &conf, NULL, &err) <
        0)
        return refuse_start("%s", err.text);
    (void)unsetenv("SLURM_HOSTFILE"); /* what a job asks for stands in its request */
    config.conf = conf;
    r = change_user(&o);
    if (r < 0)
        r = check_user(&o, conf);
    if (r < 0)
        r = serve_all(&o, &config);
    conf_free(conf);
    return r;
}
