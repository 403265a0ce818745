/* pingtext.h - what a controller's answer to a ping says, for people */
#pragma once

#include "api.pb-c.h"

#include "base/strbuf.h"

/* "active, term 3, record 1234", or "stands by, term 3, record 1230, 4 behind, in sync".  Texts in
 * r are cleaned. */
void ping_text(Pst__PingReply *r, struct strbuf *sb);
