/* capture.c - what a program prints, kept in memory up to a limit; see capture.h
 *
 * The program's descriptor and ours are one open file, so its offset tells how much was printed. */
#include "base/process/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int capture_open(size_t max)
{
    _cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, (off_t)max) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        return -errno;
    return TAKE_FD(fd);
}

int capture_text(int fd, char **ret_text)
{
    off_t len = lseek(fd, 0, SEEK_CUR);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    ssize_t n;

    if (len < 0 || fstat(fd, &st) < 0)
        return -errno;
    len = MIN(len, st.st_size); /* the program may have set the offset to anything */
    text = calloc(1, (size_t)len + 1);
    if (!text)
        return -ENOMEM;
    n = pread(fd, text, (size_t)len, 0);
    if (n < 0)
        return -errno;
    if (strlen(text) != (size_t)n)
        return -EILSEQ;
    *ret_text = TAKE_PTR(text);
    return 0;
}
