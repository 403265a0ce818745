/* archive.h - OP_ARCHIVE: old rows into files, and files back; for ops.c */
#pragma once

#include "acctd/serve.h"

serve_fn archive_run;
