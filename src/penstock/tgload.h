/* tgload.h - files and programs that runs of `penstock topograph` read */
#pragma once

#include "topograph/run/tgrun.h"

/* As tgrun_io.load; "-" is standard input.  A program (sh -c) has five minutes.  Errors: those of
 * readfile(), -ETIMEDOUT, -EREMOTEIO it failed. */
int tgload_input(void *ctx, const char *what, bool program, char **ret_text, size_t *ret_len,
                 struct err *err);
/* As tgrun_io.partition: `scontrol show partition`. */
int tgload_partition(void *ctx, const char *name, char **ret_nodes, struct err *err);
/* Run argv[0] with nothing but a pipe to read from; what it prints, with at most max bytes.
 * Errors: as above. */
int tgload_program(char *const *argv, size_t max, char **ret_text, size_t *ret_len,
                   struct err *err);
/* Put text into a file that is replaced whole.  Errors: those of open(2), rename(2) and their like.
 */
int tgload_write(const char *path, const char *text, size_t len, struct err *err);
