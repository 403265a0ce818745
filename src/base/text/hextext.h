/* hextext.h - bytes as hexadecimal digits.  Pure. */
#pragma once

#include <stddef.h>

/* The n bytes as 2 * n small digits and a 0, into text. */
void hextext_write(const void *bytes, size_t n, char *text);
