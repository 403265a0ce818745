/* bcastsend.c - see bcastsend.h */
#include "cli/job/bcastsend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/job/sharedlibs.h"
#include "wire/fanout.h"
#include "wire/lz4.h"
#include "wire/ops.h"

/* when nothing else is asked for: small enough for relays to keep a few */
#define BLOCK_SIZE (1u << 20)
#define UNDER_WAY (8u << 20) /* bytes on the way to a node */

struct target {
    const char *name;
    bool gone;        /* it failed, and that was said */
    uint32_t waiting; /* requests and blocks not answered yet */
};

struct transfer {
    const struct bcast *b;
    Pst__BcastOpen request; /* what is equal for all nodes; of the present file */
    struct fanout fan;
    struct target *nodes; /* by number, as fan's */
    size_t n;
    struct pollfd *fds;
    uint8_t *packed; /* room for a block; NULL: not compressed */
    int status;
};

int bcast_try_access(struct cli *cli, const char *id, const char *nodes,
                     Pst__StepReply **ret_granted, struct err *err)
{
    Pst__AccessRequest req = PST__ACCESS_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    int r;

    req.id = (char *)id;
    req.nodes = (char *)nodes;
    req.has_purpose = true;
    req.purpose = PST__CRED_PURPOSE__CRED_BCAST;
    r = cli_call(cli, OP_ACCESS, &req.base, &msg, NULL, err);
    if (r == 0)
        *ret_granted = PB_AS(step_reply, msg);
    return r;
}

Pst__StepReply *bcast_access(struct cli *cli, const char *id, const char *nodes)
{
    struct err err = { .text = "" };
    Pst__StepReply *granted = NULL;

    if (bcast_try_access(cli, id, nodes, &granted, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "%s%s: %s", id ? "JobId=" : "", id ? id : nodes, err.text);
    return granted;
}

int bcast_compression(const char *word, bool *ret_lz4)
{
    if (word && strcasecmp(word, "lz4") != 0 && strcasecmp(word, "none") != 0)
        return -EINVAL;
    *ret_lz4 = !word || strcasecmp(word, "lz4") == 0;
    return 0;
}

int bcast_libs_word(const char *word, bool *ret_send)
{
    if (word && strcasecmp(word, "yes") != 0 && strcasecmp(word, "no") != 0)
        return -EINVAL;
    *ret_send = !word || strcasecmp(word, "yes") == 0;
    return 0;
}

void bcast_defaults(struct bcast *b)
{
    const char *word;
    size_t len;

    if (conf_option(cli_conf(b->cli), CONF_BCAST_PARAMETERS, "Compression", &word, &len))
        b->lz4 = len == 3 && strncasecmp(word, "lz4", len) == 0;
    b->send_libs = conf_option(cli_conf(b->cli), CONF_BCAST_PARAMETERS, "send_libs", &word, &len);
}

char *bcast_target(struct cli *cli, const char *dir, const char *target)
{
    const char *below = dir;
    size_t len = strlen(dir);

    if (target[0] == '/')
        return xstrdup_or_die(target);
    (void)conf_option(cli_conf(cli), CONF_BCAST_PARAMETERS, "DestDir", &below, &len);
    return xasprintf_or_die("%.*s/%s", (int)len, below, target);
}

/* ---- nodes that fail ------------------------------------------------------------------------- */

/* Close a link when no node behind it is waited for. */
static void close_idle(struct transfer *t, struct fan_link *l)
{
    for (uint32_t i = l->lo; i <= l->hi; i++)
        if (!t->nodes[i].gone)
            return;
    l->client = client_free(l->client);
}

static void node_failed(struct transfer *t, uint32_t lo, uint32_t hi, int code, const char *why)
{
    for (uint32_t i = lo; i <= hi && i < t->n; i++) {
        if (t->nodes[i].gone)
            continue;
        cli_error("REQUEST_FILE_BCAST(%s): %s", t->nodes[i].name, why ? why : "failed");
        t->status = MAX(t->status, code > 0 && code < 256 ? code : CLI_EXIT_FAILED);
        t->nodes[i].gone = true;
    }
}

static void on_lost(void *ctx, uint32_t lo, uint32_t hi, const char *why)
{
    node_failed(ctx, lo, hi, 0, why);
}

static void link_failed(struct transfer *t, struct fan_link *l, int code, const char *why)
{
    node_failed(t, l->lo, l->hi, code, why);
    close_idle(t, l);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void node_answered(struct transfer *t, uint32_t number)
{
    if (number < t->n && t->nodes[number].waiting > 0)
        t->nodes[number].waiting--;
}

static void on_relayed(struct transfer *t, struct fan_link *l, const Pst__RelayFrame *up)
{
    if (up->lo < l->lo || up->hi > l->hi)
        return;
    if (!up->lost) {
        node_answered(t, up->lo);
        return;
    }
    node_failed(t, up->lo, up->hi, up->lost_code, up->lost);
    close_idle(t, l);
}

static void on_frame(struct transfer *t, struct fan_link *l, const struct frame *f)
{
    ProtobufCMessage *msg = NULL;
    bool relayed = f->op == OP_RELAY_FRAME && !(f->flags & FRAME_REPLY);

    if (!(f->flags & FRAME_ERROR) && !relayed) {
        if (!l->relay)
            node_answered(t, l->lo);
        return;
    }
    if (frame_unpack(f, relayed ? &pst__relay_frame__descriptor : &pst__error__descriptor, &msg,
                     NULL) < 0) {
        link_failed(t, l, 0, client_strerror(l->client, -EPROTO));
        return;
    }
    if (relayed)
        on_relayed(t, l, PB_AS(relay_frame, msg));
    else
        link_failed(t, l, PB_AS(error, msg)->code, PB_AS(error, msg)->text);
    protobuf_c_message_free_unpacked(msg, NULL);
}

static void read_link(struct transfer *t, struct fan_link *l)
{
    struct frame f;
    int r = 1;

    while (l->client && (r = client_recv(l->client, 0, &f)) > 0)
        on_frame(t, l, &f);
    if (l->client && r < 0)
        link_failed(t, l, 0, client_strerror(l->client, r));
}

/* ---- pace ------------------------------------------------------------------------------------ */

/* Does something stop us from sending more, with at most `most` answers due from each node? */
static bool node_behind(const struct transfer *t, uint32_t most)
{
    for (size_t i = 0; i < t->fan.n_links; i++)
        if (t->fan.links[i].client && client_out_pending(t->fan.links[i].client) > 0)
            return true;
    for (size_t i = 0; i < t->n; i++)
        if (!t->nodes[i].gone && t->nodes[i].waiting > most)
            return true;
    return false;
}

static void node_late(struct transfer *t, uint32_t most)
{
    for (size_t i = 0; i < t->fan.n_links; i++) {
        struct fan_link *l = &t->fan.links[i];
        bool stuck = l->client && client_out_pending(l->client) > 0;

        for (uint32_t k = l->lo; k <= l->hi; k++)
            if (stuck || t->nodes[k].waiting > most)
                node_failed(t, k, k, 0, client_strerror(l->client, -ETIMEDOUT));
        if (l->client)
            close_idle(t, l);
    }
}

static void settle_answer(struct transfer *t, uint32_t most)
{
    for (size_t i = 0; i < t->fan.n_links; i++)
        read_link(t, &t->fan.links[i]); /* what poll(2) does not know of */
    while (node_behind(t, most)) {
        int n;

        for (size_t i = 0; i < t->fan.n_links; i++) {
            const struct client *c = t->fan.links[i].client;

            t->fds[i] =
                (struct pollfd){ .fd = c ? client_fd(c) : -1,
                                 .events = (short)(POLLIN | (c ? client_out_events(c) : 0)) };
        }
        n = poll(t->fds, (nfds_t)t->fan.n_links, t->b->timeout_ms ? t->b->timeout_ms : -1);
        if (n == 0)
            node_late(t, most);
        for (size_t i = 0; n > 0 && i < t->fan.n_links; i++) {
            struct fan_link *l = &t->fan.links[i];

            if (t->fds[i].revents & POLLOUT && l->client)
                (void)client_flush(l->client); /* what is broken shows when it is read */
            if (t->fds[i].revents)
                read_link(t, l);
        }
    }
}

/* To all nodes that take part still, packed once. */
static void send_all(struct transfer *t, unsigned op, const ProtobufCMessage *msg)
{
    Pst__RelayFrame wrap = PST__RELAY_FRAME__INIT;
    size_t len = protobuf_c_message_get_packed_size(msg), wrapped_len = 0;
    _cleanup_free_ uint8_t *body = xmalloc_or_die(len + 1), *wrapped = NULL;

    (void)protobuf_c_message_pack(msg, body);
    wrap.has_lo = wrap.has_hi = wrap.has_op = wrap.has_body = true;
    wrap.hi = (uint32_t)t->n;
    wrap.op = op;
    wrap.body = (ProtobufCBinaryData){ len, body };
    for (size_t i = 0; i < t->fan.n_links; i++) {
        struct fan_link *l = &t->fan.links[i];
        int r;

        if (!l->client)
            continue;
        if (l->relay && !wrapped) {
            wrapped_len = pst__relay_frame__get_packed_size(&wrap);
            wrapped = xmalloc_or_die(wrapped_len);
            (void)pst__relay_frame__pack(&wrap, wrapped);
        }
        r = l->relay ? client_forward(l->client, OP_RELAY_FRAME, wrapped, wrapped_len)
                     : client_forward(l->client, op, body, len);
        for (uint32_t k = l->lo; k <= l->hi; k++)
            t->nodes[k].waiting++;
        if (r < 0 && client_fd(l->client) < 0)
            link_failed(t, l, 0, client_strerror(l->client, r));
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_source(const char *path, struct stat *ret_st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, ret_st) < 0) {
        cli_error("Can't open `%s`: %s", path, strerror(errno));
    } else if (!S_ISREG(ret_st->st_mode)) {
        cli_error("Can't open `%s`: not a regular file", path);
    } else {
        return fd;
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static void fill_request(const struct bcast *b, const struct stat *st, char *library,
                         Pst__BcastOpen *req)
{
    pst__bcast_open__init(req);
    req->credential = b->access->credential;
    req->path = (char *)b->target;
    req->library = library;
    req->has_node_suffix = req->node_suffix = b->node_suffix;
    req->has_mode = req->has_force = req->has_preserve = true;
    req->mode = st->st_mode & 07777;
    req->force = b->force;
    req->preserve = b->preserve;
    req->has_atime_us = req->has_mtime_us = true;
    req->atime_us = st->st_atim.tv_sec * USEC_PER_SEC + st->st_atim.tv_nsec / 1000;
    req->mtime_us = st->st_mtim.tv_sec * USEC_PER_SEC + st->st_mtim.tv_nsec / 1000;
    req->has_lz4 = req->lz4 = b->lz4;
}

static void send_block(struct transfer *t, const uint8_t *data, size_t len, bool last)
{
    Pst__BcastBlock block = PST__BCAST_BLOCK__INIT;
    int packed = t->packed ? lz4_pack(data, len, t->packed, len) : -ENOSPC;

    block.has_data = true;
    block.data.data = packed > 0 ? t->packed : (uint8_t *)data;
    block.data.len = packed > 0 ? (size_t)packed : len;
    if (packed > 0) {
        block.has_raw_size = true;
        block.raw_size = (uint32_t)len;
    }
    block.has_last = block.last = last;
    send_all(t, OP_BCAST_BLOCK, &block.base);
}

static ssize_t read_block(int fd, uint8_t *buf, size_t size)
{
    size_t at = 0;

    while (at < size) {
        ssize_t n = read(fd, buf + at, size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        at += (size_t)n;
    }
    return (ssize_t)at;
}

static bool anyone_left(const struct transfer *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (!t->nodes[i].gone)
            return true;
    return false;
}

/* What is in fd, until the nodes have all of it. */
static int send_file(struct transfer *t, const char *path, int fd)
{
    size_t size = t->b->block_size ? t->b->block_size : BLOCK_SIZE;
    uint32_t most = (uint32_t)MAX(UNDER_WAY / size, (size_t)2) - 1;
    _cleanup_free_ uint8_t *buf = xmalloc_or_die(size),
                           *packed = t->b->lz4 ? xmalloc_or_die(size) : NULL;
    ssize_t n = (ssize_t)size;

    t->packed = packed;
    while (n == (ssize_t)size && anyone_left(t)) {
        n = read_block(fd, buf, size);
        if (n < 0) { /* the nodes see the connection end and remove what they have */
            cli_error("Can't read `%s`: %s", path, strerror((int)-n));
            t->status = MAX(t->status, CLI_EXIT_FAILED);
            return -1;
        }
        send_block(t, buf, (size_t)n, n < (ssize_t)size);
        settle_answer(t, most);
    }
    settle_answer(t, 0);
    return 0;
}

static int send_library(struct transfer *t, const struct sharedlib *lib)
{
    struct stat st;
    _cleanup_close_ int fd = open_source(lib->path, &st);

    if (fd < 0) {
        t->status = MAX(t->status, CLI_EXIT_FAILED);
        return -1;
    }
    cli_verbose(1, "sending library %s", lib->path);
    fill_request(t->b, &st, lib->name, &t->request);
    send_all(t, OP_BCAST_OPEN, &t->request.base);
    return send_file(t, lib->path, fd);
}

/* ---- the nodes ------------------------------------------------------------------------------- */

static uint32_t width_of(const struct bcast *b)
{
    return b->width ? b->width : (uint32_t)conf_num(cli_conf(b->cli), CONF_TREE_WIDTH);
}

/* Connect, and ask for the first file. */
static void open_nodes(struct transfer *t)
{
    const struct conf *conf = cli_conf(t->b->cli);
    Pst__RelayOpen open = PST__RELAY_OPEN__INIT;
    Pst__RelayNode *nodes = xmalloc_or_die((t->n + 1) * sizeof(*nodes));

    open.nodes = xmalloc_or_die((t->n + 1) * sizeof(*open.nodes));
    open.n_nodes = t->n;
    open.has_launch_key = t->b->access->has_launch_key;
    open.launch_key = t->b->access->launch_key;
    for (uint32_t i = 0; i < t->n; i++) {
        const Pst__NodeAddr *addr = t->b->access->nodes[i];

        pst__relay_node__init(&nodes[i]);
        nodes[i].has_number = nodes[i].has_port = true;
        nodes[i].number = i;
        nodes[i].name = addr->name;
        nodes[i].addr = addr->addr;
        nodes[i].port = addr->port;
        nodes[i].has_launch_key = addr->has_launch_key;
        nodes[i].launch_key = addr->launch_key;
        open.nodes[i] = &nodes[i];
        t->nodes[i] = (struct target){ .name = addr->name, .waiting = 1 };
    }
    open.bcast = &t->request;
    open.cluster = (char *)conf_str(conf, CONF_CLUSTER_NAME);
    open.timeout_ms = t->b->timeout_ms ? (uint32_t)t->b->timeout_ms
                                       : (uint32_t)conf_num(conf, CONF_MESSAGE_TIMEOUT) * 1000;
    open.width = width_of(t->b);
    open.has_width = open.has_timeout_ms = true;
    t->fan = (struct fanout){ .open = &open,
                              .program = t->b->cli->program,
                              .tls = cli_step_tls_or_die(t->b->cli),
                              .lost = on_lost,
                              .ctx = t };
    check_mem_or_die(fanout_open(&t->fan));
    t->fan.open = NULL;
    free(open.nodes);
    free(nodes);
}

static int find_libs(struct bcast *b, struct sharedlibs *libs)
{
    struct err err = { .text = "" };
    const char *exclude = conf_str(cli_conf(b->cli), CONF_BCAST_EXCLUDE), *word;
    _cleanup_free_ char *one = NULL;
    size_t len;

    if (!b->send_libs)
        return 0;
    if (b->exclude) {
        exclude = b->exclude;
    } else if (conf_option(cli_conf(b->cli), CONF_BCAST_PARAMETERS, "Exclude", &word, &len)) {
        one = xasprintf_or_die("%.*s", (int)len, word);
        exclude = one;
    }
    if (sharedlibs_find(b->source, exclude, libs, &err) < 0) {
        cli_error("%s", err.text);
        return CLI_EXIT_FAILED;
    }
    b->n_libs = libs->n;
    return 0;
}

static void run_transfer(struct transfer *t, int fd, const struct sharedlibs *libs)
{
    int r;

    t->nodes = xmalloc_or_die((t->n + 1) * sizeof(*t->nodes));
    open_nodes(t);
    t->fds = xmalloc_or_die((t->fan.n_links + 1) * sizeof(*t->fds));
    settle_answer(t, 0);
    r = send_file(t, t->b->source, fd);
    for (size_t i = 0; i < libs->n && r == 0 && anyone_left(t); i++)
        r = send_library(t, &libs->items[i]);
    fanout_done(&t->fan);
    free(t->fds);
    free(t->nodes);
}

int bcast_send(struct bcast *b)
{
    struct transfer t = { .b = b, .n = b->access->n_nodes };
    struct sharedlibs libs = { 0 };
    struct stat st;
    _cleanup_close_ int fd = open_source(b->source, &st);

    if (fd < 0)
        return CLI_EXIT_USAGE;
    if (b->lz4 && lz4_available() < 0) {
        cli_error("files cannot be compressed here: liblz4 is not installed");
        return CLI_EXIT_FAILED;
    }
    t.status = find_libs(b, &libs);
    if (t.status != 0)
        return t.status;
    fill_request(b, &st, NULL, &t.request);
    run_transfer(&t, fd, &libs);
    sharedlibs_done(&libs);
    return t.status;
}
