/* scripts.h - Prolog and Epilog */
#pragma once

#include "noded/noded.h"

int scripts_new(struct noded *d, struct scripts **ret_scripts);
struct scripts *scripts_free(struct scripts *scripts);
bool scripts_any(const struct noded *d, bool epilog);
void scripts_start(struct noded *d, struct njob *job, bool epilog);
bool scripts_child_exited(struct noded *d, pid_t pid, int status);
