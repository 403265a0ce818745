/* explain_units.h - which blocks or rings are almost enough for a job, and what they lack */
#pragma once

struct bitmap;
struct entry;
struct ex;
struct explain_part;

/* Fill in out->topo and out->units.  open: nodes that hold a part of the job now. */
void ex_look_at_units(struct ex *x, struct entry *e, const struct bitmap *open,
                      struct explain_part *out);
