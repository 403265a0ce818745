/* json_diag.h - statistics of the controller: as JSON (sdiag --json, REST), and figures of them */
#pragma once

#include <stdint.h>

#include "api.pb-c.h"
#include "cli/format/json_out.h"

/* "statistics": an object. */
void json_diag(struct json *js, const Pst__DiagReply *d);

uint64_t diag_mean(uint64_t total, uint64_t n); /* 0 of none */
uint64_t diag_cycles_per_minute(const Pst__DiagReply *d);
int64_t diag_clock_latency_us(void); /* of a thousand calls to gettimeofday(2), made now */
const char *diag_user(const Pst__UserStat *u);
