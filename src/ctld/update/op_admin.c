/* op_admin.c - ops of administrators that concern the controller itself: reconfigure,
 * tokens, log levels and what else is set until the configuration is read again */
#include "ctld/update/op_admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/people/username.h"
#include "ctld/core/reconfig.h"
#include "ctld/core/service.h"
#include "ctld/front/signin.h"
#include "ctld/link/nodelink.h"
#include "ctld/notify/schedlog.h"

static void op_reconfigure(struct ctld *ctld, struct cmd *cmd)
{
    struct err err = { .text = "" };

    if (reconfig_run(ctld, &err) < 0)
        core_error(ctld, cmd, SLURM_ERROR, err.text);
    else
        core_ok(ctld, cmd, ctld->applied_lsn);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void send_token(struct ctld *ctld, struct cmd *cmd, char *token)
{
    Pst__TokenReply r = PST__TOKEN_REPLY__INIT;

    r.token = token;
    core_reply(ctld, cmd, 0, 0, &r.base);
    explicit_bzero(token, strlen(token));
    free(token);
}

/* The word is the proof: slurmrestd asks for a browser that nobody knows yet. */
static void exchange_word(struct ctld *ctld, struct cmd *cmd, const char *word)
{
    char *token = signins_take(ctld->signins, word, now_mono_us());

    if (token)
        send_token(ctld, cmd, token);
    else
        core_error(ctld, cmd, ESLURM_AUTH_EXPIRED,
                   "this word was used already, or its minute is over");
}

static void send_word(struct ctld *ctld, struct cmd *cmd, char *token)
{
    Pst__TokenReply r = PST__TOKEN_REPLY__INIT;
    char word[SIGNIN_WORD + 1];
    int kept = signins_put(ctld->signins, conn_peer(cmd->conn)->uid, token, now_mono_us(), word);

    explicit_bzero(token, strlen(token));
    free(token);
    if (kept < 0) {
        core_error(ctld, cmd, SLURM_ERROR,
                   kept == -ENOSPC ? "too many sign in just now: try again in a minute"
                                   : "a word to sign in with cannot be made");
        return;
    }
    r.word = word;
    core_reply(ctld, cmd, 0, 0, &r.base);
    explicit_bzero(word, sizeof(word));
}

static void op_token(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__TokenRequest *req = PB_AS(token_request, cmd->msg);
    uint64_t life = req->has_infinite && req->infinite ? UINT64_MAX
                    : req->has_lifespan_s              ? req->lifespan_s
                                                       : 1800;
    uint64_t max;
    char own[257] = "", *token = NULL; /* own: as long as a token's user may be */
    bool admin = core_is_admin(ctld, conn_peer(cmd->conn)->uid);
    int made;

    if (req->word) {
        exchange_word(ctld, cmd, req->word);
        return;
    }
    if (!admin &&
        conf_option(ctld->conf, CONF_AUTH_ALT_PARAMETERS, "disable_token_creation", NULL, NULL)) {
        core_error(ctld, cmd, ESLURM_DISABLED, "tokens are not made here (disable_token_creation)");
        return;
    }
    /* This may block: the kernel's word for the uid was looked up before, and tokens are rare. */
    if (username_of(conn_peer(cmd->conn)->uid, own, sizeof(own)) < 0 && !(admin && req->user)) {
        core_error(ctld, cmd, ESLURM_USER_ID_MISSING,
                   "you have no name here, and your number is the name of another user");
        return;
    }
    if (req->user && strcmp(req->user, own) != 0 && !admin) {
        core_error(ctld, cmd, ESLURM_USER_ID_MISSING, NULL);
        return;
    }
    if (!admin && conf_option_u64(ctld->conf, CONF_AUTH_ALT_PARAMETERS, "max_token_lifespan", &max))
        life = MIN(life, max);
    made = auth_tokens_make(ctld->tokens, req->user ? req->user : own, core_now(), life, &token);
    if (made < 0) {
        core_error(ctld, cmd, made == -EPERM ? ESLURM_DISABLED : SLURM_ERROR,
                   made == -EPERM ? "tokens are made by the issuer whose keys jwks= names"
                                  : "a token cannot be made for this name");
        return;
    }
    if (req->has_as_word && req->as_word)
        send_word(ctld, cmd, token);
    else
        send_token(ctld, cmd, token);
}

/* ---- what scontrol sets in the running controller ------------------------------------------ */

#define FLAGS_MAX 128 /* more than DebugFlags has */

struct tuning {
    bool level_set;
    char *flags; /* names in order, with commas; NULL: as slurm.conf says, "": none */
    char dampening[16];
};

static void forget_all(struct tuning *t)
{
    free(t->flags);
    *t = (struct tuning){ 0 };
}

/* Of the lists that an operator may have changed; NULL: not one of them. */
static const char *excepted_list(const Pst__ClusterRecord *r, const char *key)
{
    if (strcmp(key, "SuspendExcNodes") == 0)
        return r->suspend_exc_nodes;
    if (strcmp(key, "SuspendExcParts") == 0)
        return r->suspend_exc_parts;
    return strcmp(key, "SuspendExcStates") == 0 ? r->suspend_exc_states : NULL;
}

const char *tuning_value(const struct ctld *ctld, const char *key, const char *value)
{
    const struct tuning *t = ctld->tuning;
    const Pst__ClusterRecord *r = ctld->cluster->rec;
    const char *list = r->has_suspend_exc_own && r->suspend_exc_own ? excepted_list(r, key) : NULL;

    if (list)
        return *list ? list : NULL;

    if (t->level_set && strcmp(key, "SlurmctldDebug") == 0)
        return log_level_name(log_get_level());
    if (t->flags && strcmp(key, "DebugFlags") == 0)
        return t->flags[0] ? t->flags : NULL;
    if (strcmp(key, "SlurmSchedLogLevel") == 0)
        return schedlog_is_on(ctld) ? "1" : "0";
    if (t->dampening[0] && strcmp(key, "FairShareDampeningFactor") == 0)
        return t->dampening;
    return value;
}

/* ---- flags ----------------------------------------------------------------------------------- */

struct flagset {
    const char *names[FLAGS_MAX];
    size_t n;
};

static void set_flag(struct flagset *s, const char *name, bool on)
{
    size_t i = 0;

    while (i < s->n && strcmp(s->names[i], name) != 0)
        i++;
    if (on && i == s->n && s->n < FLAGS_MAX)
        s->names[s->n++] = name;
    else if (!on && i < s->n)
        s->names[i] = s->names[--s->n];
}

/* "a,b": each known name. */
static void set_list(struct flagset *s, const char *list, bool on)
{
    for (const char *p = list ? list : ""; *p;) {
        size_t len = strcspn(p, ",");
        char word[64];
        const char *name;

        (void)snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), p); /* fits */
        name = conf_debug_flag(word);
        if (name)
            set_flag(s, name, on);
        p += len;
        p += *p == ',';
    }
}

static int compare_flags(const void *a, const void *b)
{
    return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

static int change_flags(struct ctld *ctld, const Pst__DebugRequest *req)
{
    struct tuning *t = ctld->tuning;
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct flagset set = { .n = 0 };
    char *names;
    int r;

    set_list(&set, t->flags ? t->flags : conf_str(ctld->conf, CONF_DEBUG_FLAGS), true);
    for (size_t i = 0; i < req->n_flags; i++) {
        const char *word = req->flags[i];

        if ((word[0] != '+' && word[0] != '-') || !conf_debug_flag(word + 1))
            return -EINVAL;
        set_list(&set, word + 1, word[0] == '+');
    }
    if (set.n)
        qsort(set.names, set.n, sizeof(set.names[0]), compare_flags);
    for (size_t i = 0; i < set.n; i++)
        strbuf_addf(&text, "%s%s", i ? "," : "", set.names[i]);
    r = strbuf_detach(&text, &names);
    if (r < 0)
        return r;
    free(t->flags);
    t->flags = names;
    logflags_set(names);
    return 0;
}

/* ---- the operation --------------------------------------------------------------------------- */

/* The request goes on to slurmd of each node; all must be known and connected. */
static int tell_nodes(struct ctld *ctld, const Pst__DebugRequest *req)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    Pst__DebugRequest order = PST__DEBUG_REQUEST__INIT;
    int code = 0;

    if (hostlist_parse_most(req->nodes, HOSTLIST_MAX_NODES, &names, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    order.level = req->level;
    order.flags = req->flags;
    order.n_flags = req->n_flags;
    for (size_t i = 0; i < hostlist_count(names); i++)
        if (!cluster_node_named(ctld->cluster, hostlist_nth(names, i)))
            return ESLURM_INVALID_NODE_NAME;
    for (size_t i = 0; i < hostlist_count(names); i++)
        if (!node_send(ctld, cluster_node_named(ctld->cluster, hostlist_nth(names, i)),
                       ctld->applied_lsn, OP_NODE_DEBUG, &order.base))
            code = SLURM_NO_CHANGE_IN_DATA;
    return code;
}

static int change_here(struct ctld *ctld, const Pst__DebugRequest *req)
{
    struct tuning *t = ctld->tuning;
    enum log_level level;

    if (req->level && log_level_parse(req->level, &level) < 0)
        return EPST_BAD_REQUEST;
    if (req->n_flags && change_flags(ctld, req) < 0)
        return EPST_BAD_REQUEST;
    if (req->level) {
        log_set_level(level);
        t->level_set = true;
    }
    if (req->has_fs_dampening)
        (void)snprintf(t->dampening, sizeof(t->dampening), "%u", req->fs_dampening); /* fits */
    return req->has_sched_log_level ? schedlog_set(ctld, req->sched_log_level) : 0;
}

static void op_debug(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__DebugRequest *req = PB_AS(debug_request, cmd->msg);
    enum log_level level;
    int code;

    if (req->level && log_level_parse(req->level, &level) < 0) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "unknown debug level");
        return;
    }
    if (!req->level && !req->n_flags && !req->has_fs_dampening && !req->has_sched_log_level) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "nothing to set");
        return;
    }
    code = req->nodes ? tell_nodes(ctld, req) : change_here(ctld, req);
    if (code)
        core_error(ctld, cmd, code, NULL);
    else
        core_ok(ctld, cmd, 0);
}

static int start_tuning(struct ctld *ctld, struct err *err)
{
    (void)err;
    logflags_set(conf_str(ctld->conf, CONF_DEBUG_FLAGS));
    ctld->tuning = calloc(1, sizeof(*ctld->tuning));
    return ctld->tuning ? signins_new(&ctld->signins) : -ENOMEM;
}

static void after_reconfigure(struct ctld *ctld)
{
    forget_all(ctld->tuning);
    logflags_set(conf_str(ctld->conf, CONF_DEBUG_FLAGS));
}

static void free_tuning(struct ctld *ctld)
{
    if (ctld->tuning)
        forget_all(ctld->tuning);
    free(ctld->tuning);
    ctld->tuning = NULL;
    ctld->signins = signins_free(ctld->signins);
}

static const struct ctld_op admin_ops[] = {
    { OP_RECONFIGURE, .fn = op_reconfigure, .flags = OPF_WRITES },
    { OP_TOKEN, .fn = op_token },
    { OP_DEBUG, .fn = op_debug },
    { 0 },
};

const struct ctld_service admin_service = {
    .name = "admin",
    .ops = admin_ops,
    .start = start_tuning,
    .reconfigured = after_reconfigure,
    .free = free_tuning,
};
