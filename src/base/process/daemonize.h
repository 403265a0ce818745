/* daemonize.h - how a daemon leaves its parent: the fork, the message that it serves, its pid file
 *
 * Called by one thread, before others are made (detach) or after (the rest). */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

/* Fork.  The parent waits and exits: 0 when the child calls daemonize_ready(), 1 when it ends
 * first. In the child *ret_ready_fd is what daemonize_ready() takes.  Errors: -EMFILE, -EAGAIN,
 * -ENOMEM. */
int daemonize_detach(int *ret_ready_fd, struct err *err);
/* It serves: standard streams become /dev/null, and who started it goes on.  Closes ready_fd;
 * -1, in the foreground, changes nothing. */
void daemonize_ready(int ready_fd);
/* All of that for a daemon whose doors are open: the service manager and who started it are
 * told. */
void daemonize_serve(int ready_fd);
/* Work in the folder of the log file, else in state_dir (both may be NULL), else in "/":
 * programs of the site start there, as Slurm's do.  A folder that everybody may write to, or
 * that belongs to another user, is passed over: what he puts there must not be found by root.
 * With a relative log file the daemon stays where it was started.  ret_dir gets the folder's
 * name. */
void daemonize_work_in(const char *log_file, const char *state_dir, char ret_dir[PATH_MAX]);
/* As many files as allowed, and no core dumps: keys and passwords are in memory. */
void daemonize_limits(void);
/* A line for the service manager at NOTIFY_SOCKET, "READY=1"; nothing where there is none. */
void daemonize_notify(const char *text);
/* Our number in a file of its own.  A failure is logged: it is not worth refusing to serve. */
void daemonize_pid_file(const char *path);
/* Remove that file, unless another process has written its own number into it meanwhile: the
 * daemon that takes our place may be there before we have ended. */
void daemonize_pid_remove(const char *path);
