/* fuzz_cron.c - arbitrary text as the times of a crontab entry
 *
 * What is accepted must come again, later than asked, at a full minute that its own sets name. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cronspec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    struct cron_times t;
    struct err err = { .text = "" };
    const char *end = NULL;
    int64_t after = 1795167425, next;
    int r;

    if (size >= sizeof(text))
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    r = cron_parse(text, &t, &end, &err);
    assert((r < 0) == (err.text[0] != '\0'));
    if (r < 0)
        return 0;
    assert(end >= text && end <= text + strlen(text));
    for (int i = 0; i < 3; i++, after = next) {
        struct tm tm;
        time_t when;

        next = cron_next(&t, after);
        if (next == INT64_MAX)
            break; /* February 29 on one weekday, beyond the horizon */
        when = (time_t)next;
        assert(next > after && next % 60 == 0 && localtime_r(&when, &tm));
        assert(t.fixed || (t.minutes & (UINT64_C(1) << tm.tm_min)));
    }
    return 0;
}
