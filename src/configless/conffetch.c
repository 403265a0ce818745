/* conffetch.c - ask the controllers for the configuration; see conffetch.h */
#include "configless/conffetch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "configless/confbundle.h"
#include "configless/fetchtls.h"
#include "wire/client.h"
#include "wire/errors.h"
#include "wire/ops.h"

bool conffetch_is_final(int r)
{
    return r == -EACCES || r == -EPERM || r == -EINVAL;
}

static int try_server(const struct conffetch *f, const struct confserver *s, struct client **ret,
                      struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    struct client_target target = {
        .host = s->host,
        .port = s->port,
        .key_file = f->key_file,
        .use_munge = f->use_munge,
        .jwt = f->jwt,
        .timeout_ms = f->timeout_ms,
        .program = f->program,
    };

    int r = f->encrypted ? fetchtls_new(f->ca_file, &tls, err) : 0;

    target.tls = tls;
    /* Who SlurmUser is stands in what is asked for: the server is known by the key. */
    r = r < 0 ? r : client_connect(&target, 0, ret, err);
    return r == -EPROTO ? -EACCES : r; /* the certificate, as a rule: it stays what it is */
}

static int connect_server(struct conffetch *f, const struct confserver *s, struct client **ret,
                          struct err *err)
{
    int r;

    f->encrypted = f->encrypted || f->ca_file;
    r = try_server(f, s, ret, err);
    if (r != -EPROTONOSUPPORT || f->encrypted)
        return r;
    f->encrypted = true;
    err->text[0] = '\0';
    return try_server(f, s, ret, err);
}

static int call_server(struct client *c, const Pst__ConfRequest *req, Pst__ConfBundle **ret,
                       struct err *err)
{
    ProtobufCMessage *reply = NULL;
    const char *text = NULL;
    int r = client_call(c, OP_CONF_FETCH, &req->base, &reply);

    if (r == -EREMOTEIO) {
        bool standby = client_error(c, &text) == ESLURM_IN_STANDBY_MODE;

        return err_set(err, standby ? -EAGAIN : -EPERM, "%s",
                       text ? text : "the controller refuses");
    }
    if (r < 0)
        return err_set(err, r, "%s", client_strerror(c, r));
    *ret = (Pst__ConfBundle *)reply;
    if ((*ret)->n_files == 0 && req->has_have)
        return 0; /* what we have is in force */
    r = confbundle_check(*ret, err);
    if (r < 0) {
        err_prefix(err, "the configuration cannot be taken");
        pst__conf_bundle__free_unpacked(*ret, NULL);
        *ret = NULL;
    }
    return r;
}

static int ask_server(struct conffetch *f, const struct confserver *s, const Pst__ConfRequest *req,
                      Pst__ConfBundle **ret, struct err *err)
{
    struct client *c = NULL;
    int r = connect_server(f, s, &c, err);

    if (r == 0)
        r = call_server(c, req, ret, err);
    else if (r == -ETIMEDOUT)
        r = -EHOSTUNREACH; /* that one alone: a controller that waits with us has been reached */
    if (r == 0 && !f->ca_file && (*ret)->n_files) {
        r = fetchtls_judge(*ret, err);
        if (r < 0) {
            pst__conf_bundle__free_unpacked(*ret, NULL);
            *ret = NULL;
        }
    }
    if (c)
        client_free(c);
    if (r < 0)
        err_prefix(err, "no configuration from %s port %u", s->host, s->port);
    return r;
}

static int ask_servers(struct conffetch *f, const Pst__ConfRequest *req, Pst__ConfBundle **ret,
                       struct err *err)
{
    int r = -ENOENT;

    for (size_t i = 0; r < 0 && i < f->servers->n; i++) {
        err->text[0] = '\0';
        r = ask_server(f, &f->servers->list[i], req, ret, err);
        if (r < 0)
            log_debug("%s", err->text);
        if (r == -ETIMEDOUT && req->wait)
            break; /* it has nothing new: the others are not asked for that */
    }
    return r;
}

int conffetch_once(struct conffetch *f, Pst__ConfBundle **ret, struct err *err)
{
    Pst__ConfRequest req = PST__CONF_REQUEST__INIT;

    req.has_node = true;
    req.node = f->node;
    return ask_servers(f, &req, ret, err);
}

int conffetch_next(struct conffetch *f, const ProtobufCBinaryData *have, Pst__ConfBundle **ret,
                   struct err *err)
{
    Pst__ConfRequest req = PST__CONF_REQUEST__INIT;
    Pst__ConfBundle *b = NULL;
    int r;

    req.has_node = req.has_have = req.has_wait = req.wait = true;
    req.node = f->node;
    req.have = *have;
    r = ask_servers(f, &req, &b, err);
    if (r < 0)
        return r;
    if (b->n_files == 0) {
        pst__conf_bundle__free_unpacked(b, NULL);
        b = NULL;
    }
    *ret = b;
    return 0;
}
