/* inherit.h - what a process takes over from its parent, and what it passes on to its children
 *
 * A daemon is started by hand, by a shell script or by a service manager, with whatever these have
 * open; libraries open descriptors that stay open over an exec.  Both would be the jobs' in the
 * end, with the rights of root.  So every daemon begins with inherit_begin(), and every program is
 * started by spawn_program() (base/process/spawnprog.h) or, after a fork, with inherit_close()
 * before it; tests/check_spawn.py knows all places. */
#pragma once

/* Descriptors 0 to 2 that are not open become /dev/null.  Otherwise the next socket would be
 * standard output, and a message would go to the controller.  Commands call it as well: they are
 * started by programs that closed these.  Ends the process when /dev/null cannot be opened. */
void inherit_open_standard(void);
/* First thing in main of a daemon.  Descriptors from `first` on are closed, 0 to 2 are opened as
 * above, signals are as the kernel has them by default and not blocked, and the umask keeps others
 * from writing. */
void inherit_begin(int first);
/* Close all descriptors from `first` on but `keep` (-1: none).  For a child before its exec: only
 * system calls. */
void inherit_close(int first, int keep);
/* Have the kernel close all descriptors from `first` on at the exec.  For a process with threads
 * that executes another program itself: its threads run until then, and would meet descriptors that
 * are closed, or another file behind their number. */
void inherit_close_at_exec(int first);
/* Leave the session keyring of our parent: tasks would have root's keys.  Nothing where the
 * kernel has none. */
void inherit_no_keys(void);
