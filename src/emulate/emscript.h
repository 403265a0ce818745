/* emscript.h - how long a batch script takes on an emulated node, and how it ends
 *
 * Nothing is run.  Of each command `sleep TIME` (units s, m, h, d as sleep(1) has them) takes its
 * time, `exit N` ends the script with N, `false` gives 1 and everything else 0, at once.  Commands
 * stand on lines of their own or behind `;`; `srun` with options of one word before a command is
 * passed over, and `&`, loops and functions mean nothing.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EMSCRIPT_MS_MAX (UINT64_C(366) * 86400 * 1000)

struct emscript {
    uint64_t run_ms;    /* EMSCRIPT_MS_MAX at most */
    unsigned exit_code; /* 0 to 255 */
};

/* text need not end with NUL. */
struct emscript emscript_read(const uint8_t *text, size_t len);
