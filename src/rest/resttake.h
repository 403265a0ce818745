/* resttake.h - connections that another process hands over: the slurmrestd of slurmctld's own port
 *
 * The other end of `sock`, a SOCK_SEQPACKET socket, sends each connection as a message of one byte
 * with one descriptor (SCM_RIGHTS). */
#pragma once

#include "base/err.h"

struct rest;

/* Serve until the other end closes or SIGTERM or SIGINT comes, both blocked in every thread.  After
 * the former the answers under way are made first, for some seconds.  Errors: -EINVAL `sock` is no
 * such socket, those of signalfd(2) and poll(2). */
int resttake_run(struct rest *rest, int sock, struct err *err);
