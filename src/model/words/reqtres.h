/* reqtres.h - what a job asks for, as text; pure */
#pragma once

#include "base/strbuf.h"

#include "job.pb-c.h"

/* "cpu=4,mem=400M,node=1,billing=4": the record's own text, else made from the request.  noconvert
 * keeps memory in M. */
void reqtres_put(struct strbuf *sb, const Pst__JobRecord *job, bool noconvert);
