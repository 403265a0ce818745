/* procscan.h - finding processes in /proc: descendants, sessions
 *
 * Racy by nature: callers repeat until nothing is found. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_info {
    pid_t pid, ppid, session;
    uint64_t start_ticks;
    char state;
};

/* Errors: -ESRCH gone, -EBADMSG. */
int proc_read(pid_t pid, struct proc_info *ret_info);
/* Call fn for every process; fn returning false ends the walk. */
typedef bool proc_fn(void *ctx, const struct proc_info *info);
void proc_each(proc_fn *fn, void *ctx);
/* Send sig to every descendant of root (not root itself).  Returns how many were found. */
size_t proc_signal_tree(pid_t root, int sig);
/* Does /proc/PID/environ hold this NAME=value? */
bool proc_env_has(pid_t pid, const char *entry);
