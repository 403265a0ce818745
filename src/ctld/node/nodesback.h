/* nodesback.h - after a restart, no job starts before the nodes that were there are heard again
 *
 * A node that has not registered with the new controller yet would look lost: a job that waits for
 * many nodes would lose its place to smaller ones that need the first that come back.  Core thread
 * only. */
#pragma once

struct nodesback; /* private to nodesback.c */
