/* tree_util.h - folders that tests leave behind */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Remove what parent has under this name, with all that is in it; links are not followed. */
__attribute__((unused)) static void remove_tree(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;

    if (!d) {
        (void)unlinkat(parent, name, 0);
        return;
    }
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_tree(fd, e->d_name);
    (void)closedir(d);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}
