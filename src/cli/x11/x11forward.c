/* x11forward.c - from the nodes of a job to the user's X server; see x11forward.h
 *
 * The main thread makes the connections; then they are the other thread's alone, until it has
 * ended. */
#include "cli/x11/x11forward.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/base/cli.h"
#include "cli/job/jobtext.h"
#include "cli/base/nodeconnect.h"
#include "wire/auth/auth.h"
#include "wire/client.h"
#include "wire/ops.h"
#include "wire/x11/tunnel.h"
#include "wire/x11/xaddress.h"
#include "wire/x11/xauthority.h"
#include "wire/x11/xsetup.h"

#define ADDRESSES_MAX 8u
#define PROBE_MS 5000
#define FDS_EACH (1 + TUNNELS_MAX)

struct node {
    struct client *client; /* NULL: it has ended */
    struct tunnels *tunnels;
};

struct x11forward {
    struct cli *cli;
    unsigned which; /* enum jobtext_x11 */
    struct xaddress_at at;
    struct xauth_cookie shown, real; /* by programs; of the display */
    struct node *nodes;
    size_t n_nodes;
    bool serving;
    pthread_t thread;
    int stop_fd; /* an eventfd */
};

/* ---- the display ----------------------------------------------------------------------------- */

/* Does somebody listen there? */
static bool reach_server(const struct xaddress_at *at)
{
    _cleanup_close_ int fd = -1;
    struct pollfd p = { .events = POLLOUT };
    int error = 0;
    socklen_t len = sizeof(error);

    if (xaddress_connect(at, &fd) < 0)
        return false;
    p.fd = fd;
    return poll(&p, 1, PROBE_MS) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 &&
           error == 0;
}

static void find_server(struct x11forward *x, const struct xaddress *a)
{
    struct xaddress_at list[ADDRESSES_MAX];
    struct err err = { .text = "" };
    size_t n = 0;

    if (xaddress_look_up(a, list, ADDRESSES_MAX, &n, &err) < 0)
        cli_die(CLI_EXIT_USAGE, "%s", err.text);
    for (size_t i = 0; i < n; i++) {
        if (!reach_server(&list[i]))
            continue;
        x->at = list[i];
        return;
    }
    cli_die(CLI_EXIT_USAGE,
            "The X server of DISPLAY=%.100s does not answer, cannot setup x11 forwarding.",
            getenv("DISPLAY"));
}

/* A display on this machine is known by the host's name, another one by its address. */
static void describe_display(const struct x11forward *x, const struct xaddress *a, const char *host,
                             struct xauth_want *want)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)x->at.sa;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)x->at.sa;
    bool local = !a->host[0];

    *want = (struct xauth_want){ .display = a->display };
    if (!local && in->sin_family == AF_INET) {
        local = ntohl(in->sin_addr.s_addr) >> 24 == 127;
        want->addr = (const uint8_t *)&in->sin_addr;
        want->addr_len = sizeof(in->sin_addr);
    } else if (!local) {
        local = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
        want->addr = (const uint8_t *)&in6->sin6_addr;
        want->addr_len = sizeof(in6->sin6_addr);
    }
    want->local_name = local ? host : NULL;
}

static char *authority_path(void)
{
    const char *path = getenv("XAUTHORITY"), *home = getenv("HOME");

    return path && *path ? xstrdup_or_die(path)
                         : xasprintf_or_die("%s/.Xauthority", home ? home : "");
}

static void find_cookie(struct x11forward *x, const struct xaddress *a)
{
    _cleanup_free_ char *path = authority_path(), *data = xmalloc_or_die(XAUTH_FILE_MAX);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char host[256] = "";
    struct xauth_want want;
    size_t n;

    if (!f)
        cli_die(CLI_EXIT_USAGE, "%s: %s, cannot setup x11 forwarding.", path, strerror(errno));
    n = fread(data, 1, XAUTH_FILE_MAX, f);
    if (gethostname(host, sizeof(host) - 1) < 0)
        host[0] = '\0';
    describe_display(x, a, host, &want);
    if (xauthority_find(data, n, &want, &x->real) < 0)
        cli_die(CLI_EXIT_USAGE, "%s has no %s for DISPLAY=%.100s, cannot setup x11 forwarding.",
                path, XAUTH_NAME, getenv("DISPLAY"));
    explicit_bzero(data, n);
}

struct x11forward *x11forward_new(struct cli *cli, const struct jobopts *jo)
{
    const char *words = jobopts_get(jo, JO_X11), *display = getenv("DISPLAY");
    struct err err = { .text = "" };
    struct xaddress a;
    struct x11forward *x;

    if (!jobopts_has(jo, JO_X11) || jo->in_allocation)
        return NULL;
    if (jobopts_has(jo, JO_CLUSTERS))
        cli_error(
            "--x11 with --clusters: windows are shown only where the nodes of that cluster can "
            "be reached from here");
    x = xmalloc_or_die(sizeof(*x));
    *x = (struct x11forward){ .cli = cli, .which = jobtext_x11(words ? words : ""), .stop_fd = -1 };
    if (xaddress_parse(display ? display : "", &a, &err) < 0)
        cli_die(CLI_EXIT_USAGE, "%s", err.text);
    find_server(x, &a);
    find_cookie(x, &a);
    x->shown.len = XAUTH_COOKIE;
    if (auth_random(x->shown.bytes, XAUTH_COOKIE) < 0)
        cli_fatal("no random bytes: %s", strerror(errno));
    return x;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* tunnel_open_fn */
static long open_display(void *ctx, const void *data, size_t len, struct strbuf *sb, int *ret_fd)
{
    const struct x11forward *x = ctx;
    long used = xsetup_swap(data, len, &x->shown, &x->real, sb);
    int r = used > 0 ? xaddress_connect(&x->at, ret_fd) : 0;

    return r < 0 ? r : used;
}

static bool is_wanted(const struct x11forward *x, size_t i, size_t n)
{
    return x->which & X11_ALL || (x->which & (X11_FIRST | X11_BATCH) && i == 0) ||
           (x->which & X11_LAST && i + 1 == n);
}

static void add_node(struct x11forward *x, const Pst__StepReply *granted, const Pst__NodeAddr *addr)
{
    Pst__AttachStep req = PST__ATTACH_STEP__INIT;
    struct node *n = &x->nodes[x->n_nodes];
    struct err err = { .text = "" };
    int r = nodeconnect_step(x->cli, granted, addr, &n->client, &err);

    if (r < 0) {
        cli_error("x11 forwarding from node %s: %s", addr->name, err.text);
        return;
    }
    req.credential = (Pst__SignedCredential *)granted->credential;
    req.node_name = addr->name;
    req.stream_key = client_stream_key(n->client);
    req.has_stream_key = req.stream_key.len > 0;
    req.has_x11_cookie = true;
    req.x11_cookie = (ProtobufCBinaryData){ x->shown.len, x->shown.bytes };
    r = client_call(n->client, OP_ATTACH_STEP, &req.base, NULL);
    if (r == 0)
        r = tunnels_new(n->client, open_display, x, &n->tunnels);
    if (r == 0) {
        cli_verbose(1, "x11 forwarding from node %s", addr->name);
        x->n_nodes++;
        return;
    }
    cli_error("x11 forwarding from node %s: %s", addr->name, client_strerror(n->client, r));
    n->client = client_free(n->client);
}

void x11forward_job(struct x11forward *x, uint32_t job_id)
{
    Pst__AccessRequest req = PST__ACCESS_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    const Pst__StepReply *granted;
    struct err err = { .text = "" };
    char id[16];

    if (!x)
        return;
    (void)snprintf(id, sizeof(id), "%u", job_id);
    req.id = id;
    req.has_purpose = true;
    req.purpose = PST__CRED_PURPOSE__CRED_X11;
    if (cli_call(x->cli, OP_ACCESS, &req.base, &msg, NULL, &err) < 0) {
        cli_error("x11 forwarding of job %u: %s", job_id, err.text);
        return;
    }
    granted = PB_AS(step_reply, msg);
    x->nodes = xrealloc_or_die(x->nodes, x->n_nodes + granted->n_nodes + 1, sizeof(*x->nodes));
    for (size_t i = 0; i < granted->n_nodes; i++)
        if (is_wanted(x, i, granted->n_nodes))
            add_node(x, granted, granted->nodes[i]);
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void drop_node(struct node *n)
{
    n->tunnels = tunnels_free(n->tunnels);
    n->client = client_free(n->client);
}

static void read_node(struct node *n)
{
    struct frame f;
    int r;

    while ((r = client_recv(n->client, 0, &f)) > 0) {
        ProtobufCMessage *msg = NULL;

        if (f.op != OP_STEP_IO || frame_unpack_request(&f, &msg, NULL) < 0)
            continue;
        tunnels_take_frame(n->tunnels, PB_AS(step_io, msg));
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    if (r < 0)
        drop_node(n); /* the job is over there */
}

static void serve_node(struct node *n, const struct pollfd *fds)
{
    if (!n->client)
        return;
    tunnels_poll_done(n->tunnels, fds + 1);
    if (fds[0].revents & POLLOUT && client_flush(n->client) < 0 && client_fd(n->client) < 0)
        drop_node(n);
    else if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
        read_node(n);
}

static void *serve_nodes(void *arg)
{
    struct x11forward *x = arg;
    size_t n_fds = 1 + x->n_nodes * FDS_EACH;
    struct pollfd *fds = xmalloc_or_die(n_fds * sizeof(*fds));

    for (size_t i = 0; i < x->n_nodes; i++)
        read_node(&x->nodes[i]); /* frames that came with the answer */
    for (;;) {
        fds[0] = (struct pollfd){ .fd = x->stop_fd, .events = POLLIN };
        for (size_t i = 0; i < x->n_nodes; i++) {
            struct pollfd *at = fds + 1 + i * FDS_EACH;
            const struct client *c = x->nodes[i].client;

            for (size_t k = 0; k < FDS_EACH; k++)
                at[k] = (struct pollfd){ .fd = -1 };
            if (!c)
                continue;
            at[0].fd = client_fd(c);
            at[0].events = (short)(POLLIN | client_out_events(c));
            (void)tunnels_poll_fill(x->nodes[i].tunnels, at + 1); /* TUNNELS_MAX */
        }
        if ((poll(fds, (nfds_t)n_fds, -1) < 0 && errno != EINTR) || fds[0].revents)
            break;
        for (size_t i = 0; i < x->n_nodes; i++)
            serve_node(&x->nodes[i], fds + 1 + i * FDS_EACH);
    }
    free(fds);
    return NULL;
}

void x11forward_serve(struct x11forward *x)
{
    sigset_t all, before;
    int r;

    if (!x || x->n_nodes == 0)
        return;
    x->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the main thread's */
    r = x->stop_fd < 0 ? -errno : -pthread_create(&x->thread, NULL, serve_nodes, x);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    x->serving = r == 0;
    if (r < 0)
        cli_error("x11 forwarding: %s", strerror(-r));
}

struct x11forward *x11forward_stop(struct x11forward *x)
{
    const uint64_t one = 1;

    if (!x)
        return NULL;
    if (x->serving && write(x->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
        (void)pthread_join(x->thread, NULL);
    for (size_t i = 0; i < x->n_nodes; i++)
        drop_node(&x->nodes[i]);
    if (x->stop_fd >= 0)
        (void)close(x->stop_fd);
    free(x->nodes);
    explicit_bzero(x, sizeof(*x));
    free(x);
    return NULL;
}
