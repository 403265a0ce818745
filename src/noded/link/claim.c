/* claim.c - slurmd -F: which node of state FUTURE is this?  See claim.h. */
#include "noded/link/claim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "conf/tls/conf_certmgr.h"
#include "conf/tls/conf_tls.h"
#include "daemon/dmntarget.h"
#include "noded/hw/hw.h"
#include "wire/client_active.h"
#include "wire/ops.h"
#include "wire/tls/tls.h"

#define RETRY_US 500000

/* One question to the active controller. */
static int ask_controller(const struct client_target *target, struct client_hosts *hosts,
                          const struct conf *conf, const Pst__NodeClaimRequest *req,
                          struct claimed *ret, struct err *err)
{
    struct client *c = NULL;
    ProtobufCMessage *reply = NULL;
    const char *text = NULL;
    int r = client_connect_active(target, hosts, conf_slurm_uid(conf), &c, err);

    if (r < 0)
        return r;
    r = client_call(c, OP_NODE_CLAIM, &req->base, &reply);
    if (r == -EREMOTEIO) {
        (void)client_error(c, &text); /* the text says it */
        err_set(err, r, "%s", text ? text : "the controller refuses");
    } else if (r < 0) {
        err_set(err, r, "%s", strerror(-r));
    } else {
        Pst__NodeClaimReply *got = (Pst__NodeClaimReply *)reply;

        *ret = (struct claimed){ TAKE_PTR(got->name), TAKE_PTR(got->node_line) };
        protobuf_c_message_free_unpacked(reply, NULL);
        r = ret->name ? 0 : err_set(err, -EPROTO, "the controller names no node");
    }
    client_free(c);
    return r;
}

static int ask_any(const struct conf *conf, struct tls_ctx *tls, const Pst__NodeClaimRequest *req,
                   struct claimed *ret, struct err *err)
{
    struct client_hosts hosts = { .n = 0 };
    struct client_target target = dmntarget_controller(conf, "slurmd");

    target.tls = tls;
    err->text[0] = '\0';
    hosts.n = conf_ctld_addrs(conf, hosts.addr, ARRAY_SIZE(hosts.addr));
    return ask_controller(&target, &hosts, conf, req, ret, err);
}

int claim_node(const struct conf *conf, const char *host, const char *feature, struct claimed *ret,
               struct err *err)
{
    Pst__NodeClaimRequest req = PST__NODE_CLAIM_REQUEST__INIT;
    int64_t until = now_mono_us() + (int64_t)conf_num(conf, CONF_MESSAGE_TIMEOUT) * USEC_PER_SEC;
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    struct tls_config config;
    /* a certificate that the controller signs comes once the node has a name */
    int r = conf_tls(conf, conf_use_certmgr(conf) ? CONF_TLS_COMMAND : CONF_TLS_SLURMD, &config);

    if (r == 0)
        r = tls_ctx_load(&config, &tls, err);
    if (r < 0)
        return r;
    r = hw_claim_record(host, machine_socket_of(conf, NULL), &req.node);
    if (r < 0)
        return err_set(err, r, "cannot read the machine's topology");
    req.feature = (char *)(uintptr_t)feature; /* only read */
    while ((r = ask_any(conf, tls, &req, ret, err)) < 0 && r != -EREMOTEIO && now_mono_us() < until)
        (void)usleep(RETRY_US); /* the controller may be about to start */
    pst__node_record__free_unpacked(req.node, NULL);
    if (r < 0)
        err_prefix(err, "-F: no node can be had");
    return r;
}
