/* moment.c - a moment of the past in a controller's journal; see moment.h
 *
 * Records have the time of their commit, which ascends as long as nobody sets the clock back.  A
 * time is looked for from the beginning of what is kept: the first record behind it ends the
 * search. */
#include "penstock/past/moment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"
#include "event.pb-c.h"
#include "journal/earliest.h"
#include "journal/journal.h"
#include "penstock/penstock.h"

/* ---- looking --------------------------------------------------------------------------------- */

struct look {
    int64_t until_us;           /* records behind it end the search */
    uint64_t last_lsn, end_lsn; /* of the last before that; of the first record behind */
    int64_t last_us, end_us;
    struct err err;
};

static int look_at(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    struct look *k = ctx;
    int64_t us;

    (void)snapshot;
    if (!tx)
        return err_set(&k->err, -EUCLEAN, "lsn %" PRIu64 ": the record is no transaction", lsn);
    us = tx->time_us;
    pst__transaction__free_unpacked(tx, NULL);
    if (us > k->until_us) {
        k->end_lsn = lsn;
        k->end_us = us;
        return -ECANCELED; /* enough */
    }
    k->last_lsn = lsn;
    k->last_us = us;
    return 0;
}

static int look_through(const char *dir, uint64_t from, uint64_t to, struct look *k,
                        struct err *err)
{
    int r = journal_dump(dir, from, to, look_at, k, err);

    if (r == -ECANCELED) {
        err->text[0] = '\0';
        return 0;
    }
    return r < 0 && k->err.text[0] ? err_set(err, r, "%s", k->err.text) : r;
}

int moment_first(const char *dir, int64_t time_us, uint64_t *ret_lsn, struct err *err)
{
    struct look k = { .until_us = time_us - 1 };
    int r = look_through(dir, 0, UINT64_MAX, &k, err);

    if (r == 0)
        *ret_lsn = k.end_lsn ? k.end_lsn : UINT64_MAX;
    return r;
}

/* What the log still has. */
struct reach {
    uint64_t lsn, first; /* the earliest state; the first record */
};

static int too_early(const char *dir, const struct reach *at, struct err *err)
{
    struct look k = { .until_us = INT64_MIN };
    struct err why = { .text = "" };
    char when[64] = "unknown time";

    if (look_through(dir, MAX(at->lsn, at->first), UINT64_MAX, &k, &why) == 0 && k.end_lsn)
        time_fmt_stamp(k.end_us, "", k.end_us, when, sizeof(when));
    return err_set(err, -ENOENT,
                   "the log in %s reaches back to record %" PRIu64 " of %s, and no further", dir,
                   at->lsn, when);
}

static int find_record(const char *dir, const char *text, const struct reach *at,
                       struct moment *ret, struct err *err)
{
    struct look k = { .until_us = INT64_MAX };
    uint64_t lsn;
    int r;

    if (parse_u64(text, 1, UINT64_MAX, &lsn) < 0)
        return err_set(err, -EINVAL, "%s is no record's number", text);
    if (lsn < at->lsn || lsn < at->first)
        return too_early(dir, at, err);
    r = look_through(dir, lsn, lsn, &k, err);
    if (r == 0 && k.last_lsn != lsn)
        return err_set(err, -EINVAL, "the log in %s has no record %s yet", dir, text);
    *ret = (struct moment){ .lsn = lsn, .time_us = k.last_us };
    return r;
}

static int find_time(const char *dir, const char *text, int64_t now_us, const struct reach *at,
                     struct moment *ret, struct err *err)
{
    struct look k = { .until_us = 0 };
    int r = time_when_parse(text, now_us, false, &k.until_us, err);

    if (r < 0)
        return r;
    if (k.until_us > now_us)
        return err_set(err, -EINVAL, "%s is still to come", text);
    r = look_through(dir, MAX(at->lsn, at->first), UINT64_MAX, &k, err);
    if (r < 0)
        return r;
    if (!k.last_lsn)
        return too_early(dir, at, err);
    *ret = (struct moment){ .lsn = k.last_lsn, .time_us = k.until_us };
    return 0;
}

int moment_find(const char *dir, const char *text, int64_t now_us, struct moment *ret,
                struct err *err)
{
    bool digits = *text && text[strspn(text, "0123456789")] == '\0';
    struct reach at;
    int r = journal_earliest(dir, &at.lsn, &at.first, err);

    if (r < 0)
        return r;
    return digits ? find_record(dir, text, &at, ret, err)
                  : find_time(dir, text, now_us, &at, ret, err);
}
