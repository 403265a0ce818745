/* certsign.c - certificates of nodes, signed by a script of the site; see certsign.h */
#include "ctld/node/certsign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/must.h"
#include "base/safetext.h"
#include "base/timefmt.h"
#include "conf/tls/conf_certmgr.h"
#include "conf/conf_nodeline.h"
#include "ctld/core/service.h"
#include "ctld/node/certtoken.h"
#include "ctld/node/nodekeys.h"
#include "ctld/notify/programs.h"
#include "fields.h"
#include "wire/tls/pemtext.h"

#define SIGNINGS_MAX 4096u /* at a time; the others come again */
#define CERT_MAX (64u * 1024)
#define SCRIPT_LIMIT_US (60 * USEC_PER_SEC)

/* Why a node may have a certificate. */
enum certsign_way {
    WAY_NONE,
    WAY_SCRIPT,      /* validate_node_script has to say */
    WAY_CERT_TOKEN,  /* it has shown CertToken= */
    WAY_CERTIFICATE, /* it has one that is valid */
};

struct signing {
    struct signing *next;
    uint64_t ticket;
    struct cmd reply; /* conn (held), op and id to answer with */
    enum certsign_way way;
    char *node, *csr;
};

struct certsign {
    struct signing *list;
    size_t n;
    uint64_t last_ticket;
};

/* ---- requests in progress -------------------------------------------------------------------- */

static struct signing **find_place(struct certsign *s, uint64_t ticket)
{
    struct signing **at = &s->list;

    while (*at && (*at)->ticket != ticket)
        at = &(*at)->next;
    return at;
}

static void free_signing(struct certsign *s, struct signing **at)
{
    struct signing *g = *at;

    *at = g->next;
    s->n--;
    conn_unref(g->reply.conn);
    free(g->node);
    free(g->csr);
    free(g);
}

static bool is_busy(const struct certsign *s, const char *node)
{
    for (const struct signing *g = s->list; g; g = g->next)
        if (strcmp(g->node, node) == 0)
            return true;
    return false;
}

static struct signing *add_signing(struct certsign *s, const struct cmd *cmd,
                                   const Pst__CertRequest *req, enum certsign_way way)
{
    struct signing *g = must(calloc(1, sizeof(*g)));

    g->reply.conn = conn_ref(cmd->conn);
    g->reply.op = cmd->op;
    g->reply.id = cmd->id;
    g->ticket = ++s->last_ticket;
    g->way = way;
    g->node = must(strdup(req->node));
    g->csr = must(strdup(req->csr));
    g->next = s->list;
    s->list = g;
    s->n++;
    return g;
}

static void refuse_signing(struct ctld *ctld, struct signing **at, const char *why)
{
    log_error("node %s: gets no certificate: %s", (*at)->node, why);
    core_error(ctld, &(*at)->reply, ESLURM_ACCESS_DENIED, why);
    free_signing(ctld->certsign, at);
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* NULL: the configuration has none (any more). */
static struct program *new_script(struct ctld *ctld, enum certmgr_script which,
                                  const struct signing *g, program_done_fn *done)
{
    _cleanup_free_ char *path = NULL;
    struct program *p;

    if (conf_certmgr_script(ctld->conf, which, &path) < 0 || !path)
        return NULL;
    p = program_new(ctld, conf_certmgr_word(which));
    program_path(p, path);
    p->ticket = g->ticket;
    p->limit_us = SCRIPT_LIMIT_US;
    p->done = done;
    return p;
}

/* CertToken= has done what it was for. */
static uint64_t consume_token(struct ctld *ctld, const struct signing *g)
{
    const struct node *n = cluster_node_named(ctld->cluster, g->node);
    Pst__Transaction *tx;

    if (g->way != WAY_CERT_TOKEN || !conf_certmgr_single_use(ctld->conf) || !n ||
        !n->rec->cert_token)
        return ctld->applied_lsn;
    tx = tx_new(core_now());
    (void)tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_UPDATE, n->rec->node_id);
    tx_clear(tx, NODE_F_CERT_TOKEN);
    return core_commit(ctld, tx);
}

static void on_signed(struct ctld *ctld, const struct program *p)
{
    struct signing **at = find_place(ctld->certsign, p->ticket);
    Pst__CertReply reply = PST__CERT_REPLY__INIT;
    uint64_t lsn;

    if (!*at)
        return;
    if (p->status != 0 || !p->output || !pemtext_holds(p->output, PEM_CERTIFICATE)) {
        refuse_signing(ctld, at,
                       p->status != 0 ? "sign_csr_script has failed"
                                      : "what sign_csr_script printed is no certificate (PEM)");
        return;
    }
    lsn = consume_token(ctld, *at);
    if (!lsn) {
        core_disk_full(ctld, &(*at)->reply);
    } else {
        static const char *const ways[] = { [WAY_SCRIPT] = "its token was validated",
                                            [WAY_CERT_TOKEN] = "it has shown its CertToken",
                                            [WAY_CERTIFICATE] = "it has shown the one before" };

        log_info("node %s: its certificate was signed, %s", (*at)->node, ways[(*at)->way]);
        reply.certificate = p->output;
        core_reply(ctld, &(*at)->reply, lsn, 0, &reply.base);
    }
    free_signing(ctld->certsign, at);
}

static void sign_request(struct ctld *ctld, struct signing **at)
{
    struct program *p = new_script(ctld, CERTMGR_SIGN, *at, on_signed);

    if (!p) {
        refuse_signing(ctld, at, "CertmgrParameters has no sign_csr_script any more");
        return;
    }
    program_arg_text(p, (*at)->csr);
    program_output(p, CERT_MAX);
    programs_add_take(ctld->programs, p);
}

static void on_validated(struct ctld *ctld, const struct program *p)
{
    struct signing **at = find_place(ctld->certsign, p->ticket);

    if (!*at)
        return;
    if (p->status == 0)
        sign_request(ctld, at);
    else
        refuse_signing(ctld, at, "validate_node_script does not accept its token");
}

static void validate_request(struct ctld *ctld, struct signing *g, const char *token)
{
    struct program *p = new_script(ctld, CERTMGR_VALIDATE, g, on_validated);

    if (!p) {
        refuse_signing(ctld, find_place(ctld->certsign, g->ticket),
                       "it has no CertToken, and CertmgrParameters no validate_node_script");
        return;
    }
    program_arg(p, g->node);
    program_arg(p, token);
    programs_add_take(ctld->programs, p);
}

/* ---- requests -------------------------------------------------------------------------------- */

bool certsign_needs_no_token(struct ctld *ctld, const struct peer *peer, uint32_t node_id)
{
    return peer->certified && peer->method == PST__AUTH_METHOD__AUTH_NODE &&
           nodekeys_find(ctld, peer->node_key) == (int64_t)node_id;
}

static enum certsign_way judge_token(struct ctld *ctld, const struct node *n,
                                     const struct peer *peer, const char *token,
                                     const char **ret_why)
{
    if (n && certsign_needs_no_token(ctld, peer, n->rec->node_id))
        return WAY_CERTIFICATE;
    if (!token) {
        *ret_why = peer->certified ? "its certificate is another's, and it shows no token"
                                   : "it shows neither a certificate that is valid nor a token "
                                     "(get_node_token_script)";
        return WAY_NONE;
    }
    if (!n || !n->rec->cert_token)
        return WAY_SCRIPT;
    if (certtoken_fits(n->rec->cert_token, token))
        return WAY_CERT_TOKEN;
    *ret_why = "its token is not the CertToken that was set for it";
    return WAY_NONE;
}

static bool is_node_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t len = strlen(name);

    return len > 0 && len <= CONF_NODE_NAME_MAX && name[0] != '-' && name[0] != '.' &&
           strspn(name, letters) == len;
}

/* What the words of a request may be, before a program gets them. */
static const char *find_fault(const Pst__CertRequest *req)
{
    if (!req->node || !is_node_name(req->node))
        return "this is no name of a node";
    if (req->token && !certtoken_is_sound(req->token))
        return "a token is a line of 1 to 1024 characters that does not begin with -";
    if (!req->csr || !pemtext_holds(req->csr, PEM_REQUEST))
        return "the certificate request is none (PEM)";
    return NULL;
}

static const char *find_refusal(struct ctld *ctld, const struct cmd *cmd,
                                const Pst__CertRequest *req, const struct node *n,
                                char why[NODEKEYS_TEXT])
{
    const Pst__NodeRegister reg = PST__NODE_REGISTER__INIT;
    const uint8_t *bind;

    if (!conf_use_certmgr(ctld->conf))
        return "the controller signs no certificates: CertmgrType is not set there";
    if (!conn_peer(cmd->conn)->tls)
        return "certificates are signed over encrypted connections only";
    if (n && nodekeys_judge(ctld, n, conn_peer(cmd->conn), &reg, &bind, why) < 0)
        return why;
    if (!n && conf_num(ctld->conf, CONF_MAX_NODE_COUNT) == 0)
        return "there is no such node";
    if (is_busy(ctld->certsign, req->node))
        return "a certificate for this node is being signed";
    return ctld->certsign->n >= SIGNINGS_MAX ? "too many certificates are being signed" : NULL;
}

static void op_cert_sign(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__CertRequest *req = PB_AS(cert_request, cmd->msg);
    const char *why = find_fault(req);
    const struct node *n;
    struct signing *g;
    enum certsign_way way = WAY_NONE;
    char judged[NODEKEYS_TEXT];

    if (why) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, why);
        return;
    }
    n = cluster_node_named(ctld->cluster, req->node);
    why = find_refusal(ctld, cmd, req, n, judged);
    if (!why)
        way = judge_token(ctld, n, conn_peer(cmd->conn), req->token, &why);
    if (why) {
        log_limited(LOG_ERROR, "node %s: gets no certificate: %s addr=%s", req->node, why,
                    conn_peer(cmd->conn)->addr);
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, why);
        return;
    }
    g = add_signing(ctld->certsign, cmd, req, way);
    if (way == WAY_SCRIPT)
        validate_request(ctld, g, req->token);
    else
        sign_request(ctld, find_place(ctld->certsign, g->ticket));
}

/* ---- the service ----------------------------------------------------------------------------- */

static int check_conf(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    (void)ctld;
    return conf_use_certmgr(conf) ? conf_certmgr_check(conf, false, err) : 0;
}

static int start_signing(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->certsign = must(calloc(1, sizeof(*ctld->certsign)));
    return 0;
}

static void give_back_conns(struct ctld *ctld)
{
    while (ctld->certsign && ctld->certsign->list)
        free_signing(ctld->certsign, &ctld->certsign->list);
}

static void free_signings(struct ctld *ctld)
{
    free(ctld->certsign);
    ctld->certsign = NULL;
}

static const struct ctld_op certsign_ops[] = {
    { OP_CERT_SIGN, .fn = op_cert_sign, .flags = OPF_WRITES },
    { 0 },
};

const struct ctld_service certsign_service = {
    .name = "certsign",
    .ops = certsign_ops,
    .check = check_conf,
    .start = start_signing,
    .stop = give_back_conns,
    .free = free_signings,
};
