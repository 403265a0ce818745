/* fuzz_timefmt.c - every parser of timefmt.h on the same text; results must print and read back */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

enum { INPUT_MAX = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_when(const char *text, bool future)
{
    const int64_t now = INT64_C(1774602000) * USEC_PER_SEC;
    char stamp[64], again[64];
    int64_t us, us_again;

    if (time_when_parse(text, now, future, &us, NULL) < 0 || us <= 0)
        return;
    time_fmt_stamp(us, "none", now, stamp, sizeof(stamp));
    if (strlen(stamp) != strlen("2026-01-02T03:04:05"))
        return; /* years beyond 9999 are shown but not read */
    assert(time_when_parse(stamp, now, future, &us_again, NULL) == 0);
    time_fmt_stamp(us_again, "none", now, again, sizeof(again));
    assert(strcmp(stamp, again) == 0); /* the hour that comes twice a year has two instants */
}

static void check_limit(const char *text)
{
    char shown[64];
    uint32_t minutes, again;

    if (time_limit_parse(text, &minutes, NULL) < 0 || minutes == TIME_LIMIT_INFINITE)
        return;
    time_fmt_hms((int64_t)minutes * 60, shown, sizeof(shown));
    assert(time_limit_parse(shown, &again, NULL) == 0 && again == minutes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    char text[INPUT_MAX + 1], shown[64];
    uint64_t u;
    int64_t i;
    uint32_t seconds;

    if (!ready) {
        assert(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1) == 0);
        tzset();
        ready = true;
    }
    if (size > INPUT_MAX)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_when(text, true);
    check_when(text, false);
    check_limit(text);
    (void)time_secs_parse(text, &seconds, NULL); /* only looked at by the sanitizers, as below */
    (void)parse_u64(text, 0, UINT64_MAX, &u);
    (void)parse_i64(text, INT64_MIN, INT64_MAX, &i);
    (void)size_count_parse(text, &u, NULL);
    if (size_mib_parse(text, &u, NULL) == 0) {
        size_mib_fmt(u, false, shown, sizeof(shown));
        assert(shown[0]);
    }
    return 0;
}
