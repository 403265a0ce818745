/* logfile_util.h - what a test's calls put into the log
 *
 * logfile_open() and logfile_close() are the fixture of a group. */
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/logflags.h"

static char logfile_path[] = "/tmp/logfile.XXXXXX";

static int logfile_open(void **state)
{
    int fd = mkstemp(logfile_path);

    (void)state;
    return fd < 0 || close(fd) < 0 || log_open("test", logfile_path, LOG_INFO, false) < 0;
}

static int logfile_close(void **state)
{
    (void)state;
    logflags_set(NULL);
    return log_open(NULL, NULL, LOG_INFO, false) < 0 || unlink(logfile_path) < 0;
}

/* What was logged since the last call; the caller frees. */
static char *logfile_take(void)
{
    _cleanup_close_ int fd = open(logfile_path, O_RDWR | O_CLOEXEC);
    char *text = calloc(1, 8192);

    assert_true(fd >= 0 && text && read(fd, text, 8191) >= 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    return text;
}
