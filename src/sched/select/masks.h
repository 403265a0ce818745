/* masks.h - the nodes that could ever hold a part of a job of a class */
#pragma once

#include <stdint.h>

struct bitmap;
struct class;
struct pick;
struct sched;
struct shape;

int class_masks(struct sched *s, struct class *c); /* makes c->alts current */
