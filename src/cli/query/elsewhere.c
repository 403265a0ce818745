/* elsewhere.c - jobs of a federation that another cluster has; see elsewhere.h */
#include "cli/query/elsewhere.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base/clusters.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define HOPS_MAX 3 /* sibling, origin, owner */

struct question {
    struct cli *cli;
    unsigned op;
    ProtobufCMessage *request;
    char ***ids; /* of the request */
    size_t *n_ids;
};

/* Of one job; NULL: not answered, which was told. */
static Pst__JobActionReply *ask_cluster(const struct question *q, const char *cluster, char *id)
{
    const struct dial_cluster *before = q->cli->cluster;
    struct clusters there;
    struct client *client = NULL;
    struct err err = { .text = "" };
    ProtobufCMessage *reply = NULL;
    char **ids = *q->ids;
    size_t n_ids = *q->n_ids;
    int r;

    if (!clusters_find(q->cli, cluster, &there))
        return NULL;
    clusters_use(q->cli, &there, 0);
    *q->ids = &id;
    *q->n_ids = 1;
    r = cli_connect(q->cli, &client, &err);
    if (r == 0)
        r = client_call(client, q->op, q->request, &reply);
    if (r < 0)
        cli_error("Cluster %s: %s", cluster, err.text[0] ? err.text : client_strerror(client, r));
    client_free(client);
    *q->ids = ids;
    *q->n_ids = n_ids;
    clusters_done(q->cli, &there);
    q->cli->cluster = before;
    return r < 0 ? NULL : (Pst__JobActionReply *)reply;
}

/* The first result of the answer takes the place of *at. */
static bool replace_result(const struct question *q, Pst__JobActionResult **at)
{
    _cleanup_free_ char *id = xasprintf_or_die("%u", (*at)->job_id);
    bool as_said = (*at)->id && (strchr((*at)->id, '.') || !(*at)->job_id);
    Pst__JobActionReply *reply = ask_cluster(q, (*at)->cluster, as_said ? (*at)->id : id);
    Pst__JobActionResult *old = *at;

    if (!reply || !reply->n_results) {
        if (reply)
            pst__job_action_reply__free_unpacked(reply, NULL);
        return false;
    }
    *at = reply->results[0];
    reply->results[0] = old;
    free((*at)->id);
    (*at)->id = old->id;
    old->id = NULL;
    pst__job_action_reply__free_unpacked(reply, NULL);
    return true;
}

static void ask_others(const struct question *q, Pst__JobActionReply *reply)
{
    for (size_t i = 0; i < reply->n_results; i++)
        for (int hop = 0; hop < HOPS_MAX && reply->results[i]->code == EPST_OTHER_CLUSTER &&
                          reply->results[i]->cluster;
             hop++)
            if (!replace_result(q, &reply->results[i]))
                break;
}

void elsewhere_act(struct cli *c, Pst__JobActionRequest *request, Pst__JobActionReply *reply)
{
    Pst__JobFilter *filter = request->filter;
    struct question q = { c, OP_JOB_ACTION, &request->base, &request->ids, &request->n_ids };

    request->filter = NULL; /* it was met already */
    ask_others(&q, reply);
    request->filter = filter;
}

void elsewhere_update(struct cli *c, Pst__JobUpdateRequest *request, Pst__JobActionReply *reply)
{
    struct question q = { c, OP_JOB_UPDATE, &request->base, &request->ids, &request->n_ids };

    ask_others(&q, reply);
}
