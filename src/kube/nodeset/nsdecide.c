/* nsdecide.c - see nsdecide.h
 *
 * Drain first: a pod that must go is deleted when its node in Slurm is drained, and then only after
 * Slurm was asked again ("ask").  Pods whose containers have not run hold no job, unless Slurm
 * knows their nodes. */
#include "kube/nodeset/nssched.h"
#include "kube/nodeset/nsdecide.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/nodeset/nsclaims.h"
#include "kube/nodeset/nspin.h"
#include "kube/nodeset/nsprune.h"
#include "kube/make/mkworkers.h"
#include "kube/make/nodefit.h"
#include "kube/nodeset/nspod.h"
#include "kube/make/opkeys.h"
#include "kube/make/opspec.h"

#define AT_ONCE 250u /* pods made or deleted in one pass */
#define MISSED_S 30  /* a worker that Slurm does not know for so long is made anew */
#define REASON_MOST 256u
#define DRAIN_AGAIN_S 30

struct plan {
    const struct nsview *v;
    struct nspod *pods;
    size_t n;
    json_t *names; /* of pods -> place among them */
    json_t *acts;
    unsigned changes; /* pods made and deleted */
    int64_t wake_s;
};

static void wake_after(struct plan *p, int64_t s)
{
    if (!p->wake_s || s < p->wake_s)
        p->wake_s = MAX(s, 1);
}

static bool is_daemon(const struct nsview *v)
{
    return strcmp(kubejson_text(v->f->cr, "spec.scalingMode"), "DaemonSet") == 0;
}

static bool is_live(const struct nspod *p)
{
    return !p->ending && !p->finished;
}

static bool is_kept(const struct nspod *p)
{
    return is_live(p) && !p->condemned;
}

/* ---- which pods must go ---------------------------------------------------------------------- */

static void condemn_wrong_mode(struct plan *p)
{
    const char *mode = kubejson_text(p->v->f->cr, "spec.scalingMode");

    for (size_t i = 0; i < p->n; i++) {
        const char *have = kubejson_label(p->pods[i].pod, OPKEY_MODE);

        if (is_live(&p->pods[i]) && have && strcmp(have, mode) != 0)
            p->pods[i].condemned = "scaling-mode";
    }
}

/* Pods are in order of removal. */
static void condemn_excess(struct plan *p)
{
    int64_t excess = -kubejson_int(p->v->f->cr, "spec.replicas", 1);

    for (size_t i = 0; i < p->n; i++)
        excess += is_kept(&p->pods[i]);
    for (size_t i = 0; i < p->n && excess > 0; i++)
        if (is_kept(&p->pods[i])) {
            p->pods[i].condemned = "scale-in";
            excess--;
        }
}

/* The pods that nodes want, name to node. */
static json_t *wanted_pods(const struct nsview *v, bool stays)
{
    const json_t *spec = kubejson_at(v->f->cr, "spec.template.spec");
    json_t *wanted = json_object(), *node;
    const char *name;

    json_object_foreach((json_t *)(uintptr_t)v->nodes, name, node)
    {
        char pod[300];

        mkworkers_node_name(v->f->cr, name, pod, sizeof(pod));
        if (nodefit_fits(spec, node, stays))
            (void)json_object_set(wanted, pod, node); /* or at the next pass */
    }
    return wanted;
}

static void condemn_without_node(struct plan *p)
{
    _cleanup_json_ json_t *wanted = wanted_pods(p->v, true);

    for (size_t i = 0; i < p->n; i++)
        if (is_kept(&p->pods[i]) && !json_object_get(wanted, kubejson_name(p->pods[i].pod)))
            p->pods[i].condemned = "scale-in";
}

/* Old pods that do not work, and those whose nodes the reservation has. */
static void condemn_scheduled(struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct nspod *one = &p->pods[i];

        if (is_kept(one) && !one->current &&
            (!one->ready || (one->slurm && nssched_has_node(p->v->f->cr, one->slurm))))
            one->condemned = "update";
    }
}

/* Old pods that do not work cost nothing; of those that do as many go as may be missing. */
static void condemn_old(struct plan *p)
{
    const json_t *cr = p->v->f->cr;
    int64_t desired = kubejson_int(cr, "spec.replicas", 1), budget, kept = 0;

    if (nssched_is_wanted(cr)) {
        condemn_scheduled(p);
        return;
    }
    if (strcmp(kubejson_text(cr, "spec.updateStrategy.type"), "RollingUpdate") != 0)
        return;
    for (size_t i = 0; i < p->n; i++)
        kept += is_kept(&p->pods[i]);
    if (is_daemon(p->v))
        desired = kept;
    budget = opspec_budget(kubejson_at(cr, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
                           desired) -
             MAX(desired - kept, 0);
    for (size_t i = 0; i < p->n; i++) {
        struct nspod *one = &p->pods[i];

        if (!is_kept(one))
            continue;
        if (!one->current && !one->ready) {
            one->condemned = "update";
            budget--;
        } else if (one->current && !one->available) {
            budget--;
        }
    }
    for (size_t i = 0; i < p->n && budget > 0; i++)
        if (is_kept(&p->pods[i]) && !p->pods[i].current) {
            p->pods[i].condemned = "update";
            budget--;
        }
}

/* A worker that runs, and that slurmctld says it does not know, registers when it is made anew. */
static void condemn_unknown(struct plan *p)
{
    int64_t budget =
        opspec_budget(kubejson_at(p->v->f->cr, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
                      (int64_t)p->n);

    for (size_t i = 0; i < p->n && p->v->slurm; i++) {
        struct nspod *one = &p->pods[i];
        const json_t *missed = json_object_get(p->v->missed, one->name);

        budget -= !one->available;
        if (!is_kept(one) || !one->available || one->slurm || !missed)
            continue;
        if (json_integer_value(missed) < MISSED_S)
            wake_after(p, MISSED_S - json_integer_value(missed));
        else if (budget-- > 0)
            one->condemned = "not registered";
    }
}

/* ---- actions --------------------------------------------------------------------------------- */

static void add_act(struct plan *p, const char *what, const struct nspod *pod, json_t *body)
{
    json_t *act = json_pack("{s:s, s:O*, s:o*, s:s}", "do", what, "pod", pod->pod, "body", body,
                            "name", pod->name);

    (void)mkbase_push(p->acts, act); /* what is missing is done in the next pass */
}

static void delete_pod(struct plan *p, const struct nspod *pod, bool ask, const char *why)
{
    if (p->changes++ >= AT_ONCE) {
        wake_after(p, 1);
        return;
    }
    (void)mkbase_push(p->acts, json_pack("{s:s, s:O, s:s, s:b, s:s}", "do", "delete", "pod",
                                         pod->pod, "name", pod->name, "ask", ask, "why", why));
}

static void drain_node(struct plan *p, const struct nspod *pod, const char *reason)
{
    char whole[REASON_MOST + 64];

    (void)snprintf(whole, sizeof(whole), OPKEY_REASON "%s", reason);
    if (nspod_has_state(pod, "DRAIN") && !nspod_has_state(pod, "UNDRAIN") &&
        strcmp(nspod_reason(pod), whole) == 0)
        return;
    add_act(p, "node", pod, json_pack("{s:[s], s:s}", "state", "DRAIN", "reason", whole));
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool is_scaled_in(const struct nspod *pod)
{
    return pod->condemned && strcmp(pod->condemned, "scale-in") == 0;
}

/* Are the pod's claims as they should be?  What is missing or is another's does not hold it. */
static bool see_claims(struct plan *p, const struct nspod *pod)
{
    bool good = true, missing = false;
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(p->v->f->cr, "spec.volumeClaimTemplates"), i, one)
    {
        char name[NSCLAIMS_NAME];
        const json_t *claim;
        json_t *patch = NULL;
        enum nsclaims_state state = nsclaims_judge(p->v, one, pod->pod, is_scaled_in(pod), &patch);

        nsclaims_name(one, pod->pod, name);
        claim = json_object_get(p->v->claims, name);
        good = good && state != NSCLAIMS_CHANGE;
        missing = missing || state == NSCLAIMS_MISSING;
        if (patch || state == NSCLAIMS_FOREIGN) /* or no memory: at the next pass */
            (void)mkbase_push(p->acts, json_pack("{s:s, s:O, s:o*}", "do", "claim", "claim", claim,
                                                 "body", patch));
    }
    if (missing && !pod->condemned && p->v->claims) {
        _cleanup_json_ json_t *claims = mkworkers_claims(p->v->f, pod->pod);

        json_array_foreach(claims, i, one)
        {
            if (!json_object_get(p->v->claims, kubejson_name(one)))
                (void)mkbase_push(p->acts, json_pack("{s:s, s:O}", "do", "create", "object", one));
        }
    }
    return good;
}

/* A kubelet says late that a container runs: until then slurmd may be there and have jobs.  What
 * Slurm knows of the name may be of an earlier pod; it is drained all the same. */
static bool may_have_jobs(const struct nspod *pod)
{
    return pod->begun || (pod->slurm && *kubejson_text(pod->pod, "spec.nodeName"));
}

/* The pod must go. */
static void remove_pod(struct plan *p, const struct nspod *pod)
{
    bool draining = nspod_has_state(pod, "DRAIN") && !nspod_has_state(pod, "UNDRAIN");
    char reason[REASON_MOST];

    if (!may_have_jobs(pod)) {
        delete_pod(p, pod, false, pod->condemned);
        return;
    }
    if (!p->v->slurm)
        return;
    if (!pod->slurm) {
        if (json_object_get(p->v->missed, pod->name))
            delete_pod(p, pod, true, pod->condemned);
        wake_after(p, DRAIN_AGAIN_S);
        return;
    }
    (void)snprintf(reason, sizeof(reason), "Pod (%.60s/%.120s) %s for %s",
                   kubejson_namespace(pod->pod), kubejson_name(pod->pod), NSDECIDE_ENDS,
                   pod->condemned);
    if (!draining || nspod_is_ours(pod))
        drain_node(p, pod, reason); /* an administrator's own words stay */
    if (draining && !nspod_is_busy(pod))
        delete_pod(p, pod, true, pod->condemned);
    wake_after(p, DRAIN_AGAIN_S);
}

/* Text of strangers in one line. */
static void add_clean(struct strbuf *out, const char *text)
{
    for (; *text && out->len < REASON_MOST - 20; text++)
        if (*text == '\t' || *text == '\n')
            strbuf_addc(out, ' ');
        else if ((unsigned char)*text >= ' ' && *text != 0x7f)
            strbuf_addc(out, *text);
}

static void write_cordon_reason(const struct nsview *v, const struct nspod *pod, struct strbuf *out)
{
    const char *note = kubejson_annotation(pod->node, OPKEY_CORDON_REASON);
    size_t i, k;
    json_t *one, *type;

    if (note && *note) {
        add_clean(out, note + strspn(note, " \t\n"));
        return;
    }
    json_array_foreach(kubejson_at(pod->node, "status.conditions"), i, one)
    {
        json_array_foreach(v->node_conditions, k, type)
        {
            if (strcmp(kubejson_text(one, "type"), json_string_value(type)) != 0 ||
                strcmp(kubejson_text(one, "status"), "True") != 0)
                continue;
            strbuf_add(out, out->len ? "; (" : "(");
            add_clean(out, kubejson_text(one, "reason"));
            strbuf_add(out, ": ");
            add_clean(out, kubejson_text(one, "message"));
            strbuf_add(out, ")");
        }
    }
    if (!out->len)
        strbuf_addf(out, "Node (%.100s) was cordoned, Pod (%.40s/%.80s) is there",
                    kubejson_name(pod->node), kubejson_namespace(pod->pod),
                    kubejson_name(pod->pod));
}

/* Undo what was ours: a drain that nothing asks for any more, and the end of an earlier pod. */
static void free_node(struct plan *p, const struct nspod *pod)
{
    if (!nspod_is_ours(pod) || !pod->begun || !nspod_is_marked(p->v, pod))
        return; /* the mark comes first: a job may begin at once */
    if (nspod_has_state(pod, "DRAIN") && !nspod_has_state(pod, "UNDRAIN"))
        add_act(p, "node", pod, json_pack("{s:[s], s:s}", "state", "UNDRAIN", "reason", ""));
    else if (nspod_has_state(pod, "DOWN") && pod->ready && !nspod_has_state(pod, "NOT_RESPONDING"))
        add_act(p, "node", pod, json_pack("{s:[s], s:s}", "state", "RESUME", "reason", ""));
}

/* A pod that stays: is its node drained as Kubernetes says?  Returns whether the pod is marked as
 * cordoned.  The mark follows the drain, and goes before the drain does, so that a mark without one
 * is a user's wish wherever an operator ends. */
static bool follow_cordon(struct plan *p, const struct nspod *pod)
{
    const char *reason = nspod_reason(pod);
    _cleanup_val_(strbuf_done) struct strbuf want = STRBUF_INIT;
    char pods[REASON_MOST];

    if (!pod->slurm || (*reason && !nspod_is_ours(pod)) ||
        (nspod_has_state(pod, "DOWN") && strstr(reason, "Not responding")))
        return pod->cordoned;
    if (pod->node && kubejson_true(pod->node, "spec.unschedulable")) {
        write_cordon_reason(p->v, pod, &want);
        drain_node(p, pod, strbuf_str(&want));
        return nspod_has_state(pod, "DRAIN");
    }
    (void)snprintf(pods, sizeof(pods), "Pod (%.60s/%.120s) was cordoned",
                   kubejson_namespace(pod->pod), kubejson_name(pod->pod));
    if (pod->cordoned && (!*reason || strcmp(reason + strlen(OPKEY_REASON), pods) == 0)) {
        drain_node(p, pod, pods);
        return true;
    }
    if (!pod->cordoned)
        free_node(p, pod);
    return false;
}

static void act_on_pod(struct plan *p, const struct nspod *pod)
{
    bool cordon = pod->cordoned;
    json_t *body;

    if (pod->ending)
        return;
    if (pod->finished) {
        delete_pod(p, pod, false, "finished");
        return;
    }
    if (!see_claims(p, pod) && is_scaled_in(pod)) {
        wake_after(p, 1); /* its claims go with it, or stay: that is settled first */
    } else if (pod->condemned) {
        remove_pod(p, pod);
        cordon = pod->cordoned || (nspod_is_ours(pod) && nspod_has_state(pod, "DRAIN") &&
                                   strstr(nspod_reason(pod), NSDECIDE_ENDS));
    } else {
        cordon = follow_cordon(p, pod);
    }
    body = nspod_patch(p->v, pod, cordon);
    if (body)
        add_act(p, "patch", pod, body);
    if (!pod->slurm)
        return;
    body = nspod_conditions(p->v, pod);
    if (body)
        add_act(p, "conditions", pod, body);
    body = pod->begun ? nspod_record(p->v, pod) : NULL;
    if (body)
        add_act(p, "node", pod, body);
}

/* ---- pods that are missing ------------------------------------------------------------------- */

/* The pod of a name; NULL: there is none. */
static const struct nspod *find_pod(const struct plan *p, const char *name)
{
    const json_t *place = json_object_get(p->names, name);

    return place ? &p->pods[json_integer_value(place)] : NULL;
}

static int make_pod(struct plan *p, int64_t ordinal, const json_t *node, const char *pin)
{
    json_t *pod;

    if (p->changes++ >= AT_ONCE) {
        wake_after(p, 1);
        return 0;
    }
    pod = mkworkers_pod(p->v->f, ordinal, node);
    if (pod && pin && mkworkers_pin(json_object_get(pod, "spec"), pin) < 0) {
        json_decref(pod);
        pod = NULL;
    }
    return mkbase_push(p->acts, json_pack("{s:s, s:o}", "do", "create", "object", pod));
}

static int make_ordinals(struct plan *p)
{
    bool pins = kubejson_true(p->v->f->cr, "spec.pinToNode");
    _cleanup_json_ json_t *map = pins ? nspin_map(p->v) : NULL;
    int64_t missing = kubejson_int(p->v->f->cr, "spec.replicas", 1);
    int r = 0;

    for (size_t i = 0; i < p->n; i++) {
        const char *mode = kubejson_label(p->pods[i].pod, OPKEY_MODE);

        missing -= is_live(&p->pods[i]) && (!mode || strcmp(mode, "StatefulSet") == 0) &&
                   (!p->pods[i].condemned || strcmp(p->pods[i].condemned, "scale-in") != 0);
    }
    for (int64_t ordinal = 0; missing > 0 && r == 0 && p->changes <= AT_ONCE; ordinal++) {
        const struct nspod *have;
        char name[300];

        mkworkers_name(p->v->f->cr, ordinal, name, sizeof(name));
        have = find_pod(p, name);
        if (have) {
            missing -= !is_live(have); /* its name is free soon */
            continue;
        }
        r = pins && !map ? -ENOMEM : make_pod(p, ordinal, NULL, nspin_node(map, ordinal));
        missing--;
    }
    return r;
}

static int make_on_nodes(struct plan *p)
{
    _cleanup_json_ json_t *wanted = wanted_pods(p->v, false);
    const char *name;
    json_t *node;
    int r = 0;

    json_object_foreach(wanted, name, node)
    {
        if (r == 0 && !find_pod(p, name))
            r = make_pod(p, 0, node, NULL);
    }
    return r;
}

/* ---- records that are left ------------------------------------------------------------------- */

static void prune_records(struct plan *p)
{
    size_t i;
    json_t *one;

    if (!nsprune_is_wanted(p->v->f->cr))
        return;
    json_array_foreach(p->v->records, i, one)
    {
        if (p->changes < AT_ONCE && nsprune_is_defunct(p->v, one)) {
            p->changes++;
            (void)mkbase_push(p->acts, json_pack("{s:s, s:s, s:s}", "do", "prune", "name",
                                                 kubejson_text(one, "name"), "comment",
                                                 kubejson_text(one, "comment")));
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int read_pods(const struct nsview *v, struct plan *p)
{
    size_t i;
    json_t *pod;

    p->v = v;
    p->n = json_array_size(v->pods);
    p->pods = calloc(p->n + 1, sizeof(*p->pods));
    if (!p->pods)
        return -ENOMEM;
    json_array_foreach(v->pods, i, pod) nspod_read(v, pod, &p->pods[i]);
    qsort(p->pods, p->n, sizeof(*p->pods), nspod_compare);
    p->names = json_object();
    for (i = 0; i < p->n; i++)
        if (json_object_set_new(p->names, kubejson_name(p->pods[i].pod),
                                json_integer((json_int_t)i)) < 0) {
            json_decref(p->names);
            free(p->pods);
            return -ENOMEM;
        }
    return 0;
}

static void wake_for_ready(struct plan *p)
{
    int64_t wait = kubejson_int(p->v->f->cr, "spec.minReadySeconds", 0);

    for (size_t i = 0; i < p->n; i++)
        if (p->pods[i].ready && !p->pods[i].available)
            wake_after(p, wait + 1 - (p->v->now_us - p->pods[i].ready_us) / USEC_PER_SEC);
}

int nsdecide(const struct nsview *v, json_t **ret, int64_t *ret_wake_s)
{
    struct plan p = { .acts = json_array() };
    int r = p.acts ? read_pods(v, &p) : -ENOMEM;

    if (r < 0) {
        json_decref(p.acts);
        return r;
    }
    condemn_wrong_mode(&p);
    if (is_daemon(v))
        condemn_without_node(&p);
    else
        condemn_excess(&p);
    condemn_old(&p);
    condemn_unknown(&p);
    r = is_daemon(v) ? make_on_nodes(&p) : make_ordinals(&p);
    for (size_t i = 0; i < p.n; i++)
        act_on_pod(&p, &p.pods[i]);
    prune_records(&p);
    wake_for_ready(&p);
    free(p.pods);
    json_decref(p.names);
    if (r < 0) {
        json_decref(p.acts);
        return r;
    }
    *ret = p.acts;
    *ret_wake_s = p.wake_s;
    return 0;
}

void nsdecide_count(const struct nsview *v, struct nscount *ret)
{
    _cleanup_json_ json_t *wanted = is_daemon(v) ? wanted_pods(v, false) : NULL;
    struct plan p = { 0 };

    *ret = (struct nscount){ .desired = wanted ? (int64_t)json_object_size(wanted)
                                               : kubejson_int(v->f->cr, "spec.replicas", 1) };
    if (read_pods(v, &p) < 0)
        return;
    for (size_t i = 0; i < p.n; i++) {
        const struct nspod *one = &p.pods[i];

        if (!is_live(one))
            continue;
        ret->replicas++;
        ret->updated += one->current;
        ret->ready += one->ready;
        ret->available += one->available;
        ret->idle += nspod_has_state(one, "IDLE");
        ret->allocated += nspod_has_state(one, "ALLOCATED") || nspod_has_state(one, "MIXED");
        ret->down += nspod_has_state(one, "DOWN");
        ret->drained += nspod_has_state(one, "DRAIN");
    }
    free(p.pods);
    json_decref(p.names);
}
