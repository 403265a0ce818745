/* easy.h - EASY backfill: a reservation for the first job of each partition */
#pragma once

#include <stdint.h>

struct bf;
struct entry;
struct pick;
struct sched_alloc;

/* 1 with *ret_alloc, 0 when it does not fit beside the reservations. */
int easy_fits_now(struct pick *p, int64_t end_us, struct sched_alloc *ret_alloc);
int easy_consider(struct bf *b, struct entry *e);
