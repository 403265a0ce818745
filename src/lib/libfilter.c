/* libfilter.c - see libfilter.h */
#include "lib/libfilter.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/base/argwords.h"
#include "lib/libhandle.h"
#include "model/words/names.h"

#define PASSWD_BYTES 16384u

void libfilter_init(struct libfilter *f)
{
    *f = (struct libfilter){ 0 };
    pst__job_filter__init(&f->jobs);
}

void libfilter_done(struct libfilter *f)
{
    filter_done(&f->jobs);
    filter_ids_done(&f->ids);
}

/* The name service by its calls for threads. */
static int find_user(const char *word, uint32_t *ret)
{
    _cleanup_free_ char *buffer = malloc(PASSWD_BYTES);
    struct passwd pw, *found = NULL;
    uint64_t number;

    if (!buffer)
        return -ENOMEM;
    if (getpwnam_r(word, &pw, buffer, PASSWD_BYTES, &found) == 0 && found) {
        *ret = found->pw_uid;
        return 0;
    }
    if (parse_u64(word, 0, UINT32_MAX - 1, &number) < 0)
        return -ENOENT;
    *ret = (uint32_t)number;
    return 0;
}

static int add_users(struct libfilter *f, struct penstock *p, const char *value)
{
    char **words = NULL;
    size_t n = 0;
    int r = 0;

    argwords_add(&words, &n, value);
    for (size_t i = 0; i < n && r == 0; i++) {
        uint32_t uid;

        r = find_user(words[i], &uid);
        if (r == 0)
            filter_add_number(&f->jobs.uids, &f->jobs.n_uids, uid);
        else
            r = lib_fail(p, -EINVAL, 0, "unknown user: %.100s", words[i]);
    }
    argwords_free(words, n);
    return r;
}

/* Flags such as COMPLETING stand beside the base states: then every state is asked for. */
static int add_states(struct libfilter *f, struct penstock *p, const char *value)
{
    _cleanup_free_ char *bad = NULL;
    struct filter_states states;

    if (filter_parse_states(value, &states, &bad) < 0)
        return lib_fail(p, -EINVAL, 0, "unknown job state: %.100s", bad ? bad : value);
    f->have_states = true;
    f->states.base |= states.base;
    f->states.flags |= states.flags;
    f->states.all = f->states.all || states.all;
    f->jobs.n_states = 0;
    for (uint32_t i = 0; i < NAMES_JOB_STATES && !f->states.flags && !f->states.all; i++)
        if (f->states.base >> i & 1)
            filter_add_number(&f->jobs.states, &f->jobs.n_states, i);
    return 0;
}

static int add_ids(struct libfilter *f, struct penstock *p, const char *value)
{
    struct filter_ids more = { 0 };
    struct err err = { .text = "" };

    if (filter_parse_ids(value, &more, &err) < 0)
        return lib_fail(p, -EINVAL, 0, "%s", err.text);
    filter_ids_numbers(&more, &f->jobs.job_ids, &f->jobs.n_job_ids);
    filter_ids_join(&f->ids, &more);
    f->have_ids = true;
    return 0;
}

static int set_nodes(struct libfilter *f, struct penstock *p, const char *value)
{
    free(f->jobs.nodes);
    f->jobs.nodes = strdup(value);
    return f->jobs.nodes ? 0 : lib_nomem(p);
}

int libfilter_set(struct libfilter *f, struct penstock *p, const char *name, const char *value)
{
    const struct {
        const char *name;
        char ***words;
        size_t *n;
    } lists[] = {
        { "partition", &f->jobs.partitions, &f->jobs.n_partitions },
        { "name", &f->jobs.names, &f->jobs.n_names },
        { "account", &f->jobs.accounts, &f->jobs.n_accounts },
        { "qos", &f->jobs.qos, &f->jobs.n_qos },
        { "reservation", &f->jobs.reservations, &f->jobs.n_reservations },
    };

    if (strcmp(name, "job") == 0)
        return add_ids(f, p, value);
    if (strcmp(name, "user") == 0)
        return add_users(f, p, value);
    if (strcmp(name, "state") == 0)
        return add_states(f, p, value);
    if (strcmp(name, "node") == 0)
        return set_nodes(f, p, value);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        if (strcmp(name, lists[i].name) == 0) {
            argwords_add(lists[i].words, lists[i].n, value);
            return 0;
        }
    return lib_fail(p, -ENOENT, 0, "jobs are not filtered by %.100s", name);
}

bool libfilter_match_task(const struct libfilter *f, uint32_t job_id, uint32_t array_job_id,
                          bool has_task, uint32_t task)
{
    return !f->have_ids || filter_ids_match(&f->ids, job_id, array_job_id, has_task, task) ||
           filter_ids_match_whole(&f->ids, job_id, array_job_id);
}

bool libfilter_match(const struct libfilter *f, const Pst__JobRecord *job)
{
    uint32_t array = job->has_array_job_id ? job->array_job_id : 0;

    if (f->have_states && !filter_state_match(&f->states, (unsigned)job->state, job->state_flags))
        return false;
    if (!f->have_ids)
        return true;
    return job->array_tasks ? filter_ids_match_whole(&f->ids, job->job_id, array) ||
                                  filter_ids_match(&f->ids, job->job_id, array, false, 0)
                            : filter_ids_match(&f->ids, job->job_id, array, job->has_array_task_id,
                                               job->array_task_id);
}
