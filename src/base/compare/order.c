/* order.c - orders for qsort() and bsearch(); see order.h */
#include "base/compare/order.h"

#include <stdint.h>
#include <string.h>

int order_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

int order_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}
