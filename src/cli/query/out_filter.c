/* out_filter.c - words, users, states and ids from command lines; see out_filter.h. */
#include "cli/query/out_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "base/wordlist.h"
#include "cli/base/cli.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"

#define TASKS_MAX (1u << 22) /* indexes one set may name */

void filter_add_number(uint32_t **numbers, size_t *n, uint32_t number)
{
    *numbers = xrealloc_or_die(*numbers, *n + 1, sizeof(**numbers));
    (*numbers)[(*n)++] = number;
}

void filter_done(Pst__JobFilter *f)
{
    free(f->job_ids);
    free(f->states);
    free(f->uids);
    argwords_free(f->partitions, f->n_partitions);
    argwords_free(f->names, f->n_names);
    argwords_free(f->accounts, f->n_accounts);
    argwords_free(f->qos, f->n_qos);
    argwords_free(f->reservations, f->n_reservations);
    free(f->nodes);
    pst__job_filter__init(f);
}

void filter_add_users(uint32_t **uids, size_t *n, const char *list, void (*bad)(const char *word))
{
    char **words = NULL;
    size_t count = 0;

    argwords_add(&words, &count, list);
    for (size_t i = 0; i < count; i++) {
        uint32_t uid;

        if (user_id_of(words[i], &uid) < 0) {
            bad(words[i]);
            uid = FILTER_NO_UID;
        }
        filter_add_number(uids, n, uid);
    }
    argwords_free(words, count);
}

/* States of other clusters' jobs and of stages that jobs here do not pass: known words that no job
 * matches. */
#define FOREIGN_STATE (1u << 31)
_Static_assert(NAMES_JOB_FLAGS < 31, "no job flag has the bit");

static bool is_foreign_state(const char *word)
{
    static const char *const words[] = { "requeue_fed", "RF", "stage_out", "SO" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(word, words[i]) == 0)
            return true;
    return false;
}

int filter_parse_states(const char *list, struct filter_states *ret, char **ret_bad)
{
    struct filter_states s = { 0 };
    char **words = NULL;
    size_t n = 0;
    int r = 0;

    argwords_add(&words, &n, list);
    for (size_t i = 0; i < n && r == 0; i++) {
        struct names_job_match m;

        if (strcasecmp(words[i], "all") == 0) {
            s.all = true;
        } else if (is_foreign_state(words[i])) {
            s.flags |= FOREIGN_STATE;
        } else if (strcasecmp(words[i], "launch_failed") ==
                       0 || /* a flag, and no state to ask for */
                   names_job_state_parse(words[i], &m) < 0) {
            *ret_bad = xstrdup_or_die(words[i]);
            r = -EINVAL;
        } else if (m.is_flag) {
            s.flags |= 1u << m.number;
        } else {
            s.base |= 1u << m.number;
        }
    }
    argwords_free(words, n);
    if (r == 0)
        *ret = s;
    return r;
}

bool filter_state_match(const struct filter_states *s, unsigned state, uint32_t flags)
{
    return s->all || (state < 32 && (s->base >> state & 1)) || (s->flags & flags);
}

const char *filter_state_words(void)
{
    return "pending,running,suspended,completed,cancelled,failed,timeout,node_fail,preempted,boot_"
           "fail,"
           "deadline,out_of_memory,completing,configuring,expediting,resizing,resv_del_hold,"
           "requeued,"
           "requeue_fed,requeue_hold,revoked,signaling,special_exit,stage_out,stopped";
}

void filter_add_ids(char ***words, size_t *n, const char *list)
{
    while (*list) {
        size_t len = 0;
        int depth = 0;

        for (; list[len] && (depth || (list[len] != ',' && list[len] != ' ')); len++)
            depth += list[len] == '[' ? 1 : list[len] == ']' ? -1 : 0;
        if (len) {
            *words = xrealloc_or_die(*words, *n + 1, sizeof(**words));
            (*words)[(*n)++] = xasprintf_or_die("%.*s", (int)len, list);
        }
        list += len + (list[len] != '\0');
    }
}

int filter_parse_ids(const char *list, struct filter_ids *ret, struct err *err)
{
    struct filter_ids f = { 0 };
    char **words = NULL;
    size_t n = 0;
    int r = 0;

    filter_add_ids(&words, &n, list);
    f.ids = xmalloc_or_die((n + 1) * sizeof(*f.ids));
    while (f.n < n && (r = ids_parse(words[f.n], &f.ids[f.n], err)) == 0)
        f.n++;
    argwords_free(words, n);
    if (r < 0) {
        filter_ids_done(&f);
        return r;
    }
    *ret = f;
    return 0;
}

/* The first of the words that names no job; what is wrong with it is told when it begins with a
 * digit. */
_Noreturn static void refuse_ids(const char *list)
{
    char **words = NULL;
    size_t n = 0, at = 0;

    filter_add_ids(&words, &n, list);
    for (struct ids ids; at + 1 < n && ids_parse(words[at], &ids, NULL) == 0; at++)
        ids_done(&ids);
    if (n && isdigit((unsigned char)*words[at]))
        cli_fatal("Bad job/step specified: %s: %s", words[at], ids_mistake(words[at]));
    cli_fatal("Bad job/step specified: %s", n ? words[at] : list);
}

int filter_take_ids(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct filter_ids more = { 0 };

    (void)opt, (void)err;
    if (filter_parse_ids(arg, &more, NULL) < 0)
        refuse_ids(arg);
    filter_ids_join(at, &more);
    return 0;
}

void filter_ids_done(struct filter_ids *f)
{
    for (size_t i = 0; i < f->n; i++)
        ids_done(&f->ids[i]);
    free(f->ids);
    *f = (struct filter_ids){ 0 };
}

void filter_ids_join(struct filter_ids *f, struct filter_ids *more)
{
    if (!more->n)
        return;
    f->ids = xrealloc_or_die(f->ids, f->n + more->n, sizeof(*f->ids));
    memcpy(f->ids + f->n, more->ids, more->n * sizeof(*f->ids));
    f->n += more->n;
    free(more->ids);
    *more = (struct filter_ids){ 0 };
}

bool filter_by_ids_only(const Pst__JobFilter *f)
{
    return !f->n_accounts && !f->n_names && !f->n_partitions && !f->n_qos && !f->n_reservations &&
           !f->n_uids && !f->nodes;
}

static bool task_match(const struct ids *id, bool has_task, uint32_t task)
{
    if (id->has_het && id->het_offset && has_task)
        return false; /* a task is no component, whatever its number */
    switch (id->array) {
    case IDS_ONE_TASK:
        return has_task && id->task_id == task;
    case IDS_TASK_SET:
        return has_task && ids_set_has(id->task_set, task);
    case IDS_NO_TASK:
    case IDS_ALL_TASKS:
    default:
        return true;
    }
}

static bool job_match(const struct ids *id, uint32_t job_id, uint32_t array_job_id)
{
    if (id->has_het && !array_job_id) /* the first of a job without components is the job */
        return job_id == id->job_id && id->het_offset == 0;
    if (id->has_het)
        return array_job_id == id->job_id && job_id == id->job_id + id->het_offset;
    return id->job_id == job_id || (array_job_id && id->job_id == array_job_id);
}

bool filter_ids_match(const struct filter_ids *f, uint32_t job_id, uint32_t array_job_id,
                      bool has_task, uint32_t task)
{
    for (size_t i = 0; i < f->n; i++)
        if (job_match(&f->ids[i], job_id, array_job_id) && task_match(&f->ids[i], has_task, task))
            return true;
    return f->n == 0;
}

bool filter_ids_match_whole(const struct filter_ids *f, uint32_t job_id, uint32_t array_job_id)
{
    return filter_ids_match(f, job_id, array_job_id, false, 0);
}

bool filter_ids_match_step(const struct filter_ids *f, uint32_t job_id, uint32_t array_job_id,
                           bool has_task, uint32_t task, uint32_t step_id)
{
    for (size_t i = 0; i < f->n; i++)
        if (job_match(&f->ids[i], job_id, array_job_id) && task_match(&f->ids[i], has_task, task) &&
            (!f->ids[i].has_step || f->ids[i].step_id == step_id))
            return true;
    return f->n == 0;
}

void filter_ids_numbers(const struct filter_ids *f, uint32_t **numbers, size_t *n)
{
    for (size_t i = 0; i < f->n; i++)
        filter_add_number(numbers, n,
                          f->ids[i].job_id + (f->ids[i].has_het ? f->ids[i].het_offset : 0));
}

static const char *read_number(const char *p, uint64_t *ret)
{
    *ret = 0;
    for (; isdigit((unsigned char)*p); p++)
        if (*ret <= UINT32_MAX)
            *ret = *ret * 10 + (uint64_t)(*p - '0');
    return p;
}

int filter_each_task(const char *set, int (*fn)(void *ctx, uint32_t task), void *ctx)
{
    uint32_t count = 0;

    for (const char *p = set; isdigit((unsigned char)*p);) {
        uint64_t first, last, step = 1;

        p = read_number(p, &first);
        last = first;
        if (*p == '-')
            p = read_number(p + 1, &last);
        if (*p == ':')
            p = read_number(p + 1, &step);
        for (uint64_t i = first; i <= last && i < UINT32_MAX; i += step ? step : 1) {
            int r = fn(ctx, (uint32_t)i);

            if (r < 0)
                return r;
            if (++count > TASKS_MAX)
                return -E2BIG;
        }
        p += *p == ',';
    }
    return 0;
}

static bool group_listed(const char *list, gid_t gid)
{
    _cleanup_free_ char *name = NULL;

    return groups_name(gid, &name) == 0 && wordlist_has_nocase(list, name);
}

bool filter_partition_hidden(const Pst__PartitionRecord *p)
{
    _cleanup_free_ gid_t *gids = NULL;
    bool hidden = p->hidden || (p->allow_groups && geteuid() != 0);
    int n;

    if (p->hidden || !hidden || group_listed(p->allow_groups, getegid()))
        return p->hidden;
    n = getgroups(0, NULL);
    gids = xmalloc_or_die((size_t)(n > 0 ? n : 1) * sizeof(*gids));
    n = getgroups(n > 0 ? n : 1, gids);
    for (int i = 0; i < n && hidden; i++)
        hidden = !group_listed(p->allow_groups, gids[i]);
    return hidden;
}
