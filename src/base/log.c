/* log.c - the daemon log; see log.h.
 *
 * Owns one process-wide sink.  Each line is formatted on the caller's stack and leaves in one
 * write(2) to an O_APPEND descriptor, so lines of threads and of processes sharing a file never
 * mix.  The level is read without the lock; the lock only keeps log_reopen() from closing a
 * descriptor in use. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "base/sink/syslogsink.h"
#include "base/timefmt.h"
#include "base/wordlist.h"

enum { LINE_MAX_BYTES = 4096, STAMP_MAX = 128 };

enum stamp {
    STAMP_ISO8601_MS, /* the default */
    STAMP_ISO8601,
    STAMP_RFC5424_MS,
    STAMP_RFC5424,
    STAMP_RFC3339,
    STAMP_SHORT,
    STAMP_THREAD_ID,
    STAMP_CLOCK,
    STAMP_OMIT,
};

/* The words of LogTimeFormat; what strftime(3) makes, whether milliseconds and the distance to UTC
 * follow. */
static const struct {
    const char *word, *format;
    bool ms, zone;
} stamps[] = {
    [STAMP_ISO8601_MS] = { "iso8601_ms", "%Y-%m-%dT%H:%M:%S", true, false },
    [STAMP_ISO8601] = { "iso8601", "%Y-%m-%dT%H:%M:%S", false, false },
    [STAMP_RFC5424_MS] = { "rfc5424_ms", "%Y-%m-%dT%H:%M:%S", true, true },
    [STAMP_RFC5424] = { "rfc5424", "%Y-%m-%dT%H:%M:%S", false, true },
    [STAMP_RFC3339] = { "rfc3339", "%Y-%m-%dT%H:%M:%S", false, true },
    [STAMP_SHORT] = { "short", "%b %d %H:%M:%S", false, false },
    [STAMP_THREAD_ID] = { "thread_id", "%b %d %H:%M:%S", false, false },
    [STAMP_CLOCK] = { "clock", NULL, false, false },
    [STAMP_OMIT] = { "omit", NULL, false, false },
};

static struct {
    pthread_rwlock_t lock; /* writers: open and reopen */
    const char *program;
    char *path; /* NULL: stderr */
    int fd;     /* -1: stderr */
    bool also_stderr;
    atomic_int level;
    atomic_int stamp;              /* enum stamp */
    atomic_bool bare_stderr;       /* what is in the file too has no time there */
    atomic_uint_fast64_t subjects; /* of logflags.h */
    struct syslogsink syslog;
} sink = {
    .lock = PTHREAD_RWLOCK_INITIALIZER, .fd = -1, .level = LOG_INFO, .syslog = SYSLOGSINK_INIT
};

static const char *const level_names[] = {
    [LOG_QUIET] = "quiet",   [LOG_FATAL] = "fatal",     [LOG_ERROR] = "error",
    [LOG_INFO] = "info",     [LOG_VERBOSE] = "verbose", [LOG_DEBUG] = "debug",
    [LOG_DEBUG2] = "debug2", [LOG_DEBUG3] = "debug3",   [LOG_DEBUG4] = "debug4",
    [LOG_DEBUG5] = "debug5",
};

static int open_log_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);

    return fd < 0 ? -errno : fd;
}

int log_open(const char *program, const char *path, enum log_level level, bool also_stderr)
{
    _cleanup_free_ char *copy = NULL;
    _cleanup_close_ int old = -1;
    int fd = -1;

    if (path) {
        copy = strdup(path);
        if (!copy)
            return -ENOMEM;
        fd = open_log_file(path);
        if (fd < 0)
            return fd;
    }
    (void)pthread_rwlock_wrlock(&sink.lock); /* fails only on misuse */
    old = sink.fd;
    free(sink.path);
    sink.path = TAKE_PTR(copy);
    sink.fd = fd;
    sink.program = program;
    sink.also_stderr = also_stderr;
    (void)pthread_rwlock_unlock(&sink.lock);
    log_set_level(level);
    return 0;
}

int log_reopen(void)
{
    _cleanup_close_ int old = -1;
    int r = 0;

    (void)pthread_rwlock_wrlock(&sink.lock);
    if (sink.path) {
        r = open_log_file(sink.path);
        if (r >= 0) {
            old = sink.fd;
            sink.fd = r;
            r = 0;
        }
    }
    (void)pthread_rwlock_unlock(&sink.lock);
    return r;
}

int log_move(const char *from, const char *to)
{
    _cleanup_free_ char *copy = strdup(to);
    _cleanup_close_ int old = -1;
    int fd, r = 0;

    if (!copy)
        return -ENOMEM;
    (void)pthread_rwlock_wrlock(&sink.lock); /* fails only on misuse */
    if (from ? sink.path && strcmp(sink.path, from) == 0 : !sink.path) {
        fd = open_log_file(to);
        r = MIN(fd, 0);
        if (fd >= 0) {
            old = sink.fd;
            free(sink.path);
            sink.path = TAKE_PTR(copy);
            sink.fd = fd;
        }
    }
    (void)pthread_rwlock_unlock(&sink.lock);
    return r;
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&sink.level, (int)level, memory_order_relaxed);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load_explicit(&sink.level, memory_order_relaxed);
}

uint64_t log_subjects(void)
{
    return atomic_load_explicit(&sink.subjects, memory_order_relaxed);
}

void log_set_subjects(uint64_t on, uint64_t mask)
{
    (void)atomic_fetch_and(&sink.subjects, ~mask | on);
    (void)atomic_fetch_or(&sink.subjects, on & mask);
}

int log_level_parse(const char *text, enum log_level *ret_level)
{
    uint64_t number;

    if (parse_u64(text, 0, ARRAY_SIZE(level_names) - 1, &number) == 0) {
        *ret_level = (enum log_level)number;
        return 0;
    }
    for (size_t i = 0; text && i < ARRAY_SIZE(level_names); i++) {
        if (strcasecmp(text, level_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

const char *log_level_name(enum log_level level)
{
    return (size_t)level < ARRAY_SIZE(level_names) ? level_names[level] : "unknown";
}

int log_set_syslog(const char *text, const char *path)
{
    enum log_level level = LOG_QUIET;
    int r = text ? log_level_parse(text, &level) : 0;

    syslogsink_set(&sink.syslog, (int)level, path ? path : "/dev/log");
    return r;
}

void log_set_time(const char *words)
{
    int stamp = STAMP_ISO8601_MS;

    for (size_t i = 0; words && i < ARRAY_SIZE(stamps); i++)
        if (wordlist_has_nocase(words, stamps[i].word))
            stamp = (int)i;
    atomic_store_explicit(&sink.stamp, stamp, memory_order_relaxed);
    atomic_store_explicit(&sink.bare_stderr, !wordlist_has_nocase(words, "format_stderr"),
                          memory_order_relaxed);
}

/* "[Jan 02 03:04:05.678901 1234 name-of-thread 1240] ": of the daemon, and of its thread. */
static size_t put_thread(char *buf, size_t size, size_t n, long us)
{
    char name[16] = "";

    (void)prctl(PR_GET_NAME, name); /* the buffer has the size that it wants: cannot fail */
    safetext_clean_n(name, strlen(name));
    return n + (size_t)snprintf(buf + n, size - n, ".%06ld %d %s %d] ", us, (int)getpid(), name,
                                (int)gettid());
}

/* "[2026-01-02T03:04:05.678] ", local time. */
static size_t put_stamp(char *buf, size_t size)
{
    int stamp = atomic_load_explicit(&sink.stamp, memory_order_relaxed);
    int64_t us = now_us();
    time_t t = (time_t)(us / USEC_PER_SEC);
    char ms[8] = "", zone[8] = "";
    struct tm tm;
    size_t n = 1;

    if (stamp == STAMP_CLOCK)
        return (size_t)snprintf(buf, size, "[%lld] ", (long long)clock());
    if (stamp == STAMP_OMIT || !localtime_r(&t, &tm))
        return 0;
    buf[0] = '[';
    n += strftime(buf + n, size - n, stamps[stamp].format, &tm);
    if (stamp == STAMP_THREAD_ID)
        return put_thread(buf, size, n, (long)(us % USEC_PER_SEC));
    if (stamps[stamp].ms)
        (void)snprintf(ms, sizeof(ms), ".%03d", (int)(us % USEC_PER_SEC / 1000));
    if (stamps[stamp].zone)
        (void)snprintf(zone, sizeof(zone), "%c%02ld:%02ld", tm.tm_gmtoff < 0 ? '-' : '+',
                       labs(tm.tm_gmtoff) / 3600, labs(tm.tm_gmtoff) / 60 % 60);
    return n + (size_t)snprintf(buf + n, size - n, "%s%s] ", ms, zone);
}

static void write_line(int fd, const char *line, size_t n)
{
    while (write(fd, line, n) < 0 && errno == EINTR)
        ; /* other failures: a log that cannot be written has nowhere to say so */
}

/* With the program's name first: several daemons may share a terminal.  Called with the lock
 * held. */
static void write_stderr(const char *line, size_t n)
{
    char named[LINE_MAX_BYTES + 64];
    int prefix = 0;

    if (sink.program)
        prefix = snprintf(named, 64, "%.60s: ", sink.program);
    memcpy(named + prefix, line, n);
    write_line(STDERR_FILENO, named, (size_t)prefix + n);
}

static bool is_wanted(enum log_level level)
{
    return level != LOG_QUIET &&
           (level <= log_get_level() || (int)level <= syslogsink_level(&sink.syslog));
}

/* As syslog(3) counts: critical, error, information, debugging. */
static int severity_of(enum log_level level)
{
    return level <= LOG_FATAL ? 2 : level == LOG_ERROR ? 3 : level <= LOG_VERBOSE ? 6 : 7;
}

static void write_args(enum log_level level, const char *fmt, va_list ap)
{
    char line[LINE_MAX_BYTES];
    int saved = errno, n;
    size_t stamp, used;

    stamp = put_stamp(line, STAMP_MAX);
    used = stamp;
    if (level != LOG_INFO)
        used += (size_t)snprintf(line + used, 64, "%s: ", log_level_name(level));
    errno = saved; /* for %m */
    n = vsnprintf(line + used, sizeof(line) - used, fmt, ap);
    if (n > 0)
        used += MIN((size_t)n, sizeof(line) - used - 1);
    safetext_clean_n(line + stamp, used - stamp); /* one line an event, whatever was passed in */
    (void)pthread_rwlock_rdlock(&sink.lock);
    if ((int)level <= syslogsink_level(&sink.syslog))
        syslogsink_send(&sink.syslog, sink.program, severity_of(level), line + stamp, used - stamp);
    line[used++] = '\n';
    if (level <= log_get_level() && sink.fd >= 0) /* else the system's log has it */
        write_line(sink.fd, line, used);
    if (sink.fd < 0 || !atomic_load_explicit(&sink.bare_stderr, memory_order_relaxed))
        stamp = 0;
    if (level <= log_get_level() && (sink.fd < 0 || sink.also_stderr))
        write_stderr(line + stamp, used - stamp);
    (void)pthread_rwlock_unlock(&sink.lock);
    errno = saved;
}

void log_write(enum log_level level, const char *fmt, ...)
{
    va_list ap;

    if (!is_wanted(level))
        return;
    va_start(ap, fmt);
    write_args(level, fmt, ap);
    va_end(ap);
}

/* ---- lines that others can cause ------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    struct log_site *sites; /* that have logged; never removed */
} limited = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A token a period; lock held. */
static void fill_site(struct log_site *site, int64_t now)
{
    int64_t period_us = (int64_t)site->period_s * USEC_PER_SEC;
    int64_t periods = (now - site->filled_us) / period_us;

    if (periods <= 0)
        return;
    site->tokens = (unsigned)MIN((int64_t)site->tokens + periods, (int64_t)site->burst);
    site->filled_us += periods * period_us;
}

/* May one more line go out?  *ret_left_out: lines that did not, before it. */
static bool take_token(struct log_site *site, const char *fmt, uint64_t *ret_left_out)
{
    int64_t now = now_mono_us();
    bool ok;

    (void)pthread_mutex_lock(&limited.lock); /* fails only on misuse */
    if (!site->fmt) {
        site->burst = site->burst ? site->burst : LOG_LIMITED_BURST;
        site->period_s = site->period_s ? site->period_s : 1;
        site->next = limited.sites;
        site->fmt = fmt;
        site->filled_us = now;
        site->tokens = site->burst;
        limited.sites = site;
    }
    fill_site(site, now);
    ok = site->tokens > 0;
    *ret_left_out = ok ? site->left_out : 0;
    site->left_out = ok ? 0 : site->left_out + 1;
    site->tokens -= ok;
    (void)pthread_mutex_unlock(&limited.lock);
    return ok;
}

static void tell_left_out(uint64_t n, const char *fmt)
{
    log_info("%llu lines of this kind were not logged: %.60s ...", (unsigned long long)n, fmt);
}

void log_write_limited(struct log_site *site, enum log_level level, const char *fmt, ...)
{
    int saved = errno;
    uint64_t left_out;
    va_list ap;

    if (!is_wanted(level) || !take_token(site, fmt, &left_out))
        return;
    if (left_out)
        tell_left_out(left_out, fmt);
    errno = saved; /* for %m */
    va_start(ap, fmt);
    write_args(level, fmt, ap);
    va_end(ap);
}

void log_limited_flush(void)
{
    int64_t now = now_mono_us();

    (void)pthread_mutex_lock(&limited.lock);
    for (struct log_site *site = limited.sites; site; site = site->next) {
        fill_site(site, now);
        if (!site->left_out || site->tokens < (site->burst + 1) / 2)
            continue; /* it goes on: the next line tells */
        tell_left_out(site->left_out, site->fmt);
        site->left_out = 0;
    }
    (void)pthread_mutex_unlock(&limited.lock);
}

const char *log_quote(const char *text, char *buf, size_t size)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = 0;

    if (size == 0)
        return "";
    if (size < 3) {
        buf[0] = '\0';
        return buf;
    }
    buf[n++] = '"';
    for (const unsigned char *p = (const unsigned char *)(text ? text : ""); *p; p++) {
        size_t need = *p == '"' || *p == '\\' ? 2 : *p < 0x20 || *p == 0x7f ? 4 : 1;

        if (n + need + 2 > size)
            break;
        if (need == 4) {
            buf[n++] = '\\';
            buf[n++] = 'x';
            buf[n++] = hex[*p >> 4];
            buf[n++] = hex[*p & 15];
            continue;
        }
        if (need == 2)
            buf[n++] = '\\';
        buf[n++] = (char)*p;
    }
    buf[n++] = '"';
    buf[n] = '\0';
    return buf;
}
