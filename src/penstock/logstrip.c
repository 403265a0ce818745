/* logstrip.c - see logstrip.h */
#include "penstock/logstrip.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/pb/pbunknown.h"

static void note_loss(void *ctx, const char *message, uint32_t field)
{
    struct losses *d = ctx;

    for (size_t i = 0; i < d->n; i++) {
        struct loss *l = &d->items[i];

        if (l->field == field && strcmp(l->message, message) == 0) {
            l->times++;
            return;
        }
    }
    if (d->n == LOSSES_MAX) {
        d->untold++;
        return;
    }
    d->items[d->n++] =
        (struct loss){ .message = message, .field = field, .times = 1, .first_lsn = d->lsn };
}

/* Events of kinds that are not known have nothing in them by now. */
static void drop_empty_events(Pst__Transaction *tx)
{
    size_t kept = 0;

    for (size_t i = 0; i < tx->n_events; i++) {
        if (tx->events[i]->body_case == PST__EVENT__BODY__NOT_SET)
            pst__event__free_unpacked(tx->events[i], NULL);
        else
            tx->events[kept++] = tx->events[i];
    }
    tx->n_events = kept;
}

size_t logstrip(Pst__Transaction *tx, uint64_t lsn, struct losses *losses)
{
    size_t n;

    if (losses)
        losses->lsn = lsn;
    n = pb_drop_unknown(&tx->base, losses ? note_loss : NULL, losses);
    if (n)
        drop_empty_events(tx);
    return n;
}

void losses_print(FILE *out, const struct losses *d)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct loss *l = &d->items[i];
        bool event = strcmp(l->message, pst__event__descriptor.name) == 0;

        (void)fprintf(out,
                      "unknown here, dropped: %s %" PRIu32 "%s%s, %" PRIu64
                      " times, first in record %" PRIu64 "\n",
                      event ? "events of kind" : "field", l->field, event ? "" : " of ",
                      event ? "" : l->message, l->times, l->first_lsn);
    }
    if (d->untold)
        (void)fprintf(out, "unknown here, dropped: %" PRIu64 " more\n", d->untold);
}
