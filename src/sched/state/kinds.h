/* kinds.h - nodes that are made alike, so that a shape is held against each kind once */
#pragma once

#include <stdint.h>

struct bitmap;
struct sched;

struct kind { /* nodes alike but for weight and features */
    uint32_t like;
    struct bitmap *nodes;
};

void kinds_done(struct sched *s);
int kinds_make(struct sched *s); /* makes s->kinds current */
