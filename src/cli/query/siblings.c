/* siblings.c - take a job of a federation away from one of its clusters; see siblings.h
 *
 * Which clusters may run a job is a field of the job (`clusters`) that its owner may change: the
 * origin's next version of the job revokes the copy of the cluster that is not among them. */
#include "cli/query/siblings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "cli/query/elsewhere.h"
#include "cli/query/out_query.h"
#include "wire/errors.h"
#include "wire/ops.h"

char *siblings_without(const char *list, const char *cluster)
{
    _cleanup_val_(strbuf_done) struct strbuf rest = STRBUF_INIT;

    if (!list || !wordlist_has_nocase(list, cluster))
        return NULL;
    for (const char *p = list; *p;) {
        size_t len = strcspn(p, ",");

        if (len != strlen(cluster) || strncasecmp(p, cluster, len) != 0)
            strbuf_addf(&rest, "%s%.*s", rest.len ? "," : "", (int)len, p);
        p += len + (p[len] == ',');
    }
    return xstrdup_or_die(strbuf_str(&rest));
}

struct lookup {
    bool found;
    char *viable;
};

static int on_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct lookup *l = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    (void)info;
    l->found = true;
    if (!l->viable && j->fed_siblings_viable)
        l->viable = xstrdup_or_die(j->fed_siblings_viable);
    return 0;
}

/* Which clusters may run the job.  A code of an error, or what the controller says. */
static int find_viable(struct client *client, uint32_t job_id, char **ret, struct err *err)
{
    struct lookup l = { .found = false };
    int r = query_job(client, job_id, "job_id fed_siblings_viable", on_record, &l);

    if (r < 0)
        (void)err_set(err, r, "%s", client_strerror(client, r));
    *ret = l.viable;
    return r < 0      ? SLURM_ERROR
           : !l.found ? ESLURM_INVALID_JOB_ID
           : l.viable ? 0
                      : ESLURM_JOB_NOT_FEDERATED;
}

static int set_clusters(struct cli *c, struct client *client, uint32_t job_id, char *clusters,
                        struct err *err)
{
    Pst__JobUpdateRequest request = PST__JOB_UPDATE_REQUEST__INIT;
    Pst__JobRecord wanted = PST__JOB_RECORD__INIT;
    Pst__JobActionReply *reply = NULL;
    _cleanup_free_ char *id = xasprintf_or_die("%u", job_id);
    char *ids[] = { id };
    int r, code = SLURM_ERROR;

    wanted.clusters = clusters;
    request.ids = ids;
    request.n_ids = 1;
    request.set = &wanted;
    r = client_call(client, OP_JOB_UPDATE, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        (void)err_set(err, r, "%s", client_strerror(client, r));
        return code;
    }
    elsewhere_update(c, &request, reply);
    if (reply->n_results) {
        code = reply->results[0]->code;
        if (code && reply->results[0]->text)
            (void)err_set(err, -EREMOTEIO, "%s", reply->results[0]->text);
    }
    pst__job_action_reply__free_unpacked(reply, NULL);
    return code;
}

int siblings_leave(struct cli *c, struct client *client, uint32_t job_id, const char *cluster,
                   struct err *err)
{
    _cleanup_free_ char *viable = NULL, *rest = NULL;
    int code = find_viable(client, job_id, &viable, err);

    if (code)
        return code;
    rest = siblings_without(viable, cluster);
    if (!rest)
        return ESLURM_INVALID_CLUSTER_NAME;
    if (!*rest) {
        (void)err_set(err, -EINVAL, "no other cluster than %s may run the job: cancel the job",
                      cluster);
        return ESLURM_INVALID_CLUSTER_NAME;
    }
    return set_clusters(c, client, job_id, rest, err);
}
