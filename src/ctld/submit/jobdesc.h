/* jobdesc.h - jobs, partitions and reservations under the names that scripts know */
#pragma once

#include "ctld/submit/jobsubmit.h"
#include "lua/record.h"

/* slurm.EXPEDITED_REQUEUE of the field `bitflags`: the number of its bit is ours. */
#define JOBDESC_EXPEDITED_REQUEUE (INT64_C(1) << 46)

/* What a job description needs beside its record; ctx of luarecord_push() for jobdesc_type. */
struct jobdesc {
    struct jobsubmit_request *request;
    int environment; /* reference of the table the script was given; LUA_NOREF = it did not ask */
};

extern const struct luarecord_type jobdesc_type; /* JobRecord as asked for; ctx: struct jobdesc */
extern const struct luarecord_type jobrec_type;  /* JobRecord of a job that is; no ctx */
extern const struct luarecord_type partrec_type; /* PartitionRecord; no ctx */
extern const struct luarecord_type resvrec_type; /* ReservationRecord; no ctx */

/* Take what the script left in the table `environment`, if it asked for it, into the request. */
int jobdesc_keep_environment(lua_State *L, struct jobdesc *d);
