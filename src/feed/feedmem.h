/* feedmem.h - a change for the scheduler is one object that owns what it points to */
#pragma once

#include "feed/records.h"

struct feed *feed_new(enum feed_kind kind); /* ends the program when memory runs out */
/* Free p with f.  Ends the program when p is NULL. */
void *feed_own(struct feed *f, void *p);
