/* tlspipe.h - the plain side of a TLS connection for who speaks nothing but sockets (private to
 * wire/)
 *
 * libmicrohttpd gets one end of a pair of local sockets; bytes go between the other and the network
 * on the worker's loop. */
#pragma once

struct link;
struct worker;

/* Takes TLS and a duplicate of the descriptor from l, which is to be closed.  The plain end, or a
 * negative errno. */
int tlspipe_new(struct worker *w, struct link *l);
/* The worker ends. */
void tlspipe_close_all(struct worker *w);
