/* nsoverdue.c - see nsoverdue.h */
#include "kube/nodeset/nsoverdue.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/make/opkeys.h"
#include "kube/nodeset/nspod.h"

#define STAMP_SIZE 40
#define LONG_AGO_US (INT64_C(86400) * USEC_PER_SEC) /* what operators write who know no time */

/* A wait: since when, 0 for none, and what is waited for. */
struct wait {
    int64_t since_us;
    char text[NSOVERDUE_TEXT];
};

static int64_t read_stamp(const json_t *object, const char *path)
{
    int64_t us;

    return kubejson_read_stamp(kubejson_text(object, path), &us) < 0 || us < LONG_AGO_US ? 0 : us;
}

static void say_wait(struct wait *w, const struct nspod *p, int64_t since_us, const char *what,
                     const char *why)
{
    char stamp[STAMP_SIZE];

    kubejson_stamp(since_us, false, stamp, sizeof(stamp));
    w->since_us = since_us;
    (void)snprintf(w->text, sizeof(w->text), "Pod %.100s %s since %s%s%.200s",
                   kubejson_name(p->pod), what, stamp, *why ? ": " : "", why);
}

/* Why no container has started: what the scheduler or a kubelet said. */
static void say_start(struct wait *w, const struct nspod *p)
{
    int64_t since = read_stamp(p->pod, "metadata.creationTimestamp");
    const char *why = "";
    size_t i;
    json_t *one;

    if (!since)
        return;
    if (!*kubejson_text(p->pod, "spec.nodeName")) {
        say_wait(w, p, since, "has no node",
                 kubejson_text(kubejson_condition(p->pod, "PodScheduled"), "message"));
        return;
    }
    json_array_foreach(kubejson_at(p->pod, "status.containerStatuses"), i, one)
    {
        const char *reason = kubejson_text(one, "state.waiting.reason");

        if (*reason && !*why)
            why = reason;
    }
    say_wait(w, p, since, "has not started", why);
}

/* It is to go: jobs hold it, as long as they may. */
static void say_drain(struct wait *w, const struct nspod *p)
{
    int64_t since = kubejson_int(p->slurm, "reason_changed_at.number", 0) * USEC_PER_SEC;

    if (!since || p->deadline_s == INT64_MAX || !nspod_is_ours(p) ||
        !strstr(nspod_reason(p), NSDECIDE_ENDS) || !nspod_has_state(p, "DRAIN"))
        return;
    say_wait(w, p, MAX(since, p->deadline_s * USEC_PER_SEC), "is to go, and has jobs to end",
             "its node in Slurm is not free");
}

static void read_wait(const struct nspod *p, struct wait *w)
{
    w->since_us = 0;
    if (p->ending) {
        int64_t since = read_stamp(p->pod, "metadata.deletionTimestamp");

        if (since)
            say_wait(w, p, since, "was to have ended", "its node or a finalizer holds it");
    } else if (p->finished) {
        return;
    } else if (!p->begun) {
        say_start(w, p);
    } else if (!p->ready) {
        int64_t since = p->ready_us ? p->ready_us : read_stamp(p->pod, "status.startTime");

        if (since)
            say_wait(w, p, since, "is not ready", p->slurm ? nspod_reason(p) : "");
    } else if (p->slurm) {
        say_drain(w, p);
    }
}

bool nsoverdue_find(const struct nsview *v, char text[static NSOVERDUE_TEXT], int64_t *ret_wake_s)
{
    int64_t longest = 0, next = 0;
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod)
    {
        struct nspod p;
        struct wait w;
        int64_t due;

        nspod_read(v, pod, &p);
        read_wait(&p, &w);
        if (!w.since_us)
            continue;
        due = w.since_us + v->patience_s * USEC_PER_SEC;
        if (due > v->now_us) {
            next = next && next < due ? next : due;
        } else if (!longest || w.since_us < longest) {
            longest = w.since_us;
            (void)snprintf(text, NSOVERDUE_TEXT, "%s", w.text);
        }
    }
    *ret_wake_s = next ? (next - v->now_us) / USEC_PER_SEC + 1 : 0;
    return longest != 0;
}
