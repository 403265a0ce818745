/* h5name.h - names of the files of steps, and of the folders of users, below ProfileHDF5Dir
 *
 *     ProfileHDF5Dir/alice/7_0_n1.h5        step 0 of job 7 on node n1
 *     ProfileHDF5Dir/alice/7_batch_n1.h5    its script
 *     ProfileHDF5Dir/alice/7_0_n1.h5.1      the same of a run before
 *
 * Pure: no file is touched. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define H5NAME_MAX 256u /* bytes, with the NUL */

struct h5name {
    uint32_t job_id;
    char step[16]; /* "0", "batch" */
    char node[H5NAME_MAX];
};

/* -EINVAL: the step or the node is no part of a file's name; -ENAMETOOLONG. */
int h5name_make(const struct h5name *n, char *buf, size_t size);
/* -EINVAL: it is no such name. */
int h5name_read(const char *name, struct h5name *ret);
/* May a user's folder have this name?  One that begins with a dot may not, nor one with a slash. */
bool h5name_user(const char *user);
