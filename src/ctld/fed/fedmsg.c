/* fedmsg.c - what another cluster must be told about a job, as the record says; see fedmsg.h */
#include "ctld/fed/fedmsg.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/fed/fedstate.h"
#include "ctld/core/rlimits.h"
#include "fields.h"

enum want { WANT_NOTHING, WANT_COPY, WANT_NONE, WANT_END };

/* What this cluster, the origin, wants of the peer. */
static enum want wanted_of(struct fed *f, const Pst__JobRecord *r, uint32_t peer)
{
    const struct fedset *all = fed_members(f);
    const Pst__FedCopy *c = fedstate_copy_of(r, peer);
    bool there = c && c->present;
    uint32_t owner = r->has_fed_owner ? r->fed_owner : 0;

    if (job_is_ended(r))
        return there ? WANT_END : WANT_NOTHING;
    if (!job_is_pending(r) || (owner && owner != peer))
        return there ? WANT_NONE : WANT_NOTHING;
    if (owner)
        return there && r->fed_requeue ? WANT_END : WANT_NOTHING;
    if (!all || !(r->fed_viable & fed_bit(peer)))
        return there ? WANT_NONE : WANT_NOTHING;
    if (!there || r->dependency || idmap_get(&f->changed, r->job_id))
        return WANT_NOTHING;
    return c->version < r->fed_version ? WANT_COPY : WANT_NOTHING;
}

static void copy_bytes(ProtobufCBinaryData *to, const void *data, size_t len)
{
    to->data = must(malloc(len + 1));
    to->len = len;
    memcpy(to->data, data, len);
}

/* What the job was submitted with.  What its submission did not name is the other cluster's to
 * choose. */
static Pst__SubmitRequest *make_submission(struct ctld *ctld, const Pst__JobRecord *r)
{
    Pst__SubmitRequest *s = must(malloc(sizeof(*s)));
    const struct blob *script = cluster_script(ctld->cluster, r);
    const struct blob *env = cluster_env(ctld->cluster, r);
    uint32_t defaults = r->has_defaults_used ? r->defaults_used : 0;
    ProtobufCMessage *copy;
    ProtobufCBinaryData rest = { 0 };

    pst__submit_request__init(s);
    if (pb_dup(&r->base, &copy) < 0)
        must(NULL);
    s->job = (Pst__JobRecord *)copy;
    if (defaults & 1u << PST__JOB_DEFAULT__DEFAULT_PARTITION)
        (void)pb_set_str(&s->job->partition, NULL); /* NULL only frees, here and below */
    if (defaults & 1u << PST__JOB_DEFAULT__DEFAULT_ACCOUNT)
        (void)pb_set_str(&s->job->account, NULL);
    if (defaults & 1u << PST__JOB_DEFAULT__DEFAULT_QOS)
        (void)pb_set_str(&s->job->qos, NULL);
    if (defaults & 1u << PST__JOB_DEFAULT__DEFAULT_WCKEY)
        (void)pb_set_str(&s->job->wckey, NULL);
    if (script) {
        s->has_script = 1;
        copy_bytes(&s->script, script->data, script->len);
    }
    if (env) {
        limits_split(env->data, env->len, s->job, &rest);
        s->has_environment = 1;
        copy_bytes(&s->environment, rest.data, rest.len);
    }
    SET(s, uid, r->uid);
    SET(s, gid, r->gid);
    SET(s, hold, job_is_held(r));
    return s;
}

static ProtobufCMessage *make_copy(struct fed *f, const Pst__JobRecord *r, enum want want)
{
    Pst__FedCopyRequest *m = must(malloc(sizeof(*m)));

    pst__fed_copy_request__init(m);
    m->origin = tx_strdup(r->fed_origin);
    SET(m, job_id, r->job_id);
    SET(m, version, r->fed_version);
    SET(m, submit_us, r->submit_us); /* tells two jobs of one number apart */
    SET(m, cancel, want == WANT_END);
    if (want == WANT_COPY) {
        m->submit = make_submission(f->ctld, r);
        SET(m, viable, r->fed_viable);
        m->siblings_viable = tx_strdup(r->fed_siblings_viable);
    }
    return &m->base;
}

/* ---- of a sibling ---------------------------------------------------------------------------- */

static ProtobufCMessage *make_ask(struct fed *f, const Pst__JobRecord *r, Pst__FedAskKind kind)
{
    Pst__FedAsk *m = must(malloc(sizeof(*m)));

    pst__fed_ask__init(m);
    m->cluster = tx_strdup(conf_str(f->ctld->conf, CONF_CLUSTER_NAME));
    SET(m, job_id, r->job_id);
    SET(m, version, r->fed_version);
    SET(m, kind, kind);
    if (kind == PST__FED_ASK_KIND__FED_ASK_ENDED) {
        m->run = must(malloc(sizeof(*m->run)));
        pst__job_record__init(m->run);
        SET(m->run, state, job_state(r));
        if (r->has_exit_status)
            SET(m->run, exit_status, r->exit_status);
        if (r->has_cancel_uid)
            SET(m->run, cancel_uid, r->cancel_uid);
    }
    return &m->base;
}

/* Of a run of this cluster, which had the right to it. */
static bool run_to_tell(const Pst__JobRecord *r, Pst__FedAskKind *ret)
{
    Pst__FedTold told = r->has_fed_told ? r->fed_told : PST__FED_TOLD__FED_TOLD_NOTHING;

    if (job_is_ended(r) && !job_has_flag(r, JOB_FLAG(REQUEUED)))
        *ret = PST__FED_ASK_KIND__FED_ASK_ENDED;
    else
        *ret = PST__FED_ASK_KIND__FED_ASK_STARTED;
    return told < (*ret == PST__FED_ASK_KIND__FED_ASK_ENDED ? PST__FED_TOLD__FED_TOLD_END
                                                            : PST__FED_TOLD__FED_TOLD_START);
}

static bool ask_to_send(struct fed *f, const Pst__JobRecord *r, Pst__FedAskKind *ret)
{
    if (r->has_fed_owner && !job_is_pending(r))
        return run_to_tell(r, ret);
    if (r->has_fed_owner)
        return false;
    if (r->has_fed_told && r->fed_told == PST__FED_TOLD__FED_TOLD_RELEASE) {
        *ret = PST__FED_ASK_KIND__FED_ASK_RELEASE;
        return true;
    }
    *ret = PST__FED_ASK_KIND__FED_ASK_LOCK;
    return job_is_pending(r) && idmap_get(&f->wishes, r->job_id);
}

bool fedmsg_next(struct fed *f, const struct job *j, uint32_t peer, unsigned *ret_op,
                 ProtobufCMessage **ret_msg)
{
    const Pst__JobRecord *r = j->rec;
    Pst__FedAskKind kind;
    enum want want;

    if (!fed_is_job(r))
        return false;
    if (fedset_is_origin(f->ctld, r)) {
        want = wanted_of(f, r, peer);
        *ret_op = OP_FED_COPY;
        if (want != WANT_NOTHING)
            *ret_msg = make_copy(f, r, want);
        return want != WANT_NOTHING;
    }
    if (fed_origin(f, r) != peer || !ask_to_send(f, r, &kind))
        return false;
    *ret_op = OP_FED_ASK;
    *ret_msg = make_ask(f, r, kind);
    return true;
}
