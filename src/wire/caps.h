/* caps.h - the one table of size limits for fields that come from outside (caps.c) */
#pragma once

#include "base/pbutil.h"

extern const struct pb_caps wire_caps;
