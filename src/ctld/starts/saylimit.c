/* saylimit.c - the words about a limit that holds a job; see saylimit.h */
#include "ctld/starts/saylimit.h"

#include "base/cleanup.h"
#include "model/words/names.h"

/* "account physics", "QOS high" */
static const char *limit_owner(struct explain_made *m, const struct sched_limit_hit *h)
{
    struct assoc_mgr *am = m->t->ctld->cluster->am;
    const Pst__QosRecord *q = h->qos ? am_qos(am, h->id) : NULL;
    const struct assoc *a = h->qos ? NULL : am_assoc(am, h->id);

    if (q)
        return made_text(m, "QOS %s", q->name);
    if (a && a->user)
        return made_text(m, "user %s in account %s", a->rec->user, a->rec->account);
    return a ? made_text(m, "account %s", a->rec->account) : "an association";
}

/* Of what: "cpu", "minutes of gres/gpu", "jobs". */
static const char *limit_unit(struct explain_made *m, const struct sched_limit_hit *h)
{
    unsigned scope = h->limit / 16;
    bool minutes = scope == SCHED_LIMIT_ASSOC_GRP_MINS || scope == SCHED_LIMIT_ASSOC_GRP_RUN_MINS ||
                   scope == SCHED_LIMIT_ASSOC_MAX_MINS || scope == SCHED_LIMIT_QOS_GRP_MINS ||
                   scope == SCHED_LIMIT_QOS_GRP_RUN_MINS || scope == SCHED_LIMIT_QOS_MAX_MINS ||
                   scope == SCHED_LIMIT_QOS_RUN_MINS_USER ||
                   scope == SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT;
    char name[256];

    if (!h->tres_id)
        return h->limit == SCHED_LIMIT_ASSOC_MAX_WALL || h->limit == SCHED_LIMIT_QOS_MAX_WALL ||
                       h->limit == SCHED_LIMIT_ASSOC_GRP_WALL ||
                       h->limit == SCHED_LIMIT_QOS_GRP_WALL
                   ? "minutes"
                   : "running jobs";
    if (!am_tres_name(m->t->ctld->cluster->am, h->tres_id, name, sizeof(name)))
        return "of a resource";
    return made_text(m, "%s%s%s", minutes ? "minutes of " : "", name,
                     h->tres_id == AM_TRES_MEM && !minutes ? " (MiB)" : "");
}

void say_limit(struct explain_made *m, const struct sched_limit_hit *h, Pst__ExplainPartition *p)
{
    unsigned long long value = h->value, used = h->used, asked = h->asked,
                       left = value > used ? value - used : 0;
    const char *word, *owner = limit_owner(m, h), *unit = limit_unit(m, h),
                      *wants = asked == UINT64_MAX ? "no end of them" : made_text(m, "%llu", asked);
    bool least = h->limit / 16 == SCHED_LIMIT_QOS_MIN && h->tres_id;

    SET(p, reason, (Pst__JobReason)(PST__JOB_REASON__REASON_ASSOC_GRP_CPU + (int)h->limit));
    word = names_reason((unsigned)p->reason);
    if (h->limit == SCHED_LIMIT_QOS_USAGE_THRESHOLD) {
        made_say(
            m,
            made_text(
                m,
                "A limit holds it, %s: the fair-share factor of its account is below what %s asks for.",
                word, owner));
        return;
    }
    made_say(m, made_text(
                    m, "A limit holds it, %s: %s %s %s %llu %s; %llu are used, and it asks for %s.",
                    word, owner, least ? "wants" : "may have", least ? "at least" : "at most",
                    value, unit, used, wants ? wants : ""));
    if (least)
        made_say(m, made_text(m, "Asking for %llu would let it start.", value));
    else if (left && (h->tres_id || h->limit == SCHED_LIMIT_ASSOC_MAX_WALL ||
                      h->limit == SCHED_LIMIT_QOS_MAX_WALL))
        made_say(m, made_text(m, "Asking for at most %llu would let it go on.", left));
    if (used)
        made_say(
            m,
            made_text(
                m, "%s",
                "Else it goes on when others of the same limit have ended, or the limit is raised."));
}
