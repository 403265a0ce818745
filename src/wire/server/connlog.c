/* connlog.c - connections and frames in the log; see connlog.h */
#include "wire/server/connlog.h"

#include "base/log.h"
#include "base/logflags.h"
#include "wire/server/server_impl.h"

void server_log_request(const struct peer *peer, unsigned op)
{
    char host[64];

    log_flag(AUDIT_RPCS, "%s uid=%d addr=%s host=%s",
             wire_op_info(op) ? wire_op_info(op)->name : "unknown", (int)peer->uid, peer->addr,
             log_quote(peer->host, host, sizeof(host)));
}

void connlog_network(const struct conn *c, const char *what)
{
    char program[40];

    log_flag(NETWORK, "connection %llu %s: addr=%s uid=%d program=%s", (unsigned long long)c->id,
             what, c->peer.addr, (int)c->peer.uid,
             log_quote(c->peer.program, program, sizeof(program)));
}

void connlog_frame(const struct conn *c, unsigned op, const char *way, uint32_t flags, size_t len)
{
    log_flag(PROTOCOL, "connection %llu %s: %s %s, %zu bytes", (unsigned long long)c->id, way,
             wire_op_info(op) ? wire_op_info(op)->name : "unknown",
             flags & FRAME_ERROR   ? "error"
             : flags & FRAME_REPLY ? "reply"
                                   : "request",
             len);
}

void connlog_worker(const struct conn *c, unsigned thread, unsigned connections)
{
    log_flag(CONMGR, "connection %llu is descriptor %d of thread io-%u, one of %u",
             (unsigned long long)c->id, c->link.fd, thread, connections);
}

void connlog_data(const struct conn *c, const struct frame *f)
{
    const struct wire_op_info *op = wire_op_info(f->op);
    const ProtobufCMessageDescriptor *kind = !op                      ? NULL
                                             : f->flags & FRAME_REPLY ? op->reply
                                                                      : op->request;

    log_flag(DATA, "connection %llu: %s of %u bytes", (unsigned long long)c->id,
             kind ? kind->short_name : "nothing", f->len);
}

void connlog_closed(const struct conn *c)
{
    const char *why = c->link.why, *addr = c->peer.addr;
    char host[80], program[80];

    (void)log_quote(c->peer.program, program, sizeof(program));
    (void)log_quote(c->peer.host, host, sizeof(host));
    if (c->link.slow)
        log_seldom(LOG_INFO, "slow connection closed: %s addr=%s uid=%d program=%s host=%s", why,
                   addr, (int)c->peer.uid, program, host);
    else
        log_limited(LOG_INFO, "connection closed: %s addr=%s uid=%d program=%s host=%s", why, addr,
                    (int)c->peer.uid, program, host);
}
