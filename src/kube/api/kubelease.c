/* kubelease.c - see kubelease.h */
#include "kube/api/kubelease.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"

#define DURATION_S 15

struct kubelease {
    struct kubeserver *s;
    struct kubeloop *loop;
    struct kubelease_options o;
    bool held, ending, giving; /* kubelease_end(), kubelease_give_back() were called */
    int64_t asked_us;          /* when the request under way was made */
    int64_t renewed_us;        /* when the one that last succeeded was */
    char seen[64];             /* the version that others hold the lease with, */
    int64_t seen_us;           /* and since when we know it */
    struct kubetimer renew, expire;
};

static struct kubeapi_target target_of(const struct kubelease *l, bool one)
{
    return (struct kubeapi_target){ &kubekind_leases, l->o.namespace_, one ? l->o.name : NULL,
                                    NULL };
}

bool kubelease_is_held(const struct kubelease *l)
{
    return l->held;
}

static int64_t duration_us(const struct kubelease *l)
{
    return (int64_t)l->o.duration_s * USEC_PER_SEC;
}

static void change_role(struct kubelease *l, bool held)
{
    if (l->held == held)
        return;
    l->held = held;
    log_info("lease %s: %s", l->o.name, held ? "held" : "lost");
    l->o.changed(l->o.ctx, held);
}

/* A third is left until others may take it. */
static void step_down(void *ctx)
{
    change_role(ctx, false);
}

static void ask_again(struct kubelease *l)
{
    if (!l->ending || l->giving)
        kubeloop_arm(l->loop, &l->renew, now_mono_us() + duration_us(l) / 6);
}

static void take_renewed(void *ctx, const struct kubereply *reply)
{
    struct kubelease *l = ctx;

    if (reply->status == 200 || reply->status == 201) {
        l->renewed_us = l->asked_us;
        if (now_mono_us() < l->renewed_us + duration_us(l) * 2 / 3) {
            kubeloop_arm(l->loop, &l->expire, l->renewed_us + duration_us(l) * 2 / 3);
            change_role(l, true);
        }
    }
    ask_again(l);
}

static int write_spec(const struct kubelease *l, json_t *lease)
{
    json_t *spec = json_object_get(lease, "spec");
    const char *holder = kubejson_text(spec, "holderIdentity");
    int64_t turns = kubejson_int(spec, "leaseTransitions", 0);
    bool was_held = *kubejson_text(spec, "acquireTime") != '\0';
    char stamp[40];

    kubejson_stamp(now_us(), true, stamp, sizeof(stamp));
    if (!spec && json_object_set_new(lease, "spec", spec = json_object()) < 0)
        return -ENOMEM;
    if (strcmp(holder, l->o.identity) != 0 &&
        (json_object_set_new(spec, "leaseTransitions", json_integer(turns + was_held)) < 0 ||
         json_object_set_new(spec, "acquireTime", json_string(stamp)) < 0))
        return -ENOMEM;
    return json_object_set_new(spec, "holderIdentity", json_string(l->o.identity)) < 0 ||
                   json_object_set_new(spec, "leaseDurationSeconds",
                                       json_integer(l->o.duration_s)) < 0 ||
                   json_object_set_new(spec, "renewTime", json_string(stamp)) < 0
               ? -ENOMEM
               : 0;
}

static void make_lease(struct kubelease *l)
{
    const struct kubeapi_target t = target_of(l, false);
    _cleanup_json_ json_t *lease =
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "coordination.k8s.io/v1", "kind",
                  "Lease", "metadata", "name", l->o.name, "namespace", l->o.namespace_);

    if (!lease || write_spec(l, lease) < 0 || kubeapi_create(l->s, &t, lease, take_renewed, l) < 0)
        ask_again(l);
}

/* May we take the lease that others hold? */
static bool has_run_out(struct kubelease *l, const json_t *lease)
{
    int64_t seconds = kubejson_int(lease, "spec.leaseDurationSeconds", l->o.duration_s);

    if (strcmp(l->seen, kubejson_version(lease)) != 0) {
        (void)snprintf(l->seen, sizeof(l->seen), "%s", kubejson_version(lease));
        l->seen_us = now_mono_us();
    }
    if (!*kubejson_text(lease, "spec.holderIdentity"))
        return true;
    seconds = seconds < 1 || seconds > 3600 ? l->o.duration_s : seconds;
    return now_mono_us() >= l->seen_us + seconds * USEC_PER_SEC;
}

static void take_given(void *ctx, const struct kubereply *reply)
{
    struct kubelease *l = ctx;

    if (reply->status != 200) {
        ask_again(l);
        return;
    }
    kubeloop_disarm(l->loop, &l->expire);
    l->held = false;
    log_info("lease %s: given back", l->o.name);
}

/* Nobody holds it, as from now. */
static int write_empty(json_t *lease)
{
    json_t *spec = json_object_get(lease, "spec");
    char stamp[40];

    kubejson_stamp(now_us(), true, stamp, sizeof(stamp));
    return json_object_set_new(spec, "holderIdentity", json_string("")) < 0 ||
                   json_object_set_new(spec, "leaseDurationSeconds", json_integer(1)) < 0 ||
                   json_object_set_new(spec, "acquireTime", json_string(stamp)) < 0 ||
                   json_object_set_new(spec, "renewTime", json_string(stamp)) < 0
               ? -ENOMEM
               : 0;
}

static void give_lease(struct kubelease *l, json_t *lease)
{
    const struct kubeapi_target t = target_of(l, true);

    if (write_empty(lease) < 0 || kubeapi_replace(l->s, &t, lease, take_given, l) < 0)
        ask_again(l);
}

static void take_lease(void *ctx, const struct kubereply *reply)
{
    struct kubelease *l = ctx;
    const struct kubeapi_target t = target_of(l, true);
    _cleanup_json_ json_t *lease = NULL;

    if (reply->status == 404 && !l->giving) {
        make_lease(l);
        return;
    }
    if (reply->status != 200) {
        ask_again(l);
        return;
    }
    if (strcmp(kubejson_text(reply->body, "spec.holderIdentity"), l->o.identity) != 0) {
        change_role(l, false);
        if (!has_run_out(l, reply->body)) {
            ask_again(l);
            return;
        }
    }
    lease = json_deep_copy(reply->body);
    if (l->giving && lease) {
        give_lease(l, lease);
        return;
    }
    if (!lease || write_spec(l, lease) < 0 || kubeapi_replace(l->s, &t, lease, take_renewed, l) < 0)
        ask_again(l);
}

static void ask_lease(void *ctx)
{
    struct kubelease *l = ctx;
    const struct kubeapi_target t = target_of(l, true);

    l->asked_us = now_mono_us();
    if (kubeapi_get(l->s, &t, take_lease, l) < 0)
        ask_again(l);
}

int kubelease_new(struct kubeserver *s, const struct kubelease_options *o, struct kubelease **ret)
{
    struct kubelease *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->s = s;
    l->loop = kubeserver_loop(s);
    l->o = *o;
    l->o.duration_s = o->duration_s ? o->duration_s : DURATION_S;
    l->renew = (struct kubetimer){ .fn = ask_lease, .ctx = l };
    l->expire = (struct kubetimer){ .fn = step_down, .ctx = l };
    kubeloop_arm(l->loop, &l->renew, now_mono_us());
    *ret = l;
    return 0;
}

struct kubelease *kubelease_free(struct kubelease *l)
{
    if (!l)
        return NULL;
    kubeloop_disarm(l->loop, &l->renew);
    kubeloop_disarm(l->loop, &l->expire);
    free(l);
    return NULL;
}

void kubelease_end(struct kubelease *l)
{
    l->ending = true;
    kubeloop_disarm(l->loop, &l->renew);
}

void kubelease_give_back(struct kubelease *l)
{
    l->giving = true;
    if (l->held)
        kubeloop_arm(l->loop, &l->renew, now_mono_us());
}
