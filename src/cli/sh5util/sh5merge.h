/* sh5merge.h - the files of a job's steps made into one */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "cli/sh5util/sh5ids.h"
#include "h5/h5lib.h"

struct sh5files { /* all 0 to begin */
    char **names;
    size_t n;
};

/* The names of the files of these steps in the folder dir_fd, sorted.  Errors: -ENOMEM, those of
 * readdir(3). */
int sh5files_find(int dir_fd, const struct sh5ids *ids, struct sh5files *ret);
void sh5files_done(struct sh5files *f);
/* Write them all into the file out_fd, which is cut first.  The files stay. */
int sh5merge(const struct h5_api *api, int dir_fd, const struct sh5files *files, int out_fd,
             struct err *err);
