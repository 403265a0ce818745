/* doctorask.c - see doctorask.h */
#include "kube/doctor/doctorask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define TIMEOUT_MS 10000

struct wait {
    struct doctoranswer *answer;
    bool done;
};

static void take_answer(void *ctx, const struct kubereply *reply)
{
    struct wait *w = ctx;

    w->answer->status = reply->status;
    w->answer->body = json_incref((json_t *)(uintptr_t)reply->body);
    (void)snprintf(w->answer->text, sizeof(w->answer->text), "%s", reply->text);
    w->done = true;
}

void doctorask_path(struct doctorask *a, const char *method, const char *path, const json_t *body,
                    struct doctoranswer *ret)
{
    struct wait w = { .answer = ret };
    const struct kubecall_spec spec = { .method = method,
                                        .path = path,
                                        .body = body,
                                        .timeout_ms = TIMEOUT_MS,
                                        .done = take_answer,
                                        .ctx = &w };

    *ret = (struct doctoranswer){ 0 };
    if (kubecall_start(a->server, &spec, NULL) < 0) {
        (void)snprintf(ret->text, sizeof(ret->text), ERR_NOMEM);
        return;
    }
    while (!w.done && kubeloop_turn(a->loop, 1000) == 0)
        continue;
}

void doctorask_get(struct doctorask *a, const struct kubeapi_target *t, struct doctoranswer *ret)
{
    _cleanup_free_ char *path = NULL;
    int r = kubeapi_path(t, NULL, &path);

    *ret = (struct doctoranswer){ 0 };
    if (r < 0)
        (void)snprintf(ret->text, sizeof(ret->text), "%s",
                       r == -EINVAL ? "a name that cannot be in a path" : ERR_NOMEM);
    else
        doctorask_path(a, "GET", path, NULL, ret);
}

void doctoranswer_done(struct doctoranswer *r)
{
    json_decref(r->body);
    *r = (struct doctoranswer){ 0 };
}
