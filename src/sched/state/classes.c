/* classes.c - classes: a shape in a partition, for all jobs that selection cannot tell apart.
 *
 * A class lives as long as an entry refers to it.  Its node masks are made when it is first tested
 * (select/masks.c). */
#include "sched/state/classes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "sched/sched.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

static uint32_t class_slot(const struct shape *sh, uint32_t part, uint32_t nslots)
{
    return (sh->hash + part * UINT32_C(2654435761)) & (nslots - 1);
}

static int grow_classes(struct sched *s)
{
    uint32_t n = s->nclass_slots ? s->nclass_slots * 2 : 64;
    struct class **slots = calloc(n, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->nclass_slots; i++) {
        for (struct class *c = s->class_slots[i], *next; c; c = next) {
            uint32_t at = class_slot(c->shape, c->part, n);

            next = c->hash_next;
            c->hash_next = slots[at];
            slots[at] = c;
        }
    }
    free(s->class_slots);
    s->class_slots = slots;
    s->nclass_slots = n;
    return 0;
}

/* The class of a shape in a partition; takes the caller's reference to the shape. */
static int class_of(struct sched *s, struct shape *sh, uint32_t part, struct class **ret)
{
    struct class *c;

    for (c = s->class_slots[class_slot(sh, part, s->nclass_slots)]; c; c = c->hash_next) {
        if (c->shape == sh && c->part == part) {
            shape_unref(s, sh); /* the class holds one */
            c->refs++;
            *ret = c;
            return 0;
        }
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        shape_unref(s, sh);
        return -ENOMEM;
    }
    *c = (struct class){ .shape = sh, .part = part, .refs = 1 };
    c->hash_next = s->class_slots[class_slot(sh, part, s->nclass_slots)];
    s->class_slots[class_slot(sh, part, s->nclass_slots)] = c;
    s->nclasses++;
    *ret = c;
    return 0;
}

int class_get(struct sched *s, const struct sched_job *job, const struct job_lics *want,
              struct part *p, const struct sched_job_resv *resv, struct class **ret)
{
    struct shape *sh;
    int r = s->nclasses < s->nclass_slots ? 0 : grow_classes(s);

    if (r == 0)
        r = shape_get(s, job, want, resv, &sh);
    return r < 0 ? r : class_of(s, sh, p->id, ret);
}

int class_any_switches(struct sched *s, const struct class *like, struct class **ret)
{
    struct shape *sh;
    int r = s->nclasses < s->nclass_slots ? 0 : grow_classes(s);

    if (r == 0)
        r = shape_any_switches(s, like->shape, &sh);
    return r < 0 ? r : class_of(s, sh, like->part, ret);
}

void class_drop_masks(struct sched *s, struct class *c)
{
    for (uint32_t i = 0; i < c->nalts; i++) {
        bitmap_free(c->alts[i].elig);
        for (uint32_t k = 0; c->alts[i].counted && k < c->alts[i].ncounts; k++)
            bitmap_free(c->alts[i].counted[k]);
        free(c->alts[i].counted);
        free(c->alts[i].counts);
    }
    if (c->alts)
        s->nmasked--;
    free(c->alts);
    c->alts = NULL;
    c->nalts = 0;
}

void class_unref(struct sched *s, struct class *c)
{
    struct class **pp = &s->class_slots[class_slot(c->shape, c->part, s->nclass_slots)];

    if (--c->refs)
        return;
    while (*pp != c)
        pp = &(*pp)->hash_next;
    *pp = c->hash_next;
    s->nclasses--;
    class_drop_masks(s, c);
    shape_unref(s, c->shape);
    free(c);
}

void classes_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->nclass_slots; i++) {
        for (struct class *c = s->class_slots[i], *next; c; c = next) {
            next = c->hash_next;
            class_drop_masks(s, c);
            free(c);
        }
    }
    for (uint32_t i = 0; i < s->nshape_slots; i++) {
        for (struct shape *sh = s->shape_slots[i], *next; sh; sh = next) {
            next = sh->hash_next;
            shape_free(sh);
        }
    }
    free(s->class_slots);
    free(s->shape_slots);
}
