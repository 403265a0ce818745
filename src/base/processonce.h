/* processonce.h - objects that a process makes once, such as the functions of a loaded library
 *
 * Nobody changes an object after it is made, so any thread may read it without a lock.  It lives as
 * long as the process: a library that was loaded stays, because it may have threads of its own. */
#pragma once

/* Makes the object.  NULL: it cannot be made (a library is not installed, no memory).  It may ask
 * for other objects. */
typedef void *processonce_fn(void);

/* The object of `make`, which runs at the first call only: its answer, NULL too, stays the answer.
 * Other threads wait while it runs.  Cost: a walk over the few objects of the process; no lock once
 * the object is there.  Any thread. */
const void *processonce(processonce_fn *make);
