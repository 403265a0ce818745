/* procscan.h - processes in /proc: descendants, sessions, and the CPU time and memory that they use
 *
 * Processes come and go while /proc is read.  A caller that must reach all processes repeats its
 * call until no process is found. */
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

/* Errors: -ESRCH: there is no such process; -EBADMSG: /proc said something unexpected. */
int proc_read(pid_t pid, struct proc_info *ret_info);
/* A process number means something only within one "world": one boot of the machine, and one
 * container.  proc_world() writes the name of the present world. */
#define PROC_WORLD 96
void proc_world(char buf[static PROC_WORLD]);
/* The present moment as start_ticks: clock ticks since the machine's start. */
uint64_t proc_ticks_now(void);
/* Is `world` the present one?  NULL, which older releases wrote, counts as the present one. */
bool proc_is_our_world(const char *world);
/* Call fn for every process; fn returning false ends the walk. */
typedef bool proc_fn(void *ctx, const struct proc_info *info);
void proc_each(proc_fn *fn, void *ctx);
/* The descendants `pid` of root.  top: the child of root from which pid descends, or pid itself.
 * Gives how many there are; the caller frees the list. */
struct proc_below {
    pid_t pid, top;
};
size_t proc_below(pid_t root, struct proc_below **ret_list);
/* What a process has used, together with the children that it has waited for.  Memory counts as
 * enum proc_memory says: all resident pages, the pages that no other process shares, or the pages
 * with a fair part of the shared ones. */
enum proc_memory { PROC_RSS, PROC_UNSHARED, PROC_PSS };
struct proc_use {
    pid_t pid, session;
    int cpu; /* where it ran last; -1 unknown */
    uint64_t cpu_us, mem, vmem, pages, read_bytes, write_bytes;
};
/* Errors: as proc_read(). */
int proc_use(pid_t pid, enum proc_memory how, struct proc_use *ret_use);
/* Only read_bytes and write_bytes: /proc tells no more of a process that has ended and was not
 * waited for. */
void proc_io(pid_t pid, struct proc_use *u);
/* Send sig to every descendant of root (not root itself).  Returns how many were found. */
size_t proc_signal_tree(pid_t root, int sig);
/* Does /proc/PID/environ hold this NAME=value? */
bool proc_env_has(pid_t pid, const char *entry);
