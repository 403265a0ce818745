/* hawait.h - standing by until it is this controller's turn */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct ctld;

/* Is it our turn at once?  False where it has to be waited for. */
bool ha_is_our_turn(struct ctld *ctld);
/* Stand by, with the door open, until this controller has a term.  -ECANCELED: it is to end. */
int ha_await_term(struct ctld *ctld, struct err *err);
