/* feedlimits.h - accounting records that change become the scheduler's limits; core thread */
#pragma once

#include "ctld/ctld.h"

/* a record is there or is another */
void feedlimits_changed(struct ctld *ctld, const Pst__AcctChange *put);
void feedlimits_gone(struct ctld *ctld, const Pst__AcctChange *put); /* it goes */
/* what AccountingStorageEnforce and PrivateData say now */
void feedlimits_enforce(struct ctld *ctld);
/* before changes are handed over: what has been gathered */
void feedlimits_flush(struct ctld *ctld);
/* Tell the scheduler what a level with limits by minutes has used; nothing for others. */
void feedlimits_usage_assoc(struct ctld *ctld, const struct assoc *a);
void feedlimits_usage_qos(struct ctld *ctld, const Pst__QosRecord *q);
