/* fanout.c - see fanout.h */
#include "wire/fanout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "wire/errors.h"

struct piece { /* nodes [at, end) of the request, and the link to them */
    size_t at, end;
    struct fan_link *link;
    int r; /* of what was begun with the first of them */
    struct err err;
};

static struct client_target target_of(const struct fanout *f, const Pst__RelayNode *n)
{
    struct client_target target = {
        .host = n->addr ? n->addr : n->name,
        .port = (uint16_t)n->port,
        .cluster = f->open->cluster,
        .timeout_ms = (int)f->open->timeout_ms,
        .program = f->program,
        .service = "slurmd",
        .name = n->name,
        .credential = f->open->bcast ? f->open->bcast->credential : f->open->launch->credential,
        .tls = f->tls,
    };

    client_set_launch(&target, &f->open->launch_key, &n->launch_key);
    return target;
}

static const Pst__RelayNode *node_at(const struct fanout *f, size_t i)
{
    return f->open->nodes[i];
}

static int send_relay(const struct fanout *f, struct client *c, size_t at, size_t end)
{
    Pst__RelayOpen open = *f->open;

    open.nodes = f->open->nodes + at;
    open.n_nodes = end - at;
    open.stream_key = client_stream_key(c);
    open.has_stream_key = open.stream_key.len > 0;
    return client_send(c, OP_RELAY, 0, client_next_id(c), &open.base);
}

static int send_launch(Pst__LaunchStep *launch, struct client *c, const Pst__RelayNode *n)
{
    char *program = launch->n_argv ? launch->argv[0] : NULL;
    ProtobufCBinaryData own = launch->stream_key; /* none */
    int r;

    launch->stream_key = client_stream_key(c);
    launch->has_stream_key = launch->stream_key.len > 0;
    launch->has_node_index = true;
    launch->node_index = n->node_index;
    launch->task_ids = n->task_ids;
    launch->n_task_ids = n->n_task_ids;
    if (program && n->program)
        launch->argv[0] = n->program;
    r = client_send(c, OP_LAUNCH_STEP, 0, client_next_id(c), &launch->base);
    if (program)
        launch->argv[0] = program;
    launch->stream_key = own; /* that of the connection is not the message's to free */
    launch->has_stream_key = own.len > 0;
    launch->has_node_index = false;
    launch->task_ids = NULL;
    launch->n_task_ids = 0;
    return r;
}

static int send_bcast(Pst__BcastOpen *bcast, struct client *c)
{
    ProtobufCBinaryData own = bcast->stream_key; /* none */
    int r;

    bcast->stream_key = client_stream_key(c);
    bcast->has_stream_key = bcast->stream_key.len > 0;
    r = client_send(c, OP_BCAST_OPEN, 0, client_next_id(c), &bcast->base);
    bcast->stream_key = own;
    bcast->has_stream_key = own.len > 0;
    return r;
}

/* The request to one node: what is asked of that node, or to be a relay for nodes [at, end). */
static int send_request(const struct fanout *f, struct client *c, size_t at, size_t end, bool relay)
{
    const Pst__RelayNode *n = node_at(f, at);
    Pst__BcastOpen *bcast = f->open->bcast;
    char **name = bcast ? &bcast->node_name : &f->open->launch->node_name;
    char *own = *name; /* a relay's request names the relay */
    int r;

    *name = n->name;
    if (relay)
        r = send_relay(f, c, at, end);
    else if (bcast)
        r = send_bcast(bcast, c);
    else
        r = send_launch(f->open->launch, c, n);
    *name = own;
    return r;
}

/* The connection to the first node of the piece, which was begun beside the others. */
static int begin_piece(struct piece *p, const struct client_target *target, struct err *err)
{
    if (p->r == 0)
        return client_connect_end(target, p->link->client, err);
    *err = p->err;
    return p->r;
}

/* The sentence for a server that cannot be reached names the controller; this is a node. */
static const char *node_why(const struct err *err)
{
    return strcmp(err->text, slurm_err_text(EPST_UNREACHABLE)) == 0
               ? slurm_err_text(SLURM_COMMUNICATIONS_CONNECTION_ERROR)
               : err->text;
}

/* Finish what was begun, and where that fails begin anew with the next node of the piece. */
static void finish_piece(struct fanout *f, struct piece *p)
{
    while (p->at < p->end) {
        const Pst__RelayNode *head = node_at(f, p->at);
        struct client_target target = target_of(f, head);
        struct fan_link *l = p->link;
        struct err err = { .text = "" };
        int r = l->client ? begin_piece(p, &target, &err)
                          : client_connect(&target, 0, &l->client, &err);

        if (r == 0) {
            l->lo = head->number;
            l->relay = p->end - p->at > 1;
            if (!l->relay && f->launching)
                f->launching(f->ctx, head);
            r = send_request(f, l->client, p->at, p->end, l->relay);
            if (r == 0)
                return;
            (void)err_set(&err, r, "%s", client_strerror(l->client, r)); /* told below */
        }
        l->client = client_free(l->client);
        f->lost(f->ctx, head->number, head->number, node_why(&err));
        p->at++;
    }
}

int fanout_open(struct fanout *f)
{
    size_t n = f->open->n_nodes, width = MAX(f->open->width, FANOUT_WIDTH_MIN),
           pieces = MIN(n, width);
    _cleanup_free_ struct piece *p = calloc(pieces + 1, sizeof(*p));

    f->links = calloc(pieces + 1, sizeof(*f->links));
    if (!p || !f->links)
        return -ENOMEM;
    f->n_links = pieces;
    for (size_t i = 0; i < pieces; i++) {
        p[i] = (struct piece){ .at = n * i / pieces,
                               .end = n * (i + 1) / pieces,
                               .link = &f->links[i] };
        struct client_target target = target_of(f, node_at(f, p[i].at));

        f->links[i].lo = node_at(f, p[i].at)->number;
        f->links[i].hi = node_at(f, p[i].end - 1)->number;
        if (client_connect_begin(&target, &f->links[i].client) < 0)
            f->links[i].client = NULL; /* the blocking way tells why */
    }
    for (size_t i = 0; i < pieces; i++) {
        struct client_target target = target_of(f, node_at(f, p[i].at));

        if (f->links[i].client)
            p[i].r = client_connect_greet(&target, f->links[i].client, &p[i].err);
    }
    for (size_t i = 0; i < pieces; i++)
        finish_piece(f, &p[i]);
    return 0;
}

void fanout_done(struct fanout *f)
{
    for (size_t i = 0; i < f->n_links; i++)
        f->links[i].client = client_free(f->links[i].client);
    free(f->links);
    f->links = NULL;
    f->n_links = 0;
}

struct fan_link *fanout_find(const struct fanout *f, uint32_t number)
{
    size_t lo = 0, hi = f->n_links;

    while (lo < hi) { /* dead links keep their numbers */
        size_t mid = (lo + hi) / 2;

        if (f->links[mid].hi < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->n_links && f->links[lo].client && f->links[lo].lo <= number ? &f->links[lo]
                                                                               : NULL;
}

int fanout_send(struct fan_link *link, uint32_t lo, uint32_t hi, unsigned op,
                const ProtobufCMessage *msg)
{
    Pst__RelayFrame frame = PST__RELAY_FRAME__INIT;
    _cleanup_free_ uint8_t *body = NULL;

    if (!link->relay)
        return client_send_nonblock(link->client, op, FRAME_ONEWAY, client_next_id(link->client),
                                    msg);
    frame.body.len = protobuf_c_message_get_packed_size(msg);
    body = malloc(frame.body.len + 1);
    if (!body)
        return -ENOMEM;
    (void)protobuf_c_message_pack(msg, body);
    frame.has_lo = frame.has_hi = frame.has_op = frame.has_body = true;
    frame.lo = lo;
    frame.hi = hi;
    frame.op = op;
    frame.body.data = body;
    return client_send_nonblock(link->client, OP_RELAY_FRAME, FRAME_ONEWAY,
                                client_next_id(link->client), &frame.base);
}
