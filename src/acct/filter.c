/* filter.c - an AcctFilter as an SQL condition.
 *
 * The database compares numbers, times, and names that stand for themselves, as long as there are
 * not many; beyond that it gets a range.  Long lists, partition columns (which may hold several
 * names) and node columns (which hold an expression) are compared in C, row by row.  What the
 * window means for each state is said in acct.h. */
#include "acct/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "acct/acct.h"
#include "acct/sql/db.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/compare/order.h"
#include "base/timefmt.h"

#define IN_SQL_MAX 200u /* values written into the condition */

enum list { LIST_NAMES, LIST_ACCOUNTS, LIST_QOS, LIST_PARTITIONS, LIST_NODES };
_Static_assert(LIST_NODES + 1 == FILTER_LISTS, "a list each");
enum set { SET_JOBS, SET_UIDS, SET_STATES };
_Static_assert(SET_STATES + 1 == FILTER_SETS, "a set each");

static const char *const list_columns[FILTER_LISTS] = {
    [LIST_NAMES] = "name",  [LIST_ACCOUNTS] = "account",
    [LIST_QOS] = "qos",     [LIST_PARTITIONS] = "`partition`",
    [LIST_NODES] = "nodes",
};

/* ---- texts ----------------------------------------------------------------------------------- */

static bool has_word(const struct word_list *l, const char *word)
{
    return bsearch(&word, l->words, l->n, sizeof(*l->words), order_text);
}

/* Is one of the comma list's elements among the words? */
static bool has_any(const struct word_list *l, const char *list)
{
    _cleanup_free_ char *copy = NULL;
    char *save = NULL;

    if (!strchr(list, ','))
        return has_word(l, list);
    copy = strdup(list);
    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save))
        if (has_word(l, w))
            return true;
    return false;
}

static bool has_any_node(const struct word_list *l, const char *nodes)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (hostlist_parse(nodes, &hl, NULL) < 0)
        return false; /* not written by us, or no memory */
    for (size_t i = 0; i < hostlist_count(hl); i++)
        if (has_word(l, hostlist_nth(hl, i)))
            return true;
    return false;
}

static bool list_match(const struct filter *f, size_t list, const char *text)
{
    const struct word_list *l = &f->lists[list];

    if (!text)
        return false;
    if (list == LIST_NODES)
        return has_any_node(l, text);
    return list == LIST_PARTITIONS ? has_any(l, text) : has_word(l, text);
}

static int set_words(const struct filter *f, struct word_list *l, char *const *words, size_t n)
{
    if (!n)
        return 0;
    l->words = calloc(n, sizeof(*l->words));
    if (!l->words)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        l->words[i] = words[i];
    l->n = n;
    qsort(l->words, n, sizeof(*l->words), order_text);
    l->in_sql = n <= IN_SQL_MAX && l != &f->lists[LIST_PARTITIONS];
    return 0;
}

static int set_nodes(struct filter *f, struct err *err)
{
    struct word_list *l = &f->lists[LIST_NODES];
    int r;

    if (!f->want->nodes || !f->want->nodes[0])
        return 0;
    r = hostlist_parse(f->want->nodes, &f->nodes, err);
    if (r < 0)
        return r;
    l->n = hostlist_count(f->nodes);
    l->words = calloc(l->n + 1, sizeof(*l->words));
    if (!l->words)
        return -ENOMEM;
    for (size_t i = 0; i < l->n; i++)
        l->words[i] = hostlist_nth(f->nodes, i);
    qsort(l->words, l->n, sizeof(*l->words), order_text);
    return 0;
}

/* ---- numbers and times ----------------------------------------------------------------------- */

static bool has_number(const struct number_set *s, int64_t value)
{
    uint32_t key = (uint32_t)value;

    return value >= 0 && value <= UINT32_MAX &&
           bsearch(&key, s->values, s->n, sizeof(key), order_u32);
}

static int set_numbers(struct number_set *s, const uint32_t *values, size_t n)
{
    if (!n)
        return 0;
    s->values = malloc(n * sizeof(*values));
    if (!s->values)
        return -ENOMEM;
    memcpy(s->values, values, n * sizeof(*values));
    s->n = n;
    s->in_sql = n <= IN_SQL_MAX;
    qsort(s->values, n, sizeof(*values), order_u32);
    return 0;
}

static bool has_window(const Pst__AcctFilter *w)
{
    return w->has_start_us || w->has_end_us;
}

/* "now" by a client's clock, which may be late, must include what was just done. */
static void set_window(struct filter *f, int64_t now_us)
{
    const Pst__AcctFilter *w = f->want;

    f->start_us = w->has_start_us ? w->start_us : INT64_MIN;
    f->end_us = w->has_end_us ? w->end_us : now_us + 1;
    if (f->end_us > now_us - USEC_PER_SEC)
        f->end_us = MAX(f->end_us, now_us + 1);
    if (f->end_us <= f->start_us)
        f->end_us = f->start_us < INT64_MAX ? f->start_us + 1 : INT64_MAX;
}

int filter_init(struct filter *f, const Pst__AcctFilter *want, int64_t now_us, struct err *err)
{
    int r;

    *f = (struct filter){ .want = want };
    set_window(f, now_us);
    r = set_words(f, &f->lists[LIST_NAMES], want->names, want->n_names);
    if (r == 0)
        r = set_words(f, &f->lists[LIST_ACCOUNTS], want->accounts, want->n_accounts);
    if (r == 0)
        r = set_words(f, &f->lists[LIST_QOS], want->qos, want->n_qos);
    if (r == 0)
        r = set_words(f, &f->lists[LIST_PARTITIONS], want->partitions, want->n_partitions);
    if (r == 0)
        r = set_words(f, &f->seen, want->seen_accounts, want->n_seen_accounts);
    if (r == 0)
        r = set_nodes(f, err);
    if (r == 0)
        r = set_numbers(&f->sets[SET_JOBS], want->job_ids, want->n_job_ids);
    if (r == 0)
        r = set_numbers(&f->sets[SET_UIDS], want->uids, want->n_uids);
    if (r == 0)
        r = set_numbers(&f->sets[SET_STATES], want->states, want->n_states);
    if (r < 0)
        filter_done(f);
    return r;
}

void filter_done(struct filter *f)
{
    for (size_t i = 0; i < FILTER_LISTS; i++)
        free(f->lists[i].words);
    free(f->seen.words);
    hostlist_free(f->nodes);
    for (size_t i = 0; i < FILTER_SETS; i++)
        free(f->sets[i].values);
    *f = (struct filter){ 0 };
}

/* ---- the condition --------------------------------------------------------------------------- */

static bool wants_state(const Pst__AcctFilter *w, uint32_t state)
{
    for (size_t i = 0; i < w->n_states; i++)
        if (w->states[i] == state)
            return true;
    return false;
}

/* column IN (...), or the range of a long set. */
static void add_in(const struct number_set *s, const char *column, struct strbuf *sb)
{
    if (!s->in_sql) {
        strbuf_addf(sb, "%s BETWEEN %u AND %u", column, s->values[0], s->values[s->n - 1]);
        return;
    }
    strbuf_addf(sb, "%s IN (", column);
    for (size_t i = 0; i < s->n; i++)
        strbuf_addf(sb, "%s%u", i ? "," : "", s->values[i]);
    strbuf_addc(sb, ')');
}

static void add_states(const struct filter *f, struct strbuf *sb)
{
    long long start = f->start_us, end = f->end_us;

    if (!has_window(f->want)) {
        strbuf_add(sb, " AND ");
        add_in(&f->sets[SET_STATES], "state", sb);
        return;
    }
    /* states 0 to 2 are not over: their end is in no window */
    strbuf_add(sb, " AND (");
    add_in(&f->sets[SET_STATES], "state", sb);
    strbuf_addf(sb, " AND end_us>=%lld AND end_us<%lld", start, end);
    if (wants_state(f->want, PST__JOB_STATE__JOB_PENDING))
        strbuf_addf(sb, " OR ifnull(eligible_us, begun_us)<%lld AND ifnull(start_us, end_us)>%lld",
                    end, start);
    if (wants_state(f->want, PST__JOB_STATE__JOB_RUNNING))
        strbuf_addf(sb, " OR start_us<%lld AND end_us>%lld", end, start);
    if (wants_state(f->want, PST__JOB_STATE__JOB_SUSPENDED))
        strbuf_addf(sb, " OR state=%d AND start_us<%lld", PST__JOB_STATE__JOB_SUSPENDED, end);
    strbuf_add(sb, ")");
}

static void add_window(const struct filter *f, struct strbuf *sb)
{
    const Pst__AcctFilter *w = f->want;

    if (has_window(w)) {
        /* with states for the index alone: each state asks for more */
        strbuf_addf(sb, " AND end_us>%s%lld", w->n_states ? "=" : "", (long long)f->start_us);
        if (!w->n_states)
            strbuf_addf(sb, " AND ifnull(eligible_us, begun_us)<%lld", (long long)f->end_us);
        if (!w->n_job_ids)
            strbuf_addf(sb, " AND (eligible_us IS NOT NULL OR end_us<%lld)",
                        (long long)ACCT_OPEN_END);
    }
    if (w->n_states)
        add_states(f, sb);
}

/* Behind all others, as its parameters are. */
static void add_seen(const struct filter *f, struct strbuf *sb)
{
    if (!f->want->has_seen_uid || (f->seen.n && !f->seen.in_sql))
        return;
    strbuf_addf(sb, " AND (uid=%u", f->want->seen_uid);
    for (size_t k = 0; k < f->seen.n; k++)
        strbuf_add(sb, k ? ",?" : " OR account IN (?");
    strbuf_add(sb, f->seen.n ? "))" : ")");
}

void filter_sql(const struct filter *f, struct strbuf *sb)
{
    strbuf_add(sb, "1=1");
    if (f->sets[SET_JOBS].n) {
        strbuf_add(sb, " AND (");
        add_in(&f->sets[SET_JOBS], "job_id", sb);
        strbuf_add(sb, " OR ");
        add_in(&f->sets[SET_JOBS], "array_job_id", sb);
        strbuf_add(sb, ")");
    }
    if (f->sets[SET_UIDS].n) {
        strbuf_add(sb, " AND ");
        add_in(&f->sets[SET_UIDS], "uid", sb);
    }
    add_window(f, sb);
    for (size_t i = 0; i < FILTER_LISTS; i++) {
        if (!f->lists[i].in_sql)
            continue;
        strbuf_addf(sb, " AND %s IN (", list_columns[i]);
        for (size_t k = 0; k < f->lists[i].n; k++)
            strbuf_add(sb, k ? ",?" : "?");
        strbuf_addc(sb, ')');
    }
    add_seen(f, sb);
}

void filter_bind(const struct filter *f, struct sql_stmt *stmt)
{
    unsigned at = 0;

    for (size_t i = 0; i < FILTER_LISTS; i++)
        for (size_t k = 0; f->lists[i].in_sql && k < f->lists[i].n; k++)
            sql_bind_text(stmt, at++, f->lists[i].words[k]);
    for (size_t k = 0; f->want->has_seen_uid && f->seen.in_sql && k < f->seen.n; k++)
        sql_bind_text(stmt, at++, f->seen.words[k]);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool is_long(const struct filter *f, enum set set)
{
    return f->sets[set].n && !f->sets[set].in_sql;
}

static bool is_seen_long(const struct filter *f)
{
    return f->want->has_seen_uid && f->seen.n && !f->seen.in_sql;
}

static bool is_seen(const struct filter *f, struct sql_stmt *stmt, unsigned col)
{
    const char *account = sql_text(stmt, col + 1);

    return sql_int(stmt, col) == f->want->seen_uid || (account && has_word(&f->seen, account));
}

void filter_columns(const struct filter *f, struct strbuf *sb)
{
    if (is_long(f, SET_JOBS))
        strbuf_add(sb, ", job_id, array_job_id");
    if (is_long(f, SET_UIDS))
        strbuf_add(sb, ", uid");
    for (size_t i = 0; i < FILTER_LISTS; i++)
        if (f->lists[i].words && !f->lists[i].in_sql)
            strbuf_addf(sb, ", %s", list_columns[i]);
    if (is_seen_long(f))
        strbuf_add(sb, ", uid, account");
}

bool filter_match(const struct filter *f, struct sql_stmt *stmt, unsigned col)
{
    if (is_long(f, SET_JOBS)) {
        if (!has_number(&f->sets[SET_JOBS], sql_int(stmt, col)) &&
            (sql_is_null(stmt, col + 1) || !has_number(&f->sets[SET_JOBS], sql_int(stmt, col + 1))))
            return false;
        col += 2;
    }
    if (is_long(f, SET_UIDS) && !has_number(&f->sets[SET_UIDS], sql_int(stmt, col++)))
        return false;
    for (size_t i = 0; i < FILTER_LISTS; i++)
        if (f->lists[i].words && !f->lists[i].in_sql && !list_match(f, i, sql_text(stmt, col++)))
            return false;
    return !is_seen_long(f) || is_seen(f, stmt, col);
}

bool cond_has(char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(list[i], word ? word : "") == 0)
            return true;
    return n == 0;
}

bool cond_has_id(const uint32_t *list, size_t n, uint32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == id)
            return true;
    return n == 0;
}

static bool has_share(const Pst__AcctCond *where, const Pst__ResourceRecord *r)
{
    for (size_t i = 0; i < r->n_shares; i++)
        if (cond_has(where->clusters, where->n_clusters, r->shares[i]->cluster) &&
            cond_has_id(where->percents, where->n_percents, r->shares[i]->allowed))
            return true;
    return where->n_percents == 0;
}

bool cond_resource(const Pst__AcctCond *where, const Pst__ResourceRecord *r)
{
    return cond_has(where->names, where->n_names, r->name) &&
           cond_has(where->servers, where->n_servers, r->server) &&
           cond_has_id(where->ids, where->n_ids, r->resource_id) &&
           cond_has(where->descriptions, where->n_descriptions, r->description) &&
           has_share(where, r);
}
