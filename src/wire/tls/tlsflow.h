/* tlsflow.h - bytes between a TLS connection and a socket of plain ones
 *
 * Two directions, a buffer each that is filled when it is empty and emptied before it is filled
 * again, so that a slow end slows the other and nothing grows.  When one end closes, what is on its
 * way to the other is sent, and both are done.  Whose loop waits for the descriptors is the
 * caller's to choose; one thread. */
#pragma once

#include <stdbool.h>

struct tls;
struct tlsflow;

/* Takes the connection and both descriptors, which do not block; on failure nothing is taken.
 * -ENOMEM. */
int tlsflow_new(struct tls *tls, int net_fd, int plain_fd, struct tlsflow **ret);
/* Move what can be moved now.  False: it is over, free it. */
bool tlsflow_move(struct tlsflow *f);
/* What poll(2) shall wait for at each end: POLLIN, POLLOUT, both, or 0. */
void tlsflow_events(const struct tlsflow *f, short *ret_net, short *ret_plain);
/* Closes both descriptors.  Always NULL. */
struct tlsflow *tlsflow_free(struct tlsflow *f);
