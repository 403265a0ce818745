/* fedbook.c - who is in the federation, and which jobs other clusters may have to hear of; see
 * fedbook.h */
#include "ctld/fed/fedbook.h"

#include <stdlib.h>

#include "base/must.h"
#include "ctld/core/service.h"
#include "model/account/assoc.h"

void fed_mark(struct idmap *m, uint32_t job_id, void *value)
{
    if (idmap_put(m, job_id, value) < 0)
        must(NULL);
}

size_t fed_take(struct idmap *m, size_t *at, uint32_t *ids, size_t max)
{
    bool again = *at > 0; /* what came since may stand before */
    size_t n = 0;

    while (n < max && m->count) {
        if (idmap_next(m, at)) {
            ids[n] = (uint32_t)m->keys[*at - 1];
            (void)idmap_remove(m, ids[n++]);
        } else if (again) {
            again = false;
            *at = 0;
        } else {
            break;
        }
    }
    if (!m->count) {
        idmap_done(m);
        *at = 0;
    }
    return n;
}

const struct fedset *fed_members(struct fed *f)
{
    uint64_t generation = am_generation(f->ctld->cluster->am);

    if (f->generation != generation) {
        fedset_read(f->ctld, &f->set);
        f->generation = generation;
    }
    return f->set.name ? &f->set : NULL;
}

uint32_t fed_origin(struct fed *f, const Pst__JobRecord *r)
{
    const struct fedset *all = fed_members(f);

    return all ? fedset_number(all, r->fed_origin) : 0;
}

void fed_note(struct fed *f, const Pst__JobRecord *r)
{
    const struct fedset *all = fed_members(f);

    if (!fedset_is_origin(f->ctld, r)) {
        uint32_t origin = fed_origin(f, r);

        if (origin)
            fed_mark(&f->peers[origin].todo, r->job_id, FED_MARK);
    } else {
        for (size_t i = 0; i < r->n_fed_copies; i++) {
            uint32_t peer = r->fed_copies[i]->cluster;

            if (peer && peer <= FED_CLUSTERS_MAX && (!all || peer != all->self))
                fed_mark(&f->peers[peer].todo, r->job_id, FED_MARK);
        }
    }
    fed_work_later(f);
}

void fed_work_later(struct fed *f)
{
    struct cmd *cmd;

    if (f->posted)
        return;
    cmd = must(calloc(1, sizeof(*cmd)));
    *cmd = (struct cmd){ .kind = CMD_CALL, .fn = f->work, .arg = f->ctld };
    f->posted = true;
    (void)core_post(f->ctld, cmd); /* never refused: it is no request */
}
