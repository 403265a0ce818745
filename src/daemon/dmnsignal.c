/* dmnsignal.c - the signals of a daemon and what they ask for; see daemon.h */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "daemon/daemon.h"

const int daemon_signals[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR2, 0 };

static sigset_t signal_set(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (const int *s = daemon_signals; *s; s++)
        (void)sigaddset(&set, *s); /* each is a valid signal */
    return set;
}

enum daemon_action daemon_signal_action(int signum)
{
    switch (signum) {
    case SIGHUP:
        return DAEMON_RELOAD;
    case SIGUSR2:
        (void)log_reopen(); /* keeps the old file when it fails */
        return DAEMON_NONE;
    case SIGTERM:
    case SIGINT:
        return DAEMON_END;
    default:
        return DAEMON_NONE;
    }
}

void daemon_block_signals(void)
{
    sigset_t set = signal_set();

    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* cannot fail */
    (void)signal(SIGPIPE, SIG_IGN);               /* cannot fail */
}

enum daemon_action daemon_wait_signal(int timeout_ms)
{
    const struct timespec time = { .tv_sec = timeout_ms / 1000,
                                   .tv_nsec = timeout_ms % 1000 * 1000000L };
    sigset_t set = signal_set();
    int sig = timeout_ms < 0 ? sigwaitinfo(&set, NULL) : sigtimedwait(&set, NULL, &time);

    if (sig < 0)
        return errno == EAGAIN ? DAEMON_TICK : DAEMON_NONE;
    return daemon_signal_action(sig);
}
