/* exposition.h - metrics as the text that Prometheus reads; pure
 *
 * A family is a comment with its help, one with its type, and samples.  Source: the text format of
 * Prometheus 0.0.4, of which OpenMetrics is the successor. */
#pragma once

#include <stdint.h>

#include "base/strbuf.h"

struct histogram;

/* `# HELP` and `# TYPE` of prefix + name (+ "_" + suffix unless that is ""). */
void exposition_family(struct strbuf *sb, const char *prefix, const char *suffix, const char *type,
                       const char *help);
/* One sample; label NULL: none.  text is anybody's: it is escaped. */
void exposition_sample(struct strbuf *sb, const char *prefix, const char *suffix, const char *label,
                       const char *text, uint64_t value);
/* A family of one gauge without label. */
void exposition_gauge(struct strbuf *sb, const char *name, const char *help, uint64_t value);
/* The samples of a histogram of microseconds, told in seconds. */
void exposition_histogram(struct strbuf *sb, const char *name, const char *label, const char *text,
                          const struct histogram *h);
