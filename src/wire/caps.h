/* caps.h - the one table of size limits for fields that come from outside (caps.c) */
#pragma once

#include "base/pb/pbutil.h"

extern const struct pb_caps wire_caps;
/* For RecordBatch: records come by the thousand and are bounded by the frame. */
extern const struct pb_caps wire_batch_caps;
