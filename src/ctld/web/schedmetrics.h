/* schedmetrics.h - the page of the scheduler: sdiag's figures */
#pragma once

#include "api.pb-c.h"

#include "base/strbuf.h"

/* From figures as diag_fill() has them. */
void schedmetrics_write(const Pst__DiagReply *r, struct strbuf *sb);
