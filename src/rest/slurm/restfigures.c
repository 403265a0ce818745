/* restfigures.c - figures of the controller; see restfigures.h */
#include "rest/slurm/restfigures.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/format/json_diag.h"
#include "cli/format/licenseuse.h"
#include "cli/format/sharetree.h"
#include "conf/conf.h"
#include "rest/restpath.h"
#include "wire/ops.h"

static void get_diag(struct rest_call *call)
{
    static const char source[] = "slurm_get_statistics()";
    Pst__DiagRequest request = PST__DIAG_REQUEST__INIT;
    Pst__DiagReply *reply = NULL;
    struct client *c = rest_ctld(call, source);
    int r;

    if (!c)
        return;
    r = client_call(c, OP_QUERY_DIAG, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "Unable to query statistics");
        return;
    }
    json_diag(&call->js, reply);
    pst__diag_reply__free_unpacked(reply, NULL);
}

static void get_licenses(struct rest_call *call)
{
    static const char source[] = "slurm_load_licenses()";
    _cleanup_val_(licenses_done) struct licenses l = { 0 };
    struct client *c = rest_ctld(call, source);
    int r = c ? licenses_load(c, rest_conf(call), &l) : 0;

    if (!c)
        return;
    if (r < 0) {
        rest_failed(call, c, r, source, "Unable to query licenses");
        return;
    }
    json_list(&call->js, "licenses");
    for (size_t i = 0; i < l.n; i++)
        license_json(&call->js, &l.list[i]);
    json_list_end(&call->js);
    json_time(&call->js, "last_update", l.now_us);
}

/* ---- shares ---------------------------------------------------------------------------------- */

struct showing {
    struct rest_call *call;
    const struct sharetree *tree;
    const char *users, *accounts; /* comma lists; NULL: all */
};

static bool is_shown(void *ctx, const struct share *w)
{
    const struct showing *s = ctx;
    const char *account = w->rec->account ? w->rec->account : "";

    if (s->accounts && !restpath_in_list(s->accounts, account))
        return false;
    return !w->rec->user || !s->users || restpath_in_list(s->users, w->rec->user);
}

static void put_share(void *ctx, const struct share *w, unsigned depth)
{
    const struct showing *s = ctx;

    (void)depth;
    share_json(&s->call->js, s->tree, w, conf_str(rest_conf(s->call), CONF_CLUSTER_NAME));
}

static void get_shares(struct rest_call *call)
{
    static const char source[] = "slurm_associations_get_shares()";
    _cleanup_val_(sharetree_done) struct sharetree tree = { 0 };
    struct showing s = { call, &tree, rest_query(call, "users"), rest_query(call, "accounts") };
    struct client *c = rest_ctld(call, source);
    int r = c ? sharetree_load(c, true, &tree) : 0;

    if (!c)
        return;
    if (r < 0) {
        rest_failed(call, c, r, source, "Unable to query shares");
        return;
    }
    json_map(&call->js, "shares");
    json_list(&call->js, "shares");
    sharetree_walk(&tree, is_shown, put_share, &s);
    json_list_end(&call->js);
    json_int(&call->js, "total_shares", (int64_t)tree.n);
    json_map_end(&call->js);
}

const struct rest_row rest_figure_rows[] = {
    { "GET", REST_SLURM, "diag", 0, get_diag, false },
    { "GET", REST_SLURM, "licenses", 0, get_licenses, false },
    { "GET", REST_SLURM, "shares", 0, get_shares, false },
    { 0 },
};
