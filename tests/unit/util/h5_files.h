/* h5_files.h - files of steps for tests of what reads them */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5/h5image.h"

/* A file of two samples of task 3 and one of the node's energy. */
static inline void h5_file_put(const struct h5_api *api, int dir_fd, const char *name)
{
    static const char lines[] = "CPUTime,job=7,step=0,task=3,host=n value=0.5 1000\n"
                                "CPUTime,job=7,step=0,task=3,host=n value=1.5 2000\n"
                                "Power,job=7,step=0,task=Energy,host=n value=80 1000\n";
    struct h5_samples s = { 0 };
    struct err err = { .text = "" };
    struct h5name n;
    void *image = NULL;
    size_t len;
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_int_equal(h5name_read(name, &n), 0);
    assert_int_equal(h5samples_add(&s, lines, sizeof(lines) - 1), 0);
    assert_int_equal(h5samples_end(&s), 0);
    assert_int_equal(h5image_make(api, &n, &s, &image, &len, &err), 0);
    assert_int_equal(write(fd, image, len), len);
    (void)close(fd);
    free(image);
    h5samples_done(&s);
}

/* Such a file, read. */
static inline h5_id h5_file_open(const struct h5_api *api)
{
    char dir[] = "/tmp/penstock-h5-XXXXXX", path[64];
    h5_id file;
    int fd;

    assert_non_null(mkdtemp(dir));
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    h5_file_put(api, fd, "7_0_n1.h5");
    (void)snprintf(path, sizeof(path), "%s/7_0_n1.h5", dir);
    file = api->f_open(path, H5_READ, H5_DEFAULT);
    assert_int_equal(unlink(path), 0);
    (void)close(fd);
    assert_int_equal(rmdir(dir), 0);
    return file;
}
