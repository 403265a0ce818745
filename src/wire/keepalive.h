/* keepalive.h - how the kernel asks whether a silent peer is still there */
#pragma once

enum keepalive_part { KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_PROBES, KEEPALIVE_PARTS };

/* Ask after so many seconds of silence, so often, so many times; a part that is 0 is 30 s, 10 s, 3
 * times.  Small messages leave at once, too.  A socket that refuses one still works. */
void keepalive_tune(int fd, const unsigned parts[KEEPALIVE_PARTS]);
