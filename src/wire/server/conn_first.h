/* conn_first.h - a fresh connection: whose first bytes, challenge, or over to HTTP (private to
 * wire/)
 *
 * On the worker's thread. */
#pragma once

#include <stdbool.h>

struct conn;
struct link;

/* From the network: wait for the first bytes.  At a local socket: challenge at once. */
void conn_await_first(struct conn *c);
/* Look at the first bytes (link_ops.on_first). */
bool conn_hear_first(struct link *l);
