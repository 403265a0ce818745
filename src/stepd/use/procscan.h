/* procscan.h - processes in /proc: descendants, sessions, what they use
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
/* What has another world has other processes by the same numbers: it changes with the machine's
 * boot, and with the container. */
#define PROC_WORLD 96
void proc_world(char buf[static PROC_WORLD]);
/* Is that ours?  NULL, of older releases: it may be. */
bool proc_is_our_world(const char *world);
/* Call fn for every process; fn returning false ends the walk. */
typedef bool proc_fn(void *ctx, const struct proc_info *info);
void proc_each(proc_fn *fn, void *ctx);
/* The descendants of root, each with the child of root it comes from (itself, when it is one).
 * Returns how many; the list is the caller's to free. */
struct proc_below {
    pid_t pid, top;
};
size_t proc_below(pid_t root, struct proc_below **ret_list);
/* What a process uses, children that it has waited for included.  Memory: resident, without shared
 * pages, or with its part of them. */
enum proc_memory { PROC_RSS, PROC_UNSHARED, PROC_PSS };
struct proc_use {
    pid_t pid, session;
    int cpu; /* where it ran last; -1 unknown */
    uint64_t cpu_us, mem, vmem, pages, read_bytes, write_bytes;
};
/* Errors: -ESRCH, -EBADMSG. */
int proc_use(pid_t pid, enum proc_memory how, struct proc_use *ret_use);
/* The bytes alone: all that /proc tells of a process that has ended and was not waited for. */
void proc_io(pid_t pid, struct proc_use *u);
/* Send sig to every descendant of root (not root itself).  Returns how many were found. */
size_t proc_signal_tree(pid_t root, int sig);
/* Does /proc/PID/environ hold this NAME=value? */
bool proc_env_has(pid_t pid, const char *entry);
