/* beside.h - programs that are installed beside this one, or stand near it in a build folder */
#pragma once

#include <stddef.h>

/* The first of the n places, paths relative to the folder of the running program, where there is a
 * program that this process may execute: into path.  Errors: -ENOENT none, -ENAMETOOLONG, those of
 * readlink(2). */
int beside_find(const char *const *places, size_t n, char *path, size_t size);
