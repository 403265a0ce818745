/* labelfile.h - the output of one task, written to a file with the task's number before each line
 *
 * srun --label with an output file that the nodes write.  Whole lines come out, as srun itself
 * labels them: a line of more than LABELFILE_PIECE bytes becomes several, each with its label. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LABELFILE_PIECE 1024u

struct labelfile;

/* For the task `rank` of `tasks` (the label is as wide as the largest number).  fd: a regular file,
 * from here on the labelfile's own.  NULL: no memory, fd is closed. */
struct labelfile *labelfile_new(int fd, uint32_t rank, uint32_t tasks);

/* 0 or -errno of the file, after which nothing more is written. */
int labelfile_put(struct labelfile *f, const char *data, size_t n);

/* Write what is left of a line, as a line.  0 or -errno, as labelfile_put().  f may be NULL. */
int labelfile_end(struct labelfile *f);

/* Close the file; what is left of a line is not written.  Always NULL; f may be NULL. */
struct labelfile *labelfile_free(struct labelfile *f);
