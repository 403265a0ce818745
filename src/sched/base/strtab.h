/* strtab.h - strings turned into small dense ids
 *
 * Pure data.  Ids and the strings behind them stay valid for the life of the table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STRTAB_NONE UINT32_MAX

struct strtab {
    char **names; /* by id */
    uint32_t n, cap;
    uint32_t *slots; /* id + 1, 0 = empty; power of two */
    uint32_t nslots;
};

/* The id of text, entering it when new.  Errors: -ENOMEM. */
int strtab_intern(struct strtab *t, const char *text, uint32_t *ret_id);
/* The id of text, or STRTAB_NONE. */
uint32_t strtab_find(const struct strtab *t, const char *text, size_t len);
void strtab_done(struct strtab *t);
/* FNV-1a; also what the other tables of this library hash with. */
uint32_t strtab_hash(const void *data, size_t len);
