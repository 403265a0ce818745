/* explainprint.h - print why a job waits: `scontrol explain`, `squeue --explain` */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/client.h"

/* Ask and print, sentences or one JSON object a line; `again`: an empty line before.  Negative: the
 * reason was told on standard error. */
int explain_print(struct client *c, uint32_t job_id, bool json, bool again);
