/* sreport_ask.c - usage from the accounting store, and which TRES of it are wanted */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbsafe.h"
#include "cli/sreport/sreport.h"
#include "wire/ops.h"

/* A name that can be a TRES: one of those that every cluster has, or one with a type. */
static bool names_tres(const char *name, size_t len)
{
    static const char *const always[] = { "all",  "cpu",     "mem",  "energy",
                                          "node", "billing", "vmem", "pages" };
    static const char *const types[] = { "fs/", "gres/", "license/", "bb/", "ic/" };

    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        if (strlen(always[i]) == len && strncasecmp(name, always[i], len) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (len > strlen(types[i]) && strncasecmp(name, types[i], strlen(types[i])) == 0)
            return true;
    return false;
}

void sreport_check_tres(const struct sreport *s)
{
    const char *list = s->tres;

    if (!list || !*list)
        return;
    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (names_tres(list, len))
            return;
    }
    cli_fatal("No valid TRES given");
}

static void set_missing(char **text)
{
    if (!*text)
        *text = xstrdup_or_die("");
}

void sreport_fill(Pst__UsageReply *reply)
{
    for (size_t i = 0; i < reply->n_clusters; i++) {
        set_missing(&reply->clusters[i]->cluster);
        set_missing(&reply->clusters[i]->tres);
    }
    for (size_t i = 0; i < reply->n_who; i++) {
        Pst__UsageWho *who = reply->who[i];
        char **texts[] = { &who->cluster, &who->account, &who->user, &who->wckey, &who->qos };

        for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
            set_missing(texts[k]);
        for (size_t k = 0; k < who->n_tres; k++)
            set_missing(&who->tres[k]->name);
    }
    for (size_t i = 0; i < reply->n_sizes; i++) {
        set_missing(&reply->sizes[i]->cluster);
        set_missing(&reply->sizes[i]->account);
        set_missing(&reply->sizes[i]->wckey);
    }
    for (size_t i = 0; i < reply->n_parents; i++) {
        set_missing(&reply->parents[i]->cluster);
        set_missing(&reply->parents[i]->account);
        set_missing(&reply->parents[i]->parent);
    }
}

Pst__UsageReply *sreport_ask(struct sreport *s, const struct cond *c, Pst__UsageKind kind)
{
    Pst__UsageRequest request = c->request;
    Pst__UsageReply *reply = NULL;
    int r;

    if (!s->client)
        s->client = cli_connect_acct_or_die(&s->cli);
    sreport_check_tres(s);
    request.has_kind = true;
    request.kind = kind;
    r = client_call(s->client, OP_USAGE, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "Problem with get: %s", client_strerror(s->client, r));
    pbsafe_clean(&reply->base);
    sreport_fill(reply);
    return reply;
}

bool sreport_wants(const struct sreport *s, const char *tres)
{
    const char *list = s->tres ? s->tres : "cpu";

    if (!tres)
        return false;
    if (strcasecmp(list, "all") == 0)
        return true;
    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (strlen(tres) == len && strncasecmp(list, tres, len) == 0)
            return true;
    }
    return false;
}
