/* rmtree.h - remove a folder with all that it holds, without waiting for that
 *
 * rm(1) does it: it follows no link, goes as deep as the folder is, and leaves other file systems
 * alone. */
#pragma once

/* 0: a child of ours removes it, which the caller reaps with its others.  Errors: those of
 * posix_spawn(3); it stays. */
int rmtree_start(const char *path);
