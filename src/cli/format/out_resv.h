/* out_resv.h - reservations as the commands print them */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cli/format/json_out.h"
#include "resv.pb-c.h"

struct client;

/* All of them, in order of creation; free with pst__resv_set__free_unpacked().  A client error. */
int resv_load(struct client *c, Pst__ResvSet **ret);

/* When it begins and ends as seen now (one that floats moves along). */
void resv_span(const Pst__ReservationRecord *r, int64_t now_us, int64_t *ret_start_us,
               int64_t *ret_end_us);

void resv_text(struct strbuf *sb, const Pst__ReservationRecord *r, int64_t now_us, bool oneliner);
void resv_json(struct json *js, const Pst__ReservationRecord *r, int64_t now_us);
/* sinfo -T: the table, without a line when there is none. */
void resv_table(struct strbuf *sb, const Pst__ResvSet *set, bool header);
/* The licences that the reservation keeps now, NULL for none. */
const char *resv_keeps(const Pst__ReservationRecord *r, int64_t now_us);
