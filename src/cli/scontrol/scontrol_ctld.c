/* scontrol_ctld.c - commands for daemons: ping, reconfigure, shutdown, token, setdebug ... */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "cli/base/argwords.h"
#include "cli/query/out_nodes.h"
#include "cli/scontrol/scontrol.h"
#include "session/pingtext.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define PING_TIMEOUT_MS 2000
#define PINGS_MAX 16
#define TAKEOVER_SPARE_MS 60000

/* A call that is answered by success or an error alone. */
static void simple_call(struct scontrol *s, unsigned op, const ProtobufCMessage *request,
                        const char *what)
{
    int r = client_call(scontrol_client(s, what), op, request, NULL);

    if (r < 0)
        scontrol_missing(s, stderr, "%s error:%s", what, client_strerror(s->client, r));
}

/* What became of a ping to one controller. */
struct ping {
    const char *host;
    bool up;
    int64_t latency_us;
    struct strbuf said; /* with --details */
};

static void json_pings(struct scontrol *s, const struct ping *pings, size_t n)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct conf *conf = cli_conf(&s->cli);
    struct json js;

    json_begin_option(&js, &out, &s->json);
    json_list(&js, "pings");
    for (size_t i = 0; i < n; i++) {
        json_map(&js, NULL);
        json_str(&js, "hostname", pings[i].host);
        json_bool(&js, "responding", pings[i].up);
        json_int(&js, "latency", pings[i].latency_us);
        json_bool(&js, "primary", i == 0);
        json_str(&js, "status",
                 pings[i].up ? "No error" : "Unable to contact slurm controller (connect failure)");
        json_map_end(&js);
    }
    json_list_end(&js);
    json_meta(&js, s->argc, s->argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&js);
    (void)fputs(strbuf_str(&out), stdout);
}

static void print_pings(const struct scontrol *s, const struct ping *pings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char number[16] = "";

        if (n > 2)
            (void)snprintf(number, sizeof(number), "%zu", i); /* fits */
        (void)printf("Slurmctld(%s%s) at %s is %s\n", i ? "backup" : "primary", i ? number : "",
                     pings[i].host, pings[i].up ? "UP" : "DOWN");
        if (s->show.details && pings[i].up)
            (void)printf("   %s\n", strbuf_str(&pings[i].said));
    }
}

/* The only controller; or of several the one of this line, which may stand by. */
static struct ping ping_one(struct scontrol *s, const char *host, size_t index, bool alone)
{
    Pst__PingRequest request = PST__PING_REQUEST__INIT;
    struct ping p = { .host = host, .said = STRBUF_INIT };
    ProtobufCMessage *answer = NULL;
    struct client *c = NULL;
    struct err err = { .text = "" };
    int64_t start = now_mono_us();
    int r = alone ? cli_connect_once(&s->cli, &c, &err)
                  : cli_connect_host(&s->cli, index, PING_TIMEOUT_MS, &c, &err);

    if (r < 0 && cli_err_tells_more(&s->cli, r, &err))
        cli_error("%s: %s", host, err.text);
    p.up = r >= 0 && client_call(c, OP_PING, &request.base, &answer) >= 0;
    if (p.up) {
        ping_text(PB_AS(ping_reply, answer), &p.said);
        protobuf_c_message_free_unpacked(answer, NULL);
    }
    client_free(c);
    p.latency_us = now_mono_us() - start;
    return p;
}

void scontrol_ping(struct scontrol *s, int argc, char **argv)
{
    const struct conf *conf = cli_conf(&s->cli);
    struct ping pings[PINGS_MAX];
    size_t n = 0;
    bool up = false;
    const char *host;

    (void)argc;
    (void)argv;
    while (!s->clusters && n < PINGS_MAX && (host = conf_ctld_host(conf, n, NULL))) {
        pings[n] = ping_one(s, host, n, !conf_ctld_host(conf, 1, NULL));
        n++;
    }
    if (!n)
        pings[n++] = ping_one(s, s->clusters ? s->clusters : "localhost", 0, true);
    for (size_t i = 0; i < n; i++)
        up |= pings[i].up;
    if (s->json.wanted)
        json_pings(s, pings, n);
    else
        print_pings(s, pings, n);
    for (size_t i = 0; i < n; i++)
        strbuf_done(&pings[i].said);
    if (!up)
        s->status = CLI_EXIT_FAILED;
}

void scontrol_reconfigure(struct scontrol *s, int argc, char **argv)
{
    Pst__Empty request = PST__EMPTY__INIT;

    (void)argc;
    (void)argv;
    simple_call(s, OP_RECONFIGURE, &request.base, "slurm_reconfigure");
}

void scontrol_shutdown(struct scontrol *s, int argc, char **argv)
{
    Pst__ShutdownRequest request = PST__SHUTDOWN_REQUEST__INIT;
    ProtobufCMessage *answer = NULL;
    int r;

    if (argc > 0) {
        if (strcasecmp(argv[0], "slurmctld") != 0 && strcasecmp(argv[0], "controller") != 0) {
            scontrol_fail(s, "scontrol: error: shutdown takes slurmctld or nothing, not %s",
                          argv[0]);
            return;
        }
        request.has_controller_only = request.controller_only = true;
    }
    r = client_call(scontrol_client(s, "slurm_shutdown"), OP_SHUTDOWN, &request.base, &answer);
    if (r < 0)
        scontrol_missing(s, stderr, "slurm_shutdown error:%s", client_strerror(s->client, r));
    else if (answer && PB_AS(shutdown_reply, answer)->untold)
        (void)fprintf(stderr, "scontrol: warning: not connected, slurmd goes on there: %s\n",
                      PB_AS(shutdown_reply, answer)->untold);
    if (answer)
        protobuf_c_message_free_unpacked(answer, NULL);
}

/* At worst a lease has to run out, and the log to be read. */
static int takeover_ms(const struct conf *conf)
{
    uint64_t lease_ms = conf_num(conf, CONF_SLURMCTLD_LEASE);

    if (!lease_ms)
        lease_ms = conf_num(conf, CONF_SLURMCTLD_TIMEOUT) * 1000;
    return (int)MIN(lease_ms + TAKEOVER_SPARE_MS, (uint64_t)INT32_MAX);
}

/* The controller of that line takes over: it asks the active one, or waits for the end of its
 * lease. */
void scontrol_takeover(struct scontrol *s, int argc, char **argv)
{
    const struct conf *conf = cli_conf(&s->cli);
    Pst__TakeoverRequest request = PST__TAKEOVER_REQUEST__INIT;
    struct err err = { .text = "" };
    struct client *c = NULL;
    uint64_t index = 1;
    int r;

    if (argc > 0 &&
        (parse_u64(argv[0], 1, UINT32_MAX, &index) < 0 || !conf_ctld_host(conf, index, NULL))) {
        scontrol_fail(s, "takeover: invalid backup controller index (%s)", argv[0]);
        return;
    }
    r = cli_connect_host(&s->cli, index, PING_TIMEOUT_MS, &c, &err);
    if (r < 0) {
        scontrol_fail(s, "slurm_takeover error: %s", slurm_err_text(EPST_UNREACHABLE));
        return;
    }
    client_set_timeout(c, takeover_ms(conf));
    r = client_call(c, OP_TAKEOVER, &request.base, NULL);
    if (r < 0)
        scontrol_fail(s, "slurm_takeover error: %s", client_strerror(c, r));
    client_free(c);
}

void scontrol_token(struct scontrol *s, int argc, char **argv)
{
    Pst__TokenRequest request = PST__TOKEN_REQUEST__INIT;
    Pst__TokenReply *reply = NULL;
    int r;

    for (int i = 0; i < argc; i++) {
        if (strncasecmp(argv[i], "username=", 9) == 0) {
            request.user = argv[i] + 9;
        } else if (strcasecmp(argv[i], "lifespan=infinite") == 0) {
            request.has_infinite = request.infinite = true;
        } else if (strncasecmp(argv[i], "lifespan=", 9) == 0 &&
                   parse_u64(argv[i] + 9, 1, UINT32_MAX, &request.lifespan_s) == 0) {
            request.has_lifespan_s = true;
        } else if (strncasecmp(argv[i], "lifespan=", 9) == 0) {
            scontrol_fail(s, "scontrol: error: Invalid numeric value \"%s\" for lifespan.",
                          argv[i] + 9);
            return;
        } else {
            scontrol_fail(s, "Invalid option: `%s`", argv[i]);
            return;
        }
    }
    r = client_call(scontrol_client(s, "slurm_fetch_token"), OP_TOKEN, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) {
        scontrol_fail(s, "scontrol: error: slurm_fetch_token: error with request: %s",
                      client_strerror(s->client, r));
        return;
    }
    (void)printf("SLURM_JWT=%s\n", reply->token ? reply->token : "");
    pst__token_reply__free_unpacked(reply, NULL);
}

void scontrol_errnumstr(struct scontrol *s, int argc, char **argv)
{
    int64_t code;

    if (argc != 1)
        scontrol_fail(s, "one arguments required for keyword:errnumstr");
    else if (parse_i64(argv[0], INT32_MIN, INT32_MAX, &code) < 0)
        scontrol_fail(s, "numeric arguments required for keyword:errnumstr");
    else
        (void)printf("%s\n",
                     code > 0 && code < 1000 ? strerror((int)code) : slurm_err_text((int)code));
}

/* Names that are no node are left out. */
void scontrol_getaddrs(struct scontrol *s, int argc, char **argv)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    struct cluster_nodes t;
    int r;

    if (argc != 1 || hostlist_parse(argv[0], &names, NULL) < 0) {
        scontrol_fail(s, "one argument required for keyword:getaddrs");
        return;
    }
    r = cluster_nodes_load(scontrol_client(s, "slurm_load_node"), NULL, &t);
    if (r < 0) {
        scontrol_fail(s, "slurm_load_node error: %s", client_strerror(s->client, r));
        return;
    }
    for (size_t i = 0; i < hostlist_count(names); i++) {
        long at = cluster_nodes_find(&t, hostlist_nth(names, i));
        const Pst__NodeRecord *n = at < 0 ? NULL : t.nodes[at].record;

        if (n)
            (void)printf("%s: %s:%u\n", n->name, n->addr ? n->addr : n->name, n->port);
    }
    cluster_nodes_done(&t);
}

/* ---- settings of running daemons ------------------------------------------------------------- */

static void send_setting(struct scontrol *s, const Pst__DebugRequest *request, const char *what,
                         const char *thing)
{
    struct client *c = scontrol_client(s, what);
    int r = client_call(c, OP_DEBUG, &request->base, NULL), code;

    if (r >= 0)
        return;
    code = client_error(c, NULL);
    if (request->nodes)
        scontrol_fail(s, "Failed to change %s on one or more nodes.:%s", thing,
                      client_strerror(c, r));
    else
        scontrol_missing(s, stderr, "%s error:%s", what,
                         code == ESLURM_USER_ID_MISSING ? "Permission denied"
                                                        : client_strerror(c, r));
}

/* "nodes=LIST" of the last word, taken off; NULL: there is none. */
static char *take_nodes(int *argc, char **argv)
{
    if (*argc < 2 || strncasecmp(argv[*argc - 1], "nodes=", 6) != 0)
        return NULL;
    return argv[--*argc] + 6;
}

void scontrol_setdebug(struct scontrol *s, int argc, char **argv)
{
    Pst__DebugRequest request = PST__DEBUG_REQUEST__INIT;
    enum log_level level;

    request.nodes = take_nodes(&argc, argv);
    if (argc < 1) {
        scontrol_missing(s, stderr, "too few arguments for keyword:setdebug");
    } else if (argc > 1) {
        scontrol_fail(s, "Invalid option: %s", argv[0]);
    } else if (strcmp(argv[0], "-1") != 0 && log_level_parse(argv[0], &level) < 0) {
        scontrol_missing(s, stderr, "invalid debug level: %s", argv[0]);
    } else {
        request.level = argv[0];
        if (strcmp(argv[0], "-1") == 0)
            request.level = (char *)"quiet"; /* not changed by packing */
        send_setting(s, &request, "slurm_set_debug_level", "debug level");
    }
}

struct flag_words {
    char **list;
    size_t n;
};

/* "+Gres,Steps": each with its sign. */
static bool take_flags(struct scontrol *s, struct flag_words *f, const char *word)
{
    _cleanup_free_ char *list = xstrdup_or_die(word + 1);
    char *save = NULL;

    if (word[0] != '+' && word[0] != '-') {
        scontrol_fail(s, "invalid debug flag: %s", word);
        (void)fprintf(stderr, "Usage: setdebugflags {+|-}NAME [{+|-}NAME] [nodes=<NODES>]\n");
        return false;
    }
    for (char *flag = strtok_r(list, ",", &save); flag; flag = strtok_r(NULL, ",", &save)) {
        if (!conf_debug_flag(flag)) {
            cli_error("Invalid DebugFlag: %s", flag);
            scontrol_fail(s, "invalid debug flag: %s", word);
            return false;
        }
        f->list = xrealloc_or_die(f->list, f->n + 1, sizeof(*f->list));
        f->list[f->n++] = xasprintf_or_die("%c%s", word[0], flag);
    }
    return true;
}

void scontrol_setdebugflags(struct scontrol *s, int argc, char **argv)
{
    Pst__DebugRequest request = PST__DEBUG_REQUEST__INIT;
    struct flag_words flags = { NULL, 0 };
    bool good = argc > 0;

    request.nodes = take_nodes(&argc, argv);
    if (!good)
        scontrol_missing(s, stderr, "too few arguments for keyword:setdebugflags");
    for (int i = 0; good && i < argc; i++)
        good = take_flags(s, &flags, argv[i]);
    request.flags = flags.list;
    request.n_flags = flags.n;
    if (good)
        send_setting(s, &request, "slurm_set_debug_flags", "debug flags");
    argwords_free(flags.list, flags.n);
}

void scontrol_schedloglevel(struct scontrol *s, int argc, char **argv)
{
    Pst__DebugRequest request = PST__DEBUG_REQUEST__INIT;
    bool on;

    if (argc != 1) {
        scontrol_missing(s, stderr, "too %s arguments for keyword:schedloglevel",
                         argc < 1 ? "few" : "many");
        return;
    }
    on = strcmp(argv[0], "1") == 0 || strcasecmp(argv[0], "enable") == 0;
    if (!on && strcmp(argv[0], "0") != 0 && strcasecmp(argv[0], "disable") != 0) {
        scontrol_missing(s, stderr, "invalid schedlog level: %s", argv[0]);
        return;
    }
    request.has_sched_log_level = true;
    request.sched_log_level = on;
    send_setting(s, &request, "slurm_set_schedlog_level", "level");
}

void scontrol_fsdampeningfactor(struct scontrol *s, int argc, char **argv)
{
    Pst__DebugRequest request = PST__DEBUG_REQUEST__INIT;
    uint64_t factor;

    if (argc != 1) {
        scontrol_missing(s, stderr, "too %s arguments for keyword:fsdampeningfactor",
                         argc < 1 ? "few" : "many");
        return;
    }
    if (parse_u64(argv[0], 1, UINT16_MAX, &factor) < 0) {
        scontrol_missing(s, stderr, "invalid dampening factor: %s", argv[0]);
        return;
    }
    request.has_fs_dampening = true;
    request.fs_dampening = (uint32_t)factor;
    send_setting(s, &request, "slurm_set_fs_dampeningfactor", "factor");
}

/* ---- power ------------------------------------------------------------------------------- */

static void send_power(struct scontrol *s, Pst__NodeAction action, char *nodes, char *program,
                       char *reason)
{
    Pst__NodeUpdateRequest request = PST__NODE_UPDATE_REQUEST__INIT;
    Pst__NodeRecord set = PST__NODE_RECORD__INIT;
    int r;

    set.reason = reason;
    request.nodes = nodes;
    request.has_action = true;
    request.action = action;
    request.set = &set;
    request.power_action = program;
    r = client_call(scontrol_client(s, "scontrol_power_nodes"), OP_NODE_UPDATE, &request.base,
                    NULL);
    if (r < 0)
        scontrol_missing(s, stderr, "scontrol_power_nodes error:%s", client_strerror(s->client, r));
}

void scontrol_power(struct scontrol *s, int argc, char **argv)
{
    Pst__NodeAction action = PST__NODE_ACTION__NODE_ACT_POWER_UP;
    bool down = argc > 0 && strcasecmp(argv[0], "down") == 0;
    char *reason = NULL, *program = NULL;
    int i = 1;

    if (argc > 0 && !down && strcasecmp(argv[0], "up") != 0) {
        scontrol_fail(s, "unexpected argument: '%s'", argv[0]);
        return;
    }
    if (down) {
        action = PST__NODE_ACTION__NODE_ACT_POWER_DOWN;
        if (argc > 1 && strcasecmp(argv[1], "asap") == 0)
            action = PST__NODE_ACTION__NODE_ACT_POWER_DOWN_ASAP;
        else if (argc > 1 && strcasecmp(argv[1], "force") == 0)
            action = PST__NODE_ACTION__NODE_ACT_POWER_DOWN_FORCE;
        i += action != PST__NODE_ACTION__NODE_ACT_POWER_DOWN;
    }
    if (i >= argc) {
        scontrol_missing(s, stderr, "too few arguments for keyword:power");
        return;
    }
    for (int k = i + 1; k < argc; k++) {
        if (strncasecmp(argv[k], "reason=", 7) == 0) {
            reason = argv[k] + 7;
        } else if (strncasecmp(argv[k], "action=", 7) == 0 && argv[k][7]) {
            program = argv[k] + 7;
        } else {
            scontrol_fail(s, "unexpected argument: '%s'", argv[k]);
            return;
        }
    }
    if (reason && !down)
        scontrol_fail(s, "Reason only allowed for scontrol power down operation");
    else
        send_power(s, action, argv[i], program, reason);
}

/* ---- the configuration as a file --------------------------------------------------------- */

/* Lines of slurm.conf as they are read, without comments; files that it includes stay included. */
static bool copy_lines(FILE *from, FILE *to)
{
    _cleanup_free_ char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, from) >= 0)
        if (line[strspn(line, " \t\r\n")] && line[strspn(line, " \t")] != '#')
            (void)fputs(line, to); /* ferror() tells */
    return !ferror(from) && fflush(to) == 0 && !ferror(to);
}

void scontrol_write_config(struct scontrol *s, const char *name)
{
    const char *from = conf_path(cli_conf(&s->cli));
    _cleanup_free_ char *path = NULL;
    _cleanup_fclose_ FILE *in = NULL, *out = NULL;
    time_t now = time(NULL);
    char stamp[32] = "";
    struct tm tm;

    if (localtime_r(&now, &tm))
        (void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm); /* fits */
    path = xasprintf_or_die("%s.%s", name ? name : from, stamp);
    in = fopen(from, "re");
    out = in ? fopen(path, "wxe") : NULL;
    if (!out) /* the exit status stays, as programs know it */
        (void)fprintf(stderr, "Could not create file %s: %s\n", path, strerror(errno));
    else if (!copy_lines(in, out))
        scontrol_fail(s, "scontrol: error: failed to write %s: %s", path, strerror(errno));
    else
        (void)printf("Slurm config saved to %s\n", path);
}
