/* tunnel.h - connections of X programs, many in one connection between a node and srun or salloc
 *
 * Frames are OP_STEP_IO with a `tunnel`: data, eof (that end has closed) or credit (so many bytes
 * more were taken).  The node's end gives the ids, upwards, and tells each with data of no bytes; a
 * frame for an id that is over is dropped.  Each direction of a tunnel has TUNNEL_WINDOW bytes
 * on the way at most, so that a program that reads slowly stops its own tunnel alone.  Nothing
 * blocks.  One thread. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.pb-c.h"
#include "base/strbuf.h"

struct client;
struct tunnels;

#define TUNNELS_MAX 64u
#define TUNNEL_WINDOW (256u << 10)

/* For the end that opens what the other asks for: data has what came first.  Returns how many bytes
 * of it are replaced by those added to sb, with *ret_fd, nonblocking, connecting or connected; 0:
 * call again when there are more; a negative errno: the tunnel is refused. */
typedef long tunnel_open_fn(void *ctx, const void *data, size_t len, struct strbuf *sb,
                            int *ret_fd);

/* c is borrowed and must outlive the tunnels.  open: NULL at the node's end. -ENOMEM. */
int tunnels_new(struct client *c, tunnel_open_fn *open, void *ctx, struct tunnels **ret_t);
struct tunnels *tunnels_free(struct tunnels *t); /* closes all; always NULL */

/* A connection of a program, nonblocking; fd is taken, and closed when there is no room. */
void tunnels_add_take(struct tunnels *t, int fd);
bool tunnels_room(const struct tunnels *t); /* is another connection taken? */
/* A frame of the other end. */
void tunnels_take_frame(struct tunnels *t, const Pst__StepIo *io);

/* For a poll loop: the descriptors of all tunnels, TUNNELS_MAX of them. */
size_t tunnels_poll_fill(const struct tunnels *t, struct pollfd *fds);
void tunnels_poll_done(struct tunnels *t, const struct pollfd *fds);
