/* tasks.h - which task runs where, how each ended, and the words for it
 *
 * Pure functions and data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bind/tasklayout.h"

/* Ranks of the tasks on each node from their counts: block (consecutive), cyclic (one each in turn)
 * or plane=N. counts sum to total.  ret_ranks has total elements: those of node 0 first, ascending;
 * total <= TASKS_MAX. */
void tasks_layout(const char *distribution, const uint32_t *counts, size_t n_nodes,
                  uint32_t *ret_ranks);

/* "0-3,7" of sorted ranks.  The caller frees. */
char *tasks_list(const uint32_t *ranks, size_t n);

/* "Exited with exit code 2", "Killed", "Segmentation fault (core dumped)", "Out Of Memory". */
void tasks_status_text(uint32_t status, bool oom, char *buf, size_t size);
/* What srun's exit status owes to a task: its code, 128 + signal, 253 out of memory. */
int tasks_exit_code(uint32_t status, bool oom);

/* Highest rank named by a --multi-prog map plus one; 0 when it names none (only `*`). */
uint32_t tasks_multi_prog_count(const char *map);

/* Is the map one that every task can run by?  Each task has one line, and each line a program.
 * path: the file's name in messages; n_tasks 0: not known, ranks are not compared with it.  0 or
 * the exit status, the messages printed. */
int tasks_multi_prog_check(const char *map, const char *path, uint32_t n_tasks);
