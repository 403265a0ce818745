/* capture.h - what a program prints, kept in memory up to a limit
 *
 * A file without a name, of a size that nobody can change: a program that prints more gets an error
 * from write(2), and its starter keeps no pipe to read. */
#pragma once

#include <stddef.h>

/* A descriptor for the program's standard output, close-on-exec here.  Errors: those of
 * memfd_create(2). */
int capture_open(size_t max);
/* What was written so far; the caller frees *ret_text.  -EILSEQ: there is a NUL in it. */
int capture_text(int fd, char **ret_text);
