/* blockorder.c - see blockorder.h */
#include "cli/scontrol/blockorder.h"

#include <errno.h>
#include <stdlib.h>

int block_order_add(struct block_order *o, uint32_t job_id, size_t end)
{
    if (o->n == o->cap) {
        size_t cap = o->cap ? o->cap * 2 : 64;
        struct block *grown = reallocarray(o->blocks, cap, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        o->blocks = grown;
        o->cap = cap;
    }
    o->blocks[o->n] = (struct block){ job_id, o->n ? o->blocks[o->n - 1].end : 0, end };
    o->n++;
    return 0;
}

static int newest_first(const void *pa, const void *pb)
{
    const struct block *a = pa, *b = pb;

    return (a->job_id < b->job_id) - (a->job_id > b->job_id);
}

int block_order_apply(struct block_order *o, uint32_t array_job_id, struct strbuf *text)
{
    struct strbuf ordered = STRBUF_INIT;

    if (o->n)
        qsort(o->blocks, o->n, sizeof(*o->blocks), newest_first);
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < o->n; i++)
            if ((o->blocks[i].job_id == array_job_id) == own)
                strbuf_addn(&ordered, text->buf + o->blocks[i].begin,
                            o->blocks[i].end - o->blocks[i].begin);
    o->n = 0;
    if (ordered.failed) {
        strbuf_done(&ordered);
        return -ENOMEM;
    }
    strbuf_done(text);
    *text = ordered;
    return 0;
}

void block_order_done(struct block_order *o)
{
    free(o->blocks);
    *o = (struct block_order){ 0 };
}
