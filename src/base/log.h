/* log.h - the daemon log: one line an event, levels as in SlurmctldDebug
 *
 * Thread-safe.  A line is `[2026-01-02T03:04:05.678] error: text job=12` (local time, no level word
 * for info; log_set_time() changes the form of the time) and goes to the file set with log_open()
 * or to stderr, there as `slurmctld: [...] error: text`. It is at most 4 KiB and leaves in one
 * write(2).  Text from outside is quoted with log_quote() before it is logged; a newline that slips
 * through becomes a space.  errno is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

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
 * With also_stderr every line goes to stderr too (slurmctld -D), without its time once
 * log_set_time() was called without format_stderr.  Errors: negative errno of open(2). */
int log_open(const char *program, const char *path, enum log_level level, bool also_stderr);

/* Close and open the file again (log rotation, SIGUSR2). */
int log_reopen(void);

/* Where lines go to the file `from` (NULL = stderr), to the file `to` from now on.  Errors: as
 * log_open(); lines go where they went. */
int log_move(const char *from, const char *to);

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Which subjects of base/logflags.h are on, a bit each; of those in mask, the ones in `on` are from
 * now on and the others are not. */
uint64_t log_subjects(void);
void log_set_subjects(uint64_t on, uint64_t mask);

/* Lines up to this level, a word of log_level_parse(), go to the socket of the system's log at path
 * too, NULL = /dev/log.  NULL or "quiet": none.  Errors: -EINVAL no such level; none are sent. */
int log_set_syslog(const char *level, const char *path);

/* How times stand in lines, as LogTimeFormat says: iso8601_ms and iso8601 (local time), rfc5424_ms,
 * rfc5424 and rfc3339 (the same with the distance to UTC), short ("Jan 02 03:04:05"), thread_id
 * (the same with microseconds, the process, the thread's name and number), clock (the process's CPU
 * time in microseconds), omit; and format_stderr, see log_open().  NULL or no such word:
 * iso8601_ms.  Of several the one that stands last here counts. */
void log_set_time(const char *words);

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

/* A lack of memory: the arguments say what follows from it. */
#define log_nomem(consequence, ...) log_error(ERR_NOMEM ": " consequence __VA_OPT__(, ) __VA_ARGS__)

/* For a line that a peer or an ordinary user can cause as often as he likes: LOG_LIMITED_BURST
 * lines of the place where it stands, then one a second.  How many were left out is told with
 * the next line of the place, or by log_limited_flush(). */
#define LOG_LIMITED_BURST 20u
#define log_limited(level, ...) LOG_AT_SITE(LOG_LIMITED_BURST, 1, level, __VA_ARGS__)
/* For what goes on as long as its cause does, such as peers on a slow network: a line, then one in
 * LOG_SELDOM_S seconds with the number of those between. */
#define LOG_SELDOM_S 60u
#define log_seldom(level, ...) LOG_AT_SITE(1, LOG_SELDOM_S, level, __VA_ARGS__)
#define LOG_AT_SITE(lines, seconds, level, ...)                                                    \
    do {                                                                                           \
        static struct log_site log_site_here = { .burst = (lines), .period_s = (seconds) };        \
        log_write_limited(&log_site_here, level, __VA_ARGS__);                                     \
    } while (0)

/* A place that logs; private to log.c, and zero at first. */
struct log_site {
    unsigned burst, period_s; /* so many lines, and one more in each period; 0: as log_limited() */
    struct log_site *next;
    const char *fmt;
    int64_t filled_us;
    uint64_t left_out;
    unsigned tokens;
};

void log_write_limited(struct log_site *site, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Tell what was left out at places that have been quiet since.  To be called about once a
 * second; any thread. */
void log_limited_flush(void);

/* Copy text into buf with control characters and quotes escaped, between quotes, cut to size.
 * Gives back buf. */
const char *log_quote(const char *text, char *buf, size_t size);
