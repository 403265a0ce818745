/* patience.h - how long an end waits for the database
 *
 * A database server that is silent, or works on a long statement, holds the thread that asked for
 * many minutes: longer than a stop may take.  A thread of this object watches for ends: for a
 * signal that asks for one and is not taken, since the main thread itself waits for the server, and
 * for patience_begin().  When an end has lasted PATIENCE_US it hangs up (sql_hang_up), and whoever
 * waited goes on with an error.  What was answered is stored; what was not, its sender asks again.
 */
#pragma once

#include "base/timefmt.h"

#define PATIENCE_US (5 * USEC_PER_SEC)

struct patience;

/* SIGTERM and SIGINT are blocked already, for all threads.  A negative errno. */
int patience_new(struct patience **ret);
struct patience *patience_free(struct patience *p); /* always NULL */

/* Threads that may wait for the server are ended from here on ...  p may be NULL, as below. */
void patience_begin(struct patience *p);
/* ... until here, where none is left: connections may be opened again. */
void patience_end(struct patience *p);
