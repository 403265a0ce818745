/* sreport_who.c - reports by account, user, QOS and wckey; see sreport.h.
 *
 * The store answers with one record for each account, user, wckey and QOS that used something.  A
 * report adds up those that its columns do not tell apart; accounts contain what is below them. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "cli/sreport/sreport.h"

#define TRES_MAX 64u
#define DEPTH_MAX 64u

enum { F_CLUSTER, F_ACCOUNT, F_LOGIN, F_PROPER, F_QOS, F_WCKEY, F_TRES, F_USED, F_ENERGY };

struct row {
    const char *cluster, *account, *user, *qos, *wckey; /* "" where they do not tell rows apart */
    uint32_t uid;
    bool has_user;
    unsigned depth;
    uint64_t used[TRES_MAX];
};

struct list {
    struct sreport *s;
    const struct cond *c;
    const Pst__UsageReply *reply;
    const char *tres[TRES_MAX];
    size_t ntres;
    struct row *rows;
    size_t n, cap;
    /* the row and TRES being printed */
    const struct row *row;
    size_t tres_at;
    uint64_t whole;
    size_t sort_tres; /* by_use(): index of the TRES that orders */
};

/* ---- collecting ------------------------------------------------------------------------------ */

static size_t tres_of(struct list *l, const char *name)
{
    size_t i = 0;

    while (i < l->ntres && strcmp(l->tres[i], name) != 0)
        i++;
    if (i == l->ntres && i < TRES_MAX)
        l->tres[l->ntres++] = name;
    return i;
}

static bool same_text(const struct row *a, const struct row *b)
{
    return a->has_user == b->has_user && a->uid == b->uid && strcmp(a->cluster, b->cluster) == 0 &&
           strcmp(a->account, b->account) == 0 && strcmp(a->user, b->user) == 0 &&
           strcmp(a->qos, b->qos) == 0 && strcmp(a->wckey, b->wckey) == 0;
}

static void add_line(struct list *l, const struct row *like, const Pst__UsageWho *who)
{
    struct row *row = NULL;

    for (size_t i = l->n; i > 0 && !row; i--) /* those of one kind come together */
        if (same_text(&l->rows[i - 1], like))
            row = &l->rows[i - 1];
    if (!row) {
        if (l->n == l->cap) {
            l->cap = l->cap ? l->cap * 2 : 256;
            l->rows = xrealloc_or_die(l->rows, l->cap, sizeof(*l->rows));
        }
        row = &l->rows[l->n++];
        *row = *like;
    }
    for (size_t i = 0; i < who->n_tres; i++) {
        size_t t = tres_of(l, who->tres[i]->name);

        if (t < TRES_MAX)
            row->used[t] += who->tres[i]->alloc_s;
    }
}

static const char *account_of(const Pst__UsageWho *who)
{
    return who->account[0] ? who->account : "root";
}

/* The account above; NULL: it is the root. */
static const char *parent_of(const struct list *l, const char *cluster, const char *account)
{
    for (size_t i = 0; i < l->reply->n_parents; i++)
        if (strcmp(l->reply->parents[i]->account, account) == 0 &&
            strcmp(l->reply->parents[i]->cluster, cluster) == 0)
            return l->reply->parents[i]->parent;
    return strcmp(account, "root") == 0 ? NULL : "root";
}

static unsigned depth_of(const struct list *l, const char *cluster, const char *account)
{
    unsigned depth = 0;

    while (depth < DEPTH_MAX && (account = parent_of(l, cluster, account)))
        depth++;
    return depth;
}

/* A row without a user: what an account's reservation left unused. */
static bool is_of_account(const Pst__UsageWho *who)
{
    return !who->user[0] && who->uid == UINT32_MAX;
}

/* Rows of the account and of all above it, and one of the user (or QOS) in it. */
static void add_to_accounts(struct list *l, const Pst__UsageWho *who, bool by_qos)
{
    struct row row = {
        .cluster = who->cluster, .account = account_of(who), .user = "", .qos = "", .wckey = ""
    };
    unsigned depth = depth_of(l, who->cluster, row.account);

    for (const char *account = row.account; account;
         account = parent_of(l, who->cluster, account)) {
        row.account = account;
        row.depth = depth;
        if (!by_qos)
            add_line(l, &row, who);
        if (depth == 0)
            break;
        depth--;
    }
    if (is_of_account(who) && !by_qos)
        return;
    row.account = account_of(who);
    row.depth = depth_of(l, who->cluster, row.account);
    if (by_qos) {
        row.qos = who->qos[0] ? who->qos : "normal";
    } else {
        row.has_user = true;
        row.uid = who->uid;
        row.user = who->user;
        row.depth++;
    }
    add_line(l, &row, who);
}

static void collect_lines(struct list *l, enum who_report which)
{
    for (size_t i = 0; i < l->reply->n_who; i++) {
        const Pst__UsageWho *who = l->reply->who[i];
        struct row row = {
            .cluster = who->cluster, .account = "", .user = "", .qos = "", .wckey = ""
        };

        if (which == BY_ACCOUNT_USER || which == BY_ACCOUNT_QOS) {
            add_to_accounts(l, who, which == BY_ACCOUNT_QOS);
            continue;
        }
        if (is_of_account(who))
            continue;
        row.has_user = true;
        row.uid = who->uid;
        row.user = who->user;
        if (which == BY_USER_WCKEY || which == BY_WCKEY_USER)
            row.wckey = who->wckey[0] ? who->wckey : "*";
        else if (which == BY_USER_ACCOUNT || !l->c->group)
            row.account = account_of(who);
        add_line(l, &row, who);
        if (which == BY_WCKEY_USER) { /* a wckey's own row */
            row.has_user = false;
            row.uid = 0;
            row.user = "";
            add_line(l, &row, who);
        }
    }
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Names from the root down to the account, for comparing as a tree. */
static size_t path_of(const struct list *l, const struct row *row, const char **path)
{
    const char *account = row->account;
    size_t n = 0;

    for (const char *a = account; a && n < DEPTH_MAX; a = parent_of(l, row->cluster, a))
        path[n++] = a;
    for (size_t i = 0; i < n / 2; i++) {
        const char *swap = path[i];

        path[i] = path[n - 1 - i];
        path[n - 1 - i] = swap;
    }
    return n;
}

static int by_tree(const void *a, const void *b, void *ctx)
{
    const struct row *x = a, *y = b;
    const char *px[DEPTH_MAX], *py[DEPTH_MAX];
    size_t nx = path_of(ctx, x, px), ny = path_of(ctx, y, py);
    int r = strcmp(x->cluster, y->cluster);

    for (size_t i = 0; r == 0 && i < MIN(nx, ny); i++)
        r = strcmp(px[i], py[i]);
    if (r == 0 && nx != ny) /* an account's users come before the accounts below it */
        r = nx < ny ? -1 : 1;
    if (r == 0)
        r = (int)x->has_user - (int)y->has_user;
    if (r == 0)
        r = strcmp(x->user, y->user);
    return r ? r : strcmp(x->qos, y->qos);
}

/* The cluster's heaviest first; one user's rows by account. */
static int by_use(const void *a, const void *b, void *ctx)
{
    const struct row *x = a, *y = b;
    size_t tres = ((const struct list *)ctx)->sort_tres;
    int r = strcmp(x->cluster, y->cluster);

    if (r == 0 && x->used[tres] != y->used[tres])
        r = x->used[tres] > y->used[tres] ? -1 : 1;
    if (r == 0)
        r = strcmp(x->user, y->user);
    return r ? r : strcmp(x->account, y->account);
}

static int by_wckey(const void *a, const void *b, void *ctx)
{
    const struct row *x = a, *y = b;
    int r = strcmp(x->cluster, y->cluster);

    (void)ctx;
    if (r == 0)
        r = strcmp(x->wckey, y->wckey);
    if (r == 0)
        r = (int)x->has_user - (int)y->has_user;
    return r ? r : strcmp(x->user, y->user);
}

/* ---- printing -------------------------------------------------------------------------------- */

static uint64_t used_of(const struct list *l, const char *tres)
{
    for (size_t i = 0; i < l->ntres; i++)
        if (strcmp(l->tres[i], tres) == 0)
            return l->row->used[i];
    return 0;
}

/* Accounts of a user whose rows are put together. */
static void put_accounts(const struct list *l, char *buf, size_t size)
{
    size_t len = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < l->reply->n_who && len < size; i++) {
        const Pst__UsageWho *who = l->reply->who[i];

        if (who->uid != l->row->uid || strcmp(who->cluster, l->row->cluster) != 0 ||
            wordlist_has(buf, account_of(who)))
            continue;
        len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? "," : "", account_of(who));
    }
}

static void put_user(const struct row *row, bool proper, char *buf, size_t size)
{
    struct passwd *pw;

    if (!row->has_user)
        return;
    pw = proper || !row->user[0] ? getpwuid(row->uid) : NULL;
    if (proper)
        (void)snprintf(buf, size, "%.*s", pw && pw->pw_gecos ? (int)strcspn(pw->pw_gecos, ",") : 0,
                       pw && pw->pw_gecos ? pw->pw_gecos : "");
    else if (row->user[0] || pw)
        (void)snprintf(buf, size, "%s", row->user[0] ? row->user : pw->pw_name);
    else
        (void)snprintf(buf, size, "%u", row->uid);
}

static void put_column(void *ctx, int id, char *buf, size_t size)
{
    const struct list *l = ctx;
    const struct row *row = l->row;

    switch (id) {
    case F_CLUSTER:
        (void)snprintf(buf, size, "%s", row->cluster);
        break;
    case F_ACCOUNT:
        if (!row->account[0])
            put_accounts(l, buf, size);
        else if (l->c->tree && l->s->parsable)
            (void)snprintf(buf, size, "%*s%s", (int)(row->depth - row->has_user), "", row->account);
        else
            (void)snprintf(buf, size, "%*s%s", l->c->tree ? (int)row->depth : 0, "", row->account);
        break;
    case F_LOGIN:
    case F_PROPER:
        put_user(row, id == F_PROPER, buf, size);
        break;
    case F_QOS:
        (void)snprintf(buf, size, "%s", row->qos);
        break;
    case F_WCKEY:
        (void)snprintf(buf, size, "%s", row->wckey);
        break;
    case F_TRES:
        (void)snprintf(buf, size, "%s", l->tres[l->tres_at]);
        break;
    case F_USED:
        table_time(l->s, l->tres_at < l->ntres ? row->used[l->tres_at] : 0, l->whole, buf, size);
        break;
    case F_ENERGY:
        (void)snprintf(buf, size, "%llu", (unsigned long long)used_of(l, "energy"));
        break;
    }
}

/* What the cluster had of a TRES, for shares of it. */
static uint64_t whole_of(const Pst__UsageReply *clusters, const char *cluster, const char *tres)
{
    for (size_t i = 0; clusters && i < clusters->n_clusters; i++)
        if (strcmp(clusters->clusters[i]->cluster, cluster) == 0 &&
            strcmp(clusters->clusters[i]->tres, tres) == 0)
            return clusters->clusters[i]->total_s;
    return 0;
}

static void print_rows(struct list *l, const struct table *t, const Pst__UsageReply *clusters,
                       uint32_t max)
{
    const char *cluster = "";
    uint32_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        l->row = &l->rows[i];
        n = strcmp(cluster, l->row->cluster) == 0 ? n + 1 : 1;
        cluster = l->row->cluster;
        if (n > max)
            continue;
        for (l->tres_at = 0; l->tres_at < l->ntres; l->tres_at++) {
            if (!sreport_wants(l->s, l->tres[l->tres_at]))
                continue;
            l->whole = whole_of(clusters, cluster, l->tres[l->tres_at]);
            table_row(t, put_column, l);
        }
    }
}

static const char *columns_of(enum who_report which, bool tres)
{
    static const char *const plain[] = {
        [BY_ACCOUNT_USER] = "Cluster,Account,Login,Proper,Used,Energy",
        [BY_ACCOUNT_QOS] = "Cluster,Account,QOS,Used,Energy",
        [BY_USER_ACCOUNT] = "Cluster,Login,Proper,Account,Used,Energy",
        [BY_USER_WCKEY] = "Cluster,Login,Proper,Wckey,Used",
        [BY_WCKEY_USER] = "Cluster,Wckey,Login,Proper,Used",
        [TOP_USERS] = "Cluster,Login,Proper,Account,Used,Energy",
    };
    static const char *const named[] = {
        [BY_ACCOUNT_USER] = "Cluster,Account,Login,Proper,TresName,Used",
        [BY_ACCOUNT_QOS] = "Cluster,Account,QOS,TresName,Used",
        [BY_USER_ACCOUNT] = "Cluster,Login,Proper,Account,TresName,Used",
        [BY_USER_WCKEY] = "Cluster,Login,Proper,Wckey,TresName,Used",
        [BY_WCKEY_USER] = "Cluster,Wckey,Login,Proper,TresName,Used",
        [TOP_USERS] = "Cluster,Login,Proper,Account,TresName,Used",
    };

    return tres ? named[which] : plain[which];
}

static void sort_lines(struct list *l, enum who_report which)
{
    const char *first = l->s->tres && strcasecmp(l->s->tres, "all") != 0 ? l->s->tres : "cpu";
    size_t len = strcspn(first, ",");

    l->sort_tres = 0;
    for (size_t i = 0; i < l->ntres; i++)
        if (strlen(l->tres[i]) == len && strncasecmp(l->tres[i], first, len) == 0)
            l->sort_tres = i;
    if (l->n)
        qsort_r(l->rows, l->n, sizeof(*l->rows),
                which == BY_ACCOUNT_USER || which == BY_ACCOUNT_QOS ? by_tree
                : which == BY_WCKEY_USER                            ? by_wckey
                                                                    : by_use,
                l);
}

void report_who(struct sreport *s, struct cond *c, enum who_report which)
{
    static const char *const titles[] = {
        [BY_ACCOUNT_USER] = "Cluster/Account/User Utilization",
        [BY_ACCOUNT_QOS] = "Cluster/Account/QOS Utilization",
        [BY_USER_ACCOUNT] = "Cluster/User/Account Utilization",
        [BY_USER_WCKEY] = "Cluster/User/WCKey Utilization",
        [BY_WCKEY_USER] = "Cluster/WCKey/User Utilization",
    };
    const struct column all[] = {
        { "Cluster", "Cluster", 9, F_CLUSTER },
        { "Accounts", "Account", c->tree && which == BY_ACCOUNT_USER ? -20 : 15, F_ACCOUNT },
        { "Login", "Login", 9, F_LOGIN },
        { "Proper", "Proper Name", 15, F_PROPER },
        { "QOS", "QOS", 12, F_QOS },
        { "Wckey", "WCKey", 15, F_WCKEY },
        { "TresName", "TRES Name", 14, F_TRES },
        { "Used", "Used", table_time_width(s), F_USED },
        { "Energy", "Energy", table_time_width(s), F_ENERGY },
    };
    struct list *l = xmalloc_or_die(sizeof(*l));
    Pst__UsageReply *reply, *clusters = NULL;
    char top[48];
    struct table t;

    table_init(&t, s, all, ARRAY_SIZE(all), c->format ? c->format : columns_of(which, s->tres));
    reply = sreport_ask(s, c, PST__USAGE_KIND__USAGE_WHO);
    if (s->form >= FORM_PERCENT)
        clusters = sreport_ask(s, c, PST__USAGE_KIND__USAGE_CLUSTER);
    *l = (struct list){ .s = s, .c = c, .reply = reply };
    collect_lines(l, which);
    sort_lines(l, which);
    (void)snprintf(top, sizeof(top), "Top %u Users", c->top);
    table_title(s, c, which == TOP_USERS ? top : titles[which], true, NULL);
    table_header(&t);
    print_rows(l, &t, clusters, which == TOP_USERS ? c->top : UINT32_MAX);
    free(l->rows);
    free(l);
    pst__usage_reply__free_unpacked(reply, NULL);
    if (clusters)
        pst__usage_reply__free_unpacked(clusters, NULL);
}
