/* connlog.h - what the log tells of connections and their frames (private to wire/server/)
 *
 * DebugFlags (base/logflags.h) ask for most of it; one that ends with a word about why is told
 * unasked, limited.  Any thread that may read the connection. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct conn;
struct frame;

/* DebugFlags=Network: what happened to it: "opened". */
void connlog_network(const struct conn *c, const char *what);
/* DebugFlags=Protocol: a frame, "in" or "out". */
void connlog_frame(const struct conn *c, unsigned op, const char *way, uint32_t flags, size_t len);
/* DebugFlags=ConMgr: which thread has it, and how many connections there are. */
void connlog_worker(const struct conn *c, unsigned thread, unsigned connections);
/* DebugFlags=Data: which kind of message a frame carries. */
void connlog_data(const struct conn *c, const struct frame *f);
/* Its link was closed for a reason. */
void connlog_closed(const struct conn *c);
