/* restfeed.c - jobs that only wait are told to the scheduler after the start; see restfeed.h
 *
 * The list is schedfeed.c's.  Behind each piece goes a feed that asks for the next one when it is
 * applied, so that the core is never far ahead of the scheduler; two such chains keep both busy. */
#include "ctld/schedlink/restfeed.h"

#include <stdlib.h>

#include "base/must.h"
#include "ctld/core/service.h"
#include "ctld/schedlink/schedfeed.h"
#include "feed/feedmem.h"

#define PIECE_JOBS 1024u
#define CHAINS 2

static void tell_piece(void *arg);

/* On the scheduler's thread: what was told so far is applied. */
static void ask_core(void *arg, struct sched *s, const struct sched_params *params)
{
    struct cmd *cmd = must(calloc(1, sizeof(*cmd)));

    (void)s;
    (void)params;
    cmd->kind = CMD_CALL;
    cmd->fn = tell_piece;
    cmd->arg = arg;
    (void)core_post(arg, cmd); /* never refused: it is no request */
}

/* The scheduler ends. */
static void drop_chain(void *arg)
{
    (void)arg;
}

static void go_on(struct ctld *ctld)
{
    struct feed *f = feed_new(FEED_APPLIED);

    f->ask = (struct feed_ask){ .arg = ctld, .run = ask_core, .drop = drop_chain };
    feed_add(ctld, f);
}

/* Core thread. */
static void tell_piece(void *arg)
{
    struct ctld *ctld = arg;

    if (feed_some_put_off(ctld, PIECE_JOBS))
        go_on(ctld);
    else
        feed_add(ctld, feed_new(FEED_WHOLE)); /* once for each chain, which does no harm */
}

/* ---- the service ----------------------------------------------------------------------------- */

static int begin_putting_off(struct ctld *ctld, struct err *err)
{
    (void)err;
    feed_put_off(ctld, true);
    feed_add(ctld, feed_new(FEED_PARTIAL));
    return 0;
}

static void tell_rest(struct ctld *ctld)
{
    feed_put_off(ctld, false);
    for (int i = 0; i < CHAINS; i++)
        go_on(ctld);
}

const struct ctld_service restfeed_service = {
    .name = "restfeed",
    .observe = begin_putting_off,
    .recovered = tell_rest,
};
