/* restoutput.c - the end of a batch script's output; see restoutput.h */
#include "rest/slurm/restoutput.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "conf/conf.h"
#include "conf/tls/conf_tls.h"
#include "rest/rest_impl.h"
#include "session/nodedial.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "wire/tls/tlsctx.h"

#define SOURCE "job_output()"
#define BYTES_MOST 65536u
#define BYTES_USUAL 16384u
#define NODE_TIMEOUT_MS 25000 /* slurmd's process gives the file system 20 s */

/* bytes=: how much of the end at most.  False: an error was noted. */
static bool read_bytes(struct rest_call *call, uint32_t *ret)
{
    const char *text = rest_query(call, "bytes");
    char *end = NULL;
    unsigned long n = text ? strtoul(text, &end, 10) : BYTES_USUAL;

    if (text && (text[0] < '0' || text[0] > '9' || *end || n < 1 || n > BYTES_MOST)) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, SOURCE, "bytes=%.64s: a number from 1 to %u",
                   text, BYTES_MOST);
        return false;
    }
    *ret = (uint32_t)n;
    return true;
}

static void put_output(struct json *js, const Pst__OutputTail *tail)
{
    uint64_t from = tail->size > tail->data.len ? tail->size - tail->data.len : 0;

    json_map(js, "output");
    json_str(js, "path", tail->path);
    json_int(js, "size", (int64_t)tail->size);
    json_int(js, "from", (int64_t)from);
    json_str_n(js, "text", (const char *)tail->data.data, tail->data.len);
    json_map_end(js);
}

static void ask_node(struct rest_call *call, const Pst__StepReply *granted,
                     const Pst__NodeAddr *addr, uint32_t most)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    Pst__TailOutput req = PST__TAIL_OUTPUT__INIT;
    struct nodedial dial = { .conf = rest_conf(call),
                             .program = "slurmrestd",
                             .cluster = conf_str(rest_conf(call), CONF_CLUSTER_NAME),
                             .timeout_ms = NODE_TIMEOUT_MS };
    struct err err = { .text = "" };
    ProtobufCMessage *reply = NULL;
    struct client *node = NULL;
    int r = conf_use_tls(dial.conf) ? tls_ctx_of_keys(&tls, &err) : 0;

    dial.tls = tls;
    if (r == 0)
        r = nodedial_step(&dial, granted, addr, &node, &err);
    if (r < 0) {
        rest_error(call, EPST_UNREACHABLE, SOURCE, "Node %s cannot be asked: %s", addr->name,
                   err.text);
        return;
    }
    req.credential = (Pst__SignedCredential *)granted->credential;
    req.node_name = addr->name;
    req.has_stream_key = true;
    req.stream_key = client_stream_key(node);
    req.has_most = true;
    req.most = most;
    r = client_call(node, OP_TAIL_OUTPUT, &req.base, &reply);
    if (r < 0)
        rest_error(call, EPST_UNREACHABLE, SOURCE, "Node %s does not tell the output: %s",
                   addr->name, client_strerror(node, r));
    else if (((const Pst__OutputTail *)reply)->trouble)
        rest_error(call, ESLURM_NOT_SUPPORTED, SOURCE, "%s on node %s: %s",
                   ((const Pst__OutputTail *)reply)->path, addr->name,
                   ((const Pst__OutputTail *)reply)->trouble);
    else
        put_output(&call->js, (const Pst__OutputTail *)reply);
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
    client_free(node);
}

static void get_output(struct rest_call *call)
{
    Pst__AccessRequest request = PST__ACCESS_REQUEST__INIT;
    Pst__StepReply *granted = NULL;
    struct client *c;
    uint32_t most;
    int r;

    if (!read_bytes(call, &most) || !(c = rest_ctld(call, SOURCE)))
        return;
    request.id = (char *)(uintptr_t)call->word; /* only read */
    request.has_purpose = true;
    request.purpose = PST__CRED_PURPOSE__CRED_OUTPUT;
    r = client_call(c, OP_ACCESS, &request.base, (ProtobufCMessage **)&granted);
    if (r < 0) {
        rest_failed(call, c, r, SOURCE, "Unable to read the output of JobId=%.64s", call->word);
        return;
    }
    if (granted->n_nodes > 0 && granted->credential) /* where the script runs or ran */
        ask_node(call, granted, granted->nodes[0], most);
    else
        rest_error(call, ESLURM_INVALID_NODE_NAME, SOURCE,
                   "The node of JobId=%.64s is not known any more", call->word);
    pst__step_reply__free_unpacked(granted, NULL);
}

const struct rest_row rest_output_rows[] = {
    { "GET", REST_PENSTOCK, "job/{}/output", 0, get_output, false },
    { 0 },
};
