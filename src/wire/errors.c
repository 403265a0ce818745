/* errors.c - look-ups in the table of errors.h
 *
 * Owns nothing but constant data, so any thread.  Invariant (asserted by test_frame): rows are in
 * ascending order of number, which lets a code be found by bisection. */
#include "wire/errors.h"

#include <stdio.h>

#include "base/cleanup.h"

static const struct row {
    int code;
    const char *symbol;
    const char *text;
} rows[] = { { SLURM_ERROR, "SLURM_ERROR", "Unspecified error" },
             { SLURM_OK, "SLURM_SUCCESS", "No error" },
#define X(sym, num, text) { num, #sym, text },
             SLURM_ERRORS(X)
#undef X
};

static const struct row *find_row(int code)
{
    size_t lo = 0, hi = ARRAY_SIZE(rows);

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (rows[mid].code == code)
            return &rows[mid];
        if (rows[mid].code < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

/* Numbers that only other programs' answers show, for errnumstr. */
static const struct {
    int code;
    const char *text;
} known[] = {
#define T(number, text) { number, text },
#include "wire/errtexts.def"
#undef T
};

static const char *known_text(int code)
{
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].code == code)
            return known[i].text;
    return NULL;
}

const char *slurm_err_text(int code)
{
    static __thread char
        unknown[40]; /* one per thread: the text lives until its next unknown code */
    const struct row *row = find_row(code);
    const char *text = row ? row->text : known_text(code);

    if (text)
        return text;
    (void)snprintf(unknown, sizeof(unknown), "Unknown error %d", code); /* always fits */
    return unknown;
}

const char *slurm_err_symbol(int code)
{
    const struct row *row = find_row(code);

    return row ? row->symbol : NULL;
}

const char *slurm_err_row(size_t i, int *ret_code)
{
    if (i >= ARRAY_SIZE(rows))
        return NULL;
    *ret_code = rows[i].code;
    return rows[i].symbol;
}
