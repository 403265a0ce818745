/* cxilib.h - libcxi.so.1, loaded at run time; the NICs of a node */
#pragma once

#include "base/err.h"
#include "cxi/cxil.h"

#define CXILIB_DEVICES 32u

/* Load the library; it stays.  root: "", or a folder that stands for "/".
 * -ENOENT: it is not there; -ENOSYS: it lacks a function.  err has the sentence. */
int cxilib_load(const char *root, struct cxil *ret, struct err *err);

/* Numbers of the NICs in ROOT/sys/class/cxi (cxi0 is 0), ascending; how many, at most
 * CXILIB_DEVICES. */
unsigned cxilib_devices(const char *root, uint32_t ret[CXILIB_DEVICES]);
