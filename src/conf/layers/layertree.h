/* layertree.h - what the layers of one resource have to do with each other */
#pragma once

struct err;
struct resource;

/* Check them, find the parents (mode 3), bring them into their order and compute what jobs can
 * have.  On failure err has a sentence that begins with "line N: ".  Errors: -EINVAL, -ENOMEM. */
int layertree_settle(struct resource *res, struct err *err);
