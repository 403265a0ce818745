/* resvwords.h - reservations as text, lists and times
 *
 * Used by commands and by the controller.  Pure but for the time zone of the process
 * (localtime_r, mktime): occurrences keep their local time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#include "resv.pb-c.h"

#define RESV_FLAG(x) (UINT64_C(1) << PST__RESV_FLAG__RESV_FLAG_##x)
#define RESV_RECURS                                                                                \
    (RESV_FLAG(HOURLY) | RESV_FLAG(DAILY) | RESV_FLAG(WEEKDAY) | RESV_FLAG(WEEKEND) |              \
     RESV_FLAG(WEEKLY))
#define RESV_PURGE_DEFAULT_S 300u
#define RESV_OCCURRENCES_MAX 400u /* looked at when two recurring ones are compared */

static inline bool resv_has(const Pst__ReservationRecord *r, uint64_t flags)
{
    return r->has_flags && (r->flags & flags);
}

/* One word of Flags=, `len` bytes, in any case, shortened as far as Slurm allows it
 * ("PURGE_COMP=5" with its time in *ret_purge_s).  0 when it is none. */
uint64_t resv_flag_parse(const char *word, size_t len, uint32_t *ret_purge_s);
/* May this flag be taken away again by an update? */
bool resv_flag_removable(uint64_t flag);
const char *resv_flag_name(unsigned bit); /* NULL past the last */
/* "MAINT,SPEC_NODES" into buf, which is cut at size; "" for none. */
void resv_flags_text(const Pst__ReservationRecord *r, char *buf, size_t size);

/* ---- access lists: "a,b", or "-a,-b" for everybody but these --------------------------------- */

enum resv_match { RESV_NO_LIST, RESV_ALLOWED, RESV_DENIED };
enum resv_match resv_list_match(const char *list, const char *name);
bool resv_list_denies(const char *list); /* its entries begin with - */
/* The list after an edit; *ret NULL = empty.  LIST_SET of names that begin with +, or where the
 * list allows with -, adds and removes them.  The caller frees.  Errors: -EINVAL allow and deny
 * mixed, or signs, -ENOMEM. */
int resv_list_edit(const char *old, const char *text, Pst__ListEdit how, char **ret,
                   struct err *err);

/* ---- times ----------------------------------------------------------------------------------- */

/* The start after start_us of a reservation with these flags; 0 when it does not recur. */
int64_t resv_next_start(uint64_t flags, int64_t start_us);

struct resv_period {
    int64_t start_us, end_us;
};
/* Occurrences of r beginning with its present one, those that have ended by now_us left out; at
 * most max. TIME_FLOAT: one, from now on. */
size_t resv_periods(const Pst__ReservationRecord *r, int64_t now_us, struct resv_period *ret,
                    size_t max);
/* Does any occurrence of a meet one of b? */
bool resv_meet(const Pst__ReservationRecord *a, const Pst__ReservationRecord *b, int64_t now_us);
