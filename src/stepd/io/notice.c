/* notice.c - the step daemon's own lines, as a person sees them; see step.h
 *
 * `[2026-01-01T00:00:00.123] error: text`: to srun's standard error for its steps, to the job's
 * standard error for the batch step.  Never blocks, not even when the reader is slow; a full disk
 * loses the line and nothing else. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stepd/step.h"
#include "wire/client.h"

void step_tell(struct step *s, char *line)
{
    if (s->srun) {
        Pst__StepMessage msg = PST__STEP_MESSAGE__INIT;

        msg.text = line;
        msg.has_cancelled = msg.cancelled = s->from_outside;
        if (client_send_nonblock(s->srun, OP_STEP_MESSAGE, FRAME_ONEWAY, client_next_id(s->srun),
                                 &msg.base) < 0)
            io_lost(s);
    } else if (line) {
        output_tell(s, s->err_fd, line, strlen(line));
    }
}

/* "[2026-01-01T00:00:00.123] error: TEXT"; "" is no word */
static void write_line(char *line, size_t size, const char *word, const char *fmt, va_list ap)
{
    char text[1200];
    struct timespec ts;
    struct tm tm;
    size_t at;

    (void)vsnprintf(text, sizeof(text), fmt, ap);
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    (void)localtime_r(&ts.tv_sec, &tm);
    at = strftime(line, size, "[%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(line + at, size - at, ".%03ld] %s%s%s\n", ts.tv_nsec / 1000000, word,
                   *word ? ": " : "", text);
}

void step_notice(struct step *s, const char *fmt, ...)
{
    char line[1280];
    va_list ap;

    va_start(ap, fmt);
    write_line(line, sizeof(line), "error", fmt, ap);
    va_end(ap);
    step_tell(s, line);
}

void step_notice_of(struct step *s, const char *label, const char *fmt, ...)
{
    char line[1280];
    size_t at = (size_t)snprintf(line, sizeof(line), "%.32s", label);
    va_list ap;

    va_start(ap, fmt);
    write_line(line + at, sizeof(line) - at, "error", fmt, ap);
    va_end(ap);
    step_tell(s, line);
}

void step_debug(struct step *s, enum log_level level, const char *fmt, ...)
{
    char line[1280];
    va_list ap;

    if (!s->launch || !s->launch->has_slurmd_debug || s->launch->slurmd_debug < (uint32_t)level)
        return;
    va_start(ap, fmt);
    write_line(line, sizeof(line), level == LOG_INFO ? "" : log_level_name(level), fmt, ap);
    va_end(ap);
    step_tell(s, line);
}

void task_notice(const struct step *s, int fd, const char *fmt, ...)
{
    char line[1280];
    va_list ap;

    va_start(ap, fmt);
    write_line(line, sizeof(line), "error", fmt, ap);
    va_end(ap);
    output_tell(s, fd, line, strlen(line));
}
