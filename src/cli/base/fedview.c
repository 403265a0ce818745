/* fedview.c - see fedview.h */
#include "cli/base/fedview.h"

#include <errno.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbsafe.h"
#include "cli/base/argwords.h"
#include "cli/base/cli.h"
#include "wire/ops.h"

static bool is_wanted(struct cli *c, const struct fedview *view)
{
    if (view->local)
        return false;
    return view->federation || view->sibling ||
           conf_option(cli_conf(c), CONF_FEDERATION_PARAMETERS, "fed_display", NULL, NULL);
}

/* client is freed. */
static bool ask_members(struct client *client, struct clusters *ret)
{
    const Pst__Empty request = PST__EMPTY__INIT;
    ProtobufCMessage *reply = NULL;
    const Pst__FedInfo *info;

    if (client_call(client, OP_QUERY_FEDERATION, &request.base, &reply) == 0) {
        pbsafe_clean(reply);
        info = PB_AS(fed_info, reply);
        for (size_t i = 0; info->name && i < info->n_members; i++) {
            const Pst__FedMember *m = info->members[i];

            if (m->name && (i == 0 || (m->host && *m->host && m->port && m->port <= UINT16_MAX)))
                clusters_add(ret, m->name, i == 0 ? NULL : m->host, m->port);
        }
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    client_free(client);
    return ret->n > 0;
}

bool fedview_find(struct cli *c, const struct fedview *view, struct clusters *ret)
{
    struct client *client = NULL;
    struct err err = { .text = "" };

    *ret = (struct clusters){ 0 };
    if (!is_wanted(c, view) || cli_connect(c, &client, &err) < 0)
        return false; /* what comes next fails in the same way, with its own words */
    return ask_members(client, ret);
}

bool fedview_connect(struct cli *c, const struct clusters *cl, size_t i, struct client **ret_client)
{
    struct err err = { .text = "" };

    clusters_use(c, cl, i);
    if (cli_connect_once(c, ret_client, &err) == 0)
        return true;
    cli_error("cluster %s: %s", cl->list[i].name, err.text);
    return false;
}

void fedview_add_names(struct cli *c, const struct fedview *view, char ***list, size_t *n)
{
    struct clusters cl = { 0 };
    struct client *client = NULL;
    struct err err = { .text = "" };

    if (!is_wanted(c, view))
        return;
    if (cli_connect_once(c, &client, &err) < 0)
        cli_error("the federation is not known, this cluster alone is shown: %s", err.text);
    else if (ask_members(client, &cl))
        for (size_t i = 0; i < cl.n; i++)
            argwords_add(list, n, cl.list[i].name);
    clusters_done(c, &cl);
}
