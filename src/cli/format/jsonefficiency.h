/* jsonefficiency.h - model/words/efficiency.h as JSON: --efficiency=report --json */
#pragma once

#include "cli/format/json_out.h"
#include "model/words/efficiency.h"

void efficiency_json(const Pst__AcctJob *a, int64_t now_us, struct json *js);
