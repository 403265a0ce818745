/* scontrol.c - look at and change the cluster: option and command tables, the short commands,
 * interactive mode
 *
 * One connection is kept for all commands of a run.  libedit is loaded only when commands are
 * typed at a terminal, so that a single command starts as fast as any other client. */
#include "cli/scontrol/scontrol.h"
#include "cli/scontrol/scontrol_reboot.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/base/opts.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "model/words/names.h"
#include "version.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define WORDS_MAX 256 /* words of one typed line */

#define OPT_INTO struct scontrol
static const struct opt rows[] = {
    OPT("all", 'a', OPT_NONE, OPT_FLAG(all), "@ALL", NULL, NULL, "also hidden partitions"),
    OPT("changes-only", 0, OPT_NONE, OPT_FLAG(changes_only), NULL, NULL, NULL,
        "watch: no snapshot to begin with"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(clusters), "SLURM_CLUSTERS", NULL, "name",
        "ask this cluster"),
    OPT("details", 'd', OPT_NONE, OPT_FLAG(show.details), NULL, NULL, NULL,
        "show more of each record"),
    OPT("federation", 0, OPT_NONE, OPT_NOTHING, "@FEDERATION", NULL, NULL,
        "taken for compatibility: clusters do not federate here"),
    OPT("future", 'F', OPT_NONE, OPT_FLAG(future), "@FUTURE", NULL, NULL,
        "also nodes in state FUTURE"),
    OPT("hide", 0, OPT_NONE, OPT_UNFLAG(all), NULL, NULL, NULL, "leave out hidden partitions"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, json_take_json), NULL, NULL, "version", "print JSON"),
    OPT("local", 0, OPT_NONE, OPT_NOTHING, "@LOCAL", NULL, NULL,
        "taken for compatibility: clusters do not federate here"),
    OPT("no-snapshot", 0, OPT_NONE, OPT_FLAG(changes_only)),
    OPT("oneliner", 'o', OPT_NONE, OPT_FLAG(show.oneliner), NULL, NULL, NULL,
        "one line for each record"),
    OPT("quiet", 'Q', OPT_NONE, OPT_AND(OPT_QUIET(cli), OPT_GIVEN(quiet)), NULL, NULL, NULL,
        "say nothing but errors and data"),
    OPT("sibling", 0, OPT_NONE, OPT_NOTHING, "@SIBLING", NULL, NULL,
        "taken for compatibility: clusters do not federate here"),
    OPT("since", 0, OPT_REQ, OPT_TEXT(since), NULL, NULL, "cursor",
        "watch: go on behind this place"),
    OPT("uid", 'u', OPT_REQ, OPT_NOTHING, NULL, NULL, "user", NULL,
        "requests are made as the user who runs scontrol"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, json_take_yaml), NULL, NULL, "version", "print YAML"),
};

static void print_names(FILE *f);

static const struct opt_command command = {
    .name = "scontrol",
    .prefix = "SCONTROL",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS] [COMMAND [ARGUMENTS...]]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .names = print_names,
};

struct client *scontrol_client(struct scontrol *s, const char *what)
{
    struct err err = { .text = "" };

    if (s->client && client_fd(s->client) < 0)
        s->client = client_free(s->client);
    if (!s->client && cli_connect(&s->cli, &s->client, &err) < 0) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "%s error: %s\n", what, err.text);
        exit(CLI_EXIT_FAILED);
    }
    return s->client;
}

void scontrol_fail(struct scontrol *s, const char *fmt, ...)
{
    va_list ap;

    s->status = CLI_EXIT_FAILED;
    (void)fflush(stdout); /* keeps the order when both go to one file */
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}

/* One call whose reply says nothing. */
static void simple_call(struct scontrol *s, unsigned op, const ProtobufCMessage *request,
                        const char *what)
{
    int r = client_call(scontrol_client(s, what), op, request, NULL);

    if (r < 0)
        scontrol_fail(s, "%s error:%s", what, client_strerror(s->client, r));
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct verb_request {
    Pst__JobActionRequest request;
    Pst__JobFilter filter;
    const char *after; /* text before the error of the whole command, NULL = none */
    const char *what;  /* text before each error instead of "for job" behind it, NULL = none */
};

static void send_verb(struct scontrol *s, struct verb_request *v)
{
    Pst__JobActionReply *reply = NULL;
    const char *last = NULL;
    int r;

    if (v->filter.n_names)
        v->request.filter = &v->filter;
    r = client_call(scontrol_client(s, "slurm_load_jobs"), OP_JOB_ACTION, &v->request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) {
        last = client_strerror(s->client, r);
        scontrol_fail(s, "%s for job %s", last,
                      v->request.n_ids ? v->request.ids[0] : v->filter.names[0]);
    }
    for (size_t i = 0; r >= 0 && i < reply->n_results; i++) {
        const Pst__JobActionResult *result = reply->results[i];

        if (!result->code)
            continue;
        last = result->text ? result->text : slurm_err_text(result->code);
        if (v->what)
            scontrol_fail(s, "%s: %s", v->what, last);
        else if (result->id)
            scontrol_fail(s, "%s for job %s", last, result->id);
        else
            scontrol_fail(s, "%s for job %u", last, result->job_id);
    }
    if (last && v->after)
        scontrol_fail(s, "%s error:%s", v->after, last);
    if (r >= 0)
        pst__job_action_reply__free_unpacked(reply, NULL);
}

/* Words of the list: ids between blanks and commas, jobname=NAME. */
static bool take_jobs(struct scontrol *s, struct verb_request *v, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        struct filter_ids ids = { 0 };
        struct err err = { .text = "" };

        if (strncasecmp(argv[i], "jobname=", 8) == 0 || strncasecmp(argv[i], "name=", 5) == 0) {
            argwords_add(&v->filter.names, &v->filter.n_names, strchr(argv[i], '=') + 1);
            continue;
        }
        if (filter_parse_ids(argv[i], &ids, &err) < 0) {
            scontrol_fail(s, "%s for job %s", slurm_err_text(ESLURM_INVALID_JOB_ID), argv[i]);
            return false;
        }
        filter_ids_done(&ids);
        filter_add_ids(&v->request.ids, &v->request.n_ids, argv[i]);
    }
    return v->request.n_ids || v->filter.n_names;
}

enum verb_flag { VERB_SPECIAL = 1, VERB_INCOMPLETE = 2 };

static void run_verb(struct scontrol *s, Pst__JobVerb verb, const char *word, const char *after,
                     int argc, char **argv, unsigned flags)
{
    struct verb_request v = { .request = PST__JOB_ACTION_REQUEST__INIT,
                              .filter = PST__JOB_FILTER__INIT,
                              .after = after };

    v.request.has_verb = true;
    v.request.verb = verb;
    v.request.has_special_exit = v.request.special_exit = (flags & VERB_SPECIAL) != 0;
    v.request.has_incomplete_only = v.request.incomplete_only = (flags & VERB_INCOMPLETE) != 0;
    if (argc < 1)
        scontrol_fail(s, "too few arguments for keyword:%s", word);
    else if (take_jobs(s, &v, argc, argv))
        send_verb(s, &v);
    argwords_free(v.request.ids, v.request.n_ids);
    filter_done(&v.filter);
}

static void cmd_hold(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_HOLD, "hold", "slurm_suspend", argc, argv, 0);
}

static void cmd_uhold(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_UHOLD, "uhold", "slurm_suspend", argc, argv, 0);
}

static void cmd_release(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_RELEASE, "release", "slurm_suspend", argc, argv, 0);
}

static void cmd_suspend(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_SUSPEND, "suspend", NULL, argc, argv, 0);
}

static void cmd_resume(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_RESUME, "resume", NULL, argc, argv, 0);
}

static void cmd_top(struct scontrol *s, int argc, char **argv)
{
    run_verb(s, PST__JOB_VERB__VERB_TOP, "top", NULL, argc, argv, 0);
}

static void cmd_requeue(struct scontrol *s, int argc, char **argv)
{
    unsigned flags = 0;

    if (argc && strcasecmp(argv[0], "incomplete") == 0) {
        flags = VERB_INCOMPLETE;
        argc--;
        argv++;
    }
    run_verb(s, PST__JOB_VERB__VERB_REQUEUE, "requeue", NULL, argc, argv, flags);
}

static void cmd_requeuehold(struct scontrol *s, int argc, char **argv)
{
    unsigned flags = 0;

    for (; argc; argc--, argv++) {
        if (strcasecmp(argv[0], "state=SpecialExit") == 0 || strcasecmp(argv[0], "state=SE") == 0) {
            flags |= VERB_SPECIAL;
        } else if (strncasecmp(argv[0], "state=", 6) == 0) {
            scontrol_fail(s, "invalid state specified: %s", argv[0] + 6);
            return;
        } else if (strcasecmp(argv[0], "incomplete") == 0) {
            flags |= VERB_INCOMPLETE;
        } else {
            break;
        }
    }
    run_verb(s, PST__JOB_VERB__VERB_REQUEUE_HOLD, "requeuehold", NULL, argc, argv, flags);
}

static void cmd_notify(struct scontrol *s, int argc, char **argv)
{
    struct verb_request v = { .request = PST__JOB_ACTION_REQUEST__INIT,
                              .filter = PST__JOB_FILTER__INIT };
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;

    if (argc < 2) {
        scontrol_fail(s, "too few arguments for keyword:notify");
        return;
    }
    for (int i = 1; i < argc; i++)
        strbuf_addf(&text, "%s%s", i > 1 ? " " : "", argv[i]);
    v.request.has_verb = true;
    v.request.verb = PST__JOB_VERB__VERB_NOTIFY;
    v.what = "job notify failure";
    v.request.message = (char *)strbuf_str(&text);
    if (take_jobs(s, &v, 1, argv))
        send_verb(s, &v);
    argwords_free(v.request.ids, v.request.n_ids);
    filter_done(&v.filter);
}

static bool one_job(struct scontrol *s, const char *word, int argc, char **argv, uint32_t *ret_id)
{
    struct ids id;
    struct err err = { .text = "" };

    if (argc < 1) {
        scontrol_fail(s, "too few arguments for keyword:%s", word);
        return false;
    }
    if (ids_parse(argv[0], &id, &err) < 0) {
        scontrol_fail(s, "scontrol: error: %s", err.text);
        return false;
    }
    *ret_id = id.job_id;
    ids_done(&id);
    return true;
}

/* What a status says: ready 1, ended -ECHILD, not yet 0. */
static int job_ready(const struct frame *frame)
{
    Pst__JobStatus *status = pst__job_status__unpack(NULL, frame->len, frame->body);
    int r = 0;

    if (!status)
        return -EBADMSG;
    if (names_job_state_terminal((unsigned)status->state))
        r = -ECHILD;
    else if (status->launched ||
             (status->state == PST__JOB_STATE__JOB_RUNNING &&
              !(status->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_CONFIGURING))))
        r = 1;
    pst__job_status__free_unpacked(status, NULL);
    return r;
}

static void cmd_wait_job(struct scontrol *s, int argc, char **argv)
{
    Pst__JobWaitRequest request = PST__JOB_WAIT_REQUEST__INIT;
    struct client *c;
    struct frame frame;
    int r;

    if (!one_job(s, "wait_job", argc, argv, &request.job_id))
        return;
    request.has_job_id = true;
    request.has_until_started = request.until_started = true;
    c = scontrol_client(s, "slurm_load_jobs");
    r = client_send(c, OP_JOB_WAIT, 0, client_next_id(c), &request.base);
    while (r >= 0 && (r = client_recv(c, -1, &frame)) > 0) {
        r = frame.flags & FRAME_ERROR ? -EREMOTEIO : job_ready(&frame);
        if (r > 0)
            break;
    }
    if (r > 0)
        (void)fprintf(stderr, "scontrol: Nodes are ready for job %u\n", request.job_id);
    else if (r == -ECHILD)
        scontrol_fail(s, "scontrol: error: Job %u has ended", request.job_id);
    else if (r == -EREMOTEIO)
        scontrol_fail(s, "scontrol: Problem running job %u", request.job_id);
    else
        scontrol_fail(s, "scontrol: error: %s", client_strerror(c, r));
    /* The replies were left in the middle: the next command starts on a connection of its own. */
    s->client = client_free(s->client);
}

/* Write a script to path; "-" is stdout.  False with errno set. */
static bool write_script(const char *path, const ProtobufCBinaryData *script)
{
    _cleanup_close_ int fd = -1;

    if (strcmp(path, "-") == 0)
        return fwrite(script->data, 1, script->len, stdout) == script->len && fflush(stdout) == 0;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t at = 0; fd >= 0 && at < script->len;) {
        ssize_t n = write(fd, script->data + at, script->len - at);

        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return fd >= 0;
}

static void cmd_write(struct scontrol *s, int argc, char **argv)
{
    Pst__JobIdRequest request = PST__JOB_ID_REQUEST__INIT;
    Pst__ScriptReply *reply = NULL;
    _cleanup_free_ char *path = NULL;
    int r;

    if (argc < 1 || strncasecmp(argv[0], "batch_script", MAX(strlen(argv[0]), (size_t)5)) != 0) {
        scontrol_fail(s, "invalid entity:%s for keyword:write", argc ? argv[0] : "");
        return;
    }
    if (!one_job(s, "write", argc - 1, argv + 1, &request.job_id))
        return;
    request.has_job_id = true;
    r = client_call(scontrol_client(s, "slurm_load_jobs"), OP_QUERY_SCRIPT, &request.base,
                    (ProtobufCMessage **)&reply);
    if (r < 0) {
        scontrol_fail(s, "job script retrieval failed: %s", client_strerror(s->client, r));
        return;
    }
    path = argc > 2 ? xstrdup_or_die(argv[2]) : xasprintf_or_die("slurm-%u.sh", request.job_id);
    if (!reply->has_script)
        scontrol_fail(s, "job script retrieval failed: %s",
                      slurm_err_text(ESLURM_JOB_SCRIPT_MISSING));
    else if (!write_script(path, &reply->script))
        scontrol_fail(s, "scontrol: error: failed to write %s: %s", path, strerror(errno));
    else if (strcmp(path, "-") != 0 && !s->quiet)
        (void)printf("batch script for job %u written to %s\n", request.job_id, path);
    pst__script_reply__free_unpacked(reply, NULL);
}

static int on_completing(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct strbuf *out = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    int64_t since = j->end_us > 0 ? (info->now_us - j->end_us) / USEC_PER_SEC : 0;

    if (!(j->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING)))
        return 0;
    strbuf_addf(out, "JobId=%u EndTime=", j->job_id);
    put_stamp(out, j->end_us, "Unknown", info->now_us);
    strbuf_add(out, " CompletingTime=");
    put_hms(out, since > 0 ? since : 0);
    strbuf_addf(out, " Nodes(COMPLETING)=%s\n", job_nodelist(j));
    return 0;
}

static void cmd_completing(struct scontrol *s, int argc, char **argv)
{
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    int r = query_run(scontrol_client(s, "slurm_load_jobs"), OP_QUERY_JOBS, &request.base,
                      &pst__job_record__descriptor, on_completing, &out, NULL);

    (void)argc;
    (void)argv;
    if (r < 0)
        scontrol_fail(s, "slurm_load_jobs error: %s", client_strerror(s->client, r));
    (void)fputs(strbuf_str(&out), stdout);
}

/* ---- the controller -------------------------------------------------------------------------- */

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

static void cmd_reconfigure(struct scontrol *s, int argc, char **argv)
{
    Pst__Empty request = PST__EMPTY__INIT;

    (void)argc;
    (void)argv;
    simple_call(s, OP_RECONFIGURE, &request.base, "slurm_reconfigure");
}

static void cmd_shutdown(struct scontrol *s, int argc, char **argv)
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

static void cmd_token(struct scontrol *s, int argc, char **argv)
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

static void cmd_setdebug(struct scontrol *s, int argc, char **argv)
{
    Pst__DebugRequest request = PST__DEBUG_REQUEST__INIT;

    if (argc != 1) {
        scontrol_fail(s, "too %s arguments for keyword:setdebug", argc < 1 ? "few" : "many");
        return;
    }
    request.level = argv[0];
    simple_call(s, OP_DEBUG, &request.base, "slurm_set_debug_level");
}

static void cmd_errnumstr(struct scontrol *s, int argc, char **argv)
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

static void cmd_getaddrs(struct scontrol *s, int argc, char **argv)
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

static void cmd_version(struct scontrol *s, int argc, char **argv)
{
    (void)s;
    (void)argc;
    (void)argv;
    cli_print_version();
}

/* ---- settings of interactive mode ------------------------------------------------------------ */

static void cmd_all(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->all = true;
}

static void cmd_hide(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->all = false;
}

static void cmd_details(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->show.details = true;
}

static void cmd_oneliner(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->show.oneliner = true;
}

static void cmd_quiet(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->quiet = true;
}

static void cmd_verbose(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->quiet = false;
    cli_set_verbosity(&s->cli, s->cli.verbose + 1);
}

static void cmd_exit(struct scontrol *s, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    s->leave = true;
}

static void cmd_help(struct scontrol *s, int argc, char **argv);

static const struct keyword {
    const char *name;
    unsigned shortest; /* letters that are enough */
    void (*run)(struct scontrol *s, int argc, char **argv);
    const char *args, *help; /* help NULL = not listed */
} keywords[] = {
    { "all", 3, cmd_all, "", "show hidden partitions too" },
    { "cancel_reboot", 3, scontrol_cancel_reboot, "NODES",
      "forget a reboot that was not issued yet" },
    { "completing", 3, cmd_completing, "", "jobs whose nodes are not clean yet" },
    { "create", 2, scontrol_create, "partitionname=NAME|reservation[=NAME] KEY=VALUE...",
      "make a partition or a reservation" },
    { "delete", 3, scontrol_delete, "partitionname=NAME|reservationname=NAME",
      "remove a partition or a reservation" },
    { "details", 3, cmd_details, "", "show more of each record" },
    { "errnumstr", 2, cmd_errnumstr, "NUMBER", "text of an error number" },
    { "exit", 2, cmd_exit, "", "leave" },
    { "explain", 3, scontrol_explain, "[job] JOBS",
      "why pending jobs wait, and what would start them" },
    { "getaddrs", 4, cmd_getaddrs, "NODES", "addresses of nodes" },
    { "help", 2, cmd_help, "", "this text" },
    { "hide", 2, cmd_hide, "", "leave out hidden partitions" },
    { "hold", 2, cmd_hold, "JOBS", "keep pending jobs from starting" },
    { "listjobs", 5, scontrol_listjobs, "[NODE]", "jobs with processes on this machine" },
    { "listpids", 5, scontrol_listpids, "[JOB[.STEP]] [NODE]",
      "processes of jobs on this machine" },
    { "liststeps", 5, scontrol_liststeps, "[NODE]", "steps with processes on this machine" },
    { "notify", 1, cmd_notify, "JOB TEXT", "write a line to a job's standard error" },
    { "oneliner", 1, cmd_oneliner, "", "one line for each record" },
    { "pidinfo", 3, scontrol_pidinfo, "PID", "job of a process on this machine, and when it ends" },
    { "ping", 3, scontrol_ping, "", "ask whether the controller answers" },
    { "quiet", 4, cmd_quiet, "", "say nothing but errors and data" },
    { "quit", 4, cmd_exit, "", "leave" },
    { "q", 1, cmd_exit, "", NULL },
    { "reboot", 3, scontrol_reboot, "[ASAP] [nextstate=RESUME|DOWN] [reason=TEXT] ALL|NODES",
      "reboot nodes when they are idle" },
    { "reconfigure", 3, cmd_reconfigure, "", "read the configuration files again" },
    { "release", 3, cmd_release, "JOBS", "let held jobs go" },
    { "requeuehold", 8, cmd_requeuehold, "[Incomplete] [State=SpecialExit] JOBS",
      "requeue and hold" },
    { "requeue", 3, cmd_requeue, "[Incomplete] JOBS", "put batch jobs back into the queue" },
    { "resume", 3, cmd_resume, "JOBS", "let suspended jobs go on" },
    { "setdebug", 4, cmd_setdebug, "LEVEL", "log level of the controller" },
    { "show", 3, scontrol_show, "ENTITY [NAME]",
      "config, daemons, hostlist, hostlistsorted, hostnames, jobs, licenses, nodes, partitions, "
      "reservations, steps" },
    { "shutdown", 8, cmd_shutdown, "[slurmctld]", "stop all daemons, or the controller only" },
    { "suspend", 2, cmd_suspend, "JOBS", "stop running jobs for a while" },
    { "token", 2, cmd_token, "[username=NAME] [lifespan=SECONDS]", "print a token for SLURM_JWT" },
    { "top", 3, cmd_top, "JOBS", "first among my pending jobs" },
    { "uhold", 2, cmd_uhold, "JOBS", "hold so that the owner may release" },
    { "update", 1, scontrol_update, "KEY=VALUE...",
      "change a job, node, partition or reservation" },
    { "verbose", 4, cmd_verbose, "", "say more" },
    { "version", 4, cmd_version, "", "print the release" },
    { "wait_job", 2, cmd_wait_job, "JOB", "wait until its nodes are ready" },
    { "watch", 3, scontrol_watch, "[jobs|nodes|partitions|job ID|node NAME]",
      "print changes as they happen" },
    { "write", 2, cmd_write, "batch_script JOB [FILE|-]", "save a job's script" },
};

static void cmd_help(struct scontrol *s, int argc, char **argv)
{
    (void)s;
    (void)argc;
    (void)argv;
    opts_print_help(&command, stdout);
    (void)printf("\nCommands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        if (keywords[i].help)
            (void)printf("  %s %s\n      %s\n", keywords[i].name, keywords[i].args,
                         keywords[i].help);
}

/* For --help-interface. */
static void print_names(FILE *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        (void)fprintf(f, "verb\t%s\t%s\n", keywords[i].name, keywords[i].help ? "shown" : "hidden");
    scontrol_refused_names(f);
    scontrol_show_names(f);
    scontrol_update_names(f);
}

static void run_words(struct scontrol *s, int argc, char **argv)
{
    size_t len = strlen(argv[0]);

    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        if (len >= keywords[i].shortest && len <= strlen(keywords[i].name) &&
            strncasecmp(argv[0], keywords[i].name, len) == 0) {
            keywords[i].run(s, argc - 1, argv + 1);
            return;
        }
    if (!scontrol_refuse(s, "", argv[0]))
        scontrol_fail(s, "invalid keyword: %s", argv[0]);
}

/* ---- interactive mode ------------------------------------------------------------------------ */

/* Split a line in place at blanks outside quotes. */
static int split_words(char *line, char **words)
{
    int n = 0;
    char *to = line;

    for (char *p = line; *p && n < WORDS_MAX;) {
        char quote = 0;

        while (isspace((unsigned char)*p))
            p++;
        if (!*p)
            break;
        words[n++] = to;
        for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
            if (quote ? *p == quote : *p == '"' || *p == '\'')
                quote = quote ? 0 : *p;
            else
                *to++ = *p;
        }
        p += *p != '\0';
        *to++ = '\0';
    }
    return n;
}

/* Reads lines: with editing at a terminal when libedit is there, plainly otherwise. */
struct line_reader {
    char *(*readline)(const char *prompt);
    int (*add_history)(const char *line);
};

static struct line_reader line_reader_make(void)
{
    struct line_reader r = { NULL, NULL };
    void *lib = isatty(STDIN_FILENO) ? dlopen("libedit.so.2", RTLD_NOW) : NULL;

    if (lib) {
        *(void **)&r.readline = dlsym(lib, "readline");
        *(void **)&r.add_history = dlsym(lib, "add_history");
    }
    return r;
}

/* The next line, NULL at the end.  Caller frees. */
static char *next_line(const struct line_reader *r)
{
    char *line = NULL;
    size_t size = 0;

    if (r->readline) {
        line = r->readline("scontrol: ");
        if (line && *line && r->add_history)
            (void)r->add_history(line);
        return line;
    }
    (void)printf("scontrol: ");
    (void)fflush(stdout);
    if (getline(&line, &size, stdin) < 0) {
        free(line);
        return NULL;
    }
    return line;
}

static void interactive(struct scontrol *s)
{
    struct line_reader reader = line_reader_make();
    _cleanup_free_ char *last = NULL;

    while (!s->leave) {
        _cleanup_free_ char *line = next_line(&reader);
        char *words[WORDS_MAX];
        int n;

        if (!line) {
            (void)printf("\n");
            return;
        }
        if (strncmp(line, "!!", 2) == 0 && last) {
            free(line);
            line = xstrdup_or_die(last);
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
    struct scontrol scontrol = { 0 }, *s = &scontrol;
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    int first, status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&s->cli, "scontrol");
    s->argc = argc;
    s->argv = words;
    opts_env(&command, s);
    first = opts_parse(&command, argc, argv, s);
    status = json_option_done(&s->json);
    if (status >= 0)
        exit(status);
    if (s->clusters)
        query_check_clusters(&s->cli, s->clusters, false);
    if (first < argc)
        run_words(s, argc - first, argv + first);
    else
        interactive(s);
    client_free(s->client);
    cli_done(&s->cli);
    return s->status;
}
