/* killleft.h - what a dead step daemon left */
#pragma once

#include "noded/noded.h"

/* Kill what a dead step daemon left; true when nothing is left. */
bool recover_kill_left(const struct noded *d, const char *step_dir, uint32_t job_id);
