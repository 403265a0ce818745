/* findprog.c - the file that a program's name means; see findprog.h */
#include "base/process/findprog.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_runnable(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* The file in the folder, when it may be run. */
static char *find_in(const char *dir, size_t len, const char *name)
{
    char *path;

    if (asprintf(&path, "%.*s/%s", (int)len, dir, name) < 0)
        return NULL;
    if (is_runnable(path))
        return path;
    free(path);
    return NULL;
}

char *findprog(const char *name)
{
    const char *list = getenv("PATH");
    char cwd[PATH_MAX];

    if (strchr(name, '/'))
        return is_runnable(name) ? strdup(name) : NULL;
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char *path = n > 0 ? find_in(list, n, name) : NULL;

        if (path)
            return path;
        list += n;
        list += *list == ':';
    }
    return getcwd(cwd, sizeof(cwd)) ? find_in(cwd, strlen(cwd), name) : NULL;
}
