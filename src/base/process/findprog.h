/* findprog.h - the file that a program's name means */
#pragma once

/* A name without a slash is looked for in the folders of PATH, then in the current one.  The file
 * is one that this process may execute, and no folder.  The caller frees; NULL: there is none, or
 * no memory. */
char *findprog(const char *name);
