/* fieldtable.c - see fieldtable.h */
#include "fieldtable.h"

const struct field_row *field_row(const struct fieldtable *t, uint32_t number)
{
    size_t lo = 0, hi = t->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (t->rows[mid].number < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->n && t->rows[lo].number == number ? &t->rows[lo] : NULL;
}
