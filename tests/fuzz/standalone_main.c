/* standalone_main.c - run a fuzz target over the files of a corpus, once each
 *
 * Stands in for libFuzzer's main() where there is none, so that every input that once mattered is a
 * test on every compiler.  usage: fuzz_x FILE-OR-FOLDER...  Prints one TAP line a file. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define INPUT_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count;

static int run_file(const char *path)
{
    _cleanup_fclose_ FILE *f = fopen(path, "rb");
    _cleanup_free_ uint8_t *data = NULL;
    struct stat st;
    size_t size;

    if (!f || fstat(fileno(f), &st) < 0)
        return -errno;
    if (st.st_size > (off_t)INPUT_MAX)
        return -EFBIG;
    size = (size_t)st.st_size;
    data = malloc(size ? size : 1); /* exactly the size: a read past the end is seen */
    if (!data)
        return -ENOMEM;
    if (fread(data, 1, size, f) != size)
        return -EIO;
    (void)LLVMFuzzerTestOneInput(data, size);
    (void)printf("ok %u - %s\n", ++count, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    (void)fflush(stdout); /* the last line printed names the input before the one that crashed */
    return 0;
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int run_folder(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, not_hidden, alphasort), r = n < 0 ? -errno : 0;

    for (int i = 0; i < n; i++) {
        char file[4096];

        (void)snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        if (r == 0)
            r = run_file(file);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return r;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int r = stat(argv[i], &st) < 0 ? -errno
                : S_ISDIR(st.st_mode)  ? run_folder(argv[i])
                                       : run_file(argv[i]);

        if (r < 0) {
            (void)fprintf(stderr, "%s: %s\n", argv[i], strerror(-r));
            return 1;
        }
    }
    (void)printf("1..%u\n", count);
    return count ? 0 : 1;
}
