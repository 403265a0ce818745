/* clockstep.c - a host whose clock is set: preloaded into a daemon, it adds to the time of day
 * what a file says
 *
 * CLOCKSTEP_FILE holds 8 bytes, microseconds, which the test writes at any moment, in place.
 * CLOCK_REALTIME moves, the monotonic clocks do not: so it is when somebody sets a clock.  Not
 * shown: timers of the kernel that wait for a time of day, and the times of files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *step_us;
static int (*real_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void map_step(void)
{
    const char *path = getenv("CLOCKSTEP_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd >= 0 ? mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (at != MAP_FAILED)
        step_us = at;
    if (fd >= 0)
        (void)close(fd);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int r;

    if (!real_clock) /* another library's constructor asks before ours ran */
        real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    r = real_clock(id, ts);
    if (r == 0 && step_us && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        int64_t ns = ts->tv_nsec + *step_us % 1000000 * 1000;

        ts->tv_sec += *step_us / 1000000 + (ns >= 1000000000) - (ns < 0);
        ts->tv_nsec = ns + (ns < 0 ? 1000000000 : ns >= 1000000000 ? -1000000000 : 0);
    }
    return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;
    int r = clock_gettime(CLOCK_REALTIME, &ts);

    (void)zone;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return r;
}

time_t time(time_t *out)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_REALTIME, &ts);
    if (out)
        *out = ts.tv_sec;
    return ts.tv_sec;
}
