/* sreport_cluster.c - cluster utilization, job sizes; see sreport.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "cli/sreport/sreport.h"

/* ---- cluster utilization --------------------------------------------------------------------- */

enum {
    F_CLUSTER,
    F_TRES,
    F_COUNT,
    F_ALLOC,
    F_DOWN,
    F_PDOWN,
    F_IDLE,
    F_PLANNED,
    F_REPORTED,
    F_OVER
};

struct cluster_row {
    const struct sreport *s;
    const Pst__UsageCluster *c;
};

static void put_cluster(void *ctx, int id, char *buf, size_t size)
{
    const struct cluster_row *r = ctx;
    const Pst__UsageCluster *c = r->c;
    const uint64_t times[] = {
        [F_ALLOC] = c->alloc_s, [F_DOWN] = c->down_s,    [F_PDOWN] = c->pdown_s,
        [F_IDLE] = c->idle_s,   [F_PLANNED] = c->plan_s, [F_REPORTED] = c->total_s,
        [F_OVER] = c->over_s
    };

    if (id == F_CLUSTER)
        (void)snprintf(buf, size, "%s", c->cluster);
    else if (id == F_TRES)
        (void)snprintf(buf, size, "%s", c->tres);
    else if (id == F_COUNT)
        (void)snprintf(buf, size, "%llu", (unsigned long long)c->count);
    else
        table_time(r->s, times[id], c->total_s, buf, size);
}

void report_cluster(struct sreport *s, struct cond *c)
{
    int w = table_time_width(s);
    const struct column all[] = {
        { "Cluster", "Cluster", 9, F_CLUSTER },
        { "TresName", "TRES Name", 14, F_TRES },
        { "TresCount", "TRES Count", 10, F_COUNT },
        { "Allocated", "Allocated", w, F_ALLOC },
        { "Down", "Down", w, F_DOWN },
        { "PlannedDown", "PLND Down", w, F_PDOWN },
        { "Idle", "Idle", w, F_IDLE },
        { "Planned", "Planned", w, F_PLANNED },
        { "Reported", "Reported", w, F_REPORTED },
        { "Reserved", "Reserved", w, F_PLANNED }, /* its name before 22.05 */
        { "Overcommited", "Overcommited", w, F_OVER },
    };
    const char *usual = s->tres
                            ? "Cluster,TresName,Allocated,Down,PlannedDown,Idle,Planned,Reported"
                            : "Cluster,Allocated,Down,PlannedDown,Idle,Planned,Reported";
    Pst__UsageReply *reply;
    struct table t;

    table_init(&t, s, all, ARRAY_SIZE(all), c->format ? c->format : usual);
    reply = sreport_ask(s, c, PST__USAGE_KIND__USAGE_CLUSTER);
    table_title(s, c, "Cluster Utilization", false, NULL);
    table_header(&t);
    for (size_t i = 0; i < reply->n_clusters; i++) {
        struct cluster_row row = { s, reply->clusters[i] };

        if (sreport_wants(s, row.c->tres) && row.c->total_s)
            table_row(&t, put_cluster, &row);
    }
    pst__usage_reply__free_unpacked(reply, NULL);
}

/* ---- job sizes ------------------------------------------------------------------------------- */

enum { S_CLUSTER, S_ACCOUNT, S_WCKEY, S_TOTAL, S_SHARE, S_FIRST }; /* S_FIRST: the bins */

struct sizes_row {
    const struct sreport *s;
    const struct cond *c;
    const char *cluster, *account, *wckey;
    uint64_t *bins; /* one a bound */
    uint64_t total, whole;
};

static void put_amount(const struct sizes_row *r, uint64_t amount, char *buf, size_t size)
{
    if (r->c->print_count)
        (void)snprintf(buf, size, "%llu", (unsigned long long)amount);
    else
        table_time(r->s, amount, r->whole, buf, size);
}

static void put_sizes(void *ctx, int id, char *buf, size_t size)
{
    const struct sizes_row *r = ctx;

    switch (id) {
    case S_CLUSTER:
        (void)snprintf(buf, size, "%s", r->cluster);
        break;
    case S_ACCOUNT:
        (void)snprintf(buf, size, "%s", r->account);
        break;
    case S_WCKEY:
        (void)snprintf(buf, size, "%s", r->wckey);
        break;
    case S_TOTAL:
        put_amount(r, r->total, buf, size);
        break;
    case S_SHARE:
        (void)snprintf(buf, size, "%.2f%%",
                       r->whole ? (double)r->total / (double)r->whole * 100 : 0);
        break;
    default:
        put_amount(r, r->bins[id - S_FIRST], buf, size);
    }
}

/* The bounds that columns are made of, from 0 on. */
static size_t make_bounds(const struct cond *c, const Pst__UsageReply *reply, uint32_t *bounds,
                          size_t max)
{
    size_t n = 0;

    if (!c->request.individual) {
        bounds[n++] = 0;
        for (size_t i = 0; i < c->request.n_bounds && n < max; i++)
            bounds[n++] = c->request.bounds[i];
    }
    for (size_t i = 0; c->request.individual && i < reply->n_sizes; i++) {
        for (size_t k = 0; k < reply->sizes[i]->n_sizes; k++) {
            uint32_t bound = reply->sizes[i]->sizes[k]->bound;
            bool known = false;

            for (size_t b = 0; b < n; b++)
                known |= bounds[b] == bound;
            if (!known && n < max)
                bounds[n++] = bound;
        }
    }
    qsort(bounds, n, sizeof(*bounds), order_u32);
    return n;
}

static void put_label(char *buf, size_t size, const struct cond *c, const uint32_t *bounds,
                      size_t n, size_t i)
{
    if (c->request.individual)
        (void)snprintf(buf, size, "%u CPUs", bounds[i]);
    else if (i + 1 == n)
        (void)snprintf(buf, size, ">= %u CPUs", bounds[i]);
    else
        (void)snprintf(buf, size, "%u-%u CPUs", bounds[i], bounds[i + 1] - 1);
}

/* The account a row is shown under; NULL: it is not asked for. */
static const char *shown_account(const struct cond *c, const Pst__UsageReply *reply,
                                 const Pst__UsageSizes *row, enum size_report which)
{
    const char *account = row->account[0] ? row->account : "root";

    if (which == SIZES_WCKEY)
        return "";
    if (!c->request.n_accounts)
        return c->flat || c->acct_as_parent ? account : "root";
    for (unsigned depth = 0; depth < 64; depth++) {
        const char *parent = NULL;

        for (size_t i = 0; i < c->request.n_accounts; i++)
            if (strcasecmp(c->request.accounts[i], account) == 0)
                return c->request.accounts[i];
        for (size_t i = 0; i < reply->n_parents && !parent; i++)
            if (strcmp(reply->parents[i]->cluster, row->cluster) == 0 &&
                strcmp(reply->parents[i]->account, account) == 0)
                parent = reply->parents[i]->parent;
        if (!parent || !parent[0])
            return NULL;
        account = parent;
    }
    return NULL;
}

struct sizes {
    struct sizes_row rows[4096];
    size_t n;
};

static struct sizes_row *find_row(struct sizes *z, const struct sizes_row *like, size_t nbins)
{
    for (size_t i = 0; i < z->n; i++)
        if (strcmp(z->rows[i].cluster, like->cluster) == 0 &&
            strcmp(z->rows[i].account, like->account) == 0 &&
            strcmp(z->rows[i].wckey, like->wckey) == 0)
            return &z->rows[i];
    if (z->n == ARRAY_SIZE(z->rows))
        cli_die(CLI_EXIT_FAILED, "more than %zu accounts: name some with Accounts=", z->n);
    z->rows[z->n] = *like;
    z->rows[z->n].bins = xmalloc_or_die(nbins * sizeof(uint64_t));
    return &z->rows[z->n++];
}

static void collect_rows(struct sizes *z, struct sreport *s, const struct cond *c,
                         const Pst__UsageReply *reply, enum size_report which,
                         const uint32_t *bounds, size_t nbins)
{
    for (size_t i = 0; i < reply->n_sizes; i++) {
        const Pst__UsageSizes *from = reply->sizes[i];
        const char *account = shown_account(c, reply, from, which);
        struct sizes_row like = { .s = s,
                                  .c = c,
                                  .cluster = from->cluster,
                                  .account = account,
                                  .wckey = which == SIZES_ACCOUNT ? "" : from->wckey };
        struct sizes_row *row;

        if (!account)
            continue;
        row = find_row(z, &like, nbins);
        for (size_t k = 0; k < from->n_sizes; k++) {
            uint64_t amount = c->print_count ? from->sizes[k]->jobs : from->sizes[k]->cpu_s;

            for (size_t b = 0; b < nbins; b++)
                if (bounds[b] == from->sizes[k]->bound)
                    row->bins[b] += amount;
            row->total += amount;
        }
    }
    for (size_t i = 0; i < z->n; i++)
        for (size_t k = 0; k < z->n; k++)
            if (strcmp(z->rows[i].cluster, z->rows[k].cluster) == 0)
                z->rows[i].whole += z->rows[k].total;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct sizes_row *x = a, *y = b;
    int r = strcmp(x->cluster, y->cluster);

    if (r == 0)
        r = strcmp(x->account, y->account);
    return r ? r : strcmp(x->wckey, y->wckey);
}

void report_sizes(struct sreport *s, struct cond *c, enum size_report which)
{
    static const char *const titles[] = { "Job Sizes", "Job Sizes", "Job Sizes by Wckey" };
    static const char *const leads[] = { "Cluster,Account", "Cluster,Account,Wckey",
                                         "Cluster,Wckey" };
    struct column all[128] = { { "Cluster", "Cluster", 9, S_CLUSTER },
                               { "Accounts", "Account", which == SIZES_ACCOUNT_WCKEY ? -20 : 9,
                                 S_ACCOUNT },
                               { "Wckey", "Wckey", 9, S_WCKEY },
                               { "TotalCount", "Total Count", 11, S_TOTAL },
                               { "Share", "% of cluster", 12, S_SHARE } };
    struct sizes *z = xmalloc_or_die(sizeof(*z));
    char labels[96][24];
    uint32_t bounds[96];
    Pst__UsageReply *reply;
    bool keyless;
    size_t nbins;
    struct table t;

    if (s->tres && (strchr(s->tres, ',') || strcasecmp(s->tres, "all") == 0)) {
        (void)fprintf(stderr, " Job report only supports a single --tres type.\n"
                              " Generate a separate report for each TRES type.\n");
        exit(CLI_EXIT_FAILED);
    }
    sreport_check_tres(s);
    if (s->tres && *s->tres && strcasecmp(s->tres, "cpu") != 0) /* nothing else is kept by size */
        cli_die(CLI_EXIT_FAILED, "job sizes are counted in CPUs alone, not in %s", s->tres);
    reply = sreport_ask(s, c, PST__USAGE_KIND__USAGE_SIZES);
    keyless = which == SIZES_ACCOUNT_WCKEY && !reply->n_sizes;
    nbins = make_bounds(c, reply, bounds, ARRAY_SIZE(bounds));
    table_init(&t, s, all, 5, c->format ? c->format : leads[keyless ? SIZES_ACCOUNT : which]);
    for (size_t i = 0; i < nbins && t.n + 2 < ARRAY_SIZE(t.columns); i++) {
        put_label(labels[i], sizeof(labels[i]), c, bounds, nbins, i);
        t.columns[t.n++] = (struct column){ labels[i], labels[i], 13, S_FIRST + (int)i };
    }
    t.columns[t.n++] = all[3];
    t.columns[t.n++] = all[4];
    table_title(s, c, titles[which], true,
                c->print_count ? "Units are in number of jobs ran" : "Time");
    table_header(&t);
    collect_rows(z, s, c, reply, which, bounds, nbins);
    qsort(z->rows, z->n, sizeof(z->rows[0]), compare_sizes);
    for (size_t i = 0; i < z->n; i++) {
        table_row(&t, put_sizes, &z->rows[i]);
        free(z->rows[i].bins);
    }
    free(z);
    pst__usage_reply__free_unpacked(reply, NULL);
}
