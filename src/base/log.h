/* log.h - the daemon log: one line an event, levels as in SlurmctldDebug
 *
 * Thread-safe.  A line is `[2026-01-02T03:04:05.678] error: text job=12` (local time, no level word
 * for info) and goes to the file set with log_open() or to stderr, there as `slurmctld: [...]
 * error: text`. It is at most 4 KiB and leaves in one write(2).  Text from outside is quoted with
 * log_quote() before it is logged; a newline that slips through becomes a space.  errno is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum log_level {
    LOG_QUIET,
    LOG_FATAL,
    LOG_ERROR,
    LOG_INFO,
    LOG_VERBOSE,
    LOG_DEBUG,
    LOG_DEBUG2,
    LOG_DEBUG3,
    LOG_DEBUG4,
    LOG_DEBUG5,
};

/* Log to path (NULL = stderr) from now on, at most `level`.  `program` is kept, not copied.
 * With also_stderr every line goes to stderr too (slurmctld -D).  Errors: negative errno of
 * open(2). */
int log_open(const char *program, const char *path, enum log_level level, bool also_stderr);

/* Close and open the file again (log rotation, SIGUSR2). */
int log_reopen(void);

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Parse "info", "debug2", "4" ...; negative errno -EINVAL when unknown. */
int log_level_parse(const char *text, enum log_level *ret_level);
const char *log_level_name(enum log_level level);

void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_fatal(...) log_write(LOG_FATAL, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_verbose(...) log_write(LOG_VERBOSE, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_debug2(...) log_write(LOG_DEBUG2, __VA_ARGS__)

/* Copy text into buf with control characters and quotes escaped, between quotes, cut to size.
 * Gives back buf. */
const char *log_quote(const char *text, char *buf, size_t size);
