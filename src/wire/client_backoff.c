/* client_backoff.c - a request that the controller has no time for is sent again a second later,
 * as often as it takes
 *
 * With SlurmctldParameters=rl_enable the controller answers SLURMCTLD_COMMUNICATIONS_BACKOFF to
 * users who ask too often; their commands go on by themselves. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/client_impl.h"
#include "wire/errors.h"

#define PAUSE_S 1

static void forget_asked(struct client *c)
{
    free(c->asked);
    c->asked = NULL;
    c->asked_len = 0;
}

void client_keep_asked(struct client *c, uint32_t id, const uint8_t *buf, size_t len)
{
    forget_asked(c);
    c->asked = malloc(len);
    if (!c->asked)
        return;
    memcpy(c->asked, buf, len);
    c->asked_len = len;
    c->asked_id = id;
}

bool client_is_asked(const struct client *c, const struct frame *frame)
{
    return c->asked && (frame->flags & FRAME_REPLY) && frame->id == c->asked_id;
}

uint8_t *client_back_off(struct client *c, const struct frame *frame, size_t *ret_len,
                         int64_t *deadline_mono_us)
{
    struct timespec pause = { .tv_sec = PAUSE_S };
    uint8_t *again;

    if (!(frame->flags & FRAME_ERROR) || c->error_code != SLURMCTLD_COMMUNICATIONS_BACKOFF) {
        forget_asked(c);
        return NULL;
    }
    again = malloc(c->asked_len);
    if (!again)
        return NULL;
    memcpy(again, c->asked, c->asked_len);
    *ret_len = c->asked_len;
    (void)nanosleep(&pause, NULL); /* a signal only makes it shorter */
    if (*deadline_mono_us != 0 && *deadline_mono_us != INT64_MAX)
        *deadline_mono_us += PAUSE_S * USEC_PER_SEC;
    return again;
}
