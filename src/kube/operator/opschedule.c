/* opschedule.c - see opschedule.h */
#include "kube/operator/opschedule.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/nodeset/nssched.h"
#include "kube/operator/opapply.h"
#include "kube/operator/opclient.h"

#define AGAIN_S 10
#define NO_RESERVATION 2053 /* slurmctld's word for one that is not there */

static void wake_after(struct opwork *w, int64_t s)
{
    if (s > 0 && (!w->wake_s || s < w->wake_s))
        w->wake_s = s;
}

/* The finalizers of the set with ours, or without it.  The version says that no other changed them
 * meanwhile. */
static void change_finalizer(struct opwork *w, bool hold)
{
    const struct kubekind *kind = &w->f.group->kinds[OPKIND_NODESET];
    _cleanup_json_ json_t *list = json_array(), *body = NULL;
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(w->raw, "metadata.finalizers"), i, one)
    {
        if (strcmp(json_string_value(one) ? json_string_value(one) : "", NSSCHED_FINALIZER) != 0)
            (void)json_array_append(list, one);
    }
    if (hold)
        (void)json_array_append_new(list, json_string(NSSCHED_FINALIZER));
    body = json_pack("{s:{s:s, s:O}}", "metadata", "resourceVersion", kubejson_version(w->raw),
                     "finalizers", list);
    if (body)
        opapply_patch(w, kind, w->raw, NULL, KUBEAPI_MERGE, body);
    else
        opapply_fail(w, ERR_NOMEM);
}

static bool is_answered(const struct kubereply *reply)
{
    return reply->status == 200 && json_array_size(json_object_get(reply->body, "errors")) == 0;
}

static void take_changed(void *ctx, const struct kubereply *reply)
{
    struct oprequest *m = ctx;
    const json_t *first = json_array_get(json_object_get(reply->body, "errors"), 0);
    const char *said = kubejson_text(first, "error");
    char text[400];

    if (!is_answered(reply)) {
        (void)snprintf(text, sizeof(text), "slurmrestd: reservation %.200s: %.150s",
                       kubejson_text(m->act, "name"), *said ? said : reply->text);
        m->w->denied = m->w->denied || kubereply_is_slurms(reply);
        opapply_fail(m->w, text);
    } else {
        (void)snprintf(text, sizeof(text), "Reservation %.250s is %s",
                       kubejson_text(m->act, "name"), kubejson_text(m->act, "done"));
        log_info("%s/%s: %s", kubejson_namespace(m->w->raw), kubejson_name(m->w->raw), text);
        kubeevents_tell(m->w->op->events, m->w->raw, false, kubejson_text(m->act, "reason"), text);
        wake_after(m->w, 1); /* is that all? */
    }
    opapply_end(m);
}

static void change_reservation(struct opwork *w, struct slurmnodes *l, enum nssched_act act,
                               const char *nodes)
{
    _cleanup_json_ json_t *body =
        act == NSSCHED_DROP ? NULL : nssched_body(act, w->cr, nodes, w->op->o.slurm_user);
    struct oprequest *m = opapply_begin(w, NULL, NULL);
    const char *reason = "ReservationChanged", *done = "given other nodes";
    char name[NSSCHED_NAME];

    if (act == NSSCHED_DROP) {
        reason = "ReservationDeleted";
        done = "deleted";
    } else if (act == NSSCHED_MAKE) {
        reason = "ReservationCreated";
        done = "made";
    }
    nssched_name(w->raw, name);
    if (!m)
        return;
    m->act = json_pack("{s:s, s:s, s:s}", "name", name, "done", done, "reason", reason);
    if ((act != NSSCHED_DROP && !body) ||
        slurmnodes_reservation(l, act == NSSCHED_DROP ? "DELETE" : "POST", name, body, take_changed,
                               m) < 0) {
        opapply_fail(w, ERR_NOMEM);
        opapply_end(m);
    }
}

/* The reservation of the name; false: it is not known whether there is one. */
static bool find_reservation(const struct kubereply *reply, const char *name, const json_t **ret)
{
    const json_t *first = json_array_get(json_object_get(reply->body, "errors"), 0);
    size_t i;
    json_t *one;

    *ret = NULL;
    if (first)
        return kubereply_slurm_error(reply) == NO_RESERVATION;
    if (reply->status != 200)
        return false;
    json_array_foreach(json_object_get(reply->body, "reservations"), i, one)
    {
        if (strcmp(kubejson_text(one, "name"), name) == 0)
            *ret = one;
    }
    return json_is_array(json_object_get(reply->body, "reservations"));
}

static void take_reservation(void *ctx, const struct kubereply *reply)
{
    struct oprequest *m = ctx;
    struct opwork *w = m->w;
    struct slurmnodes *l = w->controller ? opclient_get(w->op, &w->f) : NULL;
    bool wanted = kubejson_true(m->act, "wanted");
    const char *nodes = kubejson_text(m->act, "nodes");
    int64_t now_s = now_us() / USEC_PER_SEC;
    enum nssched_act act = NSSCHED_REST;
    const json_t *have;

    if (find_reservation(reply, kubejson_text(m->act, "name"), &have)) {
        w->reservation = have ? OPRESERVATION_THERE : OPRESERVATION_NONE;
        opapply_reservation(w);
        act = nssched_decide(w->raw, wanted, have, nodes, now_s);
    } else {
        wake_after(w, AGAIN_S); /* the condition stays as it was */
    }
    if (l && have && wanted && kubejson_int(have, "start_time.number", INT64_MAX) <= now_s) {
        slurmnodes_refresh(l); /* no change is told when a reservation begins */
        wake_after(w, AGAIN_S);
    }
    if (act == NSSCHED_HOLD || act == NSSCHED_LET_GO)
        change_finalizer(w, act == NSSCHED_HOLD);
    else if (l && act != NSSCHED_REST)
        change_reservation(w, l, act, nodes);
    opapply_end(m);
}

static void ask_reservation(struct opwork *w, struct slurmnodes *l, bool wanted, const char *nodes)
{
    struct oprequest *m = opapply_begin(w, NULL, NULL);
    char name[NSSCHED_NAME];

    nssched_name(w->raw, name);
    if (!m)
        return;
    m->act = json_pack("{s:s, s:s, s:b}", "name", name, "nodes", nodes, "wanted", wanted);
    if (!m->act || slurmnodes_reservation(l, "GET", name, NULL, take_reservation, m) < 0) {
        opapply_fail(w, ERR_NOMEM);
        opapply_end(m);
    }
}

void opschedule_see(struct opwork *w, struct slurmnodes *l, const struct nsview *v)
{
    bool wanted = nssched_is_wanted(w->cr);
    _cleanup_free_ char *nodes = NULL;

    if (!wanted && !kubejson_has_finalizer(w->raw, NSSCHED_FINALIZER)) {
        w->reservation = OPRESERVATION_NONE;
        return;
    }
    if (wanted)
        wake_after(w, nssched_wake_s(w->cr, v->now_us / USEC_PER_SEC));
    if (!l || !v->slurm) {
        wake_after(w, AGAIN_S);
        return;
    }
    nodes = nssched_nodes(v);
    if (nodes)
        ask_reservation(w, l, wanted, nodes);
    else
        opapply_fail(w, ERR_NOMEM);
}

/* A set that has been deleted for long: nobody says what became of its reservation. */
static bool is_abandoned(struct opwork *w)
{
    int64_t since;
    char name[NSSCHED_NAME], text[400];

    if (kubejson_read_stamp(kubejson_text(w->raw, "metadata.deletionTimestamp"), &since) < 0 ||
        now_us() < since + w->op->o.patience_s * USEC_PER_SEC)
        return false;
    nssched_name(w->raw, name);
    (void)snprintf(
        text, sizeof(text),
        "Reservation %.250s may be there yet: slurmrestd has not said that it is deleted", name);
    log_error("%s/%s: %s", kubejson_namespace(w->raw), kubejson_name(w->raw), text);
    kubeevents_tell(w->op->events, w->raw, true, "ReservationLeft", text);
    return true;
}

void opschedule_end(struct opwork *w, struct slurmnodes *l)
{
    if (!kubejson_has_finalizer(w->raw, NSSCHED_FINALIZER))
        return;
    if (!w->controller) { /* its cluster is gone, and the reservation with it */
        change_finalizer(w, false);
        return;
    }
    if (is_abandoned(w)) {
        change_finalizer(w, false);
        return;
    }
    wake_after(w, AGAIN_S);
    if (l)
        ask_reservation(w, l, false, "");
}
