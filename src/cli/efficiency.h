/* efficiency.h - model/efficiency.h as JSON: --efficiency=report --json */
#pragma once

#include "cli/json_out.h"
#include "model/efficiency.h"

void efficiency_json(const Pst__AcctJob *a, int64_t now_us, struct json *js);
