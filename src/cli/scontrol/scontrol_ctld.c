/* scontrol_ctld.c - commands for the controller itself: ping, reconfigure, shutdown, token ... */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/hostlist.h"
#include "cli/query/out_nodes.h"
#include "api.pb-c.h"
#include "cli/scontrol/scontrol.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* A call that is answered by success or an error alone. */
static void simple_call(struct scontrol *s, unsigned op, const ProtobufCMessage *request,
                        const char *what)
{
    int r = client_call(scontrol_client(s, what), op, request, NULL);

    if (r < 0)
        scontrol_fail(s, "%s error:%s", what, client_strerror(s->client, r));
}

static void json_ping(struct scontrol *s, const char *host, bool up, int64_t latency_us)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    const struct conf *conf = cli_conf(&s->cli);
    struct json js;

    json_begin(&js, &out, json_option_style(&s->json));
    json_list(&js, "pings");
    json_object(&js, NULL);
    json_str(&js, "hostname", host);
    json_bool(&js, "responding", up);
    json_int(&js, "latency", latency_us);
    json_bool(&js, "primary", true);
    json_str(&js, "status",
             up ? "No error" : "Unable to contact slurm controller (connect failure)");
    json_object_end(&js);
    json_list_end(&js);
    json_meta(&js, s->argc, s->argv, conf_str(conf, CONF_CLUSTER_NAME),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&js);
    (void)fputs(strbuf_str(&out), stdout);
}

void scontrol_ping(struct scontrol *s, int argc, char **argv)
{
    Pst__PingRequest request = PST__PING_REQUEST__INIT;
    const char *host = conf_ctld_host(cli_conf(&s->cli), 0, NULL);
    struct client *c = NULL;
    struct err err = { .text = "" };
    int64_t start = now_mono_us();
    bool up;

    (void)argc;
    (void)argv;
    up = cli_connect_once(&s->cli, &c, &err) >= 0 &&
         client_call(c, OP_PING, &request.base, NULL) >= 0;
    client_free(c);
    if (s->json.wanted)
        json_ping(s, host ? host : "", up, now_mono_us() - start);
    else
        (void)printf("Slurmctld(primary) at %s is %s\n", host ? host : "localhost",
                     up ? "UP" : "DOWN");
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

    if (argc > 0) {
        if (strcasecmp(argv[0], "slurmctld") != 0 && strcasecmp(argv[0], "controller") != 0) {
            scontrol_fail(s, "scontrol: error: shutdown takes slurmctld or nothing, not %s",
                          argv[0]);
            return;
        }
        request.has_controller_only = request.controller_only = true;
    }
    simple_call(s, OP_SHUTDOWN, &request.base, "slurm_shutdown");
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
        } else {
            scontrol_fail(s,
                          "scontrol: error: token takes username=NAME and lifespan=SECONDS, not %s",
                          argv[i]);
            return;
        }
    }
    r = client_call(scontrol_client(s, "slurm_fetch_token"), OP_TOKEN, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) {
        scontrol_fail(s, "scontrol: error: %s", client_strerror(s->client, r));
        return;
    }
    (void)printf("SLURM_JWT=%s\n", reply->token ? reply->token : "");
    pst__token_reply__free_unpacked(reply, NULL);
}

void scontrol_setdebug(struct scontrol *s, int argc, char **argv)
{
    Pst__DebugRequest request = PST__DEBUG_REQUEST__INIT;

    if (argc != 1) {
        scontrol_fail(s, "too %s arguments for keyword:setdebug", argc < 1 ? "few" : "many");
        return;
    }
    request.level = argv[0];
    simple_call(s, OP_DEBUG, &request.base, "slurm_set_debug_level");
}

void scontrol_errnumstr(struct scontrol *s, int argc, char **argv)
{
    int64_t code;

    if (argc < 1)
        scontrol_fail(s, "too few arguments for keyword:errnumstr");
    else if (parse_i64(argv[0], INT32_MIN, INT32_MAX, &code) < 0)
        scontrol_fail(s, "scontrol: error: %s is no error number", argv[0]);
    else
        (void)printf("%s\n",
                     code > 0 && code < 1000 ? strerror((int)code) : slurm_err_text((int)code));
}

void scontrol_getaddrs(struct scontrol *s, int argc, char **argv)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    struct cluster_nodes t;
    int r;

    if (argc < 1 || hostlist_parse(argv[0], &names, NULL) < 0) {
        scontrol_fail(s, "too few arguments for keyword:getaddrs");
        return;
    }
    r = cluster_nodes_load(scontrol_client(s, "slurm_load_node"), NULL, &t);
    if (r < 0) {
        scontrol_fail(s, "slurm_load_node error: %s", client_strerror(s->client, r));
        return;
    }
    for (size_t i = 0; i < hostlist_count(names); i++) {
        long at = cluster_nodes_find(&t, hostlist_nth(names, i));

        if (at < 0)
            scontrol_fail(s, "Node %s not found", hostlist_nth(names, i));
        else
            (void)printf("%s: %s:%u\n", hostlist_nth(names, i),
                         t.nodes[at].record->addr ? t.nodes[at].record->addr
                                                  : hostlist_nth(names, i),
                         t.nodes[at].record->port);
    }
    cluster_nodes_done(&t);
}
