/* sreport_cond.c - what stands behind a report's name: conditions and times; see sreport.h. */
#include <ctype.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/query/out_filter.h"
#include "cli/sreport/sreport.h"

static const uint32_t default_bounds[] = { 50, 250, 500, 1000 };

enum key {
    K_ACCOUNTS,
    K_CLUSTERS,
    K_END,
    K_FORMAT,
    K_GID,
    K_GROUPING,
    K_IDS,
    K_JOBS,
    K_NAMES,
    K_NODES,
    K_PARTITIONS,
    K_QOS,
    K_START,
    K_TOP,
    K_USERS,
    K_WCKEYS,
    W_ALL_CLUSTERS,
    W_FLAT,
    W_GROUP,
    W_PARENT,
    W_COUNT,
    W_TREE,
};

/* Words, the letters of them that suffice, and the reports that have them. */
static const struct {
    const char *name;
    size_t min;
    enum key key;
    unsigned of; /* bits of enum cond_of */
} keys[] = {
    { "Accounts", 2, K_ACCOUNTS, COND_WHO | COND_SIZES | COND_TOP },
    { "AcctAsParent", 5, W_PARENT, COND_ALL },
    { "Accts", 4, K_ACCOUNTS, COND_WHO | COND_SIZES | COND_TOP },
    { "All_Clusters", 2, W_ALL_CLUSTERS, COND_ALL },
    { "Clusters", 1, K_CLUSTERS, COND_ALL },
    { "End", 1, K_END, COND_ALL },
    { "FlatView", 2, W_FLAT, COND_ALL },
    { "Format", 2, K_FORMAT, COND_ALL },
    { "Gid", 2, K_GID, COND_SIZES },
    { "Grouping", 6, K_GROUPING, COND_SIZES },
    { "Group", 1, W_GROUP, COND_ALL },
    { "Ids", 1, K_IDS, COND_RESERVATIONS },
    { "Jobs", 1, K_JOBS, COND_SIZES },
    { "Names", 2, K_NAMES, COND_RESERVATIONS },
    { "Nodes", 2, K_NODES, COND_SIZES | COND_RESERVATIONS },
    { "Partitions", 2, K_PARTITIONS, COND_SIZES },
    { "PrintJobCount", 2, W_COUNT, COND_ALL },
    { "QOS", 1, K_QOS, COND_WHO | COND_SIZES | COND_TOP },
    { "Start", 1, K_START, COND_ALL },
    { "TopCount", 2, K_TOP, COND_TOP },
    { "Tree", 2, W_TREE, COND_ALL },
    { "Users", 1, K_USERS, COND_WHO | COND_SIZES | COND_TOP },
    { "Wckeys", 1, K_WCKEYS, COND_WCKEYS | COND_SIZES },
};

static bool refuse_word(struct sreport *s, const char *fmt, const char *text)
{
    (void)fprintf(stderr, fmt, text);
    (void)fprintf(stderr, "\n");
    s->status = CLI_EXIT_FAILED;
    return false;
}

static void bad_user(const char *word)
{
    cli_error("Invalid user id: %s", word);
}

/* Whole hours: the start's hour, and the end of the hour that has begun by the end. */
static int64_t whole_hour(int64_t us, bool end)
{
    time_t at = (time_t)(us / USEC_PER_SEC);
    struct tm tm;

    (void)localtime_r(&at, &tm); /* a year that people write */
    tm.tm_hour += end && (tm.tm_min || tm.tm_sec);
    tm.tm_sec = tm.tm_min = 0;
    return mktime(&tm);
}

static int64_t midnight_of(int days)
{
    time_t now = time(NULL);
    struct tm tm;

    (void)localtime_r(&now, &tm);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_mday += days;
    tm.tm_isdst = -1;
    return mktime(&tm) * USEC_PER_SEC;
}

/* A time that cannot be read is told, and the report goes on with the usual one. */
static int64_t parse_time(const char *text, int64_t otherwise)
{
    int64_t us;

    if (time_when_parse(text, now_us(), false, &us, NULL) == 0)
        return us;
    (void)fflush(stdout);
    (void)fprintf(stderr, "Invalid time specification (pos=%d): %s\n", time_when_mistake(text),
                  text);
    return otherwise;
}

static bool set_grouping(struct sreport *s, struct cond *c, const char *value)
{
    char **words = NULL;
    size_t n = 0;
    bool good = true;

    c->request.has_individual = c->request.individual = strcasecmp(value, "individual") == 0;
    if (c->request.individual)
        return true;
    argwords_add(&words, &n, value);
    c->request.n_bounds = 0;
    for (size_t i = 0; i < n && good; i++) {
        uint64_t bound;

        good = parse_u64(words[i], 1, UINT32_MAX, &bound) == 0;
        if (good)
            filter_add_number(&c->request.bounds, &c->request.n_bounds, (uint32_t)bound);
    }
    argwords_free(words, n);
    return good || refuse_word(s, " Invalid grouping: %s", value);
}

static bool set_numbers(struct sreport *s, uint32_t **numbers, size_t *n, const char *value)
{
    char **words = NULL;
    size_t nwords = 0;
    bool good = true;

    argwords_add(&words, &nwords, value);
    for (size_t i = 0; i < nwords && good; i++) {
        uint64_t number;

        good = parse_u64(words[i], 0, UINT32_MAX, &number) == 0;
        if (good)
            filter_add_number(numbers, n, (uint32_t)number);
    }
    argwords_free(words, nwords);
    return good || refuse_word(s, " Invalid number: %s", value);
}

/* Groups by name or number; one that is not there is told, and has no jobs. */
static void set_groups(uint32_t **numbers, size_t *n, const char *value)
{
    char **words = NULL;
    size_t nwords = 0;

    argwords_add(&words, &nwords, value);
    for (size_t i = 0; i < nwords; i++) {
        const struct group *gr = getgrnam(words[i]);
        uint64_t number = UINT32_MAX - 1;

        if (gr)
            number = gr->gr_gid;
        else if (parse_u64(words[i], 0, UINT32_MAX, &number) < 0)
            cli_error("Invalid group id: %s", words[i]);
        filter_add_number(numbers, n, (uint32_t)number);
    }
    argwords_free(words, nwords);
}

/* Each list adds columns to those before. */
static void add_format(struct cond *c, const char *value)
{
    char *all = c->format ? xasprintf_or_die("%s,%s", c->format, value) : xstrdup_or_die(value);

    free(c->format);
    c->format = all;
}

static bool set_key(struct sreport *s, struct cond *c, enum key key, const char *value,
                    int64_t *start, int64_t *end)
{
    Pst__UsageRequest *r = &c->request;
    uint64_t top;

    switch (key) {
    case K_ACCOUNTS:
        argwords_add(&r->accounts, &r->n_accounts, value);
        return true;
    case K_CLUSTERS:
        argwords_add(&r->clusters, &r->n_clusters, value);
        return true;
    case K_END:
        *end = MIN(parse_time(value, *end), now_us()); /* the hours to come are in no report */
        return true;
    case K_FORMAT:
        add_format(c, value);
        return true;
    case K_GID:
        set_groups(&r->gids, &r->n_gids, value);
        return true;
    case K_GROUPING:
        return set_grouping(s, c, value);
    case K_IDS:
        return set_numbers(s, &c->ids, &c->n_ids, value);
    case K_JOBS:
        return set_numbers(s, &r->job_ids, &r->n_job_ids, value);
    case K_NAMES:
        argwords_add(&c->names, &c->n_names, value);
        return true;
    case K_NODES:
        free(r->nodes);
        r->nodes = xstrdup_or_die(value);
        return true;
    case K_PARTITIONS:
        argwords_add(&r->partitions, &r->n_partitions, value);
        return true;
    case K_QOS:
        argwords_add(&r->qos, &r->n_qos, value);
        return true;
    case K_START:
        *start = parse_time(value, *start);
        return true;
    case K_TOP:
        if (parse_u64(value, 0, 1000000, &top) < 0)
            return refuse_word(s, "sreport: error: Invalid value for TopCount (%s)", value);
        c->top = (uint32_t)top;
        return true;
    case K_USERS:
        filter_add_users(&r->uids, &r->n_uids, value, bad_user);
        return true;
    case K_WCKEYS:
        argwords_add(&r->wckeys, &r->n_wckeys, value);
        return true;
    case W_ALL_CLUSTERS:
        s->all_clusters = true;
        return true;
    case W_FLAT:
        return c->flat = true;
    case W_GROUP:
        return c->group = true;
    case W_PARENT:
        return c->acct_as_parent = true;
    case W_COUNT:
        return c->print_count = true;
    case W_TREE:
        return c->tree = true;
    }
    return false;
}

/* The report goes on without it. */
static void unknown_condition(struct sreport *s, enum cond_of of, const char *word)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, " Unknown condition: %s\n", word);
    if (of != COND_WCKEYS)
        (void)fprintf(stderr, "Use keyword set to modify value\n");
    s->status = CLI_EXIT_FAILED;
}

/* A word alone is the name of a cluster, or of a reservation. */
static bool take_word(struct sreport *s, struct cond *c, enum cond_of of, const char *word,
                      int64_t *start, int64_t *end)
{
    const char *eq = strchr(word, '=');
    size_t len = eq ? (size_t)(eq - word) : strlen(word);

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (len < keys[i].min || strncasecmp(keys[i].name, word, len) != 0 || !(keys[i].of & of) ||
            (!eq && keys[i].key < W_ALL_CLUSTERS))
            continue;
        return set_key(s, c, keys[i].key, eq ? eq + 1 : "", start, end);
    }
    if (!eq)
        return set_key(s, c, of == COND_RESERVATIONS ? K_NAMES : K_CLUSTERS, word, start, end);
    unknown_condition(s, of, word);
    return true;
}

bool cond_parse(struct sreport *s, struct cond *c, enum cond_of of, int argc, char **argv)
{
    /* an hour more than yesterday, as the incumbent reports */
    int64_t start = midnight_of(-1), end = midnight_of(0) + 3600 * USEC_PER_SEC;
    const char *own = conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME);

    *c = (struct cond){ .request = PST__USAGE_REQUEST__INIT, .top = 10 };
    for (size_t i = 0; i < ARRAY_SIZE(default_bounds); i++)
        filter_add_number(&c->request.bounds, &c->request.n_bounds, default_bounds[i]);
    for (int i = 0; i < argc; i++)
        if (!take_word(s, c, of, argv[i], &start, &end))
            return false;
    c->request.has_start_s = c->request.has_end_s = true;
    c->request.start_s = whole_hour(start, false);
    c->request.end_s = whole_hour(end, true);
    if (c->request.end_s - c->request.start_s < 3600)
        c->request.end_s = c->request.start_s + 3600;
    if (!c->request.n_clusters && !s->all_clusters && cli_acct_is_dbd(&s->cli) &&
        !s->program_clusters)
        fedview_add_names(&s->cli, &s->view, &c->request.clusters, &c->request.n_clusters);
    if (!c->request.n_clusters && !s->all_clusters && cli_acct_is_dbd(&s->cli) && own)
        argwords_add(&c->request.clusters, &c->request.n_clusters,
                     s->program_clusters ? s->program_clusters : own);
    return true;
}

void cond_done(struct cond *c)
{
    Pst__UsageRequest *r = &c->request;

    free(c->format);
    argwords_free(r->clusters, r->n_clusters);
    argwords_free(r->accounts, r->n_accounts);
    argwords_free(r->wckeys, r->n_wckeys);
    argwords_free(r->qos, r->n_qos);
    argwords_free(r->partitions, r->n_partitions);
    argwords_free(c->names, c->n_names);
    free(r->uids);
    free(r->bounds);
    free(r->gids);
    free(r->job_ids);
    free(c->ids);
    free(r->nodes);
    *c = (struct cond){ .request = PST__USAGE_REQUEST__INIT };
}
