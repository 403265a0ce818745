/* accttres.h - TRES as text: "cpu=4,mem=400M,gres/gpu=2"; acct/ only
 *
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRES_NAME_MAX 96u

struct tres_item {
    char name[TRES_NAME_MAX];
    uint64_t count; /* memory in MiB */
};

/* Take the next item of *text, which moves behind it.  false: none is left.  What is no item is
 * left out. */
bool tres_next(const char **text, struct tres_item *ret);
/* Append the TRES of a node's GRES "gpu:a100:2,shard:8": gres/gpu and gres/gpu:a100 ...  Gives how
 * many. */
size_t tres_of_gres(const char *gres, struct tres_item *items, size_t max);
