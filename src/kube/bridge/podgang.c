/* podgang.c - see podgang.h */
#include "kube/bridge/podgang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"

static int compare_names(const char *a, const char *b)
{
    return strverscmp(a, b); /* w-2 before w-10 */
}

static int compare_pods(const void *a, const void *b)
{
    const json_t *one = *(json_t *const *)a, *two = *(json_t *const *)b;
    int64_t x = podread_rank(one), y = podread_rank(two);

    return x != y ? (x < y ? -1 : 1) : compare_names(kubejson_name(one), kubejson_name(two));
}

void podgang_sort(json_t *pods)
{
    size_t n = json_array_size(pods);
    json_t **order = n > 1 ? malloc(n * sizeof(json_t *)) : NULL;

    if (!order)
        return; /* any order places them all */
    for (size_t i = 0; i < n; i++)
        order[i] = json_incref(json_array_get(pods, i));
    qsort(order, n, sizeof(json_t *), compare_pods);
    for (size_t i = 0; i < n; i++)
        (void)json_array_set_new(pods, i, order[i]); /* in its place: it cannot fail */
    free(order);
}

bool podgang_has_pod(const struct slurmjob *job, const json_t *pod)
{
    const char *uid = kubejson_uid(pod);
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(job->comment, "uids"), i,
                       one) if (strcmp(json_string_value(one), uid) == 0) return true;
    return false;
}

bool podgang_owns(const struct slurmjob *job, const char *gang)
{
    return !job->comment || strcmp(kubejson_text(job->comment, "gang"), gang) == 0;
}

bool podgang_is_marked(const struct slurmjob *job, const json_t *pod)
{
    const char *label = kubejson_label(pod, BRIDGE_LABEL_JOB);
    char id[16];

    (void)snprintf(id, sizeof(id), "%u", job->id);
    return label && strcmp(label, id) == 0 && kubejson_has_finalizer(pod, BRIDGE_FINALIZER);
}

int64_t podgang_attempt(const json_t *pods)
{
    int64_t most = 0, n;
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        const char *text = kubejson_annotation(pod, BRIDGE_NOTE_ATTEMPT);

        if (text && parse_i64(text, 0, INT32_MAX, &n) == 0 && n > most)
            most = n;
    }
    return most;
}

struct counts {
    int64_t waiting;  /* of the job, or all when there is none */
    int64_t bound;    /* live, and on a node */
    int64_t unmarked; /* live, of the job */
    int64_t live;     /* waiting, bound, being deleted or gated */
};

/* The pods that the job was made for; without a job all. */
static struct counts count_pods(const struct podgang_view *v)
{
    struct counts n = { 0 };
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod)
    {
        if (podread_is_over(pod) || (v->job && v->job->comment && !podgang_has_pod(v->job, pod)))
            continue;
        n.live++;
        n.waiting += podread_is_waiting(pod);
        n.bound += podread_is_bound(pod);
        n.unmarked += v->job && podread_is_waiting(pod) && !podgang_is_marked(v->job, pod);
    }
    return n;
}

bool podgang_is_placed(const struct podgang_view *v)
{
    struct counts n = count_pods(v);

    return n.bound && n.bound == n.live;
}

static bool is_given_up(const struct podgang_view *v)
{
    return podgang_attempt(v->pods) > kubejson_int(v->job->comment, "attempt", 0);
}

static enum podgang_action decide_without(const struct podgang_view *v)
{
    struct counts n = count_pods(v);

    if (n.waiting == 0 || n.bound)
        return GANG_REST;
    return n.waiting < v->least ? GANG_WAIT : GANG_SUBMIT;
}

static enum podgang_action decide_active(const struct podgang_view *v, const struct counts *n)
{
    int64_t made_for = (int64_t)json_array_size(json_object_get(v->job->comment, "uids"));

    if (n->live == 0 || is_given_up(v))
        return GANG_CANCEL;
    if (n->bound == 0 && n->waiting < made_for)
        return GANG_GIVE_UP; /* one has gone before any was bound: all or none */
    if (n->unmarked)
        return GANG_MARK;
    return v->job->state == SLURMJOB_RUNNING && n->waiting ? GANG_PLACE : GANG_REST;
}

enum podgang_action podgang_decide(const struct podgang_view *v)
{
    struct counts n;

    if (!v->job)
        return decide_without(v);
    n = count_pods(v);
    switch (v->job->state) {
    case SLURMJOB_PENDING:
    case SLURMJOB_RUNNING:
        if (v->job->missed_us)
            return GANG_ASK; /* once it was said not to be there: only a second time counts */
        return v->job->comment ? decide_active(v, &n) : GANG_REST;
    case SLURMJOB_ENDED:
    case SLURMJOB_GONE:
        if (v->job->comment && is_given_up(v) && !n.bound)
            return GANG_AGAIN;
        return n.live ? GANG_END : GANG_AGAIN;
    default:
        return GANG_ASK;
    }
}

bool podgang_lets_go(const struct podgang_view *v, const json_t *pod)
{
    struct counts n;

    if (!kubejson_has_finalizer(pod, BRIDGE_FINALIZER) || !podread_is_over(pod))
        return false;
    if (!v->job || v->job->state == SLURMJOB_ENDED || v->job->state == SLURMJOB_GONE)
        return true;
    if (v->job->state == SLURMJOB_UNKNOWN || !v->job->comment)
        return false;
    n = count_pods(v);
    return n.live > 0 && n.bound > 0; /* the last one waits for the job's end */
}
