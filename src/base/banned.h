/* banned.h - calls that are errors in this project; forced into every source by meson.build
 *
 * Each has a safe sibling: snprintf, strtol_strict(), *_r, posix_spawn. */
#pragma once

/* The declarations must come before the poison. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll gmtime localtime ctime asctime
#pragma GCC poison gets tmpnam mktemp tempnam
#define system(x) banned_call_system(x)
#define rand() banned_call_rand()
