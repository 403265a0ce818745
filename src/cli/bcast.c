/* bcast.c - see bcast.h */
#include "cli/bcast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/lz4.h"
#include "wire/ops.h"

#define WINDOW 2u /* blocks on the way to a node */

struct target {
    const char *name;
    struct client *client; /* NULL: it failed */
    uint32_t waiting;      /* blocks not answered yet */
};

struct transfer {
    const struct bcast *b;
    struct target *nodes;
    size_t n;
    uint8_t *packed; /* room for a block; NULL: not compressed */
    int status;
};

Pst__StepReply *bcast_access(struct cli *cli, const char *id)
{
    Pst__AccessRequest req = PST__ACCESS_REQUEST__INIT;
    ProtobufCMessage *msg = NULL;
    struct err err = { .text = "" };

    req.id = (char *)id;
    req.has_purpose = true;
    req.purpose = PST__CRED_PURPOSE__CRED_BCAST;
    if (cli_call(cli, OP_ACCESS, &req.base, &msg, NULL, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "JobId=%s: %s", id, err.text);
    return (Pst__StepReply *)msg;
}

int bcast_compression(const char *word, bool *ret_lz4)
{
    if (word && strcasecmp(word, "lz4") != 0 && strcasecmp(word, "none") != 0)
        return -EINVAL;
    *ret_lz4 = !word || strcasecmp(word, "lz4") == 0;
    return 0;
}

void bcast_defaults(struct bcast *b)
{
    const char *word;
    size_t len;

    if (conf_option(cli_conf(b->cli), CONF_BCAST_PARAMETERS, "Compression", &word, &len))
        b->lz4 = len == 3 && strncasecmp(word, "lz4", len) == 0;
}

static void failed(struct transfer *t, struct target *n, int r)
{
    const char *text = NULL;
    int code = r == -EREMOTEIO ? client_error(n->client, &text) : 0;

    cli_error("REQUEST_FILE_BCAST(%s): %s", n->name, text ? text : client_strerror(n->client, r));
    t->status = MAX(t->status, code > 0 && code < 256 ? code : CLI_EXIT_FAILED);
    n->client = client_free(n->client);
}

static char *target_path(const struct bcast *b, const char *node)
{
    return b->node_suffix ? xasprintf_or_die("%s_%s", b->target, node) : xstrdup_or_die(b->target);
}

static void open_on(struct transfer *t, struct target *n, const Pst__NodeAddr *addr,
                    const struct stat *st)
{
    const struct bcast *b = t->b;
    const struct conf *conf = cli_conf(b->cli);
    Pst__BcastOpen req = PST__BCAST_OPEN__INIT;
    struct err err = { .text = "" };
    struct client_target target = {
        .host = addr->addr ? addr->addr : addr->name,
        .port = (uint16_t)addr->port,
        .cluster = conf_str(conf, CONF_CLUSTER_NAME),
        .timeout_ms =
            b->timeout_ms ? b->timeout_ms : (int)conf_num(conf, CONF_MESSAGE_TIMEOUT) * 1000,
        .program = b->cli->program,
        .no_auth = true,
    };
    int r;

    n->name = addr->name;
    if (client_connect(&target, conf_slurm_uid(conf), &n->client, &err) < 0) {
        cli_error("REQUEST_FILE_BCAST(%s): %s", n->name, err.text);
        t->status = MAX(t->status, CLI_EXIT_FAILED);
        return;
    }
    req.credential = b->access->credential;
    req.node_name = addr->name;
    req.path = target_path(b, addr->name);
    req.has_mode = req.has_force = req.has_preserve = true;
    req.mode = st->st_mode & 07777;
    req.force = b->force;
    req.preserve = b->preserve;
    req.has_atime_us = req.has_mtime_us = true;
    req.atime_us = st->st_atim.tv_sec * USEC_PER_SEC + st->st_atim.tv_nsec / 1000;
    req.has_lz4 = req.lz4 = b->lz4;
    req.mtime_us = st->st_mtim.tv_sec * USEC_PER_SEC + st->st_mtim.tv_nsec / 1000;
    r = client_call(n->client, OP_BCAST_OPEN, &req.base, NULL);
    free(req.path);
    if (r < 0)
        failed(t, n, r);
}

/* Until at most `most` blocks wait for the node's answer. */
static void settle(struct transfer *t, struct target *n, uint32_t most)
{
    int timeout_ms = t->b->timeout_ms ? t->b->timeout_ms : -1;

    while (n->client && n->waiting > most) {
        struct frame f;
        int r = client_recv(n->client, timeout_ms, &f);

        if (r == 0)
            r = -ETIMEDOUT;
        if (r > 0 && f.flags & FRAME_ERROR) {
            ProtobufCMessage *msg = NULL;
            const Pst__Error *e;

            if (frame_unpack(&f, &msg, NULL) == 0) {
                e = (const Pst__Error *)msg;
                cli_error("REQUEST_FILE_BCAST(%s): %s", n->name, e->text ? e->text : "failed");
                t->status =
                    MAX(t->status, e->code > 0 && e->code < 256 ? e->code : CLI_EXIT_FAILED);
                protobuf_c_message_free_unpacked(msg, NULL);
            }
            n->client = client_free(n->client);
        } else if (r > 0) {
            n->waiting -= f.op == OP_BCAST_BLOCK;
        } else {
            failed(t, n, r);
        }
    }
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
    for (size_t i = 0; i < t->n; i++) {
        struct target *n = &t->nodes[i];
        int r;

        settle(t, n, WINDOW - 1);
        if (!n->client)
            continue;
        r = client_send(n->client, OP_BCAST_BLOCK, 0, client_next_id(n->client), &block.base);
        n->waiting++;
        if (r < 0)
            failed(t, n, r);
    }
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

static void send_file(struct transfer *t, int fd)
{
    size_t size = t->b->block_size ? t->b->block_size : BCAST_BLOCK_MAX;
    _cleanup_free_ uint8_t *buf = xmalloc_or_die(size);
    _cleanup_free_ uint8_t *packed = t->b->lz4 ? xmalloc_or_die(size) : NULL;
    ssize_t n = (ssize_t)size;

    t->packed = packed;
    while (n == (ssize_t)size) {
        n = read_block(fd, buf, size);
        if (n < 0) { /* the nodes see the connection end and remove what they have */
            cli_error("Can't read `%s`: %s", t->b->source, strerror((int)-n));
            t->status = MAX(t->status, CLI_EXIT_FAILED);
            return;
        }
        send_block(t, buf, (size_t)n, n < (ssize_t)size);
    }
    for (size_t i = 0; i < t->n; i++)
        settle(t, &t->nodes[i], 0);
}

int bcast_send(const struct bcast *b)
{
    struct transfer t = { .b = b, .n = b->access->n_nodes };
    _cleanup_close_ int fd = open(b->source, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool any = false;

    if (fd < 0 || fstat(fd, &st) < 0) {
        cli_error("Can't open `%s`: %s", b->source, strerror(errno));
        return CLI_EXIT_USAGE;
    }
    if (b->lz4 && lz4_available() < 0) {
        cli_error("files cannot be compressed here: liblz4 is not installed");
        return CLI_EXIT_FAILED;
    }
    if (!S_ISREG(st.st_mode)) {
        cli_error("Can't open `%s`: not a regular file", b->source);
        return CLI_EXIT_USAGE;
    }
    t.nodes = xmalloc_or_die((t.n + 1) * sizeof(*t.nodes));
    for (size_t i = 0; i < t.n; i++) {
        open_on(&t, &t.nodes[i], b->access->nodes[i], &st);
        any = any || t.nodes[i].client;
    }
    if (any)
        send_file(&t, fd);
    for (size_t i = 0; i < t.n; i++)
        client_free(t.nodes[i].client);
    free(t.nodes);
    return t.status;
}
