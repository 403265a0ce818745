/* podswait.c - see podswait.h */
#include "kube/doctor/podswait.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"

#define TURN_MS 250

int podswait_count(const json_t *list, struct podswait_counts *ret)
{
    const json_t *items = json_object_get(list, "items");
    struct podswait_counts n = { 0 };
    size_t i;
    json_t *pod;

    if (!json_is_array(items) && !(json_is_null(items) && *kubejson_version(list)))
        return -EINVAL;
    json_array_foreach(items, i, pod)
    {
        if (podread_is_over(pod))
            continue;
        n.there += podread_is_bound(pod);
        n.coming += !podread_is_bound(pod);
    }
    *ret = n;
    return 0;
}

static void ask_once(struct doctorask *a, const char *path, struct podswait_counts *counts)
{
    struct doctoranswer answer;

    doctorask_path(a, "GET", path, NULL, &answer);
    if (answer.status != 200 || podswait_count(answer.body, counts) < 0) {
        log_seldom(LOG_ERROR, "pods: %d %s", answer.status, answer.text);
        *counts = (struct podswait_counts){ .there = 1 }; /* as far as anybody knows */
    }
    doctoranswer_done(&answer);
}

int podswait_run(struct doctorask *a, uint32_t job, int64_t limit_us)
{
    const struct kubeapi_target pods = { &kubekind_pods, NULL, NULL, NULL, false };
    int64_t begun = now_mono_us();
    _cleanup_free_ char *path = NULL;
    char query[120];
    int r;

    (void)snprintf(query, sizeof(query), "labelSelector=%s%%3D%u", BRIDGE_LABEL_JOB, job);
    r = kubeapi_path(&pods, query, &path);
    if (r < 0)
        return r;
    for (;;) {
        struct podswait_counts counts;
        int64_t waited;

        ask_once(a, path, &counts);
        waited = now_mono_us() - begun;
        if (!counts.there && (!counts.coming || waited >= PODSWAIT_COMING_US))
            return 0;
        if (waited >= limit_us)
            return -ETIME;
        for (int64_t until = now_mono_us() + TURN_MS * 1000; now_mono_us() < until;)
            if (kubeloop_turn(a->loop, TURN_MS) < 0)
                return -EIO;
    }
}
