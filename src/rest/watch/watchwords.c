/* watchwords.c - what one watcher over HTTP asks for; see watchwords.h */
#include "rest/watch/watchwords.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/wordlist.h"
#include "cli/query/out_users.h"
#include "cli/query/watchfollow.h"
#include "rest/restcall.h"

#define JOBS (1u << PST__WATCH_ENTITY__WATCH_JOB)
#define NODES (1u << PST__WATCH_ENTITY__WATCH_NODE)
#define PARTITIONS (1u << PST__WATCH_ENTITY__WATCH_PARTITION)
#define USERS_MAX 1000u
#define NODES_MAX 4096u
#define FIELDS_MAX 64u /* as of lists */

bool watch_at_before(struct watch_at a, struct watch_at b)
{
    return a.lsn != b.lsn ? a.lsn < b.lsn : a.index < b.index;
}

const char *watch_at_text(struct watch_at at, char text[WATCH_AT_BYTES])
{
    if (at.index == UINT32_MAX)
        (void)snprintf(text, WATCH_AT_BYTES, "%" PRIu64, at.lsn); /* fits */
    else
        (void)snprintf(text, WATCH_AT_BYTES, "%" PRIu64 ".%" PRIu32, at.lsn, at.index);
    return text;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int take_types(struct watch_words *w, const char *list, struct err *err)
{
    static const char *const words[] = { "job", "node", "partition" };

    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ","), i = 0;

        while (i < ARRAY_SIZE(words) && (strlen(words[i]) != len || strncmp(words[i], p, len) != 0))
            i++;
        if (i == ARRAY_SIZE(words))
            return err_set(err, -EINVAL, "types=%.64s: job, node and partition are known", list);
        w->entities |= 1u << (i + 1);
    }
    return 0;
}

static int take_users(struct watch_words *w, const char *list, struct err *err)
{
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        _cleanup_free_ char *name = strndup(p, strcspn(p, ","));
        uint32_t uid, *more = reallocarray(w->uids, w->n_uids + 1, sizeof(*more));

        if (more)
            w->uids = more;
        if (!more || !name)
            return err_nomem(err);
        if (w->n_uids == USERS_MAX || user_id_of(name, &uid) < 0)
            return err_set(err, -EINVAL, "user=%.64s: there is no such user", name);
        w->uids[w->n_uids++] = uid;
    }
    return 0;
}

static int take_states(struct watch_words *w, const char *list, struct err *err)
{
    _cleanup_free_ char *bad = NULL;

    if (filter_parse_states(list, &w->states, &bad) < 0)
        return err_set(err, -EINVAL, "state=%.64s: there is no such state", bad ? bad : list);
    w->by_state = !w->states.all;
    return 0;
}

static int take_cursor(struct watch_words *w, const char *text, struct err *err)
{
    if (watch_cursor_parse(text, &w->cursor.lsn, &w->cursor.index) < 0)
        return err_set(err, -EINVAL, "cursor=%.64s: a number, or two with a dot", text);
    w->has_cursor = true;
    return 0;
}

static int take_partitions(struct watch_words *w, const char *list, struct err *err)
{
    free(w->partitions);
    w->partitions = strdup(list);
    return w->partitions ? 0 : err_nomem(err);
}

static int take_nodes(struct watch_words *w, const char *list, struct err *err)
{
    w->nodes = hostlist_free(w->nodes);
    return hostlist_parse_most(list, NODES_MAX, &w->nodes, err);
}

static int take_objects(struct watch_words *w, const char *value, struct err *err)
{
    w->objects = strcmp(value, "true") == 0;
    return w->objects || strcmp(value, "false") == 0
               ? 0
               : err_set(err, -EINVAL, "objects=%.64s: true or false", value);
}

static int take_fields(struct watch_words *w, const char *list, struct err *err)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyz0123456789_,";
    size_t n = 1;

    for (const char *p = list; *p; p++)
        n += *p == ',';
    if (n > FIELDS_MAX || strspn(list, chars) != strlen(list))
        return err_set(err, -EINVAL, "fields=: at most %u names of members, with commas",
                       FIELDS_MAX);
    free(w->fields);
    w->fields = strdup(list);
    return w->fields ? 0 : err_nomem(err);
}

static int take_jobs(struct watch_words *w, const char *list, struct err *err)
{
    filter_ids_done(&w->ids);
    return filter_parse_ids(list, &w->ids, err);
}

static const struct {
    const char *name;
    int (*take)(struct watch_words *w, const char *value, struct err *err);
    uint32_t about; /* types that are meant when types= does not say */
} rows[] = {
    { "types", take_types, 0 },    { "job_id", take_jobs, JOBS },
    { "user", take_users, JOBS },  { "state", take_states, JOBS },
    { "node", take_nodes, NODES }, { "partition", take_partitions, JOBS | PARTITIONS },
    { "cursor", take_cursor, 0 },  { "objects", take_objects, 0 },
    { "fields", take_fields, 0 },
};

static int take_word(struct watch_words *w, const struct rest_pair *pair, uint32_t *about,
                     struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (strcmp(rows[i].name, pair->name) != 0)
            continue;
        if (!pair->value[0])
            return err_set(err, -EINVAL, "%s: a value is wanted", pair->name);
        /* Words that narrow: what all of them are about, so that a partition's word does not bring
         * partitions in when a user's word speaks of jobs. */
        *about &= rows[i].about ? rows[i].about : UINT32_MAX;
        return rows[i].take(w, pair->value, err);
    }
    return err_set(err, -EINVAL, "%.64s: there is no such word", pair->name);
}

int watchwords_read(const struct rest_pair *query, size_t n, const char *cursor,
                    struct watch_words *ret, struct err *err)
{
    _cleanup_val_(watchwords_done) struct watch_words w = { 0 };
    uint32_t about = JOBS | NODES | PARTITIONS;
    int r = cursor ? take_cursor(&w, cursor, err) : 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = take_word(&w, &query[i], &about, err);
    if (r < 0)
        return r;
    if (!w.entities)
        w.entities = about;
    if (!w.entities)
        return err_set(err, -EINVAL, "node= goes with types=, or without words of jobs");
    *ret = w;
    w = (struct watch_words){ 0 };
    return 0;
}

void watchwords_done(struct watch_words *w)
{
    filter_ids_done(&w->ids);
    free(w->uids);
    free(w->partitions);
    free(w->fields);
    w->nodes = hostlist_free(w->nodes);
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool any_partition(const struct watch_words *w, const char *list)
{
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (wordlist_has_n(w->partitions, p, strcspn(p, ",")))
            return true;
    return false;
}

static bool match_job(const struct watch_words *w, const struct watch_facts *f)
{
    bool own = !w->n_uids;

    for (size_t i = 0; i < w->n_uids && !own; i++)
        own = w->uids[i] == f->uid;
    return own && (!w->partitions || any_partition(w, f->partition)) &&
           (!w->by_state || w->states.base & f->states || w->states.flags & f->flags) &&
           (!w->ids.n || filter_ids_match(&w->ids, f->id, f->array_id, f->has_task, f->task) ||
            filter_ids_match_whole(&w->ids, f->id, f->array_id));
}

bool watchwords_match(const struct watch_words *w, const struct watch_facts *f)
{
    if (!(w->entities >> f->entity & 1))
        return false;
    switch (f->entity) {
    case PST__WATCH_ENTITY__WATCH_JOB:
        return match_job(w, f);
    case PST__WATCH_ENTITY__WATCH_NODE:
        return !w->nodes || hostlist_find(w->nodes, f->name) >= 0;
    default:
        return !w->partitions || wordlist_has(w->partitions, f->name);
    }
}
