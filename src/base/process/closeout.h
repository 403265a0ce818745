/* closeout.h - a program tells of standard output that could not be written
 *
 * The C library drops what a full disk did not take, and main() returns 0 all the same. */
#pragma once

/* When the process ends and not all of its standard output was written, `program` says so on
 * standard error, and its exit code is 1 where it was to be 0.  Nobody needs a word about a reader
 * that has gone.  `program` is kept, not copied.  Called again, it is told once.  -ENOMEM. */
int closeout_begin(const char *program);
