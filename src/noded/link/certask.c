/* certask.c - ask the controller to have a certificate signed; see certask.h */
#include "noded/link/certask.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text/owntext.h"
#include "noded/link/nodekey.h"
#include "wire/client_active.h"
#include "wire/ops.h"
#include "wire/tls/pemtext.h"
#include "wire/tls/tls.h"

struct certask {
    char *hosts[CLIENT_HOSTS_MAX], *cluster, *key_file, *munge_socket;
    size_t n_hosts;
    struct client_target target; /* its strings are those above */
    uint8_t controller_key[IDKEY_SIZE];
    uid_t slurm_uid;
    char *node, *token, *csr;
    pthread_mutex_t lock; /* of the two below */
    int fd;               /* of the connection, while it waits for the answer; else -1 */
    bool cancelled;
    char *certificate; /* the answer */
    int result;
    struct err err;
};

static bool copy_hosts(struct certask *a, const struct conf *c)
{
    const char *addrs[CLIENT_HOSTS_MAX];
    size_t n = conf_ctld_addrs(c, addrs, CLIENT_HOSTS_MAX);

    while (a->n_hosts < n && copy_text(&a->hosts[a->n_hosts], addrs[a->n_hosts]) == 0)
        a->n_hosts++;
    return a->n_hosts == n;
}

static void fill_target(struct certask *a, const struct noded *d, struct tls_ctx *tls)
{
    const uint8_t *key = nodekey_controller(d);

    a->slurm_uid = conf_slurm_uid(d->conf);
    if (key)
        memcpy(a->controller_key, key, sizeof(a->controller_key));
    a->target = (struct client_target){
        .port = conf_ctld_port(d->conf),
        .cluster = a->cluster,
        .key_file = a->key_file,
        .use_munge = conf_use_munge(d->conf),
        .munge_socket = a->munge_socket,
        .timeout_ms = (int)conf_num(d->conf, CONF_MESSAGE_TIMEOUT) * 1000,
        .program = "slurmd",
        .tls = tls_ctx_ref(tls),
        .identity = d->identity, /* as long as the daemon */
        .controller_key = key ? a->controller_key : NULL,
        .may_relearn = nodekey_may_relearn(d),
    };
}

int certask_new(const struct noded *d, struct tls_ctx *tls, const char *token, const char *csr,
                struct certask **ret)
{
    struct certask *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    a->fd = -1;
    (void)pthread_mutex_init(&a->lock, NULL); /* cannot fail without attributes */
    a->result = -ECANCELED;
    if (!copy_hosts(a, d->conf) ||
        copy_text(&a->cluster, conf_str(d->conf, CONF_CLUSTER_NAME)) < 0 ||
        copy_text(&a->key_file, conf_key_file(d->conf)) < 0 ||
        copy_text(&a->munge_socket, conf_munge_socket(d->conf)) < 0 ||
        copy_text(&a->node, d->name) < 0 || copy_text(&a->token, token) < 0 ||
        copy_text(&a->csr, csr) < 0) {
        (void)certask_free(a); /* always NULL */
        return -ENOMEM;
    }
    fill_target(a, d, tls);
    *ret = a;
    return 0;
}

/* -EREMOTEIO: the controller says no; others: it cannot be asked now. */
static int call_controller(struct certask *a, struct client *c)
{
    Pst__CertRequest req = PST__CERT_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    const char *text = NULL;
    int r;

    req.node = a->node;
    req.token = a->token;
    req.csr = a->csr;
    client_set_timeout(c, 3 * a->target.timeout_ms + 120 * 1000); /* scripts run there */
    r = client_call(c, OP_CERT_SIGN, &req.base, &reply);
    if (r == -EREMOTEIO)
        (void)client_error(c, &text); /* the text says it */
    if (r < 0)
        return err_set(&a->err, r, "the controller signs no certificate for this node: %s",
                       text ? text : client_strerror(c, r));
    a->certificate = TAKE_PTR(((Pst__CertReply *)reply)->certificate);
    protobuf_c_message_free_unpacked(reply, NULL);
    if (!a->certificate || !pemtext_holds(a->certificate, PEM_CERTIFICATE))
        return err_set(&a->err, -EPROTO, "what the controller sent is no certificate (PEM)");
    return 0;
}

/* NULL: it is over.  False: nobody wants the answer any more. */
static bool note_client(struct certask *a, struct client *c)
{
    bool wanted;

    pthread_mutex_lock(&a->lock);
    a->fd = c ? client_fd(c) : -1;
    wanted = !a->cancelled;
    pthread_mutex_unlock(&a->lock);
    return wanted;
}

void certask_cancel(struct certask *a)
{
    pthread_mutex_lock(&a->lock);
    a->cancelled = true;
    if (a->fd >= 0)
        (void)shutdown(a->fd, SHUT_RDWR); /* it may have been closed there */
    pthread_mutex_unlock(&a->lock);
}

void certask_run(struct certask *a)
{
    struct client_hosts hosts = { .n = a->n_hosts };
    struct client *c = NULL;

    for (size_t i = 0; i < a->n_hosts; i++)
        hosts.addr[i] = a->hosts[i];
    a->result = client_connect_active(&a->target, &hosts, a->slurm_uid, &c, &a->err);
    if (a->result < 0) {
        err_prefix(&a->err, "the controller cannot be asked for a certificate");
        return;
    }
    a->result =
        note_client(a, c) ? call_controller(a, c) : err_set(&a->err, -ECANCELED, "the daemon ends");
    (void)note_client(a, NULL); /* the descriptor is about to be closed */
    (void)client_free(c);       /* always NULL */
}

const char *certask_certificate(const struct certask *a, struct err *err)
{
    if (a->result < 0)
        *err = a->err;
    return a->result < 0 ? NULL : a->certificate;
}

bool certask_was_refused(const struct certask *a)
{
    return a->result == -EREMOTEIO || a->result == -EACCES || a->result == -EPROTO;
}

struct certask *certask_free(struct certask *a)
{
    if (!a)
        return NULL;
    for (size_t i = 0; i < a->n_hosts; i++)
        free(a->hosts[i]);
    free(a->cluster);
    free(a->key_file);
    free(a->munge_socket);
    free(a->node);
    wipe_text(&a->token);
    free(a->csr);
    free(a->certificate);
    (void)tls_ctx_unref(a->target.tls);    /* always NULL */
    (void)pthread_mutex_destroy(&a->lock); /* nobody holds it */
    free(a);
    return NULL;
}
