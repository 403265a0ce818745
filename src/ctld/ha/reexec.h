/* reexec.h - becoming another process: one that stands by */
#pragma once

/* Execute the command line, whose first word is the program, with nothing open but the standard
 * streams.  Every thread of this process ends.  Returns only when that cannot be done.  Any
 * thread. */
void reexec_as(char *const *argv);
