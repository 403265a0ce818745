/* prof_recall.h - what a node was found to hold in one span stands for the next as long as the
 * same steps are in the span */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fit;
struct pick;

/* What node_fit() found before in this search, which stands while the same steps are in the span: 1
 * fits, 0 does not, -1 not known. */
int prof_recall_fit(const struct pick *p, uint32_t id, struct fit *ret);
void prof_note_fit(const struct pick *p, uint32_t id, const struct fit *fit, bool fits);
