/* masks.h - the nodes that could ever hold a part of a job of a class */
#pragma once

#include <stdint.h>

struct bitmap;
struct class;
struct pick;
struct sched;
struct shape;

/* Take from mask the nodes that are not so.  Gives the most tasks a node can ever hold. */
uint32_t kinds_admitted(const struct pick *p, struct bitmap *mask);
/* Take from mask the nodes whose extra the shape does not want. */
void mask_extra(const struct sched *s, const struct shape *sh, struct bitmap *mask);
int class_masks(struct sched *s, struct class *c); /* makes c->alts current */
