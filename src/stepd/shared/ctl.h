/* ctl.h - messages between slurmd and a step daemon over local SOCK_SEQPACKET sockets
 *
 * One packet is one protobuf message, at most CTL_MAX bytes.  Nothing blocks. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#define CTL_MAX 65536u

/* -EAGAIN: the peer does not read; -EPIPE: gone; -EMSGSIZE. */
int ctl_send(int fd, const ProtobufCMessage *msg);
/* 1 with a message (caller frees), 0 peer closed, -EAGAIN none yet, -EBADMSG. */
int ctl_recv(int fd, const ProtobufCMessageDescriptor *desc, ProtobufCMessage **ret_msg);
/* The same with a descriptor: sent along (still the caller's), or the one received, -1 none. */
int ctl_send_fd(int fd, const ProtobufCMessage *msg, int pass_fd);
int ctl_recv_fd(int fd, const ProtobufCMessageDescriptor *desc, ProtobufCMessage **ret_msg,
                int *ret_fd);
/* Listen on `name` in the current directory (paths of any length), mode 600. */
int ctl_listen(const char *name, int *ret_fd);
/* Next connection; a peer that is neither root nor ourselves is turned away (-EACCES). */
int ctl_accept(int listen_fd, int *ret_fd);
/* Connect to dir/name.  -ENOENT, -ECONNREFUSED: no process listens there. */
int ctl_connect(const char *dir, const char *name, int *ret_fd);
