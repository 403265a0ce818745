/* order.h - orders for qsort(), bsearch() and their like
 *
 * Pure functions; any thread. */
#pragma once

/* Of uint32_t. */
int order_u32(const void *a, const void *b);
/* Of texts (char *), byte by byte. */
int order_text(const void *a, const void *b);
