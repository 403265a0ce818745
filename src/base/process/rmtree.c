/* rmtree.c - see rmtree.h */
#include "base/process/rmtree.h"

#include "base/process/spawnprog.h"

int rmtree_start(const char *path)
{
    char *argv[] = { (char *)"/bin/rm", (char *)"-rf", (char *)"--one-file-system",
                     (char *)"--",      (char *)path,  NULL }; /* only read */
    struct spawn s = { .path = argv[0], .argv = argv };
    pid_t pid;

    return spawn_program(&s, &pid);
}
