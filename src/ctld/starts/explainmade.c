/* explainmade.c - memory, texts and names of an answer; see explainmade.h */
#include "ctld/starts/explainmade.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/policy/policy.h"

struct explain_piece { /* memory of the reply */
    struct explain_piece *next;
    char data[];
};

void *made_piece(struct explain_made *m, size_t size)
{
    struct explain_piece *p = calloc(1, sizeof(*p) + size);

    if (!p) {
        m->failed = true;
        return NULL;
    }
    p->next = m->pieces;
    m->pieces = p;
    return p->data;
}

char *made_text(struct explain_made *m, const char *fmt, ...)
{
    struct strbuf sb = STRBUF_INIT;
    char *copy;
    va_list ap;

    va_start(ap, fmt);
    strbuf_addv(&sb, fmt, ap);
    va_end(ap);
    copy = sb.failed ? NULL : made_piece(m, sb.len + 1);
    if (copy)
        memcpy(copy, strbuf_str(&sb), sb.len + 1);
    m->failed |= sb.failed;
    strbuf_done(&sb);
    return copy;
}

void made_push(struct explain_made *m, void ***list, size_t *n, void *item)
{
    if (!item)
        return;
    if ((*n & (*n - 1)) == 0) {
        void **bigger = made_piece(m, (*n ? 2 * *n : 1) * sizeof(void *));

        if (!bigger)
            return;
        if (*n)
            memcpy(bigger, *list, *n * sizeof(void *));
        *list = bigger;
    }
    (*list)[(*n)++] = item;
}

void made_say(struct explain_made *m, char *sentence)
{
    made_push(m, (void ***)&m->reply.sentences, &m->reply.n_sentences, sentence);
}

const char *made_stamp(struct explain_made *m, int64_t us)
{
    char buf[64];

    time_fmt_stamp(us, "Unknown", m->t->now_us, buf, sizeof(buf));
    return made_text(m, "%s", buf);
}

char *made_job_id(struct explain_made *m, const Pst__JobRecord *r)
{
    if (r->has_array_task_id)
        return made_text(m, "%u_%u", r->array_job_id, r->array_task_id);
    if (r->array_tasks)
        return made_text(m, "%u_[%s]", r->has_array_job_id ? r->array_job_id : r->job_id,
                         r->array_tasks);
    return made_text(m, "%u", r->job_id);
}

bool made_hides(const struct explain_made *m, const struct job *j)
{
    const struct explain_text *t = m->t;

    return j && t->asker && policy_private(t->ctld->conf) & PRIVATE_JOBS &&
           conn_peer(t->asker->conn)->uid != j->rec->uid &&
           !policy_may_manage(t->ctld, t->asker, j->rec);
}

char *made_job_name(struct explain_made *m, uint32_t id)
{
    const struct job *j = cluster_job(m->t->ctld->cluster, id);

    if (made_hides(m, j))
        return made_text(m, "(private)");
    return j ? made_job_id(m, j->rec) : made_text(m, "%u", id);
}

char *made_owner(struct explain_made *m, const struct job *j)
{
    return j && j->rec->user_name && !made_hides(m, j) ? made_text(m, "%s", j->rec->user_name)
                                                       : NULL;
}

const Pst__ExplainReply *explain_reply(const struct explain_made *m)
{
    return &m->reply;
}

void explain_done(struct explain_made *m)
{
    while (m && m->pieces) {
        struct explain_piece *p = m->pieces;

        m->pieces = p->next;
        free(p);
    }
    free(m);
}
