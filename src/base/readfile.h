/* readfile.h - a file's bytes, up to a limit
 *
 * Outputs are the caller's to free, with a NUL behind the last byte that *ret_len does not count,
 * and written only on success.  Errors: -EFBIG more than max bytes; -EISDIR, -EINVAL what is there
 * is no regular file; -ENOMEM; what open(2) and read(2) say. */
#pragma once

#include <stddef.h>

int readfile(const char *path, size_t max, char **ret_text, size_t *ret_len);
/* The first line of a file without its end, cut where buf is full; "" without a file. */
void readfile_line(const char *path, char *buf, size_t size);
/* From where fd stands to its end; fd may be a pipe. */
int readfile_fd(int fd, size_t max, char **ret_text, size_t *ret_len);
