/* gresfeed.h - the devices that a job asks for, as the scheduler takes them */
#pragma once

#include "feed/records.h"

/* Fill in the job's requests: counts by job, node, socket and task made one for each name and
 * type. */
void feed_fill_gres(struct feed *f, const Pst__JobRecord *r);
