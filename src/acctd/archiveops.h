/* archiveops.h - OP_ARCHIVE: old rows into files, and files back; for acctops.c */
#pragma once

#include "acctd/serve.h"

serve_fn archive_run;
