/* readfile.c - a file's bytes, up to a limit; see readfile.h */
#include "base/readfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FIRST_BYTES 4096u

/* Room for as many bytes as are held, and max + 1 at most: one byte too many tells of a file that
 * is too large. */
static int grow_text(char **text, size_t *cap, size_t max)
{
    size_t wanted = *cap ? *cap * 2 : FIRST_BYTES;
    char *grown = realloc(*text, (wanted > max ? max + 1 : wanted) + 1);

    if (!grown)
        return -ENOMEM;
    *text = grown;
    *cap = wanted > max ? max + 1 : wanted;
    return 0;
}

static int read_to_end(int fd, size_t cap, size_t max, char **ret_text, size_t *ret_len)
{
    _cleanup_free_ char *text = malloc(cap + 1);
    size_t len = 0;

    if (!text)
        return -ENOMEM;
    for (;;) {
        ssize_t n;
        int r = len == cap ? grow_text(&text, &cap, max) : 0;

        if (r < 0)
            return r;
        n = read(fd, text + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
        if (len > max)
            return -EFBIG;
    }
    text[len] = '\0';
    *ret_text = TAKE_PTR(text);
    *ret_len = len;
    return 0;
}

int readfile_fd(int fd, size_t max, char **ret_text, size_t *ret_len)
{
    return read_to_end(fd, MIN((size_t)FIRST_BYTES, max + 1), max, ret_text, ret_len);
}

int readfile(const char *path, size_t max, char **ret_text, size_t *ret_len)
{
    /* O_NONBLOCK: a FIFO would wait for a writer */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    if (st.st_size > 0 && (size_t)st.st_size > max)
        return -EFBIG;
    /* one more than its size, so that the end is seen without growing; files in /proc say 0 */
    return read_to_end(fd,
                       st.st_size > 0 ? (size_t)st.st_size + 1 : MIN((size_t)FIRST_BYTES, max + 1),
                       max, ret_text, ret_len);
}

void readfile_line(const char *path, char *buf, size_t size)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");

    buf[0] = '\0';
    if (f && fgets(buf, (int)size, f))
        buf[strcspn(buf, "\n")] = '\0';
}
