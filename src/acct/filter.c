/* filter.c - an AcctFilter as an SQL condition.
 *
 * Numbers and times are compared by SQLite, which has indexes for them; numbers that come by the
 * thousand are bound as one JSON array.  Texts are looked up by a function of ours in sorted lists:
 * a partition column may hold several names, and a node column holds an expression.  What the
 * window means for each state is said in acct.h. */
#include "acct/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "acct/db.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"

enum list { LIST_NAMES, LIST_ACCOUNTS, LIST_QOS, LIST_PARTITIONS, LIST_NODES };
_Static_assert(LIST_NODES + 1 == FILTER_LISTS, "a list each");

static const char *const list_columns[FILTER_LISTS] = {
    [LIST_NAMES] = "name",           [LIST_ACCOUNTS] = "account", [LIST_QOS] = "qos",
    [LIST_PARTITIONS] = "partition", [LIST_NODES] = "nodes",
};

/* ---- texts --------------------------------------------------------------------------------------
 */

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_word(const struct word_list *l, const char *word)
{
    return bsearch(&word, l->words, l->n, sizeof(*l->words), compare_words);
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

/* SQL: acct_has(list, text) */
static void sql_has(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    const struct filter *f = sqlite3_user_data(ctx);
    int list = sqlite3_value_int(argv[0]);
    const char *text = (const char *)sqlite3_value_text(argv[1]);
    bool found = false;

    (void)argc; /* registered with two */
    if (text && list == LIST_NODES)
        found = has_any_node(&f->lists[list], text);
    else if (text && list == LIST_PARTITIONS)
        found = has_any(&f->lists[list], text);
    else if (text)
        found = has_word(&f->lists[list], text);
    sqlite3_result_int(ctx, found);
}

int filter_register(struct filter *f, sqlite3 *db)
{
    return sqlite3_create_function(db, "acct_has", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, f,
                                   sql_has, NULL, NULL) == SQLITE_OK
               ? 0
               : acct_db_errno(db);
}

static int set_words(struct word_list *l, char *const *words, size_t n)
{
    if (!n)
        return 0;
    l->words = calloc(n, sizeof(*l->words));
    if (!l->words)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        l->words[i] = words[i];
    l->n = n;
    qsort(l->words, n, sizeof(*l->words), compare_words);
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
    qsort(l->words, l->n, sizeof(*l->words), compare_words);
    return 0;
}

/* ---- numbers and times --------------------------------------------------------------------------
 */

static int json_array(const uint32_t *values, size_t n, char **ret)
{
    struct strbuf sb = STRBUF_INIT;

    if (!n)
        return 0;
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&sb, "%c%u", i ? ',' : '[', values[i]);
    strbuf_addc(&sb, ']');
    return strbuf_detach(&sb, ret);
}

static bool has_window(const Pst__AcctFilter *w)
{
    return w->has_start_us || w->has_end_us;
}

/* "now" as a client's clock tells it, perhaps in whole seconds, must include what was just done. */
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
    r = set_words(&f->lists[LIST_NAMES], want->names, want->n_names);
    if (r == 0)
        r = set_words(&f->lists[LIST_ACCOUNTS], want->accounts, want->n_accounts);
    if (r == 0)
        r = set_words(&f->lists[LIST_QOS], want->qos, want->n_qos);
    if (r == 0)
        r = set_words(&f->lists[LIST_PARTITIONS], want->partitions, want->n_partitions);
    if (r == 0)
        r = set_nodes(f, err);
    if (r == 0)
        r = json_array(want->job_ids, want->n_job_ids, &f->job_ids);
    if (r == 0)
        r = json_array(want->uids, want->n_uids, &f->uids);
    if (r == 0)
        r = json_array(want->states, want->n_states, &f->states);
    if (r < 0)
        filter_done(f);
    return r;
}

void filter_done(struct filter *f)
{
    for (size_t i = 0; i < FILTER_LISTS; i++)
        free(f->lists[i].words);
    hostlist_free(f->nodes);
    free(f->job_ids);
    free(f->uids);
    free(f->states);
    *f = (struct filter){ 0 };
}

/* ---- the condition ------------------------------------------------------------------------------
 */

static bool wants_state(const Pst__AcctFilter *w, uint32_t state)
{
    for (size_t i = 0; i < w->n_states; i++)
        if (w->states[i] == state)
            return true;
    return false;
}

static void add_states(const struct filter *f, const char *t, struct strbuf *sb)
{
    if (!has_window(f->want)) {
        strbuf_addf(sb, " AND %s.state IN (SELECT value FROM json_each(:states))", t);
        return;
    }
    /* states 0 to 2 are not over: their end is in no window */
    strbuf_addf(sb,
                " AND (%s.state IN (SELECT value FROM json_each(:states))"
                " AND %s.end_us>=:start AND %s.end_us<:end",
                t, t, t);
    if (wants_state(f->want, PST__JOB_STATE__JOB_PENDING))
        strbuf_addf(sb,
                    " OR ifnull(%s.eligible_us, %s.begun_us)<:end"
                    " AND ifnull(%s.start_us, %s.end_us)>:start",
                    t, t, t, t);
    if (wants_state(f->want, PST__JOB_STATE__JOB_RUNNING))
        strbuf_addf(sb, " OR %s.start_us<:end AND %s.end_us>:start", t, t);
    if (wants_state(f->want, PST__JOB_STATE__JOB_SUSPENDED))
        strbuf_addf(sb, " OR %s.state=%d AND %s.start_us<:end", t, PST__JOB_STATE__JOB_SUSPENDED,
                    t);
    strbuf_add(sb, ")");
}

static void add_window(const struct filter *f, const char *t, struct strbuf *sb)
{
    const Pst__AcctFilter *w = f->want;

    if (has_window(w)) {
        /* with states for the index alone: each state asks for more */
        strbuf_addf(sb, w->n_states ? " AND %s.end_us>=:start" : " AND %s.end_us>:start", t);
        if (!w->n_states)
            strbuf_addf(sb, " AND ifnull(%s.eligible_us, %s.begun_us)<:end", t, t);
        if (!w->n_job_ids)
            strbuf_addf(sb, " AND (%s.eligible_us IS NOT NULL OR %s.end_us<%lld)", t, t,
                        (long long)ACCT_OPEN_END);
    }
    if (w->n_states)
        add_states(f, t, sb);
}

void filter_sql(const struct filter *f, const char *t, struct strbuf *sb)
{
    strbuf_add(sb, "1");
    if (f->job_ids)
        strbuf_addf(sb,
                    " AND %s.run IN (SELECT run FROM jobs WHERE job_id IN"
                    " (SELECT value FROM json_each(:jobs)) UNION SELECT run FROM jobs WHERE"
                    " array_job_id IN (SELECT value FROM json_each(:jobs)))",
                    t);
    if (f->uids)
        strbuf_addf(sb, " AND %s.uid IN (SELECT value FROM json_each(:uids))", t);
    add_window(f, t, sb);
    for (size_t i = 0; i < FILTER_LISTS; i++)
        if (f->lists[i].words)
            strbuf_addf(sb, " AND acct_has(%zu, %s.%s)", i, t, list_columns[i]);
}

static int bind_text(sqlite3_stmt *stmt, const char *name, const char *text)
{
    int at = sqlite3_bind_parameter_index(stmt, name);

    return at && text ? sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC) : SQLITE_OK;
}

static int bind_number(sqlite3_stmt *stmt, const char *name, int64_t value)
{
    int at = sqlite3_bind_parameter_index(stmt, name);

    return at ? sqlite3_bind_int64(stmt, at, value) : SQLITE_OK;
}

int filter_bind(const struct filter *f, sqlite3_stmt *stmt)
{
    if (bind_text(stmt, ":jobs", f->job_ids) != SQLITE_OK ||
        bind_text(stmt, ":uids", f->uids) != SQLITE_OK ||
        bind_text(stmt, ":states", f->states) != SQLITE_OK ||
        bind_number(stmt, ":start", f->start_us) != SQLITE_OK ||
        bind_number(stmt, ":end", f->end_us) != SQLITE_OK)
        return acct_db_errno(sqlite3_db_handle(stmt));
    return 0;
}
