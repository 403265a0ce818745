/* tgmetrics.h - counts and durations of the service, for Prometheus; one thread at a time */
#pragma once

#include "base/strbuf.h"

#define TGMETRICS_SERIES_MAX 256u /* of label sets; what comes beyond is not counted */

enum tgmetric {
    TGMETRIC_HTTP,       /* topograph_http_request_duration_seconds */
    TGMETRIC_RUN,        /* topograph_request_duration_seconds */
    TGMETRIC_VALIDATION, /* topograph_validation_error_total */
    TGMETRIC_MISSING,    /* topograph_missing_topology */
};

struct tgmetrics;

int tgmetrics_new(struct tgmetrics **ret_metrics); /* -ENOMEM */
struct tgmetrics *tgmetrics_free(struct tgmetrics *m);
/* labels as `a="b",c="d"`: words of our own, never of a request.  value: seconds of a duration, the
 * number to add to a count, the value of MISSING. */
void tgmetrics_add(struct tgmetrics *m, enum tgmetric metric, const char *labels, double value);
void tgmetrics_write(const struct tgmetrics *m, const char *version, struct strbuf *out);
