/* op_admin.c - ops of administrators that concern the controller itself: reconfigure, shutdown,
 * log level; and tokens */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/reconfig.h"
#include "ctld/core/service.h"
#include "ctld/node/nodelink.h"

static void op_reconfigure(struct ctld *ctld, struct cmd *cmd)
{
    struct err err = { .text = "" };

    if (reconfig_run(ctld, &err) < 0)
        core_error(ctld, cmd, SLURM_ERROR, err.text);
    else
        core_ok(ctld, cmd, ctld->applied_lsn);
}

static void op_shutdown(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__ShutdownRequest *req = PB_AS(shutdown_request, cmd->msg);

    log_info("shutdown asked for by uid %u", conn_peer(cmd->conn)->uid);
    if (!(req->has_controller_only && req->controller_only))
        for (uint32_t i = 0; i < ctld->cluster->nnodes; i++)
            if (ctld->cluster->nodes[i])
                (void)node_send(ctld, ctld->cluster->nodes[i], ctld->applied_lsn, OP_NODE_SHUTDOWN,
                                NULL);
    core_ok(ctld, cmd, ctld->applied_lsn);
    ctld_stop(ctld);
}

static void op_token(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__TokenRequest *req = PB_AS(token_request, cmd->msg);
    uint64_t life = req->has_infinite && req->infinite ? UINT64_MAX
                    : req->has_lifespan_s              ? req->lifespan_s
                                                       : 1800;
    uint64_t max;
    char own[64], buf[4096];
    struct passwd pw, *found = NULL;
    Pst__TokenReply r = PST__TOKEN_REPLY__INIT;
    bool admin = core_is_admin(ctld, conn_peer(cmd->conn)->uid);

    if (!admin &&
        conf_option(ctld->conf, CONF_AUTH_ALT_PARAMETERS, "disable_token_creation", NULL, NULL)) {
        core_error(ctld, cmd, ESLURM_DISABLED, "tokens are not made here (disable_token_creation)");
        return;
    }
    /* The uid's name was looked up by the kernel's word for it; a token is rare, so this may
     * block. */
    if (getpwuid_r(conn_peer(cmd->conn)->uid, &pw, buf, sizeof(buf), &found) == 0 && found)
        (void)snprintf(own, sizeof(own), "%s", pw.pw_name);
    else
        (void)snprintf(own, sizeof(own), "%u", conn_peer(cmd->conn)->uid);
    if (req->user && strcmp(req->user, own) != 0 && !admin) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    if (!admin && conf_option_u64(ctld->conf, CONF_AUTH_ALT_PARAMETERS, "max_token_lifespan", &max))
        life = MIN(life, max);
    if (auth_jwt_make(ctld->keys, req->user ? req->user : own, core_now(), life, &r.token) < 0) {
        core_error(ctld, cmd, SLURM_ERROR, "a token cannot be signed: libsodium is missing");
        return;
    }
    core_reply(ctld, cmd, 0, 0, &r.base);
    free(r.token);
}

static void op_debug(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__DebugRequest *req = PB_AS(debug_request, cmd->msg);
    enum log_level level;

    if (!req->level || log_level_parse(req->level, &level) < 0) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "unknown debug level");
        return;
    }
    log_set_level(level);
    core_ok(ctld, cmd, 0);
}

static const struct ctld_op admin_ops[] = {
    { OP_RECONFIGURE, .fn = op_reconfigure, .flags = OPF_WRITES },
    { OP_SHUTDOWN, .fn = op_shutdown },
    { OP_TOKEN, .fn = op_token },
    { OP_DEBUG, .fn = op_debug },
    { 0 },
};

const struct ctld_service admin_service = { .name = "admin", .ops = admin_ops };
