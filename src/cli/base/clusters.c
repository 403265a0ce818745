/* clusters.c - see clusters.h
 *
 * The cluster of slurm.conf is reached as slurm.conf says, whatever slurmdbd has on record: its
 * entry has no addresses. */
#include "cli/base/clusters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "acctop.pb-c.h"
#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbsafe.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/base/argwords.h"
#include "cli/base/cli.h"
#include "wire/ops.h"

#define WORKING "SLURM_WORKING_CLUSTER"
#define WORKING_MAX 1024  /* bytes of its value */
#define RPC_VERSION 11520 /* of 26.05, as controllers register it */
#define ALL "all"

static void tell_unreachable(const char *list)
{
    cli_error("'%.200s' can't be reached now, or it is an invalid entry for --cluster.  "
              "Use 'sacctmgr list clusters' to see available clusters.",
              list);
}

void clusters_add(struct clusters *cl, const char *name, const char *addrs, uint32_t port)
{
    cl->list = xrealloc_or_die(cl->list, cl->n + 1, sizeof(*cl->list));
    cl->list[cl->n++] = (struct dial_cluster){ .name = xstrdup_or_die(name),
                                               .addrs = xstrdup_or_die(addrs),
                                               .port = (uint16_t)port };
}

static void drop_all(struct clusters *cl)
{
    for (size_t i = 0; i < cl->n; i++) {
        free(cl->list[i].name);
        free(cl->list[i].addrs);
    }
    free(cl->list);
    *cl = (struct clusters){ 0 };
}

/* ---- what slurmdbd knows --------------------------------------------------------------------- */

struct lookup {
    struct clusters *found;
    const char *list, *own;
    char *known;      /* names of all clusters, with commas between */
    bool no_database; /* there is no accounting */
};

static void take_record(struct lookup *l, const Pst__AcctClusterRecord *rec)
{
    const char *addrs =
        rec->control_addrs && *rec->control_addrs ? rec->control_addrs : rec->control_host;
    char *more;

    if (!rec->name)
        return;
    more = xasprintf_or_die("%s,%s", l->known ? l->known : "", rec->name);
    free(l->known);
    l->known = more;
    if (strcasecmp(l->list, ALL) != 0 && !wordlist_has_nocase(l->list, rec->name))
        return;
    if (l->own && strcasecmp(rec->name, l->own) == 0)
        clusters_add(l->found, l->own, NULL, 0);
    else if (addrs && *addrs && rec->control_port && rec->control_port <= UINT16_MAX)
        clusters_add(l->found, rec->name, addrs, rec->control_port);
}

static int on_frame(void *ctx, const struct frame *frame)
{
    Pst__RecordBatch *batch = pst__record_batch__unpack(NULL, frame->len, frame->body);
    int r = batch ? 0 : -EBADMSG;

    for (size_t i = 0; r == 0 && i < batch->n_records; i++) {
        Pst__AcctClusterRecord *rec =
            pst__acct_cluster_record__unpack(NULL, batch->records[i].len, batch->records[i].data);

        if (!rec) {
            r = -EBADMSG;
            break;
        }
        pbsafe_clean(&rec->base);
        take_record(ctx, rec);
        pst__acct_cluster_record__free_unpacked(rec, NULL);
    }
    if (batch)
        pst__record_batch__free_unpacked(batch, NULL);
    return r;
}

static bool ask_database(struct cli *c, struct lookup *l)
{
    Pst__AcctListRequest req = PST__ACCT_LIST_REQUEST__INIT;
    struct client *client = NULL;
    struct err err = { .text = "" };
    int r = cli_connect_any_dbd(c, &client, &err);

    if (r == 0) {
        req.has_entity = 1;
        req.entity = PST__ACCT_ENTITY__ACCT_CLUSTER;
        r = client_stream(client, OP_ACCT_LIST, &req.base, on_frame, l);
        if (r < 0)
            (void)err_set(&err, r, "%s", client_strerror(client, r));
        client_free(client);
    }
    if (r < 0) {
        cli_error("Problem talking to database");
        cli_error("There is a problem talking to the database: %s.  Only local cluster "
                  "communication is available, remove --cluster from your command line or contact "
                  "your admin to resolve the problem.",
                  err.text[0] ? err.text : strerror(-r));
    }
    return r == 0;
}

/* Is every word a cluster of the database that can be asked?  What is not is told. */
static bool check_words(const struct lookup *l)
{
    char **words = NULL;
    size_t n = 0;
    bool good = true;

    argwords_add(&words, &n, l->list);
    for (size_t i = 0; i < n; i++) {
        bool found = false;

        for (size_t k = 0; k < l->found->n && !found; k++)
            found = strcasecmp(l->found->list[k].name, words[i]) == 0;
        if (found)
            continue;
        good = false;
        if (l->no_database)
            continue;
        if (!l->known || !wordlist_has_nocase(l->known, words[i]))
            cli_error("No cluster '%.200s' known by database.", words[i]);
    }
    argwords_free(words, n);
    if ((!good || !l->found->n) && l->no_database)
        cli_error("Problem talking to database");
    if (!good || !l->found->n)
        tell_unreachable(l->list);
    return good && l->found->n;
}

/* Does the list name nothing but the cluster of slurm.conf? */
static bool names_own_alone(const char *list, const char *own)
{
    char **words = NULL;
    size_t n = 0;
    bool alone;

    argwords_add(&words, &n, list);
    alone = own && n > 0;
    for (size_t i = 0; i < n && alone; i++)
        alone = strcasecmp(words[i], own) == 0;
    argwords_free(words, n);
    return alone;
}

bool clusters_find(struct cli *c, const char *list, struct clusters *ret)
{
    const char *own = conf_str(cli_conf(c), CONF_CLUSTER_NAME);
    const char *type = conf_str(cli_conf(c), CONF_ACCOUNTING_STORAGE_TYPE);
    struct lookup l = { .found = ret,
                        .list = list,
                        .own = own,
                        .no_database = type && strcasecmp(type, "accounting_storage/none") == 0 };
    bool good = true;

    *ret = (struct clusters){ 0 };
    if (names_own_alone(list, own) || (!cli_acct_is_dbd(c) && strcasecmp(list, ALL) == 0)) {
        clusters_add(ret, own, NULL, 0);
        return true;
    }
    if (cli_acct_is_dbd(c)) {
        good = ask_database(c, &l);
    } else if (own && wordlist_has_nocase(list, own)) { /* the store knows this cluster alone */
        l.known = xstrdup_or_die(own);
        clusters_add(ret, own, NULL, 0);
    }
    if (good && strcasecmp(list, ALL) != 0)
        good = check_words(&l);
    else if (!good || !ret->n)
        tell_unreachable(list);
    free(l.known);
    if (!good || !ret->n) {
        drop_all(ret);
        return false;
    }
    return true;
}

void clusters_find_or_die(struct cli *c, const char *list, struct clusters *ret)
{
    if (!clusters_find(c, list, ret))
        cli_fatal("Could not get cluster information");
}

void clusters_done(struct cli *c, struct clusters *cl)
{
    c->cluster = NULL;
    drop_all(cl);
}

/* ---- asking them ----------------------------------------------------------------------------- */

void clusters_use(struct cli *c, const struct clusters *cl, size_t i)
{
    c->cluster = cl->list[i].addrs ? &cl->list[i] : NULL;
}

void clusters_begin(struct cli *c, const struct clusters *cl, size_t i, bool heading)
{
    clusters_use(c, cl, i);
    if (heading)
        (void)printf("%sCLUSTER: %s\n", i ? "\n" : "", cl->list[i].name);
}

void clusters_use_one(struct cli *c, const char *list)
{
    struct clusters cl;

    clusters_find_or_die(c, list, &cl);
    if (cl.n > 1)
        cli_fatal("Only one cluster can be used at a time with %s", c->program);
    clusters_use(c, &cl, 0); /* the list is kept until the process ends */
    if (!c->cluster)
        clusters_done(c, &cl);
}

/* ---- the allocation of another cluster ------------------------------------------------------- */

void clusters_use_working(struct cli *c)
{
    const char *value = getenv(WORKING), *own = conf_str(cli_conf(c), CONF_CLUSTER_NAME);
    _cleanup_free_ char *copy = NULL;
    struct clusters cl = { 0 };
    char *save = NULL, *name, *host, *port;
    int64_t number;

    if (!value || !*value || strlen(value) > WORKING_MAX)
        return;
    copy = xstrdup_or_die(value);
    name = strtok_r(copy, ":", &save);
    host = strtok_r(NULL, ":", &save);
    port = strtok_r(NULL, ":", &save);
    if (!name || !host || !port || parse_i64(port, 1, UINT16_MAX, &number) < 0 ||
        (own && strcasecmp(name, own) == 0))
        return;
    clusters_add(&cl, name, host, (uint32_t)number);
    clusters_use(c, &cl, 0); /* kept until the process ends */
}

char *clusters_working_value(const struct cli *c)
{
    const struct dial_cluster *at = c->cluster;

    if (!at)
        return NULL;
    return xasprintf_or_die("%s:%s:%u:%u", at->name, at->addrs, at->port, RPC_VERSION);
}
