/* passnotes.c - what the core keeps between two decisions of the scheduler; see passnotes.h */
#include "ctld/schedlink/passnotes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/core/service.h"

struct passnotes {
    struct pass_note *notes;
    size_t n;
    struct idlist put_off; /* jobs */
};

int passnotes_new(struct passnotes **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct passnotes *passnotes_free(struct passnotes *p)
{
    if (!p)
        return NULL;
    free(p->notes);
    free(p->put_off.ids);
    free(p);
    return NULL;
}

void passnotes_keep(struct ctld *ctld, const struct decisions_msg *m)
{
    struct passnotes *p = ctld->passnotes;
    size_t n = p->n + m->nnotes;

    if (!m->nnotes)
        return;
    p->notes = must(realloc(p->notes, n * sizeof(*p->notes)));
    memcpy(p->notes + p->n, m->notes, m->nnotes * sizeof(*m->notes));
    if (n > PASS_NOTES_MAX) /* too many: the first are forgotten, which numbers show */
        n = pass_notes_forget(p->notes, n, n - PASS_NOTES_MAX);
    p->n = n;
}

void passnotes_put(struct ctld *ctld, Pst__Transaction *tx, uint64_t pass)
{
    struct passnotes *p = ctld->passnotes;

    SET(tx, sched_pass, pass);
    if (!p->n)
        return;
    tx->passes = must(calloc(p->n, sizeof(*tx->passes)));
    for (; tx->n_passes < p->n; tx->n_passes++) {
        const struct pass_note *n = &p->notes[tx->n_passes];
        Pst__SchedPass *to = tx->passes[tx->n_passes] = must(malloc(sizeof(*to)));

        pst__sched_pass__init(to);
        SET(to, number, n->number);
        SET(to, now_us, n->now_us);
        SET(to, lsn, n->seen_lsn);
        if (n->pieces)
            SET(to, pieces, n->pieces);
        SET(to, refused, n->refused);
        if (n->usage.us) {
            SET(to, usage_us, n->usage.us);
            SET(to, usage_lsn, n->usage.lsn);
        }
        if (n->shares.us) {
            SET(to, shares_us, n->shares.us);
            SET(to, shares_lsn, n->shares.lsn);
        }
    }
    free(p->notes);
    p->notes = NULL;
    p->n = 0;
}

void passnotes_put_off(struct ctld *ctld, uint32_t job_id)
{
    idlist_add(&ctld->passnotes->put_off, job_id);
}

void passnotes_disk_free(struct ctld *ctld)
{
    struct idlist *l = &ctld->passnotes->put_off;

    for (size_t i = 0; i < l->n; i++)
        feed_refused(ctld, l->ids[i]);
    l->n = 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_passnotes(struct ctld *ctld, struct err *err)
{
    (void)err;
    return passnotes_new(&ctld->passnotes);
}

static void free_passnotes(struct ctld *ctld)
{
    ctld->passnotes = passnotes_free(ctld->passnotes);
}

static void propose_put_off(struct ctld *ctld, int64_t now_us)
{
    (void)now_us;
    passnotes_disk_free(ctld);
}

const struct ctld_service passnotes_service = {
    .name = "passnotes",
    .start = start_passnotes,
    .free = free_passnotes,
    .tick_writing = propose_put_off,
};
