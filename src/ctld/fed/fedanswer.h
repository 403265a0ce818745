/* fedanswer.h - what another cluster answered
 *
 * Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* Take res: note what the answer says.  May commit. */
void fed_answered(struct fedlink_result *res);
