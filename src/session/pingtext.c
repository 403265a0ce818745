/* pingtext.c - see pingtext.h */
#include "session/pingtext.h"

#include <inttypes.h>

#include "base/pb/pbsafe.h"

void ping_text(Pst__PingReply *r, struct strbuf *sb)
{
    pbsafe_clean(&r->base);
    strbuf_add(sb, r->standby ? "stands by" : "active");
    if (r->term)
        strbuf_addf(sb, ", term %u", r->term);
    if (r->has_lsn)
        strbuf_addf(sb, ", record %" PRIu64, r->lsn);
    if (!r->standby)
        return;
    strbuf_addf(sb, ", %" PRIu64 " behind", r->lag);
    if (r->has_in_sync)
        strbuf_add(sb, r->in_sync ? ", in sync" : ", not in sync");
    if (r->standby_why)
        strbuf_addf(sb, ": %s", r->standby_why);
}
