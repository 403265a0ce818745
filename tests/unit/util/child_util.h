/* child_util.h - children of a test that end without its exit handlers */
#pragma once

#include <unistd.h>

#ifdef COUNT_LINES
void __gcov_dump(void);
#endif

/* _exit(); in the build that counts lines with the lines that the child has reached. */
static inline _Noreturn void child_exit(int status)
{
#ifdef COUNT_LINES
    __gcov_dump();
#endif
    _exit(status);
}
